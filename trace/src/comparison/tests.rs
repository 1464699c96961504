//! What comparisons keep, and how they name things.

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{GroupResource, diff::differences};

type World = Vec<(ObjectKey, Arc<Value>)>;

fn world(objects: &[(&str, Value)]) -> World {
    objects
        .iter()
        .map(|(resource, object)| {
            let field = |name: &str| object["metadata"][name].as_str().unwrap_or("");
            let resource: GroupResource = resource.parse().expect("a resource");
            (ObjectKey::new(resource, field("namespace"), field("name")), Arc::new(object.clone()))
        })
        .collect()
}

fn canonical(objects: &[(&str, Value)]) -> WorldForm {
    let world = world(objects);
    comparison(world.iter().map(|(key, object)| (key, object)), [], &Masks::default())
}

fn foo(name: &str, owner: &str, color: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {
            "namespace": "default", "name": name, "generateName": "foo-", "uid": format!("uid-{name}"),
            "resourceVersion": "7", "generation": 3, "creationTimestamp": "2026-01-01T00:00:00Z",
            "ownerReferences": [{"kind": "Bar", "name": "bar", "uid": owner}],
            "managedFields": [{"manager": "m"}],
        },
        "spec": {"color": color},
    });
    ("foos.example.com", object)
}

fn bar(reference: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {"namespace": "default", "name": "bar", "uid": "u-bar"},
        "status": {"objRef": {"name": reference}, "observedGeneration": 1},
    });
    ("bars.example.com", object)
}

#[test]
fn the_form() {
    let world = canonical(&[foo("foo-aaaaa", "u-bar", "red"), bar("foo-aaaaa")]);
    let expect = json!({
        "bars.example.com/default/bar": {
            "metadata": {"namespace": "default", "name": "bar"},
            "status": {"objRef": {"name": "foo-‹1›"}},
        },
        "foos.example.com/default/foo-‹1›": {
            "metadata": {
                "namespace": "default", "name": "foo-‹1›", "generateName": "foo-",
                "creationTimestamp": "<time>",
                "ownerReferences": [{
                    "kind": "Bar", "name": "bar", "uid": "‹uid of bars.example.com/default/bar›",
                }],
            },
            "spec": {"color": "red"},
        },
    });
    assert_eq!(serde_json::to_value(world).unwrap(), expect);
}

#[test]
fn names_do_not_decide_numbers() {
    let with = |first, second, known| {
        canonical(&[foo(first, "u-bar", "red"), foo(second, "u-bar", "red"), bar(known)])
    };
    let one = with("foo-aaaaa", "foo-bbbbb", "foo-aaaaa");
    assert_eq!(one, with("foo-ddddd", "foo-ccccc", "foo-ddddd"));
    assert_eq!(one["bars.example.com/default/bar"]["status"]["objRef"]["name"], "foo-‹1›");
    let colours = |first, second| {
        canonical(&[foo("foo-aaaaa", "u-bar", first), foo("foo-bbbbb", "u-bar", second)])
    };
    assert_eq!(colours("red", "blue"), colours("blue", "red"));
    assert_ne!(colours("red", "red"), colours("red", "blue"));
}

#[test]
fn the_known_sibling_keeps_its_number_when_a_surplus_one_appears() {
    let one = canonical(&[foo("foo-bbbbb", "u-bar", "red"), bar("foo-bbbbb")]);
    let two = canonical(&[
        foo("foo-aaaaa", "u-bar", "red"),
        foo("foo-bbbbb", "u-bar", "red"),
        bar("foo-bbbbb"),
    ]);
    let found = differences(&one, &two);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].object, "foos.example.com/default/foo-‹2›");
}

