//! Leases of leaders that are gone, where time is real and nobody can jump to their end.
//!
//! Whoever comes after a killed leader waits until its Lease expires, 15 s as a rule. Nothing else of the subject happens
//! meanwhile, so Trommel does what a leader does that ends in good order (`LeaderElector.release` of client-go): the Lease
//! has no holder any more. On the embedded cluster the clock jumps there instead.

use std::collections::BTreeMap;

use serde_json::json;
use trace::{Actor, Body, Call, Event, History, Verb};

use super::Trial;
use crate::providers::{client_files::real_now, remote::access};

/// Path of a Lease.
type Lease = String;

impl Trial<'_> {
    /// Releases the Leases that a replica held that is gone.
    pub(super) async fn release_leases(&mut self, replica: usize) {
        let Some(upstream) = self.cluster.upstream_for_leases() else { return };
        let written = self.recorder.with(written);
        for (lease, _) in written.iter().filter(|(_, by)| **by == replica) {
            let now = real_now().rfc3339_micro();
            let released = json!({"spec": {
                "holderIdentity": "", "leaseDurationSeconds": 1, "acquireTime": now, "renewTime": now,
            }});
            let text = match access::merge(upstream, lease, &released).await {
                Ok((status, _)) if status.is_success() => {
                    format!("{lease} is released: its holder was killed, and time is real")
                }
                Ok((status, _)) => format!("{lease} could not be released: {status}"),
                Err(error) => format!("{lease} could not be released: {error:#}"),
            };
            self.recorder.record(Event::Note { text });
        }
    }
}

/// Which replica wrote each Lease last, as far as it was told so.
fn written(history: &History) -> BTreeMap<Lease, usize> {
    let mut writes = BTreeMap::new();
    let mut leases = BTreeMap::new();
    for record in &history.records {
        match &record.event {
            Event::Call(call) => drop(lease(call).map(|write| writes.insert(call.id, write))),
            Event::Answer(answer) if answer.succeeded() => {
                leases.extend(writes.remove(&answer.call));
            }
            _ => {}
        }
    }
    leases
}

/// Which Lease a replica's call writes as a leader. Who leads says since when (`acquireTime`); a Lease without is a
/// heartbeat, for which nobody waits (KEP-589).
fn lease(call: &Call) -> Option<(Lease, usize)> {
    let Actor::Subject(replica) = call.actor else { return None };
    let resource = call.resource.as_ref()?;
    let is_it = *resource.group == *"coordination.k8s.io" && *resource.resource == *"leases";
    let Body::Json(body) = &call.body else { return None };
    let name = match &*call.name {
        "" => body["metadata"]["name"].as_str()?,
        name => name,
    };
    let leads = body["spec"]["acquireTime"].is_string();
    let path = format!("/apis/coordination.k8s.io/v1/namespaces/{}/leases/{name}", call.namespace);
    (is_it && leads && call.is_write() && call.verb != Verb::Delete)
        .then_some((path, replica as usize))
}
