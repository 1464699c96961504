//! Is the world at each settle the world that all references have there?
//!
//! Only settles after the last perturbation count, and only those at which the references settle too.
//!
//! **One difference names the verdict**: others often follow from it, and which of them show depends on the plan. Objects that
//! are missing or too many come before fields, desired state before status, and an object whose owner differs as well comes
//! last. The verdict's fingerprint is that difference and its cause.

mod better;
mod title;

pub(super) use title::beside;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
};

use serde_json::Value;
use trace::{
    Cursor, Event, Settled, WorldForm,
    diff::{Difference, differences},
    fold_key,
};

use crate::{
    baseline::{Baseline, SettledWorld},
    cause::{self, Causes, Wrong},
    role::Role,
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

/// A settle that both have.
struct Judged<'t> {
    settled: &'t Settled,
    world: WorldForm,
    known: Cow<'t, SettledWorld>,
}

pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Verdict {
    let records = &trial.run.history.records[trial.after_last_perturbation()..];
    let mut judged = BTreeMap::new();
    for record in records {
        let Event::Settled(settled) = &record.event else { continue };
        let world = trial.run.world_at(settled, &baseline.masks);
        if let Some(known) = baseline.expected(settled.cursor, &world) {
            judged.insert(settled.cursor, Judged { settled, world, known });
        }
    }
    let reached_end = judged.values().any(|judged| judged.settled.end);
    let compared = judged.values().flat_map(Judged::compare);
    let compared: Vec<Evidence> =
        compared.filter(|one| !is_mark_of_revision(one, baseline)).collect();
    let (left_over, evidence): (Vec<Evidence>, Vec<Evidence>) =
        compared.into_iter().partition(|one| better::is_left_over(one, baseline));
    let (better, evidence): (Vec<Evidence>, Vec<Evidence>) =
        evidence.into_iter().partition(|one| {
            better::is(one, baseline, |cursor, key| judged[&cursor].world.get(key).map(|it| &***it))
        });
    if let Some(worst) = Worst::of(&evidence, &judged) {
        let (fingerprint, cause) = worst.fingerprint(trial, baseline, &judged[&worst.cursor]);
        return Verdict {
            oracle: Oracle::EndState,
            value: VerdictValue::Violated,
            title: title::title(trial, &worst, &judged[&worst.cursor]),
            fingerprint,
            evidence: evidence.iter().cloned().chain(cause).collect(),
        };
    }
    if let Some(first) = better.first() {
        let title = format!("{}: the undisturbed runs may be the wrong ones", better::title(first));
        let unknown = Verdict::unknown(Oracle::EndState, title);
        return Verdict { evidence: better, ..unknown };
    }
    if let Some(first) = left_over.first() {
        let unknown = Verdict::unknown(Oracle::EndState, better::left_over(first));
        return Verdict { evidence: left_over, ..unknown };
    }
    match judged.len() {
        0 => Verdict::unknown(Oracle::EndState, "nothing settled where undisturbed runs do"),
        _ if !reached_end => Verdict::unknown(Oracle::EndState, "the end was not reached"),
        1 => Verdict::held(Oracle::EndState, "the end state is that of the undisturbed runs"),
        count => Verdict::held(
            Oracle::EndState,
            format!("the states at {count} settles are those of the undisturbed runs"),
        ),
    }
}

/// See [`Baseline::is_mark_of_revision`].
fn is_mark_of_revision(evidence: &Evidence, baseline: &Baseline) -> bool {
    matches!(evidence, Evidence::Field { object, path, .. } if baseline.is_mark_of_revision(object, path))
}

impl Judged<'_> {
    fn compare(&self) -> Vec<Evidence> {
        let cursor = self.settled.cursor;
        let (expected, found) = (roles(&self.known.world), roles(&self.world));
        let mut evidence = Vec::new();
        let keys: BTreeSet<&String> = expected.keys().chain(found.keys()).collect();
        for key in keys {
            let none = BTreeMap::new();
            let of = |roles: &BTreeMap<String, BTreeMap<Role, usize>>| {
                roles.get(key).unwrap_or(&none).clone()
            };
            evidence.extend(counts(cursor, &of(&expected), &of(&found)));
        }
        let fields = differences(&self.known.world, &self.world).into_iter();
        evidence.extend(fields.filter(|difference| !difference.path.0.is_empty()).map(
            |Difference { object, path, left, right }| Evidence::Field {
                cursor,
                object,
                path,
                references: left,
                trial: right,
            },
        ));
        evidence
    }

    /// An object of this key: the one itself, in the trial or else in the references, or any of its siblings.
    fn any(&self, key: &str) -> Option<&Value> {
        let worlds = [&self.world, &self.known.world];
        if let Some(object) = worlds.iter().find_map(|world| world.get(key)) {
            return Some(object);
        }
        let mut objects = worlds.into_iter().flat_map(WorldForm::objects);
        objects.find(|(other, _)| fold_key(other) == key).map(|(_, object)| &***object)
    }
}