#[test]
fn symmetric_pairs_stay_pairs() {
    let pair = |claim: &str, pod: &str| {
        let mut pod = foo(pod, "u-bar", "red");
        pod.1["spec"]["next"] = json!(claim);
        [foo(claim, "u-bar", "blue"), pod]
    };
    let pairs = |names: [(&str, &str); 3]| canonical(&names.map(|(a, b)| pair(a, b)).concat());
    let straight =
        pairs([("foo-aaaaa", "foo-ppppp"), ("foo-bbbbb", "foo-qqqqq"), ("foo-ccccc", "foo-rrrrr")]);
    let crossed =
        pairs([("foo-aaaaa", "foo-rrrrr"), ("foo-bbbbb", "foo-ppppp"), ("foo-ccccc", "foo-qqqqq")]);
    assert_eq!(straight, crossed);
}

#[test]
fn references_to_what_is_gone() {
    let world = canonical(&[foo("foo-aaaaa", "u-old", "red")]);
    let owner = &world["foos.example.com/default/foo-‹1›"]["metadata"]["ownerReferences"][0];
    assert_eq!(owner["uid"], "‹uid of nothing›");
    let objects = super::tests::world(&[bar("foo-00001")]);
    let objects = objects.iter().map(|(key, object)| (key, object));
    let world = comparison(objects, ["foo-00001"], &Masks::default());
    assert_eq!(world["bars.example.com/default/bar"]["status"]["objRef"]["name"], "foo-‹gone›");
}

#[track_caller]
fn check(left: Value, right: Value, equal: bool) {
    let of = |rest: &Value| {
        let mut object = rest.clone();
        object["metadata"]["name"] = json!("a");
        canonical(&[("secrets", object)])
    };
    assert_eq!(of(&left) == of(&right), equal, "{left} {right}");
}

#[test]
fn what_counts() {
    let condition = |kind: &str, status: &str, time: &str| json!({"type": kind, "status": status, "lastTransitionTime": time});
    let conditions = |items: Vec<Value>| json!({"status": {"conditions": items}});
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
    let ready = |status, time| conditions(vec![condition("Ready", status, time)]);
    check(ready("True", early), ready("True", late), true);
    check(ready("True", early), ready("False", early), false);
    let both = [condition("A", "True", early), condition("B", "True", early)];
    let [a, b] = both;
    check(conditions(vec![a.clone(), b.clone()]), conditions(vec![b, a]), true);
    check(json!({"list": [1, 2]}), json!({"list": [2, 1]}), false);
    check(json!({"phase": "Ready"}), json!({"phase": "Failed"}), false);
    check(json!({"time": early}), json!({}), false);
    check(json!({"metadata": {"generation": 1}}), json!({"metadata": {"generation": 2}}), true);
    check(json!({"metadata": {"annotations": {"a": "1"}}}), json!({"metadata": {}}), false);
    check(json!({"data": {"a": "1"}}), json!({"data": {"a": "2"}}), true);
    check(json!({"data": {"a": "1", "b": "1"}}), json!({"data": {"a": "1", "b": "2"}}), false);
    check(json!({"data": {"a": "1"}}), json!({"data": {"b": "1"}}), false);
}

fn leaves(value: &Value, path: &str, found: &mut Vec<String>) {
    let entries: Vec<(String, &Value)> = match value {
        Value::Object(map) => map.iter().map(|(key, inner)| (key.clone(), inner)).collect(),
        Value::Array(items) => {
            items.iter().enumerate().map(|(at, inner)| (at.to_string(), inner)).collect()
        }
        _ => return found.push(path.to_owned()),
    };
    for (key, inner) in entries {
        leaves(inner, &format!("{path}/{key}"), found);
    }
}

