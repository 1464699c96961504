//! `trommel model check`: the verdict on a TLA+ module, with the run that shows it.

use std::{
    path::{Path, PathBuf},
    time::Instant,
};

use clap::Args;
use model::tla::{Explored, Limits, Specification, Verdict};

use super::{
    answers::{self, Answer, Wanted},
    clusters,
    confirm::Usage,
    files::{self, Configured, Target},
    from::{self, NodeType},
    page,
    scenario::{Granularity, Scenario},
    text, usage, verdict,
};
use crate::{exit::Exit, report::plain, stdout};

/// `trommel model check`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The TLA+ module, PlusCal translated, or a scenario file (kind: Model).
    #[arg(value_name = "SPEC.tla|SCENARIO.yaml", required_unless_present = "from")]
    module: Option<PathBuf>,
    /// Check a folder of manifests instead, on clusters of growing size: can all pods come to run and stay?
    #[arg(long, value_name = "DIR", conflicts_with = "module", requires = "nodes")]
    from: Option<PathBuf>,
    /// With --from: a type of node, and how many there are at most: cpu=4,memory=16Gi,min=1,max=3.
    /// Other keys are labels.
    #[arg(long, value_name = "TYPE")]
    nodes: Vec<NodeType>,
    /// With --from: how much a controller does in one step. The finer, the more orders, and the more states.
    #[arg(long, value_enum, default_value = "drain", requires = "from")]
    granularity: Granularity,
    /// With --from: how much running pods with these labels use, which autoscalers read: app=web,cpu=300m,memory=1Gi.
    #[arg(long, value_name = "USAGE", requires = "from")]
    usage: Vec<Usage>,
    #[command(flatten)]
    configured: Configured,
    #[command(flatten)]
    wanted: Wanted,
    /// Write the run that shows a violation, by the end of the name: .itf.json, .dot, .ndjson.
    #[arg(long, value_name = "FILE")]
    trace: Option<Target>,
    /// Write the states and steps that were found: .dot.
    #[arg(long, value_name = "FILE", value_parser = files::graph_target)]
    graph: Option<Target>,
    /// Write a page into this folder that shows verdict, run and states in a browser.
    #[arg(long, value_name = "DIR")]
    report: Option<PathBuf>,
    /// Give up behind this many different states.
    #[arg(long, value_name = "N", default_value_t = Limits::default().states_max)]
    states: usize,
    /// Give up when the states take about this much: 512MiB, 4GiB; default: as much as there is.
    #[arg(long, value_name = "SIZE", value_parser = bytes)]
    memory: Option<usize>,
}

/// A number of bytes: `512MiB`, `4GiB`.
fn bytes(text: &str) -> Result<usize, String> {
    let units = [("KiB", 10), ("MiB", 20), ("GiB", 30)];
    let parts = units.iter().find_map(|(unit, shift)| Some((text.strip_suffix(unit)?, shift)));
    let bytes = parts
        .and_then(|(number, shift)| number.trim().parse::<usize>().ok()?.checked_mul(1 << *shift));
    bytes.ok_or_else(|| "expected a number with KiB, MiB or GiB, as 512MiB".to_owned())
}

pub(super) fn run(options: &Options) -> anyhow::Result<Exit> {
    match (&options.module, &options.from) {
        (Some(module), _) if !is_scenario(module) => check_module(options, module),
        (Some(scenario), _) => check_scenario(options, scenario),
        (None, Some(folder)) => {
            let granularity = options.granularity;
            let answers = from::check(
                folder,
                &options.nodes,
                (granularity, &options.usage),
                options.limits()?,
            )?;
            let how = from::how(granularity);
            options.show((folder, &how), &format!("{how}\n"), &answers)
        }
        (None, None) => Err(usage("name a module, a scenario, or a folder with --from")),
    }
}

fn check_scenario(options: &Options, path: &Path) -> anyhow::Result<Exit> {
    let scenario = Scenario::load(path)?;
    for note in &scenario.notes {
        files::tell(note);
    }
    let checked = clusters::check(scenario, path, options.limits()?)?;
    // Of a violation, the answer tells the verdicts.
    let head = if checked.exit() == Exit::Finding { String::new() } else { checked.told() };
    let mut answer = Answer::to(String::new());
    answer.add("the cluster of the scenario", checked);
    options.show((path, ""), &head, &[answer])
}

