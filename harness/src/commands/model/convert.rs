//! `trommel model convert`: a trace or a state graph in another format. What that can't carry is said on stderr.

use std::path::PathBuf;

use clap::Args;
use model::traces::Read;

use super::files::{self, Target};
use crate::exit::Exit;

/// `trommel model convert`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// What to read: any trace or state graph that `trommel model show` prints.
    from: PathBuf,
    /// What to write, by the end of its name: .itf.json, .dot, .ndjson.
    to: Target,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    match files::read(&options.from)? {
        Read::Trace(trace) => options.to.trace(&trace)?,
        Read::Graph(graph) => options.to.graph(&graph)?,
    }
    Ok(Exit::Clean)
}
