//! Levels: what coarser ones ignore, and what they don't.

use super::*;

fn at_level(level: Level) -> Context<'static> {
    Context { level, ..at(NOW) }
}

fn merged(one: &World, two: &World, level: Level) -> bool {
    hash(one, &at_level(level)) == hash(two, &at_level(level))
}

/// Whether these two objects of one name make one world, at each level.
fn check_levels(what: &str, one: Value, two: Value, expect: [bool; 4]) {
    let world = |object: Value| world(&[("pods", object)]);
    let (one, two) = (world(one), world(two));
    let found = Level::ALL.map(|level| merged(&one, &two, level));
    assert_eq!(found, expect, "{what}");
}

#[test]
fn each_level_tells_apart_what_the_one_before_does() {
    let pod = |metadata: Value, spec: Value, status: Value| {
        let mut pod = json!({"metadata": {"name": "a"}, "spec": spec, "status": status});
        for (name, value) in metadata.as_object().unwrap() {
            pod["metadata"][name] = value.clone();
        }
        pod
    };
    let status = |status: Value| pod(json!({}), json!({}), status);
    let spec = |spec: Value| pod(json!({}), spec, json!({}));
    let time = |seconds: i64| Time(NOW - seconds * 1_000_000_000).rfc3339();
    let created =
        |seconds: i64| pod(json!({"creationTimestamp": time(seconds)}), json!({}), json!({}));
    let since = |seconds: i64| spec(json!({"since": time(seconds)}));
    let counted = |generation: i64, observed: i64| {
        let status = json!({"observedGeneration": observed});
        pod(json!({"generation": generation}), json!({}), status)
    };
    let condition = |of: &str, status: &str, reason: &str| json!({"type": of, "status": status, "reason": reason});
    let conditions = |all: Value| status(json!({"conditions": all}));
    let env = |names: [&str; 2]| {
        spec(json!({"env": names.map(|name| json!({"name": name, "value": "x"}))}))
    };

    let (all, not_exact, none) = ([true; 4], [true, true, true, false], [false; 4]);
    let (shape_only, to_scale) = ([true, false, false, false], [true, true, false, false]);
    check_levels("the same", status(json!({"phase": "A"})), status(json!({"phase": "A"})), all);
    check_levels("a phase", status(json!({"phase": "A"})), status(json!({"phase": "B"})), none);
    check_levels("a count", spec(json!({"replicas": 1})), spec(json!({"replicas": 2})), none);
    let ready = |count: i64| status(json!({"readyReplicas": count}));
    check_levels("a count of a status", ready(1), ready(2), shape_only);
    check_levels("a value", spec(json!({"image": "a"})), spec(json!({"image": "b"})), shape_only);
    check_levels("the age of an object", created(20), created(90), not_exact);
    check_levels("an age of the same scale", since(20), since(35), not_exact);
    check_levels("an age of another scale", since(20), since(90), to_scale);
    check_levels("whether there is a time", since(20), spec(json!({"since": "?"})), shape_only);
    let text = |seconds: i64| spec(json!({"log": format!("begun at {}", time(seconds))}));
    check_levels("an age within a text", text(20), text(90), to_scale);
    check_levels("a generation that was seen", counted(3, 3), counted(4, 4), not_exact);
    check_levels("a generation that was not", counted(3, 3), counted(4, 3), shape_only);
    let (ready, held) = (condition("Ready", "True", "A"), condition("Held", "True", "A"));
    check_levels(
        "the order of conditions",
        conditions(json!([ready, held])),
        conditions(json!([held, ready])),
        not_exact,
    );
    let unready = condition("Ready", "False", "A");
    check_levels(
        "a condition's status",
        conditions(json!([ready])),
        conditions(json!([unready])),
        none,
    );
    let other = condition("Ready", "True", "B");
    check_levels("its reason", conditions(json!([ready])), conditions(json!([other])), shape_only);
    check_levels("the order of variables", env(["A", "B"]), env(["B", "A"]), not_exact);
    check_levels("another variable", env(["A", "B"]), env(["A", "C"]), shape_only);
    let going = |grace: i64| {
        let times =
            json!({"deletionTimestamp": Time(NOW).rfc3339(), "deletionGracePeriodSeconds": grace});
        pod(times, json!({}), json!({}))
    };
    check_levels("how long it has to go", going(30), going(0), not_exact);
    let goes = pod(json!({"deletionTimestamp": Time(NOW).rfc3339()}), json!({}), json!({}));
    check_levels("whether it goes", pod(json!({}), json!({}), json!({})), goes, none);
}

#[test]
fn values_that_differ_undisturbed_count_at_the_finest_level_only() {
    let of = |value: &str| {
        world(&[("configmaps", json!({"metadata": {"name": "a"}, "data": {"key": value}}))])
    };
    let mask =
        crate::Mask { object: "configmaps/a".to_owned(), path: ".data.key".parse().unwrap() };
    let masks = Masks { learnt: vec![mask], ..Masks::default() };
    let same = |level| {
        let context = || Context { masks: Some(&masks), ..at_level(level) };
        hash(&of("x"), &context()) == hash(&of("y"), &context())
    };
    assert_eq!(Level::ALL.map(same), [true, true, true, false]);
}

