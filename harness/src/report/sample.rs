//! A made-up report with something in every field, hostile texts included: for the tests of the renderings.

use super::{
    model::{
        Also, Confirmed, ConfirmedOn, Coverage, Entry, EntryKind, Explanation, FamilyPlans,
        Finding, Found, LevelCoverage, Mask, ObjectChange, ObjectDiff, Plans, References,
        Suspicion,
    },
    *,
};

/// Two findings, a mask, gaps and notes.
pub fn violated() -> Report {
    Report {
        campaign: "bar-foo".to_owned(),
        result: "2 findings: a crash leaves a second Foo, confirmed 5 of 5.".to_owned(),
        exit: 100,
        seconds: 3.25,
        references: References {
            runs: 3,
            agree: 3,
            masks: vec![Mask {
                path: "bars.example.com/default/bar: status.seen".to_owned(),
                values: vec!["4".to_owned(), "7".to_owned(), "5".to_owned()],
            }],
        },
        plans: Plans {
            enumerated: 31,
            pruned: [("equal world".to_owned(), 9), ("lease still held".to_owned(), 2)].into(),
            run: 20,
            held: 17,
            violated: 2,
            unknown: 1,
            trials: 40,
            left: 0,
        },
        families: [
            ("intermediate-state".to_owned(), family(20, (17, 2, 1), &[])),
            (
                "stale-state".to_owned(),
                family(
                    8,
                    (8, 0, 0),
                    &["the first list of pods is consistent: only its watch may lag"],
                ),
            ),
        ]
        .into(),
        coverage: Coverage {
            worlds: 14,
            frontier: 0,
            closed: true,
            level: "exact".to_owned(),
            levels: vec![
                level("shape", 4, (3, 1)),
                level("scale", 9, (5, 0)),
                level("exact", 14, (0, 0)),
            ],
            behind_findings: 2,
            nondeterministic: 0,
            bookkeeping: 6,
        },
        first_violated: Some(Found { trials: 3, seconds: 0.75 }),
        first_finding: Some(Found { trials: 40, seconds: 3.0 }),
        findings: vec![double_foo(), hostile()],
        transient: vec![rollback()],
        missing_permissions: vec!["create configmaps in namespace default".to_owned()],
        undisturbed: oracles::Examination {
            unresolved: vec!["db.default.svc".to_owned()],
            unchecked_steps: vec!["step 2".to_owned()],
            ..Default::default()
        },
        proves_nothing: None,
        never_tried: vec!["a second leader".to_owned(), "long downtimes".to_owned()],
        not_explored: vec!["families other than intermediate-state".to_owned()],
        suspicions: vec![Suspicion {
            id: "0f1e2d3c".to_owned(),
            title: "2 <b>Foos</b>; undisturbed runs have 1".to_owned(),
            state: "not confirmed, reproduced 2 of 5".to_owned(),
            plan: "killed after the first create of foos".to_owned(),
            trials: [("intermediate-state".to_owned(), 1)].into(),
            severity: oracles::Severity::Lasting,
            oracle: "end-state".to_owned(),
            history: Some("trials/7/history.jsonl.zst".to_owned()),
            replay: "suspicions/0f1e2d3c/replay.yaml".to_owned(),
            replay_command: "trommel replay trommel-out/suspicions/0f1e2d3c/replay.yaml".to_owned(),
            replay_text: "kind: Replay\n".to_owned(),
        }],
        violated_trials: 7,
        notes: vec!["settled as soon as quiet: no virtual clock on this machine".to_owned()],
    }
}

fn family(
    run: u64,
    (held, violated, unknown): (u64, u64, u64),
    unavailable: &[&str],
) -> FamilyPlans {
    FamilyPlans {
        enumerated: run + 3,
        pruned: [("same-world".to_owned(), 3)].into(),
        run,
        held,
        violated,
        unknown,
        never_fired: unknown,
        trials: 2 * run,
        left: 0,
        not_for: vec![],
        unavailable: unavailable.iter().map(|why| ((*why).to_owned(), 1)).collect(),
    }
}

fn level(name: &str, classes: u64, (audited, disagreed): (u64, u64)) -> LevelCoverage {
    LevelCoverage { level: name.to_owned(), classes, explored: classes, audited, disagreed }
}

/// Nothing found, everything closed.
pub fn clean() -> Report {
    Report {
        result: "No finding: every crash schedule was covered.".to_owned(),
        exit: 0,
        findings: Vec::new(),
        transient: Vec::new(),
        suspicions: Vec::new(),
        violated_trials: 0,
        first_violated: None,
        first_finding: None,
        missing_permissions: Vec::new(),
        undisturbed: oracles::Examination::default(),
        not_explored: Vec::new(),
        plans: Plans { run: 20, held: 20, enumerated: 20, trials: 40, ..Plans::default() },
        coverage: Coverage {
            worlds: 14,
            closed: true,
            level: "exact".to_owned(),
            ..Coverage::default()
        },
        ..violated()
    }
}

