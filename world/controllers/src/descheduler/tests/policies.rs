use std::time::Duration;

use super::*;
use crate::fixture::affected;

/// Why a policy is refused; empty if it is not.
fn refused(policy: &Value, annotations: Value) -> String {
    let data = json!({"data": {"policy.yaml": policy.to_string()}, "metadata": {"annotations": annotations}});
    match cycle(&fixture::view(&[object(POLICY, data)]), &[]).1 {
        Next::Failed(why) => why,
        Next::Done { .. } => String::new(),
        other => panic!("{other:?}"),
    }
}

#[test]
fn policies_are_refused() {
    let check = |of: Value, expect: &str| {
        let found = refused(&of, json!({}));
        assert!(found.contains(expect) && found.is_empty() == expect.is_empty(), "{found:?}, {of}");
    };
    let of = |plugin: &str, args: Value| policy(plugin, args, json!({}), json!({}));
    let evictor = |args: Value| policy("RemoveDuplicates", json!({}), args, json!({}));
    let with = |pointer: &str, value: Value| {
        let mut policy = of("RemoveDuplicates", json!({}));
        *policy.pointer_mut(pointer).expect("it is there") = value;
        policy
    };
    check(of("RemoveDuplicates", json!({})), "");
    check(of("RemoveDuplicates", Value::Null), "");
    check(of("Nobody", json!({})), "plugin Nobody in pluginConfig not registered");
    check(with("/apiVersion", json!("descheduler/v1alpha1")), "no kind");
    check(
        with("/profiles/0/plugins", json!({"deschedule": {"enabled": ["RemoveDuplicates"]}})),
        "non-existing",
    );
    check(
        with("/profiles/0/plugins", json!({"balance": {"enabled": ["LowNodeUtilization"]}})),
        "plugin config",
    );
    check(
        with("/profiles/0/plugins", json!({"filter": {"enabled": ["RemoveDuplicates"]}})),
        "no filter",
    );
    check(with("/profiles/0/plugins", json!({"filter": {"enabled": ["DefaultEvictor"]}})), "");
    check(with("/profiles", json!(7)), "invalid type");
    // Passed over at the top, refused in arguments.
    check(policy("RemoveDuplicates", json!({}), json!({}), json!({"unknown": 1})), "");
    check(of("RemoveDuplicates", json!({"labelSelector": {}})), "unknown field");
    check(of("RemoveDuplicates", json!({"kind": "RemoveDuplicatesArgs"})), "");
    let both = json!({"namespaces": {"include": ["a"], "exclude": ["b"]}});
    check(of("RemoveDuplicates", both), "only one of Include/Exclude");
    let spread = |args| of("RemovePodsViolatingTopologySpreadConstraint", args);
    check(spread(json!({"constraints": ["Never"]})), "constraint Never");
    let wrong = json!({"matchExpressions": [{"key": "a", "operator": "Is"}]});
    check(spread(json!({"labelSelector": wrong})), "no label selector");
    check(of("RemovePodsViolatingNodeAffinity", json!({})), "nodeAffinityType");
    check(of("RemovePodsHavingTooManyRestarts", json!({})), "threshold");
    check(of("PodLifeTime", json!({})), "at least one");
    check(of("PodLifeTime", json!({"states": ["Sleeping"]})), "Sleeping");
    let low = |low: Value, high: Value| {
        of("LowNodeUtilization", json!({"thresholds": low, "targetThresholds": high}))
    };
    check(low(json!({"cpu": 20}), json!({"cpu": 50})), "");
    check(low(json!({"cpu": 20}), json!({"memory": 50})), "different resources");
    check(low(json!({"cpu": 60}), json!({"cpu": 50})), "greater");
    check(low(json!({}), json!({"cpu": 50})), "no resource");
    check(low(json!({"cpu": 101}), json!({"cpu": 101})), "range");
    check(
        evictor(json!({"priorityThreshold": {"value": 1, "name": "a"}})),
        "only one of priorityThreshold",
    );
    check(evictor(json!({"priorityThreshold": {"value": 2_000_000_001}})), "greater than");
    check(evictor(json!({"priorityThreshold": {"name": "nobody"}})), "no PriorityClass");
    check(evictor(json!({"noEvictionPolicy": "Perhaps"})), "noEvictionPolicy");
    check(evictor(json!({"minPodAge": "soon"})), "no duration");
    let extra = json!({"extraEnabled": ["PodsWithPVC"]});
    check(evictor(json!({"podProtections": extra, "ignorePvcPods": true})), "Deprecated");
    check(evictor(json!({"podProtections": {"extraEnabled": ["DaemonSetPods"]}})), "ExtraEnabled");
    check(
        evictor(json!({"podProtections": {"defaultDisabled": ["PodsWithPVC"]}})),
        "DefaultDisabled",
    );
    // Known to upstream, and not here.
    check(of("PodLifeTime", json!({"conditions": [{"type": "Ready"}]})), "not supported");
    let metrics = json!({"source": "KubernetesMetrics"});
    let args = json!({"thresholds": {"cpu": 1}, "targetThresholds": {"cpu": 2}, "metricsUtilization": metrics});
    check(of("LowNodeUtilization", args), "not supported");
}

