//! Did what lives to the end in all references live on?
//!
//! A deletion counts if it comes after the last perturbation, and later in the workload than any that a
//! reference makes of such an object, or (fixed names) beyond the number of deletions that any makes. What goes before the
//! workload is where references make it for the last time was never the one that lives on. Of generated siblings only those
//! count that stood there when the perturbation came: a surplus one that the subject cleans up is no loss. Surplus creations
//! are reported, not judged.
//!
//! **One loss names the verdict**: the one that was asked for first. Others follow from it, as Pods go with their owner.

use std::collections::{BTreeMap, BTreeSet};

use trace::{Change, Commit, Cursor, Folder, ObjectKey};

use super::ended;
use crate::{
    baseline::{Baseline, Life, segment},
    cause::{Cause, Causes},
    role::Role,
    run::{Move, Trial},
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Verdict {
    let folder = trial.run.folder();
    let moves = trial.run.moves();
    let losses = losses(trial, baseline, &folder, &moves);
    let surplus = surplus(trial, baseline, &folder, &moves);
    if losses.is_empty() {
        let mut verdict = if ended(trial) {
            Verdict::held(
                Oracle::ObjectLives,
                "every object that stays until the end of undisturbed runs stayed",
            )
        } else {
            Verdict::unknown(Oracle::ObjectLives, "the end was not reached")
        };
        verdict.evidence = surplus;
        return verdict;
    }
    let causes = Causes::new(trial, baseline, &folder);
    let caused = losses.iter().filter_map(|loss| Some((causes.of_commit(loss.commit)?, loss)));
    let first = caused.min_by_key(|(found, loss)| {
        (found.commit.map(|commit| commit.revision), loss.commit.revision)
    });
    let Some((found, loss)) = first else {
        return Verdict::unknown(Oracle::ObjectLives, "a deletion is in no history");
    };
    let value = folder.object(&loss.commit.key, &loss.commit.object, &baseline.masks);
    let role = Role::of(&folder.key(&loss.commit.key), &value);
    let kind = if loss.recreated { "recreated" } else { "deleted" };
    let fingerprint = Fingerprint::new(Oracle::ObjectLives, [format!("{kind} {role}")]);
    Verdict {
        oracle: Oracle::ObjectLives,
        value: VerdictValue::Violated,
        title: loss.title(&role, &found.cause),
        fingerprint: fingerprint.caused_by(&found.cause),
        evidence: losses
            .iter()
            .map(Loss::evidence)
            .chain(found.evidence())
            .chain(surplus)
            .collect(),
    }
}

/// A deletion that counts.
struct Loss<'t> {
    commit: &'t Commit,
    /// Whether one like it was created later.
    recreated: bool,
}

impl Loss<'_> {
    fn evidence(&self) -> Evidence {
        Evidence::Deleted {
            object: self.commit.key.to_string(),
            actor: self.commit.actor.clone(),
            revision: self.commit.revision,
            recreated: self.recreated,
        }
    }

    fn title(&self, role: &Role, cause: &Cause) -> String {
        let what = if self.recreated { "deleted and created again" } else { "deleted" };
        let by = match cause {
            Cause::Write { actor, object, .. } if *object == role.key => format!("by {actor}"),
            cause => format!("because {cause}"),
        };
        format!("{role} was {what} {by}; in undisturbed runs it stays until the end")
    }
}

fn losses<'t>(
    trial: &Trial,
    baseline: &Baseline,
    folder: &Folder,
    moves: &[Move<'t>],
) -> Vec<Loss<'t>> {
    let after = trial.after_last_perturbation();
    let settles: Vec<Cursor> = baseline.settles.iter().map(|settled| settled.cursor).collect();
    let mut standing: BTreeSet<&ObjectKey> = trial.run.start.iter().map(|(key, _)| key).collect();
    // A fork's history lacks the deletions before it: counting them as none errs on the quiet side.
    let mut deletions: BTreeMap<&ObjectKey, u32> = BTreeMap::new();
    let mut losses = Vec::new();
    for (at, happened) in moves.iter().enumerate() {
        let commit = happened.commit;
        let before = happened.at < after;
        let deleted = deletions.entry(&commit.key).or_default();
        *deleted += u32::from(commit.change == Change::Deleted);
        match commit.change {
            Change::Created if before => {
                standing.insert(&commit.key);
            }
            Change::Deleted if before => {
                standing.remove(&commit.key);
            }
            Change::Deleted => {
                let Some(life) = baseline.lives.get(&folder.key(&commit.key)) else { continue };
                let generated = folder.is_generated(&commit.key);
                let surplus = generated && !standing.contains(&commit.key);
                let late = life.lives_on(segment(happened, &trial.run, &settles));
                let once_more = !generated && life.ended.min > 0 && *deleted > life.deleted.max;
                // What stands there too early is none that a reference keeps.
                let early = !generated && life.made_at.is_some_and(|made| happened.cursor < made);
                if !surplus && !early && (late || once_more) {
                    let recreated = created_later(&moves[at + 1..], folder, &commit.key);
                    losses.push(Loss { commit, recreated });
                }
            }
            Change::Created | Change::Updated => {}
        }
    }
    losses
}

/// Whether one like it (a sibling, if its name is generated) was created later.
fn created_later(later: &[Move<'_>], folder: &Folder, key: &ObjectKey) -> bool {
    let folded = folder.key(key);
    later.iter().any(|happened| {
        happened.commit.change == Change::Created && folder.key(&happened.commit.key) == folded
    })
}

fn surplus(
    trial: &Trial,
    baseline: &Baseline,
    folder: &Folder,
    moves: &[Move<'_>],
) -> Vec<Evidence> {
    let mut created: BTreeMap<String, u32> = BTreeMap::new();
    for (key, _) in trial.run.start.iter().filter(|(key, _)| !key.resource.is_bookkeeping()) {
        *created.entry(folder.key(key)).or_default() += 1;
    }
    for happened in moves.iter().filter(|happened| happened.commit.change == Change::Created) {
        *created.entry(folder.key(&happened.commit.key)).or_default() += 1;
    }
    let most = |key: &str| baseline.lives.get(key).map_or(0, Life::known_max);
    created
        .into_iter()
        .filter(|(key, count)| *count > most(key) && !baseline.masks.leave_out(key))
        .map(|(objects, trial)| Evidence::Surplus { references: most(&objects), objects, trial })
        .collect()
}
