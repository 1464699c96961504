//! Keeps secrets out of everything that is written for people.
//!
//! Two nets. Objects of kind Secret lose their values where they are objects or YAML; and every text loses
//! what looks like a credential wherever it stands (private keys, JSON web tokens, bearer tokens). The second
//! net goes over the whole [`Report`], so that a field added later can't be forgotten. A password in a log
//! line that looks like any other word is not recognised: that is the cost of not guessing.

use std::borrow::Cow;

use serde_json::Value;

use super::{model::Report, plain};

const MASKED: &str = "(masked)";

/// The same report without credentials, and without what steers a terminal ([`plain`]).
pub fn report(report: &Report) -> Report {
    let mut clean = report.clone();
    for finding in clean.findings.iter_mut().chain(&mut clean.transient) {
        finding.replay_text = yaml(&finding.replay_text);
        for diff in finding.diff.iter_mut().filter(|diff| diff.object.starts_with("secrets/")) {
            mask_blocks(&mut diff.lines, 1, 0..usize::MAX);
        }
        for entry in &mut finding.timeline {
            entry.detail = yaml(&entry.detail);
        }
    }
    // Through JSON and back reaches every string. A report that has no JSON form has no file either.
    let strings = serde_json::to_value(&clean).map(|mut value| {
        mask_strings(&mut value);
        value
    });
    strings.and_then(serde_json::from_value).unwrap_or(clean)
}

/// The same object without a Secret's values; also inside lists of objects.
pub fn object(value: &Value) -> Value {
    let mut value = value.clone();
    mask_object(&mut value);
    value
}

fn mask_object(value: &mut Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(mask_object),
        Value::Object(map) => {
            if map.get("kind").and_then(Value::as_str) == Some("Secret") {
                for field in ["data", "stringData"] {
                    for secret in
                        map.get_mut(field).and_then(Value::as_object_mut).into_iter().flatten()
                    {
                        *secret.1 = Value::from(MASKED);
                    }
                }
                // The last applied configuration repeats the data.
                if let Some(note) =
                    map.get_mut("metadata").and_then(|meta| meta.get_mut("annotations")).and_then(
                        |notes| notes.get_mut("kubectl.kubernetes.io/last-applied-configuration"),
                    )
                {
                    *note = Value::from(MASKED);
                }
            }
            map.values_mut().for_each(mask_object);
        }
        _ => {}
    }
}

/// The same YAML text, in which the values below `data` and `stringData` of every Secret are masked.
pub fn yaml(text: &str) -> String {
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    let mut at = 0;
    while at < lines.len() {
        if key_of(&lines[at]).is_some_and(|(key, value)| key == "kind" && value == "Secret") {
            let block = block_around(&lines, at);
            let before = lines.len();
            mask_blocks(&mut lines, 0, block);
            at -= before.saturating_sub(lines.len()).min(at);
        }
        at += 1;
    }
    let end = if text.ends_with('\n') { "\n" } else { "" };
    lines.join("\n") + end
}

/// Key and value of a line `key: value`, list marks and quotes taken off.
fn key_of(line: &str) -> Option<(&str, &str)> {
    let (key, value) = line.trim_start().trim_start_matches("- ").split_once(':')?;
    let bare = |text: &'static [char], part| str::trim_matches(part, text).trim();
    Some((bare(&['"', '\'', ' '], key), bare(&['"', '\'', ',', ' '], value)))
}

/// Column at which the line's key begins; a list mark counts as indentation.
fn column(line: &str) -> usize {
    let text = line.trim_start();
    let marks = text.len() - text.trim_start_matches("- ").len();
    line.len() - text.len() + marks
}

/// The lines of the mapping that holds this line.
fn block_around(lines: &[String], at: usize) -> std::ops::Range<usize> {
    let own = column(&lines[at]);
    let inside = |line: &&String| {
        let deep = column(line) >= own && line.trim() != "---";
        deep || line.trim().is_empty()
    };
    let mut begin = at;
    while begin > 0 && !lines[begin].trim_start().starts_with("- ") && inside(&&lines[begin - 1]) {
        begin -= 1;
    }
    let item = |line: &&String| line.trim_start().starts_with("- ") && column(line) <= own;
    let after = lines[at + 1..].iter().take_while(|line| inside(line) && !item(line)).count();
    begin..at + 1 + after
}

/// Masks what is indented below `data:` and `stringData:` in these lines, whose first `skip` characters
/// are no part of the YAML (the sign of a diff line).
fn mask_blocks(lines: &mut Vec<String>, skip: usize, range: std::ops::Range<usize>) {
    let body = |line: &str| line.chars().skip(skip).collect::<String>();
    let mut secret: Option<(usize, Option<usize>)> = None; // column of `data`, column of its keys
    let mut kept = Vec::with_capacity(lines.len());
    for (index, line) in lines.drain(..).enumerate() {
        let text = body(&line);
        let (at, key) = (column(&text), key_of(&text));
        let blank = text.trim().is_empty();
        if secret.is_some_and(|(data, _)| !blank && at <= data) || !range.contains(&index) {
            secret = None;
        }
        match (&mut secret, key) {
            (None, Some(("data" | "stringData", _))) if range.contains(&index) => {
                secret = Some((at, None));
                kept.push(line);
            }
            (Some((_, keys)), Some((name, _))) if keys.is_none_or(|keys| at <= keys) => {
                *keys = Some(at);
                let sign: String = line.chars().take(skip).collect();
                kept.push(format!("{sign}{}{name}: {MASKED}", " ".repeat(at)));
            }
            (Some(_), _) => {} // a further line of a value
            (None, _) => kept.push(line),
        }
    }
    *lines = kept;
}

