//! Writes that left something else than was meant.

use serde_json::{Value, json};

use super::{refusals::other, *};

const OTHER: [Rule; 1] = [Rule::Write];

/// The definition of `foos`.
fn definition() -> Logged {
    let text = json!({"type": "string"});
    let spec = json!({"type": "object", "properties": {
        "x": {"type": "integer"},
        "on": {"type": "boolean"},
        "mode": {"type": "string", "default": "auto"},
        "names": {"type": "array", "items": text},
        "map": {"type": "object", "additionalProperties": text},
        "open": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
        "inner": {"type": "object", "properties": {"y": {"type": "integer"}}},
    }});
    let version = json!({
        "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
        "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": spec,
            "status": {"type": "object", "properties": {"n": {"type": "integer"}}},
        }}},
    });
    let definition = json!({
        "spec": {"versions": [version]},
        "status": {"conditions": [{"type": "Established", "status": "True"}]},
    });
    let group = "apiextensions.k8s.io";
    other(11, group, "customresourcedefinitions", "foos.example.com", definition)
}

/// `a` of a type that is built in or not.
fn object(resource: &GroupResource, revision: u64, fields: Value) -> Value {
    let api_version = match &*resource.group {
        "" => "v1".to_owned(),
        group => format!("{group}/v1"),
    };
    let mut object = json!({
        "apiVersion": api_version, "kind": "Kind",
        "metadata": {"name": "a", "namespace": "default", "uid": "u",
            "resourceVersion": revision.to_string()},
    });
    for (name, value) in fields.as_object().unwrap() {
        match (name.as_str(), value) {
            ("metadata", Value::Object(more)) => {
                object["metadata"].as_object_mut().unwrap().extend(more.clone());
            }
            _ => object[name] = value.clone(),
        }
    }
    object
}

/// A write of the subject, after which the store and the answer have the object so.
struct Write {
    resource: GroupResource,
    verb: Verb,
    content_type: &'static str,
    subresource: &'static str,
    /// Before it, unless it creates.
    before: Value,
    sent: Value,
}

impl Write {
    fn leaves(&self, after: Value) -> Vec<Rule> {
        let creates = self.verb == Verb::Create;
        let change = if creates { Change::Created } else { Change::Updated };
        let key = ObjectKey::new(self.resource.clone(), "default", "a");
        let at = |revision, change, fields: &Value| Logged {
            revision: Revision(revision),
            change,
            key: key.clone(),
            object: Arc::new(object(&self.resource, revision, fields.clone())),
        };
        let mut log = vec![definition()];
        // Another object of the type has all fields that are looked for.
        let mut other = at(12, Change::Created, &json!({"spec": {"on": true, "list": [{"y": 1}]}}));
        other.key = ObjectKey::new(self.resource.clone(), "default", "other");
        log.push(other);
        let mut pod = log[1].clone();
        pod.revision = Revision(13);
        pod.key = ObjectKey::new(core("pods"), "default", "pod");
        let spec = json!({"spec": {"image": "i"}});
        pod.object = Arc::new(object(&pod.key.resource, 13, spec));
        log.push(pod);
        if !creates {
            log.push(at(14, Change::Created, &self.before));
        }
        let mut events: Vec<_> = log.iter().map(commit).collect();
        let mut sent = self.sent.clone();
        if matches!(self.verb, Verb::Create | Verb::Update) {
            sent = object(&self.resource, 14, sent);
        }
        let asked = call(1, self.verb, "", PATH, Some(sent));
        let Event::Call(mut asked) = asked else { unreachable!() };
        asked.resource = Some(self.resource.clone());
        asked.name = if creates { String::new() } else { "a".into() };
        asked.content_type = self.content_type.into();
        asked.subresource = self.subresource.into();
        let mine = at(15, change, &after);
        let answered = answer(1, if creates { 201 } else { 200 }, (*mine.object).clone());
        events.extend([Event::Call(asked), commit(&mine), answered]);
        log.push(mine);
        let record = |(sequence, event)| Record {
            sequence: sequence as u64,
            at: Time(0),
            real_us: 0,
            event,
        };
        let history = History { records: events.into_iter().enumerate().map(record).collect() };
        let store = Store::new(Revision(10), [], log, Revision(10));
        check(&history, &store, 36).illegal.into_iter().map(|illegal| illegal.rule).collect()
    }
}

fn write(resource: GroupResource, verb: Verb, before: Value, sent: Value) -> Write {
    Write { resource, verb, content_type: "", subresource: "", before, sent }
}

fn create(resource: GroupResource, sent: Value) -> Write {
    write(resource, Verb::Create, Value::Null, sent)
}

fn patch(resource: GroupResource, kind: &'static str, before: Value, sent: Value) -> Write {
    Write { content_type: kind, ..write(resource, Verb::Patch, before, sent) }
}

