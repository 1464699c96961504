//! A plan: what one trial does, by value.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::perturbation::{Crash, Family, Perturbation};

/// Perturbations in the order in which they are armed: each only after the one before was carried out.
/// Carried out from the beginning (prefix), or from the world that the earlier ones lead to (fork): both
/// mean the same plan.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Plan {
    /// In order. Empty: an undisturbed run.
    pub perturbations: Vec<Perturbation>,
}

/// Names a plan by its content: the same plan has the same id on every machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct PlanId(pub String);

impl fmt::Display for PlanId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How simple a plan is: less is simpler.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Weight {
    /// Its depth.
    pub perturbations: usize,
    /// How much passes before the subject is started again: two for each user step, one for the environment's rest.
    pub waits: u32,
    /// Kills of one replica, with others that go on.
    pub members: u32,
    /// Writes under way that never reach the store.
    pub dropped: usize,
    /// Caches that are behind: one for a type, two for all, and two for each user step that they stay so.
    pub stale: u32,
    /// States that are never seen: one for a relist, two for a burst.
    pub unobserved: u32,
}

impl Plan {
    /// The undisturbed plan.
    pub fn undisturbed() -> Plan {
        Plan::default()
    }

    /// This plan and one perturbation more.
    pub fn and(&self, next: impl Into<Perturbation>) -> Plan {
        let mut perturbations = self.perturbations.clone();
        perturbations.push(next.into());
        Plan { perturbations }
    }

    /// Its name: the first 12 hexadecimal digits of the hash of its JSON.
    pub fn id(&self) -> PlanId {
        let bytes = serde_json::to_vec(self).expect("a plan is plain data");
        PlanId(blake3::hash(&bytes).to_hex()[..12].to_owned())
    }

    /// How many perturbations it combines.
    pub fn depth(&self) -> usize {
        self.perturbations.len()
    }

    /// What of it can't be carried out, whatever the controller does; the first perturbation with a fault, from 1.
    pub fn wrong(&self) -> Option<String> {
        let mut numbered = self.perturbations.iter().zip(1..);
        numbered.find_map(|(one, number)| {
            let why = one.anomaly().wrong()?;
            Some(format!("perturbation {number} ({}): {why}", one.family()))
        })
    }

    /// How simple it is.
    pub fn weight(&self) -> Weight {
        let none = Weight { perturbations: self.depth(), ..Weight::default() };
        let each = self.perturbations.iter().map(|one| one.anomaly().weight());
        each.fold(none, |sum, one| Weight {
            perturbations: sum.perturbations,
            waits: sum.waits + one.waits,
            members: sum.members + one.members,
            dropped: sum.dropped + one.dropped,
            stale: sum.stale + one.stale,
            unobserved: sum.unobserved + one.unobserved,
        })
    }

    /// The last perturbation's kill, to change.
    pub fn last_crash_mut(&mut self) -> Option<&mut Crash> {
        self.perturbations.last_mut()?.crash_mut()
    }

    /// Whether one of its perturbations takes time: see [`crate::Anomaly::takes_time`].
    pub fn takes_time(&self) -> bool {
        self.perturbations.iter().any(|one| one.anomaly().takes_time())
    }

    /// Whether it ends with a plain restart on the world that has settled at the end.
    pub fn restarts_when_settled(&self) -> bool {
        self.perturbations.last().is_some_and(Perturbation::restarts_when_settled)
    }

    /// User steps for which its last perturbation lasts.
    pub fn lasts(&self) -> u32 {
        self.perturbations.last().map_or(0, |last| last.anomaly().lasts())
    }

    /// The family of its last perturbation, by which it is counted.
    pub fn family(&self) -> Option<Family> {
        self.perturbations.last().map(Perturbation::family)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.perturbations.is_empty() {
            return f.write_str("undisturbed");
        }
        for (index, perturbation) in self.perturbations.iter().enumerate() {
            let joint = if index > 0 { "; then " } else { "" };
            write!(f, "{joint}{perturbation}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(plan: &str, expect: Option<&str>) {
        let plan: Plan = serde_json::from_str(plan).expect("a plan");
        let wrong = plan.wrong();
        match expect {
            None => assert_eq!(wrong, None),
            Some(part) => {
                assert!(wrong.as_deref().is_some_and(|why| why.contains(part)), "{wrong:?}")
            }
        }
    }

    #[test]
    fn plans_that_can_not_be_carried_out_say_why() {
        let change = |name: &str| {
            format!(
                r#"{{"change": {{"change": "updated", "resource": "foos.example.com", "namespace": "default",
                "name": "{name}"}}, "occurrence": 1}}"#
            )
        };
        let unobserved = |from: &str, until: &str| {
            format!(
                r#"[{{"unobservedState": {{"from": {from}, "until": {until}, "release": "burst"}}}}]"#
            )
        };
        let delivery = |name: &str| format!(r#"{{"delivery": {{"event": {}}}}}"#, change(name));
        let step = r#"{"step": {"cursor": {"operation": 1, "document": 0}}}"#;
        check(&unobserved(&delivery("a"), &change("a")), None);
        check(&unobserved(&delivery("a"), &change("b")), Some("about one object"));
        check(&unobserved(step, &change("a")), Some("which event is held first"));
        let stale = |behind: &str, catch_up: &str| {
            format!(
                r#"[{{"staleState": {{"crash": {{"at": {step}}}, "behind": {behind}, "catchUp": {catch_up}}}}}]"#
            )
        };
        check(&stale("{}", r#""quiet""#), None);
        check(&stale("{}", r#"{"afterUserStep": 0}"#), Some("counts from 1"));
        let leases = r#"{"resource": "leases.coordination.k8s.io"}"#;
        check(&stale(leases, r#""quiet""#), Some("never behind"));
        let crash = format!(r#"[{{"crash": {{"at": {}}}}}]"#, delivery("a"));
        check(&crash, Some("perturbation 1 (intermediate-state)"));
        check(r#"[{"crash": {"at": "settled"}}]"#, None);
        let later = r#"[{"crash": {"at": "settled", "restart": "environmentQuiet"}}]"#;
        check(later, Some("nothing comes after"));
    }

    /// Files that were written when crashes were all there was.
    #[test]
    fn plans_of_older_files_are_read() {
        let call = r#"{"verb": "create", "resource": "foos.example.com", "namespace": "default", "name": "foo-*"}"#;
        let at = format!(r#"{{"committed": {{"call": {call}, "occurrence": 1}}}}"#);
        let text = format!(r#"[{{"crash":{{"at":{at},"restart":{{"afterUserStep":1}}}}}}]"#);
        check(&text, None);
    }
}
