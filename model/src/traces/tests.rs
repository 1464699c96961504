//! Tests over all formats: the six states of Bar/Foo, and a lasso with values of every form.
//!
//! In `fixtures`, `ns.txt`, `ns.dot`, `ns.tlc.json` and all of `values` are what TLC wrote (version of April 2026) for
//! `specs/ns.tla` and `Values.tla`. The others, `ns.tlc218.json`, `ns.itf.json`, `ns.quint.itf.json` and `ns.panel.txt`,
//! are the same run in the form that the format's description says; no tool wrote them.

use super::*;

fn fixture(name: &str) -> &'static str {
    match name {
        "ns.tlc.json" => include_str!("fixtures/ns.tlc.json"),
        "ns.tlc218.json" => include_str!("fixtures/ns.tlc218.json"),
        "ns.txt" => include_str!("fixtures/ns.txt"),
        "ns.dot" => include_str!("fixtures/ns.dot"),
        "ns.itf.json" => include_str!("fixtures/ns.itf.json"),
        "ns.quint.itf.json" => include_str!("fixtures/ns.quint.itf.json"),
        "ns.panel.txt" => include_str!("fixtures/ns.panel.txt"),
        "values_live.txt" => include_str!("fixtures/values_live.txt"),
        "values_live.tool.txt" => include_str!("fixtures/values_live.tool.txt"),
        "values_live.tlc.json" => include_str!("fixtures/values_live.tlc.json"),
        "values_stut.txt" => include_str!("fixtures/values_stut.txt"),
        "values_stut.tool.txt" => include_str!("fixtures/values_stut.tool.txt"),
        "values_stut.tlc.json" => include_str!("fixtures/values_stut.tlc.json"),
        "values.dot" => include_str!("fixtures/values.dot"),
        other => unreachable!("no fixture {other}"),
    }
}

fn read_fixture(name: &str) -> Read {
    read(fixture(name), name).unwrap_or_else(|error| panic!("{error}"))
}

fn trace_of(name: &str) -> Trace {
    read_fixture(name).into_trace().expect("one run")
}

/// The violation of Bar/Foo, from TLC's text.
pub(crate) fn bar_foo() -> Trace {
    trace_of("ns.txt")
}

/// The state graph of Bar/Foo, as far as TLC explored it.
pub(crate) fn bar_foo_graph() -> Graph {
    read_fixture("ns.dot").into_graph()
}

#[test]
fn bar_foo_is_the_same_in_every_format() {
    let expect = bar_foo();
    let names: Vec<&str> =
        expect.actions.iter().flatten().map(|action| action.name.as_str()).collect();
    let wanted = ["Start", "CreateObject", "RebootDuringMarkingCreation", "Start", "CreateObject"];
    assert_eq!(names, wanted);
    assert_eq!(expect.states.len(), 6);
    let two = "<<[generateName |-> \"foo-\"], [generateName |-> \"foo-\"]>>";
    assert_eq!(expect.states[5]["fooObjs"].to_string(), two);
    for name in
        ["ns.tlc.json", "ns.tlc218.json", "ns.itf.json", "ns.quint.itf.json", "ns.panel.txt"]
    {
        assert_eq!(trace_of(name), expect, "{name}");
    }
    let graph = bar_foo_graph();
    assert_eq!((graph.states.len(), graph.edges.len(), graph.initial.len()), (11, 12, 1));
    let two_foos = |state: &State| state["fooObjs"].get(&Value::Int(2)).is_some();
    assert_eq!(graph.trace(&graph.shortest(two_foos).unwrap()), expect);
}

#[test]
fn bar_foo_goes_around() {
    let trace = bar_foo();
    let again = |text: &str| read(text, "again").unwrap().into_trace();
    assert_eq!(again(&itf::write(&trace, |_| None)).as_ref(), Some(&trace));
    assert_eq!(again(&ndjson::write(&trace)).as_ref(), Some(&trace));
    assert_eq!(again(&dot::write_trace(&trace)).as_ref(), Some(&trace));
    let graph = bar_foo_graph();
    assert_eq!(read(&dot::write(&graph), "again"), Ok(Read::Graph(graph)));
}

#[test]
fn bar_foo_as_it_is_written() {
    let trace = bar_foo();
    let post = |at: usize| (at == 1).then(|| serde_json::json!({ "verb": "create" }));
    insta::assert_snapshot!("bar_foo_itf", itf::write(&trace, post));
    insta::assert_snapshot!("bar_foo_ndjson", ndjson::write(&trace));
    insta::assert_snapshot!("bar_foo_dot", dot::write_trace(&trace));
}

