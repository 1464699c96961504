//! The report as text: a finding in Markdown (`explain.md`), and the end of a run on the terminal.

use std::{collections::BTreeMap, fmt::Write as _};

use super::model::{
    Coverage, Entry, EntryKind, FamilyPlans, Finding, Found, LevelCoverage, Report, Suspicion,
};

/// What the terminal can show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Style {
    /// Whether escape sequences for colours may be used.
    pub color: bool,
}

impl Style {
    fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

/// The last lines of a run: result sentence, findings, what was left out, and the next command. `page` is where
/// the report page lies, as the user can type it.
pub fn terminal(report: &Report, page: &str, style: Style) -> String {
    // What colours there are come from here.
    let report = &super::mask::report(report);
    let mut out = String::new();
    let color = match report.exit {
        100 => "1;31",
        0 => "1;32",
        _ => "1;33",
    };
    line(&mut out, &style.paint(color, &report.result));
    if !report.findings.is_empty() {
        line(&mut out, "");
        findings(&mut out, report, style);
    }
    line(&mut out, "");
    for one in &report.transient {
        line(
            &mut out,
            &format!("transient: {} {}; shown by {}", one.id, one.title, trials(&one.trials)),
        );
        line(&mut out, &format!("           see it: {}", one.replay_command));
    }
    suspicions(&mut out, report);
    for permission in &report.missing_permissions {
        line(&mut out, &format!("refused:  {permission} (RBAC)"));
    }
    line(&mut out, &format!("coverage: {}", coverage(report)));
    for (name, family) in &report.families {
        families(&mut out, name, family);
    }
    soon(&mut out, report);
    undisturbed(&mut out, report);
    if !report.never_tried.is_empty() {
        line(&mut out, &format!("never tried: {}", report.never_tried.join("; ")));
    }
    for gap in &report.not_explored {
        line(&mut out, &format!("not explored: {gap}"));
    }
    line(&mut out, &format!("report:   {}", super::plain::text(page)));
    let fails = |_: &&Finding| report.exit == 100;
    if let Some(first) = report.confirmed().next().filter(fails) {
        line(&mut out, &format!("next:     {}", style.paint("1", &first.replay_command)));
    }
    out
}

fn findings(out: &mut String, report: &Report, style: Style) {
    let width = |name: &str, of: fn(&Finding) -> usize| {
        report.findings.iter().map(of).max().unwrap_or(0).max(name.len())
    };
    let id = width("FINDING", |finding| finding.id.chars().count());
    let family = width("FAMILY", |finding| finding.family.chars().count());
    let oracle = width("ORACLE", |finding| finding.oracle.chars().count());
    let row = |a: &str, b: &str, c: &str, d: &str, e: &str| {
        format!("{a:id$}  {b:family$}  {c:oracle$}  {d:9}  {e}")
    };
    line(out, &style.paint("2", &row("FINDING", "FAMILY", "ORACLE", "CONFIRMED", "TITLE")));
    for finding in &report.findings {
        let confirmed = format!("{}/{}", finding.confirmed.k, finding.confirmed.n);
        line(out, &row(&finding.id, &finding.family, &finding.oracle, &confirmed, &finding.title));
        for on in &finding.confirmed_on {
            line(out, &format!("  also on {}", on.sentence()));
        }
    }
    for finding in &report.findings {
        if finding.trials.len() > 1 {
            line(out, &format!("{}: shown by {}", finding.id, trials(&finding.trials)));
        }
        for also in &finding.also {
            line(out, &format!("{}: explains {} {}", finding.id, also.id, also.title));
        }
    }
}

/// How many trials of which families.
fn trials(by_family: &BTreeMap<String, u64>) -> String {
    let of = |(family, trials): (&String, &u64)| format!("{} of {family}", count(*trials, "trial"));
    by_family.iter().map(of).collect::<Vec<_>>().join(", ")
}

/// What is suspected: a line each.
fn suspicions(out: &mut String, report: &Report) {
    for one in &report.suspicions {
        let Suspicion { id, title, state, plan, .. } = one;
        let by = trials(&one.trials);
        line(out, &format!("suspected: {id} {title}: {state}; {by}; plan: {plan}"));
        line(out, &format!("           try it: {}", one.replay_command));
    }
}

fn coverage(report: &Report) -> String {
    let coverage = &report.coverage;
    let state = match (coverage.closed, coverage.level.as_str()) {
        (true, "exact") => "closed".to_owned(),
        (true, level) => format!("closed at {level}"),
        (false, _) => "not closed".to_owned(),
    };
    let mut text = match coverage.worlds {
        0 => "no family with restarts was selected".to_owned(),
        _ => format!("{state}, {}", levels(coverage)),
    };
    let scale = coverage.levels.iter().find(|level| level.level == "scale");
    let disagreed = scale.map_or(0, |level| level.disagreed);
    let parts = [
        (disagreed, "whose writes differ from those of the first world of their class (scale)"),
        (coverage.behind_findings, "behind findings"),
        (coverage.nondeterministic, "nondeterministic"),
        (
            report.plans.unknown,
            if report.plans.unknown == 1 { "plan unknown" } else { "plans unknown" },
        ),
    ];
    for (count, what) in parts.into_iter().filter(|(count, _)| *count > 0) {
        let _ = write!(text, ", {count} {what}");
    }
    text
}

/// What became of one family's plans: a line, and one for each reason why something can't be done.
fn families(out: &mut String, name: &str, family: &FamilyPlans) {
    let FamilyPlans { enumerated, run, held, violated, unknown, never_fired, trials, left, .. } =
        family;
    let pruned: u64 = family.pruned.values().sum();
    let mut text = format!(
        "{name}: {enumerated} plans, {pruned} pruned, {run} run in {trials} trials: {held} held, {violated} violated"
    );
    let parts = [
        (unknown, "unknown"),
        (never_fired, "of them because the crash point was not reached"),
        (left, "not run"),
    ];
    for (count, what) in parts {
        if *count > 0 {
            let _ = write!(text, ", {count} {what}");
        }
    }
    line(out, &text);
    for (why, count) in &family.unavailable {
        line(out, &format!("{name}: not possible, {count} × {why}"));
    }
    for why in &family.not_for {
        line(out, &format!("{name}: not possible: {why}"));
    }
}

/// How soon something was found.
fn soon(out: &mut String, report: &Report) {
    let after =
        |found: Found| format!("after {} ({:.1} s)", count(found.trials, "trial"), found.seconds);
    let firsts = [
        report.first_violated.map(|found| format!("a trial was violated {}", after(found))),
        report.first_finding.map(|found| format!("a finding was confirmed {}", after(found))),
    ];
    let firsts: Vec<String> = firsts.into_iter().flatten().collect();
    if !firsts.is_empty() {
        line(out, &format!("first:    {}", firsts.join("; ")));
    }
}

/// Sentences about the undisturbed runs on the terminal; the report page has all.
const UNDISTURBED_MAX: usize = 8;

fn undisturbed(out: &mut String, report: &Report) {
    let sentences = report.undisturbed.sentences();
    for sentence in sentences.iter().take(UNDISTURBED_MAX) {
        line(out, &format!("undisturbed: {sentence}"));
    }
    let left = sentences.len().saturating_sub(UNDISTURBED_MAX);
    if left > 0 {
        line(out, &format!("undisturbed: and {left} more, see the report"));
    }
}

/// How much was explored, by level as far as that says more than one number: `6 worlds`, `scale: 90 of 90 classes;
/// exact: 412 of 2061 worlds`.
pub fn levels(coverage: &Coverage) -> String {
    if coverage.frontier == 0 {
        return count(coverage.worlds, "world");
    }
    let line = |level: &LevelCoverage| {
        let noun = if level.level == "exact" { "worlds" } else { "classes" };
        format!("{}: {} of {} {noun}", level.level, level.explored, level.classes)
    };
    coverage.levels.iter().map(line).collect::<Vec<_>>().join("; ")
}

/// `1 world`, `2 worlds`.
pub fn count(number: u64, noun: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{number} {noun}{plural}")
}

fn line(out: &mut String, text: &str) {
    out.push_str(text);
    out.push('\n');
}

/// One finding in Markdown: the same content as on the report page.
pub fn explain(finding: &Finding) -> String {
    let mut out = String::new();
    let Finding { id, title, family, oracle, confirmed, explanation, .. } = finding;
    line(&mut out, &format!("# {title}\n"));
    let confirmed = format!("confirmed {} of {}", confirmed.k, confirmed.n);
    line(&mut out, &format!("`{id}` · family {family} · oracle {oracle} · {confirmed}\n"));
    for on in &finding.confirmed_on {
        line(&mut out, &format!("On another cluster: {}\n", on.sentence()));
    }
    line(&mut out, "## Why\n");
    for given in &explanation.given {
        line(&mut out, &format!("- *Perturbation:* {given}"));
    }
    for saw in &explanation.saw {
        line(&mut out, &format!("- *The controller saw:* {saw}"));
    }
    line(&mut out, &format!("- *Result:* {}", explanation.then));
    line(&mut out, &format!("- *Reason:* {}", explanation.because));
    for legal in &explanation.legal_on {
        line(&mut out, &format!("- *Legal on:* {}", legal.servers));
        for (index, step) in legal.steps.iter().enumerate() {
            line(&mut out, &format!("  {}. {step}", index + 1));
        }
    }
    for also in &finding.also {
        line(&mut out, &format!("- *The same write led to:* {} (`{}`)", also.title, also.id));
    }
    if !finding.path.is_empty() {
        line(&mut out, "\n## The run that does not have the property\n");
        fenced(&mut out, "text", &finding.path.join("\n"));
    }
    line(&mut out, "\n## Reproduce it\n");
    fenced(&mut out, "sh", &finding.replay_command);
    line(&mut out, "\n## What happened around the perturbation\n");
    fenced(&mut out, "text", &timeline(&finding.timeline));
    line(&mut out, "\n## Objects that differ: undisturbed runs (-), this trial (+)\n");
    for object in &finding.diff {
        line(&mut out, &format!("`{}` {}\n", object.object, object.change.words()));
        fenced(&mut out, "diff", &object.lines.join("\n"));
    }
    if finding.diff.is_empty() {
        line(&mut out, finding.without_difference());
    }
    if !finding.kubectl_steps.is_empty() {
        line(&mut out, "\n## Reproduce it by hand\n");
        for (index, step) in finding.kubectl_steps.iter().enumerate() {
            // Further lines belong to the item when they are indented as far as its text.
            line(&mut out, &format!("{}. {}", index + 1, step.trim_end().replace('\n', "\n   ")));
        }
    }
    line(&mut out, &format!("\n## Replay file: {}\n", finding.replay));
    fenced(&mut out, "yaml", &without_manifests(&finding.replay_text));
    out
}

/// A replay file without the manifests, which are most of it: operators bring definitions of some ten thousand lines.
fn without_manifests(replay: &str) -> String {
    let mut out = String::with_capacity(replay.len().min(8_192));
    let mut inside = false;
    for part in replay.lines() {
        inside = match part {
            "manifests:" => {
                line(&mut out, "# manifests: in the file itself");
                true
            }
            _ => inside && (part.is_empty() || part.starts_with([' ', '-'])),
        };
        if !inside {
            line(&mut out, part);
        }
    }
    out
}

/// A timeline as lines in columns.
pub fn timeline(entries: &[Entry]) -> String {
    let at = entries.iter().map(|entry| entry.at.chars().count()).max().unwrap_or(0);
    let who = entries.iter().map(|entry| entry.who.chars().count()).max().unwrap_or(0);
    let rows = entries.iter().map(|entry| {
        let mark = if entry.kind == EntryKind::Perturbation { ">>>" } else { "   " };
        let (time, kind) = (&entry.at, entry.kind.word());
        format!(
            "{mark} {:>5} {time:>at$}  {:who$}  {kind:9}  {}",
            entry.sequence, entry.who, entry.text
        )
    });
    rows.map(|row| row.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// A code block whose fence is longer than any in the text.
fn fenced(out: &mut String, language: &str, text: &str) {
    let mut fence = "```".to_owned();
    while text.contains(&fence) {
        fence.push('`');
    }
    line(out, &format!("{fence}{language}\n{}\n{fence}", text.trim_end()));
}