/// Objects by folded key and role.
fn roles(world: &WorldForm) -> BTreeMap<String, BTreeMap<Role, usize>> {
    let mut roles: BTreeMap<String, BTreeMap<Role, usize>> = BTreeMap::new();
    for (key, object) in world.objects() {
        let role = Role::of(key, object);
        *roles.entry(role.key.clone()).or_default().entry(role).or_default() += 1;
    }
    roles
}

/// Objects of one folded key, of which there are more or fewer than in the references. As many of other owners are no
/// difference in number, but in their fields.
fn counts(
    cursor: Cursor,
    expected: &BTreeMap<Role, usize>,
    found: &BTreeMap<Role, usize>,
) -> Vec<Evidence> {
    if expected.values().sum::<usize>() == found.values().sum::<usize>() {
        return vec![];
    }
    let roles: BTreeSet<&Role> = expected.keys().chain(found.keys()).collect();
    let count =
        |counts: &BTreeMap<Role, usize>, role: &Role| counts.get(role).copied().unwrap_or(0);
    let of = |role: &Role| {
        let (references, trial) = (count(expected, role), count(found, role));
        let (objects, owner) = (role.key.clone(), role.owner.clone());
        (references != trial).then_some(Evidence::Count {
            cursor,
            objects,
            owner,
            references,
            trial,
        })
    };
    roles.into_iter().filter_map(of).collect()
}

/// The difference that names the verdict.
struct Worst<'e> {
    cursor: Cursor,
    evidence: &'e Evidence,
    /// Of the object that it is about.
    role: Role,
}

impl<'e> Worst<'e> {
    fn of(evidence: &'e [Evidence], judged: &BTreeMap<Cursor, Judged<'_>>) -> Option<Worst<'e>> {
        let differing: BTreeSet<String> =
            evidence.iter().filter_map(about).map(|(_, key)| fold_key(key)).collect();
        let ranked = evidence.iter().filter_map(|one| {
            let (cursor, key) = about(one)?;
            let judged = &judged[&cursor];
            let follows = judged.any(key).is_some_and(|object| {
                owners(object).any(|owner| differing.contains(&owner) && owner != fold_key(key))
            });
            // At the end before on the way: what is mended by then is the lesser evil.
            Some(((kind(one) == Kind::Counter, !judged.settled.end, follows, kind(one)), one))
        });
        let (_, worst) = ranked.min_by_key(|(rank, _)| *rank)?;
        let (cursor, key) = about(worst)?;
        let role = match worst {
            Evidence::Count { objects, owner, .. } => {
                Role { key: objects.clone(), owner: owner.clone() }
            }
            _ => judged[&cursor].any(key).map_or_else(|| Role::named(key), |it| Role::of(key, it)),
        };
        Some(Worst { cursor, evidence: worst, role })
    }

    fn fingerprint(
        &self,
        trial: &Trial,
        baseline: &Baseline,
        judged: &Judged<'_>,
    ) -> (Fingerprint, Option<Evidence>) {
        let (difference, wrong) = match self.evidence {
            Evidence::Count { references, trial, .. } if trial > references => {
                (format!("extra {}", self.role), Wrong::Extra(self.cursor))
            }
            Evidence::Field { object, path, references, .. } => {
                let place = title::Place { path, of: judged.any(object), exactly: false };
                let place = fold_key(&place.to_string());
                let wrong = Wrong::Field { path, expected: references.as_ref() };
                (format!("field {} {place}", self.role), wrong)
            }
            _ => (format!("missing {}", self.role), Wrong::Missing),
        };
        let folder = trial.run.folder();
        let found = Causes::new(trial, baseline, &folder).of(&self.role.key, wrong);
        let fingerprint = Fingerprint::new(Oracle::EndState, [difference]);
        (fingerprint.caused_by(&found.cause), found.evidence())
    }
}

/// Differences in the order in which they name a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Kind {
    /// Objects are missing or too many.
    Count,
    /// A field that somebody asked for.
    Desired,
    /// A field below `.status`.
    Status,
    /// How often built-in controllers did something.
    Counter,
}

fn kind(evidence: &Evidence) -> Kind {
    match evidence {
        Evidence::Field { path, .. } if title::counted(path).is_some() => Kind::Counter,
        Evidence::Field { path, .. } if path.to_string().starts_with(".status") => Kind::Status,
        Evidence::Field { .. } => Kind::Desired,
        _ => Kind::Count,
    }
}

/// At which settle, and the key of the object.
fn about(evidence: &Evidence) -> Option<(Cursor, &str)> {
    match evidence {
        Evidence::Count { cursor, objects, .. } => Some((*cursor, objects)),
        Evidence::Field { cursor, object, .. } => Some((*cursor, object)),
        _ => None,
    }
}

/// Folded keys of the owners of an object in comparison form, where a uid names its object.
fn owners(object: &Value) -> impl Iterator<Item = String> {
    cause::owners(object)
        .filter_map(|uid| Some(fold_key(uid.strip_prefix("‹uid of ")?.strip_suffix('›')?)))
}
