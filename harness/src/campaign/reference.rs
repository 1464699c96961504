//! Reference runs: what happens undisturbed, as often as it takes to know what varies by itself.

use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, Instant},
};

use oracles::{Baseline, Enough, Examination, Learnt};
use plans::Plan;
use serde_json::Value;
use trace::{Accepted, Change, DrawnNames, History, ObjectKey};

use crate::{
    campaign::{
        fault, interrupt, judge, missing_permissions, pool,
        progress::{Event, Progress},
        rehearsal,
        run_folder::RunFolder,
        settle::{Settle, Waits},
        settled_restart,
        setup::Setup,
    },
    exit::{Exit, Expected},
    trial::{self, RunEnd, Start, TrialRun, TrialSpec},
};

const NEVER_CONNECTED: &str = "the controller never connected to the API: does it read KUBECONFIG, or \
                               take {kubeconfig} as an argument?";

/// Beside the undisturbed runs: the objects of before the first step that one of them changed, as a list of keys with
/// their objects. Histories show only what became of them.
pub const BEFORE: &str = "before.json";

/// The reference runs and what they agree on.
pub struct References {
    /// In order.
    pub runs: Vec<TrialRun>,
    /// What they agree on.
    pub baseline: Baseline,
    /// What was not well in the first of them.
    pub examination: Examination,
    /// When they, and all trials after them, count as settled.
    pub settle: Settle,
    /// The last two still taught something.
    pub never_stable: bool,
}

/// Runs references until two in a row teach nothing new. `restarts`: learns what restarts on their ends write as well.
/// None goes on after `until`.
///
/// # Errors
/// A reference that fails, or references that disagree: exit 105, with what to look at. An interrupt, or the end of the
/// time: exit 5.
pub fn learn(
    setup: &Setup,
    folder: &RunFolder,
    progress: &Progress,
    restarts: bool,
    until: Option<Instant>,
) -> anyhow::Result<References> {
    let accepted = accepted(setup)?;
    let (settle, mut rehearsal) = rehearsal::settle(setup, folder, until)?;
    let mut runs: Vec<TrialRun> = Vec::new();
    loop {
        // The first three are needed in any case.
        let wanted = oracles::baseline::REFERENCES_MIN.saturating_sub(runs.len()).max(1) as u64;
        let first = runs.len() as u64;
        let specs: Vec<TrialSpec> = (first..first + wanted)
            .map(|repeat| TrialSpec { until, ..spec(folder, repeat, settle.usual()) })
            .collect();
        let run = |spec: &TrialSpec| {
            goes_on(until, "the undisturbed runs").map(|()| trial::run(setup, spec.clone()))
        };
        for run in pool::map(setup.workers, &specs, run) {
            let run = run?;
            progress.tell(Event::Done { verdict: None });
            goes_on(until, "the undisturbed runs")?;
            check(&run, folder, &format!("undisturbed run {}", run.spec.repeat))?;
            runs.push(run);
        }
        let drawn = drawn_names(&runs);
        runs.iter_mut().chain(&mut rehearsal).for_each(|run| run.tell_drawn_names(&drawn));
        let views: Vec<oracles::Run> = runs.iter().map(judge::run_view).collect();
        goes_on(until, "the undisturbed runs")?;
        let Learnt { baseline, disagreements, added } = oracles::learn(&views, &accepted);
        if !disagreements.is_empty() {
            return Err(disagree(setup, &disagreements, folder));
        }
        match oracles::enough(&added) {
            Enough::More => {}
            end => {
                let mut baseline = match &rehearsal {
                    Some(run) => baseline.waited_longer(&views, &judge::run_view(run)),
                    None => baseline,
                };
                folder.write_json(&format!("references/{BEFORE}"), &changed_later(&runs))?;
                // References are learnt once in a campaign.
                let _ = setup.drawn_names.set(drawn);
                let _ = setup.lease.set(runs.iter().filter_map(lease).max());
                let never_stable = end == Enough::NeverStable;
                let mut examination = examine(setup, &runs[0]);
                // It waits for longest.
                if let Some(rehearsal) = &rehearsal {
                    examination.endless = oracles::examine::endless(&judge::run_view(rehearsal));
                }
                if restarts {
                    let learnt = settled_restart::learn(setup, &settle, &runs, rehearsal.as_ref())?;
                    examination.restart_writes = learnt.sentences();
                    baseline.restart = Some(learnt);
                }
                folder.write_json("baseline.json", &baseline)?;
                progress.tell(Event::Examined(examination.sentences()));
                return Ok(References { runs, baseline, examination, settle, never_stable });
            }
        }
    }
}

