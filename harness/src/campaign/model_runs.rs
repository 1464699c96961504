//! Runs of models that the controller is led along: `spec.schedules`, `--schedule`.
//!
//! Each becomes a plan, which is carried out from the beginning like any other. The run is judged like any other, and held
//! against the model besides. Runs with the same crashes are one plan. Of those of one model and binding the model leaves open
//! which the controller takes, so it may take any; it has to keep to each model.

mod binding;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
};

use model::{
    Binding, Schedule,
    schedule::{Disagreement, Followed, How},
    tla::{self, Limits, Specification, TlaError},
    traces::{self, Graph, Read, Trace},
};
use oracles::{Parted, Verdict};
use plans::{Plan, PlanId, Replay};
use serde::Deserialize;

pub use self::binding::Surroundings;
use crate::{
    campaign::expression,
    config::{Campaign, ScheduleSpec, reading},
    exit::{Exit, Expected},
    report::plain,
    trial::{RunEnd, TrialRun},
};

/// What a campaign knows of models.
#[derive(Debug, Default)]
pub struct ModelRuns {
    /// In the order in which they were given; no two have the same plan.
    groups: Vec<(Plan, Vec<Schedule>)>,
    by_plan: BTreeMap<PlanId, usize>,
}

/// Traces of the command line, whose paths are relative to where the user stands.
///
/// # Errors
/// That can't be told.
pub fn named(traces: &[PathBuf], binding: &Path) -> std::io::Result<Vec<ScheduleSpec>> {
    let binding = std::path::absolute(binding)?;
    let spec = |trace: &PathBuf| {
        let (trace, binding) = (std::path::absolute(trace)?, binding.clone());
        Ok(ScheduleSpec { trace, binding })
    };
    traces.iter().map(spec).collect()
}

impl ModelRuns {
    /// Reads all that the campaign names. What is bound and in no run is told on stderr.
    ///
    /// # Errors
    /// Wrong files, with their places; names of trace and binding that do not fit; what a binding names and there is not:
    /// exit 64.
    pub fn load(campaign: &Campaign, there: &Surroundings<'_>) -> anyhow::Result<ModelRuns> {
        let mut runs = ModelRuns::default();
        let mut names: Vec<(String, PathBuf)> = vec![];
        // By binding: it may be that of several models.
        let mut seen: BTreeMap<PathBuf, (Binding, BTreeSet<String>)> = BTreeMap::new();
        for ScheduleSpec { trace, binding } in &campaign.file.spec.schedules {
            let (trace, binding) = (campaign.resolve(trace), campaign.resolve(binding));
            let bound: Binding = reading::spec(&reading::text(&binding)?, &binding, "Binding")?;
            let wrong = |what: String| usage(format!("{}: {what}", binding.display()));
            there.check(&bound).map_err(wrong)?;
            let model = name_of(&trace, &mut names);
            for run in runs_of(&trace)? {
                let schedule = Schedule::of(&model, &run, &bound)
                    .map_err(|error| wrong(format!("{}: {error}", trace.display())))?;
                let (_, actions) =
                    seen.entry(binding.clone()).or_insert_with(|| (bound.clone(), BTreeSet::new()));
                actions.extend(schedule.steps.iter().map(|step| step.action.clone()));
                runs.add(schedule.plan(), schedule);
            }
        }
        for (file, (bound, actions)) in &seen {
            let unused = binding::unused(bound, actions).join(", ");
            if !unused.is_empty() {
                tell(&format!("{}: spec.actions: bound, but in no run: {unused}", file.display()));
            }
        }
        Ok(runs)
    }

    /// Those of a replay file, for its plan.
    ///
    /// # Errors
    /// They are none.
    pub fn of_replay(replay: &Replay) -> Result<ModelRuns, serde_json::Error> {
        let mut runs = ModelRuns::default();
        for schedule in &replay.schedules {
            runs.add(replay.plan.clone(), Schedule::deserialize(schedule)?);
        }
        Ok(runs)
    }

    fn add(&mut self, plan: Plan, schedule: Schedule) {
        let at = *self.by_plan.entry(plan.id()).or_insert_with(|| {
            self.groups.push((plan, vec![]));
            self.groups.len() - 1
        });
        let group = &mut self.groups[at].1;
        if !group.contains(&schedule) {
            group.push(schedule);
        }
    }

    /// What is to be carried out.
    pub fn plans(&self) -> impl Iterator<Item = &Plan> {
        self.groups.iter().map(|(plan, _)| plan)
    }

    /// The runs of the model that this plan leads along.
    pub fn of(&self, plan: &Plan) -> &[Schedule] {
        self.by_plan.get(&plan.id()).map_or(&[], |at| &self.groups[*at].1)
    }

