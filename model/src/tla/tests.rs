//! Tests of the specifications that were tried. Counts and traces are those of TLC (version of April 2026, one worker)
//! on the same files; where the head of `tla.rs` says that they may differ, TLC's stand beside them.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use super::*;
use crate::{
    System,
    systems::bar_foo::{BarFoo, Variant},
    traces::{Graph, State, Trace, Value},
};

fn folder(of: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(of)
}

fn explore_in(of: &str, module: &str, cfg: &str) -> Explored {
    let folder = folder(of);
    let specification = Specification::load(
        &folder.join(format!("{module}.tla")),
        &folder.join(format!("{cfg}.cfg")),
    );
    let specification = specification.unwrap_or_else(|error| panic!("{error}"));
    specification.explore(&Limits::default()).unwrap_or_else(|error| panic!("{error}"))
}

fn explore(module: &str, cfg: &str) -> Explored {
    explore_in("src/tla/specs", module, cfg)
}

fn counts(explored: &Explored) -> [usize; 4] {
    let Counts { generated, distinct, left, depth } = explored.counts;
    [generated, distinct, left, depth]
}

fn names(trace: &Trace) -> Vec<String> {
    let name = |action: &Option<crate::traces::Action>| {
        action.as_ref().map_or("-".to_owned(), ToString::to_string)
    };
    trace.actions.iter().map(name).collect()
}

/// What was violated, and the run.
fn violation(explored: Explored) -> (Broken, Trace) {
    match explored.verdict {
        Verdict::Violated(broken, trace) => (broken, trace),
        other => panic!("expected a violation, found {other:?}"),
    }
}

fn invariant(name: &str) -> Broken {
    Broken::Invariant(name.to_owned())
}

fn held(module: &str, cfg: &str, expect: [usize; 4]) {
    let explored = explore(module, cfg);
    assert_eq!(explored.verdict, Verdict::Held, "{cfg}");
    assert_eq!(counts(&explored), expect, "{cfg}");
}

fn violated(module: &str, cfg: &str, expect: [usize; 4], broken: Broken, actions: &[&str]) {
    let explored = explore(module, cfg);
    assert_eq!(counts(&explored), expect, "{cfg}");
    let (found, trace) = violation(explored);
    assert_eq!(found, broken, "{cfg}");
    assert_eq!(names(&trace), actions, "{cfg}");
}

#[test]
fn bar_foo_is_that_of_tlc_and_of_the_system() {
    let explored = explore_in("specs", "ns", "ns");
    assert_eq!(counts(&explored), [13, 11, 1, 6]);
    let expect = crate::traces::tests::bar_foo();
    assert_eq!(violation(explored.clone()), (invariant("LimitedFooObjs"), expect.clone()));
    let system = BarFoo::new(Variant::GeneratedName);
    let states: Vec<State> = crate::systems::bar_foo::tests::violation(&system)
        .iter()
        .map(|state| system.vars(state))
        .collect();
    assert_eq!(states, expect.states);
    assert_eq!(as_sets(&explored.graph.unwrap()), as_sets(&crate::traces::tests::bar_foo_graph()));
}

/// A graph without the order of its states and edges.
fn as_sets(graph: &Graph) -> Vec<(Vec<&Value>, String, Vec<&Value>)> {
    let values = |at: usize| graph.states[at].values().collect();
    let name = |edge: &crate::traces::Edge| edge.action.as_ref().unwrap().to_string();
    let mut edges: Vec<_> =
        graph.edges.iter().map(|edge| (values(edge.from), name(edge), values(edge.to))).collect();
    edges.sort();
    edges
}

