//! The end of a campaign: replay files, the report in all its forms, and the exit code.

mod by_hand;
mod claim;
mod finding;
mod never_tried;
mod remarks;
mod replay_file;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Instant,
};

use oracles::VerdictValue;
use plans::Family;
use serde_json::{Value, json};

use crate::{
    campaign::{
        confirm::{Finding, Findings, Unconfirmed},
        elsewhere,
        explore::{self, Explored},
        frontier, missing_permissions,
        reference::References,
        run_folder::RunFolder,
        setup::Setup,
        tally::Tally,
    },
    cli::{FailOn, RunArgs},
    config::repository,
    exit::Exit,
    report::{self, Report, model, text},
    stdout,
    trial::{cpu_time, history_file},
};

/// What was found, and what it came to on other clusters.
#[derive(Clone, Copy)]
pub struct Found<'a> {
    /// On the campaign's own cluster.
    pub findings: &'a Findings,
    /// On others.
    pub elsewhere: &'a elsewhere::OfFindings,
}

/// Everything that the campaign has to say, as one value.
pub fn report(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
    explored: &Explored,
    Found { findings, elsewhere }: Found<'_>,
    began: Instant,
    args: &RunArgs,
) -> Report {
    let spec = &setup.campaign.file.spec;
    let families = families(setup, explored);
    // Without restarts there is nothing that closes.
    let restarts = spec.families.iter().any(|family| family.restarts());
    let closed = explored.closed().filter(|_| restarts);
    let explained = |found: &Finding| {
        let elsewhere = elsewhere.get(&found.id).map_or(&[][..], Vec::as_slice);
        finding::finding(setup, folder, references, explored, (found, elsewhere))
    };
    let mut report = Report {
        campaign: setup.campaign.name().to_owned(),
        seconds: seconds_since(began, Instant::now()),
        references: model::References {
            runs: references.runs.len() as u32,
            agree: references.baseline.references as u32,
            masks: masks(references),
        },
        plans: families.values().fold(model::Plans::default(), model::Plans::with),
        families,
        coverage: model::Coverage {
            worlds: explored.frontier.worlds() as u64,
            frontier: explored.frontier.waiting() as u64,
            // Behind a suspect that was not confirmed nothing was explored either.
            closed: closed.is_some_and(|level| level >= explored.required())
                && lasting(findings) == 0,
            level: closed.map_or("none".to_owned(), |level| level.to_string()),
            levels: explored.frontier.coverage().iter().map(level_coverage).collect(),
            behind_findings: explored.frontier.behind_findings() as u64,
            nondeterministic: explored.nondeterministic,
            bookkeeping: explored.frontier.bookkeeping,
        },
        first_violated: first_violated(explored, began),
        first_finding: first_finding(explored, findings, began),
        findings: findings.confirmed.iter().map(explained).collect(),
        transient: findings.transient.iter().map(explained).collect(),
        suspicions: findings
            .unconfirmed
            .iter()
            .map(|suspected| finding::suspicion(setup, folder, references, explored, suspected))
            .collect(),
        violated_trials: explored.violated,
        missing_permissions: missing_permissions(references, explored),
        undisturbed: references.examination.clone(),
        proves_nothing: remarks::proves_nothing(setup, references).map(ToOwned::to_owned),
        not_explored: remarks::not_explored(setup, explored),
        notes: remarks::notes(setup, references, explored, findings),
        ..Report::default()
    };
    let tried: Vec<Family> =
        spec.families.iter().copied().filter(|family| report.has_run(*family)).collect();
    report.never_tried = never_tried::kinds(&spec.families, &tried);
    report.exit = exit_code(&report, explored, findings, args).code();
    report.result = claim::line(&report, lasting(findings), spec.subject.replicas);
    report
}

/// With milliseconds.
fn seconds_since(began: Instant, at: Instant) -> f64 {
    ((at - began).as_secs_f64() * 1000.0).round() / 1000.0
}