fn rollback() -> Finding {
    Finding {
        id: "c3d4e5f6".to_owned(),
        title: "configmaps/default/child .data.image went back from 2 to 1 and forward again"
            .to_owned(),
        family: "stale-state".to_owned(),
        oracle: "rollback".to_owned(),
        confirmed: Confirmed { k: 5, n: 5 },
        confirmed_on: vec![ConfirmedOn {
            cluster: "kind dev v1.36.3 (pod)".to_owned(),
            k: 3,
            n: 3,
            why: None,
        }],
        trials: [("stale-state".to_owned(), 3)].into(),
        replay: "findings/c3d4e5f6/replay.yaml".to_owned(),
        replay_command: "trommel replay trommel-out/findings/c3d4e5f6/replay.yaml".to_owned(),
        ..Finding::default()
    }
}

fn double_foo() -> Finding {
    let strings = |lines: &[&str]| lines.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>();
    let entry = |sequence, who: &str, kind, text: &str, detail: &str| Entry {
        sequence,
        at: format!("{sequence}.0 ms"),
        who: who.to_owned(),
        kind,
        text: text.to_owned(),
        detail: detail.to_owned(),
    };
    let foo = "apiVersion: example.com/v1\nkind: Foo\nmetadata:\n  generateName: bar-\n";
    use EntryKind::*;
    Finding {
        id: "a1b2c3d4".to_owned(),
        title: "After a crash between two writes, two Foos exist for one Bar".to_owned(),
        family: "intermediate-state".to_owned(),
        oracle: "end-state".to_owned(),
        confirmed: Confirmed { k: 5, n: 5 },
        confirmed_on: vec![],
        trials: [("intermediate-state".to_owned(), 2), ("stale-state".to_owned(), 1)].into(),
        also: vec![Also {
            id: "b2c3d4e5".to_owned(),
            title: "foos/default/bar-* was deleted by the controller".to_owned(),
        }],
        replay: "findings/a1b2c3d4/replay.yaml".to_owned(),
        replay_command: "trommel replay trommel-out/findings/a1b2c3d4/replay.yaml".to_owned(),
        explanation: Explanation {
            saw: vec!["when it sent create of foos/default/foo: it saw bars/default/bar at revision 4; the store had it at 7".to_owned()],
            given: strings(&[
                "killed right after its create of foos.example.com/default bar-…",
                "started again at once",
            ]),
            then: "it creates a second Foo, since the Bar does not yet say that one exists".to_owned(),
            because: "all 3 undisturbed runs end with exactly one Foo; a process may be killed at any moment"
                .to_owned(),
            legal_on: vec![],
        },
        path: vec![],
        timeline: vec![
            entry(1, "user", Step, "step 1 \"create\": apply bars.example.com/default/bar is done", ""),
            entry(2, "store", Commit, "revision 11: user created bars.example.com/default/bar", "kind: Bar\n"),
            entry(3, "subject/0#0", Delivery, "sees ADDED bars.example.com/default/bar at 11", ""),
            entry(4, "subject/0#0", Log, "INFO creating a Foo for bar", ""),
            entry(5, "subject/0#0", Call, "create foos.example.com/default bar-…", foo),
            entry(6, "store", Commit, "revision 12: subject/0 created foos.example.com/default/bar-2x", foo),
            entry(7, "subject/0#0", Answer, "201 to create foos.example.com/default bar-…, revision 12", foo),
            entry(8, "trommel", Perturbation, "kill subject/0 after its 1st create of foos.example.com", ""),
            entry(9, "subject/0#0", Process, "killed (SIGKILL)", ""),
            entry(10, "subject/0#1", Process, "started: target/debug/bar-foo", ""),
            entry(11, "subject/0#1", Call, "create foos.example.com/default bar-…", foo),
            entry(12, "store", Commit, "revision 13: subject/0 created foos.example.com/default/bar-7k", foo),
        ],
        diff: vec![
            ObjectDiff {
                object: "foos.example.com/default/bar-7k".to_owned(),
                change: ObjectChange::Extra,
                lines: strings(&["+apiVersion: example.com/v1", "+kind: Foo"]),
            },
            ObjectDiff {
                object: "bars.example.com/default/bar".to_owned(),
                change: ObjectChange::Changed,
                lines: strings(&[" status:", "-  foos: 1", "+  foos: 2"]),
            },
        ],
        kubectl_steps: strings(&[
            "Take a cluster that you may break, for example `kind create cluster`.",
            "Apply what the controller needs:\n```sh\nkubectl apply -f crds/\n```",
        ]),
        replay_text: "apiVersion: trommel.dev/v1alpha1\nkind: Replay\nfinding: a1b2c3d4\n".to_owned(),
    }
}

fn hostile() -> Finding {
    Finding {
        id: "evil".to_owned(),
        title: "<script>alert(1)</script> & \"quotes\"".to_owned(),
        family: "intermediate-state".to_owned(),
        oracle: "end-state".to_owned(),
        confirmed: Confirmed { k: 5, n: 5 },
        confirmed_on: vec![],
        replay_command: "trommel replay x --token 'Bearer abcdefghijklmnop1234'".to_owned(),
        path: vec![],
        timeline: vec![Entry {
            text: "</td><img src=x onerror=alert(1)>".to_owned(),
            detail: "kind: Secret\ndata:\n  password: aHVudGVyMg==\n".to_owned(),
            ..Entry::default()
        }],
        diff: vec![ObjectDiff { lines: vec!["+<b>bold</b>".to_owned()], ..ObjectDiff::default() }],
        kubectl_steps: vec!["run `<i>`".to_owned()],
        replay_text: "```\n</pre><script>alert(2)</script>\n".to_owned(),
        ..Finding::default()
    }
}
