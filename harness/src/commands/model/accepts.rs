//! `trommel model accepts`: whether a log of a real run is a run of a model.
//!
//! The log has an event a line (`model/src/traces/ndjson.rs`): the action and the variables that were observed. What it
//! leaves out may be anything.

use std::{collections::BTreeSet, fmt::Write, path::PathBuf};

use clap::Args;
use model::{
    System,
    schedule::nearest,
    traces::{
        State, Trace,
        accept::{AcceptError, Acceptance, Rejection, Rules, accept},
        ndjson::{self, Event},
    },
};

use super::{
    files::{self, Configured, Target},
    text, usage,
};
use crate::{config::reading, exit::Exit, report::plain, stdout};

/// So many states may be possible before an event.
const STATES_MAX: usize = 100_000;

/// So many steps that the model allows are printed.
const ALLOWED_MAX: usize = 20;

/// `trommel model accepts`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The model: a TLA+ module, or a state graph or trace.
    #[arg(value_name = "SPEC.tla|GRAPH")]
    model: PathBuf,
    /// The log: one event a line, as {"action":{"name":"Start"},"state":{"pc":"Done"}}.
    #[arg(value_name = "LOG.ndjson")]
    log: PathBuf,
    #[command(flatten)]
    configured: Configured,
    /// Between two events, the model may take up to this many steps whose actions the log never names.
    #[arg(long, value_name = "N", default_value_t = 0)]
    internal: usize,
    /// Write a run of the model that fits the log, by the end of the name: .itf.json, .dot, .ndjson.
    #[arg(long, value_name = "FILE")]
    trace: Option<Target>,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    let name = options.log.display().to_string();
    let mut log = ndjson::read_record(&reading::text(&options.log)?, &name).map_err(usage)?;
    let (acceptance, failed) = if files::is_module(&options.model) {
        let specification = options.configured.load(&options.model)?;
        let steps = specification.steps().map_err(usage)?;
        leave_out_params(&mut log);
        options.check_names(
            &log,
            |name| specification.has_name(name),
            specification.definitions(),
        )?;
        let acceptance = options.hold(&steps, &log, &|state| steps.vars(state))?;
        (acceptance, steps.failed())
    } else {
        let graph = files::read(&options.model)?.into_graph();
        let mut actions = graph.edges.iter().filter_map(|edge| edge.action.as_ref());
        if actions.all(|action| action.params.is_empty()) {
            leave_out_params(&mut log);
        }
        let names = graph.edges.iter().filter_map(|edge| edge.action.as_ref());
        options.check_names(&log, |_| false, names.map(|action| action.name.as_str()))?;
        let observe = |state: &usize| graph.states[*state].clone();
        (options.hold(&graph.system(), &log, &observe)?, None)
    };
    let (told, exit) = match (acceptance, failed) {
        (Acceptance::Accepted(trace), _) => {
            options.trace.as_ref().map_or(Ok(()), |target| target.trace(&trace))?;
            (accepted(log.len(), &trace), Exit::Clean)
        }
        (Acceptance::Unknown { line }, _) => {
            let why = format!("more than {STATES_MAX} states are possible there");
            (format!("unknown: {name}:{line}: {why}\n"), Exit::Unknown)
        }
        (Acceptance::Rejected(rejection), Some(failed)) => {
            let why = format!("a state that is possible before can't be evaluated: {failed}");
            (format!("unknown: {name}:{}: {why}\n", rejection.line), Exit::Unknown)
        }
        (Acceptance::Rejected(rejection), None) => {
            (rejected(&name, &log, &rejection), Exit::Finding)
        }
    };
    stdout::write(&plain::text(&told));
    Ok(exit)
}

/// Steps of modules have no parameters, and those of many graphs have none: with those of the log, no step would be meant.
fn leave_out_params(log: &mut [Event]) {
    let actions = log.iter_mut().filter_map(|event| event.action.as_mut());
    let with_params: Vec<_> = actions.filter(|action| !action.params.is_empty()).collect();
    if !with_params.is_empty() {
        files::tell("steps of the model have no parameters: those of the log don't count");
    }
    with_params.into_iter().for_each(|action| action.params.clear());
}

impl Options {
    /// Looks whether the model has the actions of the log, as far as their names tell.
    ///
    /// # Errors
    /// It does not: exit 64, with the line and the nearest name.
    fn check_names<'n>(
        &self,
        log: &[Event],
        is_there: impl Fn(&str) -> bool,
        known: impl Iterator<Item = &'n str>,
    ) -> anyhow::Result<()> {
        let known: BTreeSet<String> = known.map(str::to_owned).collect();
        let action = |event: &Event| Some((event.line, event.action.as_ref()?.name.clone()));
        let is_unknown = |(_, name): &(usize, String)| !known.contains(name) && !is_there(name);
        let Some((line, name)) = log.iter().filter_map(action).find(is_unknown) else {
            return Ok(());
        };
        let near = nearest(&name, known.iter());
        Err(usage(format!("{}:{line}: the model has no action `{name}`{near}", self.log.display())))
    }

    fn hold<S: System>(
        &self,
        system: &S,
        log: &[Event],
        observe: &dyn Fn(&S::State) -> State,
    ) -> anyhow::Result<Acceptance> {
        let named: BTreeSet<&str> = log
            .iter()
            .filter_map(|event| event.action.as_ref())
            .map(|action| action.name.as_str())
            .collect();
        let is_internal = |label: &str| !named.contains(label.split('(').next().unwrap_or(label));
        let rules = Rules {
            observe,
            is_internal: &is_internal,
            internal_max: self.internal,
            states_max: STATES_MAX,
        };
        let path = self.log.display();
        accept(system, log, &rules).map_err(|error| match error {
            AcceptError::NoSuchVariable { line, variable, known } => {
                usage(format!("{path}:{line}: no variable `{variable}`: the model has {known}"))
            }
            AcceptError::Empty => usage(format!("{path}: {error}")),
        })
    }
}

fn accepted(events: usize, trace: &Trace) -> String {
    let steps = trace.actions.len();
    format!(
        "accepted: the {events} events are a run of the model, for example this one of {steps} steps\n\n{}",
        text::trace(trace)
    )
}

fn rejected(name: &str, log: &[Event], rejection: &Rejection) -> String {
    let Rejection { line, possible, allowed } = rejection;
    let begins = log.first().is_some_and(|event| event.line == *line && event.action.is_none());
    let mut told = format!("not accepted: {name}:{line}: the model does not allow this\n");
    if let Some(event) = log.iter().find(|event| event.line == *line) {
        let action = event.action.as_ref().map_or("(no action)".to_owned(), ToString::to_string);
        let _ = writeln!(told, "logged:  {action}{}", values(&event.state));
    }
    for (label, state) in allowed.iter().take(ALLOWED_MAX) {
        let label = if label.is_empty() { text::NAMELESS } else { label };
        let label = if begins { "(the beginning)" } else { label };
        let _ = writeln!(told, "allowed: {label}{}", values(state));
    }
    match allowed.len() {
        0 => told += "allowed: nothing, the model has no step there\n",
        more if more > ALLOWED_MAX => {
            let _ = writeln!(told, "allowed: {} more", more - ALLOWED_MAX);
        }
        _ => {}
    }
    let _ = writeln!(told, "states that were possible before: {possible}");
    told
}

fn values(state: &State) -> String {
    let value = |(name, value)| format!("{name} = {value}");
    let values: Vec<String> = state.iter().map(value).collect();
    if values.is_empty() { String::new() } else { format!("  {}", values.join(", ")) }
}
