use super::*;

const PLUGIN: &str = "RemovePodsViolatingTopologySpreadConstraint";

fn constraint(fields: Value) -> Value {
    let mut constraint = json!({
        "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"foo": "bar"}},
    });
    json_patch(&mut constraint, &fields);
    json!({"metadata": {"labels": {"foo": "bar"}}, "spec": {"topologySpreadConstraints": [constraint]}})
}

fn labelled() -> Value {
    json!({"metadata": {"labels": {"foo": "bar"}}})
}

fn zone(name: &str, fields: Value) -> (ObjectKey, Value) {
    let mut all = json!({"metadata": {"labels": {"zone": name}}});
    json_patch(&mut all, &fields);
    node(name, all)
}

fn zones(names: &[&str]) -> Vec<(ObjectKey, Value)> {
    names.iter().map(|name| zone(name, json!({}))).collect()
}

fn by(args: Value, objects: &[Vec<(ObjectKey, Value)>]) -> Vec<String> {
    evicted(&policy(PLUGIN, args, json!({}), json!({})), objects)
}

#[test]
fn domains_come_within_the_skew() {
    let check = |sizes: &[usize], skew: i64, expect: usize| {
        let names: Vec<String> = (0..sizes.len()).map(|at| format!("z{at}")).collect();
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let spread = constraint(json!({"maxSkew": skew}));
        let there = sizes.iter().zip(&names).map(|(count, z)| pods(*count, z, z, spread.clone()));
        let objects = [vec![zones(&names)], there.collect()].concat();
        // Whether they fit anywhere is another question.
        let found = by(json!({"topologyBalanceNodeFit": false}), &objects);
        assert_eq!(found.len(), expect, "{sizes:?} {skew}: {found:?}");
    };
    check(&[2, 1], 1, 0);
    check(&[3, 1], 1, 1);
    check(&[5, 2], 1, 1);
    check(&[4, 0], 1, 2);
    check(&[0, 1, 100], 1, 66);
    check(&[0, 1, 3, 5], 1, 3);
    check(&[2, 6], 2, 1);
    check(&[8, 7, 0], 1, 5);
    check(&[5, 5, 5], 1, 0);
    check(&[2, 3, 4], 1, 1);
}

#[test]
fn constraints_count_that_are_asked_for() {
    let check = |args: Value, when: &str, expect: usize| {
        let spread = constraint(json!({"whenUnsatisfiable": when}));
        let objects =
            [zones(&["a", "b"]), pods(3, "p", "a", spread), pods(1, "q", "b", labelled())];
        assert_eq!(by(args.clone(), &objects).len(), expect, "{args} {when}");
    };
    check(json!({}), "DoNotSchedule", 1);
    check(json!({}), "ScheduleAnyway", 0);
    check(json!({"constraints": ["ScheduleAnyway"]}), "ScheduleAnyway", 1);
    check(json!({"constraints": ["ScheduleAnyway"]}), "DoNotSchedule", 0);
    check(json!({"constraints": ["DoNotSchedule", "ScheduleAnyway"]}), "ScheduleAnyway", 1);
    let label = |operator: &str| {
        let one = json!({"key": "foo", "operator": operator, "values": ["bar"]});
        json!({"labelSelector": {"matchExpressions": [one]}})
    };
    check(label("In"), "DoNotSchedule", 1);
    check(label("NotIn"), "DoNotSchedule", 0);
    check(json!({"namespaces": {"exclude": ["kube-system"]}}), "DoNotSchedule", 1);
    check(json!({"namespaces": {"include": ["kube-system"]}}), "DoNotSchedule", 0);
}

