//! Sieve's pruning heuristics (Sun et al., OSDI'22, §5; `sieve.md` rules 2, 4, 5 and 7): which disturbances are likely to
//! matter, guessed from one undisturbed run.
//!
//! **They are unsound.** What the subject does not do undisturbed it may do disturbed, and a reconcile is a guess. So by
//! default they only say what comes first; only a campaign that asks for `heuristics: sieve` leaves out the rest.
//!
//! A change *causes* a write if its event came to the subject before the write and after the first request of the last
//! reconcile before that wrote anything. Sieve also looks at reads from the controller's cache; a proxy sees none of
//! those, so every event of a watched type counts as read.

mod likelihood;

use std::collections::BTreeSet;

use trace::{Change, GroupResource};

pub use self::likelihood::Likelihood;
use crate::{
    moment::{By, CallMatch, Moment, NamePattern, Occurred},
    perturbation::{Behind, UnobservedState},
    schedule::{Reconcile, Schedule},
    stale_views::{Names, behind},
};

/// What is likely to matter in runs like this one.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Heuristics {
    /// Changes that caused a write of the subject.
    causes: BTreeSet<Occurred>,
    /// States that caches may stand at: those after and just before a change that caused a deletion by the subject whose
    /// object was made again later. Called as older states are, of one type or of all.
    stale: BTreeSet<(Option<Occurred>, bool)>,
    /// Objects that the user changed.
    users: BTreeSet<(GroupResource, String, NamePattern)>,
    /// Writes of the subject after which the same reconcile wrote more.
    followed: BTreeSet<CallMatch>,
}

impl Heuristics {
    /// By this run.
    pub fn learn(schedule: &Schedule) -> Heuristics {
        let mut found = Heuristics { users: users(schedule), ..Heuristics::default() };
        let names = names(schedule);
        let mut begins = 0; // of the last reconcile that wrote
        for reconcile in schedule.reconciles.iter().filter(|one| !one.writes.is_empty()) {
            for change in causes(schedule, reconcile, begins) {
                found.causes.insert(schedule.changes[change].what.clone());
                if deletes_what_returns(schedule, reconcile) {
                    found.stale.extend(called(&names, Some(change)));
                    found.stale.extend(called(&names, before(schedule, change)));
                }
            }
            begins = reconcile.from;
            let followed = reconcile.writes.split_last().map_or(&[][..], |(_, before)| before);
            let calls = followed.iter().filter_map(|write| schedule.writes.get(*write));
            found.followed.extend(calls.map(|write| write.call.clone()));
        }
        found
    }

    /// Whether the subject wrote because of what would go unseen.
    pub fn suggests_unobserved(&self, interval: &UnobservedState) -> bool {
        match &interval.from {
            Moment::Delivery { event } => self.causes.contains(event),
            _ => false,
        }
    }

    /// Whether the subject deletes something because of what caches in this state say, that is there again later.
    pub fn suggests_stale(&self, behind: &Behind) -> bool {
        self.stale.contains(&(behind.up_to.clone(), behind.before))
    }
}

/// The changes whose events came before a write of this reconcile, and after `begins`.
fn causes(schedule: &Schedule, reconcile: &Reconcile, begins: u64) -> impl Iterator<Item = usize> {
    let writes = reconcile.writes.iter().filter_map(|write| schedule.writes.get(*write));
    let last_sent = writes.map(|write| write.sent).max().unwrap_or(0);
    let came = |at: u64| schedule.deliveries.partition_point(|delivery| delivery.at < at);
    let range = came(begins)..came(last_sent).max(came(begins));
    schedule.deliveries[range].iter().filter_map(|delivery| delivery.change)
}

/// Whether it deletes an object that is created or changed again after that.
fn deletes_what_returns(schedule: &Schedule, reconcile: &Reconcile) -> bool {
    let writes = reconcile.writes.iter().filter_map(|write| schedule.writes.get(*write));
    let changed = writes.flat_map(|write| write.changes.iter().copied());
    changed.into_iter().any(|deleted| {
        let gone = &schedule.changes[deleted].what.change;
        gone.change == Change::Deleted
            && schedule.changes[deleted + 1..].iter().any(|later| {
                let change = &later.what.change;
                change.change != Change::Deleted
                    && (&change.resource, &change.namespace, &change.name)
                        == (&gone.resource, &gone.namespace, &gone.name)
            })
    })
}

/// The change of the same type before this one.
fn before(schedule: &Schedule, change: usize) -> Option<usize> {
    let resource = &schedule.changes[change].what.change.resource;
    schedule.changes[..change].iter().rposition(|one| one.what.change.resource == *resource)
}

