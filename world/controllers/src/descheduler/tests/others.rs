use super::*;

fn by(plugin: &str, args: Value, objects: &[Vec<(ObjectKey, Value)>]) -> Vec<String> {
    evicted(&policy(plugin, args, json!({}), json!({})), objects)
}

#[test]
fn pods_leave_nodes_whose_taints_they_do_not_tolerate() {
    let check = |args: Value, effect: &str, tolerations: Value, expect: usize| {
        let taint = json!({"key": "own", "value": "v", "effect": effect});
        let tainted = node("n1", json!({"spec": {"taints": [taint]}}));
        let fields = json!({"spec": {"tolerations": tolerations}});
        let objects = [vec![tainted], nodes(&["n2"]), pods(1, "p", "n1", fields.clone())];
        let found = by("RemovePodsViolatingNodeTaints", args.clone(), &objects);
        assert_eq!(found.len(), expect, "{args} {effect} {fields}");
    };
    let tolerates = json!([{"key": "own", "operator": "Exists"}]);
    check(json!({}), "NoSchedule", json!([]), 1);
    check(json!({}), "NoSchedule", tolerates, 0);
    check(json!({}), "NoSchedule", json!([{"key": "other", "operator": "Exists"}]), 1);
    check(json!({}), "NoExecute", json!([]), 0);
    check(json!({}), "PreferNoSchedule", json!([]), 0);
    check(json!({"includePreferNoSchedule": true}), "PreferNoSchedule", json!([]), 1);
    check(json!({"excludedTaints": ["own"]}), "NoSchedule", json!([]), 0);
    check(json!({"excludedTaints": ["own=v"]}), "NoSchedule", json!([]), 0);
    check(json!({"excludedTaints": ["own=w"]}), "NoSchedule", json!([]), 1);
    check(json!({"includedTaints": ["own=v"]}), "NoSchedule", json!([]), 1);
    check(json!({"includedTaints": ["other"]}), "NoSchedule", json!([]), 0);
}

#[test]
fn pods_leave_nodes_that_their_affinity_does_not_allow() {
    const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
    const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";
    let term = |at: &str| json!({"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": [at]}]});
    let check = |kind: &str, affinity: Value, expect: usize| {
        let fields = json!({"spec": {"affinity": {"nodeAffinity": affinity}}});
        let objects = [nodes(&["n1", "n2"]), pods(1, "p", "n1", fields.clone())];
        let args = json!({"nodeAffinityType": [kind]});
        let found = by("RemovePodsViolatingNodeAffinity", args, &objects);
        assert_eq!(found.len(), expect, "{kind} {fields}");
    };
    let required = |at: &str| json!({REQUIRED: {"nodeSelectorTerms": [term(at)]}});
    let preferred = |at: &str| json!({PREFERRED: [{"weight": 10, "preference": term(at)}]});
    check(REQUIRED, required("n2"), 1);
    check(REQUIRED, required("n1"), 0);
    check(REQUIRED, required("n3"), 0);
    check(REQUIRED, preferred("n2"), 0);
    check(PREFERRED, preferred("n2"), 1);
    check(PREFERRED, preferred("n1"), 0);
    check(PREFERRED, preferred("n3"), 0);
    check("other", required("n2"), 0);
}

#[test]
fn pods_leave_those_that_they_keep_away_from() {
    let of = |app: &str, avoids: &str, fields: Value| {
        let term =
            json!({"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": avoids}}});
        let required = json!({"requiredDuringSchedulingIgnoredDuringExecution": [term]});
        let mut pod = json!({
            "metadata": {"labels": {"app": app}}, "spec": {"affinity": {"podAntiAffinity": required}},
        });
        json_patch(&mut pod, &fields);
        pod
    };
    let check = |pods: Vec<(ObjectKey, Value)>, expect: &[&str]| {
        let zone =
            |name: &str, zone: &str| node(name, json!({"metadata": {"labels": {"zone": zone}}}));
        let objects = [vec![zone("n1", "a"), zone("n2", "a"), zone("n3", "b")], pods];
        assert_eq!(by("RemovePodsViolatingInterPodAntiAffinity", json!({}), &objects), expect);
    };
    let none = || json!({});
    // One of two that keep away from each other has to go, and then the other may stay.
    check(pods(2, "p", "n1", of("x", "x", none())), &["p-0"]);
    check(pods(3, "p", "n1", of("x", "x", none())), &["p-0", "p-1"]);
    let p = |node: &str, app: &str, avoids: &str| {
        pod(&format!("{app}{avoids}"), node, of(app, avoids, none()))
    };
    check(vec![p("n1", "a", "b"), p("n2", "b", "c")], &["ab"]);
    check(vec![p("n1", "a", "b"), p("n3", "b", "c")], &[]);
    let elsewhere = of("b", "c", json!({"metadata": {"namespace": "other"}}));
    check(vec![p("n1", "a", "b"), pod("q", "n1", elsewhere)], &[]);
    // The one of the lower priority, then of the lower class, then the one that does not decline.
    let with = |fields| pod("odd", "n1", of("x", "x", fields));
    let plain = || pod("p", "n1", of("x", "x", none()));
    check(vec![plain(), with(json!({"spec": {"priority": -1}}))], &["odd"]);
    check(vec![plain(), with(json!({"spec": {"priority": 1}}))], &["p"]);
    check(vec![plain(), with(json!({"status": {"qosClass": "BestEffort"}}))], &["odd"]);
    let declines = json!({"descheduler.alpha.kubernetes.io/prefer-no-eviction": ""});
    check(vec![plain(), with(json!({"metadata": {"annotations": declines}}))], &["p"]);
}