/// In the order in which trials are counted, which does not depend on which thread was faster.
fn first_violated(explored: &Explored, began: Instant) -> Option<model::Found> {
    let violated = |carried: &explore::Carried| carried.verdict == VerdictValue::Violated;
    let at = explored.trials.iter().position(violated)?;
    let seconds = seconds_since(began, explored.costs.get(at)?.ended);
    Some(model::Found { trials: at as u64 + 1, seconds })
}

fn first_finding(explored: &Explored, findings: &Findings, began: Instant) -> Option<model::Found> {
    let at = findings.confirmed.iter().map(|finding| finding.confirmed_at).min()?;
    let trials = explored.costs.iter().filter(|cost| cost.ended <= at).count() as u64;
    Some(model::Found { trials, seconds: seconds_since(began, at) })
}

fn missing_permissions(references: &References, explored: &Explored) -> Vec<String> {
    let undisturbed =
        references.runs.iter().flat_map(|run| missing_permissions::missing(&run.history));
    let all: BTreeSet<String> =
        undisturbed.chain(explored.missing_permissions.iter().cloned()).collect();
    all.into_iter().collect()
}

fn masks(references: &References) -> Vec<model::Mask> {
    let evidence = references.baseline.evidence.iter();
    evidence
        .map(|learnt| model::Mask {
            path: learnt.mask.to_string(),
            values: learnt.values.iter().map(|(run, value)| format!("{run}: {value}")).collect(),
        })
        .collect()
}

/// What became of each family that was asked for, and of the runs of models.
fn families(setup: &Setup, explored: &Explored) -> BTreeMap<String, model::FamilyPlans> {
    let of_model = explored.model_runs.clone();
    let asked = setup.campaign.file.spec.families.iter();
    let tallies = asked.map(|family| (family.to_string(), explored.frontier.families.get(*family)));
    let of = |(name, tally): (String, Tally)| {
        let pruned = tally.pruned.0.iter().map(|(rule, count)| (rule.to_string(), *count));
        let sums = tally.sums();
        let plans = model::FamilyPlans {
            enumerated: tally.enumerated,
            pruned: pruned.collect(),
            run: sums.run,
            held: sums.held,
            violated: sums.violated,
            unknown: sums.unknown,
            never_fired: sums.never_fired,
            trials: sums.trials,
            left: sums.left,
            unavailable: sums.impossible,
            not_for: tally.not_for,
        };
        (name, plans)
    };
    let of_model = (of_model.enumerated > 0).then(|| (model::OF_MODELS.to_owned(), of_model));
    tallies.chain(of_model).map(of).collect()
}

fn level_coverage(coverage: &frontier::Coverage) -> model::LevelCoverage {
    model::LevelCoverage {
        level: coverage.level.to_string(),
        classes: coverage.classes,
        explored: coverage.explored,
        audited: coverage.audit.audited,
        disagreed: coverage.audit.disagreed,
    }
}

/// How many suspicions there are of what would last.
fn lasting(findings: &Findings) -> usize {
    let lasting = |one: &&Unconfirmed| one.verdict.is_lasting_violation();
    findings.unconfirmed.iter().filter(lasting).count()
}

fn exit_code(report: &Report, explored: &Explored, findings: &Findings, args: &RunArgs) -> Exit {
    let mut exits = vec![Exit::Clean];
    let transient = args.fail_on == Some(FailOn::Transient) && !findings.transient.is_empty();
    if !findings.confirmed.is_empty() || transient {
        exits.push(Exit::Finding);
    }
    if explored.unknown + lasting(findings) as u64 > args.max_unknown {
        exits.push(Exit::Unknown);
    }
    if explored.frontier.due().is_some_and(|due| due <= explored.required())
        || explored.left_from_beginning + explored.withdrawn > 0
    {
        exits.push(Exit::Incomplete);
    }
    if report.plans.run == 0 || report.proves_nothing.is_some() {
        exits.push(Exit::Nothing);
    }
    exits.into_iter().min().unwrap_or(Exit::Clean)
}

