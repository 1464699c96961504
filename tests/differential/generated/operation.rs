//! From random numbers to a script.
//!
//! A request is made of four bytes; zero bytes make the plainest request, so that shrinking the numbers
//! makes the script plainer.

use serde_json::{Value, json};

use super::{Sample, mutate::mutated, refused::refused};
use crate::script::{Script, Step};

/// Which verb, which object, and two numbers for the rest.
pub type Seed = (u8, u8, u8, u8);

const NAMES: [&str; 3] = ["a", "b", "c"];

/// By which a script finds its own objects of a type without namespaces.
pub(super) const OWN: &str = "labelSelector=run%3D{ns}";

/// The script of a list of seeds. It begins with an object and ends with what a client sees: one object, the list,
/// what is left when all are deleted, and the whole watch.
pub fn script(sample: &Sample, seeds: &[Seed]) -> Script {
    let collection = Collection::of(sample);
    let mut steps = vec![collection.create("a", collection.body("a"))];
    steps.extend(seeds.iter().map(|seed| collection.step(*seed)));
    let path = &sample.path;
    let since = "resourceVersion={ns.metadata.resourceVersion}";
    for ending in [
        format!("GET {}", collection.item("a")),
        format!("GET {path}?{OWN}"),
        format!("DELETE {path}?{OWN}"),
        format!("GET {path}?{OWN}"),
        format!("WATCH {path}?{since}&{OWN}"),
    ] {
        steps.push(Step::new(ending, None));
    }
    Script { about: path.clone(), steps, ..Script::default() }
}

pub(super) struct Collection<'a> {
    sample: &'a Sample,
    namespaced: bool,
    /// `apiVersion` and `kind` are needed by applies only.
    api_version: String,
}