#[test]
fn a_cycle_comes_again() {
    let check = |annotations: Value, expect: Option<u64>| {
        let policy = policy("RemoveDuplicates", json!({}), json!({}), json!({}));
        let data = json!({"data": {"policy.yaml": policy.to_string()}, "metadata": {"annotations": annotations}});
        let end = cycle(&fixture::view(&[object(POLICY, data)]), &[]).1;
        assert_eq!(
            end,
            Next::Done { requeue_after: expect.map(Duration::from_secs) },
            "{annotations}"
        );
    };
    const INTERVAL: &str = "trommel.dev/descheduling-interval";
    check(json!({}), Some(300));
    check(json!({INTERVAL: "1m30s"}), Some(90));
    check(json!({INTERVAL: "0"}), None);
    let policy = policy("RemoveDuplicates", json!({}), json!({}), json!({}));
    assert!(refused(&policy, json!({INTERVAL: "often"})).contains("no duration"));
    assert_eq!(cycle(&View::default(), &[]).1, Next::Done { requeue_after: None });
}

#[test]
fn a_policy_that_changes_starts_a_cycle() {
    let check = |key: &str, before: Option<Value>, after: Option<Value>, expect: usize| {
        let found = affected(Controller::Descheduler, &View::default(), key, before, after);
        assert_eq!(found.len(), expect, "{key}");
    };
    let map = |text: &str| Some(json!({"data": {"policy.yaml": text}}));
    let labelled = Some(json!({"data": {"policy.yaml": "a"}, "metadata": {"labels": {"a": "b"}}}));
    check(POLICY, None, map("a"), 1);
    check(POLICY, map("a: 1"), map("kind: 1"), 1);
    check(POLICY, map("a"), labelled, 0);
    check(POLICY, map("a"), None, 0);
    check("configmaps/default/descheduler-policy-configmap", None, map("a"), 0);
    check("pods/default/p", None, Some(json!({})), 0);
}

#[test]
fn policies_as_people_write_them() {
    let text = "
apiVersion: \"descheduler/v1alpha2\"
kind: \"DeschedulerPolicy\"
profiles:
  - name: ProfileName
    pluginConfig:
    - name: \"DefaultEvictor\"
    - name: \"RemoveDuplicates\"
    - name: \"LowNodeUtilization\"
      args:
        thresholds:
          \"cpu\" : 20
          \"pods\": 20
        targetThresholds:
          \"cpu\" : 50
          \"pods\": 50
    plugins:
      balance:
        enabled:
          - \"LowNodeUtilization\"
          - \"RemoveDuplicates\"
";
    let map = object(POLICY, json!({"data": {"policy.yaml": text}}));
    let objects = [nodes(&["n1", "n2"]), pods(3, "p", "n1", json!({})), vec![map]].concat();
    assert_eq!(cycle(&fixture::view(&objects), &[]).0, ["p-2"]);
}