fn check_module(options: &Options, module: &Path) -> anyhow::Result<Exit> {
    if options.wanted.is_any() {
        return Err(usage(
            "--confirm and --counterexamples are for clusters, not for TLA+ modules",
        ));
    }
    if !files::is_module(module) {
        let path = module.display();
        let other = "traces and state graphs are printed by `trommel model show FILE`";
        return Err(usage(format!(
            "{path}: only TLA+ modules (.tla) and scenarios (.yaml) are checked; {other}"
        )));
    }
    let specification = options.configured.load(module)?;
    let bytes_max = options.memory.unwrap_or(usize::MAX);
    let limits = Limits { states_max: options.states, bytes_max };
    let explored = specification.explore(&limits).map_err(usage)?;
    let mut told = told(&specification, &explored);
    options.write(module, &specification, &explored)?;
    if let Some(folder) = &options.report {
        told += &format!("report: {}\n", folder.join(page::FILE).display());
    }
    if let Some(next) = options.next(module, &explored) {
        told += &format!("next: {next}\n");
    }
    stdout::write(&plain::text(&told));
    Ok(verdict::exit(&explored))
}

fn is_scenario(path: &Path) -> bool {
    path.extension().is_some_and(|end| end == "yaml" || end == "yml")
}

/// Verdict, counts, and the run.
fn told(specification: &Specification, explored: &Explored) -> String {
    let sentence =
        verdict::sentence(explored, &specification.asked, specification.is_constrained());
    let mut told = format!("{sentence}\n{}\n", verdict::counts(&explored.counts));
    if let Verdict::Violated(_, trace) | Verdict::Failed(_, trace) = &explored.verdict {
        told += &format!("\n{}\n", text::trace(trace));
    }
    told
}

impl Options {
    /// Of the search in a cluster, whose runs and states are not written as those of modules are.
    fn limits(&self) -> anyhow::Result<clusters::Limits> {
        let files = [("--trace", self.trace.is_some()), ("--graph", self.graph.is_some())];
        if let Some((flag, _)) = files.iter().find(|(_, asked)| *asked) {
            let instead = "a cluster's runs are written by --counterexamples and --report";
            return Err(usage(format!("{flag} is for TLA+ modules; {instead}")));
        }
        let bytes_max = self.memory.unwrap_or(usize::MAX);
        let until = Instant::now() + self.wanted.programs.timeout();
        Ok(clusters::Limits { states_max: self.states as u64, bytes_max, until })
    }

    fn show(&self, title: (&Path, &str), head: &str, answers: &[Answer]) -> anyhow::Result<Exit> {
        let (told, exit) = answers::show(title, answers, &self.wanted, self.report.as_deref())?;
        stdout::write(&plain::text(&format!("{head}{told}")));
        Ok(exit)
    }

    fn write(
        &self,
        module: &Path,
        specification: &Specification,
        explored: &Explored,
    ) -> anyhow::Result<()> {
        if let Some(target) = &self.trace {
            match &explored.verdict {
                Verdict::Violated(_, trace) => target.trace(trace)?,
                _ => {
                    let path = target.path.display();
                    files::tell(&format!("{path} is not written: there is no violation to show"));
                }
            }
        }
        if let (Some(target), Some(graph)) = (&self.graph, &explored.graph) {
            target.graph(graph)?;
        }
        if let Some(folder) = &self.report {
            let page = page::render(&name(module), specification, explored)?;
            files::put(&folder.join(page::FILE), &plain::text(&page))?;
        }
        Ok(())
    }

    /// What to do with the result: lead a real controller along the run, or along each edge.
    fn next(&self, module: &Path, explored: &Explored) -> Option<String> {
        let lead = |path: &Path| {
            format!("trommel run CAMPAIGN --schedule {} --binding FILE", path.display())
        };
        // A campaign reads the configuration beside the module.
        let written = |target: &Option<Target>, flag: &str, end: &str| match target {
            Some(target) => lead(&target.path),
            None if self.configured.config.is_none() => lead(module),
            None => {
                let path = PathBuf::from(format!("{}{end}", name(module)));
                format!("the same with {flag} {}, then {}", path.display(), lead(&path))
            }
        };
        match explored.verdict {
            Verdict::Violated(..) => Some(written(&self.trace, "--trace", ".itf.json")),
            Verdict::Held => Some(written(&self.graph, "--graph", ".dot")),
            Verdict::Unknown(_) | Verdict::Failed(..) => None,
        }
    }
}

/// The name of a module, which is that of its file.
fn name(module: &Path) -> String {
    module.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::bytes;

    #[test]
    fn sizes_have_units() {
        assert_eq!(bytes("512MiB"), Ok(512 << 20));
        assert_eq!(bytes("4 GiB"), Ok(4 << 30));
        for wrong in ["512", "MiB", "-1KiB", "99999999999999GiB", "1MB"] {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }
}
