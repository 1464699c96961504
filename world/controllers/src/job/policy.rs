//! What a pod's failure means (`podFailurePolicy`, KEP-3329) and when successes suffice (`successPolicy`, KEP-3998).

use serde_json::Value;

use super::{Indexes, Job, Member};
use crate::{object::Text, pod::Container, read};

/// A rule of a pod failure policy.
#[derive(Debug, Clone, PartialEq)]
pub struct FailureRule {
    /// `action`.
    pub action: Action,
    /// What it matches.
    pub on: On,
}

/// What a rule does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// The Job fails.
    FailJob,
    /// The index fails.
    FailIndex,
    /// The failure is not counted.
    Ignore,
    /// The failure is counted.
    Count,
}

/// What a rule matches.
#[derive(Debug, Clone, PartialEq)]
pub enum On {
    /// `onExitCodes`.
    ExitCodes {
        /// `containerName`; none for any.
        container: Option<Text>,
        /// Whether `operator` is In, not NotIn.
        within: bool,
        /// `values`.
        values: Vec<i64>,
    },
    /// `onPodConditions`: types and statuses.
    Conditions(Vec<(Text, Text)>),
}

/// A rule of a success policy.
#[derive(Debug, Clone, PartialEq)]
pub struct SuccessRule {
    /// `succeededIndexes`.
    pub indexes: Option<Text>,
    /// `succeededCount`.
    pub count: Option<i64>,
}

pub(super) fn failure_rule(rule: &Value) -> FailureRule {
    let codes = &rule["onExitCodes"];
    let on = match codes.is_object() {
        true => On::ExitCodes {
            container: codes.get("containerName").and_then(Value::as_str).map(Text::from),
            within: codes["operator"] == "In",
            values: read::list(codes, "values").filter_map(Value::as_i64).collect(),
        },
        false => On::Conditions(
            read::list(rule, "onPodConditions")
                .map(|pattern| (read::text(pattern, "type"), read::text(pattern, "status")))
                .collect(),
        ),
    };
    let action = match rule["action"].as_str() {
        Some("FailJob") => Action::FailJob,
        Some("FailIndex") => Action::FailIndex,
        Some("Ignore") => Action::Ignore,
        _ => Action::Count,
    };
    FailureRule { action, on }
}

pub(super) fn success_rule(rule: &Value) -> SuccessRule {
    SuccessRule {
        indexes: rule.get("succeededIndexes").and_then(Value::as_str).map(Text::from),
        count: rule.get("succeededCount").and_then(Value::as_i64),
    }
}

/// `matchPodFailurePolicy`: why the Job fails of it, whether the failure counts, and what the first rule that
/// matches does.
pub(super) fn judge(job: &Job, pod: &Member<'_>) -> (Option<String>, bool, Option<Action>) {
    for (number, rule) in job.failure_rules.iter().flatten().enumerate() {
        let Some(found) = rule.on.matches(pod) else { continue };
        let why = || {
            let name = format!("{}/{}", pod.key.namespace, pod.key.name);
            match found {
                Found::Container(container, code) => format!(
                    "Container {container} for pod {name} failed with exit code {code} matching FailJob rule at index {number}"
                ),
                Found::Condition(kind) => format!(
                    "Pod {name} has condition {kind} matching FailJob rule at index {number}"
                ),
            }
        };
        return match rule.action {
            Action::Ignore => {
                branch!(JobIgnores);
                (None, false, Some(Action::Ignore))
            }
            Action::FailJob => (Some(why()), true, Some(Action::FailJob)),
            other => (None, true, Some(other)),
        };
    }
    (None, true, None)
}

enum Found<'p> {
    Container(&'p Text, i64),
    Condition(&'p Text),
}

impl On {
    fn matches<'p>(&self, pod: &Member<'p>) -> Option<Found<'p>> {
        match self {
            On::ExitCodes { container, within, values } => {
                let failed = |one: &'p Container| {
                    let (code, _) = one.ended.as_ref()?;
                    let named = container.as_ref().is_none_or(|name| *name == one.name);
                    let hit = *code != 0 && values.contains(code) == *within;
                    (named && hit).then_some(Found::Container(&one.name, *code))
                };
                let pod = pod.pod;
                pod.containers.iter().chain(&pod.init_containers).find_map(failed)
            }
            On::Conditions(patterns) => {
                branch!(JobRuleByCondition);
                let found = pod.pod.conditions.iter().find(|found| patterns.contains(found));
                found.map(|(kind, _)| Found::Condition(kind))
            }
        }
    }
}

/// `matchSuccessPolicy`: the message, where a rule is met.
pub(super) fn success(job: &Job, done: &Indexes) -> Option<String> {
    if done.is_empty() {
        return None;
    }
    let met = |rule: &SuccessRule| match &rule.indexes {
        Some(text) => {
            let wanted = Indexes::parse(text, job.completions.unwrap_or(0));
            let found = wanted.common(done);
            !wanted.is_empty()
                && (found == wanted.count() || rule.count.is_some_and(|count| found >= count))
        }
        None => rule.count.is_some_and(|count| done.count() >= count),
    };
    let number = job.success_rules.iter().position(met)?;
    Some(format!("Matched rules at index {number}"))
}