#[test]
fn what_built_in_controllers_made_counts_by_how_far_it_is() {
    let made_by = |manager: &str, labels: Value, phase: &str| {
        let managed = json!([{"manager": manager, "operation": "Update"}]);
        json!({
            "metadata": {"name": "a", "labels": labels, "managedFields": managed},
            "status": {"phase": phase},
        })
    };
    let (all, none) = ([true, true, true, false], [false; 4]);
    let shape_only = [true, false, false, false];
    let one = |by: &str| made_by(by, json!({}), "Pending");
    let labelled = |by: &str| made_by(by, json!({"x": "y"}), "Pending");
    let further = |by: &str| made_by(by, json!({}), "Running");
    let (built_in, operator) = ("kube-controller-manager", "operator");
    check_levels("a label of theirs", one(built_in), labelled(built_in), all);
    check_levels("how far theirs is", one(built_in), further(built_in), shape_only);
    check_levels("a label of the subject's", one(operator), labelled(operator), shape_only);
    check_levels("how far the subject's is", one(operator), further(operator), none);
}

#[test]
fn a_status_that_nobody_wrote_is_of_the_environment() {
    let pod = |fields: Value, status: Value| {
        let managed = json!([{"manager": "operator", "operation": "Update", "fieldsV1": fields}]);
        json!({"metadata": {"name": "a", "managedFields": managed}, "status": status})
    };
    let bound =
        json!({"phase": "Pending", "conditions": [{"type": "PodScheduled", "status": "True"}]});
    let check = |what: &str, fields: Value, expect| {
        let new = pod(fields.clone(), json!({"phase": "Pending"}));
        check_levels(what, new, pod(fields, bound.clone()), expect);
    };
    check("nobody's", json!({"f:spec": {}}), [true, false, false, false]);
    check("the subject's", json!({"f:spec": {}, "f:status": {}}), [false; 4]);
}

#[test]
fn what_a_controller_reads_in_a_status_of_the_environment_counts_at_scale() {
    let job = |status: Value| {
        let managed = json!([{"manager": "kube-controller-manager", "operation": "Update",
            "subresource": "status", "fieldsV1": {"f:status": {}}}]);
        json!({"metadata": {"name": "a", "managedFields": managed}, "status": status})
    };
    let check = |what: &str, one: Value, two: Value| {
        check_levels(what, job(one), job(two), [true, false, false, false]);
    };
    let failed = |reason: &str| json!({"conditions": [{"type": "Failed", "status": "True", "reason": reason}]});
    let container = |state: Value| json!({"containerStatuses": [{"name": "c", "restartCount": 0, "state": state}]});
    check("counts", json!({"succeeded": 1}), json!({"succeeded": 2}));
    check("reasons", failed("BackoffLimitExceeded"), failed("DeadlineExceeded"));
    check(
        "containers",
        container(json!({"running": {}})),
        container(json!({"terminated": {"exitCode": 1}})),
    );
}

#[test]
fn drawn_names_have_no_order_before_the_finest_level() {
    let pod = |name: &str, going: bool| {
        let mut metadata =
            json!({"name": name, "generateName": "web-", "uid": format!("uid-{name}")});
        if going {
            metadata["deletionTimestamp"] = Time(NOW).rfc3339().into();
        }
        ("pods", json!({"metadata": metadata}))
    };
    let issued = || Context { generated_names: vec!["web-aaaa2", "web-bbbb2"], ..at(NOW) };
    let of = |first, second| world(&[pod("web-aaaa2", first), pod("web-bbbb2", second)]);
    let same = |level, one: &World, two: &World| {
        hash(one, &Context { level, ..issued() }) == hash(two, &Context { level, ..issued() })
    };
    let (first, second, both) = (of(true, false), of(false, true), of(true, true));
    let expect = [true, true, true, false];
    assert_eq!(Level::ALL.map(|level| same(level, &first, &second)), expect);
    assert_eq!(Level::ALL.map(|level| same(level, &first, &both)), [false; 4]);
    // A name that was given has its place.
    let given = |first, second| world(&[pod("web-a", first), pod("web-b", second)]);
    let (first, second) = (given(true, false), given(false, true));
    assert_eq!(Level::ALL.map(|level| same(level, &first, &second)), [false; 4]);
}

#[test]
fn nodes_that_the_scheduler_chose_count_where_nodes_are_seen() {
    let fields = json!([{"manager": "m", "fieldsV1": {"f:spec": {"f:containers": {}}}}]);
    let pod = |name: &str, node: &str| {
        let metadata = json!({"name": name, "managedFields": fields});
        ("pods", json!({"metadata": metadata, "spec": {"containers": [], "nodeName": node}}))
    };
    let node = |name: &str| ("nodes", json!({"metadata": {"name": name}}));
    let on = |first, second| vec![pod("a", first), pod("b", second)];
    let check = |left: Vec<(&str, Value)>, right: Vec<(&str, Value)>, level, expect| {
        assert_eq!(merged(&world(&left), &world(&right), level), expect, "{level}");
    };
    check(on("n0", "n0"), on("n1", "n1"), Level::Scale, true);
    check(on("n0", "n1"), on("n1", "n0"), Level::Scale, true);
    check(on("n0", "n0"), on("n0", "n1"), Level::Scale, true);
    check(on("n0", "n0"), on("n1", "n1"), Level::Exact, false);
    let seen = |at| [on(at, at), vec![node("n0"), node("n1")]].concat();
    check(seen("n0"), seen("n1"), Level::Scale, false);
    let shared = |first, second| [on(first, second), vec![node("n0"), node("n1")]].concat();
    check(shared("n0", "n0"), shared("n0", "n1"), Level::Scale, false);
}
