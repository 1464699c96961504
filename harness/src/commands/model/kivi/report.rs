//! What came of it, in words: verdicts first, then how they came about, then the run.

use std::time::Duration;

use model::{
    Limit,
    kivi::{
        check::{self, Checked, Judged, Outcome},
        description::Description,
        options::Options,
        sizes::{Bounds, CONFIDENT},
        sweep::{Sweep, Swept},
    },
};

use crate::exit::Exit;

/// What was checked, and what came of it.
#[derive(Debug)]
pub(super) enum Found {
    /// One cluster.
    Single(Checked),
    /// Clusters of growing size, and how far they may grow.
    Sweep(Sweep, Bounds),
}

/// What a verdict is relative to.
#[derive(Debug)]
pub(super) struct How {
    pub granularity: String,
    pub mode: String,
    pub all_ties: bool,
    pub is_random: bool,
}

impl How {
    /// In short.
    pub fn words(&self) -> String {
        let ties = if self.all_ties { ", each of equally good nodes" } else { "" };
        let random = if self.is_random { ", random runs only" } else { "" };
        format!("granularity {}, mode {}{ties}{random}", self.granularity, self.mode)
    }

    /// As a line of a report.
    pub fn line(&self) -> String {
        format!("how: {}", self.words())
    }
}

/// The titles of all that is asked, in order.
pub(super) fn titles(of: &Description, options: &Options) -> Vec<String> {
    check::asked(of, options).iter().map(|intent| check::title(of, intent)).collect()
}

/// What is told of it, and the exit code.
pub(super) fn told(
    found: &Found,
    asked: &[String],
    how: &How,
    detail: u8,
    took: Duration,
) -> (String, Exit) {
    let mut lines = Vec::new();
    let mut answers: Vec<(&String, Answer<'_>)> =
        asked.iter().map(|title| (title, Answer::of(found, title))).collect();
    answers.sort_by_key(|(_, answer)| answer.exit());
    let exit = answers.first().map_or(Exit::Clean, |(_, worst)| worst.exit());
    if exit == Exit::Clean {
        lines.push(clean(found));
    }
    lines.extend(answers.iter().map(|(title, answer)| answer.line(title)));
    lines.push(how.line());
    lines.push(counts(found, took));
    for (title, answer) in &answers {
        let Answer::Violated { judged, .. } = answer else { continue };
        if let Outcome::Violated(trace) = &judged.verdict {
            lines.push(String::new());
            lines.push(format!("{title}: a run of {} steps to it", trace.steps.len()));
            lines.push(format!("at first: {}", trace.states[0]));
            lines.extend(trace.lines(detail));
        }
    }
    (lines.join("\n") + "\n", exit)
}

/// What is said of one intent.
enum Answer<'f> {
    Held,
    /// The smallest violation; and of a sweep how many set-ups violate it.
    Violated {
        judged: &'f Judged,
        at: Option<(&'f Swept, &'f Sweep, usize)>,
    },
    Unknown(String),
}

