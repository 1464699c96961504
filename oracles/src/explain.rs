//! Tells people why: what was done, what came of it, and where the trial left the references' way.

mod seen;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::{Actor, Change, Event, Revision};

use crate::{
    baseline::{Baseline, Life, Written, did, digest},
    cause::NOBODY,
    run::{Trial, by},
    verdict::{Evidence, Oracle, Verdict, VerdictValue},
};

/// The first wrong write: the commit that led to what the verdict names, or else the first after the last perturbation that
/// no reference makes (so often).
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Divergence {
    /// `sequence` of its record.
    pub sequence: u64,
    /// The revision that it made.
    pub revision: Revision,
    /// What it did.
    pub change: Change,
    /// To which object, with its real name.
    pub object: String,
    /// Who did it.
    pub actor: Actor,
    /// How often such a commit had been made by then, this one included.
    pub times: u32,
    /// The most often that a reference makes it.
    pub references: u32,
}

/// Why a verdict is what it is.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Explanation {
    /// Where the trial left the references' way, if it did.
    pub divergence: Option<Divergence>,
    /// `Let …`, `Then …`, `because …`: one line each.
    pub sentences: Vec<String>,
}

pub use self::seen::seen;

/// Explains one verdict of a trial.
pub fn explain(trial: &Trial, baseline: &Baseline, verdict: &Verdict) -> Explanation {
    // The cause counts, where one is known; if that is a write that never came, no other write is to blame.
    let divergence = match never_came(verdict) {
        Some(_) => None,
        None => divergence(trial, baseline, verdict.wrong_write()),
    };
    let mut sentences = Vec::new();
    for record in &trial.run.history.records {
        if let Event::Perturbed { text, .. } = &record.event {
            let word = if sentences.is_empty() { "Let" } else { "and let" };
            sentences.push(format!("{word} {text}."));
        }
    }
    let sure = if verdict.value == VerdictValue::Unknown { "nothing is known: " } else { "" };
    sentences.push(format!("Then {sure}{}{},", verdict.title, meanwhile(verdict)));
    sentences.push(match &divergence {
        _ if verdict.oracle == Oracle::Model => "which no run of the model shows.".to_owned(),
        Some(divergence) => format!("because {}.", because(divergence)),
        None => match (never_came(verdict), missing(trial, baseline)) {
            (Some(cause), _) => format!("because {cause}, as undisturbed runs do."),
            (None, Some(next)) => {
                format!("because the next write of the undisturbed run never came: {}.", next.text)
            }
            (None, None) => "because it makes the writes of an undisturbed run in another order or at another time."
                .to_owned(),
        },
    });
    Explanation { divergence, sentences }
}

/// The write that never came, if that is all that is known.
fn never_came(verdict: &Verdict) -> Option<&str> {
    verdict.fingerprint.cause().filter(|cause| cause.starts_with(NOBODY))
}

/// How long a rollback lasted, and what the cluster did with it.
fn meanwhile(verdict: &Verdict) -> String {
    let rollback = verdict.evidence.iter().find_map(|evidence| match evidence {
        Evidence::Rollback { lasted, replaced, .. } => Some((lasted, replaced)),
        _ => None,
    });
    match rollback {
        None => String::new(),
        Some((lasted, 0)) => format!("; it lasted {lasted:.1} s"),
        Some((lasted, 1)) => format!("; it lasted {lasted:.1} s, and 1 Pod was replaced"),
        Some((lasted, pods)) => format!("; it lasted {lasted:.1} s, and {pods} Pods were replaced"),
    }
}

fn because(divergence: &Divergence) -> String {
    let Divergence { object, actor, revision, times, references, .. } = divergence;
    let did = did(divergence.change);
    let actor = by(actor);
    match (divergence.change, *references) {
        (Change::Created, 1..) => format!(
            "{actor} {did} {object} (revision {revision}), number {times} of its kind; undisturbed runs have {references}"
        ),
        (_, most) if *times <= most => format!(
            "{actor} {did} {object} (revision {revision}), as undisturbed runs do, but at another time"
        ),
        (_, 0) => format!(
            "{actor} {did} {object} (revision {revision}); no undisturbed run makes this write"
        ),
        (_, most) => {
            let most = if most == 1 { "once".to_owned() } else { format!("{most} times") };
            format!(
                "{actor} {did} {object} in the same way {times} times (revision {revision}); undisturbed runs do it \
                 at most {most}"
            )
        }
    }
}

/// The first write of the undisturbed run that the trial lacks, after the first that both made: a fork's history begins
/// in the middle.
fn missing<'b>(trial: &Trial, baseline: &'b Baseline) -> Option<&'b Written> {
    let folder = trial.run.folder();
    let mut made: BTreeMap<String, u32> = BTreeMap::new();
    for happened in trial.run.moves() {
        *made.entry(digest(happened.commit, &folder, &baseline.masks)).or_default() += 1;
    }
    let mut both = false;
    baseline.order.iter().find(|written| {
        let left = made.get_mut(&written.digest).filter(|left| **left > 0);
        let found = left.map(|left| *left -= 1).is_some();
        both |= found;
        both && !found
    })
}

fn divergence(
    trial: &Trial,
    baseline: &Baseline,
    wrong_write: Option<Revision>,
) -> Option<Divergence> {
    let folder = trial.run.folder();
    let after = trial.after_last_perturbation();
    // Creations are counted by key, and what stands at the start was created once: a fork's history does
    // not show it. Other commits are counted by content.
    let mut created: BTreeMap<String, u32> = BTreeMap::new();
    for (key, _) in trial.run.start.iter() {
        *created.entry(folder.key(key)).or_default() += 1;
    }
    let mut made: BTreeMap<String, u32> = BTreeMap::new();
    for happened in trial.run.moves() {
        let commit = happened.commit;
        let key = folder.key(&commit.key);
        let digest = digest(commit, &folder, &baseline.masks);
        let known = baseline.commits.get(&digest).copied().unwrap_or(0);
        let content = made.entry(digest).or_default();
        *content += 1;
        let (mut times, mut references) = (*content, known);
        if commit.change == Change::Created {
            let count = created.entry(key.clone()).or_default();
            *count += 1;
            let life = baseline.lives.get(&key);
            let most = life.map_or(0, Life::known_max);
            if *count > most {
                (times, references) = (*count, most);
            }
        }
        let is_it = match wrong_write {
            Some(revision) => commit.revision == revision,
            None => happened.at >= after && times > references,
        };
        if is_it {
            return Some(Divergence {
                sequence: trial.run.history.records[happened.at].sequence,
                revision: commit.revision,
                change: commit.change,
                object: commit.key.to_string(),
                actor: commit.actor.clone(),
                times,
                references,
            });
        }
    }
    None
}
