//! What no plan can be: it contradicts itself, or what it is to be carried out in. For plans that people edit.
//!
//! Only what is certain before a run is said here. Which writes come, and how many, the run tells.

use std::fmt;

use trace::Cursor;

use super::Plan;
use crate::{
    moment::Moment,
    perturbation::{Family, Perturbation, Restart},
};

/// What a plan is to be carried out in.
#[derive(Debug, Clone, Default)]
pub struct Surroundings {
    /// The workload's operations, in order.
    pub operations: Vec<OperationShape>,
    /// Whether the cluster has built-in controllers.
    pub environment: bool,
}

/// An operation of the workload, as far as plans name it.
#[derive(Debug, Clone, Default)]
pub struct OperationShape {
    /// As a person calls it.
    pub title: String,
    /// How many documents it sends.
    pub documents: u32,
    /// How many steps of the user it is to one who waits for them.
    pub steps: u32,
}

/// Why a plan can't be carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wrong {
    /// The first perturbation with a fault, from 0, and its family; none: the plan as a whole.
    pub at: Option<(usize, Family)>,
    /// What is wrong, and what to do.
    pub why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some((index, family)) = self.at {
            write!(f, "perturbation {} ({family}): ", index + 1)?;
        }
        f.write_str(&self.why)
    }
}

impl Plan {
    /// What of it can't be carried out there, whatever the controller does; the first fault.
    pub fn wrong(&self, there: &Surroundings) -> Option<Wrong> {
        if self.perturbations.is_empty() {
            let why = "it is empty, and would disturb nothing: write a perturbation".to_owned();
            return Some(Wrong { at: None, why });
        }
        self.perturbations.iter().enumerate().find_map(|(index, one)| {
            let alone = one.anomaly().wrong().or_else(|| there.contradicts(one));
            let why = alone.or_else(|| follows(&self.perturbations[..index], one))?;
            Some(Wrong { at: Some((index, one.family())), why })
        })
    }
}

/// Why a perturbation can't come after these. Cursors are counted from the workload's beginning, and only grow; all else
/// is counted anew after each perturbation.
fn follows(before: &[Perturbation], one: &Perturbation) -> Option<String> {
    if before.iter().any(|earlier| *earlier.moment() == Moment::Settled) {
        return Some(
            "nothing comes after all has settled: let the perturbation at settled be the last"
                .to_owned(),
        );
    }
    let here = cursor(one)?;
    let later = |earlier: &&Perturbation| cursor(earlier).is_some_and(|earlier| here < earlier);
    let earlier = before.iter().find(later)?;
    let (moment, earlier) = (one.moment(), earlier.moment());
    Some(format!(
        "its moment, {moment}, lies before that of an earlier perturbation, {earlier}: put them in the order in which they \
         happen"
    ))
}

/// The place in the workload at which it begins, where that is certain.
fn cursor(one: &Perturbation) -> Option<Cursor> {
    match one.moment() {
        Moment::Step { cursor, .. } => Some(*cursor),
        _ => None,
    }
}

impl Surroundings {
    fn contradicts(&self, one: &Perturbation) -> Option<String> {
        if let (Moment::Environment { write, .. }, false) = (one.moment(), self.environment) {
            return Some(format!(
                "it waits for the {}, but the cluster has no built-in controllers (environment: none): name a write of the \
                 controller, or a cluster that has them",
                write.by
            ));
        }
        let at = cursor(one);
        at.and_then(|cursor| self.has_no(cursor)).or_else(|| {
            let waits = one.crash().map_or(0, |crash| match crash.restart {
                Restart::AfterUserStep(steps) | Restart::QuietAfterUserStep(steps) => steps,
                Restart::Immediately | Restart::EnvironmentQuiet => 0,
            });
            self.has_fewer(waits.max(one.anomaly().lasts()), at.unwrap_or_default())
        })
    }

