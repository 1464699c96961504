//! The explorer of a checked module: one HTML file that needs no network and no server.
//!
//! Each state has an address (`#s12`, numbered as in the DOT file of `--graph`). The page shows the state that is
//! addressed, by CSS alone; only the search needs JavaScript. Of a graph that is too big for a browser, the page holds the
//! trace and its neighbours.

mod states;
mod table;

use askama::Template;
use model::{
    tla::{Asked, Broken, Explored, Specification, Verdict},
    traces::Graph,
};

use self::{
    states::States,
    table::{Gutter, Table},
};
use super::verdict::{self, Answer};

/// The page's name in its folder.
pub(super) const FILE: &str = "index.html";

/// A page holds all states of graphs up to here.
const STATES_MAX: usize = 20_000;

#[derive(Template)]
#[template(path = "model.html")]
struct Page<'a> {
    name: &'a str,
    /// CSS class of the verdict: `violated`, `held` or `unknown`.
    verdict: &'static str,
    sentence: String,
    exit: u8,
    properties: Vec<Property<'a>>,
    /// Whether some of them have no verdict.
    is_open: bool,
    /// TLC's numbers, each with its name.
    counts: [(usize, &'static str); 4],
    table: Option<Table<'a>>,
    states: Option<States<'a>>,
    version: &'static str,
}

/// A row of the properties.
struct Property<'a> {
    name: &'a str,
    answer: &'static str,
}

/// Renders the page of a module that was explored.
pub(super) fn render(
    name: &str,
    specification: &Specification,
    explored: &Explored,
) -> askama::Result<String> {
    let asked = &specification.asked;
    let trace = match &explored.verdict {
        Verdict::Violated(_, trace) | Verdict::Failed(_, trace) => Some(trace),
        _ => None,
    };
    let answer = |asked: &Asked| verdict::of(asked, explored);
    let property = |asked| Property { name: verdict::name(asked), answer: answer(asked).word() };
    let counts = explored.counts;
    let numbers = explored.graph.as_ref().zip(trace).map(|(graph, trace)| {
        trace.states.iter().map(|state| position(graph, state)).collect::<Vec<_>>()
    });
    let numbers = numbers.unwrap_or_default();
    // A search that ended early did not ask every state for its steps.
    let was_asked = |at: usize| match &explored.verdict {
        Verdict::Held | Verdict::Violated(Broken::Property(_), _) => true,
        Verdict::Violated(Broken::Deadlock, _) => numbers.last() == Some(&Some(at)),
        Verdict::Violated(..) | Verdict::Unknown(_) | Verdict::Failed(..) => false,
    };
    let states = explored.graph.as_ref().map(|graph| {
        let shown = states::shown(graph, &numbers, STATES_MAX);
        States::new(graph, &shown, &numbers, &was_asked)
    });
    let page = Page {
        name,
        verdict: verdict::of_all(explored).word(),
        sentence: verdict::sentence(explored, asked, specification.is_constrained()),
        exit: verdict::exit(explored).code(),
        properties: asked.iter().map(property).collect(),
        is_open: asked.iter().any(|asked| answer(asked) == Answer::Unknown),
        counts: [
            (counts.generated, "generated"),
            (counts.distinct, "distinct"),
            (counts.left, "left on the queue"),
            (counts.depth, "depth"),
        ],
        table: trace.map(|trace| Table::new(trace, &numbers)),
        states,
        version: env!("CARGO_PKG_VERSION"),
    };
    page.render()
}

/// The number of a state of a trace. None if the search did not keep it: it is outside of a constraint.
fn position(graph: &Graph, state: &model::traces::State) -> Option<usize> {
    graph.states.iter().position(|other| other == state)
}