/// Whether another undisturbed run may begin.
///
/// # Errors
/// The user asked to finish, the time is over (exit 5), or the disk is full (exit 75).
pub fn goes_on(until: Option<Instant>, during: &str) -> anyhow::Result<()> {
    fault::check()?;
    interrupt::check(during)?;
    out_of_time(until, during)
}

/// # Errors
/// The time is over: exit 5.
pub fn out_of_time(until: Option<Instant>, during: &str) -> anyhow::Result<()> {
    match until.is_some_and(|until| Instant::now() >= until) {
        true => Err(Expected::error(
            Exit::Incomplete,
            format!(
                "the time budget was used up during {during}: nothing was tried; see spec.budget.time"
            ),
        )),
        false => Ok(()),
    }
}

/// How long the longest Lease lasts that the subject wrote; none if it wrote none.
pub fn lease(run: &TrialRun) -> Option<Duration> {
    let leases = run
        .history
        .commits()
        .filter(|commit| commit.actor.is_subject() && *commit.key.resource.resource == *"leases");
    let seconds = leases
        .map(|commit| commit.object.pointer("/spec/leaseDurationSeconds").and_then(Value::as_u64));
    seconds.max().map(|seconds| Duration::from_secs(seconds.unwrap_or_default()))
}

/// Names that the subject draws by itself, by what it created in each run.
fn drawn_names(runs: &[TrialRun]) -> DrawnNames {
    let created = |run: &TrialRun| {
        let view = judge::run_view(run);
        let mut generated = view.generated_names();
        generated.retain(|name| !run.drawn_names.contains(*name));
        created_by_subject(&run.history, &generated)
    };
    DrawnNames::learn(&runs.iter().map(created).collect::<Vec<_>>())
}

/// What the subject created in a run, without what the server named.
pub fn created_by_subject(history: &History, generated: &BTreeSet<&str>) -> BTreeSet<ObjectKey> {
    let created = history.commits().filter(|commit| {
        commit.change == Change::Created
            && commit.actor.is_subject()
            && !commit.is_bookkeeping()
            && !generated.contains(&*commit.key.name)
    });
    created.map(|commit| commit.key.clone()).collect()
}

/// The objects at the start, of those that any run changed. All runs start with the same ones.
fn changed_later(runs: &[TrialRun]) -> Vec<(ObjectKey, Arc<Value>)> {
    let changed: BTreeSet<&ObjectKey> =
        runs.iter().flat_map(|run| run.history.commits()).map(|commit| &commit.key).collect();
    let Some(first) = runs.first() else { return vec![] };
    first.before.iter().filter(|(key, _)| changed.contains(key)).cloned().collect()
}

/// What was not well in an undisturbed run.
pub fn examine(setup: &Setup, run: &TrialRun) -> Examination {
    let unchecked_steps = setup.workload.unchecked_steps();
    Examination { unchecked_steps, ..Examination::of(&judge::run_view(run)) }
}

/// One undisturbed run from the beginning.
pub fn spec(folder: &RunFolder, repeat: u64, waits: Waits) -> TrialSpec {
    TrialSpec {
        plan: Plan::undisturbed(),
        start: Start::Beginning,
        armed: vec![],
        repeat,
        waits,
        until: None,
        folder: Some(folder.path.join("references").join(repeat.to_string())),
    }
}

fn accepted(setup: &Setup) -> anyhow::Result<Vec<Accepted>> {
    let parse = |text: &String| {
        text.parse::<Accepted>().map_err(|error| {
            let file = setup.campaign.path.display();
            Expected::error(Exit::Usage, format!("{file}: spec.accept: {error}"))
        })
    };
    let accepted = setup.campaign.file.spec.accept.iter().map(parse);
    // What beats stands at another value in each run.
    accepted.chain(setup.heartbeats.fields().iter().cloned().map(Ok)).collect()
}