    /// Why the workload never stands there.
    fn has_no(&self, cursor: Cursor) -> Option<String> {
        let end = self.operations.len() as u32;
        let Some(operation) = self.operations.get(cursor.operation as usize) else {
            let there = cursor == Cursor { operation: end, document: 0 };
            return (!there).then(|| {
                format!(
                    "the workload has {end} operations, counted from 0, and never stands at {cursor}: write one of \
                     them, or {{operation: {end}, document: 0}} for its end"
                )
            });
        };
        (cursor.document >= operation.documents.max(1)).then(|| {
            format!(
                "{} sends {} documents, counted from 0, and never stands at document {}: write document: 0 for its \
                 beginning, or {{operation: {}, document: 0}} for its end",
                operation.title,
                operation.documents,
                cursor.document,
                cursor.operation + 1
            )
        })
    }

    /// Why it can't wait for so many steps of the user from there on.
    fn has_fewer(&self, steps: u32, from: Cursor) -> Option<String> {
        let rest = self.operations.iter().skip(from.operation as usize);
        let left = rest.map(|operation| operation.steps).sum::<u32>().saturating_sub(from.document);
        // The first may be a wait of the user: then it ends the waiting.
        (steps > left.max(1)).then(|| {
            format!(
                "it waits for {steps} steps of the user, but {left} are left: write at most {}",
                left.max(1)
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two operations that send one and two documents, then a wait.
    fn there(environment: bool) -> Surroundings {
        let shape = |documents| {
            let title = format!("apply {documents}");
            OperationShape { title, documents, steps: documents }
        };
        Surroundings { operations: [1, 2, 0].map(shape).to_vec(), environment }
    }

    fn check_in(there: &Surroundings, plan: &str, expect: Option<&str>) {
        let plan: Plan = serde_json::from_str(plan).expect("a plan");
        let wrong = plan.wrong(there).map(|wrong| wrong.to_string());
        match expect {
            None => assert_eq!(wrong, None),
            Some(part) => {
                assert!(wrong.as_deref().is_some_and(|why| why.contains(part)), "{wrong:?}")
            }
        }
    }

    fn check(plan: &str, expect: Option<&str>) {
        check_in(&there(false), plan, expect);
    }

    fn change(change: &str, name: &str, occurrence: u32) -> String {
        format!(
            r#"{{"change": {{"change": "{change}", "resource": "foos.example.com", "namespace": "default",
            "name": "{name}"}}, "occurrence": {occurrence}}}"#
        )
    }

