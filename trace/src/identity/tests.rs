//! Which worlds are equal, and which are not.

mod levels;

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::GroupResource;

const NOW: i64 = 1_767_225_600_000_000_000;

type World = Vec<(ObjectKey, Arc<Value>)>;

fn key(text: &str) -> ObjectKey {
    text.parse().expect("a key")
}

/// Objects as `resource` → object; keys come from their metadata.
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

fn at(now: i64) -> Context<'static> {
    Context { now: Time(now), ..Context::default() }
}

/// As the world's generator knows them: the names of objects that were asked for by `generateName`, and those given.
fn knowing<'a>(world: &'a World, context: &Context<'a>) -> Context<'a> {
    let suffix = |(key, object): &&(ObjectKey, Arc<Value>)| {
        let prefix = object["metadata"]["generateName"].as_str()?;
        key.name.strip_prefix(prefix).map(str::len)
    };
    // A StatefulSet's pods carry a `generateName` too, and are named by their numbers.
    let generated = world.iter().filter(|object| suffix(object) == Some(5));
    let mut context = context.clone();
    context.generated_names.extend(generated.map(|(key, _)| &*key.name));
    context
}

fn hash(world: &World, context: &Context<'_>) -> Identity {
    identity(world.iter().map(|(key, object)| (key, object)), &knowing(world, context))
}

fn canonical(world: &World, context: &Context<'_>) -> Value {
    let objects = world.iter().map(|(key, object)| (key, object));
    canonical_world(objects, &knowing(world, context))
}

/// Two worlds at the same time and cursor.
#[track_caller]
fn check(left: &[(&str, Value)], right: &[(&str, Value)], equal: bool) {
    let (left, right) = (world(left), world(right));
    let show = |world: &World| format!("{:#}", canonical(world, &at(NOW)));
    let same = hash(&left, &at(NOW)) == hash(&right, &at(NOW));
    assert_eq!(same, equal, "\n{}\n{}", show(&left), show(&right));
}

fn foo(name: &str, uid: &str) -> (&'static str, Value) {
    let metadata = json!({
        "namespace": "default", "name": name, "generateName": "foo-", "uid": uid,
    });
    ("foos.example.com", json!({"kind": "Foo", "metadata": metadata}))
}

fn bar(reference: &str) -> (&'static str, Value) {
    let metadata = json!({"namespace": "default", "name": "bar"});
    let status = json!({"objRef": {"name": reference}});
    ("bars.example.com", json!({"kind": "Bar", "metadata": metadata, "status": status}))
}

#[test]
fn generated_names_and_uids_are_labels() {
    check(&[foo("foo-aaaaa", "u1")], &[foo("foo-bbbbb", "u2")], true);
    check(
        &[foo("foo-aaaaa", "u1"), bar("foo-aaaaa")],
        &[foo("foo-bbbbb", "u2"), bar("foo-bbbbb")],
        true,
    );
    check(
        &[foo("foo-aaaaa", "u1"), bar("foo-aaaaa")],
        &[foo("foo-bbbbb", "u2"), bar("foo-ccccc")],
        false,
    );
    check(&[bar("foo-aaaaa")], &[bar("foo-bbbbb")], false);
}

#[test]
fn the_rank_among_siblings_counts() {
    let pair = |reference| [foo("foo-aaaaa", "u1"), foo("foo-bbbbb", "u2"), bar(reference)];
    check(&pair("foo-aaaaa"), &pair("foo-bbbbb"), false);
    let other = [foo("foo-ccccc", "u8"), foo("foo-ddddd", "u9"), bar("foo-ddddd")];
    check(&pair("foo-bbbbb"), &other, true);
}

#[test]
fn labels_cannot_be_forged() {
    let named = |text: &str| {
        let metadata = json!({"namespace": "default", "name": "b", "annotations": {"x": text}});
        ("bars.example.com", json!({"metadata": metadata}))
    };
    check(
        &[foo("foo-aaaaa", "u1"), named("foo-aaaaa")],
        &[foo("foo-aaaaa", "u1"), named("foo-‹1›")],
        false,
    );
    check(
        &[foo("foo-aaaaa", "u1"), named("‹foo-aaaaa")],
        &[foo("foo-aaaaa", "u1"), named("‹‹foo-‹1›")],
        false,
    );
    check(&[named("2025-12-31T23:59:59Z")], &[named("‹age 1000000000ns, 0 decimals, Z›")], false);
}

