//! Files of models: TLA+ modules with their configurations, traces and state graphs.
//!
//! What is read is told by its content, what is written by the end of its name.

use std::{
    fs, io,
    path::{Path, PathBuf},
    str::FromStr,
};

use clap::Args;
use model::{
    tla::Specification,
    traces::{self, Graph, Read, Trace, dot, itf, ndjson},
};

use super::usage;
use crate::{
    config::reading,
    exit::{Exit, Expected},
    report,
};

/// A format that traces are written in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Format {
    Itf,
    Dot,
    Ndjson,
}

const ENDS: [(&str, Format); 3] =
    [(".itf.json", Format::Itf), (".dot", Format::Dot), (".ndjson", Format::Ndjson)];

/// A file to be written, whose name says in which format.
#[derive(Debug, Clone)]
pub(super) struct Target {
    pub path: PathBuf,
    format: Format,
}

impl FromStr for Target {
    type Err = String;

    fn from_str(path: &str) -> Result<Self, String> {
        match ENDS.iter().find(|(end, _)| path.ends_with(end)) {
            Some((_, format)) => Ok(Target { path: path.into(), format: *format }),
            None => Err("unknown format: end the name in .itf.json, .dot or .ndjson".to_owned()),
        }
    }
}

/// A target for a state graph: of the formats only DOT has branches.
pub(super) fn graph_target(path: &str) -> Result<Target, String> {
    let target: Target = path.parse()?;
    match target.format {
        Format::Dot => Ok(target),
        Format::Itf | Format::Ndjson => Err(ONLY_DOT.to_owned()),
    }
}

const ONLY_DOT: &str = "this format has one run, and a state graph branches: end the name in .dot";

impl Target {
    /// Writes a trace, and says on stderr what the format does not carry of it.
    pub fn trace(&self, trace: &Trace) -> anyhow::Result<()> {
        let text = match self.format {
            Format::Itf => itf::write(trace, |_| None),
            Format::Dot => dot::write_trace(trace),
            Format::Ndjson => ndjson::write(trace),
        };
        self.put(&text)?;
        self.tell_lost(trace.actions.iter().flatten());
        Ok(())
    }

    /// Writes a state graph, and says on stderr what the format does not carry of it.
    ///
    /// # Errors
    /// It branches, and the format has but one run: exit 64.
    pub fn graph(&self, graph: &Graph) -> anyhow::Result<()> {
        if self.format == Format::Dot {
            self.put(&dot::write(graph))?;
            self.tell_lost(graph.edges.iter().filter_map(|edge| edge.action.as_ref()));
            return Ok(());
        }
        match graph.only_trace() {
            Some(trace) => self.trace(&trace),
            None => Err(usage(format!("{}: {ONLY_DOT}", self.path.display()))),
        }
    }

    fn tell_lost<'a>(&self, actions: impl Iterator<Item = &'a traces::Action>) {
        let params = actions.flat_map(|action| &action.params);
        let named = params.filter(|param| param.name.is_some()).count();
        if self.format == Format::Dot && named > 0 {
            let lost = format!("DOT has no names of parameters, {named} are left out");
            tell(&format!("{}: {lost}", self.path.display()));
        }
    }

    fn put(&self, text: &str) -> anyhow::Result<()> {
        put(&self.path, text)
    }
}

/// Writes a file, whole or not at all.
pub(super) fn put(path: &Path, text: &str) -> anyhow::Result<()> {
    report::put(path, text)
        .map_err(|error| Expected::error(Exit::Environment, format!("cannot write {error}")))
}

/// Says something on stderr.
pub(super) fn tell(text: &str) {
    eprintln!("trommel: {}", report::plain::text(text));
}

/// Reads a trace or a state graph.
pub(super) fn read(path: &Path) -> anyhow::Result<Read> {
    if is_module(path) {
        let path = path.display();
        return Err(usage(format!("{path}: this is a TLA+ module: `trommel model check {path}`")));
    }
    traces::read(&reading::text(path)?, &path.display().to_string()).map_err(usage)
}

/// Whether a file is a TLA+ module, by its name.
pub(super) fn is_module(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "tla")
}

/// The configuration of a TLA+ module.
#[derive(Debug, Clone, Args)]
pub(super) struct Configured {
    /// TLC's configuration of the module; default: the file beside it that ends in .cfg.
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

impl Configured {
    /// Reads a module, and says on stderr what its parser warns of.
    pub fn load(&self, module: &Path) -> anyhow::Result<Specification> {
        reading::text(module)?;
        let beside = || module.with_extension("cfg");
        let config = self.config.clone().unwrap_or_else(beside);
        fs::metadata(&config).map_err(|error| no_config(&config, &error))?;
        let specification = Specification::load(module, &config).map_err(usage)?;
        for warning in &specification.warnings {
            tell(&format!("{}: {warning}", module.display()));
        }
        Ok(specification)
    }
}

fn no_config(config: &Path, error: &io::Error) -> anyhow::Error {
    usage(format!(
        "cannot read {}: {error}: it says what is to be checked; name another by --config FILE",
        config.display()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_are_told_by_the_end_of_the_name() {
        let check = |path: &str, expect: Option<Format>| {
            assert_eq!(path.parse::<Target>().ok().map(|target| target.format), expect, "{path}");
        };
        check("a/b.itf.json", Some(Format::Itf));
        check("b.dot", Some(Format::Dot));
        check("b.ndjson", Some(Format::Ndjson));
        check("b.json", None);
        check("dot", None);
        assert!(graph_target("b.itf.json").is_err());
        assert!(graph_target("b.dot").is_ok());
    }
}
