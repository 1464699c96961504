//! What came to the subject's watches.

use std::collections::HashMap;

use trace::{CallId, DeliveryKind, Event, GroupResource};

use super::{Delivered, Observed, changes::Changes};

/// In the order in which they came.
pub(super) fn deliveries(run: &Observed<'_>, changes: &Changes<'_>) -> Vec<Delivered> {
    let mut watches: HashMap<CallId, &GroupResource> = HashMap::new();
    let mut found = Vec::new();
    for record in &run.history.records {
        match &record.event {
            Event::Call(call) if call.actor.is_subject() => {
                let resource = call.resource.as_ref();
                watches.extend(resource.map(|resource| (call.id, resource)));
            }
            Event::Delivery(delivery) => {
                let Some(resource) = watches.get(&delivery.watch) else { continue };
                let says_nothing =
                    matches!(delivery.kind, DeliveryKind::Bookmark | DeliveryKind::Error);
                if says_nothing || resource.is_bookkeeping() {
                    continue;
                }
                let change = delivery.revision.and_then(|made| changes.by_revision.get(&made));
                found.push(Delivered {
                    at: record.sequence,
                    kind: delivery.kind,
                    resource: (*resource).clone(),
                    object: pattern(&delivery.object_name, run.generated),
                    change: change.copied(),
                });
            }
            _ => {}
        }
    }
    found
}

/// `namespace/name` with a generated name by what it begins with.
fn pattern(object: &str, generated: &dyn Fn(&str) -> Option<String>) -> String {
    let (namespace, name) = match object.rfind('/') {
        Some(at) => object.split_at(at + 1),
        None => ("", object),
    };
    match generated(name) {
        Some(prefix) => format!("{namespace}{prefix}*"),
        None => object.to_owned(),
    }
}
