//! A Pod as controllers see it.

use serde_json::Value;
use trace::Time;

use crate::{
    object::{Labels, Text},
    read,
};

/// A Pod.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Pod {
    /// `spec.nodeName`; empty while it is not bound.
    pub node: Text,
    /// `spec.schedulerName`.
    pub scheduler: Text,
    /// `status.phase`.
    pub phase: Text,
    /// `spec.terminationGracePeriodSeconds`.
    pub termination_grace_seconds: i64,
    /// Since when the condition `Ready` is True.
    pub ready_since: Option<Time>,
    /// The message of a condition `PodScheduled` that is False.
    pub unschedulable: Option<Text>,
    /// The largest `restartCount` of its containers.
    pub restarts: i64,
    /// What its containers ask of a node.
    pub requests: Resources,
    /// `spec.nodeSelector`.
    pub node_selector: Labels,
    /// `spec.tolerations`.
    pub tolerations: Vec<Toleration>,
}

/// Amounts of what a node has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Resources {
    /// CPU in thousandths.
    pub cpu_milli: i64,
    /// Memory in bytes.
    pub memory_bytes: i64,
}

/// A toleration.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Toleration {
    /// `key`; empty for all.
    pub key: Text,
    /// Whether `operator` is Exists.
    pub exists: bool,
    /// `value`.
    pub value: Text,
    /// `effect`; empty for all.
    pub effect: Text,
}

impl Pod {
    /// Whether its containers have ended for good.
    pub fn has_ended(&self) -> bool {
        matches!(&*self.phase, "Succeeded" | "Failed")
    }

    pub(crate) fn read(object: &Value) -> Pod {
        let (spec, status) = (&object["spec"], &object["status"]);
        let condition = |name: &str, value: &str| {
            read::list(status, "conditions").find(|c| c["type"] == name && c["status"] == value)
        };
        let ready = condition("Ready", "True");
        let ready = ready.map(|found| read::time(found, "lastTransitionTime").unwrap_or_default());
        let restarts = read::list(status, "containerStatuses");
        Pod {
            node: read::text(spec, "nodeName"),
            scheduler: read::text(spec, "schedulerName"),
            phase: read::text(status, "phase"),
            termination_grace_seconds: read::number(spec, "terminationGracePeriodSeconds"),
            ready_since: ready,
            unschedulable: condition("PodScheduled", "False")
                .map(|found| read::text(found, "message")),
            restarts: restarts.map(|one| read::number(one, "restartCount")).max().unwrap_or(0),
            requests: requests(spec),
            node_selector: read::labels(spec, "nodeSelector"),
            tolerations: read::list(spec, "tolerations").map(toleration).collect(),
        }
    }
}

fn toleration(value: &Value) -> Toleration {
    Toleration {
        key: read::text(value, "key"),
        exists: value["operator"] == "Exists",
        value: read::text(value, "value"),
        effect: read::text(value, "effect"),
    }
}

/// All containers together, or the largest init container where that is more.
fn requests(spec: &Value) -> Resources {
    let of = |container: &Value| Resources::read(&container["resources"]["requests"]);
    let all = read::list(spec, "containers").map(of).fold(Resources::default(), Resources::plus);
    read::list(spec, "initContainers").map(of).fold(all, |sum, init| Resources {
        cpu_milli: sum.cpu_milli.max(init.cpu_milli),
        memory_bytes: sum.memory_bytes.max(init.memory_bytes),
    })
}

impl Resources {
    pub(crate) fn read(amounts: &Value) -> Resources {
        let amount = |name: &str| quantity_milli(amounts.get(name)?.as_str()?);
        Resources {
            cpu_milli: amount("cpu").unwrap_or(0) as i64,
            memory_bytes: (amount("memory").unwrap_or(0) / 1000) as i64,
        }
    }

    pub(crate) fn plus(self, other: Resources) -> Resources {
        Resources {
            cpu_milli: self.cpu_milli + other.cpu_milli,
            memory_bytes: self.memory_bytes + other.memory_bytes,
        }
    }
}

/// A `resource.Quantity` in thousandths, rounded up; none for what is no quantity.
fn quantity_milli(text: &str) -> Option<i128> {
    let digits =
        text.find(|c: char| !c.is_ascii_digit() && c != '.' && c != '-').unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    let scale = match unit {
        "m" => 1,
        "" => 1000,
        "k" => 1000 * 1000,
        "M" => 1000 * 1_000_000,
        "G" => 1000 * 1_000_000_000,
        "T" => 1000 * 1_000_000_000_000,
        "Ki" => 1000 << 10,
        "Mi" => 1000 << 20,
        "Gi" => 1000 << 30,
        "Ti" => 1000 << 40,
        _ => return None,
    };
    let parts = 10i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let amount = digits.checked_mul(scale)?;
    Some(amount / parts + i128::from(amount % parts != 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        let check =
            |text: &str, milli: Option<i128>| assert_eq!(quantity_milli(text), milli, "{text}");
        check("100m", Some(100));
        check("1.5", Some(1500));
        check("2", Some(2000));
        check("1Ki", Some(1_024_000));
        check("1.5Gi", Some(1_610_612_736_000));
        check("3x", None);
        check("", None);
    }
}