fn mask_strings(value: &mut Value) {
    match value {
        Value::String(string) => *string = plain::text(&text(string)).into_owned(),
        Value::Array(items) => items.iter_mut().for_each(mask_strings),
        Value::Object(map) => {
            let steering = |key: &String| matches!(plain::text(key), Cow::Owned(_));
            let keys: Vec<String> = map.keys().filter(|key| steering(key)).cloned().collect();
            for key in keys {
                let value = map.remove(&key).unwrap_or_default();
                map.insert(plain::text(&key).into_owned(), value);
            }
            map.values_mut().for_each(mask_strings);
        }
        _ => {}
    }
}

/// The same text without what looks like a credential.
pub fn text(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((at, length)) = next_credential(rest) {
        out.push_str(&rest[..at]);
        out.push_str(MASKED);
        rest = &rest[at + length..];
    }
    out + rest
}

/// Where the next credential begins, and how many bytes it has.
fn next_credential(text: &str) -> Option<(usize, usize)> {
    let token = |c: char| c.is_ascii_alphanumeric() || "-_.~+/=".contains(c);
    let run = |at: usize| text[at..].find(|c| !token(c)).unwrap_or(text.len() - at);
    let key = text.find("-----BEGIN ").and_then(|at| {
        let label = &text[at..text[at..].find('\n').map_or(text.len(), |end| at + end)];
        let end = || text[at..].find("-----END ").map(|end| end + label.len() - 2);
        let length = end().map_or(text.len() - at, |length| length.min(text.len() - at));
        label.contains("PRIVATE KEY").then_some((at, length))
    });
    // A JSON web token: base64 of `{"`, and two dots.
    let jwt = text.match_indices("eyJ").find_map(|(at, _)| {
        let length = run(at);
        let dots = text[at..at + length].matches('.').count();
        (length > 40 && dots >= 2).then_some((at, length))
    });
    let bearer = ["Bearer ", "bearer "].iter().flat_map(|word| {
        text.match_indices(word).find_map(|(at, word)| {
            let begin = at + word.len();
            let length = run(begin);
            (length >= 16).then_some((begin, length))
        })
    });
    [key, jwt].into_iter().flatten().chain(bearer).min()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::model::{Finding, ObjectDiff};

    #[test]
    fn credentials_are_masked_in_any_text() {
        let check = |input: &str, expect: &str| assert_eq!(text(input), expect);
        let jwt = format!("eyJ{}.{}.{}", "a".repeat(20), "b".repeat(20), "c".repeat(20));
        check("nothing here, eyJ is short", "nothing here, eyJ is short");
        check(&format!("token {jwt}, next"), "token (masked), next");
        check("Authorization: Bearer abcdefghijklmnop1234", "Authorization: Bearer (masked)");
        check("the bearer of news", "the bearer of news");
        let begin = concat!("-----BEGIN RSA PRIVATE", " KEY-----");
        let end = concat!("-----END RSA PRIVATE", " KEY-----");
        check(&format!("a\n{begin}\nMIIE\n{end}\nb"), "a\n(masked)\nb");
        check(&format!("{begin}\nMIIE cut"), "(masked)");
    }

    #[test]
    fn secret_objects_keep_keys_and_lose_values() {
        let secret = serde_json::json!({"kind": "Secret", "data": {"password": "aHVudGVyMg=="},
            "metadata": {"name": "a", "annotations":
                {"kubectl.kubernetes.io/last-applied-configuration": "hunter2"}}});
        let masked = object(&serde_json::json!({"items": [secret]})).to_string();
        assert!(masked.contains("\"password\":\"(masked)\""), "{masked}");
        assert!(!masked.contains("aHVudGVyMg") && !masked.contains("hunter2"), "{masked}");
        let map = serde_json::json!({"kind": "ConfigMap", "data": {"a": "b"}});
        assert_eq!(object(&map), map);
    }

    #[test]
    fn secrets_in_yaml_lose_values() {
        let text = "manifests:\n- apiVersion: v1\n  data:\n    a: x\n    b: |\n      y\n      z: 1\n  kind: Secret\n\
                    \x20 metadata: {name: s}\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    c: shown\nend: 1\n";
        let masked = yaml(text);
        assert_eq!(
            masked,
            "manifests:\n- apiVersion: v1\n  data:\n    a: (masked)\n    b: (masked)\n  kind: Secret\n\
             \x20 metadata: {name: s}\n- apiVersion: v1\n  kind: ConfigMap\n  data:\n    c: shown\nend: 1\n"
        );
        let documents =
            "kind: ConfigMap\ndata:\n  a: shown\n---\nkind: Secret\nstringData:\n  p: x\n";
        assert_eq!(yaml(documents), documents.replace("p: x", "p: (masked)"));
    }

    #[test]
    fn secrets_in_a_report_lose_values() {
        let lines = [" kind: Secret", " data:", "-  a: x", "+  a: y", " metadata:", "   name: s"];
        let diff = ObjectDiff {
            object: "secrets/default/s".to_owned(),
            lines: lines.iter().map(|line| (*line).to_owned()).collect(),
            ..ObjectDiff::default()
        };
        let finding = Finding {
            title: "used Bearer abcdefghijklmnop1234".to_owned(),
            diff: vec![diff],
            ..Finding::default()
        };
        let masked = report(&Report { findings: vec![finding], ..Report::default() });
        assert_eq!(masked.findings[0].title, "used Bearer (masked)");
        assert_eq!(
            masked.findings[0].diff[0].lines,
            [
                " kind: Secret",
                " data:",
                "-  a: (masked)",
                "+  a: (masked)",
                " metadata:",
                "   name: s"
            ]
        );
    }
}
