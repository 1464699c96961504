//! What differs between the answers of both servers, and how much was asked.
#![allow(clippy::print_stdout)] // how much was compared

use std::{collections::BTreeMap, fmt, path::Path};

use serde_json::{Value, json};

use super::definition::Definition;
use crate::{accepted::Accepted, script::Script};

/// Differences shown of one file.
const SHOWN_AT_MOST: usize = 4;

/// What came of types.
#[derive(Debug, Default)]
pub struct Outcome {
    requests: usize,
    /// The real server's answers, by code.
    codes: BTreeMap<u64, usize>,
    found: Vec<String>,
    /// Refusals of the same meaning in other words.
    texts: Vec<String>,
    types: usize,
    /// By file.
    files: BTreeMap<String, Vec<String>>,
}

impl Outcome {
    /// Takes the answers to a script: the real server's, and the embedded one's.
    pub fn compare(
        &mut self,
        script: &Script,
        [real, embedded]: &[Vec<Value>; 2],
        accepted: &Accepted,
    ) {
        let compared = script.steps.iter().filter(|step| !matches!(step.verb(), "AWAIT" | "GONE"));
        for ((step, real), embedded) in compared.zip(real).zip(embedded) {
            self.requests += 1;
            *self.codes.entry(real["code"].as_u64().unwrap_or(0)).or_default() += 1;
            let judge = |real: &Value, embedded: &Value| -> Vec<String> {
                let (real, embedded) = (std::slice::from_ref(real), std::slice::from_ref(embedded));
                let found = accepted.judge(real, embedded, &mut Vec::new());
                found.iter().map(ToString::to_string).collect()
            };
            let sent = || step.body.as_ref().map_or(String::new(), Value::to_string);
            // Of answers with different codes, the words are shown.
            let found = match real["code"] == embedded["code"] {
                true => judge(&meaning(real), &meaning(embedded)),
                false => judge(real, embedded),
            };
            if found.is_empty() {
                self.texts.extend(judge(real, embedded));
            } else {
                self.found.push(format!("{}\n    sent: {}", found.join("\n"), sent()));
            }
        }
    }

    /// Takes what came of one type.
    pub fn add(&mut self, definition: &Definition, one: Outcome) {
        self.types += 1;
        self.requests += one.requests;
        for (code, count) in one.codes {
            *self.codes.entry(code).or_default() += count;
        }
        self.texts.extend(one.texts);
        if !one.found.is_empty() {
            self.files.entry(definition.file.clone()).or_default().extend(one.found);
        }
    }

    /// All of it, for whoever mends it.
    pub fn write(&self, home: &Path) {
        let mut text = format!("{self}\n");
        for (file, found) in &self.files {
            text.push_str(&format!("\n{file}: {}\n{}\n", found.len(), found.join("\n")));
        }
        std::fs::write(home.join("differences.txt"), text).expect("the report can be written");
        std::fs::write(home.join("texts.txt"), self.texts.join("\n"))
            .expect("the report can be written");
    }

    /// Fails if anything differs, or if too little was good to mean anything.
    pub fn judge(&self) {
        println!("{self}");
        let shown = |(file, found): (&String, &Vec<String>)| {
            let first: Vec<&str> = found.iter().take(SHOWN_AT_MOST).map(String::as_str).collect();
            format!("{file}: {} differences\n{}", found.len(), first.join("\n"))
        };
        let wrong: Vec<String> = self.files.iter().map(shown).collect();
        assert!(wrong.is_empty(), "{self}\n\n{}", wrong.join("\n\n"));
        assert!(self.codes.contains_key(&201), "nothing could be created: {self}");
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (differ, texts) = (self.files.len(), self.texts.len());
        write!(f, "{} CRDs, {differ} of them differ; {} requests, ", self.types, self.requests)?;
        write!(f, "of which the real server answered, by code: {:?}; ", self.codes)?;
        write!(f, "{texts} refusals differ in words alone")
    }
}

/// An answer without its words: of a refusal its code, reason, warnings and the fields of its causes; anything else whole.
fn meaning(entry: &Value) -> Value {
    if entry["code"].as_u64() < Some(400) {
        return entry.clone();
    }
    let body = &entry["body"];
    let causes = body["details"]["causes"].as_array().into_iter().flatten();
    let mut causes: Vec<Value> =
        causes.map(|cause| json!([cause["reason"], cause["field"]])).collect();
    causes.sort_by_key(Value::to_string);
    json!({
        "request": entry["request"], "code": entry["code"], "headers": entry["headers"],
        "body": {"reason": body["reason"], "causes": causes},
    })
}