/// A reference must complete, and the controller must have done something in it.
///
/// # Errors
/// What `name` ended with instead: exit 105.
pub fn check(run: &TrialRun, folder: &RunFolder, name: &str) -> anyhow::Result<()> {
    let place = run.spec.folder.as_ref().unwrap_or(&folder.path).display().to_string();
    let failed = |what: String| {
        Err(Expected::error(Exit::References, format!("{name}: {what}\nits files are in {place}")))
    };
    let refused = run.history.records.iter().find_map(|record| match &record.event {
        trace::Event::Answer(answer) if answer.status == 403 => Some(answer.call),
        _ => None,
    });
    let refused = refused.and_then(|id| run.history.calls().find(|call| call.id == id));
    let subject_calls = run.history.calls().filter(|call| call.actor.is_subject()).count();
    let missing = missing_permissions::sentence(&missing_permissions::missing(&run.history));
    let hint = match refused {
        _ if missing.is_some() => format!("\n{}", missing.unwrap_or_default()),
        Some(call) => format!("\nthe API refused it (403): {} {}", call.method, call.uri),
        None if subject_calls == 0 && !ended_for_another_reason(&run.end) => {
            format!("\n{NEVER_CONNECTED}")
        }
        None => String::new(),
    };
    match &run.end {
        RunEnd::Completed => {}
        RunEnd::Broken(why) => {
            let message = format!("{name} broke: {why}\nits files are in {place}");
            return Err(Expected::error(Exit::Environment, message));
        }
        RunEnd::StepFailed(why) => return failed(format!("the workload failed: {why}{hint}")),
        RunEnd::SubjectGone(why) => return failed(format!("{why}{hint}")),
        RunEnd::NeverSettled(why) => {
            let beats = heartbeats_hint(&run.history);
            let endless: String = oracles::examine::endless(&judge::run_view(run))
                .iter()
                .map(|endless| format!("\n{endless}"))
                .collect();
            return failed(format!(
                "the controller never became quiet: {why}{endless}{beats}{hint}"
            ));
        }
        RunEnd::NeverFired(why) | RunEnd::NotPossible(why) => return failed(why.clone()),
    }
    match subject_calls {
        0 => failed(NEVER_CONNECTED.to_owned()),
        _ => Ok(()),
    }
}

/// A controller that ended by itself, and said nothing of how to find the cluster, was stopped by something else.
fn ended_for_another_reason(end: &RunEnd) -> bool {
    let RunEnd::SubjectGone(why) = end else { return false };
    let why = why.to_lowercase();
    !["in-cluster", "configuration", "connection", "localhost"]
        .iter()
        .any(|word| why.contains(word))
}

/// What a user may do about a store that goes on changing, if it does by something like a heartbeat.
pub fn heartbeats_hint(history: &History) -> String {
    let likely: Vec<String> =
        oracles::heartbeats::likely(history).iter().map(ToString::to_string).collect();
    match likely.is_empty() {
        true => String::new(),
        false => format!(
            "\nthe last {} writes of each object changed only fields that get a new value each time. If these are \
             heartbeats, add to the campaign: spec.heartbeats: {}",
            oracles::heartbeats::WRITES,
            Value::from(likely)
        ),
    }
}

fn disagree(
    setup: &Setup,
    disagreements: &[oracles::Disagreement],
    folder: &RunFolder,
) -> anyhow::Error {
    let mut text = String::from(
        "the undisturbed runs disagree, so there is nothing to compare trials with:\n",
    );
    for disagreement in disagreements.iter().take(10) {
        text.push_str(&format!("  {disagreement}\n"));
        let at = match setup.workload.operation(disagreement.cursor) {
            Some(operation) => format!("at {}, {}", operation.title, operation.place),
            None => "at the end".to_owned(),
        };
        text.push_str(&format!("    {at}\n"));
    }
    let left = disagreements.len().saturating_sub(10);
    if left > 0 {
        text.push_str(&format!("  and {left} more\n"));
    }
    text.push_str(
        "the usual reason is a race in the controller: what comes first, an event or an answer, decides how it ends\n",
    );
    let accept: BTreeSet<String> = disagreements
        .iter()
        .filter_map(|disagreement| Some(disagreement.acceptable()?.to_string()))
        .collect();
    if !accept.is_empty() {
        // JSON is YAML: to be pasted into the campaign.
        let accept = Value::from_iter(accept);
        text.push_str(&format!("if all of these ends are right: spec.accept: {accept}\n"));
    }
    text.push_str(&format!("their histories are in {}", folder.path.join("references").display()));
    Expected::error(Exit::References, text)
}
