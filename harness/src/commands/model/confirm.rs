//! `trommel model confirm`: plays a counterexample of a cluster model on the real programs.
//!
//! Reading order: [`file`] (what a counterexample is), [`play`] (how it is played), [`programs`], [`act`], [`drain`] and [`usage`]
//! (by whom), [`expected`] and [`intent`] (what of it is judged), [`lives`] (what is compared).

mod act;
mod drain;
mod expected;
mod file;
mod intent;
mod lives;
mod play;
mod programs;
mod story;
mod usage;

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use clap::Args;

use super::{files, usage as wrong};
use crate::{config::parse_duration, exit::Exit, report::plain, stdout};
use expected::{Expected, Judged};
use file::ModelVerdict;
pub(super) use file::{
    After, Begins, Counterexample, Expectation, ProgramSpec, Step, Usage, Write, WriteVerb,
};
use play::{Ending, Played};

/// `trommel model confirm`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The counterexample (`kind: Counterexample`).
    #[arg(value_name = "FILE")]
    file: PathBuf,
    #[command(flatten)]
    programs: Programs,
    /// Write what the real programs wrote, of the objects that the file speaks of, as its `writes`.
    #[arg(long, value_name = "FILE")]
    writes: Option<PathBuf>,
}

/// Which real programs, and how they run.
#[derive(Debug, Clone, Args)]
pub(super) struct Programs {
    /// A real program, in place of the one in PATH: kube-controller-manager, kube-scheduler, descheduler.
    #[arg(long, value_name = "NAME=FILE", value_parser = named)]
    program: Vec<(String, PathBuf)>,
    /// Give up after so long by this machine's clock; a search of clusters too.
    #[arg(long, value_name = "DURATION", default_value = "10m", value_parser = parse_duration)]
    timeout: Duration,
    /// Keep the programs' logs in this folder.
    #[arg(long, value_name = "DIR")]
    logs: Option<PathBuf>,
}

fn named(text: &str) -> Result<(String, PathBuf), String> {
    let (name, file) = text.split_once('=').ok_or("expected NAME=FILE")?;
    programs::check(name)?;
    Ok((name.to_owned(), PathBuf::from(file)))
}

/// What came of it.
pub(super) struct Confirmed {
    pub exit: Exit,
    /// The first line.
    pub verdict: String,
    pub lines: Vec<String>,
}

impl Confirmed {
    /// All of it, a line each.
    pub fn told(&self) -> String {
        format!("{}\n{}\n", self.verdict, self.lines.join("\n"))
    }
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    let file = Counterexample::load(&options.file)?;
    let (confirmed, played) = hold(&options.file, &file, &options.programs)?;
    if let Some(path) = &options.writes {
        let real = serde_saphyr::to_string(&lives::writes_of(&writes(&file), &played))?;
        files::put(path, &real)?;
    }
    stdout::write(&plain::text(&confirmed.told()));
    Ok(confirmed.exit)
}

/// Whether a property can be judged on real programs.
///
/// # Errors
/// Why not.
pub(super) fn can_be_judged(expectation: &Expectation) -> Result<(), String> {
    Expected::read(expectation).map(drop)
}

/// Plays a counterexample on the real programs; errors name `path`.
///
/// # Errors
/// A program is missing, or the machine can't run it.
pub(super) fn confirmed(
    path: &Path,
    file: &Counterexample,
    programs: &Programs,
) -> anyhow::Result<Confirmed> {
    hold(path, file, programs).map(|(confirmed, _)| confirmed)
}

fn hold(
    path: &Path,
    file: &Counterexample,
    programs: &Programs,
) -> anyhow::Result<(Confirmed, Played)> {
    let mut paths = BTreeMap::new();
    for name in file.programs.value.keys() {
        paths.insert(name.clone(), programs.file(name)?);
    }
    let scratch = tempfile::tempdir()?;
    let folder = programs.logs.as_deref().unwrap_or(scratch.path());
    std::fs::create_dir_all(folder)?;
    let folder = std::path::absolute(folder)?;
    let began = Instant::now();
    let program = |name: &str| paths.get(name).cloned().unwrap_or_default();
    let writes = writes(file);
    // What holds in the model is watched to the end.
    let holds = file.expect.iter().any(|one| one.value.model == ModelVerdict::Held);
    let enough = |played: &Played| !holds && confirm(file, &writes, played).exit == Exit::Clean;
    let played = play::play((path, file), &program, &folder, programs.timeout, &enough)?;
    let mut confirmed = confirm(file, &writes, &played);
    let names: Vec<&str> = file.programs.value.keys().map(String::as_str).collect();
    confirmed.lines.push(format!(
        "real: {}; {} writes in {} of their time, {} here; {}",
        names.join(", "),
        played.commits.len(),
        time(played.took),
        time(began.elapsed()),
        ending(&played, file.steps.len()),
    ));
    Ok((confirmed, played))
}

