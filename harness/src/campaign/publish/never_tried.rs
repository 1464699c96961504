//! Which kinds of disturbances a campaign never tried: what its result says nothing about.

use plans::Family;

/// Every kind of disturbance that a cluster may show a controller, and the family that tries it, if there is one.
const KINDS: [(&str, Option<Family>); 12] = [
    ("kills of the controller", Some(Family::IntermediateState)),
    ("restarts in front of old caches", Some(Family::StaleState)),
    ("states that the controller never sees", Some(Family::UnobservedState)),
    ("caches of a running controller that lag behind each other, or behind its own writes", None),
    ("answers that are lost or refused", None),
    ("conflicts with other writers", None),
    ("a second leader", None),
    ("pods and nodes that fail", None),
    ("edits by other people", None),
    ("upgrades of the controller", None),
    ("long downtimes", None),
    ("other values of the workload", None),
];

/// Those that nothing of a campaign tried that asked for these families, and carried out plans of those; with the family
/// that would.
pub fn kinds(asked: &[Family], tried: &[Family]) -> Vec<String> {
    let never = KINDS.iter().filter(|(_, family)| family.is_none_or(|one| !tried.contains(&one)));
    let told = |(kind, family): &(&str, Option<Family>)| match family {
        Some(family) if asked.contains(family) => format!("{kind} ({family} had no plan to run)"),
        Some(family) => format!("{kind} ({family})"),
        None => (*kind).to_owned(),
    };
    never.map(told).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_asked_for_is_named_with_the_word_for_it() {
        let never = kinds(&[Family::IntermediateState], &[Family::IntermediateState]);
        assert!(never.contains(&"restarts in front of old caches (stale-state)".to_owned()));
        assert!(!never.iter().any(|kind| kind.starts_with("kills")));
        assert_eq!(kinds(&[], &[]).len(), KINDS.len());
        let never = kinds(&[Family::StaleState], &[]);
        let none = "restarts in front of old caches (stale-state had no plan to run)".to_owned();
        assert!(never.contains(&none), "{never:?}");
    }
}