#[test]
fn a_cover_of_bar_foo_takes_every_edge() {
    let graph = bar_foo_graph();
    let paths = graph.edge_cover();
    let mut taken: Vec<usize> = paths.iter().flat_map(|path| path.edges.clone()).collect();
    taken.sort_unstable();
    taken.dedup();
    assert_eq!(taken.len(), graph.edges.len());
    let names = |path: &Path| graph.trace(path).actions.into_iter().flatten().map(|a| a.name);
    let cover: Vec<Vec<String>> = paths.iter().map(|path| names(path).collect()).collect();
    insta::assert_debug_snapshot!("bar_foo_cover", cover);
}

#[test]
fn a_lasso_is_the_same_in_both_texts() {
    let trace = trace_of("values_live.txt");
    assert_eq!(trace_of("values_live.tool.txt"), trace);
    assert_eq!((trace.loop_, trace.states.len()), (Some(0), 2));
    let names: Vec<String> = trace.actions.iter().flatten().map(ToString::to_string).collect();
    assert_eq!(names, ["Take(p1)", "Give(p1,1)"]);
    let bag = r#"[empty |-> {}, fun |-> (0 :> "x" @@ 5 :> "y"), odd |-> ("a b" :> 1), range |-> {1, 2, 3, 4}, set |-> {1, 2, 3}, text |-> "a \"b\" \\ c\td\ne", tup |-> <<TRUE, -1, <<>>>>]"#;
    assert_eq!(trace.states[0]["bag"].to_string(), bag);
    let still = trace_of("values_stut.txt");
    assert_eq!(trace_of("values_stut.tool.txt"), still);
    assert_eq!((still.loop_, still.states.len(), still.actions), (Some(0), 1, vec![None]));
}

#[test]
fn a_lasso_in_json_has_names_of_parameters_and_no_sets() {
    let trace = trace_of("values_live.tlc.json");
    assert_eq!(trace.loop_, Some(0));
    let last = trace.actions.last().unwrap().as_ref().unwrap();
    let param = |name: &str, value| Param { name: Some(name.to_owned()), value };
    let params = vec![param("p", "p1".into()), param("n", Value::Int(1))];
    assert_eq!(*last, Action { name: "Give".to_owned(), params });
    assert_eq!(trace.states[0]["bag"].get(&"set".into()).unwrap().to_string(), "<<1, 2, 3>>");
    let still = trace_of("values_stut.tlc.json");
    assert_eq!((still.loop_, still.actions), (Some(0), vec![None]));
}

#[test]
fn a_graph_keeps_values_and_parameters() {
    let graph = read_fixture("values.dot").into_graph();
    assert_eq!((graph.states.len(), graph.edges.len()), (3, 4));
    assert_eq!(graph.edges[0].action.as_ref().unwrap().to_string(), "Take(p1)");
    assert_eq!(graph.states[0], trace_of("values_live.txt").states[0]);
}

#[test]
fn other_texts_are_no_trace() {
    let check = |text: &str, expect: &str| {
        let error = read(text, "a.txt").unwrap_err();
        assert_eq!(error.to_string(), expect);
    };
    let any = "a.txt: expected a trace: ITF or TLC's JSON, a DOT graph, TLC's output, or the text of a trace panel";
    check("", any);
    check("apiVersion: v1\nkind: Pod\n", any);
    check("{\"vars\": [", "a.txt:1:10: this is no JSON: EOF while parsing a list");
    check("[1, 2", "a.txt:1:5: this is no JSON: EOF while parsing a list");
    check(
        "{\"a\": 1}",
        "a.txt: the document: expected `states` (ITF), `state` (TLC) or one event a line (ndjson)",
    );
}

#[test]
fn cut_off_texts_are_errors_or_shorter() {
    for name in ["ns.itf.json", "ns.tlc.json", "ns.dot", "ns.txt", "ns.panel.txt"] {
        let text = fixture(name);
        for end in (0..text.len()).step_by(7) {
            if let Ok(Read::Trace(trace)) = read(&text[..end], name) {
                assert!(trace.states.len() <= 6);
                assert!(!name.ends_with("json"), "{name} up to {end}");
            }
        }
    }
}
