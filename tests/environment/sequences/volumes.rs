//! Who named whom first when a claim was bound. Upstream: `bind` of `pv_controller.go` writes the volume, the volume's
//! phase, the claim and the claim's phase, in this order, and goes on after a failure where it was; what is half bound is
//! finished from either side, and never taken for bound.

use std::collections::BTreeMap;

use trace::Change;

use super::lives::is_ending;
use crate::watched::{Happened, uid};

/// Claim → what was seen of its binding, in the order in which it was seen first.
pub fn of(living: &[&Happened]) -> BTreeMap<String, Vec<&'static str>> {
    let claims = living.iter().filter(|event| event.of == "persistentvolumeclaims");
    let claims: Vec<(&str, &str)> = claims
        .filter(|event| event.change == Change::Created)
        .filter_map(|event| Some((uid(&event.object), event.object["metadata"]["name"].as_str()?)))
        .collect();
    let mut told: BTreeMap<String, Vec<&'static str>> = BTreeMap::new();
    for (claim, name) in claims {
        let steps = living.iter().flat_map(|event| seen(event, claim));
        let mut firsts: Vec<&'static str> = Vec::new();
        for step in steps {
            if !firsts.contains(&step) {
                firsts.push(step);
            }
        }
        // A claim of the same name may come later.
        told.entry(name.to_owned()).or_default().extend(firsts);
    }
    told
}

/// What a change shows of the binding of a claim.
fn seen(event: &Happened, claim: &str) -> Vec<&'static str> {
    let object = &event.object;
    if event.change == Change::Deleted || is_ending(object) {
        return Vec::new();
    }
    let shown = match event.of {
        "persistentvolumes" if object["spec"]["claimRef"]["uid"] == claim => [
            (true, "the volume names the claim"),
            (object["status"]["phase"] == "Bound", "the volume is bound"),
        ],
        "persistentvolumeclaims" if uid(object) == claim => [
            (object["spec"]["volumeName"].is_string(), "the claim names the volume"),
            (object["status"]["phase"] == "Bound", "the claim is bound"),
        ],
        _ => return Vec::new(),
    };
    shown.iter().filter(|(is_shown, _)| *is_shown).map(|(_, what)| *what).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use crate::sequences::sample::Story;

    fn volume(claim: Option<&str>, phase: &str) -> Value {
        let reference = claim.map(|uid| json!({"uid": uid}));
        json!({"metadata": {"name": "v"}, "spec": {"claimRef": reference}, "status": {"phase": phase}})
    }

    fn claim(volume: Option<&str>, phase: &str) -> Value {
        json!({"metadata": {"name": "c"}, "spec": {"volumeName": volume}, "status": {"phase": phase}})
    }

    #[test]
    fn a_volume_is_bound_before_its_claim() {
        let (volumes, claims) = ("persistentvolumes", "persistentvolumeclaims");
        let told = |story: Story| story.told()["bindings"].clone();
        let start = || {
            let start = Story::default().made(volumes, volume(None, "Available"));
            start.made(claims, claim(None, "Pending"))
        };
        let half = || {
            let named = start().now(volumes, volume(Some("c"), "Available"));
            named.now(volumes, volume(Some("c"), "Bound"))
        };
        let right =
            half().now(claims, claim(Some("v"), "Pending")).now(claims, claim(Some("v"), "Bound"));
        // The claim is written once more.
        let again = half()
            .now(claims, claim(None, "Pending"))
            .now(claims, claim(Some("v"), "Pending"))
            .now(claims, claim(Some("v"), "Bound"));
        let turned = start()
            .now(claims, claim(Some("v"), "Pending"))
            .now(claims, claim(Some("v"), "Bound"))
            .now(volumes, volume(Some("c"), "Bound"));
        assert_eq!(told(right.clone()), told(again));
        assert_ne!(told(right), told(turned));
    }
}