#[test]
fn mended_controllers_hold() {
    let fixed = explore_in("specs", "ns_fixed_name", "ns_fixed_name");
    assert_eq!((&fixed.verdict, counts(&fixed)), (&Verdict::Held, [15, 10, 0, 5]));
    let live = explore_in("specs", "ns_list_first", "ns_live_list");
    assert_eq!((&live.verdict, counts(&live)), (&Verdict::Held, [17, 12, 0, 7]));
    let cached = explore_in("specs", "ns_list_first", "ns_cached_list");
    assert_eq!(counts(&cached), [17, 14, 1, 8]);
    let (broken, trace) = violation(cached);
    assert_eq!((broken, trace.states.len()), (invariant("LimitedFooObjs"), 8));
    let system = BarFoo::new(Variant::CachedList);
    let states: Vec<State> = crate::systems::bar_foo::tests::violation(&system)
        .iter()
        .map(|state| system.vars(state))
        .collect();
    assert_eq!(states, trace.states);
}

#[test]
fn a_failed_assertion_is_a_violation_with_its_place() {
    let folder = folder("specs");
    let specification = Specification::load(
        &folder.join("ns.tla"),
        &self::folder("src/tla/specs/ns_without_invariant.cfg"),
    );
    let explored = specification.unwrap().explore(&Limits::default()).unwrap();
    assert_eq!(counts(&explored), [17, 14, 1, 7]);
    let (broken, trace) = violation(explored);
    let Broken::Assertion(error) = broken else { panic!("{broken:?}") };
    assert!(error.what.contains("Failure of assertion at line 35, column 5."), "{error}");
    assert_eq!(trace.states.len(), 7);
    assert_eq!(trace.states[6]["fooObjs"].pairs().unwrap().len(), 2);
}

#[test]
fn values_of_every_form() {
    held("Values", "Values", [47, 23, 0, 7]);
    // `Take` begins with LET.
    let actions = ["-", "-", "Give"];
    // TLC: 10, 9, 3, 4, and the same trace. The order of actions inside of `\E`.
    violated("Values", "ValuesSorted", [8, 8, 3, 4], invariant("Sorted"), &actions);
}

#[test]
fn symmetry_is_not_used() {
    // TLC: 15, 9, 0, 9.
    held("Symmetric", "Symmetric", [65, 48, 0, 9]);
    held("Symmetric", "SymmetricNot", [65, 48, 0, 9]);
    let (broken, trace) = violation(explore("Symmetric", "SymmetricTwo"));
    let actions = ["Take", "Leave", "Take", "Leave", "Take", "Leave"];
    assert_eq!((broken, names(&trace)), (invariant("Two"), actions.map(str::to_owned).to_vec()));
}

/// What a quotient of the states would answer otherwise: an invariant that names an element of a symmetric set, one of what
/// a view leaves out, and a property of that.
#[test]
fn reductions_do_not_change_verdicts() {
    let verdict = |text: &str, cfg: &str| {
        let text = format!("---- MODULE M ----\nEXTENDS Integers, TLC\n{text}\n====\n");
        let (module, cfg_file) = (Path::new("M.tla"), Path::new("M.cfg"));
        let of = Specification::new(module, &text, cfg_file, cfg).unwrap();
        let not_used = ["SYMMETRY", "VIEW"].map(|part| {
            let says = format!("{part} of the configuration: not used, all states are looked at");
            cfg.contains(part) == of.warnings.contains(&says)
        });
        assert_eq!(not_used, [true, true], "{:?}", of.warnings);
        of.explore(&Limits::default()).unwrap().verdict
    };
    let turns = "CONSTANTS P, a, b\nVARIABLE up\nInit == up = {}\n\
                 Turn(p) == p \\notin up /\\ (p = b => up # {}) /\\ up' = up \\cup {p}\n\
                 Next == \\E p \\in P : Turn(p)\nSy == Permutations(P)\nNotA == up # {a}";
    let cfg = "INIT Init\nNEXT Next\nCHECK_DEADLOCK FALSE\nCONSTANTS a = a\nb = b\nP = {b, a}\n\
               SYMMETRY Sy\nINVARIANT NotA\n";
    assert!(matches!(verdict(turns, cfg), Verdict::Violated(Broken::Invariant(_), _)));
    let flips = "VARIABLES x, n\nInit == x = 0 /\\ n = 0\nFlip == x' = 1 - x /\\ n' = (n + 1) % 4\n\
                 Spec == Init /\\ [][Flip]_<<x, n>> /\\ WF_<<x, n>>(Flip)\nV == x\n\
                 Live == []<>(n = 3)\nInv == n # 3";
    let cfg = "SPECIFICATION Spec\nVIEW V\n";
    let inv = verdict(flips, &format!("{cfg}INVARIANT Inv\n"));
    assert!(matches!(inv, Verdict::Violated(Broken::Invariant(_), _)), "{inv:?}");
    assert_eq!(verdict(flips, &format!("{cfg}PROPERTY Live\n")), Verdict::Held);
}