impl Answer<'_> {
    fn of<'f>(found: &'f Found, title: &str) -> Answer<'f> {
        match found {
            Found::Single(checked) => match of_intent(checked, title) {
                Some(judged) => Answer::of_outcome(judged),
                None => Answer::Unknown(NOT_ASKED.to_owned()),
            },
            Found::Sweep(sweep, _) => Answer::of_sweep(sweep, title),
        }
    }

    fn of_outcome(judged: &Judged) -> Answer<'_> {
        match &judged.verdict {
            Outcome::Held => Answer::Held,
            Outcome::Violated(_) => Answer::Violated { judged, at: None },
            Outcome::Unknown(why) => Answer::Unknown(limit(why)),
        }
    }

    fn of_sweep<'f>(sweep: &'f Sweep, title: &str) -> Answer<'f> {
        let judged = sweep.swept.iter().map(|swept| (swept, of_intent(&swept.checked, title)));
        let judged: Vec<(&Swept, Option<&Judged>)> = judged.collect();
        let violated = judged.iter().filter_map(|(swept, judged)| {
            let judged = (*judged)?;
            matches!(judged.verdict, Outcome::Violated(_)).then_some((*swept, judged))
        });
        let violated: Vec<(&Swept, &Judged)> = violated.collect();
        if let Some((swept, judged)) = violated.first() {
            return Answer::Violated { judged, at: Some((swept, sweep, violated.len())) };
        }
        let unknown = judged.iter().find_map(|(swept, judged)| {
            let why = match judged.map(|judged| &judged.verdict) {
                Some(Outcome::Unknown(why)) => limit(why),
                Some(_) => return None,
                None => NOT_ASKED.to_owned(),
            };
            Some(format!("set-up {} {}: {why}", swept.index, swept.size))
        });
        match unknown {
            Some(why) => Answer::Unknown(why),
            None if sweep.swept.len() == sweep.sizes => Answer::Held,
            None if sweep.first_violation().is_some() => Answer::Unknown(NOT_ASKED.to_owned()),
            None => Answer::Unknown(limit(&Limit::Deadline)),
        }
    }

    fn exit(&self) -> Exit {
        match self {
            Answer::Violated { .. } => Exit::Finding,
            Answer::Unknown(_) => Exit::Unknown,
            Answer::Held => Exit::Clean,
        }
    }

    fn line(&self, title: &str) -> String {
        match self {
            Answer::Held => format!("held: {title}"),
            Answer::Unknown(why) => format!("unknown: {title}: {why}"),
            Answer::Violated { at: None, .. } => format!("violated: {title}"),
            Answer::Violated { at: Some((swept, sweep, count)), .. } => {
                let all = match sweep.swept.len() == sweep.sizes {
                    true => format!("; {count} of them violate it"),
                    false => String::new(),
                };
                let (index, size, sizes) = (swept.index, &swept.size, sweep.sizes);
                format!("violated: {title}: smallest set-up {size}, {index} of {sizes}{all}")
            }
        }
    }
}

const NOT_ASKED: &str = "another intent was violated before; -a goes on";

fn of_intent<'c>(checked: &'c Checked, title: &str) -> Option<&'c Judged> {
    checked.verdicts.iter().find(|judged| judged.title == title)
}

fn limit(why: &Limit) -> String {
    match why {
        Limit::States => "the limit of states was reached; raise --states".to_owned(),
        Limit::Deadline => "the time was up; raise --timeout".to_owned(),
        Limit::Sampled => "random runs (-r) do not see all".to_owned(),
        Limit::NeedsGraph => "random runs (-r) do not judge what goes on for ever".to_owned(),
        Limit::Decided | Limit::Violation(_) => NOT_ASKED.to_owned(),
        Limit::Depth | Limit::Memory => "not all states were looked at".to_owned(),
    }
}

/// What a clean verdict is about. The confident size is Kivi's: twice what its cases need for a violation.
fn clean(found: &Found) -> String {
    let Found::Sweep(sweep, bounds) = found else { return "clean: this cluster".to_owned() };
    let nodes: Vec<String> =
        bounds.nodes.iter().map(|range| range.max.min(CONFIDENT).to_string()).collect();
    let is_less = bounds.nodes.iter().any(|range| range.max < CONFIDENT)
        || bounds.pods_per_node_max < CONFIDENT;
    let within = if is_less { "clean, below" } else { "clean within" };
    format!(
        "{within} the confident size ({CONFIDENT} nodes of each type, {CONFIDENT} pods of each deployment a node): all \
         {} set-ups, up to {} nodes and {} pods a node",
        sweep.sizes,
        nodes.join("+"),
        bounds.pods_per_node_max.min(CONFIDENT)
    )
}

fn counts(found: &Found, took: Duration) -> String {
    let seconds = took.as_secs_f64();
    match found {
        Found::Single(checked) => {
            format!("one cluster, {} states, {seconds:.2} s", checked.counts.distinct)
        }
        Found::Sweep(sweep, _) => {
            let distinct = |swept: &Swept| swept.checked.counts.distinct;
            let states: u64 = sweep.swept.iter().map(distinct).sum();
            let last = match sweep.first_violation() {
                Some(first) => format!(" ({} in the smallest that violates)", distinct(first)),
                None => String::new(),
            };
            let checked = sweep.swept.len();
            format!("{checked} of {} set-ups, {states} states{last}, {seconds:.2} s", sweep.sizes)
        }
    }
}