#[test]
fn pods_go_that_were_restarted_too_often() {
    let check = |args: Value, restarts: [i64; 2], expect: usize| {
        let state = json!({"waiting": {"reason": "CrashLoopBackOff"}});
        let status = json!({
            "containerStatuses": [{"name": "c", "restartCount": restarts[0], "state": state}],
            "initContainerStatuses": [{"name": "i", "restartCount": restarts[1]}],
        });
        let objects = [nodes(&["n1", "n2"]), pods(1, "p", "n1", json!({"status": status}))];
        let found = by("RemovePodsHavingTooManyRestarts", args.clone(), &objects);
        assert_eq!(found.len(), expect, "{args} {restarts:?}");
    };
    check(json!({"podRestartThreshold": 10}), [10, 0], 1);
    check(json!({"podRestartThreshold": 10}), [9, 9], 0);
    check(json!({"podRestartThreshold": 10, "includingInitContainers": true}), [9, 1], 1);
    check(json!({"podRestartThreshold": 1, "states": ["CrashLoopBackOff"]}), [1, 0], 1);
    check(json!({"podRestartThreshold": 1, "states": ["Running"]}), [1, 0], 1);
}

#[test]
fn pods_go_that_have_failed() {
    let check = |args: Value, fields: Value, expect: usize| {
        let ended = json!({"terminated": {"reason": "Error", "exitCode": 3}});
        let mut all = json!({"status": {
            "phase": "Failed", "reason": "Evicted",
            "containerStatuses": [{"name": "c", "state": ended}],
        }});
        json_patch(&mut all, &fields);
        let objects = [nodes(&["n1", "n2"]), pods(1, "p", "n1", all)];
        assert_eq!(by("RemoveFailedPods", args.clone(), &objects).len(), expect, "{args} {fields}");
    };
    // The fixture's objects are an hour old.
    check(json!({}), json!({}), 1);
    check(json!({"minPodLifetimeSeconds": 3601}), json!({}), 0);
    check(json!({}), json!({"status": {"phase": "Running"}}), 0);
    check(json!({"excludeOwnerKinds": ["ReplicaSet"]}), json!({}), 0);
    check(json!({"reasons": ["Error"]}), json!({}), 1);
    check(json!({"reasons": ["Evicted"]}), json!({}), 1);
    check(json!({"reasons": ["Other"]}), json!({}), 0);
    check(json!({"exitCodes": [3]}), json!({}), 1);
    check(json!({"exitCodes": [1]}), json!({}), 0);
}

#[test]
fn pods_go_that_are_old() {
    let check = |args: Value, fields: Value, expect: usize| {
        let objects = [nodes(&["n1", "n2"]), pods(1, "p", "n1", fields.clone())];
        assert_eq!(by("PodLifeTime", args.clone(), &objects).len(), expect, "{args} {fields}");
    };
    check(json!({"maxPodLifeTimeSeconds": 3599}), json!({}), 1);
    check(json!({"maxPodLifeTimeSeconds": 3600}), json!({}), 0);
    check(json!({"states": ["Running"]}), json!({}), 1);
    check(json!({"states": ["Pending"]}), json!({}), 0);
    check(json!({"states": ["Succeeded"]}), json!({"status": {"phase": "Succeeded"}}), 1);
    let pulls = json!({"containerStatuses": [{"state": {"waiting": {"reason": "ErrImagePull"}}}]});
    check(json!({"states": ["ErrImagePull"]}), json!({"status": pulls}), 1);
    check(json!({"states": ["Running"], "ownerKinds": {"exclude": ["ReplicaSet"]}}), json!({}), 0);
    check(json!({"states": ["Running"], "ownerKinds": {"include": ["Job"]}}), json!({}), 0);
    check(json!({"states": ["Running"], "ownerKinds": {"include": ["ReplicaSet"]}}), json!({}), 1);
}

#[test]
fn pods_leave_nodes_that_are_used_much_or_little() {
    let check = |plugin: &str, args: Value, sizes: [usize; 3], expect: usize| {
        let there = sizes.iter().zip(["n1", "n2", "n3"]);
        let there = there.map(|(count, node)| pods(*count, node, node, json!({})));
        let objects = [vec![nodes(&["n1", "n2", "n3"])], there.collect()].concat();
        assert_eq!(by(plugin, args.clone(), &objects).len(), expect, "{plugin} {args} {sizes:?}");
    };
    let low = |low: i64, high: i64| json!({"thresholds": {"cpu": low}, "targetThresholds": {"cpu": high}});
    // A pod is a twentieth of a node.
    check("LowNodeUtilization", low(30, 50), [16, 9, 0], 6);
    check("LowNodeUtilization", low(30, 50), [16, 9, 7], 0);
    check("LowNodeUtilization", low(30, 50), [10, 9, 0], 0);
    check("LowNodeUtilization", low(30, 50), [20, 20, 6], 4);
    let mut more = low(30, 50);
    more["numberOfNodes"] = json!(1);
    check("LowNodeUtilization", more, [16, 9, 0], 0);
    let mut one = low(30, 50);
    one["evictionLimits"] = json!({"node": 1});
    check("LowNodeUtilization", one, [16, 9, 0], 1);
    let mut from_average = low(10, 10);
    from_average["useDeviationThresholds"] = json!(true);
    check("LowNodeUtilization", from_average, [12, 6, 0], 4);
    let thresholds = json!({"thresholds": {"cpu": 20}});
    check("HighNodeUtilization", thresholds.clone(), [4, 15, 15], 4);
    check("HighNodeUtilization", thresholds.clone(), [5, 15, 15], 0);
    check("HighNodeUtilization", thresholds.clone(), [4, 4, 20], 0);
    check("HighNodeUtilization", thresholds, [4, 4, 4], 0);
}