fn core(resource: &str) -> GroupResource {
    GroupResource::new("", resource)
}

const JSON: &str = "application/json-patch+json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

#[test]
fn a_create_stores_what_was_sent() {
    let all = || {
        json!({"spec": {"x": 1, "on": false, "names": ["n", "m"], "map": {"k": "v"},
            "open": {"what": "ever"}, "inner": {"y": 2}}})
    };
    let without = |change: &dyn Fn(&mut Value)| {
        let mut left = all();
        change(&mut left["spec"]);
        create(foos(), all()).leaves(left)
    };
    assert_eq!(without(&|_| {}), []);
    assert_eq!(without(&|spec| spec["mode"] = "auto".into()), [], "filled in");
    let remove = |field: &str| without(&|spec| drop(spec.as_object_mut().unwrap().remove(field)));
    for field in ["x", "on", "names", "map", "open", "inner"] {
        assert_eq!(remove(field), OTHER, "{field}");
    }
    assert_eq!(without(&|spec| spec["names"] = json!(["n"])), OTHER, "an item is lost");
    assert_eq!(without(&|spec| spec["names"] = json!(["m", "n"])), OTHER, "another order");
    assert_eq!(without(&|spec| spec["map"] = json!({})), OTHER);
    assert_eq!(without(&|spec| spec["open"] = json!({})), OTHER);
    assert_eq!(without(&|spec| spec["inner"] = json!({"y": 3})), OTHER);
    let sent = json!({"spec": {"x": 1, "nope": 1, "inner": {"nope": 1}}, "status": {"n": 1}});
    let left = json!({"spec": {"x": 1, "inner": {}}});
    assert_eq!(create(foos(), sent).leaves(left), [], "what is pruned, and another endpoint's");
}

#[test]
fn a_create_stores_the_metadata_that_was_sent() {
    let sent = || {
        json!({"metadata": {"labels": {"l": "1"}, "annotations": {"a": "1"}, "finalizers": ["f"],
            "ownerReferences": [{"kind": "Foo", "name": "o", "uid": "o"}]}})
    };
    for resource in [foos(), core("configmaps")] {
        let leaves = |field: &str, value: Value| {
            let mut left = sent();
            left["metadata"][field] = value;
            create(resource.clone(), sent()).leaves(left)
        };
        assert_eq!(leaves("labels", json!({"l": "1"})), []);
        for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
            assert_eq!(leaves(field, Value::Null), OTHER, "{field} of {resource}");
        }
        assert_eq!(leaves("finalizers", json!(["f", "server"])), [], "one is added");
        let owner = json!([{"kind": "Foo", "name": "o", "uid": "p"}]);
        assert_eq!(leaves("ownerReferences", owner), OTHER);
        assert!(leaves("name", "b".into()).contains(&Rule::Write));
    }
    let named = |name: &str| {
        let sent = json!({"metadata": {"name": null, "generateName": "a"}});
        create(foos(), sent).leaves(json!({"metadata": {"generateName": "a", "name": name}}))
    };
    assert_eq!(named("a"), []);
    assert!(named("b").contains(&Rule::Write));
}

#[test]
fn built_in_types_keep_maps_and_what_the_store_has_elsewhere() {
    let data = || json!({"data": {"k": "1", "l": "text"}});
    let create_map = |left: Value| create(core("configmaps"), data()).leaves(left);
    assert_eq!(create_map(data()), []);
    assert_eq!(create_map(json!({"data": {"k": "1"}})), OTHER);
    assert_eq!(create_map(json!({"data": {"k": "2", "l": "text"}})), OTHER);
    let pods = || core("pods");
    let spec = |spec: Value| json!({"spec": spec});
    let check = |sent: Value, left: Value| create(pods(), spec(sent)).leaves(spec(left));
    assert_eq!(check(json!({"on": true}), json!({})), OTHER, "another one has it");
    assert_eq!(check(json!({"never": true}), json!({})), [], "pruned, for all that is known");
    assert_eq!(check(json!({"list": [{"y": 2}]}), json!({"list": [{"z": 0}]})), OTHER);
    assert_eq!(check(json!({"list": [1, 2]}), json!({"list": [1, 2, 3]})), [], "one is added");
    assert_eq!(check(json!({"list": [1, 2]}), json!({"list": [1]})), OTHER);
    assert_eq!(check(json!({"image": "a:1"}), json!({"image": "b:1"})), OTHER);
    assert_eq!(check(json!({"cpu": "1000m"}), json!({"cpu": "1"})), [], "the same quantity");
    let sets = || GroupResource::new("apps", "statefulsets");
    let template = |spec: Value| json!({"spec": {"template": {"spec": spec}}});
    let templated =
        |sent: Value| create(sets(), template(sent)).leaves(template(json!({"other": true})));
    assert_eq!(templated(json!({"image": "i"})), OTHER, "a pod has it");
    assert_eq!(templated(json!({"never": "i"})), []);
    let typed = |sent: Value| {
        let content_type = "application/vnd.kubernetes.protobuf";
        Write { content_type, ..create(pods(), spec(sent)) }.leaves(spec(json!({})))
    };
    assert_eq!(typed(json!({"never": true})), OTHER, "protobuf has no unknown fields");
    assert_eq!(typed(json!({"never": false})), [], "nor a difference between empty and absent");
    let text = |sent: Value, left: Value| create(core("secrets"), sent).leaves(left);
    let sent = || json!({"stringData": {"k": "text"}, "data": {"k": "b2xk"}});
    assert_eq!(text(sent(), json!({"data": {"k": "dGV4dA=="}})), []);
    assert_eq!(text(sent(), json!({"data": {"k": "b2xk"}})), OTHER);
    assert_eq!(text(sent(), json!({})), OTHER);
}

