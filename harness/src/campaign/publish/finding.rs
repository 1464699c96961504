//! A finding as the report shows it.

use std::collections::BTreeMap;

use oracles::{Oracle, Severity, Verdict};
use serde_json::Value;
use trace::WorldForm;

use super::{by_hand, replay_file};
use crate::{
    campaign::{
        confirm::{self, Tried},
        elsewhere::Elsewhere,
        explore::{Carried, Explored},
        judge,
        reference::References,
        run_folder::RunFolder,
        setup::Setup,
    },
    report::{difference, model, timeline},
    trial::history_file,
};

/// The finding, explained.
pub fn finding(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
    explored: &Explored,
    (found, elsewhere): (&confirm::Finding, &[Elsewhere]),
) -> model::Finding {
    let trial = judge::trial_view(&found.shown);
    let explanation = oracles::explain(&trial, &references.baseline, &found.verdict);
    let mut sentences = explanation.sentences;
    let because = without(&sentences.pop().unwrap_or_default(), &["because "]);
    let then = without(&sentences.pop().unwrap_or_default(), &["Then "]);
    let given: Vec<String> =
        sentences.iter().map(|sentence| without(sentence, &["Let ", "and let "])).collect();
    let legality: Vec<String> = found
        .citations()
        .map(|citation| {
            format!("a real cluster may do this: {} ({})", citation.rule, citation.source)
        })
        .collect();
    let legal_on = found.citations().filter_map(|citation| citation.legal_on);
    let diff = end_state_diff(references, found);
    let replay = replay_file::of_finding(setup, &references.settle, (found, elsewhere), folder);
    model::Finding {
        id: found.id.clone(),
        title: found.verdict.title.clone(),
        family: found.plan.families(),
        oracle: found.verdict.oracle.to_string(),
        confirmed: model::Confirmed { k: found.confirmed.0, n: found.confirmed.1 },
        confirmed_on: elsewhere.iter().map(on).collect(),
        trials: trials(explored, &found.verdict, found.ids()),
        also: found
            .also
            .iter()
            .map(|also| model::Also { id: also.id.clone(), title: also.title.clone() })
            .collect(),
        replay: replay.name,
        replay_command: replay.command,
        replay_text: replay.text,
        explanation: model::Explanation {
            saw: saw(&trial, found),
            given,
            then,
            because: [because].into_iter().chain(legality).collect::<Vec<_>>().join("; "),
            legal_on: legal_on.map(model::LegalOn::from).collect(),
        },
        path: found.verdict.path().map_or(vec![], |(steps, cycle)| path(steps, cycle)),
        timeline: timeline::around_perturbation(&found.shown.history),
        kubectl_steps: by_hand::steps(setup, found, &diff),
        diff,
    }
}

/// Steps that are shown of a path, from its end; those of its endless part come all.
const STEPS_SHOWN: usize = 40;

/// A path as lines: the steps with their numbers, and how it goes on.
fn path(steps: &[String], cycle: Option<usize>) -> Vec<String> {
    let from = steps.len().saturating_sub(STEPS_SHOWN).min(cycle.unwrap_or(usize::MAX));
    let earlier = (from > 0).then(|| format!("… {from} earlier steps, in verdicts.json"));
    let numbered = steps.iter().enumerate().skip(from);
    let shown = numbered.map(|(at, step)| {
        let mark = if cycle.is_some_and(|cycle| cycle <= at) { "↻" } else { " " };
        format!("{mark} {:>3}. {step}", at + 1)
    });
    let then = cycle.map(|cycle| match cycle < steps.len() {
        true => format!("and again from step {}, for ever", cycle + 1),
        false => "and nothing happens any more".to_owned(),
    });
    earlier.into_iter().chain(shown).chain(then).collect()
}

fn on(elsewhere: &Elsewhere) -> model::ConfirmedOn {
    let Elsewhere { cluster, reproduced: (k, n), why } = elsewhere.clone();
    model::ConfirmedOn { cluster, k, n, why }
}

