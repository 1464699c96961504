//! Tests with Bar/Foo, as a system and as the graph of TLC, and with recorded runs of which only requests are known.

use proptest::prelude::*;

use super::*;
use crate::{
    systems::bar_foo::{self, BarFoo, Variant},
    traces::{Graph, arbitrary, ndjson, tests::bar_foo_graph},
};

/// What the API server sees: Foos that are created, and the Bar's status.
const POST: &str = r#"{"action":{"name":"CreateObject"},"state":{"fooObjs":"#;

fn foos(count: usize) -> String {
    let foos = vec!["{\"generateName\":\"foo-\"}"; count];
    format!("{POST}[{}]}}}}\n", foos.join(","))
}

const START: &str = "{\"state\":{\"fooObjs\":[]}}\n";
const MARK: &str = "{\"action\":{\"name\":\"MarkCreated\"},\"state\":{\"barObj\":{\"name\":\"foo\",\"created\":true}}}\n";

fn is_internal(label: &str) -> bool {
    !["CreateObject", "MarkCreated"].contains(&label)
}

fn try_on(variant: Variant, text: &str, internal_max: usize) -> Result<Acceptance, AcceptError> {
    let system = BarFoo::new(variant);
    let observe = |state: &bar_foo::State| system.vars(state);
    let rules =
        Rules { observe: &observe, is_internal: &is_internal, internal_max, states_max: 1000 };
    accept(&system, &ndjson::read_record(text, "record").unwrap(), &rules)
}

fn names(trace: &Trace) -> Vec<&str> {
    trace.actions.iter().flatten().map(|action| action.name.as_str()).collect()
}

#[test]
fn a_run_that_violates_is_one_of_the_model() {
    let text = [START, &foos(1), &foos(2), MARK].concat();
    let Ok(Acceptance::Accepted(trace)) = try_on(Variant::GeneratedName, &text, 2) else {
        panic!("it is a run of the model");
    };
    let expect = [
        "Start",
        "CreateObject",
        "RebootDuringMarkingCreation",
        "Start",
        "CreateObject",
        "MarkCreated",
    ];
    assert_eq!(names(&trace), expect);
}

#[test]
fn the_first_event_that_no_state_allows_is_named() {
    let check = |variant, events: &[&str], internal_max, line: usize, allowed: &[&str]| {
        let Ok(Acceptance::Rejected(rejection)) = try_on(variant, &events.concat(), internal_max)
        else {
            panic!("{events:?} is no run of {variant:?}");
        };
        let named: Vec<&str> = rejection.allowed.iter().map(|(label, _)| label.as_str()).collect();
        assert_eq!((rejection.line, named.as_slice()), (line, allowed), "{rejection:?}");
        assert!(rejection.possible > 0);
    };
    let (one, two) = (foos(1), foos(2));
    let all = [
        "CreateObject",
        "MarkCreated",
        "RebootDuringCreation",
        "RebootDuringMarkingCreation",
        "Start",
    ];
    // The mended controller has its one Foo already, and one with another name.
    check(
        Variant::FixedName,
        &[START, &one],
        2,
        2,
        &["CreateObject", "RebootDuringCreation", "Start"],
    );
    check(Variant::LiveList, &[START, &one, &two], 9, 3, &all_with_list(&all));
    // The step between both is internal, and not allowed.
    check(Variant::GeneratedName, &[START, &one], 0, 2, &["Start"]);
    check(
        Variant::GeneratedName,
        &[START, MARK],
        3,
        2,
        &["CreateObject", "RebootDuringCreation", "Start"],
    );
    check(Variant::GeneratedName, &[&START.replace("[]", "[1]")], 0, 1, &[""]);
    // After the end there is nothing.
    check(Variant::GeneratedName, &[START, &one, MARK, &two], 3, 4, &["Start", "Terminating"]);
}

fn all_with_list<'a>(all: &[&'a str]) -> Vec<&'a str> {
    let mut all = all.to_vec();
    all.insert(1, "ListObjects");
    all
}