/// The exit code that the report carries.
pub fn exit_of(report: &Report) -> Exit {
    let all = [Exit::Finding, Exit::Unknown, Exit::Incomplete, Exit::Nothing, Exit::Clean];
    all.into_iter().find(|exit| exit.code() == report.exit).unwrap_or(Exit::Clean)
}

/// The campaign's folder as it is called from the root of its repository; if it is in none, from where the user stands: a
/// replay file is to work on other machines, from any folder of the repository.
fn portable(folder: &std::path::Path) -> String {
    let here = std::env::current_dir().ok();
    let root = repository::root(folder);
    let bases = root.into_iter().chain(here.as_deref());
    let below = bases.filter_map(|base| folder.strip_prefix(base).ok()).next();
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        below => below.unwrap_or(folder).display().to_string(),
    }
}

/// Writes the run folder's final files. `confirming`: how many runs were for that.
pub fn write(
    folder: &RunFolder,
    report: &Report,
    explored: &Explored,
    findings: &Findings,
    confirming: u64,
) -> anyhow::Result<()> {
    for (found, shown) in findings.all().zip(report.confirmed()) {
        folder.write(&shown.replay, shown.replay_text.as_bytes())?;
        let below = format!("findings/{}", found.id);
        folder.write_json(&format!("{below}/verdicts.json"), &found.verdicts)?;
        let header = trace::file::Header::new(
            history_file::MADE_BY,
            json!({ "campaign": report.campaign, "plan": found.plan }),
        );
        let mut bytes = Vec::new();
        trace::file::write(&mut bytes, &header, &found.shown.history)?;
        folder.write(&format!("{below}/history.jsonl.zst"), &bytes)?;
    }
    for suspicion in &report.suspicions {
        folder.write(&suspicion.replay, suspicion.replay_text.as_bytes())?;
    }
    folder.write_json("end-states.json", &explored.end_states)?;
    folder.write_json("figures.json", &figures(explored, confirming))?;
    report::write(report, &folder.path)?;
    Ok(())
}

/// What the exploration took, for `cargo ci bench`: as a whole, and each trial.
fn figures(explored: &Explored, confirming: u64) -> Value {
    let trial = |(cost, carried): (&explore::Cost, &explore::Carried)| {
        json!({
            "seconds": cost.real.as_secs_f64(),
            "phases": {
                "reset": cost.phases.reset.as_secs_f64(),
                "prefix": cost.phases.prefix.as_secs_f64(),
                "disturbed": cost.phases.disturbed.as_secs_f64(),
                "settle": cost.phases.settle.as_secs_f64(),
                "judge": cost.judge.as_secs_f64(),
            },
            "ownCpuSeconds": cost.own_cpu.as_secs_f64(),
            "subjectCpuSeconds": cost.subject_cpu.as_secs_f64(),
            "family": carried.plan.family().map(Family::name),
        })
    };
    json!({
        "seconds": explored.real.as_secs_f64(),
        "runs": explored.runs,
        "confirmingRuns": confirming,
        "ownCpuSeconds": explored.cpu.own.as_secs_f64(),
        "subjectsCpuSeconds": explored.cpu.children.as_secs_f64(),
        "peakMemoryBytes": cpu_time::peak_memory(),
        "trials": explored.costs.iter().zip(&explored.trials).map(trial).collect::<Vec<_>>(),
    })
}

/// Prints the result for people.
pub fn print(folder: &RunFolder, report: &Report) {
    let page = shown(&folder.path.join("report/index.html"));
    let style = text::Style { color: colour() };
    stdout::write(&text::terminal(report, &page, style));
}

/// A path as the user would type it here.
fn shown(path: &std::path::Path) -> String {
    let here = std::env::current_dir().ok();
    let below = here.and_then(|here| path.strip_prefix(here).ok().map(ToOwned::to_owned));
    below.unwrap_or_else(|| path.to_owned()).display().to_string()
}

fn colour() -> bool {
    use std::io::IsTerminal;
    let no_color = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    std::io::stdout().is_terminal() && !no_color
}
