//! The first line of a result: the findings, and what was covered.

use plans::{Family, Rule};

use crate::{
    report::{Report, text},
    trial::NOT_SEEN_THROUGH,
};

/// The line. `unconfirmed` suspicions have lines of their own.
pub fn line(report: &Report, unconfirmed: usize, replicas: u32) -> String {
    let covered = covered(report, replicas);
    let unknown = match report.plans.unknown {
        0 => String::new(),
        1 => "; 1 plan has no verdict".to_owned(),
        n => format!("; {n} plans have no verdict"),
    };
    let suspected = match unconfirmed {
        0 => String::new(),
        1 => "; 1 suspicion is not confirmed: the line \"suspected\" names it".to_owned(),
        n => format!("; {n} suspicions are not confirmed: the lines \"suspected\" name them"),
    };
    match &report.findings[..] {
        [] if let Some(why) = &report.proves_nothing => {
            format!("Nothing was proved: {why}{unknown}{suspected}.")
        }
        [] if report.plans.run == 0 => format!("No finding: {covered}{unknown}{suspected}."),
        [] if unconfirmed > 0 => {
            format!("No finding was confirmed: {covered}{unknown}{suspected}.")
        }
        [] => {
            let (nothing, besides) = match report.transient.len() {
                0 => ("Nothing", String::new()),
                1 => {
                    ("Nothing lasting", "; 1 rollback: the line \"transient\" names it".to_owned())
                }
                n => (
                    "Nothing lasting",
                    format!("; {n} rollbacks: the lines \"transient\" name them"),
                ),
            };
            let families = families(report);
            format!("{nothing} found by {families}: {covered}{unknown}{suspected}{besides}.")
        }
        [one] => format!("1 finding: {}. {}{unknown}{suspected}.", one.title, capital(&covered)),
        [first, ..] => format!(
            "{} findings, the first: {}. {}{unknown}{suspected}.",
            report.findings.len(),
            first.title,
            capital(&covered)
        ),
    }
}

/// Those of which a plan ran: `intermediate-state, stale-state and unobserved-state`.
fn families(report: &Report) -> String {
    let ran = report.families.iter().filter(|(_, family)| family.run > 0);
    let names: Vec<&str> = ran.map(|(name, _)| name.as_str()).collect();
    match &names[..] {
        [] => "no family".to_owned(),
        [one] => (*one).to_owned(),
        [all @ .., last] => format!("{} and {last}", all.join(", ")),
    }
}

fn covered(report: &Report, replicas: u32) -> String {
    let plans = &report.plans;
    let not_suggested = plans.pruned.get(&Rule::NotSuggested.to_string()).copied().unwrap_or(0);
    if plans.run == 0 {
        return nothing_tried(report);
    }
    if report.is_of_models() && plans.left == 0 {
        return format!(
            "of the model's runs with the same crashes at least one each was tried: {}, {}; nothing else was asked for",
            text::count(plans.run, "plan"),
            text::count(plans.trials, "trial")
        );
    }
    match schedules(report) {
        Some(schedules) if report.coverage.closed => closed(report, replicas, schedules),
        Some(_) => format!(
            "not everything was covered: {}, {} trials",
            text::levels(&report.coverage),
            plans.trials
        ),
        None if plans.left + not_suggested == 0 => format!(
            "every state of the undisturbed runs that the controller can miss was kept from it: {} plans, {} trials; no \
             restart was asked for",
            plans.run, plans.trials
        ),
        None => {
            let all = plans.run + plans.left + not_suggested;
            format!(
                "not everything was covered: {} of {all} plans, {} trials",
                plans.run, plans.trials
            )
        }
    }
}

/// Why no trial was carried out, as far as the families tell.
fn nothing_tried(report: &Report) -> String {
    let families = || report.families.values();
    if report.plans.left > 0 {
        return format!(
            "nothing was tried: the budget, or an interrupt, ended the run before the first of {} plans",
            report.plans.left
        );
    }
    if families().any(|family| !family.unavailable.is_empty() || !family.not_for.is_empty()) {
        return "nothing was tried: the lines \"not possible\" say why".to_owned();
    }
    if families().all(|family| family.enumerated == 0) {
        return "nothing was tried: undisturbed, the controller reads or does nothing that these families could disturb"
            .to_owned();
    }
    "nothing was tried: rules left out every plan".to_owned()
}

/// Every schedule was covered, with what limits that.
fn closed(report: &Report, replicas: u32, schedules: &str) -> String {
    let of_all = if replicas > 1 { " of all replicas at once" } else { "" };
    let closely = match report.coverage.level.as_str() {
        "exact" => String::new(),
        level => format!(" as far as {level} tells worlds apart"),
    };
    let behind = match report.coverage.behind_findings {
        0 => String::new(),
        1 => ", except behind the findings (1 world)".to_owned(),
        n => format!(", except behind the findings ({n} worlds)"),
    };
    let blind = match report.notes.iter().any(|note| note.starts_with(NOT_SEEN_THROUGH)) {
        true => {
            "; not all that the controller waits for can be seen: the line \"suspected\" names it"
        }
        false => "",
    };
    format!(
        "every {schedules}{of_all} of every length was covered{closely}{behind}: {}, {} trials{blind}",
        text::levels(&report.coverage),
        report.plans.trials
    )
}

/// What is claimed to be covered: what restarts the controller, if any of that was tried. States that it is kept from seeing
/// are counted only.
fn schedules(report: &Report) -> Option<&'static str> {
    match (report.has_run(Family::IntermediateState), report.has_run(Family::StaleState)) {
        (true, true) => Some("schedule of crashes and stale restarts"),
        (false, true) => Some("schedule of stale restarts"),
        (true, false) => Some("crash schedule"),
        (false, false) => None,
    }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or(String::new(), |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::sample;

    #[test]
    fn what_proves_nothing_is_not_called_clean() {
        let mut report = sample::clean();
        report.proves_nothing = Some("the workload has no steps".to_owned());
        let line = line(&report, 0, 1);
        assert!(line.starts_with("Nothing was proved: the workload has no steps."), "{line}");
    }

    #[test]
    fn a_budget_that_ends_before_the_first_trial_is_told() {
        let mut report = sample::clean();
        (report.plans.run, report.plans.left) = (0, 7);
        let line = line(&report, 0, 1);
        assert!(line.contains("ended the run before the first of 7 plans"), "{line}");
    }
}
