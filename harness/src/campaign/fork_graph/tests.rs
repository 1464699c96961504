//! What is written of a fork graph is read again.

use model::traces::{Read, Trace, read};

use super::*;

#[test]
fn the_name_tells_the_format() {
    let check = |name: &str, expect: Result<&str, &str>| {
        let read = name.parse::<GraphFile>().map(|file| numbered(&file.path, 3));
        let read = read.map(|path| path.display().to_string());
        assert_eq!(read, expect.map(str::to_owned).map_err(str::to_owned));
    };
    check("out/graph.itf.json", Ok("out/graph-3.itf.json"));
    check("graph.dot", Ok("graph-3.dot"));
    check("graph.json", Err("its name ends with .dot, .itf.json or .ndjson"));
}

#[test]
fn expressions_have_variables_of_their_own() {
    let check = |names: &[&str], expect: &[&str]| {
        let names: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(variables(&names), expect);
    };
    check(&["ready some day.to"], &["ready_some_day_to"]);
    check(&["world", "no way", "no-way", "no.way"], &["world_", "no_way", "no_way_", "no_way__"]);
}

/// A way that forks and comes back: states by number, with one step between two of them at most.
fn forked() -> ForkGraph {
    let key = |number: u8| Key {
        world: Identity([number; 32]),
        cursor: Cursor::default(),
        up: u32::from(number % 3),
        passed: Passed::default(),
    };
    let step =
        |verb| Step { object: "configmaps/default/‹a›".to_owned(), ..Step::of("user", verb) };
    let edges =
        [(0, 1, "create"), (1, 2, "update"), (1, 3, "delete"), (2, 0, "step"), (3, 3, "settle")];
    let edges = edges.map(|(from, to, verb)| (from, to, step(verb)));
    let states = (0..4).map(|number| (key(number), vec![])).collect();
    let mut graph = ForkGraph::default();
    graph.add(Piece { states, edges: edges.into(), begins: true }, &Properties::default());
    graph
}

/// Their steps, each once, in words.
fn steps(traces: &[Trace]) -> BTreeSet<String> {
    let steps = traces.iter().flat_map(Trace::steps);
    steps.map(|step| format!("{step:?}")).collect()
}

#[test]
fn what_was_written_is_read_again() {
    let (folder, graph) = (tempfile::tempdir().unwrap(), forked());
    let path = |name: &str| folder.path().join(name);
    let write = |name: &str| graph.write(&path(name).to_str().unwrap().parse().unwrap()).unwrap();
    let read = |name: &str| read(&std::fs::read_to_string(path(name)).unwrap(), name).unwrap();
    write("graph.dot");
    let Read::Graph(whole) = read("graph.dot") else { panic!("DOT has graphs") };
    assert_eq!((whole.states.len(), whole.edges.len()), (4, 5));
    let single = |edge: usize| {
        whole.trace(&model::traces::Path { start: whole.edges[edge].from, edges: vec![edge] })
    };
    let expect = steps(&(0..5).map(single).collect::<Vec<_>>());
    for end in ["itf.json", "ndjson"] {
        // From an earlier campaign, whose graph had more runs.
        std::fs::write(path(&format!("graph-3.{end}")), "").unwrap();
        write(&format!("graph.{end}"));
        let runs = (1..).map(|number| format!("graph-{number}.{end}"));
        let runs = runs.take_while(|name| path(name).exists()).map(|name| match read(&name) {
            Read::Trace(trace) => trace,
            Read::Graph(_) => panic!("{name} has a graph"),
        });
        assert_eq!(steps(&runs.collect::<Vec<_>>()), expect, "{end}");
    }
}
