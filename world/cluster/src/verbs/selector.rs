//! Label and field selectors.
//!
//! Grammar as in `k8s.io/apimachinery/pkg/labels` and `pkg/fields`; which fields can be selected is the
//! type's affair, so the caller passes what the object's fields are.

use serde_json::Value;

use crate::status::Refusal;

mod labels;

pub use labels::Labels;

/// A parsed field selector: (field, must be equal, value).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Fields(Vec<(String, bool, String)>);

impl Fields {
    /// Reads `a=b,c==d,e!=f`; `problem` says why a field can't be selected by. Errors: 400.
    pub fn parse(text: &str, problem: impl Fn(&str) -> Option<String>) -> Result<Fields, Refusal> {
        let mut terms = Vec::new();
        for part in split_unescaped(text) {
            if part.is_empty() {
                continue;
            }
            let (field, equal, value) = if let Some((field, value)) = part.split_once("!=") {
                (field, false, value)
            } else if let Some((field, value)) = part.split_once("==") {
                (field, true, value)
            } else if let Some((field, value)) = part.split_once('=') {
                (field, true, value)
            } else {
                let message = format!("invalid selector: '{text}'; can't understand '{part}'");
                return Err(Refusal::bad_request(message));
            };
            if let Some(problem) = problem(field) {
                return Err(Refusal::bad_request(problem));
            }
            terms.push((field.to_owned(), equal, unescape(value)));
        }
        Ok(Fields(terms))
    }

    /// Whether it selects nothing in particular.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The value that `field` must have, if one is demanded.
    pub fn demanded(&self, field: &str) -> Option<&str> {
        self.0
            .iter()
            .find(|(of, equal, _)| of == field && *equal)
            .map(|(_, _, value)| value.as_str())
    }

    /// Whether the object satisfies it. Absent fields count as empty text.
    pub fn matches(&self, object: &Value) -> bool {
        self.0.iter().all(|(field, equal, value)| (at_path(object, field) == *value) == *equal)
    }
}

/// The text of a field such as `spec.nodeName`; numbers and booleans as JSON writes them.
fn at_path(object: &Value, field: &str) -> String {
    // Fields whose label is not their path.
    let found = match field {
        "status.successful" => object.pointer("/status/succeeded"),
        // It may be asked for, but no pod has it (`ToSelectableFields`).
        "status.podIPs" => None,
        "source" => object
            .pointer("/source/component")
            .filter(|source| source.as_str() != Some(""))
            .or_else(|| object.get("reportingComponent")),
        field => field.split('.').try_fold(object, |at, step| at.get(step)),
    };
    match found {
        None | Some(Value::Null) => match field {
            // The zero value, which JSON leaves out.
            "spec.unschedulable" | "spec.hostNetwork" => "false".to_owned(),
            "status.successful" | "status.replicas" => "0".to_owned(),
            _ => String::new(),
        },
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

fn split_unescaped(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (at, letter) in text.char_indices() {
        match letter {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn unescape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => out.extend(letters.next()),
            letter => out.push(letter),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_match_as_upstreams() {
        let object = json!({"metadata": {"name": "p"}, "spec": {"nodeName": "n", "replicas": 3}});
        let known = |field: &str| (field == "spec.unknown").then(|| "unknown".to_owned());
        let cases = [
            ("metadata.name=p", true),
            ("metadata.name!=p", false),
            ("metadata.name==p,spec.nodeName=n", true),
            ("spec.replicas=3", true),
            ("status.phase=", true),
            ("status.phase!=Running", true),
        ];
        for (text, expect) in cases {
            assert_eq!(Fields::parse(text, known).expect(text).matches(&object), expect, "{text}");
        }
        assert!(Fields::parse("spec.unknown=1", known).is_err());
        assert!(Fields::parse("metadata.name", known).is_err());
        assert_eq!(Fields::parse(r"a=x\,y", known).expect("escaped").demanded("a"), Some("x,y"));
    }
}
