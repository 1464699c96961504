//! The form in which answers are compared: what no two servers can share is replaced by the place of its
//! first occurrence in the script (`uid@3.1`: the first new uid in the answer to step 3), so that equality
//! within a script still counts, and one difference does not make all later answers differ.
//!
//! Replaced: uids, revisions of objects, generated names, cluster IPs and node ports, times of the present
//! (years from 2026 on; scripts that care about a time use an older one), ages in tables. Left out: the
//! revisions of lists and bookmarks, because the real server writes objects of its own all the time.

use std::{collections::BTreeMap, sync::LazyLock};

use regex::{Captures, Regex};
use serde_json::{Map, Value};

static UID: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b"));
static TIME: LazyLock<Regex> = LazyLock::new(|| {
    regex(r"\b20(2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")
});
static ADDRESS: LazyLock<Regex> =
    LazyLock::new(|| regex(r"\b10\.(0\.0|9[6-9]\.\d+|1[01]\d\.\d+)\.\d+\b"));
static TOKEN_VOLUME: LazyLock<Regex> = LazyLock::new(|| regex(r"\bkube-api-access-[a-z0-9]{5}\b"));
static AGE: LazyLock<Regex> = LazyLock::new(|| regex(r"^\d+[smh](\d+[sm])?$"));
static RECORD: LazyLock<Regex> =
    LazyLock::new(|| regex(r"ResourceVersion in (?:record \(|object meta: )(\d+)"));
static NUMBER: LazyLock<Regex> = LazyLock::new(|| regex(r"\d+"));

fn regex(text: &str) -> Regex {
    Regex::new(text).expect("a regular expression")
}

/// A transcript's entries in comparison form.
pub fn comparable(entries: &[Value]) -> Vec<Value> {
    let mut labels = Labels::default();
    entries.iter().for_each(|entry| labels.learn_generated(entry));
    let form = |(step, entry)| {
        labels.step = step;
        labels.counts.clear();
        labels.value("", entry, Place::Object)
    };
    entries.iter().enumerate().map(form).collect()
}

/// What a value is part of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// An object, or anything.
    Object,
    /// A list or a bookmark: its metadata are not an object's.
    List,
    /// The metadata of a list or a bookmark.
    ListMetadata,
}

