//! Which types ask what pods are warned of, and when: rows taken from the `strategy.go` of each.

use serde_json::Value;

use super::{items, number, pods, text, volumes};
use crate::verbs::object::generation;

/// Where objects of a type say what their pods are, as a pointer and as messages begin; none for types without pods.
fn place_of_pods(resource: &str) -> Option<(&'static str, &'static str)> {
    Some(match resource {
        "pods" => ("", ""),
        "podtemplates" => ("/template", "template."),
        "cronjobs" => ("/spec/jobTemplate/spec/template", "spec.jobTemplate.spec.template."),
        "daemonsets"
        | "deployments"
        | "jobs"
        | "replicasets"
        | "replicationcontrollers"
        | "statefulsets" => ("/spec/template", "spec.template."),
        _ => return None,
    })
}

/// Of an object that is a pod or makes pods; `old` is what it replaces.
pub(super) fn of_workload(resource: &str, old: Option<&Value>, new: &Value) -> Vec<String> {
    let Some((pointer, at)) = place_of_pods(resource) else { return Vec::new() };
    let mut warnings = Vec::new();
    if old.is_none() {
        warnings.extend(of_name(resource, text(&new["metadata"], "name")));
    }
    if is_asked(resource, old, new) {
        warnings.extend(of_indexes(resource, new));
        // An update of a ReplicationController is warned of what was there: upstream confuses the two.
        let asked = old.filter(|_| resource == "replicationcontrollers").unwrap_or(new);
        let template = asked.pointer(pointer).filter(|template| template.is_object());
        warnings.extend(template.into_iter().flat_map(|template| pods::of_pod(template, at)));
    }
    match resource {
        "statefulsets" => warnings.extend(of_stateful_set(old, &new["spec"])),
        "cronjobs" if old.is_some() && text(&new["spec"], "schedule").contains("TZ") => {
            warnings.push(
                "cannot use TZ or CRON_TZ in spec.spec.schedule, use timeZone instead, see \
                 https://kubernetes.io/docs/concepts/workloads/controllers/cron-jobs/ for more details"
                    .to_owned(),
            );
        }
        _ => {}
    }
    warnings
}

/// Whether the pods are looked at: for each new object, and where what is desired changes. Pods are updated too often.
fn is_asked(resource: &str, old: Option<&Value>, new: &Value) -> bool {
    let Some(old) = old else { return true };
    match resource {
        "pods" => false,
        "daemonsets" => old["spec"]["template"] != new["spec"]["template"],
        _ => generation(old) != generation(new),
    }
}

/// A name that pods can't take over as the name of their host.
fn of_name(resource: &str, name: &str) -> Option<String> {
    const LABEL_LENGTH_MAX_BYTES: usize = 63;
    let used = match resource {
        "daemonsets" | "podtemplates" | "statefulsets" => return None,
        "pods" => "the Pod's hostname",
        _ => "Pod names and hostnames",
    };
    let mut problems = Vec::new();
    if name.len() > LABEL_LENGTH_MAX_BYTES {
        problems.push("must be no more than 63 characters");
    }
    // It is valid, and what else a valid name has that is no label are dots.
    if name.contains('.') {
        problems.push("must not contain dots");
    }
    (!problems.is_empty()).then(|| {
        format!(
            "metadata.name: this is used in {used}, which can result in surprising behavior; a DNS label is \
             recommended: [{}]",
            problems.join(" ")
        )
    })
}

/// A Job of more indexes than can be followed (`WarningsForJobSpec`).
fn of_indexes(resource: &str, object: &Value) -> Option<String> {
    const COMPLETIONS: i64 = 100_000;
    const PARALLELISM: i64 = 10_000;
    let (at, pointer) = match resource {
        "jobs" => ("spec", "/spec"),
        "cronjobs" => ("spec.jobTemplate.spec", "/spec/jobTemplate/spec"),
        _ => return None,
    };
    let spec = object.pointer(pointer)?;
    let many =
        number(spec, "completions") > COMPLETIONS && number(spec, "parallelism") > PARALLELISM;
    (spec["completionMode"] == "Indexed" && many).then(|| {
        format!(
            "{at}: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, \
             Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
        )
    })
}