/// Every leaf but those listed: what a comparison leaves out is in this list and nowhere else.
#[test]
fn every_other_field_counts() {
    let time = "2026-01-01T00:00:00Z";
    let object = json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {
            "name": "a", "namespace": "default", "uid": "u-a", "resourceVersion": "5", "generation": 2,
            "creationTimestamp": time, "deletionTimestamp": time, "labels": {"app": "x"},
            "annotations": {"note": "y"}, "finalizers": ["f"],
            "ownerReferences": [{"kind": "Bar", "name": "bar", "uid": "u-bar", "controller": true}],
            "managedFields": [{"manager": "m", "time": time}],
        },
        "spec": {"replicas": 1, "on": true, "none": null, "list": ["b", "a"], "ref": {"resourceVersion": "5"}},
        "status": {
            "phase": "Ready", "observedGeneration": 2, "podIP": "10.0.0.1",
            "conditions": [{
                "type": "Ready", "status": "True", "reason": "R", "message": "m",
                "lastTransitionTime": time, "observedGeneration": 2,
            }],
        },
    });
    let exempt = [
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/metadata/generation",
        "/metadata/managedFields/0/manager",
        "/metadata/managedFields/0/time",
        "/spec/ref/resourceVersion",
        "/status/observedGeneration",
        "/status/conditions/0/observedGeneration",
        // Which address it is does not count, whose it is does.
        "/status/podIP",
    ];
    let before = canonical(&[("pods", object.clone()), bar("x")]);
    let mut paths = Vec::new();
    leaves(&object, "", &mut paths);
    assert!(exempt.iter().all(|path| paths.iter().any(|known| known == path)));
    for path in paths {
        let mut changed = object.clone();
        let leaf = changed.pointer_mut(&path).unwrap();
        *leaf = match leaf.take() {
            Value::String(text) if text == "10.0.0.1" => json!("10.0.0.2"),
            Value::String(text) => json!(text + "x"),
            Value::Number(number) => json!(number.as_i64().unwrap() + 1),
            Value::Bool(on) => json!(!on),
            _ => json!(0),
        };
        let after = canonical(&[("pods", changed), bar("x")]);
        assert_eq!(before == after, exempt.contains(&&*path), "{path}");
    }
}

#[test]
fn masks_and_accepted_parts_are_overlooked() {
    let objects = |color| world(&[foo("foo-aaaaa", "u-bar", color), bar("foo-aaaaa")]);
    let with = |color, masks: &Masks| {
        let objects = objects(color);
        comparison(objects.iter().map(|(key, object)| (key, object)), [], masks)
    };
    let mask = Mask {
        object: "foos.example.com/default/foo-‹*›".into(),
        path: ".spec.color".parse().unwrap(),
    };
    let learnt = Masks { learnt: vec![mask], accepted: Vec::new() };
    assert_eq!(with("red", &learnt), with("blue", &learnt));
    for (accepted, objects_left) in [("foos.example.com/*", 1), ("foos.example.com/* .spec", 2)] {
        let masks = Masks { learnt: Vec::new(), accepted: vec![accepted.parse().unwrap()] };
        assert_eq!(with("red", &masks), with("blue", &masks), "{accepted}");
        assert_eq!(with("red", &masks).objects().count(), objects_left);
    }
}

#[test]
fn folded_forms() {
    let objects = world(&[foo("foo-aaaaa", "u-bar", "foo-aaaaa/x"), bar("foo-aaaaa")]);
    let folder = Folder::new(objects.iter().map(|(key, object)| (key, object)), ["foo-00001"]);
    let (key, object) = &objects[0];
    assert_eq!(folder.key(key), "foos.example.com/default/foo-‹*›");
    assert!(folder.is_generated(key) && !folder.is_generated(&objects[1].0));
    assert_eq!(folder.text("see foo-00001"), "see foo-‹*›");
    let folded = folder.object(key, object, &Masks::default());
    assert_eq!(folded["spec"]["color"], "foo-‹*›/x");
    assert_eq!(folded["metadata"]["ownerReferences"][0]["uid"], "‹uid›");
    for (canonical, expect) in [
        ("foos/default/foo-‹2›", "foos/default/foo-‹*›"),
        ("foos/default/foo-‹gone›", "foos/default/foo-‹gone›"),
        ("foos/‹1›/x-‹12›-y‹", "foos/‹*›/x-‹*›-y‹"),
    ] {
        assert_eq!(fold_key(canonical), expect);
    }
}

