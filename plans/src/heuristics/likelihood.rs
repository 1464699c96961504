//! How likely a perturbation is to matter: what comes first where a budget is short. Nothing is left out by it.
//!
//! Bugs that were published (Sieve's, KubeRay's, those of the corpus) show where a controller meets the user's next wish
//! with an old one in its cache, between two writes that belong together, and where something was deleted or made again.
//! Hardly any shows between two updates of a status.

use trace::Change;

use super::Heuristics;
use crate::{
    moment::{By, Moment, Occurred},
    perturbation::{Behind, Crash, Perturbation, UnobservedState},
    stale_views::is_landmark,
};

/// See the module's documentation. Likelier ones are less.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Likelihood {
    /// Something suggests it.
    High,
    /// Neither.
    Medium,
    /// It lies among updates that only say how far somebody is.
    Low,
}

impl Heuristics {
    /// By what was learnt of an undisturbed run.
    pub fn likelihood(&self, perturbation: &Perturbation) -> Likelihood {
        match perturbation {
            Perturbation::Crash(crash) => self.of_crash(crash),
            Perturbation::StaleState(stale) => self.of_behind(&stale.behind),
            Perturbation::UnobservedState(unobserved) => self.of_interval(unobserved),
        }
    }

    /// High between two writes of one reconcile; low after a write to a status that is the last one.
    fn of_crash(&self, crash: &Crash) -> Likelihood {
        match &crash.at {
            Moment::Committed { call, .. } if self.followed.contains(call) => Likelihood::High,
            Moment::Committed { call, .. } if call.subresource == "status" => Likelihood::Low,
            _ => Likelihood::Medium,
        }
    }

    /// High next to a change of what the user wrote, and where Sieve's rule suggests it.
    fn of_behind(&self, behind: &Behind) -> Likelihood {
        if self.suggests_stale(behind) {
            return Likelihood::High;
        }
        match &behind.up_to {
            Some(up_to) if is_landmark(up_to) => match self.is_users(up_to) {
                true => Likelihood::High,
                false => Likelihood::Medium,
            },
            Some(_) => Likelihood::Low,
            None => Likelihood::Medium,
        }
    }

    /// High if a change of the user goes unseen that the subject acts upon.
    fn of_interval(&self, interval: &UnobservedState) -> Likelihood {
        let Moment::Delivery { event } = &interval.from else { return Likelihood::Medium };
        let update = |what: &Occurred| what.change.change == Change::Updated;
        let by = event.change.by;
        match self.suggests_unobserved(interval) {
            true if by == Some(By::User) || !update(event) => Likelihood::High,
            _ if by == Some(By::Subject) && update(event) && update(&interval.until) => {
                Likelihood::Low
            }
            _ => Likelihood::Medium,
        }
    }

    fn is_users(&self, what: &Occurred) -> bool {
        let change = &what.change;
        let object = (change.resource.clone(), change.namespace.clone(), change.name.clone());
        self.users.contains(&object)
    }
}

#[cfg(test)]
mod tests {
    use trace::{GroupResource, Verb};

    use super::*;
    use crate::{
        moment::{CallMatch, ChangeMatch, NamePattern},
        stale_views::Part,
    };

    fn heuristics() -> Heuristics {
        let object =
            (GroupResource::new("", "foos"), "default".to_owned(), NamePattern("a".into()));
        let followed = CallMatch::of(&crate::fixture::call(1, Verb::Create, "pods", 1), &|_| None);
        Heuristics {
            users: [object].into(),
            followed: followed.into_iter().collect(),
            ..Heuristics::default()
        }
    }

    #[test]
    fn crashes_between_writes_that_belong_together_come_first() {
        let check = |verb: Verb, subresource: &str, expect: Likelihood| {
            let mut call = crate::fixture::call(1, verb, "pods", 1);
            call.subresource = subresource.to_owned();
            let call = CallMatch::of(&call, &|_| None).expect("a call of a type");
            let crash = Crash::at(Moment::Committed { call, occurrence: 2 });
            assert_eq!(heuristics().likelihood(&crash.into()), expect);
        };
        check(Verb::Create, "", Likelihood::High);
        check(Verb::Delete, "", Likelihood::Medium);
        check(Verb::Update, "status", Likelihood::Low);
    }

    #[test]
    fn states_next_to_the_users_changes_come_first() {
        let check = |resource: &str, change: Change, part: Option<Part>, expect: Likelihood| {
            let change = ChangeMatch {
                change,
                resource: GroupResource::new("", resource),
                namespace: "default".to_owned(),
                name: NamePattern("a".to_owned()),
                by: None,
                part,
            };
            let up_to = Some(Occurred { change, occurrence: 1 });
            let behind = Behind { resource: None, up_to, before: false };
            assert_eq!(heuristics().of_behind(&behind), expect, "{behind}");
        };
        check("foos", Change::Updated, Some(Part::DeletionMark), Likelihood::High);
        check("foos", Change::Created, None, Likelihood::High);
        check("pods", Change::Deleted, None, Likelihood::Medium);
        check("foos", Change::Updated, None, Likelihood::Low);
    }
}
