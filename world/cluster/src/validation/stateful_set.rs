//! StatefulSets (`ValidateStatefulSet`).

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    claim, pod,
    selector::label_selector,
    workloads::selects,
};

const MANAGEMENT_POLICIES: [&str; 2] = ["OrderedReady", "Parallel"];
const RETENTION_POLICIES: [&str; 2] = ["Retain", "Delete"];

pub(super) fn stateful_set(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    let spec = &new["spec"];
    management_policy(check, &spec["podManagementPolicy"]);
    update_strategy(check, &spec["updateStrategy"]);
    retention_policy(check, &spec["persistentVolumeClaimRetentionPolicy"]);
    check.not_negative("spec.replicas", &spec["replicas"]);
    check.not_negative("spec.minReadySeconds", &spec["minReadySeconds"]);
    check.not_negative("spec.ordinals.start", &spec["ordinals"]["start"]);
    if old.is_none() {
        // Neither may change, so what was stored is let through.
        for (index, claim) in list(spec, "volumeClaimTemplates").iter().enumerate() {
            let at = format!("spec.volumeClaimTemplates[{index}].spec");
            claim::spec(check, &claim["spec"], &at);
        }
        match text(spec, "serviceName") {
            "" => {}
            name => check.label_name("spec.serviceName", name),
        }
    }
    if selector(check, spec) {
        template(check, spec);
    }
    let pods = &spec["template"]["spec"];
    let policy = &pods["restartPolicy"];
    if policy.is_string() && policy != "Always" {
        check.not_supported("spec.template.spec.restartPolicy", policy, &["Always"]);
    }
    if !pods["activeDeadlineSeconds"].is_null() {
        let detail = "activeDeadlineSeconds in StatefulSet is not Supported";
        check.forbidden("spec.template.spec.activeDeadlineSeconds", detail);
    }
    status(check, &new["status"]);
}

fn management_policy(check: &mut Check<'_>, policy: &Value) {
    const AT: &str = "spec.podManagementPolicy";
    let name = policy.as_str().unwrap_or("");
    if !name.is_empty() && !MANAGEMENT_POLICIES.contains(&name) {
        check.supported(AT);
        check.invalid(AT, policy, "must be 'OrderedReady' or 'Parallel'");
    }
}

fn retention_policy(check: &mut Check<'_>, policy: &Value) {
    for field in ["whenDeleted", "whenScaled"] {
        let kept = &policy[field];
        if kept.as_str().is_some_and(|kept| !RETENTION_POLICIES.contains(&kept)) {
            let at = format!("spec.persistentVolumeClaimRetentionPolicy.{field}");
            check.one_of_in_order(&at, kept, &RETENTION_POLICIES);
        }
    }
}

fn update_strategy(check: &mut Check<'_>, strategy: &Value) {
    const AT: &str = "spec.updateStrategy";
    let rolling = &strategy["rollingUpdate"];
    let shown = match rolling.is_null() {
        true => "null".to_owned(),
        false => format!(
            "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
            rolling["partition"].as_i64().unwrap_or(0),
            rolling["maxUnavailable"]
        ),
    };
    match text(strategy, "type") {
        "RollingUpdate" => {
            check.not_negative(&format!("{AT}.rollingUpdate.partition"), &rolling["partition"]);
        }
        "OnDelete" if rolling.is_null() => {}
        "OnDelete" => {
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            check.invalid_as(&format!("{AT}.rollingUpdate"), shown, detail);
        }
        "" => check.required(AT, ""),
        other => {
            check.supported(&format!("{AT}.type"));
            let shown = format!("{{\"Type\":{},\"RollingUpdate\":{shown}}}", json!(other));
            check.invalid_as(AT, shown, "must be 'RollingUpdate' or 'OnDelete'");
        }
    }
}

/// Whether the selector can be read; else nobody looks at the template.
fn selector(check: &mut Check<'_>, spec: &Value) -> bool {
    const AT: &str = "spec.selector";
    let selector = &spec["selector"];
    let of_pods = &spec["template"]["metadata"]["labels"];
    if selector.is_null() {
        check.required(AT, "");
    } else if label_selector(check, selector, AT) {
        check.invalid(AT, selector, "");
        return false;
    } else if selector.as_object().is_some_and(serde_json::Map::is_empty) {
        check.invalid(AT, selector, "empty selector is invalid for statefulset");
        return true;
    }
    if selector.is_null() || !selects(selector, of_pods) {
        let detail = "`selector` does not match template `labels`";
        check.invalid("spec.template.metadata.labels", of_pods, detail);
    }
    true
}

