//! What references teach, and when they may not be believed.

use serde_json::{Value, json};
use trace::{Actor, StepState};

use super::*;
use crate::fixture::{Builder, SUBJECT, bar_foo_baseline, undisturbed};

/// A run that ends with this one object.
fn ending(object: Value) -> Run {
    let mut object = object;
    object["kind"] = json!("ConfigMap");
    object["apiVersion"] = json!("v1");
    Builder::new().put(SUBJECT, "configmaps/default/a", object).settle(1, true).run()
}

/// Masks and disagreements, as people read them.
#[track_caller]
fn check(objects: &[Value], accepted: &[&str], masks: &[&str], disagreements: &[&str]) -> Learnt {
    let runs: Vec<Run> = objects.iter().cloned().map(ending).collect();
    let accepted: Vec<Accepted> = accepted.iter().map(|text| text.parse().unwrap()).collect();
    let learnt = learn(&runs, &accepted);
    let found: Vec<String> = learnt.baseline.evidence.iter().map(LearntMask::to_string).collect();
    assert_eq!(found, masks);
    let found: Vec<String> = learnt.disagreements.iter().map(Disagreement::to_string).collect();
    assert_eq!(found, disagreements);
    learnt
}

#[test]
fn equal_references_need_no_mask() {
    let learnt = check(&[json!({"x": 1}), json!({"x": 1})], &[], &[], &[]);
    assert_eq!(learnt.added, [0, 0]);
}

#[test]
fn leaves_that_differ_are_masked() {
    let learnt = check(
        &[json!({"x": {"y": 1}}), json!({"x": {"y": 1}}), json!({"x": {"y": 2}})],
        &[],
        &["configmaps/default/a .x.y: 1 in run 0, 1 in run 1, 2 in run 2"],
        &[],
    );
    assert_eq!(learnt.added, [0, 0, 1]);
    check(
        &[json!({"x": [{"y": 1}, {"y": 5}]}), json!({"x": [{"y": 1}, {"y": 6}]})],
        &[],
        &["configmaps/default/a .x[*].y: [1,5] in run 0, [1,6] in run 1"],
        &[],
    );
}

/// Siblings are told apart by a label; a random annotation comes first in order of content.
#[test]
fn random_fields_of_siblings_do_not_drag_others_along() {
    let run = |suffixes: [&str; 2], random: [u32; 2]| {
        let mut run = Builder::new();
        for (at, suffix) in suffixes.into_iter().enumerate() {
            let metadata = json!({
                "generateName": "web-",
                "annotations": {"random": random[at].to_string()},
                "labels": {"index": at.to_string()},
            });
            let object = json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata});
            run = run.put(SUBJECT, &format!("pods/default/web-{suffix}"), object);
        }
        run.settle(1, true).run()
    };
    let learnt = learn(&[run(["aaaaa", "bbbbb"], [1, 2]), run(["ccccc", "ddddd"], [8, 7])], &[]);
    assert_eq!(learnt.disagreements, []);
    let masks: Vec<String> = learnt.baseline.masks.learnt.iter().map(Mask::to_string).collect();
    assert_eq!(masks, ["pods/default/web-‹*› .metadata.annotations.random"]);
    assert_eq!(learnt.added, [0, 1]);
}

#[test]
fn what_no_mask_may_hide() {
    for (left, right, expect) in [
        (
            json!({"x": [1]}),
            json!({"x": [1, 2]}),
            "undisturbed runs have lists of different length: configmaps/default/a .x: \
                 \"1 elements\" in run 0, \"2 elements\" in run 1",
        ),
        (
            json!({"x": 1}),
            json!({}),
            "undisturbed runs have different fields: configmaps/default/a .x: \
                 1 in run 0, nothing in run 1",
        ),
        (
            json!({"status": {"phase": "A"}}),
            json!({"status": {"phase": "B"}}),
            "undisturbed runs have different outcomes: configmaps/default/a .status.phase: \
                 \"A\" in run 0, \"B\" in run 1",
        ),
        (
            json!({"status": {"conditions": [{"type": "R", "status": "True"}]}}),
            json!({"status": {"conditions": [{"type": "R", "status": "False"}]}}),
            "undisturbed runs have different outcomes: configmaps/default/a .status.conditions[*].status: \
                 \"True\" in run 0, \"False\" in run 1",
        ),
        (
            json!({"status": {"readyReplicas": 1}}),
            json!({"status": {"readyReplicas": 2}}),
            "undisturbed runs have different outcomes: configmaps/default/a .status.readyReplicas: \
                 1 in run 0, 2 in run 1",
        ),
    ] {
        let learnt = check(&[left.clone(), right.clone()], &[], &[], &[expect]);
        // What it says has to be accepted is what makes it acceptable.
        let accept = learnt.disagreements[0].acceptable().unwrap().to_string();
        check(&[left, right], &[&accept], &[], &[]);
    }
}

#[test]
fn different_objects() {
    let more = Builder::new()
        .put(SUBJECT, "configmaps/default/a", json!({"kind": "ConfigMap", "apiVersion": "v1"}))
        .put(SUBJECT, "configmaps/default/b", json!({"kind": "ConfigMap", "apiVersion": "v1"}))
        .settle(1, true)
        .run();
    let runs = [ending(json!({})), more];
    let learnt = learn(&runs, &[]);
    let text = "undisturbed runs have different objects: configmaps/default/b: \
        0 in run 0, 1 in run 1";
    assert_eq!(learnt.disagreements[0].to_string(), text);
    let accepted = learnt.disagreements[0].acceptable().unwrap();
    assert_eq!(learn(&runs, &[accepted]).disagreements, []);

    let twice = undisturbed("aaaaa").foo("bbbbb").settle(1, true).run();
    let learnt = learn(&[undisturbed("ccccc").run(), twice], &[]);
    let text = "undisturbed runs have different objects: foos.example.com/default/foo-‹*›: \
        1 in run 0, 2 in run 1";
    assert_eq!(learnt.disagreements[0].to_string(), text);
    let accepted = learnt.disagreements[0].acceptable().unwrap();
    assert_eq!(accepted.to_string(), "foos.example.com/default/foo-*");
}

