//! How a subject first reads each type: that decides whether it can meet an old state when it is started.

use std::collections::BTreeMap;

use trace::{Call, GroupResource, History, Verb};

/// How a type is first read. The most that any of the subject's clients allows counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum FirstRead {
    /// By lists without a revision: the present state, or later. Only a watch can lag then (kube-rs, kopf).
    Consistent,
    /// By a watch that streams its first list (KEP-3157), which is consistent; where a server has no such feature,
    /// client-go falls back to a list that any state may answer (0.35 and later).
    Streamed,
    /// By a list that any state may answer (`resourceVersion=0`; client-go before 0.35, fabric8).
    Any,
}

/// By type, without bookkeeping.
pub fn first_reads(history: &History) -> BTreeMap<GroupResource, FirstRead> {
    let mut reads: BTreeMap<GroupResource, FirstRead> = BTreeMap::new();
    for call in history.calls().filter(|call| call.actor.is_subject()) {
        let Some(resource) = call.resource.as_ref().filter(|type_| !type_.is_bookkeeping()) else {
            continue;
        };
        let Some(read) = read(call) else { continue };
        let known = reads.entry(resource.clone()).or_insert(read);
        *known = read.max(*known);
    }
    reads
}

fn read(call: &Call) -> Option<FirstRead> {
    let query = call.uri.split_once('?').map_or("", |(_, query)| query);
    let has = |wanted: &str, value: &str| {
        form_urlencoded::parse(query.as_bytes())
            .any(|(name, found)| name == wanted && found == value)
    };
    match call.verb {
        Verb::List if has("resourceVersion", "0") => Some(FirstRead::Any),
        Verb::List => Some(FirstRead::Consistent),
        Verb::Watch if has("sendInitialEvents", "true") => Some(FirstRead::Streamed),
        _ => None,
    }
}
