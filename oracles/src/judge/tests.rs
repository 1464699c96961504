//! Small trials and what is said of them.

mod causes;
mod references;

use std::sync::Arc;

use serde_json::json;
use trace::{Actor, StepState};

use super::*;
use crate::{
    explain::explain,
    fixture::{Builder, SUBJECT, agreed, bar, bar_foo_baseline, undisturbed},
    verdict::Evidence,
};

/// Each verdict as `oracle value: title`.
#[track_caller]
fn check(trial: Builder, baseline: &Baseline, expect: &[&str]) -> Vec<Verdict> {
    let verdicts = judge(&trial.trial(), baseline);
    let found: Vec<String> = verdicts
        .iter()
        .map(|verdict| format!("{} {}: {}", verdict.oracle, verdict.value, verdict.title))
        .collect();
    // The last ones look at processes, of which these trials have one that stays up, at time, which stands still, and at
    // fields that come and go.
    let (others, last) = found.split_at(found.len() - 3);
    assert!(last[0].starts_with("exits ") && last[1].starts_with("livelock "), "{last:?}");
    assert!(last[2].starts_with("rollback "), "{last:?}");
    assert_eq!(others, expect);
    verdicts
}

const ASSUMPTIONS: &str =
    "assumptions held: the crash points were reached, the controller acted, and all settled";
const WORKLOAD: &str = "workload held: every operation succeeded";
const END_STATE: &str = "end-state held: the end state is that of the undisturbed runs";
const LIVES: &str =
    "object-lives held: every object that stays until the end of undisturbed runs stayed";

#[test]
fn an_undisturbed_run_is_held() {
    let verdicts = check(
        undisturbed("zzzzz"),
        &bar_foo_baseline(),
        &[ASSUMPTIONS, WORKLOAD, END_STATE, LIVES],
    );
    assert_eq!(summary(&verdicts), VerdictValue::Held);
    assert!(verdicts.iter().all(|verdict| verdict.fingerprint.0.is_empty()));
}

/// The prefix of a run that was killed between the two writes.
fn killed_between_writes() -> Builder {
    Builder::new().started().called().bar().foo("aaaaa")
}

fn double_foo_by_prefix() -> Builder {
    killed_between_writes()
        .crash("subject/0 be killed after its 1st create of foos.example.com")
        .foo("bbbbb")
        .mark("bbbbb")
        .settle(1, true)
}

fn double_foo_by_fork(suffix: &str) -> Builder {
    Builder::fork_of(&killed_between_writes(), 1)
        .crash("subject/0 be started on the world after its 1st create of foos.example.com")
        .foo(suffix)
        .mark(suffix)
        .settle(1, true)
}

#[test]
fn two_foos() {
    let baseline = bar_foo_baseline();
    let title = "end-state violated: \
        2 objects foos.example.com/default/foo-*; undisturbed runs have 1";
    let mut fingerprints = Vec::new();
    for trial in [double_foo_by_prefix(), double_foo_by_fork("bbbbb"), double_foo_by_fork("a1a1a")]
    {
        let verdicts = check(trial, &baseline, &[ASSUMPTIONS, WORKLOAD, title, LIVES]);
        assert_eq!(summary(&verdicts), VerdictValue::Violated);
        assert_eq!(
            verdicts[2].evidence[..1],
            [Evidence::Count {
                cursor: trace::Cursor { operation: 1, document: 0 },
                objects: "foos.example.com/default/foo-‹*›".into(),
                owner: None,
                references: 1,
                trial: 2,
            }]
        );
        assert_eq!(
            verdicts[3].evidence,
            [Evidence::Surplus {
                objects: "foos.example.com/default/foo-‹*›".into(),
                references: 1,
                trial: 2,
            }]
        );
        fingerprints.push(verdicts[2].fingerprint.clone());
    }
    let created = "cause: somebody created foos.example.com/default/foo-*";
    let extra = "extra foos.example.com/default/foo-*";
    assert_eq!(fingerprints[0].0, ["oracle end-state", extra, created]);
    assert!(fingerprints.iter().all(|other| other.id() == fingerprints[0].id()));
}

