//! A finding as the report shows it.

use std::collections::BTreeMap;

use plans::Family;
use serde_json::Value;
use trace::WorldForm;

use super::{by_hand, replay_file};
use crate::{
    campaign::{
        confirm::{self, Tried},
        explore::Explored,
        judge,
        reference::References,
        run_folder::RunFolder,
        setup::Setup,
    },
    report::{difference, model, timeline},
};

/// The finding, explained.
pub fn finding(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
    explored: &Explored,
    found: &confirm::Finding,
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
    model::Finding {
        id: found.id.clone(),
        title: found.verdict.title.clone(),
        family: found.plan.family().map_or(String::new(), |family| family.to_string()),
        oracle: found.verdict.oracle.to_string(),
        confirmed: model::Confirmed { k: found.confirmed.0, n: found.confirmed.1 },
        trials: trials(explored, &found.id),
        replay_command: replay_file::command(setup, &references.settle, found, folder),
        replay: replay_file::name(found),
        explanation: model::Explanation {
            saw: saw(&trial, found),
            given,
            then,
            because: format!("{because}; {}", legality.join("; ")),
            legal_on: legal_on.map(model::LegalOn::from).collect(),
        },
        timeline: timeline::around_perturbation(&found.shown.history),
        kubectl_steps: by_hand::steps(setup, found, &diff),
        diff,
        replay_text: replay_file::text(setup, &references.settle, found),
    }
}

/// What was suspected and is no finding.
pub fn suspicion(explored: &Explored, suspected: &confirm::Unconfirmed) -> model::Suspicion {
    let state = match suspected.tried {
        Tried::Not => {
            "not tried to confirm, for the budget, or an interrupt, ended the run before".to_owned()
        }
        Tried::Reproduced(k, n) => format!("not confirmed, reproduced {k} of {n}"),
        Tried::ControlFailed => {
            "not confirmed, for undisturbed runs that wait as long show it too, or prove nothing"
                .to_owned()
        }
    };
    model::Suspicion {
        id: suspected.id.clone(),
        title: suspected.title.clone(),
        state,
        plan: suspected.plan.to_string(),
        trials: trials(explored, &suspected.id),
    }
}

/// Trials of the exploration whose first violated verdict has this fingerprint, by the family of their plan.
fn trials(explored: &Explored, id: &str) -> BTreeMap<String, u64> {
    let mut trials = BTreeMap::new();
    for carried in &explored.trials {
        if carried.fingerprints.first().is_some_and(|first| first == id) {
            let family = carried.plan.family().map_or("undisturbed", Family::name);
            *trials.entry(family.to_owned()).or_default() += 1;
        }
    }
    trials
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
