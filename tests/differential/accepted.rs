//! The differences that are accepted: a kept list that may only shrink.

use std::path::PathBuf;

use regex::Regex;
use serde::Deserialize;
use serde_json::{Value, json};
use trace::diff::{Difference, object_differences};
use trommel_tests::{product::yaml, root};

/// More than this is no list of exceptions any more.
pub const ROWS_MAX: usize = 30;

/// One accepted difference. All patterns are regular expressions that match the whole text.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    /// The request: verb and path.
    request: String,
    /// The place in the answer: `.body.status.observedGeneration`.
    at: String,
    /// What the real server has there, as JSON; `nothing` if nothing.
    #[serde(default = "anything")]
    real: String,
    /// What the embedded server has there.
    #[serde(default = "anything")]
    embedded: String,
    why: String,
    /// Who could notice.
    who: String,
}

fn anything() -> String {
    ".*".to_owned()
}

/// The list.
pub struct Accepted(Vec<Row>);

/// A difference between the answers to one request.
#[derive(Debug)]
pub struct Found {
    pub request: String,
    pub difference: Difference,
}

impl Accepted {
    /// Reads `accepted.yaml`.
    pub fn read() -> Accepted {
        let path = root().join("tests/differential/accepted.yaml");
        let rows = serde_json::from_value(yaml(&path));
        Accepted(rows.unwrap_or_else(|error| panic!("{}: {error}", path.display())))
    }

    /// The differences between two transcripts in comparison form that are not accepted; the numbers of
    /// the rows that accepted others are noted in `used`.
    pub fn judge(&self, real: &[Value], embedded: &[Value], used: &mut Vec<usize>) -> Vec<Found> {
        let mut found = Vec::new();
        for (real, embedded) in real.iter().zip(embedded) {
            let request = real["request"].as_str().unwrap_or_default();
            let (real, embedded) = outlined(real, embedded);
            for difference in object_differences("", &real, &embedded) {
                match self.0.iter().position(|row| row.covers(request, &difference)) {
                    Some(row) => used.push(row),
                    None => found.push(Found { request: request.to_owned(), difference }),
                }
            }
        }
        found
    }

    /// Rows that accepted nothing.
    pub fn unused(&self, used: &[usize]) -> Vec<String> {
        let rows = self.0.iter().enumerate().filter(|(index, _)| !used.contains(index));
        rows.map(|(_, row)| format!("{} {}", row.request, row.at)).collect()
    }
}

impl Row {
    fn covers(&self, request: &str, difference: &Difference) -> bool {
        let whole = |pattern: &str, text: &str| {
            let pattern = Regex::new(&format!("^(?s:{pattern})$"));
            pattern.unwrap_or_else(|error| panic!("accepted.yaml: {error}")).is_match(text)
        };
        whole(&self.request, request)
            && whole(&self.at, &difference.path.to_string())
            && whole(&self.real, &shown(&difference.left))
            && whole(&self.embedded, &shown(&difference.right))
    }
}

/// Two answers whose codes differ have nothing else in common: of each, its code and its message.
fn outlined(real: &Value, embedded: &Value) -> (Value, Value) {
    if real["code"] == embedded["code"] {
        return (real.clone(), embedded.clone());
    }
    let outline = |entry: &Value| json!([entry["code"], entry["body"]["message"]]);
    (json!({"answer": outline(real).to_string()}), json!({"answer": outline(embedded).to_string()}))
}

fn shown(value: &Option<Value>) -> String {
    value.as_ref().map_or("nothing".to_owned(), Value::to_string)
}

impl std::fmt::Display for Found {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "  {}", self.request)?;
        writeln!(f, "    at {}", self.difference.path)?;
        writeln!(f, "    real:     {}", shown(&self.difference.left))?;
        write!(f, "    embedded: {}", shown(&self.difference.right))
    }
}

/// Where the list is.
pub fn folder() -> PathBuf {
    root().join("tests/differential")
}

#[test]
fn the_list_is_short_and_says_why() {
    let Accepted(rows) = Accepted::read();
    assert!(rows.len() <= ROWS_MAX, "{} rows, at most {ROWS_MAX}", rows.len());
    for row in rows {
        assert!(row.why.len() > 20 && row.who.len() > 5, "{} {}: say more", row.request, row.at);
        assert!(row.at != ".*" && row.at != ".body.*", "{}: covers a whole answer", row.request);
    }
}
