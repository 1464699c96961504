//! Did each operation of the workload succeed?

use trace::{Event, Folder, Lack, Path, StepEvent, StepState, Unmet};

use super::ended;
use crate::{
    baseline::{Baseline, fold_path},
    cause::{Cause, Causes, Found, Wrong},
    role::starred,
    run::Trial,
    verdict::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue},
};

pub(super) fn judge(trial: &Trial, baseline: &Baseline) -> Verdict {
    let failed = trial.run.history.records.iter().find_map(|record| match &record.event {
        Event::Step(step) => match &step.state {
            StepState::Failed { message, unmet } => Some((step, message, unmet)),
            _ => None,
        },
        _ => None,
    });
    match failed {
        Some((step, message, unmet)) => violated(trial, baseline, step, message, unmet.as_ref()),
        None if ended(trial) => Verdict::held(Oracle::Workload, "every operation succeeded"),
        None => Verdict::unknown(Oracle::Workload, "the workload was not done"),
    }
}

fn violated(
    trial: &Trial,
    baseline: &Baseline,
    step: &StepEvent,
    message: &str,
    unmet: Option<&Unmet>,
) -> Verdict {
    let folder = trial.run.folder();
    let mut evidence = vec![Evidence::Step {
        cursor: step.cursor,
        title: step.title.clone(),
        message: message.to_owned(),
    }];
    // Messages carry names and values: only the object and the field tell failures of a step apart.
    let failed = format!("failed {}", folder.text(&step.title));
    let lacks = unmet.map(|unmet| lack(&folder.text(&unmet.object), &unmet.how));
    let mut fingerprint =
        Fingerprint::new(Oracle::Workload, [Some(failed), lacks].into_iter().flatten());
    if let Some(found) = unmet.and_then(|unmet| cause(trial, baseline, &folder, step, unmet)) {
        fingerprint = fingerprint.caused_by(&found.cause);
        evidence.extend(found.evidence());
    }
    Verdict {
        oracle: Oracle::Workload,
        value: VerdictValue::Violated,
        title: format!("{} failed: {}", step.title, first_line(message)),
        evidence,
        fingerprint,
    }
}

fn lack(object: &str, how: &Lack) -> String {
    let object = starred(object);
    match how {
        Lack::Missing => format!("missing {object}"),
        Lack::Present => format!("extra {object}"),
        Lack::Field(path) => match path.parse::<Path>() {
            Ok(path) => format!("field {object} {}", fold_path(&path)),
            Err(_) => format!("field {object} {path}"),
        },
    }
}

/// Why the object is not as expected; none of a path that only an expression gives.
fn cause<'t>(
    trial: &'t Trial,
    baseline: &'t Baseline,
    folder: &'t Folder,
    step: &StepEvent,
    unmet: &Unmet,
) -> Option<Found<'t>> {
    let object = folder.text(&unmet.object);
    let path;
    let wrong = match &unmet.how {
        Lack::Missing => Wrong::Missing,
        Lack::Present => Wrong::Extra(step.cursor),
        Lack::Field(text) => {
            path = text.parse::<Path>().ok()?;
            Wrong::Field { path: &path, expected: None }
        }
    };
    let causes = Causes::new(trial, baseline, folder);
    let found = causes.of(&object, wrong);
    // That a step waits for something that never came says little of why.
    let surplus = || causes.first_surplus();
    match found.cause {
        Cause::Never { .. } => Some(surplus().unwrap_or(found)),
        Cause::Write { .. } => Some(found),
    }
}

fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