#[test]
fn two_foos_are_explained() {
    let baseline = bar_foo_baseline();
    for (trial, let_sentence) in [
        (
            double_foo_by_prefix(),
            "Let subject/0 be killed after its 1st create of foos.example.com.",
        ),
        (
            double_foo_by_fork("bbbbb"),
            "Let subject/0 be started on the world after its 1st create of foos.example.com.",
        ),
    ] {
        let trial = trial.trial();
        let verdicts = judge(&trial, &baseline);
        let explanation = explain(&trial, &baseline, &verdicts[2]);
        assert_eq!(
            explanation.sentences,
            [
                let_sentence,
                "Then 2 objects foos.example.com/default/foo-*; undisturbed runs have 1,",
                "because subject/0 created foos.example.com/default/foo-bbbbb (revision 3), \
                 number 2 of its kind; undisturbed runs have 1.",
            ]
        );
    }
}

#[test]
fn a_fixed_controller_is_held() {
    let trial = killed_between_writes().crash("a crash").mark("aaaaa").settle(1, true);
    let expect = [ASSUMPTIONS, WORKLOAD, END_STATE, LIVES];
    let verdicts = check(trial.clone(), &bar_foo_baseline(), &expect);
    let trial = trial.trial();
    let explanation = explain(&trial, &bar_foo_baseline(), &verdicts[2]);
    assert_eq!(explanation.divergence, None);
    // Makes a surplus one, sees it and removes it: reported, not judged.
    let tidy = killed_between_writes()
        .crash("a crash")
        .foo("bbbbb")
        .delete(SUBJECT, "foos.example.com/default/foo-bbbbb")
        .mark("aaaaa")
        .settle(1, true);
    let verdicts = check(tidy, &bar_foo_baseline(), &expect);
    assert!(matches!(verdicts[3].evidence[..], [Evidence::Surplus { trial: 2, .. }]));
}

#[test]
fn what_stood_there_must_live() {
    let replaced = killed_between_writes()
        .crash("a crash")
        .foo("bbbbb")
        .delete(SUBJECT, "foos.example.com/default/foo-aaaaa")
        .mark("bbbbb")
        .settle(1, true);
    let lives = "object-lives violated: foos.example.com/default/foo-* was deleted by the controller; \
        in undisturbed runs it stays until the end";
    let verdicts = check(replaced, &bar_foo_baseline(), &[ASSUMPTIONS, WORKLOAD, END_STATE, lives]);
    assert_eq!(verdicts[3].fingerprint.0[1], "deleted foos.example.com/default/foo-*");

    let recreated = killed_between_writes()
        .crash("a crash")
        .delete(SUBJECT, "bars.example.com/default/bar")
        .mark("aaaaa")
        .settle(1, true);
    let lives = "object-lives violated: bars.example.com/default/bar was deleted and created again by \
        the controller; in undisturbed runs it stays until the end";
    check(recreated, &bar_foo_baseline(), &[ASSUMPTIONS, WORKLOAD, END_STATE, lives]);
}