#[test]
fn literal_names_count() {
    let pod = |name: &str| {
        let metadata = json!({"namespace": "default", "name": name, "generateName": "web-"});
        ("pods", json!({"metadata": metadata}))
    };
    check(&[pod("web-0")], &[pod("web-1")], false);
    check(&[pod("web-x2x2x")], &[pod("web-y3y3y")], true);
}

#[test]
fn names_of_the_generator_are_labels_though_their_objects_are_gone() {
    let context = |name| Context { generated_names: vec![name], ..at(NOW) };
    let hash_with = |name| hash(&world(&[bar(name)]), &context(name));
    assert_eq!(hash_with("foo-00001"), hash_with("foo-00002"));
    assert_ne!(hash_with("foo-00001"), hash_with("fox-00001"));
}

fn annotated(metadata: Value, rest: Value) -> (&'static str, Value) {
    let mut object = rest;
    object["metadata"] = metadata;
    object["metadata"]["name"] = json!("a");
    ("configmaps", object)
}

#[test]
fn revisions_count_only_where_they_can_be_compared() {
    let revised =
        |revision: &str, other: Value| annotated(json!({"resourceVersion": revision}), other);
    check(&[revised("5", json!({}))], &[revised("6", json!({}))], true);
    let seen = |seen: &str| json!({"data": {"seen": seen}});
    check(&[revised("5", seen("5"))], &[revised("6", seen("5"))], false);
    check(&[revised("5", seen("4"))], &[revised("6", seen("4"))], true);
    let reference = |seen: &str| json!({"ref": {"resourceVersion": seen}});
    check(&[revised("5", reference("5"))], &[revised("6", reference("6"))], true);
    check(&[revised("5", reference("5"))], &[revised("6", reference("5"))], false);
}

#[test]
fn generations_count() {
    let generation = |generation: i64, status: Value| {
        annotated(json!({"generation": generation}), json!({"status": status}))
    };
    let observed = |observed: i64| json!({"observedGeneration": observed});
    check(&[generation(2, observed(2))], &[generation(3, observed(3))], false);
    check(&[generation(2, observed(2))], &[generation(3, observed(2))], false);
    check(&[generation(2, json!({}))], &[generation(3, json!({}))], false);
}

#[test]
fn names_that_only_look_generated_count() {
    let object = |name: &str| {
        let metadata = json!({"namespace": "default", "name": name, "generateName": "c-"});
        world(&[("configmaps", json!({"metadata": metadata}))])
    };
    let hash = |world: &World| identity(world.iter().map(|(key, object)| (key, object)), &at(NOW));
    assert_ne!(hash(&object("c-alpha")), hash(&object("c-betas")));
}

#[test]
fn times_are_ages() {
    let timed = |text: &str| world(&[annotated(json!({"creationTimestamp": text}), json!({}))]);
    let second = 1_000_000_000;
    let hash_at = |text, now| hash(&timed(text), &at(now));
    let zero = hash_at("2026-01-01T00:00:00Z", NOW);
    assert_eq!(zero, hash_at("2026-01-01T00:00:05Z", NOW + 5 * second));
    for (text, now) in [
        ("2026-01-01T00:00:05Z", NOW),
        ("2026-01-01T00:00:00Z", NOW + 1),
        ("2026-01-01T00:00:00.000000Z", NOW),
        ("2026-01-01T00:00:00+00:00", NOW),
        ("2026-01-01", NOW),
    ] {
        assert_ne!(zero, hash_at(text, now), "{text}");
    }
}

#[test]
fn managed_fields_count_without_times() {
    let managed = |manager: &str, time: &str| {
        let fields = json!([{"manager": manager, "time": time}]);
        annotated(json!({"managedFields": fields}), json!({}))
    };
    let (early, late) = ("2026-01-01T00:00:00Z", "2026-01-01T00:00:09Z");
    check(&[managed("a", early)], &[managed("a", late)], true);
    check(&[managed("a", early)], &[managed("b", early)], false);
}

#[test]
fn random_payloads_count_as_classes() {
    let secret = |name: &str, value: &str| {
        ("secrets", json!({"metadata": {"name": name}, "data": {"k": value}}))
    };
    let random = Context { random_payloads: vec!["secrets/a k", "secrets/b k"], ..at(NOW) };
    let equal = |left: [&str; 2], right: [&str; 2], context: &Context<'_>| {
        let world_of = |[a, b]: [&str; 2]| world(&[secret("a", a), secret("b", b)]);
        hash(&world_of(left), context) == hash(&world_of(right), context)
    };
    assert!(equal(["x", "x"], ["y", "y"], &random));
    assert!(!equal(["x", "x"], ["x", "y"], &random));
    assert!(!equal(["x", "x"], ["y", "y"], &at(NOW)), "what is not random says something");
}