#[test]
fn runs_that_fail_or_do_not_settle() {
    let failed =
        undisturbed("aaaaa").step(1, StepState::Failed { message: "no".into(), unmet: None }).run();
    let endless = Builder::new().bar().run();
    for (runs, kind) in [
        (vec![failed], DisagreementKind::Workload),
        (vec![undisturbed("aaaaa").run(), endless.clone()], DisagreementKind::Settles),
        (vec![endless], DisagreementKind::Settles),
    ] {
        let found = learn(&runs, &[]).disagreements;
        assert_eq!(found.iter().map(|found| found.kind).collect::<Vec<_>>(), [kind]);
        assert_eq!(found[0].acceptable(), None);
    }
    assert_eq!(learn(&[], &[]).disagreements, []);
}

#[test]
fn lives() {
    let foo = bar_foo_baseline().lives["foos.example.com/default/foo-‹*›"];
    let once = Span { min: 1, max: 1 };
    assert_eq!((foo.created, foo.ended, foo.last_deleted), (once, once, None));
    let gone = |more: bool| {
        let run = undisturbed("aaaaa").delete(Actor::User, "foos.example.com/default/foo-aaaaa");
        let run = if more { run.foo("bbbbb") } else { run };
        run.settle(2, true).run()
    };
    let learnt = learn(&[gone(false), gone(true)], &["foos.*".parse().unwrap()]);
    assert!(!learnt.baseline.lives.contains_key("foos.example.com/default/foo-‹*›"));
    let learnt = learn(&[gone(false), gone(true)], &[]);
    let foo = learnt.baseline.lives["foos.example.com/default/foo-‹*›"];
    assert_eq!((foo.created, foo.ended), (Span { min: 1, max: 2 }, Span { min: 0, max: 1 }));
    assert_eq!(foo.last_deleted, Some(1));
}

#[test]
fn how_many_references() {
    for (added, expect) in [
        (&[][..], Enough::More),
        (&[0, 0], Enough::More),
        (&[0, 0, 0], Enough::Yes),
        (&[0, 1, 0], Enough::More),
        (&[0, 1, 0, 0], Enough::Yes),
        (&[0, 1, 1, 0, 1, 0, 1, 0, 1, 0], Enough::NeverStable),
        (&[0, 1, 1, 0, 1, 0, 1, 0, 0, 0], Enough::Yes),
    ] {
        assert_eq!(enough(added), expect, "{added:?}");
    }
}

#[test]
fn baselines_survive_json() {
    let runs = [ending(json!({"x": 1})), ending(json!({"x": 2}))];
    let baseline = learn(&runs, &["pods/* .a[*]".parse().unwrap()]).baseline;
    let text = serde_json::to_string_pretty(&baseline).unwrap();
    assert_eq!(Baseline::from_json(&text).unwrap(), baseline);
    let later = text.replacen("\"version\": 1", "\"version\": 2", 1);
    let error = Baseline::from_json(&later).unwrap_err().to_string();
    assert_eq!(error, "baseline of format version 2, but this program reads version 1");
    assert!(Baseline::from_json("{}").is_err() && Baseline::from_json("").is_err());
}

/// A Deployment's deadline, and a Job that is removed, after all undisturbed runs have ended.
#[test]
fn what_waiting_for_longer_leads_to_is_no_fault() {
    let run = |late: bool, extra: Value| {
        let status = if late { "False" } else { "True" };
        let deployment = json!({
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": {"name": "web", "namespace": "default"},
            "status": {"conditions": [{"type": "Progressing", "status": status}]},
        });
        let job = json!({"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "once", "namespace": "default"}});
        let mut run = Builder::new()
            .started()
            .called()
            .put(SUBJECT, "jobs.batch/default/once", job)
            .put(SUBJECT, "deployments.apps/default/web", deployment)
            .put(SUBJECT, "configmaps/default/a", extra);
        if late {
            run = run.delete(SUBJECT, "jobs.batch/default/once");
        }
        run.settle(1, true)
    };
    let with = |text: &str| json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": text}});
    let plain = || with("1");
    let usual = [run(false, plain()).run(), run(false, plain()).run()];
    let baseline = crate::fixture::agreed(&usual);
    let violated = |baseline: &Baseline, trial: Builder| -> Vec<String> {
        let verdicts = crate::judge(&trial.trial(), baseline);
        let bad = |verdict: &&crate::Verdict| verdict.value == crate::VerdictValue::Violated;
        verdicts.iter().filter(bad).map(|verdict| verdict.title.clone()).collect()
    };
    assert_eq!(violated(&baseline, run(true, plain())).len(), 2, "as it was");
    let baseline = baseline.waited_longer(&usual, &run(true, plain()).run());
    assert_eq!(violated(&baseline, run(true, plain())), [""; 0]);
    assert_eq!(violated(&baseline, run(false, plain())), [""; 0]);
    let wrong = violated(&baseline, run(true, with("2")));
    assert_eq!(wrong, [r#"configmaps/default/a has .data.a "2"; undisturbed runs have "1""#]);
    // What both have alike at other values is no excuse.
    let mut gone = run(false, plain());
    gone = gone.delete(SUBJECT, "configmaps/default/a").settle(1, true);
    assert_eq!(violated(&baseline, gone).len(), 2);
}
