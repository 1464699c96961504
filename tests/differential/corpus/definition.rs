//! CRDs as files have them, and the requests that are made of one.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
};

use serde_json::{Value, json};
use trommel_tests::skip;

use super::schema::{self, Place};
use crate::script::Step;

/// How a Table is asked for: the columns of a type are made from its JSONPaths.
const TABLE: &str = "application/json;as=Table;g=meta.k8s.io;v=v1";

/// One CRD.
#[derive(Debug)]
pub struct Definition {
    pub name: String,
    /// Where it was read, for people.
    pub file: String,
    pub body: Value,
}

/// A version of a type that is served.
pub struct Version<'a> {
    /// What is there as soon as it is served.
    pub served: String,
    collection: String,
    api_version: String,
    kind: &'a Value,
    schema: &'a Value,
    subresources: &'a Value,
}

/// All that stand in YAML files of these folders, by name. What is no YAML (a template of a chart) is named and left out.
pub fn all(folders: &[PathBuf]) -> BTreeMap<String, Vec<Definition>> {
    let mut all: BTreeMap<String, Vec<Definition>> = BTreeMap::new();
    for folder in folders {
        let entries = std::fs::read_dir(folder);
        let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a file").path()).collect();
        files.retain(|file| file.extension().is_some_and(|end| end == "yaml" || end == "yml"));
        files.sort();
        for file in files {
            for definition in read(&file) {
                all.entry(definition.name.clone()).or_default().push(definition);
            }
        }
    }
    all
}

fn read(file: &Path) -> Vec<Definition> {
    let text = std::fs::read_to_string(file).expect("a file can be read");
    let documents: Vec<&str> =
        text.split("\n---").filter(|text| text.contains("CustomResourceDefinition")).collect();
    let mut definitions = Vec::new();
    for document in documents {
        match serde_saphyr::from_str::<Value>(document.trim_start_matches("---")) {
            Ok(body) if body["kind"] == "CustomResourceDefinition" => {
                let name = body["metadata"]["name"].as_str().unwrap_or_default().to_owned();
                definitions.push(Definition { name, file: shown(file), body });
            }
            Ok(_) => {}
            Err(error) => skip(&format!("{}: {error}", file.display())),
        }
    }
    definitions
}

/// The last parts of a path: the module's name and version are among them.
fn shown(file: &Path) -> String {
    let parts: Vec<_> = file.iter().map(|part| part.to_string_lossy()).collect();
    let module = parts.iter().rposition(|part| part.contains('@')).unwrap_or(0);
    parts[module.max(parts.len().saturating_sub(7))..].join("/")
}

impl Definition {
    /// With no conversion, if it is by a webhook.
    pub fn without_webhook(&self) -> Value {
        let mut body = self.body.clone();
        if body["spec"]["conversion"]["strategy"] == "Webhook" {
            body["spec"]["conversion"] = json!({"strategy": "None"});
        }
        body
    }

    /// Those that are served.
    pub fn versions(&self) -> Vec<Version<'_>> {
        let spec = &self.body["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let served = spec["versions"].as_array().into_iter().flatten();
        let served = served.filter(|version| version["served"] == true);
        let mut all = Vec::new();
        for version in served {
            let api_version = format!("{group}/{}", text(&version["name"]));
            let served = format!("/apis/{api_version}/{plural}");
            let collection = match spec["scope"].as_str() {
                Some("Namespaced") => format!("/apis/{api_version}/namespaces/{{ns}}/{plural}"),
                _ => served.clone(),
            };
            all.push(Version {
                served,
                collection,
                api_version,
                kind: &spec["names"]["kind"],
                schema: &version["schema"]["openAPIV3Schema"],
                subresources: &version["subresources"],
            });
        }
        all
    }
}

impl Version<'_> {
    /// The least object, in the life of which every verb has its turn.
    pub fn verbs(&self) -> Vec<Step> {
        let object = self.object("least", &[], Value::Null);
        let item = format!("{}/least", self.collection);
        let typed = |action: String, kind: &str, body: &Value| Step {
            kind: kind.to_owned(),
            ..Step::new(action, Some(body.clone()))
        };
        let mut steps = vec![
            Step::new(format!("POST {}", self.collection), Some(object.clone())),
            Step::new(format!("GET {item}"), None),
            Step {
                headers: BTreeMap::from([("accept".to_owned(), TABLE.to_owned())]),
                ..Step::new(format!("GET {item}"), None)
            },
            typed(format!("PATCH {item}"), "merge", &json!({"metadata": {"labels": {"a": "b"}}})),
            typed(format!("PATCH {item}?fieldManager=other"), "apply", &object),
            typed(format!("PATCH {item}?fieldManager=other&force=true"), "apply", &object),
            typed(format!("PATCH {item}"), "merge", &json!({"spec": null})),
            Step::new(format!("PUT {item}"), Some(object)),
        ];
        if self.subresources["status"].is_object() {
            let status = json!({"status": schema::least(&self.schema["properties"]["status"])});
            steps.push(typed(format!("PATCH {item}/status"), "merge", &status));
            let wrong = json!({"status": {"unheardOf": 1, "conditions": 7}});
            steps.push(typed(format!("PATCH {item}/status"), "merge", &wrong));
        }
        if self.subresources["scale"].is_object() {
            steps.push(Step::new(format!("GET {item}/scale"), None));
            let scale = json!({"spec": {"replicas": 3}});
            steps.push(typed(format!("PATCH {item}/scale"), "merge", &scale));
        }
        steps.push(Step::new(format!("DELETE {item}"), None));
        steps
    }

    /// Objects with something at one place: at most so many, evenly from all that there are.
    pub fn objects(&self, limit: usize) -> Vec<Step> {
        let own = |place: &Place<'_>| {
            !matches!(&place.path[0], schema::Step::Field(name)
                if matches!(name.as_str(), "apiVersion" | "kind" | "metadata"))
        };
        let places = schema::places(self.schema).into_iter().filter(own);
        let cases: Vec<_> = places
            .flat_map(|place| {
                let values = schema::values(place.schema).into_iter();
                values.map(move |(word, value)| (place.path.clone(), word, value))
            })
            .collect();
        let count = cases.len().min(limit);
        let evenly = (0..count).map(|number| (number, &cases[number * cases.len() / count]));
        let step = |(number, (path, word, value)): (usize, &(Vec<_>, &str, Value))| {
            let object = self.object(&format!("n{number}"), path, value.clone());
            let strictly = match *word {
                "with a field more" => "?fieldValidation=Strict",
                _ => "",
            };
            Step::new(format!("POST {}{strictly}", self.collection), Some(object))
        };
        evenly.map(step).collect()
    }

    /// The least object, with a value at a place.
    fn object(&self, name: &str, path: &[schema::Step], value: Value) -> Value {
        let mut object = schema::least(self.schema);
        let spec = &self.schema["properties"]["spec"];
        if spec.is_object() && object["spec"].is_null() {
            object["spec"] = schema::least(spec);
        }
        if !path.is_empty() {
            schema::put(&mut object, self.schema, path, value);
        }
        object["apiVersion"] = self.api_version.clone().into();
        object["kind"] = self.kind.clone();
        object["metadata"] = json!({"name": name});
        object
    }
}