impl Collection<'_> {
    pub(super) fn of(sample: &Sample) -> Collection<'_> {
        let parts: Vec<&str> = sample.path.split('/').collect();
        let api_version = match parts[1] {
            "api" => parts[2].to_owned(),
            _ => format!("{}/{}", parts[2], parts[3]),
        };
        Collection { namespaced: sample.path.contains("/namespaces/"), api_version, sample }
    }

    pub(super) fn body(&self, name: &str) -> Value {
        let text = self.sample.body.to_string().replace("{name}", name);
        let mut body: Value = serde_json::from_str(&text).expect("the sample is JSON");
        // By which the script finds its own objects of a type without namespaces.
        body["metadata"]["labels"]["run"] = json!("{ns}");
        body
    }

    pub(super) fn item(&self, name: &str) -> String {
        match self.namespaced {
            true => format!("{}/{name}", self.sample.path),
            false => format!("{}/{{ns}}-{name}", self.sample.path),
        }
    }

    pub(super) fn create(&self, name: &str, body: Value) -> Step {
        Step { id: name.to_owned(), ..Step::new(format!("POST {}", self.sample.path), Some(body)) }
    }

    /// The type's own edits.
    pub(super) fn edits(&self) -> impl Iterator<Item = &Value> {
        self.sample.edits.iter()
    }

    fn edit(&self, number: u8) -> Value {
        let common = [
            json!({"metadata": {"labels": {"l": "2"}}}),
            json!({"metadata": {"labels": {"l": null}, "annotations": {"n": "1"}}}),
            json!({"metadata": {"finalizers": ["x.io/y"]}}),
            json!({"metadata": {"finalizers": null}}),
        ];
        let all: Vec<&Value> = self.sample.edits.iter().chain(&common).collect();
        all[usize::from(number) % all.len()].clone()
    }

    fn step(&self, (verb, name, a, b): Seed) -> Step {
        let name = NAMES[usize::from(name) % NAMES.len()];
        let item = self.item(name);
        match verb % 19 {
            0 => Step::new(format!("GET {item}"), None),
            1 | 2 => self.create(name, self.body(name)),
            3 => self.create(name, mutated(self.body(name), a, b)),
            4 | 5 => self.put(name, &item, a, b),
            6 | 7 => Step::new(format!("PATCH {item}"), Some(self.edit(a))),
            8 => Step {
                kind: "strategic".to_owned(),
                ..Step::new(format!("PATCH {item}"), Some(self.edit(a)))
            },
            9 => self.json_patch(name, &item, a, b),
            10 | 11 => self.apply(name, &item, a, b),
            12 => {
                let body = [
                    None,
                    Some(json!({"propagationPolicy": "Background"})),
                    Some(json!({"preconditions": {"uid": format!("{{{name}.metadata.uid}}")}})),
                    Some(json!({"preconditions": {"resourceVersion": "1"}})),
                    Some(json!({"gracePeriodSeconds": 0})),
                ];
                Step::new(format!("DELETE {item}"), body[usize::from(a) % body.len()].clone())
            }
            13 => {
                let queries = ["l", "!l", "l%3D1", "l%20in%20(1,2)", "l!%3D2"];
                let query = queries[usize::from(a) % queries.len()];
                let path = &self.sample.path;
                Step::new(format!("GET {path}?labelSelector=run%3D{{ns}},{query}"), None)
            }
            14 => Step::new(format!("PATCH {item}?dryRun=All"), Some(self.edit(a))),
            15 => Step::new(format!("PATCH {item}"), Some(mutated(self.edit(a), a, b))),
            16 => Step::new(format!("DELETE {}?{OWN},l%3D{}", self.sample.path, a % 3), None),
            17 => self.status(&item, a, b),
            _ => refused(&self.sample.path, &item, self.body(name), a),
        }
    }

    /// The status by itself, read or written; types without one refuse that.
    fn status(&self, item: &str, a: u8, b: u8) -> Step {
        let condition = json!({
            "type": "A", "status": "True", "reason": "R", "message": "m",
            "lastTransitionTime": "2020-01-01T00:00:00Z",
        });
        let edits = [
            json!({"metadata": {"annotations": {"s": "1"}}}),
            json!({"status": {"conditions": [condition]}}),
            json!({"status": {"observedGeneration": 1}}),
            json!({"spec": {"replicas": 7}}),
            json!({"status": null}),
        ];
        let edit = edits[usize::from(a) % edits.len()].clone();
        match b % 3 {
            0 => Step::new(format!("GET {item}/status"), None),
            _ => Step::new(format!("PATCH {item}/status"), Some(edit)),
        }
    }

    /// A whole object, edited, with the revision of its creation, of now (none), or broken.
    fn put(&self, name: &str, item: &str, a: u8, b: u8) -> Step {
        let mut body = self.body(name);
        merge(&mut body, &self.edit(a));
        match b % 4 {
            1 => {
                body["metadata"]["resourceVersion"] =
                    json!(format!("{{{name}.metadata.resourceVersion}}"))
            }
            2 => body = mutated(body, a, b),
            _ => {}
        }
        Step::new(format!("PUT {item}"), Some(body))
    }

    fn json_patch(&self, name: &str, item: &str, a: u8, b: u8) -> Step {
        let revision = format!("{{{name}.metadata.resourceVersion}}");
        let operations = [
            json!([{"op": "add", "path": "/metadata/annotations", "value": {"j": "1"}}]),
            json!([{"op": "test", "path": "/metadata/resourceVersion", "value": revision},
                {"op": "replace", "path": "/metadata/labels/l", "value": "3"}]),
            json!([{"op": "remove", "path": "/metadata/labels/l"}]),
            json!([{"op": "add", "path": "/metadata/finalizers", "value": ["x.io/z"]}]),
            json!([{"op": "replace", "path": "/metadata/labels/l", "value": b.to_string()}]),
        ];
        let body = operations[usize::from(a) % operations.len()].clone();
        Step { kind: "json".to_owned(), ..Step::new(format!("PATCH {item}"), Some(body)) }
    }

    fn apply(&self, name: &str, item: &str, a: u8, b: u8) -> Step {
        let manager = ["m1", "m2"][usize::from(b) % 2];
        let force = if b & 2 == 0 { "" } else { "&force=true" };
        let mut body = match b & 4 {
            0 => self.body(name),
            _ => {
                json!({"metadata": {"name": self.body(name)["metadata"]["name"], "labels": {"run": "{ns}"}}})
            }
        };
        merge(&mut body, &without_nulls(&self.edit(a)));
        body["apiVersion"] = json!(self.api_version);
        body["kind"] = json!(kind_of(self.sample));
        let action = format!("PATCH {item}?fieldManager={manager}{force}");
        Step { kind: "apply".to_owned(), ..Step::new(action, Some(body)) }
    }
}

/// RFC 7396.
pub(super) fn merge(target: &mut Value, patch: &Value) {
    let Value::Object(changes) = patch else {
        *target = patch.clone();
        return;
    };
    if !target.is_object() {
        *target = json!({});
    }
    for (key, change) in changes {
        match change {
            Value::Null => {
                target.as_object_mut().map(|fields| fields.remove(key));
            }
            change => merge(&mut target[key], change),
        }
    }
}

fn without_nulls(value: &Value) -> Value {
    match value {
        Value::Object(fields) => fields
            .iter()
            .filter(|(_, value)| !value.is_null())
            .map(|(key, value)| (key.clone(), without_nulls(value)))
            .collect(),
        other => other.clone(),
    }
}

/// The kind of a sample's objects: what they say themselves, as custom ones must, or by the facts of the API.
fn kind_of(sample: &Sample) -> String {
    if let Some(kind) = sample.body["kind"].as_str() {
        return kind.to_owned();
    }
    let path = &sample.path;
    let parts: Vec<&str> = path.split('/').collect();
    let (group, version) = if parts[1] == "api" { ("", parts[2]) } else { (parts[2], parts[3]) };
    let resource = parts.last().expect("a path has parts");
    let row = cluster::facts::resource(group, version, resource);
    row.unwrap_or_else(|| panic!("{path} is no type")).kind.clone()
}