    fn delivery(event: &str) -> String {
        format!(r#"{{"delivery": {{"event": {event}}}}}"#)
    }

    fn step(operation: u32, document: u32) -> String {
        format!(r#"{{"step": {{"cursor": {{"operation": {operation}, "document": {document}}}}}}}"#)
    }

    fn crash(at: &str) -> String {
        format!(r#"{{"crash": {{"at": {at}}}}}"#)
    }

    #[test]
    fn states_that_are_not_seen_lie_between_two_events_of_one_object() {
        let unobserved = |from: &str, until: &str| {
            format!(
                r#"[{{"unobservedState": {{"from": {from}, "until": {until}, "release": "burst"}}}}]"#
            )
        };
        let updated = |name: &str, occurrence| change("updated", name, occurrence);
        let from = |occurrence| delivery(&updated("a", occurrence));
        check(&unobserved(&from(1), &updated("a", 2)), None);
        check(&unobserved(&from(3), &change("deleted", "a", 1)), None);
        check(&unobserved(&from(1), &updated("b", 2)), Some("about one object"));
        check(&unobserved(&step(1, 0), &updated("a", 1)), Some("which event is held first"));
        check(&unobserved(&from(1), &updated("a", 1)), Some("until comes after from"));
        check(&unobserved(&from(2), &updated("a", 1)), Some("write occurrence: 3 or more"));
    }

    #[test]
    fn caches_are_behind_as_far_as_caches_can_be() {
        let stale = |behind: &str, catch_up: &str| {
            format!(
                r#"[{{"staleState": {{"crash": {{"at": {}}}, "behind": {behind}, "catchUp": {catch_up}}}}}]"#,
                step(1, 0)
            )
        };
        check(&stale("{}", r#""quiet""#), None);
        check(&stale("{}", r#"{"afterUserStep": 2}"#), None);
        check(&stale("{}", r#"{"afterUserStep": 0}"#), Some("counts from 1"));
        check(&stale("{}", r#"{"afterUserStep": 3}"#), Some("but 2 are left"));
        let leases = r#"{"resource": "leases.coordination.k8s.io"}"#;
        check(&stale(leases, r#""quiet""#), Some("never behind"));
    }

    #[test]
    fn kills_are_at_moments_that_come() {
        check("[]", Some("it is empty"));
        let at_delivery = crash(&delivery(&change("updated", "a", 1)));
        check(&format!("[{at_delivery}]"), Some("perturbation 1 (intermediate-state)"));
        for (at, expect) in [
            (step(0, 0), None),
            (step(1, 1), None),
            (step(2, 0), None),
            (step(3, 0), None),
            (step(3, 1), Some("never stands at 3.1")),
            (step(99, 0), Some("has 3 operations")),
            (step(1, 2), Some("sends 2 documents")),
            (step(2, 1), Some("sends 0 documents")),
        ] {
            check(&format!("[{}]", crash(&at)), expect);
        }
    }

    #[test]
    fn waits_for_the_user_are_waits_for_something() {
        let restart = |at: &str, restart: &str| {
            format!(r#"[{{"crash": {{"at": {at}, "restart": {restart}}}}}]"#)
        };
        for (at, after, expect) in [
            (step(0, 0), r#"{"afterUserStep": 3}"#, None),
            (step(0, 0), r#"{"afterUserStep": 4}"#, Some("but 3 are left")),
            (step(2, 0), r#"{"afterUserStep": 1}"#, None),
            (step(1, 1), r#"{"quietAfterUserStep": 2}"#, Some("but 1 are left")),
            (step(0, 0), r#"{"afterUserStep": 0}"#, Some("write immediately")),
            (step(0, 0), r#"{"quietAfterUserStep": 0}"#, Some("write environmentQuiet")),
            (r#""settled""#.to_owned(), r#""environmentQuiet""#, Some("nothing comes after")),
        ] {
            check(&restart(&at, after), expect);
        }
    }

    #[test]
    fn perturbations_stand_in_the_order_in_which_they_happen() {
        let (first, second) = (crash(&step(1, 0)), crash(&step(1, 1)));
        let settled = crash(r#""settled""#);
        check(&format!("[{first}, {second}]"), None);
        check(&format!("[{first}, {first}]"), None);
        check(&format!("[{first}, {settled}]"), None);
        check(&format!("[{second}, {first}]"), Some("perturbation 2 (intermediate-state): its"));
        check(&format!("[{settled}, {first}]"), Some("nothing comes after all has settled"));
        check(&format!("[{settled}, {settled}]"), Some("nothing comes after all has settled"));
    }

    #[test]
    fn writes_of_built_in_controllers_need_some() {
        let write = r#"{"by": "replicaset-controller", "change": "created", "resource": "pods",
            "namespace": "default", "name": "web-*"}"#;
        let at = format!(r#"{{"environment": {{"write": {write}, "occurrence": 2}}}}"#);
        let plan = format!("[{}]", crash(&at));
        check_in(&there(true), &plan, None);
        check(&plan, Some("environment: none"));
    }

    /// Files that were written when crashes were all there was.
    #[test]
    fn plans_of_older_files_are_read() {
        let call = r#"{"verb": "create", "resource": "foos.example.com", "namespace": "default", "name": "foo-*"}"#;
        let at = format!(r#"{{"committed": {{"call": {call}, "occurrence": 1}}}}"#);
        check(&format!(r#"[{{"crash":{{"at":{at},"restart":{{"afterUserStep":1}}}}}}]"#), None);
    }
}