/// The template as its pods will have it: each claim template is a volume of its name, which containers mount
/// (`volumesToAddForTemplates`).
fn template(check: &mut Check<'_>, spec: &Value) {
    const AT: &str = "spec.template";
    let mut template = spec["template"].clone();
    let claims = list(spec, "volumeClaimTemplates");
    if !claims.is_empty() {
        let of_claim = |claim: &Value| {
            let name = &claim["metadata"]["name"];
            json!({"name": name, "persistentVolumeClaim": {"claimName": name}})
        };
        let named =
            |volume: &&Value| claims.iter().all(|c| c["metadata"]["name"] != volume["name"]);
        let own = list(&template["spec"], "volumes").iter().filter(named).cloned();
        let volumes: Value = claims.iter().map(of_claim).chain(own).collect();
        template["spec"]["volumes"] = volumes;
    }
    pod::template(check, &template, AT);
    // Said again, once for every look at them.
    check.labels(&format!("{AT}.labels"), &template["metadata"]["labels"]);
    check.annotations(&format!("{AT}.annotations"), &template["metadata"]["annotations"]);
}

/// `ValidateStatefulSetStatus`
fn status(check: &mut Check<'_>, status: &Value) {
    const COUNTS: [&str; 4] =
        ["readyReplicas", "currentReplicas", "updatedReplicas", "availableReplicas"];
    let count = |field: &str| status[field].as_i64().unwrap_or(0);
    for field in COUNTS.iter().chain(&["replicas", "observedGeneration", "collisionCount"]) {
        check.not_negative(&format!("status.{field}"), &status[*field]);
    }
    for field in COUNTS.iter().filter(|field| count(field) > count("replicas")) {
        let detail = "cannot be greater than status.replicas";
        check.invalid(&format!("status.{field}"), &status[*field], detail);
    }
    if count("availableReplicas") > count("readyReplicas") {
        let detail = "cannot be greater than status.readyReplicas";
        check.invalid("status.availableReplicas", &status["availableReplicas"], detail);
    }
}

/// Of the spec little else may change than how many there are, and the template (`ValidateStatefulSetUpdate`).
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    const FREE: [&str; 7] = [
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    ];
    let fixed = |set: &Value| {
        let mut spec = set["spec"].clone();
        for field in FREE {
            spec.as_object_mut().map(|spec| spec.remove(field));
        }
        spec
    };
    if fixed(old) != fixed(new) {
        let detail = "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template', \
                      'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and \
                      'minReadySeconds' are forbidden";
        check.forbidden("spec", detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(changed: Value) -> Vec<String> {
        let mut spec = json!({"replicas": 1, "selector": {"matchLabels": {"a": "b"}}, "template": {
            "metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i",
                "volumeMounts": [{"name": "v", "mountPath": "/v"}]}]}},
            "volumeClaimTemplates": [{"metadata": {"name": "v"}, "spec": {"accessModes": ["ReadWriteOnce"],
                "resources": {"requests": {"storage": "1Gi"}}}}],
            "updateStrategy": {"type": "RollingUpdate"}});
        for (field, value) in changed.as_object().into_iter().flatten() {
            spec[field] = value.clone();
        }
        let mut errors = Vec::new();
        stateful_set(&mut Check::new(&mut errors), None, &json!({"spec": spec}));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_set_is_judged_in_upstreams_words() {
        assert_eq!(told(json!({"revisionHistoryLimit": -1})), Vec::<String>::new());
        assert_eq!(
            told(json!({"podManagementPolicy": "Wild", "serviceName": "A", "replicas": -1}))[..2],
            [
                "spec.podManagementPolicy: Invalid value: \"Wild\": must be 'OrderedReady' or 'Parallel'",
                "spec.replicas: Invalid value: -1: must be greater than or equal to 0",
            ]
        );
        // An unreadable selector is told twice, and of the template nothing.
        let unread = told(json!({"selector": {"matchLabels": {"a": "-"}}, "template": {}}));
        assert_eq!(unread.len(), 2, "{unread:?}");
        assert_eq!(unread[1], "spec.selector: Invalid value: {\"matchLabels\":{\"a\":\"-\"}}");
        // Labels that are none are told twice, by the template's rules and by the set's.
        let twice = told(json!({"template": {"metadata": {"labels": {"a": "b", "c": "-"}}}}));
        assert_eq!(twice.len(), 2, "{twice:?}");
        assert!(twice[0].starts_with("spec.template.labels: Invalid value: \"-\""), "{twice:?}");
    }
}
