//! What a subject reads, and how it first reads each type: that decides whether it can meet an old state when it is
//! started.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
};

use serde::{Deserialize, Serialize};
use trace::{Call, GroupResource, History, Verb, footprint::holds_drawn};

use super::Asked;
use crate::moment::CallMatch;

/// How a type is first read. The most that any of the subject's clients allows counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FirstRead {
    /// By lists without a revision: the present state, or later. Only a watch can lag then (kube-rs, kopf).
    Consistent,
    /// By a watch that streams its first list (KEP-3157) without a revision, which is consistent. Where that fails,
    /// client-go (0.35 and later) falls back to a list that any state may answer:
    /// [`StaleRead`](crate::stale_read::StaleRead).
    Streamed,
    /// By a list, or a watch with the state as its first events, that any state may answer (`resourceVersion=0`: lists of
    /// client-go before 0.35 and fabric8, streamed lists of kube-rs).
    Any,
}

impl FirstRead {
    /// What this call is as a first read; none of a watch that goes on from somewhere, and of everything else. (A watch
    /// without a revision that streams no list is none: whether it is consistent depends on the server.)
    pub fn of(call: &Call) -> Option<FirstRead> {
        let revision = parameters(call).find(|(name, _)| name == "resourceVersion");
        let revision = revision.map_or_else(Default::default, |(_, value)| value);
        match (call.verb, &*revision) {
            (Verb::List, "0") => Some(FirstRead::Any),
            (Verb::List, _) => Some(FirstRead::Consistent),
            (Verb::Watch, "0") if !asks(call, "sendInitialEvents", "false") => Some(FirstRead::Any),
            (Verb::Watch, "") if is_streamed_list(call) => Some(FirstRead::Streamed),
            _ => None,
        }
    }
}

/// Whether this is a watch that streams a list (KEP-3157).
pub fn is_streamed_list(call: &Call) -> bool {
    call.verb == Verb::Watch && asks(call, "sendInitialEvents", "true")
}

fn asks(call: &Call, wanted: &str, value: &str) -> bool {
    parameters(call).any(|(name, found)| name == wanted && found == value)
}

/// How the subject looks at a type.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Reading {
    /// How it is first read; none if only watches without a first list were seen.
    pub first: Option<FirstRead>,
    /// Whether it is watched.
    pub watched: bool,
    /// What its lists and watches select.
    pub scopes: BTreeSet<Scope>,
}

/// What a list or watch selects of its type. Empty fields select all; so does a selector that names what another run
/// names otherwise (generated names, uids).
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Scope {
    /// The namespace.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub namespace: String,
    /// The name, where the path has one.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// `labelSelector`, as it was sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub labels: String,
    /// `fieldSelector`, as it was sent.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub fields: String,
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.name.is_empty() { "all" } else { &self.name })?;
        if !self.namespace.is_empty() {
            write!(f, " in {}", self.namespace)?;
        }
        for selector in [&self.labels, &self.fields] {
            if !selector.is_empty() {
                write!(f, " with {selector}")?;
            }
        }
        Ok(())
    }
}

impl Reading {
    pub(super) fn add(&mut self, other: &Reading) {
        self.first = self.first.max(other.first);
        self.watched |= other.watched;
        self.scopes.extend(other.scopes.iter().cloned());
    }
}

/// By type, without bookkeeping.
pub(super) fn readings(
    history: &History,
    generated: &dyn Fn(&str) -> Option<String>,
) -> BTreeMap<GroupResource, Reading> {
    let mut readings: BTreeMap<GroupResource, Reading> = BTreeMap::new();
    let calls = subject_calls(history);
    for call in calls.filter(|call| matches!(call.verb, Verb::List | Verb::Watch)) {
        let Some(resource) = &call.resource else { continue };
        let reading = Reading {
            first: FirstRead::of(call),
            watched: call.verb == Verb::Watch,
            scopes: [scope(call, generated)].into(),
        };
        readings.entry(resource.clone()).or_default().add(&reading);
    }
    readings
}

/// In the order in which they were received.
pub(super) fn reads(history: &History, generated: &dyn Fn(&str) -> Option<String>) -> Vec<Asked> {
    let asked = history.records.iter().filter_map(|record| {
        let call = subject_call(&record.event)?;
        let reads = matches!(call.verb, Verb::Get | Verb::List | Verb::Watch);
        let call = CallMatch::of(call, generated).filter(|_| reads)?;
        Some(Asked { at: record.sequence, call })
    });
    asked.collect()
}

fn subject_calls(history: &History) -> impl Iterator<Item = &Call> {
    history.records.iter().filter_map(|record| subject_call(&record.event))
}

/// A call of the subject to a type that is no bookkeeping.
fn subject_call(event: &trace::Event) -> Option<&Call> {
    let trace::Event::Call(call) = event else { return None };
    let work = call.resource.as_ref().is_some_and(|resource| !resource.is_bookkeeping());
    (call.actor.is_subject() && work).then_some(call)
}

fn scope(call: &Call, generated: &dyn Fn(&str) -> Option<String>) -> Scope {
    let drawn = |text: &str| holds_drawn(text, &|name| generated(name).is_some());
    let same = |text: &str| if drawn(text) { String::new() } else { text.to_owned() };
    let mut scope =
        Scope { namespace: same(&call.namespace), name: same(&call.name), ..Scope::default() };
    for (name, value) in parameters(call) {
        match &*name {
            "labelSelector" => scope.labels = same(&value),
            "fieldSelector" => scope.fields = same(&value),
            _ => {}
        }
    }
    scope
}

fn parameters(call: &Call) -> form_urlencoded::Parse<'_> {
    let query = call.uri.split_once('?').map_or("", |(_, query)| query);
    form_urlencoded::parse(query.as_bytes())
}