fn writes(file: &Counterexample) -> Vec<&Write> {
    file.writes.iter().map(|write| &write.value).collect()
}

impl Programs {
    /// How long may be waited for an answer.
    pub fn timeout(&self) -> Duration {
        self.timeout
    }

    /// The file of a program.
    fn file(&self, name: &str) -> anyhow::Result<PathBuf> {
        if let Some((_, file)) = self.program.iter().find(|(known, _)| known == name) {
            return Ok(std::path::absolute(file)?);
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let mut found = std::env::split_paths(&path).map(|folder| folder.join(name));
        found.find(|file| file.is_file()).ok_or_else(|| wrong(programs::missing(name)))
    }
}

/// Holds what the real programs did against what the model says.
fn confirm(file: &Counterexample, writes: &[&Write], played: &Played) -> Confirmed {
    let (mut lines, mut differs, mut unknown) = (vec![], None, None);
    for spec in &file.expect {
        let expected = Expected::read(&spec.value).expect("it was read before");
        let judged = expected.judge(played);
        let model = match expected.model {
            ModelVerdict::Violated => "violated",
            ModelVerdict::Held => "holds",
        };
        let real = match &judged {
            Judged::Held => "holds".to_owned(),
            Judged::Violated(how, None) => format!("violated: {how}"),
            Judged::Violated(how, Some(at)) => format!("violated after {}: {how}", time(*at)),
            Judged::Unknown(why) => format!("unknown: {why}"),
        };
        let line = format!("{}: {model} in the model; on the real programs {real}", expected.name);
        match (&judged, expected.model) {
            (Judged::Unknown(_), _) => unknown = Some(line.clone()),
            (Judged::Held, ModelVerdict::Held) | (Judged::Violated(..), ModelVerdict::Violated) => {
            }
            _ => differs = differs.or(Some(line.clone())),
        }
        lines.push(line);
    }
    let (model, real) = (lives::of_model(writes), lives::of_real(writes, played));
    match lives::first_difference(&model, &real) {
        Err(why) => unknown = Some(why),
        Ok(None) if writes.is_empty() => {}
        Ok(None) => lines.push(format!(
            "writes: all {} of the model's, of {} object{}",
            writes.len(),
            model.len(),
            if model.len() == 1 { "" } else { "s" }
        )),
        Ok(Some(difference)) => {
            let write = writes[difference.write];
            let line = format!(
                "write {} of the model, {}, was not made; {}",
                difference.write + 1,
                told(write),
                difference.instead
            );
            differs = differs.or(Some(line.clone()));
            lines.push(line);
        }
    }
    if let Ending::Broken(why) = &played.ending {
        unknown = Some(why.clone());
    }
    let (exit, verdict) = match (unknown, differs) {
        (Some(why), _) => (Exit::Unknown, format!("unknown: {why}")),
        (None, Some(how)) => (Exit::Finding, format!("differs: {how}")),
        (None, None) => (Exit::Clean, "agrees".to_owned()),
    };
    Confirmed { exit, verdict, lines }
}

/// `update of Deployment default/web (spec.replicas 1)`.
fn told(write: &Write) -> String {
    let verb = match write.verb {
        WriteVerb::Create => "create",
        WriteVerb::Update => "update",
        WriteVerb::Delete => "delete",
    };
    let object = write.object.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
    let set = write.set.iter().map(|(field, value)| format!("{field} {}", lives::shown(value)));
    let set: Vec<String> = set.collect();
    let set = if set.is_empty() { String::new() } else { format!(" ({})", set.join(", ")) };
    format!("{verb} of {}{object}{set}", lives::role(write))
}

fn ending(played: &Played, steps: usize) -> String {
    let how = match &played.ending {
        Ending::Enough => "that was all of the model's run",
        Ending::Settled => "then nothing more came",
        Ending::TimeOver => "then the time was over",
        Ending::Restless => "they went on and on",
        Ending::Broken(_) => "it was not played to its end",
    };
    match steps - played.steps {
        0 => how.to_owned(),
        left => format!("{how}, with {left} of {steps} steps to come"),
    }
}

fn time(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 120.0 => format!("{seconds:.1} s"),
        seconds => format!("{:.1} min", seconds / 60.0),
    }
}
