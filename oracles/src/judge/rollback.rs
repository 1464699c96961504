//! Did a field go back to what the controller had written before, and forward again?
//!
//! A controller that is started on an old cache, or finds its work half done, may write what an earlier step asked for, and
//! mend it as soon as it sees the newest objects. Its end state is right. Meanwhile real clusters do what the old value says:
//! Pods are replaced, traffic is sent elsewhere. So it is told, as *transient*: it fails a run only if the user asks for
//! that.
//!
//! A flip counts if no reference makes one of this field, and the value in between is one that a reference wrote in an
//! earlier state of the object.

use std::collections::BTreeSet;

use trace::{Actor, Change, Commit, Event, Folder, Time};

use super::ended;
use crate::{
    baseline::{Baseline, digest_as, fold_path},
    cause::{Cause, Found, owners, uid, whose},
    flips::{self, Flip},
    role::Role,
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Verdict {
    if !ended(trial) {
        return Verdict::unknown(Oracle::Rollback, "the end was not reached");
    }
    let folder;
    let mut rollbacks = flips_of(trial);
    if !rollbacks.is_empty() {
        folder = trial.run.folder();
        rollbacks.retain(|flip| is_rollback(trial, baseline, &folder, flip));
        if let Some(first) = rollbacks.first() {
            return violated(trial, baseline, &folder, first);
        }
    }
    Verdict::held(Oracle::Rollback, "no field went back to an earlier value and forward again")
}

fn flips_of(trial: &Trial) -> Vec<Flip<'_>> {
    let (before, after) = trial.run.history.records.split_at(trial.after_last_perturbation());
    let start = trial.run.start.iter().map(|(key, object)| (key, &**object));
    let commits = before.iter().filter_map(|record| match &record.event {
        Event::Commit(commit) if commit.change != Change::Deleted => {
            Some((&commit.key, &*commit.object))
        }
        _ => None,
    });
    flips::flips(start.chain(commits), after)
}

fn is_rollback(trial: &Trial, baseline: &Baseline, folder: &Folder, flip: &Flip<'_>) -> bool {
    let (away, _) = flip.away;
    let field = format!("{} {}", folder.key(&away.key), fold_path(&flip.path));
    if baseline.flips.contains(&field) {
        return false;
    }
    let written = [Change::Created, Change::Updated].into_iter().any(|change| {
        baseline.commits.contains_key(&digest_as(change, away, folder, &baseline.masks))
    });
    written || had_before(trial, flip)
}

/// Whether the object had the value in between at an earlier time of this run.
fn had_before(trial: &Trial, flip: &Flip<'_>) -> bool {
    let (away, _) = flip.away;
    let earlier = trial.run.history.commits().take_while(|commit| commit.revision < away.revision);
    let objects = earlier.filter(|commit| commit.key == away.key).map(|commit| &*commit.object);
    let start = trial.run.start.iter().filter(|(key, _)| *key == away.key);
    let mut objects = start.map(|(_, object)| &**object).chain(objects);
    objects.any(|object| flip.path.value(object) == Some(&flip.to))
}

fn violated(trial: &Trial, baseline: &Baseline, folder: &Folder, flip: &Flip<'_>) -> Verdict {
    let ((away, since), (back, until)) = (flip.away, flip.back);
    let key = folder.key(&away.key);
    let role = Role::of(&key, &folder.object(&away.key, &away.object, &baseline.masks));
    let place = fold_path(&flip.path);
    let (actor, did) = (whose(&away.actor), format!("wrote {place} of"));
    let found = Found { cause: Cause::Write { actor, did, object: key }, commit: Some(away) };
    let fingerprint = Fingerprint::new(Oracle::Rollback, [format!("rollback {role} {place}")]);
    let rollback = Evidence::Rollback {
        object: away.key.to_string(),
        path: flip.path.clone(),
        from: flip.from.clone(),
        to: flip.to.clone(),
        back: back.revision,
        lasted: until.since(since).as_secs_f64(),
        replaced: replaced(trial, away, back, until),
    };
    let (from, to) = super::end_state::beside(&flip.from, &flip.to);
    Verdict {
        oracle: Oracle::Rollback,
        value: VerdictValue::Violated,
        title: format!(
            "{role} {} went back from {from} to {to} and forward again; in undisturbed runs it does not",
            flip.path
        ),
        fingerprint: fingerprint.caused_by(&found.cause),
        evidence: [rollback].into_iter().chain(found.evidence()).collect(),
    }
}

/// Pods of the object that were deleted meanwhile, or right after: through their owners.
fn replaced(trial: &Trial, away: &Commit, back: &Commit, until: Time) -> usize {
    // What the cluster does with a value comes within a minute, or not because of it.
    const AFTERWARDS: std::time::Duration = std::time::Duration::from_secs(60);
    let mut family: BTreeSet<&str> = [uid(&away.object)].into();
    let mut pods = BTreeSet::new();
    for (_, object) in trial.run.start.iter() {
        if owners(object).any(|owner| family.contains(owner)) {
            family.insert(uid(object));
        }
    }
    for record in &trial.run.history.records {
        let Event::Commit(commit) = &record.event else { continue };
        if !owners(&commit.object).any(|owner| family.contains(owner)) {
            continue;
        }
        family.insert(uid(&commit.object));
        let meanwhile = commit.revision > away.revision
            && (commit.revision < back.revision || record.at.since(until) <= AFTERWARDS);
        let went = commit.change == Change::Deleted && *commit.key.resource.resource == *"pods";
        if went && meanwhile && matches!(commit.actor, Actor::Environment(_)) {
            pods.insert(uid(&commit.object));
        }
    }
    pods.len()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::fixture::{Builder, SUBJECT, agreed};

    fn child(builder: Builder, image: &str) -> Builder {
        let object = json!({"kind": "ConfigMap", "data": {"image": image}});
        builder.put(SUBJECT, "configmaps/default/child", object)
    }

    fn asked(builder: Builder, image: &str) -> Builder {
        let object = json!({"kind": "Bar", "spec": {"image": image}});
        builder.put(Actor::User, "bars.example.com/default/bar", object)
    }

    /// The user asks for one image and then for another.
    fn upgraded() -> Builder {
        let first = child(asked(Builder::new().started().called(), "one"), "one");
        child(asked(first, "two"), "two")
    }

    #[track_caller]
    fn check(trial: Builder, expect: Option<&str>) {
        let undisturbed = || upgraded().settle(2, true).run();
        let baseline = agreed(&[undisturbed(), undisturbed()]);
        let verdict = judge(&trial.settle(2, true).trial(), &baseline);
        let violated = verdict.value == VerdictValue::Violated;
        assert_eq!(violated.then_some(&*verdict.title), expect);
    }

    #[test]
    fn a_field_that_goes_back_and_forward_is_a_rollback() {
        let title = "configmaps/default/child .data.image went back from \"two\" to \"one\" and forward again; in \
                     undisturbed runs it does not";
        check(child(child(upgraded().crash("a crash"), "one"), "two"), Some(title));
        let fork = Builder::fork_of(&upgraded(), 2).crash("a crash");
        check(child(child(fork, "one"), "two"), Some(title));
        // It stays there: that is for the end state to say.
        check(child(upgraded().crash("a crash"), "one"), None);
        // Nobody wrote this value before.
        check(child(child(upgraded().crash("a crash"), "three"), "two"), None);
        // The user asked for it.
        let again = child(asked(upgraded().crash("a crash"), "one"), "one");
        check(child(asked(again, "two"), "two"), None);
    }
}