/// Each change, as older states are called by it.
fn names(schedule: &Schedule) -> Vec<Occurred> {
    let mut names = Names::default();
    schedule.changes.iter().map(|one| names.count(&one.what.change, one.part)).collect()
}

/// What the state after a change is called, of the cache of its type and of all; none is the beginning.
fn called(names: &[Occurred], change: Option<usize>) -> [(Option<Occurred>, bool); 2] {
    let up_to = change.and_then(|at| names.get(at));
    let later = change.map_or(names, |at| &names[at + 1..]);
    let resource = up_to.map(|up_to| &up_to.change.resource);
    [resource, None].map(|resource| {
        let behind = behind(up_to, resource, later.iter());
        (behind.up_to, behind.before)
    })
}

fn users(schedule: &Schedule) -> BTreeSet<(GroupResource, String, NamePattern)> {
    let changes = schedule.changes.iter().map(|changed| &changed.what.change);
    let by_user = changes.filter(|change| change.by == Some(By::User));
    by_user
        .map(|change| (change.resource.clone(), change.namespace.clone(), change.name.clone()))
        .collect()
}

#[cfg(test)]
mod tests {
    use trace::{Cursor, DeliveryKind, GroupResource, Verb};

    use super::*;
    use crate::{
        moment::{CallMatch, ChangeMatch, NamePattern},
        perturbation::Release,
        schedule::{Changed, Delivered, Written},
    };

    fn change(kind: Change, resource: &str, occurrence: u32) -> Occurred {
        let change = ChangeMatch {
            change: kind,
            resource: GroupResource::new("", resource),
            namespace: "default".to_owned(),
            name: NamePattern("a".to_owned()),
            by: None,
            part: None,
        };
        Occurred { change, occurrence }
    }

    /// The event of `foos` comes and the subject deletes the pod, which somebody makes again; then one of `bars` comes and
    /// nothing follows.
    fn model() -> Schedule {
        let changed = |at: u64, what: Occurred| Changed {
            at,
            what,
            part: None,
            cursor: Cursor::default(),
            apart: true,
        };
        let delivered = |at: u64, resource: &str, change: usize| Delivered {
            at,
            kind: DeliveryKind::Modified,
            resource: GroupResource::new("", resource),
            object: "default/a".to_owned(),
            change: Some(change),
        };
        let call = crate::fixture::call(1, Verb::Delete, "pods", 1);
        Schedule {
            changes: vec![
                changed(1, change(Change::Created, "foos", 1)),
                changed(2, change(Change::Updated, "foos", 1)),
                changed(5, change(Change::Deleted, "pods", 1)),
                changed(7, change(Change::Created, "pods", 1)),
                changed(8, change(Change::Updated, "bars", 1)),
            ],
            deliveries: vec![delivered(3, "foos", 1), delivered(9, "bars", 4)],
            writes: vec![Written {
                call: CallMatch::of(&call, &|_| None).unwrap(),
                changes: vec![2],
                sent: 4,
                answered: Some(6),
                known: 0..1,
                concurrent: vec![],
            }],
            reconciles: vec![Reconcile {
                from: 4,
                to: 4,
                told: 0..1,
                reads: 0..0,
                writes: vec![0],
            }],
            ..Schedule::default()
        }
    }

    #[test]
    fn what_caused_a_write_may_matter_if_it_goes_unseen() {
        let found = Heuristics::learn(&model());
        let check = |event: Occurred, expect: bool| {
            let from = Moment::Delivery { event: event.clone() };
            let interval = UnobservedState { from, until: event, release: Release::Burst };
            assert_eq!(found.suggests_unobserved(&interval), expect, "{interval:?}");
        };
        check(change(Change::Updated, "foos", 1), true);
        check(change(Change::Created, "foos", 1), false);
        check(change(Change::Updated, "bars", 1), false);
    }

    #[test]
    fn caches_behind_may_matter_around_what_caused_a_deletion_that_did_not_last() {
        let check = |schedule: &Schedule, up_to: Option<Occurred>, expect: bool| {
            let behind = Behind { resource: None, up_to, before: false };
            assert_eq!(Heuristics::learn(schedule).suggests_stale(&behind), expect, "{behind}");
        };
        let whole = model();
        check(&whole, Some(change(Change::Updated, "foos", 1)), true);
        check(&whole, Some(change(Change::Created, "foos", 1)), true);
        check(&whole, Some(change(Change::Updated, "bars", 1)), false);
        check(&whole, None, false);
        let mut lasts = model();
        lasts.changes.remove(3);
        lasts.deliveries.pop();
        check(&lasts, Some(change(Change::Updated, "foos", 1)), false);
    }
}