/// Canonical texts and digests rely on maps being in key order, which another crate's wish for insertion
/// order (serde_json's `preserve_order`) would end.
#[test]
fn maps_are_in_key_order() {
    assert_eq!(json!({"b": 1, "a": 2}).to_string(), "{\"a\":2,\"b\":1}");
}

proptest! {
    /// Any names and any order give one canonical world; siblings point at each other at random.
    #[test]
    fn names_and_order_do_not_count(
        colors in proptest::collection::vec(0..3_u8, 1..6),
        targets in proptest::collection::vec(any::<prop::sample::Index>(), 6),
        names in Just((0..6_usize).collect::<Vec<_>>()).prop_shuffle(),
    ) {
        let build = |name: &dyn Fn(usize) -> String| {
            let objects: Vec<(&str, Value)> = colors.iter().enumerate().map(|(at, color)| {
                let mut object = foo(&name(at), "u-bar", &color.to_string());
                // A chain: the last has no target, so that refinement tells all apart or none matters.
                if at + 1 < colors.len() && targets[at].index(2) == 0 {
                    object.1["spec"]["next"] = json!(name(at + 1));
                }
                object
            }).collect();
            canonical(&objects)
        };
        let plain = build(&|at| format!("foo-aaaa{}", char::from(b'a' + at as u8)));
        let shuffled = build(&|at| format!("foo-zzzz{}", char::from(b'a' + names[at] as u8)));
        prop_assert_eq!(plain, shuffled);
    }
}

fn pod(name: &str, ip: &str, role: &str) -> (&'static str, Value) {
    let object = json!({
        "metadata": {"namespace": "default", "name": name, "generateName": "web-", "uid": format!("u-{name}"),
            "labels": {"role": role}},
        "status": {"podIP": ip},
    });
    ("pods", object)
}

/// Two pods that came up in the other order after a restart.
#[test]
fn the_order_of_a_set_means_nothing() {
    let endpoints = |first: (&str, &str), second: (&str, &str)| {
        let address = |(name, ip): (&str, &str)| json!({"ip": ip, "targetRef": {"kind": "Pod", "name": name, "uid": format!("u-{name}")}});
        let addresses = json!([address(first), address(second)]);
        let object = json!({
            "metadata": {"namespace": "default", "name": "web"},
            "subsets": [{"addresses": addresses, "ports": [{"name": "b", "port": 2}, {"name": "a", "port": 1}]}],
        });
        ("endpoints", object)
    };
    let (one, two) = (("web-aaaaa", "10.0.0.1"), ("web-bbbbb", "10.0.0.2"));
    for roles in [["any", "any"], ["first", "second"]] {
        let pods = || [pod(one.0, one.1, roles[0]), pod(two.0, two.1, roles[1])];
        let [a, b] = pods();
        let [c, d] = pods();
        assert_eq!(
            canonical(&[a, b, endpoints(one, two)]),
            canonical(&[c, d, endpoints(two, one)]),
            "{roles:?}"
        );
    }
    let finalizers = |all: [&str; 2]| {
        let meta = json!({"namespace": "default", "name": "a", "finalizers": all});
        canonical(&[("configmaps", json!({"metadata": meta}))])
    };
    assert_eq!(finalizers(["x/a", "x/b"]), finalizers(["x/b", "x/a"]));
    assert_ne!(finalizers(["x/a", "x/b"]), finalizers(["x/a", "x/c"]));
    let arguments = |all: [&str; 2]| {
        let spec = json!({"args": all});
        canonical(&[("configmaps", json!({"metadata": {"name": "a"}, "spec": spec}))])
    };
    assert_ne!(arguments(["a", "b"]), arguments(["b", "a"]));
}