#[test]
fn an_update_leaves_what_was_sent_and_nothing_else() {
    let before = || json!({"spec": {"x": 1, "on": true, "mode": "own"}});
    let update =
        |sent: Value, left: Value| write(foos(), Verb::Update, before(), sent).leaves(left);
    let both = || json!({"spec": {"x": 1, "on": true}});
    assert_eq!(update(both(), json!({"spec": {"x": 1, "on": true, "mode": "auto"}})), []);
    assert_eq!(update(both(), json!({"spec": {"x": 1}})), OTHER, "a field is lost");
    let less = || json!({"spec": {"x": 1}});
    assert_eq!(update(less(), less()), []);
    assert_eq!(update(less(), both()), OTHER, "a field stays");
    let labelled = || json!({"metadata": {"labels": {"l": "1"}}});
    let metadata = |sent: Value, left: Value| {
        write(core("configmaps"), Verb::Update, labelled(), sent).leaves(left)
    };
    assert_eq!(metadata(json!({}), json!({})), []);
    assert_eq!(metadata(json!({}), labelled()), OTHER, "a label stays");
    let data = || json!({"data": {"k": "v", "l": "w"}});
    let map = |sent: Value, left: Value| {
        write(core("configmaps"), Verb::Update, data(), sent).leaves(left)
    };
    assert_eq!(map(json!({"data": {"k": "v"}}), json!({"data": {"k": "v"}})), []);
    assert_eq!(map(json!({"data": {"k": "v"}}), data()), OTHER, "an entry stays");
    assert_eq!(map(json!({}), data()), OTHER, "all of it stays");
}

#[test]
fn a_status_is_written_on_its_own_endpoint() {
    let status = |verb, kind, sent: Value, left: Value| {
        let before = json!({"spec": {"x": 1}, "status": {"n": 1}});
        let write = patch(foos(), kind, before, sent);
        Write { verb, subresource: "status", ..write }.leaves(left)
    };
    let left = |n: u64| json!({"spec": {"x": 1}, "status": {"n": n}});
    let sent = || json!({"spec": {"x": 9}, "status": {"n": 2}});
    assert_eq!(status(Verb::Update, "", sent(), left(2)), []);
    assert_eq!(status(Verb::Update, "", sent(), left(1)), OTHER);
    assert_eq!(status(Verb::Update, "", sent(), json!({"spec": {"x": 1}, "status": {}})), OTHER);
    assert_eq!(status(Verb::Patch, MERGE, sent(), left(2)), []);
    assert_eq!(status(Verb::Patch, MERGE, sent(), left(1)), OTHER);
    let gone = || json!({"status": {"n": null}});
    assert_eq!(status(Verb::Patch, MERGE, gone(), json!({"spec": {"x": 1}, "status": {}})), []);
    assert_eq!(status(Verb::Patch, MERGE, gone(), left(1)), OTHER);
}

