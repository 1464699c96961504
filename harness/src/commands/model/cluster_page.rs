//! The page on clusters: which property can be violated, on which smallest cluster, by which steps, and whether the real
//! programs do the same. One HTML file that needs no network.

use askama::Template;

use super::{
    answers::{Answer, Shown},
    clusters::Step,
};
use crate::{exit::Exit, report::plain};

#[derive(Template)]
#[template(path = "cluster.html")]
struct Page<'a> {
    name: &'a str,
    /// CSS class of the verdict.
    verdict: &'static str,
    sentence: String,
    rows: Vec<Row<'a>>,
    violations: Vec<Violation<'a>>,
    /// How fine the model is; empty if a file says it.
    how: &'a str,
    version: &'static str,
}

/// A row of the answers.
struct Row<'a> {
    occasion: &'a str,
    word: &'static str,
    told: String,
    states: u64,
    /// The address of its violation on the page.
    link: Option<&'a str>,
    confirmed: &'a str,
}

struct Violation<'a> {
    name: &'a str,
    occasion: &'a str,
    nodes: &'a str,
    property: String,
    /// All that was asked, each with its verdict.
    verdicts: Vec<(&'a str, &'static str)>,
    steps: Vec<Step>,
    ends: Option<String>,
    has_file: bool,
    /// Why there is no file.
    no_file: &'a str,
    confirmed: Option<(&'static str, String)>,
}

/// Renders the page.
pub(super) fn render(
    name: &str,
    how: &str,
    answers: &[Answer],
    violations: &[Shown<'_>],
) -> askama::Result<String> {
    let violated = answers.iter().filter(|answer| answer.exit() == Exit::Finding).count();
    let unknown = answers.iter().any(|answer| answer.exit() == Exit::Unknown);
    let (verdict, sentence) = match (violated, unknown) {
        (0, false) => ("held", "Nothing is violated on the clusters that were tried.".to_owned()),
        (0, true) => {
            ("unknown", "Nothing is violated so far; a limit ended the search.".to_owned())
        }
        (1, _) => ("violated", "A property is violated.".to_owned()),
        (count, _) => ("violated", format!("Properties are violated on {count} occasions.")),
    };
    let row = |answer| row(answer, violations);
    let page = Page {
        name,
        verdict,
        sentence,
        rows: answers.iter().map(row).collect(),
        violations: violations.iter().map(violation).collect(),
        how,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render().map(|page| plain::text(&page).to_string())
}

fn row<'a>(answer: &'a Answer, violations: &'a [Shown<'_>]) -> Row<'a> {
    let shown = violations.iter().find(|shown| std::ptr::eq(shown.answer, answer));
    let confirmed = shown.map(|shown| match &shown.confirmed {
        None => "not asked",
        Some(confirmed) => word(confirmed.exit),
    });
    Row {
        occasion: match answer.occasion.as_str() {
            "" => "as the scenario says",
            occasion => occasion,
        },
        word: match answer.exit() {
            _ if answer.tried.is_empty() => "unknown",
            Exit::Finding => "violated",
            Exit::Unknown => "unknown",
            _ => "held",
        },
        told: answer.told(),
        states: answer.tried.iter().map(|tried| tried.states).sum(),
        link: shown.map(|shown| shown.name.as_str()),
        confirmed: confirmed.unwrap_or("–"),
    }
}

/// Whether the real programs do as the model.
fn word(exit: Exit) -> &'static str {
    match exit {
        Exit::Clean => "agree",
        Exit::Finding => "differ",
        _ => "unknown",
    }
}

fn violation<'a>(shown: &'a Shown<'_>) -> Violation<'a> {
    let run = shown.checked.run();
    let (property, steps, ends) = run.map_or_else(
        || (String::new(), vec![], None),
        |(property, steps, ends)| (property.to_owned(), steps, ends),
    );
    let confirmed = shown.confirmed.as_ref();
    Violation {
        name: &shown.name,
        occasion: &shown.answer.occasion,
        nodes: shown.answer.nodes(),
        property,
        verdicts: shown.checked.verdicts().collect(),
        steps,
        ends,
        has_file: shown.file.is_ok(),
        no_file: shown.file.as_ref().err().map_or("", String::as_str),
        confirmed: confirmed.map(|confirmed| (word(confirmed.exit), confirmed.told())),
    }
}
