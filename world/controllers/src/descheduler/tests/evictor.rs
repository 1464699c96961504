use super::*;

/// Whether DefaultEvictor lets go one of three pods on one of two nodes.
fn goes(evictor: Value, fields: Value, others: Vec<(ObjectKey, Value)>) -> bool {
    let plugin = "RemovePodsViolatingNodeTaints";
    let tainted = node("n1", json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}));
    let policy = policy(plugin, json!({}), evictor, json!({}));
    let objects = [vec![tainted, node("n2", json!({}))], pods(1, "p", "n1", fields), others];
    !evicted(&policy, &objects).is_empty()
}

#[test]
fn pods_are_protected() {
    let check = |evictor: Value, fields: Value, expect: bool| {
        let found = goes(evictor.clone(), fields.clone(), vec![]);
        assert_eq!(found, expect, "{evictor} {fields}");
    };
    let annotated = |key: &str, value: &str| json!({"metadata": {"annotations": {key: value}}});
    let volume =
        |kind: &str| json!({"spec": {"volumes": [{"name": "v", kind: {"claimName": "c"}}]}});
    let owners =
        |kind: &str| json!({"metadata": {"ownerReferences": [{"kind": kind, "uid": "o"}]}});
    let bare =
        |phase: &str| json!({"metadata": {"ownerReferences": []}, "status": {"phase": phase}});
    let priority = |value: i64| json!({"spec": {"priority": value}});
    check(json!({}), json!({}), true);
    check(json!({}), annotated("kubernetes.io/config.mirror", "x"), false);
    check(json!({}), annotated("kubernetes.io/config.source", "file"), false);
    check(json!({}), annotated("kubernetes.io/config.source", "api"), true);
    check(json!({}), json!({"metadata": {"deletionTimestamp": "2025-12-31T23:00:00Z"}}), false);
    check(json!({}), volume("emptyDir"), false);
    check(json!({}), volume("hostPath"), false);
    check(json!({"evictLocalStoragePods": true}), volume("hostPath"), true);
    check(json!({}), owners("DaemonSet"), false);
    check(json!({"evictDaemonSetPods": true}), owners("DaemonSet"), true);
    check(json!({}), bare("Running"), false);
    check(json!({"evictFailedBarePods": true}), bare("Running"), false);
    check(json!({}), priority(2_000_000_000), false);
    check(json!({"evictSystemCriticalPods": true}), priority(2_000_000_000), true);
    check(json!({"priorityThreshold": {"value": 10}}), priority(10), false);
    check(json!({"priorityThreshold": {"value": 10}}), priority(9), true);
    let both = json!({"priorityThreshold": {"value": 10}, "evictSystemCriticalPods": true});
    check(both, priority(10), true);
    check(json!({}), volume("persistentVolumeClaim"), true);
    check(json!({"ignorePvcPods": true}), volume("persistentVolumeClaim"), false);
    check(json!({"ignorePodsWithoutPDB": true}), json!({}), false);
    let claims = json!({"spec": {"resourceClaims": [{"name": "r"}]}});
    check(json!({}), claims.clone(), true);
    let extra = json!({"podProtections": {"extraEnabled": ["PodsWithResourceClaims"]}});
    check(extra.clone(), claims, false);
    check(extra, volume("emptyDir"), false);
    let less = json!({"podProtections": {"defaultDisabled": ["PodsWithLocalStorage"]}});
    check(less, volume("emptyDir"), true);
    // Whoever says so lets it go, whatever it is.
    let mut both = annotated("descheduler.alpha.kubernetes.io/evict", "");
    json_patch(&mut both, &owners("DaemonSet"));
    check(json!({}), both, true);
    let declines = annotated("descheduler.alpha.kubernetes.io/prefer-no-eviction", "");
    check(json!({"noEvictionPolicy": "Mandatory"}), declines.clone(), false);
    check(json!({"noEvictionPolicy": "Preferred"}), declines, true);
}

#[test]
fn pods_are_selected() {
    let check = |evictor: Value, fields: Value, expect: bool| {
        let namespace =
            object("namespaces/default", json!({"metadata": {"labels": {"team": "a"}}}));
        let found = goes(evictor.clone(), fields.clone(), vec![namespace]);
        assert_eq!(found, expect, "{evictor} {fields}");
    };
    let labels = |field: &str, value: &str| json!({field: {"matchLabels": {"team": value}}});
    check(labels("labelSelector", "a"), json!({}), false);
    check(labels("labelSelector", "a"), json!({"metadata": {"labels": {"team": "a"}}}), true);
    check(labels("namespaceLabelSelector", "a"), json!({}), true);
    check(labels("namespaceLabelSelector", "b"), json!({}), false);
    // The fixture's now is 2026-01-01T00:00:00Z.
    let started = json!({"status": {"startTime": "2025-12-31T23:50:00Z"}});
    check(json!({"minPodAge": "5m"}), started.clone(), true);
    check(json!({"minPodAge": "10m"}), started.clone(), true);
    check(json!({"minPodAge": "10m1s"}), started, false);
    check(json!({"minPodAge": "5m"}), json!({}), false);
    check(json!({"minReplicas": 1}), json!({}), true);
    check(json!({"minReplicas": 2}), json!({}), false);
    check(json!({"nodeFit": true}), json!({}), true);
    check(json!({"nodeFit": true, "nodeSelector": "a=b"}), json!({}), false);
    check(json!({"nodeFit": true, "nodeSelector": "kubernetes.io/hostname=n2"}), json!({}), true);
    let large = json!({"spec": {"containers": [{"resources": {"requests": {"cpu": "3"}}}]}});
    check(json!({"nodeFit": true}), large.clone(), false);
    check(json!({}), large, true);
}

