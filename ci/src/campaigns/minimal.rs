//! Whether a replay file's plan is the expected minimal one.

use serde::Deserialize;
use serde_json::Value;

/// The expected minimal plan: crashes in order.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Minimal {
    /// Of the finding.
    pub family: String,
    crashes: Vec<Crash>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Crash {
    /// Right after any of these.
    after: Vec<Write>,
    /// Started again in any of these ways.
    restart: Vec<Value>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
struct Write {
    actor: Actor,
    verb: String,
    resource: String,
    #[serde(default)]
    subresource: String,
    /// From 1, since the crash before.
    occurrence: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Actor {
    Subject,
    User,
}

/// Whether the plan of a replay file (a list of perturbations) is this one. A plan tells a user's write by the
/// workload's position after it, so the workload is needed too.
pub fn matches(minimal: &Minimal, plan: &Value, workload: &Value) -> bool {
    let Some(plan) = plan.as_array() else { return false };
    let writes = user_writes(workload);
    let same = |(index, (wanted, given)): (usize, (&Crash, &Value))| {
        crash_matches(wanted, &given["crash"], &writes, index)
    };
    plan.len() == minimal.crashes.len() && minimal.crashes.iter().zip(plan).enumerate().all(same)
}

fn crash_matches(wanted: &Crash, given: &Value, writes: &[UserWrite], index: usize) -> bool {
    let immediately = Value::from("immediately");
    let restart = given.get("restart").unwrap_or(&immediately);
    let at = &given["at"];
    wanted.restart.contains(restart)
        && given.is_object()
        && wanted.after.iter().any(|write| match write.actor {
            Actor::Subject => is_commit(write, &at["committed"]),
            Actor::User => is_step(write, given, writes, index),
        })
}

fn is_commit(write: &Write, committed: &Value) -> bool {
    let call = &committed["call"];
    call["verb"] == *write.verb
        && call["resource"] == *write.resource
        && call["subresource"].as_str().unwrap_or_default() == write.subresource
        && committed["occurrence"] == write.occurrence
}

/// One write of the workload, and the position after it: operations and documents done.
#[derive(Debug, Clone, PartialEq, Eq)]
struct UserWrite {
    verb: String,
    kind: String,
    group: String,
    operation: u64,
}

/// Whether the controller next sees the world as this user's write left it: killed right after the write, or
/// killed at some place since the write before and started again after this one.
///
/// After a crash, occurrences are counted from where the crash was, which a plan does not say: there, any
/// occurrence is accepted.
fn is_step(write: &Write, given: &Value, writes: &[UserWrite], index: usize) -> bool {
    let cursor = &given["at"]["step"]["cursor"];
    let (Some(operation), Some(document)) =
        (cursor["operation"].as_u64(), cursor["document"].as_u64())
    else {
        return false;
    };
    let after_next = given["restart"]["afterUserStep"] == 1;
    let since = |user: &UserWrite| {
        let before = writes.iter().rev().find(|other| other.operation < user.operation);
        before.is_none_or(|before| before.operation < operation) && operation <= user.operation
    };
    let matching = writes.iter().filter(|user| user.is(write)).enumerate();
    let counted = |nth: usize| index > 0 || nth as u64 + 1 == write.occurrence;
    matching.filter(|(nth, _)| counted(*nth)).any(|(_, user)| {
        let right_after = (operation, document) == (user.operation + 1, 0)
            || (operation, document) == (user.operation, 1);
        right_after || after_next && document == 0 && since(user)
    })
}

impl UserWrite {
    /// Compares kind and plural by their stem: `Release` and `releases`, `Policy` and `policies`.
    fn is(&self, write: &Write) -> bool {
        let (plural, group) = write.resource.split_once('.').unwrap_or((&write.resource, ""));
        let kind = self.kind.to_lowercase();
        let stem = kind.get(..kind.len().saturating_sub(1)).unwrap_or_default();
        // `apply` creates what is not there.
        let verb = self.verb == write.verb || self.verb == "apply" && write.verb == "create";
        verb && group == self.group && plural.starts_with(stem)
    }
}

/// The writes of a workload file, with the number of each operation in the flat list of operations. A delete
/// is two operations: the deletion, and the check that the object is gone.
fn user_writes(workload: &Value) -> Vec<UserWrite> {
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    let mut writes = Vec::new();
    let mut operation = 0;
    for item in list(&workload["spec"]["steps"]).iter().flat_map(|step| list(&step["try"])) {
        let Some((verb, body)) = item.as_object().and_then(|item| item.iter().next()) else {
            continue;
        };
        let object = if verb == "delete" { &body["ref"] } else { &body["resource"] };
        if let (Some(kind), Some(version)) =
            (object["kind"].as_str(), object["apiVersion"].as_str())
        {
            let group = version.split_once('/').map_or("", |(group, _)| group).to_owned();
            let (verb, kind) = (verb.clone(), kind.to_owned());
            writes.push(UserWrite { verb, kind, group, operation });
        }
        operation += if verb == "delete" { 2 } else { 1 };
    }
    writes
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn minimal(after: &str, restart: &str) -> Minimal {
        let yaml = format!("{{family: f, crashes: [{{after: [{after}], restart: [{restart}]}}]}}");
        serde_saphyr::from_str(&yaml).unwrap()
    }

    fn workload() -> Value {
        let bar = json!({"apiVersion": "example.com/v1", "kind": "Bar"});
        json!({"spec": {"steps": [{"try": [
            {"apply": {"resource": bar}},
            {"settle": {}},
            {"delete": {"ref": bar}},
            {"patch": {"resource": bar}},
        ]}]}})
    }

    fn check(minimal: &Minimal, at: Value, restart: Value, expect: bool) {
        let plan = json!([{"crash": {"at": at, "restart": restart}}]);
        assert_eq!(matches(minimal, &plan, &workload()), expect, "{plan}");
    }

    #[test]
    fn writes_of_the_subject() {
        let wanted = minimal(
            "{actor: subject, verb: update, resource: bars.example.com, subresource: status, occurrence: 2}",
            "immediately, {afterUserStep: 1}",
        );
        let commit = |subresource: &str, occurrence: u32| {
            let call = json!({"verb": "update", "resource": "bars.example.com", "namespace": "default",
                "subresource": subresource});
            json!({"committed": {"call": call, "occurrence": occurrence}})
        };
        check(&wanted, commit("status", 2), json!("immediately"), true);
        check(&wanted, commit("status", 2), json!({"afterUserStep": 1}), true);
        check(&wanted, commit("status", 2), json!({"afterUserStep": 2}), false);
        check(&wanted, commit("status", 1), json!("immediately"), false);
        check(&wanted, commit("", 2), json!("immediately"), false);
    }

    #[test]
    fn writes_of_the_user() {
        let write = |verb: &str| {
            let after =
                format!("{{actor: user, verb: {verb}, resource: bars.example.com, occurrence: 1}}");
            minimal(&after, "immediately")
        };
        let step = |operation: u32, document: u32| json!({"step": {"cursor": {"operation": operation, "document": document}}});
        let at_once = || json!("immediately");
        check(&write("create"), step(1, 0), at_once(), true);
        check(&write("create"), step(2, 0), at_once(), false);
        check(&write("delete"), step(3, 0), at_once(), true);
        check(&write("patch"), step(5, 0), at_once(), true);
        check(&write("patch"), step(4, 1), at_once(), true);
        check(&write("patch"), step(4, 0), at_once(), false);
        let later = || json!({"afterUserStep": 1});
        let mut late = write("delete");
        late.crashes[0].restart.push(later());
        check(&late, step(2, 0), later(), true);
        check(&late, step(1, 0), later(), true);
        check(&late, step(0, 0), later(), false);
        check(&late, step(2, 0), at_once(), false);
    }

    #[test]
    fn plans_of_another_length_are_others() {
        let wanted =
            minimal("{actor: subject, verb: a, resource: b, occurrence: 1}", "immediately");
        assert!(!matches(&wanted, &json!([]), &Value::Null));
        assert!(!matches(&wanted, &Value::Null, &Value::Null));
    }
}
