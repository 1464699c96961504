//! What made the difference: which findings are one, and which are two.

use serde_json::{Value, json};
use trace::{Actor, Lack, StepState, Unmet};

use super::super::*;
use crate::{
    explain::explain,
    fixture::{Builder, SUBJECT, agreed, bar_foo_baseline, foo, undisturbed},
    verdict::Fingerprint,
};

const CHILD: &str = "configmaps/default/child";

fn child(of: Value) -> Value {
    json!({"kind": "ConfigMap", "metadata": {"ownerReferences": of}})
}

/// A Bar and its child, made by the controller.
fn with_child() -> Builder {
    undisturbed("aaaaa").put(SUBJECT, CHILD, child(json!([])))
}

#[track_caller]
fn end_state(trial: Builder) -> Verdict {
    let baseline =
        agreed(&[with_child().settle(2, true).run(), with_child().settle(2, true).run()]);
    judge(&trial.settle(2, true).trial(), &baseline).swap_remove(2)
}

#[test]
fn the_same_symptom_of_two_causes_is_two_findings() {
    let never_made = end_state(undisturbed("aaaaa").crash("a crash"));
    let deleted = end_state(with_child().crash("a crash").delete(SUBJECT, CHILD));
    assert_eq!(never_made.title, "configmaps/default/child is missing; undisturbed runs have it");
    assert_eq!(never_made.title, deleted.title);
    let causes = [&never_made, &deleted].map(|verdict| verdict.fingerprint.0[2].clone());
    assert_eq!(
        causes,
        [
            "cause: nobody created configmaps/default/child",
            "cause: the controller deleted configmaps/default/child",
        ]
    );
    assert!(!never_made.fingerprint.has_cause_of(&deleted.fingerprint));
}

#[test]
fn what_the_garbage_collector_deletes_is_the_doing_of_who_deleted_the_owner() {
    let gc = || Actor::Environment("garbage-collector-controller".into());
    let owner = "bars.example.com/default/owner";
    // The fixture's second object has this uid.
    let owned = child(json!([{"kind": "Bar", "name": "owner", "uid": "uid-1"}]));
    let made = || {
        let owner = Builder::new().started().called().put(SUBJECT, owner, json!({"kind": "Bar"}));
        owner.put(SUBJECT, CHILD, owned.clone())
    };
    let baseline = agreed(&[made().settle(1, true).run(), made().settle(1, true).run()]);
    let again = |trial: Builder| {
        trial.put(SUBJECT, owner, json!({"kind": "Bar"})).put(SUBJECT, CHILD, owned.clone())
    };
    let trial = made().crash("a crash").delete(SUBJECT, owner).delete(gc(), CHILD);
    let trial = again(trial).settle(1, true).trial();
    let verdict = judge(&trial, &baseline).swap_remove(3);
    let title = "bars.example.com/default/owner was deleted and created again by the controller; in undisturbed runs it \
                 stays until the end";
    assert_eq!(verdict.title, title, "not the child, which only follows");
    // And where the owner is no loss of its own:
    let trial = made().crash("a crash").delete(gc(), CHILD).put(SUBJECT, CHILD, owned);
    let verdict = judge(&trial.settle(1, true).trial(), &baseline).swap_remove(3);
    let title = "configmaps/default/child was deleted and created again by the garbage-collector-controller; in undisturbed \
                 runs it stays until the end";
    assert_eq!(verdict.title, title);
}

#[test]
fn a_reason_names_the_write_that_led_to_it() {
    let harmless = |trial: Builder| trial.put(SUBJECT, "configmaps/default/log", json!({}));
    let trial = harmless(with_child().crash("a crash")).delete(SUBJECT, CHILD);
    let verdict = end_state(trial.clone());
    let baseline =
        agreed(&[with_child().settle(2, true).run(), with_child().settle(2, true).run()]);
    let explained = explain(&trial.settle(2, true).trial(), &baseline, &verdict);
    let reason = explained.sentences.last().expect("a reason");
    assert!(reason.contains("subject/0 deleted configmaps/default/child"), "{reason}");
}

