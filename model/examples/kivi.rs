//! Kivi's cases, timed:
//! `kivi CASE|all violating|clean|cured single|scaled|sweep drain|reconcile|write [SCALE] [parity|exact] [STATES]`.
//!
//! `single` is the cluster of that scale, `scaled` grows to the first violation, `sweep` sees all sizes.
#![allow(clippy::print_stdout)]

use std::{num::NonZeroUsize, time::Instant};

use model::{
    cluster::Granularity,
    kivi::{
        cases::{Case, Variant},
        check::{self, Checked, Outcome},
        options::{Faster, Mode, Options},
        sweep,
    },
};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let word = |at: usize| arguments.get(at).map_or("", String::as_str);
    let variant = match word(1) {
        "clean" => Variant::Clean,
        "cured" => Variant::Cured,
        _ => Variant::Violating,
    };
    let options = Options {
        granularity: match word(3) {
            "drain" => Granularity::Drain,
            "reconcile" => Granularity::Reconcile,
            "step" => Granularity::Step,
            _ => Granularity::Write,
        },
        scale: word(4).parse().unwrap_or(3),
        mode: if word(5) == "exact" { Mode::Exact } else { Mode::Parity },
        all_violations: word(2) == "sweep",
        states_max: word(6).parse().unwrap_or(u64::MAX),
        ..Options::default()
    };
    let all = Case::ALL
        .into_iter()
        .filter(|case| matches!(word(0), "all" | "") || case.name() == word(0));
    for case in all.filter(|case| variant != Variant::Cured || case.has_cured()) {
        let begun = Instant::now();
        let told = match word(2) {
            "single" => single(case, variant, &options),
            _ => scaled(case, variant, &options),
        };
        println!("{} {:.3} s: {told}", case.name(), begun.elapsed().as_secs_f64());
    }
}

fn single(case: Case, variant: Variant, options: &Options) -> String {
    let of = case.at_scale(options.scale, variant);
    let intents = check::asked(&of, options);
    let threads: NonZeroUsize = options.threads;
    let checked = check::check(&of, &intents, options, threads, None).expect("a search");
    format!("{} states, {}", checked.counts.distinct, told(&checked))
}

fn scaled(case: Case, variant: Variant, options: &Options) -> String {
    let sizes = case.bounds(options.scale, variant).sizes(Faster::No);
    let describe =
        |size: &model::kivi::sizes::Size| case.of_size(&size.nodes, size.pods[0], variant);
    let swept = sweep::sweep(&sizes, describe, options, None).expect("searches");
    let states: u64 = swept.swept.iter().map(|one| one.checked.counts.distinct).sum();
    let most = swept.swept.iter().max_by_key(|one| one.checked.counts.distinct);
    let most = most
        .map_or(String::new(), |one| format!("{} at {}", one.checked.counts.distinct, one.size));
    let first = swept.first_violation().map_or("none violates".to_owned(), |one| {
        format!(
            "{} {}: {} states, {}",
            one.index,
            one.size,
            one.checked.counts.distinct,
            told(&one.checked)
        )
    });
    let violating = swept.swept.iter().filter(|one| one.checked.violation().is_some()).count();
    format!(
        "{} of {} set-ups, {states} states, most {most}; {violating} violate; first: {first}; clean: {}",
        swept.swept.len(),
        swept.sizes,
        swept.is_clean()
    )
}

fn told(checked: &Checked) -> String {
    let one = |judged: &check::Judged| match &judged.verdict {
        Outcome::Held => format!("{} held", judged.title),
        Outcome::Unknown(why) => format!("{} unknown: {why:?}", judged.title),
        Outcome::Violated(trace) => format!(
            "{} VIOLATED in {} steps, loops to {:?}{}",
            judged.title,
            trace.steps.len(),
            trace.loops_to,
            if std::env::var_os("TRACE").is_some() {
                format!("\n    {}", trace.lines(4).join("\n    "))
            } else {
                String::new()
            }
        ),
    };
    checked.verdicts.iter().map(one).collect::<Vec<_>>().join("; ")
}