#[test]
fn properties_that_no_run_inside_of_a_constraint_can_break_are_open() {
    let verdict = |step: &str, fairness: &str| {
        let text = format!(
            "---- MODULE M ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\nUp == {step}\n\
             Spec == Init /\\ [][Up]_x{fairness}\nSmall == x < 5\nReach == <>(x = 7)\n\
             Nat0 == []<>(x >= 0)\n====\n"
        );
        let cfg = "SPECIFICATION Spec\nCHECK_DEADLOCK FALSE\nCONSTRAINT Small\nPROPERTY Nat0\n";
        let of = Specification::new(Path::new("M.tla"), &text, Path::new("M.cfg"), cfg).unwrap();
        of.explore(&Limits::default()).unwrap().verdict
    };
    let open = verdict("x' = x + 1", " /\\ WF_x(Up)");
    let Verdict::Unknown(why) = open else { panic!("{open:?}") };
    assert_eq!(why, "vacuous: no infinite run stays inside CONSTRAINT");
    // Those that stand still, end, or go round.
    assert_eq!(verdict("x' = x + 1", ""), Verdict::Held);
    assert_eq!(verdict("x < 3 /\\ x' = x + 1", " /\\ WF_x(Up)"), Verdict::Held);
    assert_eq!(verdict("x' = (x + 1) % 3", " /\\ WF_x(Up)"), Verdict::Held);
}