#[test]
fn failures_of_a_step_are_told_apart_by_field() {
    let failed = |path: &str| {
        let object = "bars.example.com/default/bar".to_owned();
        let unmet = Some(Unmet { object, how: Lack::Field(path.to_owned()) });
        let state = StepState::Failed { message: "not so".into(), unmet };
        let trial = undisturbed("aaaaa").crash("a crash").step(1, state).trial();
        judge(&trial, &bar_foo_baseline()).swap_remove(1).fingerprint
    };
    assert_eq!(
        failed(".status.a").0,
        [
            "oracle workload",
            "failed step 1",
            "field bars.example.com/default/bar .status.a",
            "cause: nobody wrote .status.a of bars.example.com/default/bar",
        ]
    );
    assert_ne!(failed(".status.a"), failed(".status.b"));
    assert_eq!(failed(".status.list[0]"), failed(".status.list[1]"));
}

#[test]
fn a_trial_that_does_better_than_undisturbed_runs_is_not_the_wrong_one() {
    let by = |replica: u32, suffix: &str, run: Builder| {
        let key = format!("foos.example.com/default/foo-{suffix}");
        run.put(Actor::Subject(replica), &key, foo())
    };
    let begun = || Builder::new().started().called().bar();
    let both = || by(1, "bbbbb", by(0, "aaaaa", begun())).settle(1, true).run();
    let baseline = agreed(&[both(), both()]);
    let verdict = |trial: Builder| judge(&trial.settle(1, true).trial(), &baseline).swap_remove(2);
    let one = verdict(by(0, "aaaaa", begun().crash("a crash")));
    let title = "1 instead of 2 objects foos.example.com/default/foo-*, which several replicas made: the undisturbed runs may \
                 be the wrong ones";
    assert_eq!((one.value, &*one.title), (VerdictValue::Unknown, title));
    assert_eq!(
        verdict(begun().crash("a crash")).value,
        VerdictValue::Violated,
        "none is not better"
    );
}

#[test]
fn a_step_that_waits_for_ever_is_told_by_the_surplus_object_that_blocks_it() {
    let failed = |trial: Builder| {
        let object = "bars.example.com/default/bar".to_owned();
        let unmet = Some(Unmet { object, how: Lack::Field(".status.ready".to_owned()) });
        let state = StepState::Failed { message: "not so".into(), unmet };
        judge(&trial.step(1, state).trial(), &bar_foo_baseline()).swap_remove(1).fingerprint
    };
    let begun = || Builder::new().started().called().bar().foo("aaaaa").crash("a crash");
    let (blocked, forgotten) = (failed(begun().foo("bbbbb")), failed(begun()));
    assert_eq!(blocked.cause(), Some("somebody created foos.example.com/default/foo-*"));
    assert_eq!(
        forgotten.cause(),
        Some("nobody wrote .status.ready of bars.example.com/default/bar")
    );
    assert!(!blocked.has_cause_of(&forgotten));
    // By another oracle it is the same finding.
    let two = begun().foo("bbbbb").mark("bbbbb").settle(1, true).trial();
    let end_state = judge(&two, &bar_foo_baseline()).swap_remove(2).fingerprint;
    assert!(end_state.has_cause_of(&blocked), "{end_state:?}");
}

#[test]
fn a_field_that_nobody_wrote_is_part_of_an_object_that_nobody_created() {
    let of = |cause: &str| Fingerprint(vec![format!("cause: {cause}")]);
    let created = of("nobody created configmaps/default/a");
    assert!(created.has_cause_of(&of("nobody wrote .data.to of configmaps/default/a")));
    assert!(!created.has_cause_of(&of("nobody wrote .data.to of configmaps/default/b")));
    let (one, other) = (
        "nobody wrote .data.a of configmaps/default/a",
        "nobody wrote .data.b of configmaps/default/a",
    );
    assert!(!of(one).has_cause_of(&of(other)), "two fields may be two bugs");
}