#[test]
fn somebody_who_looks_may_see_that_nothing_happened() {
    let look = "{\"state\":{\"fooObjs\":[]}}\n";
    let text = [START, look, look, &foos(1)].concat();
    assert!(matches!(try_on(Variant::GeneratedName, &text, 1), Ok(Acceptance::Accepted(_))));
}

/// A record without its beginning begins with a step.
#[test]
fn the_action_of_the_first_event_counts() {
    let first = |name: &str| {
        let text = format!("{{\"action\":{{\"name\":\"{name}\"}},\"state\":{{\"fooObjs\":[]}}}}\n");
        try_on(Variant::GeneratedName, &text, 0)
    };
    let accepted = first("Start");
    let Ok(Acceptance::Accepted(trace)) = accepted else { panic!("{accepted:?}") };
    assert_eq!(names(&trace), ["Start"]);
    let rejected = first("MarkCreated");
    let Ok(Acceptance::Rejected(rejection)) = rejected else { panic!("{rejected:?}") };
    let labels: Vec<&str> = rejection.allowed.iter().map(|(label, _)| label.as_str()).collect();
    assert_eq!((rejection.line, labels), (1, vec!["Start"]));
}

#[test]
fn records_must_be_about_the_model() {
    let error = |text: &str| try_on(Variant::GeneratedName, text, 1).unwrap_err().to_string();
    assert_eq!(error(""), "the record has no event");
    let expect = "line 2: the model has no variable `x`, expected one of barObj, fooObjs, pc";
    assert_eq!(error(&format!("{START}{{\"state\":{{\"x\":1}}}}\n")), expect);
}

#[test]
fn too_many_states_are_unknown() {
    let system = BarFoo::new(Variant::GeneratedName);
    let observe = |state: &bar_foo::State| system.vars(state);
    let rules =
        Rules { observe: &observe, is_internal: &|_| true, internal_max: 20, states_max: 5 };
    let record = ndjson::read_record("{\"state\":{}}\n{\"state\":{}}\n", "record").unwrap();
    assert_eq!(accept(&system, &record, &rules), Ok(Acceptance::Unknown { line: 2 }));
}

fn accept_by_graph(graph: &Graph, text: &str) -> Result<Acceptance, AcceptError> {
    let observe = |at: &usize| graph.states[*at].clone();
    let rules =
        Rules { observe: &observe, is_internal: &is_internal, internal_max: 2, states_max: 1000 };
    accept(&graph.system(), &ndjson::read_record(text, "record").unwrap(), &rules)
}

#[test]
fn a_graph_of_tlc_accepts_the_same() {
    let graph = bar_foo_graph();
    let text = [START, &foos(1), &foos(2)].concat();
    assert!(matches!(accept_by_graph(&graph, &text), Ok(Acceptance::Accepted(_))));
    let text = [START, &foos(2)].concat();
    assert!(matches!(accept_by_graph(&graph, &text), Ok(Acceptance::Rejected(_))));
}

proptest! {
    /// Every path of a graph is a run of it, also if variables and actions are left out of its record.
    #[test]
    fn paths_of_a_graph_are_its_runs(graph in arbitrary::graph(), forget: u8, longest in 0usize..5) {
        for path in graph.paths(longest).take(20) {
            let trace = graph.trace(&path);
            let mut record = Vec::new();
            let actions = [None].into_iter().chain(trace.actions.iter().cloned());
            for (at, (state, action)) in trace.states.iter().zip(actions).enumerate() {
                let hidden = usize::from(forget >> (at % 8) & 1);
                let state = state.iter().skip(hidden).map(|(name, value)| (name.clone(), value.clone()));
                let action = action.filter(|_| hidden == 0);
                record.push(Event { line: at + 1, action, state: state.collect() });
            }
            let observe = |at: &usize| graph.states[*at].clone();
            let rules = Rules { observe: &observe, is_internal: &|_| false, internal_max: 0, states_max: 99 };
            let accepted = accept(&graph.system(), &record, &rules);
            prop_assert!(matches!(accepted, Ok(Acceptance::Accepted(_))), "{:?}", accepted);
        }
    }
}