    /// What the model says of a trial; none if the trial was to follow none.
    pub fn verdict(&self, run: &TrialRun) -> Option<Verdict> {
        let schedules = self.of(&run.spec.plan);
        if schedules.is_empty() {
            return None;
        }
        // The end of what is known is no end of what the controller does.
        if !matches!(run.end, RunEnd::Completed | RunEnd::NeverFired(_) | RunEnd::StepFailed(_)) {
            return Some(Verdict::of_model(Err("the run did not come to its end".to_owned())));
        }
        let followed = Followed {
            before: &run.before,
            history: &run.history,
            project: &expression::over_objects,
        };
        // Runs of one model stand side by side, as they were read.
        for of_model in schedules.chunk_by(Schedule::is_of_model_of) {
            let parted = followed_one(of_model, &followed);
            if !matches!(parted, Ok(None)) {
                return Some(Verdict::of_model(parted.map(|parted| parted.map(|one| told(&one)))));
            }
        }
        Some(Verdict::of_model(Ok(None)))
    }
}

/// Where the controller parts from all of these, which is where it parts last; none if it takes one.
///
/// # Errors
/// It takes none, and of one it can't be said.
fn followed_one(
    schedules: &[Schedule],
    run: &Followed<'_>,
) -> Result<Option<Disagreement>, String> {
    let (mut furthest, mut open): (Option<Disagreement>, _) = (None, Ok(()));
    for schedule in schedules {
        match schedule.follow(run) {
            Ok(None) => return Ok(None),
            Err(why) => open = Err(why),
            Ok(Some(parted)) => {
                if furthest.as_ref().is_none_or(|other| other.step < parted.step) {
                    furthest = Some(parted);
                }
            }
        }
    }
    open.map(|()| furthest)
}

/// What a model is called: its file's name, with a number if another file has it.
fn name_of(path: &Path, names: &mut Vec<(String, PathBuf)>) -> String {
    if let Some((name, _)) = names.iter().find(|(_, of)| of == path) {
        return name.clone();
    }
    let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let same = names.iter().filter(|(_, of)| of.file_name() == path.file_name()).count();
    let name = if same == 0 { file } else { format!("{file} ({})", same + 1) };
    names.push((name.clone(), path.to_owned()));
    name
}

/// Says something on stderr.
fn tell(text: &str) {
    eprintln!("trommel: {}", plain::text(text));
}

/// As many runs of a state graph are gone along one by one; of larger ones, and of those with cycles, each edge is.
const RUNS_MAX: usize = 100;

/// The runs that a file asks for: that of a trace; the counterexample of a TLA+ module, or all that the module does; those
/// of a state graph.
fn runs_of(path: &Path) -> anyhow::Result<Vec<Trace>> {
    if path.extension().is_some_and(|extension| extension == "tla") {
        return runs_of_module(path);
    }
    let name = path.display().to_string();
    match traces::read(&reading::text(path)?, &name).map_err(|error| usage(error.to_string()))? {
        Read::Trace(trace) => Ok(vec![trace]),
        Read::Graph(graph) => Ok(runs_of_graph(&graph)),
    }
}

fn runs_of_graph(graph: &Graph) -> Vec<Trace> {
    let paths = graph.complete_paths(RUNS_MAX).unwrap_or_else(|| graph.edge_cover());
    paths.iter().map(|path| graph.trace(path)).collect()
}

fn runs_of_module(path: &Path) -> anyhow::Result<Vec<Trace>> {
    let wrong = |error: TlaError| usage(error.to_string());
    let module = Specification::load(path, &path.with_extension("cfg")).map_err(wrong)?;
    for warning in &module.warnings {
        tell(&format!("{}: {warning}", path.display()));
    }
    let explored = module.explore(&Limits::default()).map_err(wrong)?;
    match (explored.verdict, &explored.graph) {
        (tla::Verdict::Violated(_, trace), _) => Ok(vec![trace]),
        (tla::Verdict::Held, Some(graph)) => Ok(runs_of_graph(graph)),
        (tla::Verdict::Failed(error, trace), _) => {
            let last = trace.states.len();
            Err(usage(format!("state {last} of the module can't be evaluated: {error}")))
        }
        (tla::Verdict::Unknown(why), _) => Err(usage(format!(
            "{}: {why}: bound it in its .cfg (CONSTRAINT, or smaller constants)",
            path.display()
        ))),
        (tla::Verdict::Held, None) => Err(usage(format!("{}: there is no state", path.display()))),
    }
}

fn usage(message: String) -> anyhow::Error {
    Expected::error(Exit::Usage, message)
}

fn told(parted: &Disagreement) -> Parted {
    let (how, about) = match &parted.how {
        How::Inconsistent { variable, .. } => ("inconsistent state", variable.clone()),
        How::Missing { bound } => ("missing action", bound.clone()),
        How::Unexpected { request, is } => {
            // A name may be drawn.
            let of = request.split('/').next().unwrap_or_default();
            ("unexpected action", is.clone().unwrap_or_else(|| of.to_owned()))
        }
    };
    Parted { how, action: parted.action.clone(), about, text: parted.to_string() }
}
