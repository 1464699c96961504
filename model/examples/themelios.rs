//! Themelios' hundred cases, one row a case: expected, found, violated properties with the lengths of their shortest
//! traces, states, depth, seconds.
//!
//! `themelios [PART OF A NAME]`, then `--trace` for traces, `--wishes` for the formulas of Themelios' README instead of its
//! properties, `--unique` for only the property that Themelios found violated, `--first` to stop at the first violation;
//! `--seconds N`, `--threads N`. Other bounds than the case's own: `--parallelism N` (of `parallel_job`), `--lags N`,
//! `--lag-max N`, `--restarts N`, `--laggards kubelet,scheduler`, `--no-client`.
#![allow(clippy::print_stdout)]

use std::{
    num::NonZeroUsize,
    time::{Duration, Instant},
};

use model::{
    Property, Report, Search, System, Verdict,
    cluster::{Action, Cluster, Setup, State},
    themelios::{Case, Model, properties, wishes},
};

struct Options {
    only: String,
    trace: bool,
    wishes: bool,
    seconds: u64,
    threads: NonZeroUsize,
    unique: bool,
    first: bool,
    lags: Option<u64>,
    lag_max: Option<u64>,
    restarts: Option<u64>,
    laggards: Option<String>,
    no_client: bool,
    parallelism: Option<u64>,
}

fn options() -> Options {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let after = |name: &str| {
        let at = arguments.iter().position(|argument| argument == name)?;
        arguments.get(at + 1)
    };
    let given = |name: &str| after(name).map(|text| text.parse::<u64>().expect("a number"));
    let number = |name: &str, other: u64| given(name).unwrap_or(other);
    let has = |name: &str| arguments.iter().any(|argument| argument == name);
    let only = arguments.first().filter(|first| !first.starts_with("--")).cloned();
    Options {
        only: only.unwrap_or_default(),
        trace: has("--trace"),
        wishes: has("--wishes"),
        seconds: number("--seconds", 55),
        threads: NonZeroUsize::new(number("--threads", 2) as usize).unwrap_or(NonZeroUsize::MIN),
        unique: has("--unique"),
        first: has("--first"),
        lags: given("--lags"),
        lag_max: given("--lag-max"),
        restarts: given("--restarts"),
        laggards: after("--laggards").cloned(),
        no_client: has("--no-client"),
        parallelism: given("--parallelism"),
    }
}

fn main() {
    let options = options();
    println!("| case | expected | found | violated (steps) | states | depth | seconds |");
    println!("|---|---|---|---|---|---|---|");
    for mut case in Case::all() {
        if let (Model::ParallelJob(pods), Some(parallelism)) =
            (&mut case.model, options.parallelism)
        {
            *pods = parallelism as u32;
        }
        if case.name().contains(&options.only) {
            run(case, &options);
        }
    }
}

fn run(case: Case, options: &Options) {
    let cluster = Cluster::new(setup(case, options)).expect("a cluster");
    let fairness = wishes::fairness(&cluster);
    let mut properties = asked(case, &cluster, options.wishes);
    if options.unique {
        properties.truncate(1);
    }
    let begun = Instant::now();
    let limit = Duration::from_secs(options.seconds);
    let deadline = || begun.elapsed() > limit;
    let mut search = Search::new(&cluster, &properties);
    search.threads = options.threads;
    search.all_violations = !options.first;
    search.budgets.deadline = Some(&deadline);
    if options.wishes {
        search.fairness = &fairness;
    }
    let report = search.breadth_first().expect("a search");
    let seconds = begun.elapsed().as_secs_f64();
    let expected = match (options.wishes, case.expects_violation()) {
        (true, _) => "-",
        (false, true) => "violated",
        (false, false) => "holds",
    };
    println!(
        "| {} | {expected} | {} | {} | {}{} | {} | {seconds:.1} |",
        case.name(),
        found(&report),
        violated(&report),
        report.counts.distinct,
        if report.limit.is_some() { "+" } else { "" },
        report.counts.depth,
    );
    if options.trace {
        traces(&cluster, &report);
    }
}

/// The case with other bounds.
fn setup(case: Case, options: &Options) -> Setup {
    let mut setup = case.setup();
    let budgets = &mut setup.budgets;
    budgets.lags = options.lags.map_or(budgets.lags, |lags| lags as u8);
    budgets.restarts = options.restarts.map_or(budgets.restarts, |restarts| restarts as u8);
    setup.lag_max = options.lag_max.map_or(setup.lag_max, |most| most as u16);
    if options.no_client {
        setup.events.clear();
    }
    if let Some(laggards) = &options.laggards {
        for client in &mut setup.clients {
            client.lags = laggards.split(',').any(|name| client.controller.short_name() == name);
        }
    }
    setup
}

fn asked(case: Case, cluster: &Cluster, wishes: bool) -> Vec<Property<'_, Cluster>> {
    let has_deployment = matches!(
        case.model,
        Model::NewDeployment | Model::DeploymentRollingUpdate | Model::PausedDeployment
    );
    let mut asked = match wishes {
        false => properties::safety(cluster),
        true => wishes::order(cluster).into_iter().chain(wishes::liveness(cluster)).collect(),
    };
    if wishes {
        asked.push(properties::every_pod_gets_scheduled(cluster));
    } else if has_deployment {
        asked.push(properties::complete(cluster));
    }
    asked
}

/// Held, violated, or unknown if not all was seen.
fn found(report: &Report<State, Action>) -> &'static str {
    let is = |of: fn(&Verdict<State, Action>) -> bool| {
        report.verdicts.iter().any(|(_, verdict)| of(verdict))
    };
    match () {
        () if is(Verdict::is_violated) => "violated",
        () if is(|verdict| matches!(verdict, Verdict::Unknown { .. })) => "unknown",
        () => "holds",
    }
}

fn violated(report: &Report<State, Action>) -> String {
    let violated = report.verdicts.iter().filter(|(_, verdict)| verdict.is_violated());
    let told = violated.map(|(name, verdict)| match verdict.run() {
        Some(run) => format!("{name} ({})", run.actions.len()),
        None => format!("{name} (never)"),
    });
    told.collect::<Vec<String>>().join("; ")
}

fn traces(cluster: &Cluster, report: &Report<State, Action>) {
    for (name, verdict) in report.verdicts.iter().filter(|(_, verdict)| verdict.is_violated()) {
        println!("\n{name}");
        let Some(run) = verdict.run() else { continue };
        for (at, action) in run.actions.iter().enumerate() {
            let from = if run.loops_to == Some(at) { " <- again from here" } else { "" };
            println!("  {:3} {}{from}", at + 1, cluster.label(action));
        }
    }
}