#[test]
fn a_json_patch_does_its_steps() {
    let before = || json!({"spec": {"x": 1, "names": ["n", "m"]}});
    let leaves = |steps: Value, left: Value| patch(foos(), JSON, before(), steps).leaves(left);
    let spec = |x: u64, names: Value| json!({"spec": {"x": x, "names": names}});
    let remove = || json!([{"op": "remove", "path": "/spec/names/0"}]);
    assert_eq!(leaves(remove(), spec(1, json!(["m"]))), []);
    assert_eq!(leaves(remove(), spec(1, json!(["n"]))), OTHER, "the other one");
    assert_eq!(leaves(remove(), before()), OTHER);
    let field = || json!([{"op": "remove", "path": "/spec/x"}]);
    assert_eq!(leaves(field(), json!({"spec": {"names": ["n", "m"]}})), []);
    assert_eq!(leaves(field(), before()), OTHER, "it stays");
    assert_eq!(leaves(field(), json!({"spec": {}})), OTHER, "more is lost");
    let replace = || json!([{"op": "replace", "path": "/spec/x", "value": 2}]);
    assert_eq!(leaves(replace(), spec(2, json!(["n", "m"]))), []);
    assert_eq!(leaves(replace(), spec(3, json!(["n", "m"]))), OTHER);
    let add = || json!([{"op": "add", "path": "/metadata/labels", "value": {"l": "1"}}]);
    assert_eq!(leaves(add(), before()), OTHER);
    let tested = |x: u64| {
        json!([{"op": "test", "path": "/spec/x", "value": x},
            {"op": "replace", "path": "/spec/x", "value": 2}])
    };
    assert_eq!(leaves(tested(1), spec(2, json!(["n", "m"]))), []);
    assert_eq!(leaves(tested(7), spec(2, json!(["n", "m"]))), OTHER, "its test does not hold");
    let nowhere = json!([{"op": "remove", "path": "/spec/nope"}]);
    assert_eq!(leaves(nowhere, before()), [], "what that does is not known");
}

#[test]
fn a_merge_patch_sets_and_removes() {
    let before = || json!({"spec": {"x": 1, "names": ["n"], "map": {"k": "v", "l": "w"}}});
    let leaves = |sent: Value, left: Value| patch(foos(), MERGE, before(), sent).leaves(left);
    let sent = || json!({"spec": {"names": ["m"], "map": {"k": null}}});
    let spec =
        |x: u64, names: Value, map: Value| json!({"spec": {"x": x, "names": names, "map": map}});
    assert_eq!(leaves(sent(), spec(1, json!(["m"]), json!({"l": "w"}))), []);
    assert_eq!(leaves(sent(), spec(1, json!(["n", "m"]), json!({"l": "w"}))), OTHER, "merged");
    assert_eq!(leaves(sent(), spec(1, json!(["m"]), json!({"k": "v", "l": "w"}))), OTHER);
    assert_eq!(leaves(sent(), spec(1, json!(["m"]), json!({}))), OTHER, "more is lost");
    assert_eq!(leaves(sent(), spec(2, json!(["m"]), json!({"l": "w"}))), OTHER, "more changes");
    let finalized = json!({"metadata": {"finalizers": ["f"]}});
    let none = json!({"metadata": {"finalizers": null}});
    let finalizers =
        |left: Value| patch(foos(), MERGE, finalized.clone(), none.clone()).leaves(left);
    assert_eq!(finalizers(json!({})), []);
    assert_eq!(finalizers(finalized.clone()), OTHER);
}

#[test]
fn patches_that_merge_lists_leave_what_was_sent_among_others() {
    let applied = |left: Value| {
        let sent = json!({"metadata": {"labels": {"l": "1"}}, "spec": {"names": ["m"], "x": 2}});
        patch(foos(), APPLY, json!({"spec": {"names": ["n"]}}), sent).leaves(left)
    };
    let labels = || json!({"labels": {"l": "1", "other": "2"}});
    let left = |names: Value| json!({"metadata": labels(), "spec": {"names": names, "x": 2}});
    assert_eq!(applied(left(json!(["n", "m"]))), []);
    assert_eq!(applied(left(json!(["m"]))), []);
    assert_eq!(applied(left(json!(["n"]))), OTHER);
    assert_eq!(applied(json!({"metadata": labels(), "spec": {"names": ["m"]}})), OTHER);
    assert_eq!(applied(json!({"spec": {"names": ["m"], "x": 2}})), OTHER, "the label is lost");
    let strategic = |sent: Value, left: Value| {
        let before = json!({"metadata": labels(), "spec": {"list": [{"name": "a", "y": 1}]}});
        patch(core("pods"), STRATEGIC, before, sent).leaves(left)
    };
    let list = |list: Value| json!({"metadata": labels(), "spec": {"list": list}});
    let add = || json!({"spec": {"list": [{"name": "b", "y": 2}], "$setElementOrder/list": []}});
    let (a, b) = (json!({"name": "a", "y": 1}), json!({"name": "b", "y": 2}));
    assert_eq!(strategic(add(), list(json!([b, a]))), []);
    assert_eq!(strategic(add(), list(json!([a, b]))), []);
    assert_eq!(strategic(add(), list(json!([a]))), OTHER);
    let delete = json!({"spec": {"list": [{"name": "a", "$patch": "delete"}]}});
    assert_eq!(strategic(delete, list(json!([]))), []);
    let unlabel = || json!({"metadata": {"labels": {"l": null}}});
    assert_eq!(strategic(unlabel(), json!({"metadata": {"labels": {"other": "2"}}})), []);
    assert_eq!(strategic(unlabel(), list(json!([a]))), OTHER, "the label stays");
}