#[test]
fn bookkeeping_does_not_count() {
    let lease = ("leases.coordination.k8s.io", json!({"metadata": {"name": "l", "uid": "u7"}}));
    check(&[bar("x"), lease], &[bar("x")], true);
}

#[test]
fn node_ports_that_were_chosen_are_labels() {
    let service = |port: u32, manager: Value| {
        let metadata = json!({"name": "a", "managedFields": [manager]});
        let spec = json!({"ports": [{"name": "http", "port": 80, "nodePort": port}]});
        ("services", json!({"metadata": metadata, "spec": spec}))
    };
    let chosen = |port| service(port, json!({"manager": "m", "fieldsV1": {"f:spec": {}}}));
    let fields = json!({"k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:nodePort": {}}});
    let fields = json!({"f:spec": {"f:ports": fields}});
    let asked = |port| service(port, json!({"manager": "m", "fieldsV1": fields}));
    let noted = |port: Value| ("configmaps", json!({"metadata": {"name": "c"}, "port": port}));
    let both = |port: u32, seen: u32| [chosen(port), noted(json!(seen))];
    check(&both(30_086, 30_086), &both(30_090, 30_090), true);
    check(&both(30_086, 30_086), &both(30_086, 30_090), false);
    check(&both(30_086, 30_086), &[chosen(30_086), noted(json!("30086"))], false);
    check(&[asked(30_086)], &[asked(30_090)], false);
    check(&[asked(30_086)], &[chosen(30_086)], false);
}

#[test]
fn keys_with_tokens_have_no_order() {
    let map = |first: &str, second: &str| {
        let data = json!({first: "1", second: "2"});
        ("configmaps", json!({"metadata": {"name": "c"}, "data": data}))
    };
    let pod = |name: &str, uid: &str| ("pods", json!({"metadata": {"name": name, "uid": uid}}));
    let pods = |left, right| [pod("a", left), pod("b", right)];
    let one = [map("u1", "u2"), pods("u1", "u2")[0].clone(), pods("u1", "u2")[1].clone()];
    let two = [map("u9", "u2"), pods("u9", "u2")[0].clone(), pods("u9", "u2")[1].clone()];
    let three = [map("u1", "u2"), pods("u2", "u1")[0].clone(), pods("u2", "u1")[1].clone()];
    check(&one, &two, true);
    check(&one, &three, false);
}

#[test]
fn context_counts() {
    let world = world(&[bar("x")]);
    let cursor = Context { cursor: Cursor { operation: 1, document: 0 }, ..at(NOW) };
    let extra = Context { extra: json!({"timers": [5]}), ..at(NOW) };
    let hashes = [&at(NOW), &cursor, &extra].map(|context| hash(&world, context));
    assert!(hashes[0] != hashes[1] && hashes[1] != hashes[2] && hashes[0] != hashes[2]);
}

#[test]
fn identities_survive_text() {
    let identity = hash(&world(&[bar("x")]), &at(NOW));
    assert_eq!(identity.to_string().parse(), Ok(identity));
    for text in ["", "0", &"g".repeat(64), &"é".repeat(32)] {
        assert!(text.parse::<Identity>().is_err(), "{text}");
    }
}

// Property tests: worlds are made from a *shape* and an *assignment* of all that is arbitrary.

/// What is arbitrary about a world.
#[derive(Debug, Clone)]
struct Assignment {
    /// Adds to uids, suffixes, addresses, revisions.
    salt: u32,
    /// Moves everything in time, in nanoseconds; whole seconds.
    shift: i64,
}

#[derive(Debug, Clone)]
struct Shape {
    kind: u8,
    generated: bool,
    owner: Option<prop::sample::Index>,
    mentioned: Option<prop::sample::Index>,
    age_s: i64,
    behind: Option<i64>,
    spec: Value,
    payload: u8,
}

const RESOURCES: [&str; 4] = ["foos.example.com", "pods", "secrets", "services"];

fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-3..100_i64).prop_map(Value::from),
        "[a-z‹›\"\\\\ -]{0,8}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            proptest::collection::btree_map("[a-d]", inner, 0..3)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

fn any_shape() -> impl Strategy<Value = Shape> {
    (
        0..4_u8,
        any::<bool>(),
        any::<Option<prop::sample::Index>>(),
        any::<Option<prop::sample::Index>>(),
        0..1000_i64,
        proptest::option::of(0..2_i64),
        any_value(),
        0..3_u8,
    )
        .prop_map(|(kind, generated, owner, mentioned, age_s, behind, spec, payload)| Shape {
            kind,
            generated,
            owner,
            mentioned,
            age_s,
            behind,
            spec,
            payload,
        })
}

