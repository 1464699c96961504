//! What pods ask of nodes and nodes have: CPU, memory, ephemeral storage and whatever else has a name
//! (`component-helpers/resource`, `scheduler/framework.Resource`).

use std::collections::BTreeMap;

use serde_json::Value;

use crate::{object::Text, quantity, read};

/// Amounts of what a node has.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Resources {
    /// CPU in thousandths.
    pub cpu_milli: i64,
    /// Memory in bytes.
    pub memory_bytes: i64,
    /// `ephemeral-storage` in bytes.
    pub ephemeral_bytes: i64,
    /// Extended resources, huge pages and attachable volumes, by name.
    pub others: BTreeMap<Text, i64>,
}

/// What the containers of a pod ask for.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Requests {
    /// What must be free.
    pub all: Resources,
    /// CPU and memory as scores count them while the pod looks for a node: containers that say nothing ask for a little.
    pub asked: Usual,
    /// The same, once it has a node.
    pub counted: Usual,
}

/// CPU and memory of a pod whose containers ask for a little where they say nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Usual {
    /// CPU in thousandths.
    pub cpu_milli: i64,
    /// Memory in bytes.
    pub memory_bytes: i64,
}

/// `DefaultMilliCPURequest`.
const USUAL_CPU_MILLI: i128 = 100;
/// `DefaultMemoryRequest`, in thousandths of a byte.
const USUAL_MEMORY_MILLI: i128 = 200 * 1024 * 1024 * 1000;

/// Thousandths, by name.
type Amounts = BTreeMap<Text, i128>;

impl Resources {
    /// `status.allocatable` and the like.
    pub(crate) fn read(amounts: &Value) -> Resources {
        of(&self::amounts(amounts))
    }

    /// Adds others.
    pub(crate) fn add(&mut self, more: &Resources) {
        self.combine(more, |a, b| a + b);
    }

    /// Takes others away.
    pub(crate) fn remove(&mut self, less: &Resources) {
        self.combine(less, |a, b| a - b);
    }

    fn combine(&mut self, other: &Resources, of: impl Fn(i64, i64) -> i64) {
        self.cpu_milli = of(self.cpu_milli, other.cpu_milli);
        self.memory_bytes = of(self.memory_bytes, other.memory_bytes);
        self.ephemeral_bytes = of(self.ephemeral_bytes, other.ephemeral_bytes);
        for (name, amount) in &other.others {
            let sum = of(self.others.get(name).copied().unwrap_or(0), *amount);
            self.others.insert(name.clone(), sum);
        }
    }

    /// Whether nothing is asked for, not even none of something.
    pub(crate) fn is_empty(&self) -> bool {
        let counted = self.cpu_milli == 0 && self.memory_bytes == 0 && self.ephemeral_bytes == 0;
        counted && self.others.is_empty()
    }
}

impl Usual {
    fn of(amounts: &Amounts) -> Usual {
        let Resources { cpu_milli, memory_bytes, .. } = self::of(amounts);
        Usual { cpu_milli, memory_bytes }
    }
}

fn amounts(list: &Value) -> Amounts {
    let entries = list.as_object().into_iter().flatten();
    let amount = |value: &Value| match value {
        Value::String(text) => quantity_milli(text),
        number => number.as_i64().map(|whole| i128::from(whole) * 1000),
    };
    entries.filter_map(|(name, value)| Some((name.as_str().into(), amount(value)?))).collect()
}

fn of(amounts: &Amounts) -> Resources {
    let mut found = Resources::default();
    for (name, milli) in amounts {
        let whole = whole(*milli);
        match &**name {
            "cpu" => found.cpu_milli = i64::try_from(*milli).unwrap_or(i64::MAX),
            "memory" => found.memory_bytes = whole,
            "ephemeral-storage" => found.ephemeral_bytes = whole,
            other if is_other(other) => drop(found.others.insert(name.clone(), whole)),
            _ => {}
        }
    }
    found
}

/// `Quantity.Value`: rounded up.
fn whole(milli: i128) -> i64 {
    let whole = milli.div_euclid(1000) + i128::from(milli.rem_euclid(1000) != 0);
    i64::try_from(whole).unwrap_or(i64::MAX)
}

/// `IsScalarResourceName`.
fn is_other(name: &str) -> bool {
    name.contains('/') || name.starts_with("hugepages-") || name.starts_with("attachable-volumes-")
}

/// Pod-level requests are for these (`IsSupportedPodLevelResource`).
fn is_of_pod(name: &str) -> bool {
    matches!(name, "cpu" | "memory") || name.starts_with("hugepages-")
}

impl Requests {
    /// `PodRequests`, by the pod's spec and by what its status tells of resizes.
    pub(crate) fn read(pod: &Value) -> Requests {
        let none = Amounts::new();
        let usual =
            Amounts::from([("cpu".into(), USUAL_CPU_MILLI), ("memory".into(), USUAL_MEMORY_MILLI)]);
        let all = total(pod, &none);
        let of_pod = amounts(&pod["spec"]["resources"]["requests"]);
        let mut missing = usual.clone();
        if of_pod.keys().any(|name| is_of_pod(name)) {
            missing.retain(|name, _| all.get(name).copied().unwrap_or(0) == 0);
        }
        Requests {
            asked: Usual::of(&total(pod, &usual)),
            counted: Usual::of(&total(pod, &missing)),
            all: of(&all),
        }
    }
}