/// A workload that creates, deletes and creates again, settling between.
fn recreate(crash: Option<u32>) -> Builder {
    let mut run = Builder::new().started().called();
    for (operation, delete) in [(0, false), (1, true), (2, false)] {
        run = if delete {
            run.delete(Actor::User, "configmaps/default/a")
        } else {
            run.put(Actor::User, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        };
        if crash == Some(operation) {
            run = run.crash("a crash");
        }
        run = run.settle(operation + 1, operation == 2);
    }
    run
}

#[test]
fn the_users_own_deletions_are_none_of_ours() {
    let baseline = agreed(&[recreate(None).run(), recreate(None).run()]);
    let states = "end-state held: the states at 3 settles are those of the undisturbed runs";
    check(recreate(Some(0)), &baseline, &[ASSUMPTIONS, WORKLOAD, states, LIVES]);
    // But later than any reference deletes it, it counts.
    let late = recreate(None)
        .crash("a crash")
        .delete(SUBJECT, "configmaps/default/a")
        .put(SUBJECT, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        .settle(3, true);
    let verdicts = judge(&late.trial(), &baseline);
    assert_eq!(verdicts[3].value, VerdictValue::Violated, "{}", verdicts[3].title);
}

#[test]
fn one_deletion_more_than_in_any_reference_counts() {
    let map = || json!({"kind": "ConfigMap"});
    let key = "configmaps/default/a";
    let twice = |crash: bool| {
        let run = Builder::new().started().called().put(Actor::User, key, map());
        let run = if crash { run.crash("a crash") } else { run };
        run.delete(Actor::User, key).put(Actor::User, key, map())
    };
    let baseline =
        agreed(&[twice(false).settle(3, true).run(), twice(false).settle(3, true).run()]);
    check(twice(true).settle(3, true), &baseline, &[ASSUMPTIONS, WORKLOAD, END_STATE, LIVES]);
    let thrice = twice(true).delete(SUBJECT, key).put(SUBJECT, key, map()).settle(3, true);
    let lives = "object-lives violated: configmaps/default/a was deleted and created again by \
        the controller; in undisturbed runs it stays until the end";
    check(thrice, &baseline, &[ASSUMPTIONS, WORKLOAD, END_STATE, lives]);
}

#[test]
fn states_on_the_way_count() {
    let baseline = agreed(&[recreate(None).run(), recreate(None).run()]);
    let trial = Builder::new()
        .started()
        .called()
        .put(Actor::User, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        .crash("a crash")
        .put(SUBJECT, "configmaps/default/b", json!({"kind": "ConfigMap"}))
        .settle(1, false)
        .delete(SUBJECT, "configmaps/default/b")
        .delete(Actor::User, "configmaps/default/a")
        .settle(2, false)
        .put(Actor::User, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        .settle(3, true);
    let title = "end-state violated: configmaps/default/b exists; undisturbed runs do not have it, \
        when it had settled on the way";
    check(trial, &baseline, &[ASSUMPTIONS, WORKLOAD, title, LIVES]);
}

#[test]
fn states_before_the_perturbation_do_not_count() {
    let baseline = agreed(&[recreate(None).run(), recreate(None).run()]);
    let trial = Builder::new()
        .started()
        .called()
        .put(Actor::User, "configmaps/default/z", json!({"kind": "ConfigMap"}))
        .settle(1, false)
        .delete(Actor::User, "configmaps/default/z")
        .put(Actor::User, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        .crash("a crash")
        .settle(3, true);
    check(trial, &baseline, &[ASSUMPTIONS, WORKLOAD, END_STATE, LIVES]);
}

#[test]
fn fields_that_differ() {
    let trial = |status| {
        Builder::new()
            .started()
            .called()
            .bar()
            .crash("a crash")
            .foo("ccccc")
            .put(SUBJECT, "bars.example.com/default/bar", bar(status))
            .settle(1, true)
    };
    for (status, expect, fingerprint) in [
        (
            json!({"objRef": {"name": "other"}}),
            "has .status.objRef.name \"other\"; undisturbed runs have \"foo-‹1›\"",
            "field bars.example.com/default/bar .status.objRef.name",
        ),
        (
            json!({"objRef": {"name": "foo-zzzzz"}}),
            "has .status.objRef.name \"foo-zzzzz\"; undisturbed runs have \"foo-‹1›\"",
            "field bars.example.com/default/bar .status.objRef.name",
        ),
        (
            json!({}),
            "lacks .status.objRef; undisturbed runs have a map of 1",
            "field bars.example.com/default/bar .status.objRef",
        ),
        (
            json!({"objRef": {"name": "foo-ccccc"}, "phase": "Failed"}),
            "has .status.phase \"Failed\"; undisturbed runs do not have it",
            "field bars.example.com/default/bar .status.phase",
        ),
    ] {
        let title = format!("end-state violated: bars.example.com/default/bar {expect}");
        let expect = [ASSUMPTIONS, WORKLOAD, &title, LIVES];
        let verdicts = check(trial(status), &bar_foo_baseline(), &expect);
        assert_eq!(verdicts[2].fingerprint.0[1], fingerprint);
    }
}

#[test]
fn objects_that_are_missing() {
    let trial = Builder::new().started().called().bar().crash("a crash").settle(1, true);
    let title = "end-state violated: \
        no objects foos.example.com/default/foo-*; undisturbed runs have 1";
    check(trial, &bar_foo_baseline(), &[ASSUMPTIONS, WORKLOAD, title, LIVES]);
    let trial = killed_between_writes()
        .crash("a crash")
        .delete(Actor::User, "bars.example.com/default/bar")
        .settle(1, true)
        .trial();
    let verdicts = judge(&trial, &bar_foo_baseline());
    assert_eq!(
        verdicts[2].title,
        "bars.example.com/default/bar is missing; undisturbed runs have it"
    );
}

#[test]
fn what_proves_nothing_is_unknown() {
    let baseline = bar_foo_baseline();
    let never = "the crash point was not reached: a crash";
    let unknown = |oracle: &str, why: &str| format!("{oracle} unknown: {why}");
    check(
        double_foo_by_fork("bbbbb").planned("a crash"),
        &baseline,
        &[
            &unknown("assumptions", never),
            &unknown("workload", never),
            &unknown("end-state", never),
            &unknown("object-lives", never),
        ],
    );
    check(
        killed_between_writes().crash("a crash"),
        &baseline,
        &[
            "assumptions unknown: the run did not settle after the workload was done",
            "workload unknown: the workload was not done",
            "end-state unknown: nothing settled where undisturbed runs do",
            "object-lives unknown: the end was not reached",
        ],
    );
    let silent = undisturbed("aaaaa").started().settle(1, true);
    let verdicts = check(
        silent,
        &baseline,
        &[
            "assumptions unknown: the controller sent no request after its last start",
            WORKLOAD,
            END_STATE,
            LIVES,
        ],
    );
    assert_eq!(summary(&verdicts), VerdictValue::Unknown);
    assert_eq!(summary(&[]), VerdictValue::Unknown);
}

#[test]
fn a_settle_on_the_way_is_not_the_end() {
    let baseline = agreed(&[recreate(None).run(), recreate(None).run()]);
    let trial = Builder::new()
        .started()
        .called()
        .put(Actor::User, "configmaps/default/a", json!({"kind": "ConfigMap"}))
        .crash("a crash")
        .settle(1, false);
    let verdicts = judge(&trial.trial(), &baseline);
    let end_state = &verdicts[2];
    assert_eq!(
        (end_state.value, &*end_state.title),
        (VerdictValue::Unknown, "the end was not reached")
    );
}

#[test]
fn violated_beats_unknown() {
    let trial = killed_between_writes()
        .crash("a crash")
        .step(1, StepState::Failed { message: "expected x\nfound y".into(), unmet: None });
    let verdicts = check(
        trial,
        &bar_foo_baseline(),
        &[
            "assumptions unknown: the run did not settle after the workload was done",
            "workload violated: step 1 failed: expected x",
            "end-state unknown: nothing settled where undisturbed runs do",
            "object-lives unknown: the end was not reached",
        ],
    );
    assert_eq!(summary(&verdicts), VerdictValue::Violated);
    assert_eq!(verdicts[1].fingerprint.0[1], "failed step 1");
}

#[test]
fn verdicts_survive_json() {
    let verdicts = judge(&double_foo_by_prefix().trial(), &bar_foo_baseline());
    let text = serde_json::to_string(&verdicts).unwrap();
    assert_eq!(serde_json::from_str::<Vec<Verdict>>(&text).unwrap(), verdicts);
}

#[test]
fn a_controller_that_goes_on_ending_is_violated() {
    use trace::{Actor, Event, ProcessEvent, ProcessHappening};
    let exits = |times: usize| {
        let mut trial = undisturbed("zzzzz").crash("killed").started().called().trial();
        for _ in 0..times {
            let at = trial.run.history.records.last().unwrap().clone();
            let what = ProcessHappening::Exited { code: Some(2), signal: None };
            let event =
                Event::Process(ProcessEvent { actor: Actor::Subject(0), incarnation: 1, what });
            Arc::make_mut(&mut trial.run.history).records.push(trace::Record {
                sequence: at.sequence + 1,
                event,
                ..at
            });
        }
        let verdicts = judge(&trial, &bar_foo_baseline());
        let exits = verdicts.iter().find(|verdict| verdict.oracle == Oracle::Exits);
        exits.expect("it judges every trial").value
    };
    assert_eq!(exits(2), VerdictValue::Held);
    assert_eq!(exits(3), VerdictValue::Violated);
}

/// A restart when all had settled, which writes this number into a field of the one object.
fn restarted_when_settled(number: Option<u32>) -> Builder {
    let trial = Builder::fork_of(&undisturbed("aaaaa"), 1)
        .crash("subject/0 be killed when all had settled at the end")
        .when_settled();
    let status = |number| bar(json!({"objRef": {"name": "foo-aaaaa"}, "seen": number}));
    let key = "bars.example.com/default/bar";
    match number {
        Some(number) => trial.put(SUBJECT, key, status(number)).put(
            SUBJECT,
            key,
            bar(json!({"objRef": {"name": "foo-aaaaa"}})),
        ),
        None => trial,
    }
    .settle(1, true)
}

#[test]
fn a_restart_when_all_had_settled_writes_nothing() {
    let learn = |runs: [Builder; 2]| {
        let restart = crate::RestartWrites::learn(&runs.map(Builder::run), &[]);
        Baseline { restart: Some(restart), ..bar_foo_baseline() }
    };
    let writes = || restarted_when_settled(Some(1));
    let silent = || restarted_when_settled(None);
    let sound = learn([silent(), silent()]);
    let held = "restart-writes held: after a restart of the settled controller, it wrote nothing but what it \
                writes in undisturbed runs";
    let violated = "restart-writes violated: restarted when all had settled, the controller updates \
                    bars.example.com/default/bar (.status.seen)";
    let (all, unknown) = (
        [ASSUMPTIONS, WORKLOAD, END_STATE, LIVES],
        "restart-writes unknown: \
                          it is not known what an undisturbed controller writes after such a restart",
    );
    let with = |last: &'static str| [&all[..], &[last]].concat();
    check(silent(), &sound, &with(held));
    let verdicts = check(writes(), &sound, &with(violated));
    let expect = ["oracle restart-writes", "updated bars.example.com/default/bar .status.seen"];
    assert_eq!(verdicts[4].fingerprint.0, expect);
    // What undisturbed restarts write is allowed; if they differ, nothing is judged.
    check(writes(), &learn([writes(), writes()]), &with(held));
    check(writes(), &learn([writes(), silent()]), &all);
    check(silent(), &bar_foo_baseline(), &with(unknown));
}

#[test]
fn what_never_came_is_named() {
    // Killed after the Foo's creation, it never marks the Bar.
    let trial = killed_between_writes().crash("a crash").settle(1, true).trial();
    let baseline = bar_foo_baseline();
    let verdicts = judge(&trial, &baseline);
    let explanation = explain(&trial, &baseline, &verdicts[2]);
    assert_eq!(explanation.divergence, None);
    assert_eq!(
        explanation.sentences[2],
        "because nobody wrote .status.objRef of bars.example.com/default/bar, as undisturbed runs do."
    );
}