#[test]
fn pods_stay_that_fit_nowhere_else() {
    let check = |target: Value, fields: Value, args: Value, expect: usize| {
        let mut spread = constraint(json!({}));
        json_patch(&mut spread, &fields);
        let objects =
            [vec![zone("a", json!({})), zone("b", target.clone())], pods(4, "p", "a", spread)];
        assert_eq!(by(args, &objects).len(), expect, "{target} {fields}");
    };
    let taint = |effect: &str| json!({"spec": {"taints": [{"key": "own", "effect": effect}]}});
    let tolerant = json!({"spec": {"tolerations": [{"key": "own", "operator": "Exists"}]}});
    check(json!({}), json!({}), json!({}), 2);
    check(taint("NoSchedule"), json!({}), json!({}), 0);
    check(taint("NoSchedule"), json!({}), json!({"topologyBalanceNodeFit": false}), 2);
    check(taint("NoSchedule"), tolerant, json!({}), 2);
    check(taint("PreferNoSchedule"), json!({}), json!({}), 2);
    check(json!({"spec": {"unschedulable": true}}), json!({}), json!({}), 0);
    check(json!({"status": {"allocatable": {"cpu": "50m"}}}), json!({}), json!({}), 0);
    check(json!({"status": {"allocatable": {"pods": "0"}}}), json!({}), json!({}), 0);
    let here = json!({"spec": {"nodeSelector": {"zone": "a"}}});
    check(json!({}), here.clone(), json!({}), 0);
    // Without the node that they could not be on there is one domain only.
    let any = json!({"spec": {"nodeSelector": {"zone": "a"}}, "metadata": {"labels": {"x": "y"}}});
    check(json!({}), any, json!({"topologyBalanceNodeFit": false}), 0);
    // A pod that is there counts for its domain, and keeps the others away.
    let other = json!({"metadata": {"labels": {"foo": "no"}}, "spec": {"nodeName": "b"}});
    let term = json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"foo": "no"}}});
    let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
    let mut spread = constraint(json!({}));
    json_patch(&mut spread, &json!({"spec": {"affinity": {"podAntiAffinity": required}}}));
    let objects = [zones(&["a", "b"]), pods(4, "p", "a", spread), pods(1, "q", "b", other)];
    assert_eq!(by(json!({}), &objects), [""; 0]);
}

#[test]
fn the_last_of_a_domain_go() {
    let check = |fields: Value, expect: &[&str]| {
        let mut odd = constraint(json!({}));
        json_patch(&mut odd, &fields);
        let plain = pods(2, "p", "a", constraint(json!({})));
        let objects = [zones(&["a", "b"]), plain, vec![pod("odd", "a", odd)]];
        assert_eq!(by(json!({}), &objects), expect, "{fields}");
    };
    // Three and none: one is to go. The one of a high priority is, and never the one that chooses its nodes.
    check(json!({"spec": {"priority": 5}}), &["odd"]);
    check(json!({"spec": {"priority": -5}}), &["p-1"]);
    let prefers = json!({"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": []}});
    check(json!({"spec": {"priority": 5, "affinity": prefers}}), &["p-1"]);
    // Pods that can't be evicted are none, for upstream.
    check(json!({"metadata": {"ownerReferences": []}}), &["p-1"]);
    check(json!({"metadata": {"deletionTimestamp": "2025-12-31T23:00:00Z"}}), &["p-1"]);
}

#[test]
fn match_label_keys_narrow_a_constraint() {
    let check = |hash: &str, expect: usize| {
        let of = |hash: &str| {
            let mut spread = constraint(json!({"matchLabelKeys": ["pod-template-hash"]}));
            json_patch(&mut spread, &json!({"metadata": {"labels": {"pod-template-hash": hash}}}));
            spread
        };
        let objects = [zones(&["a", "b"]), pods(1, "p", "a", of("x")), pods(1, "q", "a", of(hash))];
        assert_eq!(by(json!({}), &objects).len(), expect, "{hash}");
    };
    check("x", 1);
    check("y", 0);
}

#[test]
fn nodes_count_that_a_constraint_is_about() {
    let tainted =
        || zone("b", json!({"spec": {"taints": [{"key": "own", "effect": "NoSchedule"}]}}));
    let check = |policies: Value, target: (ObjectKey, Value), fields: Value, expect: usize| {
        let mut spread = constraint(policies.clone());
        json_patch(&mut spread, &fields);
        let objects = [vec![zone("a", json!({})), target], pods(2, "p", "a", spread)];
        let args = json!({"topologyBalanceNodeFit": false});
        assert_eq!(by(args, &objects).len(), expect, "{policies} {fields}");
    };
    check(json!({}), tainted(), json!({}), 1);
    check(json!({"nodeTaintsPolicy": "Honor"}), tainted(), json!({}), 0);
    let here = json!({"spec": {"nodeSelector": {"zone": "a"}}});
    check(json!({}), zone("b", json!({})), here.clone(), 0);
    check(json!({"nodeAffinityPolicy": "Ignore"}), zone("b", json!({})), here, 1);
}
