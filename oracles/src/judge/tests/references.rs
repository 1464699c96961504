//! Undisturbed runs that keep copies of a resourceVersion, or that still fail when all has settled.

use serde_json::Value;
use trace::{Event, ProcessEvent, ProcessHappening};

use super::*;
use crate::examine::failing;

const BAR: &str = "bars.example.com/default/bar";
const PART: &str = "services/default/part";

/// A part that keeps the bar's resourceVersion in a label, and a number that means something.
fn part(version: Option<&str>, port: &str) -> Value {
    let labels = version.map_or(json!({"app": "x"}), |it| json!({"app": "x", "owner-rv": it}));
    json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"labels": labels}, "spec": {"port": port},
    })
}

fn made(builder: Builder, version: Option<&str>, port: &str) -> Builder {
    builder.put(SUBJECT, PART, part(version, port)).settle(1, true)
}

#[test]
fn copies_of_a_revision_are_no_difference() {
    let undisturbed = || made(Builder::new().started().called().bar(), Some("1"), "80").run();
    let baseline = agreed(&[undisturbed(), undisturbed(), undisturbed()]);
    let learnt: Vec<String> = baseline.evidence.iter().map(ToString::to_string).collect();
    let copy = "services/default/part .metadata.labels.owner-rv: a copy of the resourceVersion of \
        bars.example.com/default/bar: \"1\" in run 0, \"1\" in run 1, \"1\" in run 2";
    assert_eq!(learnt, [copy]);
    let trial = |version, port| {
        let before = Builder::new().started().called().bar().mark("a").crash("a crash");
        made(before.put(SUBJECT, BAR, bar(json!({}))), version, port)
    };
    check(trial(Some("3"), "80"), &baseline, &[ASSUMPTIONS, WORKLOAD, END_STATE, LIVES]);
    check(trial(None, "80"), &baseline, &[ASSUMPTIONS, WORKLOAD, END_STATE, LIVES]);
    let title = "end-state violated: services/default/part has .spec.port \"1\"; undisturbed runs \
        have \"80\"";
    check(trial(Some("3"), "1"), &baseline, &[ASSUMPTIONS, WORKLOAD, title, LIVES]);
}

/// The controller logs an error so often.
fn fails(builder: Builder, times: usize) -> Builder {
    let text = "E1125 05:24:38.000000 1 a.go:12] no zookeeper".to_owned();
    let what = ProcessHappening::Line { text };
    let line = ProcessEvent { actor: SUBJECT, incarnation: 0, what };
    (0..times).fold(builder, |builder, _| builder.event(Event::Process(line.clone())))
}

#[test]
fn statuses_are_not_judged_where_undisturbed_runs_fail() {
    let begun = || Builder::new().started().called().bar().mark("a");
    // Before its last write, too.
    let run = |times| fails(fails(begun(), times).foo("a"), times / 2).settle(1, true).run();
    let told: Vec<String> = failing(&run(2)).iter().map(ToString::to_string).collect();
    let expect = "when all had settled after step 0, the controller still failed (3 times by \
        then): E1125 05:24:38.000000 1 a.go:12] no zookeeper; the status of \
        bars.example.com/default/bar is not judged there";
    assert_eq!(told, [expect]);
    // What it did not meet again after its last write is over.
    assert_eq!(failing(&run(1)), []);

    let baseline = agreed(&[run(2), run(4), run(3)]);
    let trial = |status, suffix: &str| {
        let begun = Builder::new().started().called().bar().crash("a crash");
        begun.put(SUBJECT, BAR, bar(status)).foo(suffix).settle(1, true)
    };
    let unknown = "end-state unknown: bars.example.com/default/bar .status.phase differs, but the \
        controller still fails there in undisturbed runs and leaves the status as it was";
    let status = json!({"objRef": {"name": "foo-a"}, "phase": "Ready"});
    check(trial(status.clone(), "a"), &baseline, &[ASSUMPTIONS, WORKLOAD, unknown, LIVES]);
    // Objects are judged all the same.
    let verdicts = judge(&trial(status.clone(), "a").foo("b").settle(1, true).trial(), &baseline);
    assert_eq!(verdicts[2].value, VerdictValue::Violated);
    // Where only some of the undisturbed runs fail, all is judged.
    let baseline = agreed(&[run(3), run(0), run(3)]);
    let verdicts = judge(&trial(status, "a").trial(), &baseline);
    assert_eq!(verdicts[2].value, VerdictValue::Violated);
}
