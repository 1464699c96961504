//! The report page: one HTML file that needs no network, no server and, for reading, no JavaScript.
//!
//! The page forbids itself every fetch (Content-Security-Policy), everything that came from outside is
//! escaped by the template engine, and the answer to "can I trust this?" (what was *not* explored) stands on
//! the first screen beside the findings.

use askama::Template;

use super::{
    model::{EntryKind, Finding, ObjectDiff, Report},
    text,
};

#[derive(Template)]
#[template(path = "report.html")]
struct Page<'a> {
    report: &'a Report,
    /// CSS class of the verdict: `violated`, `held` or `unknown`.
    verdict: &'static str,
    unexplored: Vec<Unexplored<'a>>,
    /// How much was explored.
    levels: String,
    kinds: [EntryKind; 9],
    version: &'static str,
}

/// One row of "not explored".
struct Unexplored<'a> {
    /// A number, or empty where the text says it all.
    count: String,
    text: &'a str,
    /// Nothing was left out here: drawn quietly.
    none: bool,
}

/// Renders the page.
pub fn page(report: &Report) -> askama::Result<String> {
    let page = Page {
        report,
        verdict: verdict(report),
        unexplored: unexplored(report),
        levels: text::levels(&report.coverage),
        kinds: EntryKind::ALL,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render()
}

fn verdict(report: &Report) -> &'static str {
    match report.exit {
        100 => "violated",
        0 => "held",
        _ => "unknown",
    }
}

/// Every way in which something was not explored, also those that left nothing out: a reader who doesn't see
/// a line can't know that it was looked at.
fn unexplored(report: &Report) -> Vec<Unexplored<'_>> {
    let coverage = &report.coverage;
    let counted = [
        (coverage.frontier, "worlds reached and not yet explored"),
        (report.plans.unknown, "plans without a verdict (unknown)"),
        (coverage.behind_findings, "worlds behind findings, not explored"),
        (coverage.nondeterministic, "worlds whose two runs wrote different things"),
        (coverage.bookkeeping, "revisions of Leases and Events: no crash points"),
        (report.plans.pruned_total(), "plans pruned, because other plans cover them"),
    ];
    let counted = counted.into_iter().map(|(count, text)| Unexplored {
        count: count.to_string(),
        text,
        none: count == 0,
    });
    let said = report.not_explored.iter().map(|text| Unexplored {
        count: String::new(),
        text,
        none: false,
    });
    counted.chain(said).collect()
}

/// CSS class of a diff line.
fn sign(line: &str) -> &'static str {
    match line.as_bytes().first() {
        Some(b'-') => "minus",
        Some(b'+') => "plus",
        _ => "same",
    }
}

/// A step's text in pieces: prose and commands (in backticks or fences) apart.
fn pieces(step: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    for (index, block) in step.split("```").enumerate() {
        if index % 2 == 1 {
            // The first line names the language.
            let body = block.split_once('\n').map_or(block, |(_, body)| body);
            pieces.push(Piece::Block(body.trim_end()));
            continue;
        }
        for (index, text) in
            block.split('`').enumerate().filter(|(_, text)| !text.trim().is_empty())
        {
            pieces.push(if index % 2 == 1 { Piece::Code(text) } else { Piece::Prose(text) });
        }
    }
    pieces
}

#[derive(Debug, PartialEq, Eq)]
enum Piece<'a> {
    Prose(&'a str),
    Code(&'a str),
    Block(&'a str),
}

impl Finding {
    fn is_confirmed_always(&self) -> bool {
        self.confirmed.n > 0 && self.confirmed.k == self.confirmed.n
    }
}

impl ObjectDiff {
    /// CSS class of its mark.
    fn class(&self) -> &'static str {
        match self.change {
            super::model::ObjectChange::Extra => "plus",
            super::model::ObjectChange::Missing => "minus",
            super::model::ObjectChange::Changed => "same",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_fall_into_prose_and_commands() {
        let step = "Start it: `kubectl get` then\n```sh\nkubectl apply\n```\n";
        let expect = [
            Piece::Prose("Start it: "),
            Piece::Code("kubectl get"),
            Piece::Prose(" then\n"),
            Piece::Block("kubectl apply"),
        ];
        assert_eq!(pieces(step), expect);
    }
}
