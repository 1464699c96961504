//! Defects planted into the embedded server, by changing what reaches it or what it answers: each is a mistake that an
//! API server could make, and that the generated scripts must find.

use bytes::Bytes;
use serde_json::Value;

use crate::{arm::Got, script::Request};

/// A server that is wrong in one way.
pub struct Defect {
    /// What it does.
    pub name: &'static str,
    /// Before the request reaches it.
    pub ask: fn(&mut Request),
    /// Before its answer leaves it.
    pub answer: fn(&Request, &mut Got),
}

impl Defect {
    const NONE: Defect = Defect { name: "none", ask: |_| {}, answer: |_, _| {} };
}

/// All of them.
pub const DEFECTS: &[Defect] = &[
    Defect {
        name: "a stale revision is no conflict",
        ask: |asked| body(asked, |body| remove(body, "/metadata", "resourceVersion")),
        ..Defect::NONE
    },
    Defect {
        name: "preconditions of a deletion are not looked at",
        ask: |asked| body(asked, |body| remove(body, "", "preconditions")),
        ..Defect::NONE
    },
    Defect {
        name: "a dry run is no dry run",
        ask: |asked| asked.path = asked.path.replace("?dryRun=All", ""),
        ..Defect::NONE
    },
    Defect {
        name: "every apply is forced",
        ask: |asked| {
            if asked.path.contains("fieldManager=") && !asked.path.contains("force=") {
                asked.path.push_str("&force=true");
            }
        },
        ..Defect::NONE
    },
    Defect {
        name: "a selector without a label selects those with it",
        ask: |asked| asked.path = asked.path.replace(",!l", ",l"),
        ..Defect::NONE
    },
    Defect {
        name: "a removed finalizer stays",
        ask: |asked| {
            body(asked, |body| {
                if body.pointer("/metadata/finalizers").is_some_and(Value::is_null) {
                    remove(body, "/metadata", "finalizers");
                }
            });
        },
        ..Defect::NONE
    },
    Defect {
        name: "a watch does not tell of deletions",
        answer: |asked, got| {
            if asked.path.contains("watch=1") {
                let lines = got.bytes.split_inclusive(|byte| *byte == b'\n');
                let deleted = br#""type":"DELETED""#;
                let told = |line: &&[u8]| !line.windows(deleted.len()).any(|part| part == deleted);
                got.bytes = Bytes::from(lines.filter(told).collect::<Vec<_>>().concat());
            }
        },
        ..Defect::NONE
    },
    Defect {
        name: "a generation never moves",
        answer: |_, got| {
            answered(got, |object| {
                if let Some(generation) = object.pointer_mut("/metadata/generation") {
                    *generation = 1.into();
                }
            });
        },
        ..Defect::NONE
    },
    Defect {
        name: "an invalid object is refused with its first mistake only",
        answer: |_, got| {
            answered(got, |status| {
                if let Some(Value::Array(causes)) = status.pointer_mut("/details/causes") {
                    causes.truncate(1);
                }
            });
        },
        ..Defect::NONE
    },
    Defect {
        name: "what a manager no longer owns is still said to be its",
        answer: |asked, got| {
            if asked.method == "PUT" {
                answered(got, |object| remove(object, "/metadata", "managedFields"));
            }
        },
        ..Defect::NONE
    },
    Defect {
        name: "a list has no revision",
        answer: |_, got| {
            answered(got, |list| {
                if list.get("items").is_some() {
                    remove(list, "/metadata", "resourceVersion");
                }
            });
        },
        ..Defect::NONE
    },
];

fn body(asked: &mut Request, change: impl FnOnce(&mut Value)) {
    asked.body = changed(&asked.body, change);
}

fn answered(got: &mut Got, change: impl FnOnce(&mut Value)) {
    got.bytes = changed(&got.bytes, change);
}

/// What is no JSON object stays as it is.
fn changed(bytes: &Bytes, change: impl FnOnce(&mut Value)) -> Bytes {
    match serde_json::from_slice::<Value>(bytes) {
        Ok(mut value) if value.is_object() => {
            change(&mut value);
            value.to_string().into()
        }
        _ => bytes.clone(),
    }
}

fn remove(value: &mut Value, parent: &str, field: &str) {
    if let Some(Value::Object(fields)) = value.pointer_mut(parent) {
        fields.remove(field);
    }
}