fn any_assignment() -> impl Strategy<Value = Assignment> {
    (0..1000_u32, 0..100_000_i64)
        .prop_map(|(salt, seconds)| Assignment { salt, shift: seconds * 1_000_000_000 })
}

fn name_of(at: usize, shape: &Shape, assignment: &Assignment) -> String {
    if !shape.generated {
        return format!("fixed-{at}");
    }
    // Order of suffixes is order of `at`, whatever the salt.
    let suffix = 1_000_000 * (at as u32 + 1) + assignment.salt;
    let letters: String = (0..5)
        .rev()
        .map(|place| char::from(b'a' + u8::try_from(suffix / 26_u32.pow(place) % 26).unwrap()))
        .collect();
    format!("gen-{letters}")
}

fn uid_of(at: usize, assignment: &Assignment) -> String {
    let mixed = (at as u32 + 1).wrapping_mul(2_654_435_761).wrapping_add(assignment.salt * 97);
    format!("{mixed:08x}-0000-4000-8000-{at:012x}")
}

fn node_port_of(at: usize, assignment: &Assignment) -> u32 {
    30_086 + (at as u32 * 1009 + assignment.salt) % 2_600
}

fn build(shapes: &[Shape], assignment: &Assignment) -> World {
    let now = NOW + assignment.shift;
    let objects: Vec<(&str, Value)> = shapes
        .iter()
        .enumerate()
        .map(|(at, shape)| {
            let name = name_of(at, shape, assignment);
            let time = Time(now - shape.age_s * 1_000_000_000).rfc3339();
            let mut object = json!({
                "kind": "K",
                "metadata": {
                    "namespace": "default",
                    "name": name,
                    "uid": uid_of(at, assignment),
                    "resourceVersion": format!("1{:05}{at}", assignment.salt),
                    "creationTimestamp": time,
                    "labels": {"app": name.clone(), "x/y": "z"},
                    "managedFields": [{"manager": "m", "time": time.clone()}],
                },
                "spec": shape.spec,
                "status": {"conditions": [{"type": "Ready", "status": "True", "lastTransitionTime": time}]},
            });
            if shape.generated {
                object["metadata"]["generateName"] = json!("gen-");
            }
            if let Some(owner) = &shape.owner {
                let owner = owner.index(shapes.len());
                object["metadata"]["ownerReferences"] = json!([{
                    "kind": "K", "name": name_of(owner, &shapes[owner], assignment),
                    "uid": uid_of(owner, assignment),
                }]);
            }
            if let Some(other) = &shape.mentioned {
                let other = other.index(shapes.len());
                let name = name_of(other, &shapes[other], assignment);
                object["data"] = json!({"url": format!("http://{name}.default:80/{name}-x"), "fixed": name});
                object["metadata"]["annotations"] = json!({name: uid_of(other, assignment)});
            }
            if let Some(behind) = shape.behind {
                object["metadata"]["generation"] = json!(3);
                object["status"]["observedGeneration"] = json!(3 - behind);
            }
            if shape.kind == 1 {
                object["status"]["podIP"] = json!(format!("10.{}.{}.{at}", assignment.salt / 250, assignment.salt % 250));
            }
            if shape.kind == 3 {
                let port = node_port_of(at, assignment);
                object["spec"] = json!({"ports": [{"port": 80, "nodePort": port}], "rest": shape.spec});
                object["status"]["url"] = json!(format!("http://a:{port}"));
                object["status"]["external"] = json!(port);
            }
            if shape.kind == 2 {
                object["data"] = json!({"key": format!("p{}-{}", shape.payload, assignment.salt)});
            }
            (RESOURCES[shape.kind as usize], object)
        })
        .collect();
    world(&objects)
}

/// The payloads that [`build`] salts, in so many objects.
fn random_fields(objects: usize) -> Vec<String> {
    let fixed = (0..objects).map(|at| format!("secrets/default/fixed-{at} key"));
    fixed.chain(["secrets/default/gen-‹*› key".to_owned()]).collect()
}

