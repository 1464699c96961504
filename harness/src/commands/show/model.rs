//! `trommel show --model`: the schedule model of a run folder's undisturbed runs, or of one history.

mod text;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::Arc,
};

use plans::Schedule;
use serde_json::Value;
use trace::{Cursor, DrawnNames, Event, Footprint, History, ObjectKey, StepState, file::Stored};

use super::{FIRST, as_far_as_it_goes, read};
use crate::{
    campaign::{
        reference::{BEFORE, created_by_subject},
        schedule::{self, Source},
    },
    cli::Output,
    exit::{Exit, Expected},
    report::plain,
    stdout,
};

type Objects = Vec<(ObjectKey, Arc<Value>)>;

/// Prints the model. Of files whose writers were killed it is learnt as far as they go, and the exit code says so.
///
/// # Errors
/// As [`super::run`].
pub fn show(path: &Path, output: Output) -> anyhow::Result<Exit> {
    let files = histories(path)?;
    let stored: Vec<Stored> = files.iter().map(|file| read(file)).collect::<Result<_, _>>()?;
    let before = before(&files)?;
    let histories: Vec<&History> = stored.iter().map(|stored| &stored.history).collect();
    let schedule = learn(&histories, &before);
    stdout::write(&match output {
        Output::Text => plain::text(&text::text(&schedule, files.len())).into_owned(),
        Output::Json => serde_json::to_string_pretty(&schedule)? + "\n",
    });
    let ends = files.iter().zip(&stored);
    let exits = ends.map(|(file, stored)| as_far_as_it_goes(file, stored.truncated.as_ref()));
    Ok(exits.min().unwrap_or(Exit::Clean))
}

/// The history itself, that of a trial's folder, or those of all undisturbed runs of a run folder, in order.
fn histories(path: &Path) -> anyhow::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let own = path.join("history.jsonl.zst");
    if own.is_file() {
        return Ok(vec![own]);
    }
    let reference =
        |number: u32| path.join("references").join(number.to_string()).join("history.jsonl.zst");
    let found: Vec<PathBuf> = (0..).map(reference).take_while(|file| file.is_file()).collect();
    if found.is_empty() {
        let message = format!(
            "{}: this is no run folder, no undisturbed run is stored here ({FIRST} is missing): name a folder that \
             `trommel run CAMPAIGN.yaml` made (trommel-out/CAMPAIGN/NUMBER), or a history file",
            path.display()
        );
        return Err(Expected::error(Exit::Usage, message));
    }
    Ok(found)
}

/// The objects of before the first step, where they are kept beside these runs.
fn before(files: &[PathBuf]) -> anyhow::Result<Objects> {
    let Some(file) = files.first() else { return Ok(vec![]) };
    let Some(runs) = std::path::absolute(file)?.ancestors().nth(2).map(Path::to_owned) else {
        return Ok(vec![]);
    };
    let path = runs.join(BEFORE);
    if !path.is_file() {
        return Ok(vec![]);
    }
    let wrong = |error: &dyn std::fmt::Display| {
        let message = format!("{}: {error}; remove it, or run the campaign again", path.display());
        Expected::error(Exit::Recording, message)
    };
    let text = fs::read(&path).map_err(|error| wrong(&error))?;
    serde_json::from_slice(&text).map_err(|error| wrong(&error))
}

fn learn(histories: &[&History], before: &Objects) -> Schedule {
    let generated: Vec<BTreeSet<&str>> =
        histories.iter().map(|history| generated(history, before)).collect();
    let runs = histories.iter().zip(&generated);
    let created: Vec<BTreeSet<ObjectKey>> =
        runs.clone().map(|(history, names)| created_by_subject(history, names)).collect();
    let drawn = DrawnNames::learn(&created);
    let sources = runs.map(|(history, names)| {
        let keys = history.commits().map(|commit| &commit.key);
        let drawn = keys.filter(|key| drawn.has(key)).map(|key| &*key.name);
        let names = names.iter().copied().chain(drawn).collect();
        Source { history, before, cursor: cursor(history), names }
    });
    let sources: Vec<Source<'_>> = sources.collect();
    let mut footprint = Footprint::default();
    for source in &sources {
        footprint.learn(source.history, &|name| source.names.contains(name));
    }
    schedule::of_all(&footprint, &sources)
}

/// Names that the server made: such an object says what its name was made from. Suffixes have five characters.
fn generated<'r>(history: &'r History, before: &'r Objects) -> BTreeSet<&'r str> {
    let changed = history.commits().map(|commit| (&commit.key, &commit.object));
    let all = changed.chain(before.iter().map(|(key, object)| (key, object)));
    let named = all.filter(|(key, object)| {
        let base = object["metadata"]["generateName"].as_str().unwrap_or_default();
        let prefix = key.name.get(..key.name.len().saturating_sub(5)).unwrap_or_default();
        !prefix.is_empty() && base.starts_with(prefix)
    });
    named.map(|(key, _)| &*key.name).collect()
}

/// Where the workload was at the start: that of a trial on a fork begins later.
fn cursor(history: &History) -> Cursor {
    let mut steps = history.records.iter().filter_map(|record| match &record.event {
        Event::Step(step) => Some(step),
        _ => None,
    });
    let first = steps.next().filter(|step| step.state == StepState::Started);
    first.map(|step| step.cursor).unwrap_or_default()
}
