//! What is judged: one run, or one trial of a plan, as it was stored.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
    time::Duration,
};

use serde::{Deserialize, Serialize};
use serde_json::Value;
use trace::{
    Actor, CallId, Change, Commit, Cursor, Event, Folder, GroupResource, History, Masks, ObjectKey,
    Settled, StepState, WorldForm, comparison,
};

/// One run: the world at its start, and all that happened.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Run {
    /// Objects when the history begins: the world at the fork, or what stood there before the workload.
    pub start: Arc<Vec<(ObjectKey, Arc<Value>)>>,
    /// Where the workload stood then.
    pub start_cursor: Cursor,
    /// Names known to be generated, besides those that the history shows to be.
    pub generated_names: Vec<String>,
    /// What happened.
    pub history: Arc<History>,
}

/// One perturbation of the plan that a trial carries out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Planned {
    /// `intermediate-state`, `stale-state`, …
    pub family: String,
    /// In words: `kill subject/0 after its 1st create of foos.example.com`.
    pub text: String,
    /// Whether it is a plain restart when all had settled at the end.
    #[serde(default)]
    pub when_settled: bool,
}

impl Planned {
    /// What is said of one that was not carried out.
    pub fn not_reached(&self) -> &'static str {
        match &*self.family {
            "intermediate-state" => "the crash point was not reached",
            _ => "the point of the perturbation was not reached",
        }
    }
}

/// A run with perturbations.
///
/// A perturbation was carried out if the history has an [`Event::Perturbed`] with its index; a fork that
/// begins with a restart has that record before everything else.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trial {
    /// What happened.
    pub run: Run,
    /// What the plan asked for, in its order.
    pub perturbations: Vec<Planned>,
    /// After how long a store that still changed was given up; none: a day.
    pub at_most: Option<Duration>,
}

impl Trial {
    /// The plan's families, sorted, each once, joined with `+`.
    pub fn family(&self) -> String {
        let families: BTreeSet<&str> =
            self.perturbations.iter().map(|planned| &*planned.family).collect();
        families.into_iter().collect::<Vec<_>>().join("+")
    }

    /// Position of the first record after the last perturbation that was carried out.
    pub fn after_last_perturbation(&self) -> usize {
        self.run.history.after_last_perturbation()
    }

    /// Perturbations that were never carried out.
    pub fn never_fired(&self) -> Vec<&Planned> {
        let fired: BTreeSet<u32> = self
            .run
            .history
            .records
            .iter()
            .filter_map(|record| match record.event {
                Event::Perturbed { index, .. } => Some(index),
                _ => None,
            })
            .collect();
        let planned = self.perturbations.iter().zip(0..);
        planned.filter(|(_, index)| !fired.contains(index)).map(|(planned, _)| planned).collect()
    }
}

impl Run {
    /// Every generated name that the run shows: given, or answered to a create without a name.
    pub fn generated_names(&self) -> BTreeSet<&str> {
        let mut nameless: BTreeSet<CallId> = BTreeSet::new();
        for call in self.history.calls() {
            let metadata = call.body.json().and_then(|body| body.get("metadata"));
            let has = |field| metadata.is_some_and(|metadata| metadata.get(field).is_some());
            if has("generateName") && !has("name") {
                nameless.insert(call.id);
            }
        }
        let given = self.generated_names.iter().map(String::as_str);
        let answered = self
            .history
            .commits()
            .filter(|commit| commit.change == Change::Created)
            .filter(|commit| commit.call.is_some_and(|call| nameless.contains(&call)))
            .map(|commit| &*commit.key.name);
        given.chain(answered).collect()
    }

    /// Folds any object of this run.
    pub fn folder(&self) -> Folder {
        let start = self.start.iter().map(|(key, object)| (key, object));
        let commits = self.history.commits().map(|commit| (&commit.key, &commit.object));
        Folder::new(start.chain(commits), self.generated_names())
    }

    /// The state at a settle.
    pub(crate) fn state_at<'r>(&self, settled: &'r Settled) -> Vec<(ObjectKey, &'r Arc<Value>)> {
        let resources = Resources::of(self);
        settled.state.iter().map(|object| (resources.key(object), object)).collect()
    }

    /// The state at a settle in comparison form.
    pub fn world_at(&self, settled: &Settled, masks: &Masks) -> WorldForm {
        let keyed = self.state_at(settled);
        let objects = keyed.iter().map(|(key, object)| (key, *object));
        comparison(objects, self.generated_names(), masks)
    }

    /// Commits that matter, in order.
    pub(crate) fn moves(&self) -> Vec<Move<'_>> {
        let mut settled = None;
        let mut cursor = self.start_cursor;
        let mut moves = Vec::new();
        for (at, record) in self.history.records.iter().enumerate() {
            match &record.event {
                Event::Settled(moment) => settled = Some(moment.cursor),
                Event::Step(step) if step.state == StepState::Done => cursor = step.cursor,
                Event::Commit(commit) if !commit.is_bookkeeping() => {
                    moves.push(Move { at, commit, settled, cursor });
                }
                _ => {}
            }
        }
        moves
    }
}

/// A commit and where it stands.
pub(crate) struct Move<'r> {
    /// Position of its record.
    pub at: usize,
    pub commit: &'r Commit,
    /// The last settle before it.
    pub settled: Option<Cursor>,
    /// How far the workload was.
    pub cursor: Cursor,
}

/// Which resource a kind belongs to, as far as the run itself shows it.
struct Resources(BTreeMap<(String, String), GroupResource>);

impl Resources {
    fn of(run: &Run) -> Resources {
        let start = run.start.iter().map(|(key, object)| (key, object));
        let commits = run.history.commits().map(|commit| (&commit.key, &commit.object));
        let known = start.chain(commits);
        Resources(
            known.map(|(key, object)| (group_and_kind(object), key.resource.clone())).collect(),
        )
    }

    fn key(&self, object: &Value) -> ObjectKey {
        let (group, kind) = group_and_kind(object);
        let guessed = || GroupResource::new(&group, &plural(&kind));
        let resource = self.0.get(&(group.clone(), kind.clone())).cloned().unwrap_or_else(guessed);
        let field = |name| {
            object.get("metadata").and_then(|meta| meta.get(name)?.as_str()).unwrap_or_default()
        };
        ObjectKey::new(resource, field("namespace"), field("name"))
    }
}

fn group_and_kind(object: &Value) -> (String, String) {
    let text = |name| object.get(name).and_then(Value::as_str).unwrap_or_default();
    let group = text("apiVersion").split_once('/').map_or("", |(group, _)| group);
    (group.to_owned(), text("kind").to_owned())
}

/// The usual plural (`meta.UnsafeGuessKindToResource`), for objects that the run never touched.
fn plural(kind: &str) -> String {
    let lower = kind.to_ascii_lowercase();
    match lower.as_bytes().last() {
        Some(b's') => lower + "es",
        Some(b'y') => lower[..lower.len() - 1].to_owned() + "ies",
        _ if lower == "endpoints" => lower,
        _ => lower + "s",
    }
}

/// Who did it, for a sentence: `the user`, `subject/0`.
pub(crate) fn by(actor: &Actor) -> String {
    match actor {
        Actor::User => "the user".to_owned(),
        other => other.to_string(),
    }
}