/// What was suspected and is no finding.
pub fn suspicion(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
    explored: &Explored,
    suspected: &confirm::Unconfirmed,
) -> model::Suspicion {
    let severity = suspected.verdict.oracle.severity();
    let id = suspected.verdict.fingerprint.id();
    let replay = replay_file::of_suspicion(setup, &references.settle, suspected, folder);
    let first = |carried: &&Carried| shown(carried, severity).first() == Some(&id);
    let kept = explored.trials.iter().filter(first).find_map(|carried| carried.folder.as_ref());
    let history = kept.map(|folder| format!("{folder}/{}", history_file::NAME));
    let state = match suspected.tried {
        Tried::Not => {
            "not tried to confirm, for the budget, or an interrupt, ended the run before".to_owned()
        }
        Tried::Reproduced(k, n) if k == n => {
            format!("reproduced {k} of {n}, and not yet confirmed when the run ended")
        }
        Tried::Reproduced(k, n) if references.settle.confirms_longer() => format!(
            "not confirmed, reproduced {k} of {n} by runs that wait for ten minutes: the controller may only be late"
        ),
        Tried::Reproduced(k, n) => format!("not confirmed, reproduced {k} of {n}"),
        Tried::ControlFailed => {
            "not confirmed, for undisturbed runs that wait as long show it too, or prove nothing"
                .to_owned()
        }
    };
    model::Suspicion {
        severity,
        title: suspected.verdict.title.clone(),
        oracle: suspected.verdict.oracle.to_string(),
        state,
        plan: suspected.plan.to_string(),
        trials: trials(explored, &suspected.verdict, [&*id]),
        history,
        replay: replay.name,
        replay_command: replay.command,
        replay_text: replay.text,
        id,
    }
}

/// Trials of the exploration that show one of these fingerprints first, by the family of their plan. What the user asked
/// for counts beside what else a trial shows.
fn trials<'i>(
    explored: &Explored,
    verdict: &Verdict,
    ids: impl IntoIterator<Item = &'i str>,
) -> BTreeMap<String, u64> {
    let ids: Vec<&str> = ids.into_iter().collect();
    let mut trials = BTreeMap::new();
    for carried in &explored.trials {
        let shown = shown(carried, verdict.oracle.severity());
        let looked_at = if verdict.oracle == Oracle::Property { shown.len() } else { 1 };
        if shown.iter().take(looked_at).any(|id| ids.contains(&&**id)) {
            *trials.entry(carried.plan.families()).or_default() += 1;
        }
    }
    trials
}

/// The fingerprints of this severity that a trial showed.
fn shown(carried: &Carried, severity: Severity) -> &[String] {
    match severity {
        Severity::Lasting => &carried.fingerprints,
        Severity::Transient => &carried.transient,
    }
}

/// What the controller saw beside what was true; nothing where it was only killed, because then it sees what is.
fn saw(trial: &oracles::Trial, found: &confirm::Finding) -> Vec<String> {
    match found.plan.takes_time() {
        true => oracles::explain::seen(trial, &found.verdict),
        false => vec![],
    }
}

/// A sentence without its first word, which the report sets itself, and without its end.
fn without(sentence: &str, words: &[&str]) -> String {
    let bare = words.iter().find_map(|word| sentence.strip_prefix(word)).unwrap_or(sentence);
    bare.trim_end_matches(['.', ',']).to_owned()
}

/// The settle that shows the difference best: the last one that both have.
fn end_state_diff(references: &References, found: &confirm::Finding) -> Vec<model::ObjectDiff> {
    let view = judge::run_view(&found.shown);
    let masks = &references.baseline.masks;
    let differing = found.shown.history.settles().filter_map(|settled| {
        let world = view.world_at(settled, masks);
        let expected = references.baseline.expected(settled.cursor, &world)?;
        if expected.end != settled.end {
            return None;
        }
        let shown = difference::end_states(&objects(&expected.world), &objects(&world));
        (!shown.is_empty()).then_some(shown)
    });
    differing.last().unwrap_or_default()
}

fn objects(world: &WorldForm) -> BTreeMap<String, Value> {
    world.objects().map(|(key, object)| (key.clone(), (***object).clone())).collect()
}
