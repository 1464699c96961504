//! Old versions to the ones that replaced them, and back.
//!
//! Most betas have all fields of what came after them under the same names, so that nothing has to be done; nothing
//! that a newer client wrote is lost when an older one writes the object again. Where shapes differ, there is a file.

use serde_json::Value;

use super::{autoscaler, budget, definition, ingress, slice};

/// Rewrites an object of an old version into the shape of its successor; `apiVersion` is the caller's affair.
pub(crate) fn up(object: &mut Value, kind: &str, version: &str) {
    match (kind, version) {
        ("Ingress", _) => ingress::up(object),
        ("HorizontalPodAutoscaler", "v2beta1") => autoscaler::up(object),
        ("HorizontalPodAutoscaler", _) => autoscaler::drop_annotations(object),
        ("PodDisruptionBudget", _) => budget::up(object),
        ("EndpointSlice", _) => slice::up(object),
        ("CustomResourceDefinition", _) => definition::up(object),
        _ => {}
    }
}

/// The reverse.
pub(crate) fn down(object: &mut Value, kind: &str, version: &str) {
    match (kind, version) {
        ("Ingress", _) => ingress::down(object),
        ("HorizontalPodAutoscaler", "v2beta1") => autoscaler::down(object),
        ("HorizontalPodAutoscaler", _) => autoscaler::drop_annotations(object),
        ("PodDisruptionBudget", _) => budget::down(object),
        ("EndpointSlice", _) => slice::down(object),
        ("CustomResourceDefinition", _) => definition::down(object),
        _ => {}
    }
}

/// Both ways lead to what is expected (tests).
#[cfg(test)]
pub(super) fn check(kind: &str, version: &str, old: &Value, current: &Value) {
    let mut found = old.clone();
    up(&mut found, kind, version);
    assert_eq!(found, *current, "up");
    down(&mut found, kind, version);
    assert_eq!(found, *old, "down");
}
