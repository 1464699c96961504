//! Events and commands, by what runs with them come to.

use std::num::NonZeroUsize;

use crate::{
    cluster::Granularity,
    kivi::{
        cases::{Case, Variant},
        check,
        description::{Description, Written},
        expression::Expression,
        intent::Intent,
        occurrence::{Occurrence, What},
        options::{Mode, Options},
        told::Trace,
    },
};

/// Two nodes, two pods, and something that happens; the run to a state with another number of pods than two.
fn run(what: What, expected: &str, mode: Mode) -> Option<Trace> {
    let mut of: Description = Case::C4.of_size(&[2], 2, Variant::Clean);
    let name = of.deployments[0].name.clone();
    of.written = vec![Written { deployment: 0, name, replicas: 1 }];
    of.occurrences = vec![Occurrence::after_stable(what)];
    let expected = Expression::parse(expected).expect("an expression");
    let intents = [Intent::MeetExpected { deployment: 0, expected }];
    let options = Options { granularity: Granularity::Drain, mode, ..Options::default() };
    let found = check::check(&of, &intents, &options, NonZeroUsize::MIN, None).expect("a search");
    found.violation().map(|(_, trace)| trace.clone())
}

/// What users and nodes do on a run.
fn told(trace: &Trace) -> String {
    let all = trace.steps.iter().map(|step| &*step.text);
    let own = all.filter(|text| text.starts_with("user: ") || text.starts_with("Node "));
    own.collect::<Vec<&str>>().join("; ")
}

#[test]
fn a_node_that_fails_loses_its_pods() {
    for mode in [Mode::Parity, Mode::Exact] {
        let trace = run(What::NodeFailure { node: 0 }, "2", mode).expect("a pod goes");
        assert_eq!(told(&trace), "Node node-001 fails", "{mode:?}");
        assert_eq!(trace.states.last().map(|state| &*state.out[0]), Some("node-001"));
    }
}

#[test]
fn commands_change_how_many_pods_there_are() {
    let apply = run(What::Apply { written: 0 }, "2", Mode::Parity).expect("a pod goes");
    assert_eq!(told(&apply), "user: applies Deployment app replicas=1");
    let scale = run(What::Scale { deployment: 0 }, "1", Mode::Parity).expect("all pods go");
    assert_eq!(told(&scale), "user: scales Deployment app replicas=0");
    let scale = run(What::Scale { deployment: 0 }, "5", Mode::Parity);
    assert!(scale.is_none(), "five are the most that come, and none of them goes");
}

#[test]
fn a_deployment_is_created_when_a_command_does_it() {
    let mut of = Case::C4.of_size(&[2], 2, Variant::Clean);
    of.deployments[0].comes_later = true;
    of.occurrences = vec![Occurrence::of(What::CreateTarget { deployment: 0 })];
    let balance = [Intent::Balance { deployment: 0, max_skew: 0 }];
    let options = Options { granularity: Granularity::Drain, ..Options::default() };
    let found = check::check(&of, &balance, &options, NonZeroUsize::MIN, None).expect("a search");
    assert!(found.is_clean(), "both pods are placed in one step: {:?}", found.verdicts);
    let options = Options { granularity: Granularity::Write, ..options };
    let found = check::check(&of, &balance, &options, NonZeroUsize::MIN, None).expect("a search");
    let (_, trace) = found.violation().expect("the first pod is alone");
    assert_eq!(trace.states[0].deployments.len(), 0);
    assert_eq!(told(trace), "user: creates Deployment app");
}