#[test]
fn pods_are_counted_and_covered() {
    let other = vec![pod("q", "n2", json!({}))];
    assert!(goes(json!({"minReplicas": 2}), json!({}), other));
    let budget = |labels: Value| {
        let spec = json!({"spec": {"selector": {"matchLabels": labels}}});
        vec![object("poddisruptionbudgets.policy/default/b", spec)]
    };
    let evictor = || json!({"ignorePodsWithoutPDB": true});
    assert!(goes(evictor(), json!({}), budget(json!({}))));
    assert!(!goes(evictor(), json!({}), budget(json!({"a": "b"}))));
    let class =
        |value: i64| vec![object("priorityclasses.scheduling.k8s.io/c", json!({"value": value}))];
    let threshold = || json!({"priorityThreshold": {"name": "c"}});
    assert!(!goes(threshold(), json!({"spec": {"priority": 7}}), class(7)));
    assert!(goes(threshold(), json!({"spec": {"priority": 6}}), class(7)));
    let claim = |class: Value| {
        vec![object(
            "persistentvolumeclaims/default/c",
            json!({"spec": {"storageClassName": class}}),
        )]
    };
    let config = json!({"PodsWithPVC": {"protectedStorageClasses": [{"name": "fast"}]}});
    let by_class =
        || json!({"podProtections": {"extraEnabled": ["PodsWithPVC"], "config": config}});
    let volume = || json!({"spec": {"volumes": [{"persistentVolumeClaim": {"claimName": "c"}}]}});
    assert!(!goes(by_class(), volume(), claim(json!("fast"))));
    assert!(goes(by_class(), volume(), claim(json!("slow"))));
    assert!(!goes(by_class(), volume(), claim(Value::Null)), "nobody knows");
}

#[test]
fn limits_count_what_went() {
    let check = |top: Value, refused: &[&str], expect: &[&str]| {
        let tainted = |name: &str| {
            node(name, json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}))
        };
        let policy = policy("RemovePodsViolatingNodeTaints", json!({}), json!({}), top.clone());
        let other = json!({"metadata": {"namespace": "other"}});
        let objects = [
            vec![tainted("n1"), tainted("n2")],
            pods(2, "a", "n1", json!({})),
            pods(2, "b", "n2", json!({})),
            pods(1, "c", "n2", other),
        ];
        assert_eq!(cycle(&view(&policy, &objects), refused).0, expect, "{top} {refused:?}");
    };
    let all = ["a-0", "a-1", "b-0", "b-1", "c-0"];
    check(json!({}), &[], &all);
    check(json!({}), &["a-0", "b-0"], &all);
    check(json!({"maxNoOfPodsToEvictTotal": 3}), &[], &all[..3]);
    check(json!({"maxNoOfPodsToEvictTotal": 3}), &["a-0", "b-0"], &all);
    check(json!({"maxNoOfPodsToEvictTotal": 0}), &[], &[]);
    check(json!({"maxNoOfPodsToEvictPerNode": 1}), &[], &["a-0", "b-0"]);
    check(json!({"maxNoOfPodsToEvictPerNode": 1}), &["a-0"], &["a-0", "a-1", "b-0"]);
    check(json!({"maxNoOfPodsToEvictPerNamespace": 2}), &[], &["a-0", "a-1", "c-0"]);
    check(json!({"nodeSelector": "kubernetes.io/hostname in (n1)"}), &[], &[]);
    check(json!({"nodeSelector": "kubernetes.io/hostname"}), &[], &all);
}

#[test]
fn what_was_evicted_is_going() {
    let mut policy = policy("RemovePodsViolatingNodeTaints", json!({}), json!({}), json!({}));
    let twice = json!(["RemovePodsViolatingNodeTaints", "RemovePodsViolatingNodeTaints"]);
    policy["profiles"][0]["plugins"]["deschedule"]["enabled"] = twice;
    let tainted = node("n1", json!({"spec": {"taints": [{"key": "k", "effect": "NoSchedule"}]}}));
    let view = view(&policy, &[vec![tainted], nodes(&["n2"]), pods(2, "p", "n1", json!({}))]);
    assert_eq!(cycle(&view, &[]).0, ["p-0", "p-1"]);
    assert_eq!(cycle(&view, &["p-1"]).0, ["p-0", "p-1", "p-1"]);
}
