//! The end of a campaign: replay files, the report in all its forms, and the exit code.

mod by_hand;
mod replay_file;

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use plans::{Family, Rule};
use serde_json::{Value, json};
use trace::identity;

use crate::{
    campaign::{
        confirm::{self, Findings},
        explore::{self, Explored},
        frontier, judge, missing_permissions,
        reference::References,
        run_folder::RunFolder,
        settled_restart,
        setup::{ClockMode, Ground, Setup},
    },
    cli::RunArgs,
    config::{ClusterSpec, Environment, PaceSpec},
    exit::Exit,
    report::{self, Report, difference, model, text, timeline},
    stdout,
    trial::{NOT_SEEN_THROUGH, cpu_time, history_file},
};

/// Everything that the campaign has to say, as one value.
pub fn report(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
    explored: &Explored,
    findings: &Findings,
    took: Duration,
    args: &RunArgs,
) -> Report {
    let spec = &setup.campaign.file.spec;
    let families = families(setup, explored);
    // Without restarts there is nothing that closes.
    let restarts = spec.families.iter().any(|family| family.restarts());
    let closed = explored.closed().filter(|_| restarts);
    let mut report = Report {
        campaign: setup.campaign.name().to_owned(),
        seconds: (took.as_secs_f64() * 1000.0).round() / 1000.0,
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
                && findings.unconfirmed.is_empty(),
            level: closed.map_or("none".to_owned(), |level| level.to_string()),
            levels: explored.frontier.coverage().iter().map(level_coverage).collect(),
            behind_findings: explored.frontier.behind_findings() as u64,
            nondeterministic: explored.nondeterministic,
            bookkeeping: explored.frontier.bookkeeping,
        },
        findings: findings
            .confirmed
            .iter()
            .map(|found| finding(setup, folder, references, found))
            .collect(),
        missing_permissions: missing_permissions(references, explored),
        undisturbed: references.examination.clone(),
        not_explored: not_explored(setup, references, explored),
        notes: notes(setup, references, explored, findings),
        ..Report::default()
    };
    report.exit = exit_code(&report, explored, findings, args.max_unknown).code();
    report.result = sentence(&report, findings.unconfirmed.len(), spec.subject.replicas);
    report
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