/// Paths of all leaves.
fn leaves(value: &Value, path: String, found: &mut Vec<String>) {
    match value {
        Value::Object(map) if !map.is_empty() => {
            for (key, inner) in map {
                let key = key.replace('~', "~0").replace('/', "~1");
                leaves(inner, format!("{path}/{key}"), found);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            for (at, inner) in items.iter().enumerate() {
                leaves(inner, format!("{path}/{at}"), found);
            }
        }
        _ => found.push(path),
    }
}

/// Fields whose text alone says nothing: see the list in the module's documentation.
fn is_exempt(path: &str, text: Option<&str>, mentions: &BTreeMap<String, usize>) -> bool {
    let once = text.is_some_and(|text| mentions.get(text) == Some(&1));
    path == "/metadata/resourceVersion"
        || (path.starts_with("/metadata/managedFields/") && path.ends_with("/time"))
        || (path == "/metadata/uid" && once)
        || (path == "/metadata/ownerReferences/0/uid" && once)
        || (path == "/status/podIP" && once)
}

fn count_texts(value: &Value, counts: &mut BTreeMap<String, usize>) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                *counts.entry(key.clone()).or_default() += 1;
                count_texts(inner, counts);
            }
        }
        Value::Array(items) => items.iter().for_each(|inner| count_texts(inner, counts)),
        Value::String(text) => *counts.entry(text.clone()).or_default() += 1,
        _ => {}
    }
}

fn mutate(leaf: &mut Value) {
    *leaf = match leaf.take() {
        Value::String(text) if Time::parse_rfc3339(&text).is_some() => {
            Value::from(Time(Time::parse_rfc3339(&text).unwrap().0 - 7_000_000_000).rfc3339())
        }
        Value::String(text) if text.parse::<std::net::IpAddr>().is_ok() => {
            Value::from("10.250.1.1")
        }
        Value::String(text) => Value::from(format!("{text}x")),
        Value::Number(number) => Value::from(number.as_i64().unwrap_or(0) + 1),
        Value::Bool(truth) => Value::from(!truth),
        Value::Null => Value::from(false),
        _ => Value::from("was empty"),
    };
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    #[test]
    fn arbitrary_choices_do_not_count(
        shapes in proptest::collection::vec(any_shape(), 1..7),
        one in any_assignment(),
        two in any_assignment(),
        seed in any::<u64>(),
    ) {
        let (left, mut right) = (build(&shapes, &one), build(&shapes, &two));
        let length = right.len();
        right.rotate_left((seed as usize) % length);
        let fields: Vec<String> = random_fields(length);
        let context = |shift| Context {
            random_payloads: fields.iter().map(String::as_str).collect(),
            ..at(NOW + shift)
        };
        let (at_left, at_right) = (context(one.shift), context(two.shift));
        prop_assert_eq!(
            hash(&left, &at_left), hash(&right, &at_right),
            "\n{:#}\n{:#}",
            canonical(&left, &at_left),
            canonical(&right, &at_right)
        );
    }

    #[test]
    fn every_field_that_can_be_read_counts(
        shapes in proptest::collection::vec(any_shape(), 1..6),
        assignment in any_assignment(),
    ) {
        let original = build(&shapes, &assignment);
        let context = at(NOW + assignment.shift);
        let before = hash(&original, &context);
        let mut mentions = BTreeMap::new();
        original.iter().for_each(|(_, object)| count_texts(object, &mut mentions));
        for object in 0..original.len() {
            let mut paths = Vec::new();
            leaves(&original[object].1, String::new(), &mut paths);
            for path in paths {
                let leaf = original[object].1.pointer(&path).unwrap();
                // The key would have to change with it.
                if path == "/metadata/name" || is_exempt(&path, leaf.as_str(), &mentions) {
                    continue;
                }
                let mut changed = original.clone();
                mutate(Arc::make_mut(&mut changed[object].1).pointer_mut(&path).unwrap());
                prop_assert_ne!(before, hash(&changed, &context), "{} {}", original[object].0, path);
            }
        }
    }

    #[test]
    fn each_object_counts(
        shapes in proptest::collection::vec(any_shape(), 1..6),
        assignment in any_assignment(),
    ) {
        let original = build(&shapes, &assignment);
        let context = at(NOW + assignment.shift);
        for gone in 0..original.len() {
            let mut fewer = original.clone();
            fewer.remove(gone);
            prop_assert_ne!(hash(&original, &context), hash(&fewer, &context));
        }
    }

    #[test]
    fn canonical_worlds_are_json_and_decide_equality(
        shapes in proptest::collection::vec(any_shape(), 0..5),
        one in any_assignment(),
        two in any_assignment(),
    ) {
        let worlds = [&one, &two].map(|assignment| {
            let world = build(&shapes, assignment);
            let context = at(NOW);
            (hash(&world, &context), canonical(&world, &context))
        });
        prop_assert_eq!(worlds[0].0 == worlds[1].0, worlds[0].1 == worlds[1].1);
    }
}

#[test]
fn keys_in_the_test_are_keys() {
    assert_eq!(world(&[bar("x")])[0].0, key("bars.example.com/default/bar"));
}