/// A template with the time of a restart in it gets another hash in every run.
#[test]
fn a_template_counts_by_its_content_not_by_its_hash() {
    let set = |hash: &str, time: &str, image: &str| {
        let template = json!({"metadata": {"annotations": {"restartedAt": time}}, "image": image});
        let name = format!("db-{hash}");
        let revision = json!({
            "metadata": {"namespace": "default", "name": name, "labels": {"controller.kubernetes.io/hash": hash}},
            "data": {"spec": {"template": template}},
        });
        let owner = json!({
            "metadata": {"namespace": "default", "name": "db"},
            "status": {"updateRevision": name},
        });
        canonical(&[("controllerrevisions.apps", revision), ("statefulsets.apps", owner)])
    };
    let first = set("588bb9ff78", "2026-01-01T00:00:00Z", "a");
    assert_eq!(first, set("686d8875cf", "2026-01-01T00:00:09Z", "a"));
    assert_ne!(first, set("686d8875cf", "2026-01-01T00:00:09Z", "b"));
}

fn service(name: &str, port: u32, written: bool) -> (&'static str, Value) {
    let mut fields = json!({"f:port": {}});
    if written {
        fields["f:nodePort"] = json!({});
    }
    let ports = json!({"k:{\"port\":80,\"protocol\":\"TCP\"}": fields});
    let object = json!({
        "metadata": {
            "namespace": "default", "name": name,
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": {"f:ports": ports}}}],
        },
        "spec": {"ports": [{"name": "http", "port": 80, "protocol": "TCP", "nodePort": port}]},
    });
    ("services", object)
}

fn noted(port: u32) -> (&'static str, Value) {
    let object = json!({
        "metadata": {"namespace": "default", "name": "noted"},
        "data": {"url": format!("http://a:{port}/"), "port": port.to_string()},
        "status": {"external": port, "all": [port, 1]},
    });
    ("configmaps", object)
}

#[test]
fn node_ports_that_nobody_asked_for_are_labels() {
    let with =
        |port, written, noted_port| canonical(&[service("a", port, written), noted(noted_port)]);
    let chosen = with(30_086, false, 30_086);
    assert_eq!(chosen, with(30_099, false, 30_099));
    assert_ne!(chosen, with(30_099, false, 30_086), "another port than the service's");
    assert_ne!(with(30_080, true, 30_080), with(30_081, true, 30_081), "asked for");
    assert_ne!(with(30_080, true, 30_080), with(30_080, false, 30_080));
    let map = &chosen["configmaps/default/noted"];
    let label = "‹node port http of services/default/a›";
    assert_eq!(map["data"]["url"], format!("http://a:{label}/"));
    assert_eq!(map["data"]["port"], label);
    assert_eq!(map["status"], json!({"external": label, "all": [label, 1]}));
}

#[test]
fn whose_port_was_noted_counts() {
    let noting =
        |port| canonical(&[service("a", 30_086, false), service("b", 30_087, false), noted(port)]);
    assert_ne!(noting(30_086), noting(30_087));
    let swapped =
        canonical(&[service("a", 30_087, false), service("b", 30_086, false), noted(30_087)]);
    assert_eq!(noting(30_086), swapped);
}

#[test]
fn ports_of_health_checks_and_of_unknown_writers() {
    let of = |manager: Value, health: u32, port: u32| {
        let object = json!({
            "metadata": {"namespace": "default", "name": "a", "managedFields": manager},
            "spec": {"healthCheckNodePort": health, "ports": [{"port": 80, "nodePort": port}]},
        });
        canonical(&[("services", object)])
    };
    let nobody = || json!([]);
    assert_eq!(of(nobody(), 30_100, 30_101), of(nobody(), 30_200, 30_201));
    assert_ne!(of(nobody(), 30_100, 8_080), of(nobody(), 30_100, 8_081), "not of the range");
    let somebody =
        || json!([{"manager": "m", "fieldsV1": {"f:spec": {"f:healthCheckNodePort": {}}}}]);
    assert_ne!(of(somebody(), 30_100, 30_101), of(somebody(), 30_200, 30_101));
}