/// What has been numbered so far, by kind of thing.
#[derive(Default)]
struct Labels {
    known: BTreeMap<(&'static str, String), String>,
    step: usize,
    /// New things of this step.
    counts: BTreeMap<&'static str, usize>,
    /// Generated name → its base.
    generated: BTreeMap<String, String>,
}

impl Labels {
    fn learn_generated(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let text = |name: &str| fields.get(name).and_then(Value::as_str);
                if let (Some(base), Some(name)) = (text("generateName"), text("name"))
                    && name != base
                    && name.starts_with(base)
                {
                    self.generated.insert(name.to_owned(), base.to_owned());
                }
                fields.values().for_each(|value| self.learn_generated(value));
            }
            Value::Array(items) => items.iter().for_each(|item| self.learn_generated(item)),
            _ => {}
        }
    }

    fn label(&mut self, what: &'static str, text: &str) -> String {
        let (counts, step) = (&mut self.counts, self.step);
        let new = || {
            let count = counts.entry(what).or_default();
            *count += 1;
            format!("{what}@{step}.{count}")
        };
        self.known.entry((what, text.to_owned())).or_insert_with(new).clone()
    }

    /// `key` is the field that holds the value.
    fn value(&mut self, key: &str, value: &Value, place: Place) -> Value {
        match value {
            Value::Object(fields) => Value::Object(self.object(fields, place)),
            Value::Array(items) => {
                items.iter().map(|item| self.value(key, item, Place::Object)).collect()
            }
            Value::String(text) => Value::from(self.text(key, text, place)),
            Value::Number(number) if matches!(key, "nodePort" | "healthCheckNodePort") => {
                Value::from(self.label("port", &number.to_string()))
            }
            other => other.clone(),
        }
    }

    fn object(&mut self, fields: &Map<String, Value>, place: Place) -> Map<String, Value> {
        let kind = fields.get("kind").and_then(Value::as_str).unwrap_or("");
        let list = kind.ends_with("List") || kind == "Table" || place == Place::List;
        let bookmark = fields.get("type").is_some_and(|kind| kind == "BOOKMARK");
        let mut out = Map::new();
        for (key, value) in fields {
            let below = match key.as_str() {
                "object" if bookmark => Place::List,
                "metadata" if list => Place::ListMetadata,
                _ if value.is_string() => place,
                _ => Place::Object,
            };
            out.insert(self.words(key), self.value(key, value, below));
        }
        if kind == "Table" {
            hide_ages(&mut out);
        }
        if kind == "Status" {
            sort_causes(&mut out);
            sort_typed_errors(&mut out);
        }
        if kind == "SelfSubjectRulesReview" {
            sort_rules(&mut out);
        }
        if let Some(Value::Array(entries)) = out.get_mut("managedFields") {
            // Upstream orders them by second.
            entries.sort_by_key(|entry| {
                ["operation", "manager", "subresource", "apiVersion"].map(|f| entry[f].to_string())
            });
        }
        out
    }

    fn text(&mut self, key: &str, text: &str, place: Place) -> String {
        match key {
            "resourceVersion" if place == Place::ListMetadata => "revision".to_owned(),
            "resourceVersion" if !text.is_empty() => self.label("revision", text),
            "continue" if !text.is_empty() => "token".to_owned(),
            "message" if RECORD.is_match(text) => {
                let mut text = self.words(text);
                let Some(found) = RECORD.captures(&text).and_then(|found| found.get(1)) else {
                    return text;
                };
                let (range, revision) = (found.range(), found.as_str().to_owned());
                text.replace_range(range, &self.label("revision", &revision));
                text
            }
            "message" if text.contains("resource version") => {
                NUMBER.replace_all(text, "n").into_owned()
            }
            _ => self.words(text),
        }
    }

    fn words(&mut self, text: &str) -> String {
        let text = UID.replace_all(text, |found: &Captures<'_>| self.label("uid", &found[0]));
        let text =
            TIME.replace_all(
                &text,
                |found: &Captures<'_>| {
                    if found.get(2).is_some() { "time.micro" } else { "time" }
                },
            );
        let text = ADDRESS.replace_all(&text, |found: &Captures<'_>| self.label("ip", &found[0]));
        let text = TOKEN_VOLUME
            .replace_all(&text, |found: &Captures<'_>| self.label("token-volume", &found[0]));
        let mut text = text.into_owned();
        for (name, base) in self.generated.clone() {
            if text.contains(&name) {
                let label = format!("{base}{}", self.label("name", &name));
                text = text.replace(&name, &label);
            }
        }
        text
    }
}

/// Ages are how long the machine took.
fn hide_ages(table: &mut Map<String, Value>) {
    for row in table.get_mut("rows").and_then(Value::as_array_mut).into_iter().flatten() {
        for cell in row["cells"].as_array_mut().into_iter().flatten() {
            if cell.as_str().is_some_and(|text| AGE.is_match(text)) {
                *cell = Value::from("age");
            }
        }
    }
}

/// The real server goes through the bindings in no order.
fn sort_rules(review: &mut Map<String, Value>) {
    for field in ["resourceRules", "nonResourceRules"] {
        if let Some(rules) =
            review.get_mut("status").and_then(|status| status[field].as_array_mut())
        {
            rules.sort_by_key(Value::to_string);
        }
    }
}

/// The order in which a validation names its errors is the order of its code; several of them are compared
/// as a set, and the sentence that joins them by its beginning.
fn sort_causes(status: &mut Map<String, Value>) {
    let causes = status.get_mut("details").and_then(|details| details.get_mut("causes"));
    let Some(causes) = causes.and_then(Value::as_array_mut) else { return };
    if causes.len() < 2 {
        return;
    }
    causes.sort_by_key(Value::to_string);
    if let Some(Value::String(message)) = status.get_mut("message")
        && let Some(at) = message.find("is invalid: ")
    {
        message.truncate(at + "is invalid: ".len());
    }
}

/// Before `structured-merge-diff` refuses an object, it goes through its fields as Go goes through a map: in no
/// order (value/mapunstructured.go, `Iterate`).
fn sort_typed_errors(status: &mut Map<String, Value>) {
    const HEAD: &str = ": errors:\n";
    let Some(Value::String(message)) = status.get_mut("message") else { return };
    let Some(at) = message.find(HEAD).map(|at| at + HEAD.len()) else { return };
    let mut errors: Vec<String> = message[at..].lines().map(str::to_owned).collect();
    errors.sort();
    message.replace_range(at.., &errors.join("\n"));
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn check(left: Value, right: Value, equal: bool) {
        let forms = [comparable(&[left]), comparable(&[right])];
        assert_eq!(forms[0] == forms[1], equal, "{forms:#?}");
    }

    #[test]
    fn only_what_servers_choose_is_hidden() {
        let object = |uid: &str, revision: &str, time: &str, owner: &str| {
            json!({"body": {"kind": "Pod", "metadata": {"uid": uid, "resourceVersion": revision,
                "creationTimestamp": time, "owner": owner}}})
        };
        let a = "11111111-1111-4111-8111-111111111111";
        let b = "22222222-2222-4222-8222-222222222222";
        let old = "2026-01-01T00:00:00Z";
        check(object(a, "5", old, a), object(b, "6", "2026-12-01T00:00:00Z", b), true);
        check(object(a, "5", old, a), object(b, "6", old, a), false);
        check(object(a, "5", old, a), object(a, "", old, a), false);
        check(object(a, "5", old, a), object(a, "5", "2026-01-01T00:00:00.000001Z", a), false);
        check(object(a, "5", old, a), object(a, "5", "2020-01-01T00:00:00Z", a), false);
    }

    #[test]
    fn revisions_of_lists_and_generated_names_do_not_count() {
        let list = |revision: &str, name: &str| {
            json!({"body": {"kind": "PodList", "metadata": {"resourceVersion": revision}, "items": [
                {"metadata": {"generateName": "p-", "name": name, "resourceVersion": revision}},
                {"metadata": {"annotations": {"of": name}, "resourceVersion": "1"}}]}})
        };
        check(list("7", "p-abcde"), list("9", "p-fghij"), true);
        check(list("7", "p-abcde"), list("1", "p-abcde"), false);
    }

    #[test]
    fn the_revision_in_a_refusal_is_the_object_s() {
        let refused = |revision: &str, text: &str| json!({"body": {"metadata": {"resourceVersion": revision}, "list": [{"message": text}]}});
        for text in [
            "1 is not the ResourceVersion in record (N). More",
            "ResourceVersion in object meta: N",
        ] {
            let of = |revision: &str, said: &str| refused(revision, &text.replace('N', said));
            check(of("5", "5"), of("7", "7"), true);
            check(of("5", "5"), of("7", "8"), false);
        }
    }

    #[test]
    fn causes_have_no_order() {
        let status = |causes: Value, message: &str| json!({"body": {"kind": "Status", "message": message, "details": {"causes": causes}}});
        check(
            status(json!([{"field": "a"}, {"field": "b"}]), "X is invalid: [a, b]"),
            status(json!([{"field": "b"}, {"field": "a"}]), "X is invalid: [b, a]"),
            true,
        );
        check(
            status(json!([{"field": "a"}]), "X is invalid: a"),
            status(json!([{"field": "a"}]), "X is invalid: b"),
            false,
        );
    }

    #[test]
    fn errors_of_a_typed_patch_have_no_order() {
        let status = |errors: &str| json!({"body": {"kind": "Status", "message": format!("failed to create typed patch object (/b; v1, Kind=T): errors:\n{errors}")}});
        check(status("  .a: no\n  .b: no"), status("  .b: no\n  .a: no"), true);
        check(status("  .a: no\n  .b: no"), status("  .b: no\n  .c: no"), false);
    }
}
