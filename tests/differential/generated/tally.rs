//! What was sent and how the real server answered: the evidence that a search without a difference means something.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Mutex, PoisonError},
};

use serde_json::Value;

/// Shared by threads.
#[derive(Debug, Default)]
pub struct Tally(Mutex<Counts>);

#[derive(Debug, Default)]
struct Counts {
    scripts: usize,
    requests: usize,
    succeeded: usize,
    /// By verb, then by type.
    verbs: BTreeMap<String, BTreeMap<String, usize>>,
    reasons: BTreeMap<String, usize>,
    /// Objects that their type's rules refuse, by type.
    invalid: BTreeMap<String, usize>,
}

impl Tally {
    /// Counts one script's answers about a type.
    pub fn add(&self, path: &str, entries: &[Value]) {
        let mut counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.scripts += 1;
        counts.requests += entries.len();
        for entry in entries {
            let verb = verb(entry["request"].as_str().unwrap_or(""));
            *counts.verbs.entry(verb).or_default().entry(path.to_owned()).or_default() += 1;
            if entry["code"].as_u64() < Some(300) {
                counts.succeeded += 1;
                continue;
            }
            let reason = entry["body"]["reason"].as_str().unwrap_or("none").to_owned();
            if reason == "Invalid" {
                *counts.invalid.entry(path.to_owned()).or_default() += 1;
            }
            *counts.reasons.entry(reason).or_default() += 1;
        }
    }

    /// Requests so far.
    pub fn requests(&self) -> usize {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).requests
    }

    /// How many of a hundred requests succeeded.
    pub fn share(&self) -> usize {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counts.succeeded * 100 / counts.requests.max(1)
    }
}

/// The method, and whether it is about a collection, one object, or a part of one.
fn verb(action: &str) -> String {
    let (method, path) = action.split_once(' ').unwrap_or((action, ""));
    let path = path.split('?').next().unwrap_or(path);
    let mut parts =
        path.trim_matches('/').split('/').skip(if path.starts_with("/apis/") { 3 } else { 2 });
    let mut left: Vec<&str> = parts.by_ref().collect();
    if left.first() == Some(&"namespaces") && left.len() > 2 {
        left.drain(..2);
    }
    match left.as_slice() {
        [_] if method == "DELETE" => "DELETECOLLECTION".to_owned(),
        [_] if method == "GET" => "LIST".to_owned(),
        [_, _, part] => format!("{method} {part}"),
        _ => method.to_owned(),
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let share = counts.succeeded * 100 / counts.requests.max(1);
        writeln!(
            f,
            "{} scripts, {} requests of which {share} % succeeded",
            counts.scripts, counts.requests
        )?;
        for (verb, types) in &counts.verbs {
            let (sum, least) = (types.values().sum::<usize>(), types.values().min().unwrap_or(&0));
            let often = types.values().filter(|times| **times >= 50).count();
            let of = types.len();
            writeln!(
                f,
                "  {verb}: {sum} on {of} types, at least {least} each, 50 or more on {often}"
            )?;
        }
        for (reason, times) in &counts.reasons {
            writeln!(f, "  refused, {reason}: {times}")?;
        }
        let least = counts.invalid.values().min().unwrap_or(&0);
        writeln!(f, "  invalid objects: on {} types, at least {least} each", counts.invalid.len())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_says_what_it_is_about() {
        assert_eq!(verb("GET /api/v1/namespaces/g1/pods?limit=2"), "LIST");
        assert_eq!(verb("DELETE /apis/apps/v1/namespaces/g1/deployments"), "DELETECOLLECTION");
        assert_eq!(verb("GET /api/v1/namespaces/g1"), "GET");
        assert_eq!(verb("PATCH /apis/apps/v1/namespaces/g1/deployments/d/scale"), "PATCH scale");
    }

    #[test]
    fn answers_are_counted() {
        let tally = Tally::default();
        tally.add("/api/v1/nodes", &[
            json!({"request": "GET /api/v1/nodes/n", "code": 200}),
            json!({"request": "POST /api/v1/nodes", "code": 422, "body": {"reason": "Invalid"}}),
        ]);
        assert_eq!((tally.requests(), tally.share()), (2, 50));
        let text = tally.to_string();
        assert!(text.contains("refused, Invalid: 1"), "{text}");
        assert!(text.contains("POST: 1 on 1 types"), "{text}");
    }
}
