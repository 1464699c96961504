//! `trommel model show`: a trace step by step, or what a state graph has.

use std::path::PathBuf;

use clap::Args;
use model::traces::Read;

use super::{files, text};
use crate::{exit::Exit, report::plain, stdout};

/// `trommel model show`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// A trace (ITF, TLC's output or JSON, text of a trace panel, ndjson) or a state graph (DOT).
    file: PathBuf,
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    let told = match files::read(&options.file)? {
        Read::Trace(trace) => text::trace(&trace),
        Read::Graph(graph) => {
            let run = graph.only_trace().map(|trace| text::trace(&trace));
            text::graph(&graph) + &run.unwrap_or_default()
        }
    };
    stdout::write(&plain::text(&told));
    Ok(Exit::Clean)
}