/// What became of each family that was asked for.
fn families(setup: &Setup, explored: &Explored) -> BTreeMap<String, model::FamilyPlans> {
    let of = |family: &Family| {
        let tally = explored.frontier.families.get(*family);
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
        (family.to_string(), plans)
    };
    setup.campaign.file.spec.families.iter().map(of).collect()
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

fn exit_code(report: &Report, explored: &Explored, findings: &Findings, max_unknown: u64) -> Exit {
    let mut exits = vec![Exit::Clean];
    if !findings.confirmed.is_empty() {
        exits.push(Exit::Finding);
    }
    if explored.unknown + findings.unconfirmed.len() as u64 > max_unknown {
        exits.push(Exit::Unknown);
    }
    if explored.frontier.due().is_some_and(|due| due <= explored.required())
        || explored.left_from_beginning > 0
    {
        exits.push(Exit::Incomplete);
    }
    if report.plans.run == 0 {
        exits.push(Exit::Nothing);
    }
    exits.into_iter().min().unwrap_or(Exit::Clean)
}

/// The exit code that the report carries.
pub fn exit_of(report: &Report) -> Exit {
    let all = [Exit::Finding, Exit::Unknown, Exit::Incomplete, Exit::Nothing, Exit::Clean];
    all.into_iter().find(|exit| exit.code() == report.exit).unwrap_or(Exit::Clean)
}

/// What *every* means (docs/glossary.md, *closed*).
const CONDITIONS: &str = "under the behaviours and orders of concurrent requests that were observed, a restart that \
                          remembers nothing, and the workload's order";

fn sentence(report: &Report, unconfirmed: usize, replicas: u32) -> String {
    let plans = &report.plans;
    let schedules = schedules(report);
    let not_suggested = plans.pruned.get(&Rule::NotSuggested.to_string()).copied().unwrap_or(0);
    let reach = if plans.run == 0 {
        "nothing was tried, see what is not possible".to_owned()
    } else if schedules.is_none() && plans.left + not_suggested == 0 {
        format!(
            "every state of the undisturbed runs that the controller can miss was kept from it: {} plans, {} trials; no restart \
             was asked for",
            plans.run, plans.trials
        )
    } else if schedules.is_none() {
        let all = plans.run + plans.left + not_suggested;
        format!("not everything was covered: {} of {all} plans, {} trials", plans.run, plans.trials)
    } else if report.coverage.closed {
        let behind = match report.coverage.behind_findings {
            0 => String::new(),
            1 => ", except behind the findings (1 world)".to_owned(),
            n => format!(", except behind the findings ({n} worlds)"),
        };
        let blind = match report.notes.iter().any(|note| note.starts_with(NOT_SEEN_THROUGH)) {
            true => {
                "; not all that the controller waits for can be seen: the report's notes name it"
            }
            false => "",
        };
        let of_all = if replicas > 1 { " of all replicas at once" } else { "" };
        let closely = match report.coverage.level.as_str() {
            "exact" => String::new(),
            level => format!(" as far as {level} tells worlds apart"),
        };
        format!(
            "every {}{of_all} of every length was covered{closely}{behind}: {}, {} trials ({CONDITIONS}){blind}",
            schedules.unwrap_or_default(),
            text::levels(&report.coverage),
            plans.trials
        )
    } else {
        format!(
            "not everything was covered: {}, {} trials",
            text::levels(&report.coverage),
            plans.trials
        )
    };
    let unknown = match plans.unknown {
        0 => String::new(),
        1 => "; 1 plan has no verdict".to_owned(),
        n => format!("; {n} plans have no verdict"),
    };
    let suspected = match unconfirmed {
        0 => String::new(),
        1 => "; 1 suspicion was not confirmed: the report's notes name it".to_owned(),
        n => format!("; {n} suspicions were not confirmed: the report's notes name them"),
    };
    match &report.findings[..] {
        [] => format!("No finding: {reach}{unknown}{suspected}."),
        [one] => {
            format!("1 finding: {}. {}{unknown}{suspected}.", one.title, capital(&reach))
        }
        [first, ..] => format!(
            "{} findings, the first: {}. {}{unknown}{suspected}.",
            report.findings.len(),
            first.title,
            capital(&reach)
        ),
    }
}

/// What is claimed to be covered: what restarts the controller, if that is asked for. States that it is kept from seeing
/// are counted only.
fn schedules(report: &Report) -> Option<&'static str> {
    let asked = |family: Family| report.families.contains_key(family.name());
    match (asked(Family::IntermediateState), asked(Family::StaleState)) {
        (true, true) => Some("schedule of crashes and stale restarts"),
        (false, true) => Some("schedule of stale restarts"),
        (true, false) => Some("crash schedule"),
        (false, false) => None,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

fn not_explored(setup: &Setup, references: &References, explored: &Explored) -> Vec<String> {
    let mut sentences = Vec::new();
    let worked = references
        .runs
        .iter()
        .flat_map(|run| run.history.commits())
        .any(|commit| commit.actor.is_subject() && !commit.is_bookkeeping());
    if !worked {
        sentences.push(
            "anything that the controller does: undisturbed it wrote nothing but Leases and Events, so the \
             workload may not reach it"
                .to_owned(),
        );
    }
    if setup.campaign.file.spec.subject.replicas > 1 {
        sentences.push(
            "what follows the kill of one replica alone: those that go on remember, so each such kill is tried from the \
             beginning, and nothing after it"
                .to_owned(),
        );
    }
    if let Some(why) = &explored.stopped {
        let left = explored.frontier.waiting();
        sentences.push(format!("{why}: {left} worlds were met and not explored"));
    }
    if explored.closed().is_none_or(|level| level < explored.required()) {
        sentences.extend(apart(&explored.frontier.apart(setup)));
    }
    for (why, count) in explored.frontier.left_out.iter().chain(&explored.frontier.limits) {
        sentences.push(format!("{count} × {why}"));
    }
    sentences.extend(settled_restart::not_explored(setup));
    if let ClusterSpec::Embedded(embedded) = &setup.campaign.file.spec.cluster {
        let missing = match embedded.environment {
            Environment::None => {
                "a built-in controller, the scheduler or a kubelet: none runs here"
            }
            Environment::Minimal => {
                "a workload controller, the scheduler or a kubelet: only garbage collector and namespace \
                 controller run here"
            }
            Environment::Kcm => {
                "a kube-controller-manager that goes on while the controller is down: a world that is taken up \
                 again starts both anew; or attached volumes or probes: nobody looks after those yet"
            }
            Environment::Full => {
                "volumes that are attached: nobody looks after those in the embedded cluster yet"
            }
        };
        sentences.push(format!("what needs {missing}"));
        for (name, _) in embedded.controllers.iter().filter(|(_, pace)| **pace == PaceSpec::Held) {
            sentences.push(format!("what {name} does: the campaign holds it"));
        }
    }
    sentences
}

/// What to look at if there are more worlds than expected.
fn apart(fields: &[identity::Apart]) -> Option<String> {
    let one = |field: &identity::Apart| format!("{} ({} left)", field.field, field.left);
    let fields: Vec<String> = fields.iter().map(one).collect();
    (!fields.is_empty()).then(|| {
        format!(
            "worlds that differ only in these fields (in brackets: how many worlds would be left if this field and \
             those before it were ignored): {}",
            fields.join("; ")
        )
    })
}

/// How much of what happened undisturbed was left out as heartbeats, if anything was or the campaign names any.
fn heartbeats(setup: &Setup, references: &References) -> Option<String> {
    let fields: Vec<String> = setup.heartbeats.fields().iter().map(ToString::to_string).collect();
    let commits = references.runs.iter().flat_map(|run| run.history.commits());
    let beats = commits.filter(|commit| commit.heartbeat).count();
    let named = !setup.campaign.file.spec.heartbeats.is_empty();
    (named || beats > 0).then(|| {
        format!(
            "heartbeats were left out, {beats} writes in the {} undisturbed runs: {}",
            references.runs.len(),
            fields.join(", ")
        )
    })
}

fn notes(
    setup: &Setup,
    references: &References,
    explored: &Explored,
    findings: &Findings,
) -> Vec<String> {
    let mut notes = Vec::new();
    if references.never_stable {
        notes.push(
            "the last two undisturbed runs still differed in new fields: more fields may vary by themselves".to_owned(),
        );
    }
    if !setup.virtual_time() {
        notes.push("time was real: timers beyond the horizon were not waited for".to_owned());
    }
    if setup.clock == ClockMode::Untouched && matches!(setup.ground, Ground::Embedded(_)) {
        notes.push(
            "clocks were untouched: no world was forked, and objects may look older than they are"
                .to_owned(),
        );
    }
    let horizon = references.settle.horizon();
    if let Some(lease) = setup.lease().filter(|lease| *lease >= horizon) {
        notes.push(format!(
            "settle.horizon is {} s and the controller's lease lasts {} s: one that was killed is judged before its successor \
             leads",
            horizon.as_secs(),
            lease.as_secs()
        ));
    }
    notes.extend(later_timers(references));
    notes.extend(references.settle.cut_short().map(|waited| {
        let minutes = waited.as_secs() / 60;
        format!(
            "the rehearsal ended after {minutes} min instead of ten: the controller has thousands of timers a minute; if it \
             does work that comes later than that, settle.horizon must say how late"
        )
    }));
    notes.extend(heartbeats(setup, references));
    notes.extend(told(references, explored));
    if setup.isolation == subject::Isolation::None {
        notes.push("processes ran without namespaces, one trial at a time".to_owned());
    }
    for (why, count) in &explored.unknown_reasons {
        notes.push(format!("{count} × unknown: {why}"));
    }
    for suspect in &findings.unconfirmed {
        let (k, n) = suspect.confirmed;
        let control = if suspect.control_failed { ", and the undisturbed run failed" } else { "" };
        notes.push(format!(
            "suspected, not confirmed ({k} of {n}{control}): {}; plan: {}{}",
            suspect.title,
            suspect.plan,
            match references.settle.confirms_longer() {
                true => "; runs that confirm wait for ten minutes, those before did not (settle.horizon)",
                false => "",
            }
        ));
    }
    notes
}

/// What any run had to tell, each once, and the stages that failed in undisturbed ones.
fn told(references: &References, explored: &Explored) -> BTreeSet<String> {
    let undisturbed = references.runs.iter().flat_map(|run| explore::told(&run.history));
    let worlds = references.runs.iter().filter_map(|run| run.server.as_ref());
    let stages = worlds.flat_map(|server| server.world().stage_problems().to_vec());
    undisturbed.chain(explored.notes.iter().cloned()).chain(stages).collect()
}

/// What the controller still waited for when it counted as settled.
fn later_timers(references: &References) -> Option<String> {
    let run = references.runs.first()?;
    let settled = run.history.settles().last()?;
    let timers = match &settled.pending[..] {
        [] => return None,
        all if all.len() <= 3 => all.join("; "),
        all => format!("{}; and {} more", all[0], all.len() - 1),
    };
    let at_the_end = match references.settle.is_learnt() {
        true => ", at the end of every other trial ten minutes",
        false => "",
    };
    Some(format!(
        "settled means {} s without a change{at_the_end}; timers that were still pending in the first undisturbed run: \
         {timers}",
        references.settle.horizon().as_secs()
    ))
}

fn finding(
    setup: &Setup,
    folder: &RunFolder,
    references: &References,
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
        .plan
        .perturbations
        .iter()
        .map(|perturbation| {
            let citation = perturbation.citation();
            format!("a real cluster may do this: {} ({})", citation.rule, citation.source)
        })
        .collect();
    let diff = end_state_diff(references, found);
    let replay_path = format!("findings/{}/replay.yaml", found.id);
    model::Finding {
        id: found.id.clone(),
        title: found.verdict.title.clone(),
        family: found.plan.family().map_or(String::new(), |family| family.to_string()),
        oracle: found.verdict.oracle.to_string(),
        confirmed: model::Confirmed { k: found.confirmed.0, n: found.confirmed.1 },
        replay_command: format!("trommel replay {}", shown(&folder.path.join(&replay_path))),
        replay: replay_path,
        explanation: model::Explanation {
            saw: saw(&trial, found),
            given,
            then,
            because: format!("{because}; {}", legality.join("; ")),
        },
        timeline: timeline::around_crash(&found.shown.history),
        kubectl_steps: by_hand::steps(setup, found, &diff),
        diff,
        replay_text: replay_file::text(setup, &references.settle, found),
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

fn objects(world: &Value) -> BTreeMap<String, Value> {
    let objects = world.as_object().into_iter().flatten();
    objects.map(|(key, object)| (key.clone(), object.clone())).collect()
}

/// The campaign's folder as it is called from where the user stands, if it is below that, else from the root of its
/// repository: a replay file is to work on other machines.
fn portable(folder: &std::path::Path) -> String {
    let here = std::env::current_dir().ok();
    let root = folder.ancestors().find(|above| above.join(".git").exists());
    let bases = here.as_deref().into_iter().chain(root);
    let below = bases.filter_map(|base| folder.strip_prefix(base).ok()).next();
    match below {
        Some(below) if below.as_os_str().is_empty() => ".".to_owned(),
        below => below.unwrap_or(folder).display().to_string(),
    }
}

/// Writes the run folder's final files.
pub fn write(
    folder: &RunFolder,
    report: &Report,
    explored: &Explored,
    findings: &Findings,
) -> anyhow::Result<()> {
    for (found, shown) in findings.confirmed.iter().zip(&report.findings) {
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
    folder.write_json("end-states.json", &explored.end_states)?;
    folder.write_json("figures.json", &figures(explored))?;
    report::write(report, &folder.path)?;
    Ok(())
}

/// What the exploration took, for `cargo ci bench`: as a whole, and each trial.
fn figures(explored: &Explored) -> Value {
    let trial = |((real, cpu), carried): (&(f64, f64), &explore::Carried)| {
        let family = carried.plan.family().map(Family::name);
        json!({ "seconds": real, "subjectCpuSeconds": cpu, "family": family })
    };
    json!({
        "seconds": explored.real.as_secs_f64(),
        "ownCpuSeconds": explored.cpu.own.as_secs_f64(),
        "subjectsCpuSeconds": explored.cpu.children.as_secs_f64(),
        "peakMemoryBytes": cpu_time::peak_memory(),
        "trials": explored.trial_seconds.iter().zip(&explored.trials).map(trial).collect::<Vec<_>>(),
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