#[test]
fn alternatives_have_the_name_of_the_definition_around_them() {
    let actions = |next: &str| {
        let text = format!(
            "---- MODULE M ----\nEXTENDS Integers\nVARIABLE x\nInit == x = 0\n\
             A == \n  \\/ x = 0 /\\ x' = 1\n  \\/ x = 1 /\\ x' = 2\n\
             B == (x = 2 /\\ x' = 3) \\/ (x = 3 /\\ x' = 4)\nC == x = 4 /\\ x' = 5\n\
             D == B \\/ C\n{next}\n====\n"
        );
        let cfg = "INIT Init\nNEXT Next\nCHECK_DEADLOCK FALSE\n";
        let of = Specification::new(Path::new("M.tla"), &text, Path::new("M.cfg"), cfg).unwrap();
        let graph = of.explore(&Limits::default()).unwrap().graph.unwrap();
        let name = |edge: &crate::traces::Edge| {
            edge.action.as_ref().map_or("-".to_owned(), ToString::to_string)
        };
        graph.edges.iter().map(name).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(actions("Next == A \\/ B \\/ C"), "A A B B C");
    assert_eq!(actions("Next == A \\/ D"), "A A B B C");
    assert_eq!(actions("Next ==\n  \\/ D\n  \\/ A"), "A A B B C");
    assert_eq!(actions("Next == A \\/ x = 2 /\\ x' = 3"), "A A Next");
}

/// That `cfg` is violated by a lasso whose steps are those of the model, or which stands still.
fn violated_by_a_lasso(cfg: &str, property: &str) {
    let explored = explore("Fair", cfg);
    assert_eq!(counts(&explored), [4, 3, 0, 2], "{cfg}");
    let graph = explored.graph.clone().unwrap();
    let (broken, trace) = violation(explored);
    assert_eq!(broken, Broken::Property(property.to_owned()), "{cfg}");
    assert!(trace.loop_.is_some(), "{cfg}");
    assert_eq!(trace.states[0], graph.states[0], "{cfg}");
    for (before, action, after) in trace.steps() {
        let is_edge = graph.edges.iter().any(|edge| {
            graph.states[edge.from] == *before
                && graph.states[edge.to] == *after
                && edge.action.as_ref() == action
        });
        assert!(is_edge || (action.is_none() && before == after), "{cfg}: {action:?}");
    }
}

#[test]
fn properties_depend_on_fairness() {
    violated_by_a_lasso("FairUnfair", "Gets");
    violated_by_a_lasso("FairWeak", "Gets");
    held("Fair", "FairStrong", [4, 3, 0, 2]);
    held("Fair", "FairOften", [4, 3, 0, 2]);
    // TLC: 3, 3, 1, 2. It looks at steps while it searches.
    let never = Broken::Property("Never".to_owned());
    violated("Fair", "FairNever", [4, 3, 0, 2], never, &["Grab"]);
}

#[test]
fn instances_have_their_own_parameters() {
    held("Outer", "Outer", [10, 6, 0, 5]);
    let actions = ["Ask", "Ask", "Answer", "Ask"];
    violated("Outer", "OuterSmaller", [8, 6, 0, 5], invariant("Smaller"), &actions);
}

#[test]
fn constraints_and_views_bound_the_states() {
    held("Bounded", "Bounded", [16, 8, 0, 4]);
    // The view is not used: TLC's counts are 9, 4, 0, 4.
    held("Bounded", "BoundedView", [16, 8, 0, 4]);
    let actions = ["Up", "Up", "Up", "Up"];
    violated("Bounded", "BoundedFour", [13, 8, 1, 4], invariant("NotFour"), &actions);
}

#[test]
fn a_deadlock_is_found() {
    violated("Stuck", "Stuck", [3, 3, 0, 3], Broken::Deadlock, &["Next", "Next"]);
}

#[test]
fn processes_of_pluscal() {
    // TLC: 515, 231, 0, 16. The watcher's `with` leads to one state in two ways.
    held("Workers", "Workers", [463, 231, 0, 16]);
}

#[test]
fn a_limit_leaves_the_verdict_open() {
    let folder = folder("src/tla/specs");
    let specification =
        Specification::load(&folder.join("Workers.tla"), &folder.join("Workers.cfg")).unwrap();
    let explored = specification.explore(&Limits { states_max: 100, ..Limits::default() }).unwrap();
    assert_eq!(explored.verdict, Verdict::Unknown("there are more than 100 states".to_owned()));
    assert!(explored.counts.left > 0);
    let limits = Limits { bytes_max: 10 << 10, ..Limits::default() };
    let explored = specification.explore(&limits).unwrap();
    let why = "the states take more than 10 KiB of memory".to_owned();
    assert_eq!(explored.verdict, Verdict::Unknown(why));
}

#[test]
fn what_the_configuration_asks_for_is_named() {
    let asked = |module: &str, cfg: &str| {
        let folder = folder("src/tla/specs");
        let cfg = folder.join(format!("{cfg}.cfg"));
        Specification::load(&folder.join(format!("{module}.tla")), &cfg).unwrap().asked
    };
    let property = |name: &str| Asked::Property(name.to_owned());
    assert_eq!(asked("Fair", "FairWeak"), ["Gets", "Keeps", "Leads"].map(property));
    assert_eq!(asked("Stuck", "Stuck"), [Asked::NoDeadlock]);
}

/// Step by step, a module does what the search found.
#[test]
fn steps_are_those_of_the_graph() {
    let folder = folder("specs");
    let specification = Specification::load(&folder.join("ns.tla"), &folder.join("ns.cfg"));
    let specification = specification.unwrap();
    let steps = specification.steps().unwrap();
    let graph = crate::traces::tests::bar_foo_graph();
    let mut state = steps.initial().remove(0);
    assert_eq!(steps.vars(&state), graph.states[graph.initial[0]]);
    for name in ["Start", "CreateObject"] {
        let at = graph.states.iter().position(|of| *of == steps.vars(&state)).unwrap();
        let expect = graph.edges.iter().filter(|edge| edge.from == at);
        let expect: BTreeSet<State> = expect.map(|edge| graph.states[edge.to].clone()).collect();
        let mut actions = Vec::new();
        steps.actions(&state, &mut actions);
        let next = actions.iter().map(|action| steps.next(&state, action).unwrap());
        assert_eq!(next.map(|next| steps.vars(&next)).collect::<BTreeSet<_>>(), expect);
        let action = actions.iter().find(|action| steps.label(action) == name).unwrap();
        state = steps.next(&state, action).unwrap();
    }
    assert_eq!(steps.failed(), None);
}

/// An assertion fails: there is no step, and it is said why.
#[test]
fn a_state_that_can_not_be_evaluated_has_no_steps() {
    let (module, cfg) = (Path::new("M.tla"), Path::new("M.cfg"));
    let text = "---- MODULE M ----\nEXTENDS Naturals, TLC\nVARIABLE x\nInit == x = 0\n\
                Next == Assert(x = 1, \"no\") /\\ x' = 2\n====\n";
    let specification = Specification::new(module, text, cfg, "INIT Init\nNEXT Next\n").unwrap();
    let steps = specification.steps().unwrap();
    let mut actions = Vec::new();
    steps.actions(&steps.initial()[0], &mut actions);
    assert_eq!(actions, []);
    assert!(steps.failed().unwrap().to_string().contains("M.tla"), "{:?}", steps.failed());
}

#[test]
fn what_is_wrong_is_located() {
    let check = |text: &str, cfg: &str, expect: &str| {
        let text = format!("---- MODULE M ----\nEXTENDS Naturals\nVARIABLE x\n{text}\n====\n");
        let (module, cfg_file) = (Path::new("M.tla"), Path::new("M.cfg"));
        let error = match Specification::new(module, &text, cfg_file, cfg) {
            Err(error) => error,
            Ok(specification) => match specification.explore(&Limits::default()) {
                Err(error) => error,
                Ok(explored) => match explored.verdict {
                    Verdict::Failed(error, _) => error,
                    Verdict::Violated(Broken::Assertion(error), _) => error,
                    other => panic!("expected an error, found {other:?}"),
                },
            },
        };
        assert_eq!(error.to_string(), expect, "{text}");
    };
    let behaviour = "Init == x = 0\nNext == x' = 1 - x";
    let cfg = "INIT Init\nNEXT Next\n";
    let with_invariant = "INIT Init\nNEXT Next\nINVARIANT Inv\n";
    check(
        "Init == x = (0\nNext == x' = 1",
        cfg,
        "M.tla:5:1: in the definition of Init: unexpected identifier `Next` (expected `)`, found identifier `Next`)",
    );
    check("VARIABLE )", cfg, "M.tla:4:10: unexpected `)`");
    check(
        &format!("{behaviour}\nInv == Two\nTwo == x +"),
        with_invariant,
        "M.tla:8:5: in the definition of Two: unexpected end of input (expected expression, found end of input)",
    );
    check(
        "Init == x = 0\nNext == x' = 1 + \"a\"",
        cfg,
        "M.tla: type mismatch: expected Int, got Str; value was: \"a\"",
    );
    check(
        "Init == x = 0\nNext == x' = y",
        cfg,
        "M.tla:5:14: nothing defines `y`; did you mean `x`?",
    );
    // In a branch that the search takes late or never.
    check(
        "Init == x = 0\nNext == IF x < 9 THEN x' = x + 1 ELSE x' = Carve(x)",
        cfg,
        "M.tla:5:44: nothing defines `Carve`",
    );
    check(
        "Init == x = 0\nNext == \\/ x' = Later(x, 1)\nLater(a) == a",
        cfg,
        "M.tla:5:17: `Later` is defined with 1 arguments, and used with 2",
    );
    check(
        "(* Apend (* y *) *) Init == x = 0\nA == x' = \"Apend\" /\\ x = Apend(<<>>, 1)\nNext == A",
        cfg,
        "M.tla:5:26: nothing defines `Apend`; did you mean `Append`?",
    );
    check(
        "Init == x = 0\nA == x' = [a |-> 1\nNext == A \\/ x' = 1",
        cfg,
        "M.tla:6:1: in the definition of A: unexpected identifier `Next` (expected `]`, found identifier `Next`)",
    );
    check(
        "VARIABLE y\nInit == x = 0 /\\ y = 0\nNext == x' = 1",
        cfg,
        "M.tla: variable(s) not assigned in action Next: y",
    );
    check(behaviour, "INIT Init\nNEXT Nxt\n", "M.cfg:2:6: NEXT definition 'Nxt' not found in spec");
    check(behaviour, with_invariant, "M.cfg:3:11: INVARIANT definition 'Inv' not found in spec");
    check(
        behaviour,
        "INIT Init\nNEXT Next\nACTION_CONSTRAINT Act\n",
        "M.cfg:3:1: ACTION_CONSTRAINT is not known",
    );
    check(
        behaviour,
        "INIT Init\nNEXT Next\nINVARIENT Inv\n",
        "M.cfg:3:1: expected directive keyword, got Ident(\"INVARIENT\")",
    );
    check(&format!("CONSTANT N\n{behaviour}"), cfg, "M.tla: the configuration has no value for N");
    check(&format!("{behaviour}\nASSUME 1 = 2"), cfg, "M.tla: assumption 1 is false");
    check(
        &format!("{behaviour}\nInv == x + 1"),
        with_invariant,
        "M.tla: type mismatch in a predicate of the cfg: expected Bool, got Int; value was: 1",
    );
    check(
        &format!("INSTANCE Nowhere\n{behaviour}"),
        cfg,
        "M.tla: there is no Nowhere.tla beside it",
    );
    check(
        "Init == x = 0\nNext == Assert(x = 1, \"no\") /\\ x' = 1",
        cfg,
        "M.tla: Assertion failed: \"no\"",
    );
}

#[test]
fn names_alone_make_no_invariant() {
    let text =
        "---- MODULE M ----\nVARIABLE x\nInit == x = 0\nNext == x' = 1 - x\nInv == x = 0\n====\n";
    let explore = |cfg: &str| {
        Specification::new(Path::new("M.tla"), text, Path::new("M.cfg"), cfg)
            .unwrap()
            .explore(&Limits::default())
            .unwrap()
            .verdict
    };
    assert_eq!(explore("INIT Init\nNEXT Next\n"), Verdict::Held);
    assert!(matches!(explore("INIT Init\nNEXT Next\nINVARIANT Inv\n"), Verdict::Violated(..)));
}

#[test]
fn without_an_initial_state_nothing_is_held() {
    let text = "---- MODULE M ----\nVARIABLE x\nInit == x = 0 /\\ x = 1\nNext == x' = x\n====\n";
    let cfg = "INIT Init\nNEXT Next\n";
    let specification = Specification::new(Path::new("M.tla"), text, Path::new("M.cfg"), cfg);
    let explored = specification.unwrap().explore(&Limits::default()).unwrap();
    assert_eq!(explored.verdict, Verdict::Unknown("there is no initial state".to_owned()));
    assert_eq!((explored.graph, explored.counts.generated), (None, 0));
}

#[test]
fn cut_off_modules_are_errors_or_less() {
    let whole = include_str!("specs/Workers.tla");
    let cfg = include_str!("specs/Workers.cfg");
    for end in (0..whole.len()).filter(|end| end % 31 == 0 && whole.is_char_boundary(*end)) {
        let (module, cfg_file) = (Path::new("Workers.tla"), Path::new("Workers.cfg"));
        if let Ok(specification) = Specification::new(module, &whole[..end], cfg_file, cfg) {
            let _ = specification.explore(&Limits::default());
        }
    }
}