/// A StatefulSet's claims and history; upstream names claims otherwise when they are updated.
fn of_stateful_set(old: Option<&Value>, spec: &Value) -> Vec<String> {
    let part = if old.is_some() { ".Spec" } else { "" };
    let mut warnings = Vec::new();
    for (index, claim) in items(&spec["volumeClaimTemplates"]).iter().enumerate() {
        let at = format!("spec.volumeClaimTemplates[{index}]{part}");
        warnings.extend(volumes::of_claim(&claim["spec"], &at));
    }
    if number(spec, "revisionHistoryLimit") < 0 {
        let text = "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is \
                    recommended";
        warnings.push(text.to_owned());
    }
    warnings
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Something that makes pods, and warns of the label that they want.
    fn object(generation: i64, template: Value) -> Value {
        json!({"metadata": {"name": "a.b", "generation": generation}, "spec": {"template": template}})
    }

    fn wanting(label: &str) -> Value {
        json!({"spec": {"nodeSelector": {label: ""}}})
    }

    const ARCH: &str = "beta.kubernetes.io/arch";
    const OS: &str = "beta.kubernetes.io/os";

    /// The labels that are warned of.
    fn labels(warnings: &[String]) -> Vec<&str> {
        let found = warnings.iter().filter_map(|text| text.split_once('[')?.1.split_once(']'));
        found.map(|(label, _)| label).filter(|label| label.starts_with("beta.")).collect()
    }

    #[test]
    fn updates_are_asked_where_what_is_desired_changes() {
        let check = |resource: &str, old: Option<&Value>, new: &Value, expect: &[&str]| {
            assert_eq!(labels(&of_workload(resource, old, new)), expect, "{resource}");
        };
        let (arch, os) = (object(1, wanting(ARCH)), object(2, wanting(OS)));
        for resource in ["deployments", "jobs", "replicasets", "statefulsets"] {
            check(resource, None, &arch, &[ARCH]);
            check(resource, Some(&arch), &os, &[OS]);
            check(resource, Some(&arch), &arch, &[]);
        }
        check("replicationcontrollers", None, &os, &[OS]);
        check("replicationcontrollers", Some(&arch), &os, &[ARCH]);
        check("daemonsets", Some(&object(1, wanting(OS))), &os, &[]);
        check("daemonsets", Some(&arch), &os, &[OS]);
        check("controllerrevisions", None, &os, &[]);
        check("pods", None, &wanting(ARCH), &[ARCH]);
        check("pods", Some(&wanting(ARCH)), &wanting(OS), &[]);
    }

    #[test]
    fn names_of_hosts_are_labels() {
        let told = |resource: &str, name: &str| {
            of_workload(resource, None, &json!({"metadata": {"name": name}})).join("\n")
        };
        assert_eq!(
            told("pods", "a.b"),
            "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior; a DNS label \
             is recommended: [must not contain dots]"
        );
        assert_eq!(
            told("deployments", &format!("{}.b", "a".repeat(62))),
            "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior; a DNS \
             label is recommended: [must be no more than 63 characters must not contain dots]"
        );
        assert_eq!(told("jobs", "a-b"), "");
        assert_eq!(told("daemonsets", "a.b"), "");
    }

    #[test]
    fn types_are_told_what_is_theirs() {
        let many =
            json!({"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001});
        let job = of_workload("jobs", None, &json!({"spec": many}));
        assert!(job[0].starts_with("spec: In Indexed Jobs with"), "{job:?}");
        let cron = json!({"spec": {"schedule": "TZ=UTC 1 * * * *", "jobTemplate": {"spec": many}}});
        let told = of_workload("cronjobs", None, &cron);
        assert!(told[0].starts_with("spec.jobTemplate.spec: In Indexed Jobs with"), "{told:?}");
        let told = of_workload("cronjobs", Some(&cron), &cron);
        assert!(told[0].starts_with("cannot use TZ or CRON_TZ in spec.spec.schedule"), "{told:?}");
        let claim = json!({"spec": {"resources": {"requests": {"storage": "1m"}}}});
        let set = json!({"spec": {"revisionHistoryLimit": -1, "volumeClaimTemplates": [claim]}});
        let field = "resources.requests[storage]: fractional byte value";
        let told = of_workload("statefulsets", None, &set);
        assert!(told[0].starts_with(&format!("spec.volumeClaimTemplates[0].{field}")), "{told:?}");
        assert!(told[1].starts_with("spec.revisionHistoryLimit: a negative value"), "{told:?}");
        let told = of_workload("statefulsets", Some(&set), &set);
        assert!(
            told[0].starts_with(&format!("spec.volumeClaimTemplates[0].Spec.{field}")),
            "{told:?}"
        );
    }
}