/// All containers together, or what starting them takes where that is more; `missing` is what a container asks for
/// that does not say.
fn total(pod: &Value, missing: &Amounts) -> Amounts {
    let spec = &pod["spec"];
    let mut all = Amounts::new();
    for container in read::list(spec, "containers") {
        add(&mut all, &asked(pod, container, "containerStatuses", missing));
    }
    let (mut sidecars, mut start) = (Amounts::new(), Amounts::new());
    for container in read::list(spec, "initContainers") {
        let stays = container["restartPolicy"] == "Always";
        let statuses = if stays { "initContainerStatuses" } else { "" };
        let mut while_it_starts = asked(pod, container, statuses, missing);
        if stays {
            add(&mut all, &while_it_starts);
            add(&mut sidecars, &while_it_starts);
            while_it_starts.clone_from(&sidecars);
        } else {
            add(&mut while_it_starts, &sidecars);
        }
        raise(&mut start, &while_it_starts);
    }
    raise(&mut all, &start);
    let of_pod = amounts(&spec["resources"]["requests"]);
    all.extend(of_pod.into_iter().filter(|(name, _)| is_of_pod(name)));
    add(&mut all, &amounts(&spec["overhead"]));
    all
}

/// What a container asks for, or has already where that is more (`determineEffectiveRequests`).
fn asked(pod: &Value, container: &Value, statuses: &str, missing: &Amounts) -> Amounts {
    let mut wants = amounts(&container["resources"]["requests"]);
    let mut told = read::list(&pod["status"], statuses);
    let told = told.find(|told| told["name"] == container["name"]);
    if let Some(told) = told.filter(|told| told["resources"].is_object()) {
        let infeasible = read::list(&pod["status"], "conditions")
            .any(|one| one["type"] == "PodResizePending" && one["reason"] == "Infeasible");
        if infeasible {
            wants.clear();
        }
        raise(&mut wants, &amounts(&told["resources"]["requests"]));
        raise(&mut wants, &amounts(&told["allocatedResources"]));
    }
    for (name, amount) in missing {
        wants.entry(name.clone()).or_insert(*amount);
    }
    wants
}

fn add(sum: &mut Amounts, more: &Amounts) {
    for (name, amount) in more {
        *sum.entry(name.clone()).or_default() += amount;
    }
}

fn raise(most: &mut Amounts, other: &Amounts) {
    for (name, amount) in other {
        let so_far = most.entry(name.clone()).or_insert(*amount);
        *so_far = (*so_far).max(*amount);
    }
}

/// A `resource.Quantity` in thousandths, rounded up; none for what is no quantity.
pub(crate) fn quantity_milli(text: &str) -> Option<i128> {
    let nanos = quantity::nanos_of(text)?;
    Some(nanos.div_euclid(1_000_000) + i128::from(nanos.rem_euclid(1_000_000) != 0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn quantities() {
        let check =
            |text: &str, milli: Option<i128>| assert_eq!(quantity_milli(text), milli, "{text}");
        check("100m", Some(100));
        check("1.5", Some(1500));
        check("2", Some(2000));
        check("1Ki", Some(1_024_000));
        check("1.5Gi", Some(1_610_612_736_000));
        check("1e3", Some(1_000_000));
        check("1500u", Some(2));
        check("1Ei", Some(1_152_921_504_606_846_976_000));
        check("3x", None);
        check("", None);
    }

    #[test]
    fn pods_ask_for_the_most_that_they_ever_need() {
        let check = |spec: Value, status: Value, cpu: i64, usual: i64| {
            let found = Requests::read(&json!({"spec": spec, "status": status}));
            assert_eq!((found.all.cpu_milli, found.asked.cpu_milli), (cpu, usual), "{spec}");
        };
        let cpu =
            |name: &str, cpu: &str| json!({"name": name, "resources": {"requests": {"cpu": cpu}}});
        let sidecar = |name: &str, amount: &str| {
            let mut container = cpu(name, amount);
            container["restartPolicy"] = json!("Always");
            container
        };
        let two = json!([cpu("a", "1"), cpu("b", "500m")]);
        check(json!({"containers": two}), json!({}), 1500, 1500);
        check(json!({"containers": [{}, cpu("b", "1")]}), json!({}), 1000, 1100);
        check(json!({"containers": two, "initContainers": [cpu("i", "2")]}), json!({}), 2000, 2000);
        let init = json!([sidecar("s", "1"), cpu("i", "2")]);
        check(json!({"containers": two, "initContainers": init}), json!({}), 3000, 3000);
        let init = json!([cpu("i", "2"), sidecar("s", "1")]);
        check(json!({"containers": two, "initContainers": init}), json!({}), 2500, 2500);
        check(json!({"containers": two, "overhead": {"cpu": "1"}}), json!({}), 2500, 2500);
        let level = json!({"requests": {"cpu": "4"}});
        check(json!({"containers": two, "resources": level}), json!({}), 4000, 4000);
        let told = |pending: &str| {
            json!({
                "conditions": [{"type": "PodResizePending", "reason": pending}],
                "containerStatuses": [{"name": "a", "resources": {"requests": {"cpu": "750m"}}}],
            })
        };
        check(json!({"containers": [cpu("a", "1")]}), told("Deferred"), 1000, 1000);
        check(json!({"containers": [cpu("a", "1")]}), told("Infeasible"), 750, 750);
        check(json!({"containers": [cpu("a", "500m")]}), told("Deferred"), 750, 750);
    }
}