fn node(name: &str, disk: &str) -> (&'static str, Value) {
    let labels = json!({"kubernetes.io/hostname": name, "disk": disk});
    ("nodes", json!({"metadata": {"name": name, "labels": labels, "uid": format!("u-{name}")}}))
}

/// A pod on a node; `pinned`: its manifest says so.
fn pod_on(name: &str, node: &str, pinned: bool) -> (&'static str, Value) {
    let spec = if pinned { json!({"f:nodeName": {}}) } else { json!({"f:containers": {}}) };
    let object = json!({
        "metadata": {
            "namespace": "default", "name": name, "labels": {"app": name},
            "managedFields": [{"manager": "m", "fieldsV1": {"f:spec": spec}}],
        },
        "spec": {"containers": [], "nodeName": node},
        "status": {"message": format!("started on {node}")},
    });
    ("pods", object)
}

fn on_nodes(disks: [&str; 2], pods: &[(&'static str, Value)]) -> WorldForm {
    let nodes = [node("node-0", disks[0]), node("node-1", disks[1])];
    canonical(&[&nodes, pods].concat())
}

const ALIKE: [&str; 2] = ["hdd", "hdd"];

#[test]
fn which_of_like_nodes_the_scheduler_chose_does_not_count() {
    let pods = |a, b| on_nodes(ALIKE, &[pod_on("a", a, false), pod_on("b", b, false)]);
    let apart = pods("node-0", "node-1");
    assert_eq!(apart, pods("node-1", "node-0"));
    let together = pods("node-0", "node-0");
    assert_eq!(together, pods("node-1", "node-1"));
    assert_eq!(apart, together, "on one node or on two");
    assert_eq!(together["pods/default/a"]["spec"]["nodeName"], "‹node›");
    assert_eq!(together["pods/default/a"]["status"]["message"], "started on ‹node›");
    let record = |of: &str| {
        let map = json!({"metadata": {"namespace": "default", "name": "where"}, "data": {"a": of}});
        on_nodes(ALIKE, &[pod_on("a", "node-0", false), ("configmaps", map)])
    };
    assert_eq!(record("node-0"), record("node-1"), "a record of one that stood there before");
}

#[test]
fn what_becomes_of_a_node_counts() {
    let with = |disks| on_nodes(disks, &[pod_on("a", "node-0", false)]);
    let found = differences(&with(ALIKE), &with(["ssd", "hdd"]));
    let found: Vec<&str> = found.iter().map(|found| &*found.object).collect();
    assert_eq!(found, ["nodes/node-0"]);
}

#[test]
fn nodes_that_were_asked_for_are_values() {
    let pinned = |node| on_nodes(ALIKE, &[pod_on("a", "node-0", false), pod_on("b", node, true)]);
    let b = |world: &WorldForm| world["pods/default/b"]["spec"]["nodeName"].clone();
    assert_eq!([b(&pinned("node-0")), b(&pinned("node-1"))], ["node-0", "node-1"]);
    let asked = |pod_of: &str, spec: Value| {
        let metadata = json!({"namespace": "default", "name": "set"});
        let object = json!({"metadata": metadata, "spec": {"template": {"spec": spec}}});
        on_nodes(ALIKE, &[pod_on("a", pod_of, false), ("deployments.apps", object)])
    };
    let selector = || json!({"nodeSelector": {"kubernetes.io/hostname": "node-0"}});
    let expression = || {
        let expression = json!({"key": "metadata.name", "operator": "In", "values": ["node-1"]});
        json!({"affinity": {"matchFields": [expression]}})
    };
    for spec in [selector, expression] {
        assert_ne!(asked("node-0", spec()), asked("node-1", spec()));
    }
    let plain = || json!({"containers": []});
    assert_eq!(asked("node-0", plain()), asked("node-1", plain()));
}

#[test]
fn nodes_without_a_choice_keep_their_names() {
    let alone = canonical(&[node("node-0", "hdd"), pod_on("a", "node-0", false)]);
    assert_eq!(alone["pods/default/a"]["spec"]["nodeName"], "node-0");
    let unseen = |node| canonical(&[pod_on("a", node, false)]);
    assert_eq!(unseen("node-0"), unseen("node-1"), "no Node is known");
    let named_like = |node: &str| {
        let (kind, mut pod) = pod_on("a", node, false);
        pod["metadata"]["name"] = json!("node-0");
        on_nodes(ALIKE, &[(kind, pod)])
    };
    assert_ne!(named_like("node-0"), named_like("node-1"), "a pod is called like a node");
}

/// The volume of a claim is named by the claim's uid, and stands where the scheduler put the pod.
#[test]
fn provisioned_volumes_are_labels() {
    let with = |uid: &str, node: &str| {
        let name = format!("pvc-{uid}");
        let claim = json!({
            "metadata": {"namespace": "default", "name": "data", "uid": uid},
            "spec": {"volumeName": name},
        });
        let term = json!({"key": "kubernetes.io/hostname", "operator": "In", "values": [node]});
        let volume = json!({
            "metadata": {"name": name, "annotations": {"pv.kubernetes.io/provisioned-by": "p"}},
            "spec": {
                "claimRef": {"kind": "PersistentVolumeClaim", "name": "data", "uid": uid},
                "nodeAffinity": {"matchExpressions": [term]},
            },
        });
        let pod = pod_on("a", node, false);
        on_nodes(ALIKE, &[("persistentvolumeclaims", claim), ("persistentvolumes", volume), pod])
    };
    assert_eq!(with("1f2e-00", "node-0"), with("7c6b-11", "node-1"));
    let volume = "persistentvolumes/pvc-‹uid of persistentvolumeclaims/default/data›";
    assert!(with("1f2e-00", "node-0").get(volume).is_some());
}

/// The API server keeps one IPAddress for each address of a Service (KEP-1880).
#[test]
fn allocated_addresses_are_labels() {
    let with = |ip: &str| {
        let service =
            json!({"metadata": {"namespace": "default", "name": "a"}, "spec": {"clusterIP": ip}});
        let parent = json!({"resource": "services", "namespace": "default", "name": "a"});
        let address = json!({"metadata": {"name": ip}, "spec": {"parentRef": parent}});
        canonical(&[("services", service), ("ipaddresses.networking.k8s.io", address)])
    };
    assert_eq!(with("10.96.1.0"), with("10.96.1.7"));
}

proptest! {
    /// Ports under any other numbering make one world, and so do pods on any nodes.
    #[test]
    fn what_allocators_chose_does_not_count(
        stands in proptest::collection::vec(0..3_usize, 1..6),
        order in Just(vec![0_usize, 1, 2]).prop_shuffle(),
        first in 30_086..32_000_u32,
        moved in any::<prop::sample::Index>(),
    ) {
        let build = |stands: &[usize], order: &[usize], first: u32| {
            let mut objects: Vec<_> = (0..3).map(|at| node(&format!("node-{at}"), "hdd")).collect();
            for (at, stand) in stands.iter().enumerate() {
                objects.push(pod_on(&format!("p{at}"), &format!("node-{}", order[*stand]), false));
                let port = first + order[at % 3] as u32 + 3 * at as u32;
                objects.push(service(&format!("s{at}"), port, false));
                let map = json!({
                    "metadata": {"namespace": "default", "name": format!("m{at}")},
                    "data": {"port": port.to_string()},
                });
                objects.push(("configmaps", map));
            }
            canonical(&objects)
        };
        let one = build(&stands, &[0, 1, 2], 30_086);
        prop_assert_eq!(&one, &build(&stands, &order, first));
        let mut others = stands.clone();
        let at = moved.index(stands.len());
        others[at] = (others[at] + 1) % 3;
        prop_assert_eq!(one, build(&others, &order, first));
    }
}
