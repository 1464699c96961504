//! Files that are wrong, what stages choose and do, and who waits for them.

use serde_json::json;

use super::*;
use crate::{Look, Schedule};

struct Here;

impl Surroundings for Here {
    fn now(&self) -> Time {
        Time(1_767_225_600_000_000_000)
    }

    fn start(&self) -> Time {
        self.now()
    }

    fn node_ips(&self, _: &str) -> Vec<String> {
        vec!["10.0.0.1".to_owned()]
    }

    fn pod_ip(&mut self, _: &str) -> String {
        "10.128.0.1".to_owned()
    }
}

const HEAD: &str = "apiVersion: kwok.x-k8s.io/v1alpha1\nkind: Stage\nmetadata:\n  name: s\nspec:\n  resourceRef:\n    kind: Pod\n";

fn read(spec: &str) -> Result<Stages, StageError> {
    Stages::read([("a.yaml", &*format!("{HEAD}{spec}"))])
}

fn first_actions(stages: &Stages, object: &Value) -> Result<Vec<Action>, String> {
    stages.actions(&pods(), 0, object, &mut Here)
}

/// What it comes to, and after how many milliseconds.
fn chosen(stages: &Stages, object: &Value, who: &str) -> Option<(usize, u128)> {
    let chance = || Chance::new(who.to_owned());
    let chosen = stages.choose(&pods(), object, Here.now(), &chance);
    chosen.map(|(stage, after)| (stage, after.as_millis()))
}

#[test]
fn what_is_wrong_is_said_with_its_place() {
    let check = |spec: &str, line: u64, expect: &str| {
        let error = read(spec).expect_err(spec);
        assert!(error.message.contains(expect), "{spec}: {error}");
        assert_eq!((error.line, &*error.path), (line, "a.yaml"), "{spec}: {error}");
    };
    check("  selector: {}\n  wait: 5\n", 9, "wait");
    check("  next:\n    delete: true\n", 6, "no selector");
    check(
        "  selector:\n    matchExpressions:\n    - key: '.a | nonsense'\n      operator: Exists\n",
        10,
        "nonsense",
    );
    check(
        "  selector:\n    matchExpressions:\n    - {key: .a, operator: Is}\n",
        10,
        "none of In, NotIn",
    );
    check(
        "  selector:\n    matchExpressions:\n    - {key: .a, operator: In}\n",
        10,
        "needs values",
    );
    check(
        "  selector:\n    matchExpressions:\n    - cel: {expression: 'true'}\n",
        10,
        "cel is not supported",
    );
    check(
        "  selector: {}\n  next:\n    statusTemplate: |\n      a: 1\n      b: {{ nonsense }}\n",
        12,
        "no function `nonsense`",
    );
    check("  selector: {}\n  next:\n    statusPatchAs: {username: a}\n", 10, "impersonation");
    check("  selector: {}\n  weightFrom:\n    expressionFrom: now\n", 10, "`now`");
    check("  selector: {}\n  steps:\n  - apply: {template: x}\n", 10, "apply is not supported");
    let other = HEAD.replace("Pod", "Job");
    let error = Stages::read([("b.yaml", &*format!("{other}  selector: {{}}\n"))]);
    assert!(error.expect_err("a Job").to_string().starts_with("b.yaml:7:"));
    let error = Stages::read([("c.yaml", "")]).expect_err("nothing");
    assert!(error.message.contains("has no stage"));
    let config = HEAD.replace("Stage", "Configuration");
    let error = Stages::read([("d.yaml", &*format!("{config}  selector: {{}}\n"))]);
    assert!(error.expect_err("no stage").message.contains("it is no Stage"));
}

#[test]
fn selectors() {
    let check = |selector: &str, object: Value, expect: bool| {
        let stages = read(&format!("  selector: {selector}\n")).expect(selector);
        assert_eq!(chosen(&stages, &object, "").is_some(), expect, "{selector} {object}");
    };
    let pod = || json!({"metadata": {"labels": {"a": "b"}, "annotations": {"c": "d"}}, "status": {"phase": "Running", "ready": true}});
    check("{}", json!({}), true);
    check("{matchLabels: {a: b}}", pod(), true);
    check("{matchLabels: {a: c}}", pod(), false);
    check("{matchAnnotations: {c: d}}", pod(), true);
    check("{matchAnnotations: {c: d, e: f}}", pod(), false);
    let on = |rest: &str| format!("{{matchExpressions: [{{{rest}}}]}}");
    check(&on("key: .status.phase, operator: In, values: [Running]"), pod(), true);
    check(&on("key: .status.phase, operator: NotIn, values: [Running]"), pod(), false);
    check(&on("key: .status.ready, operator: In, values: ['true']"), pod(), true);
    check(&on("key: .status.none, operator: NotIn, values: [x]"), pod(), true);
    check(&on("key: .status.none, operator: DoesNotExist"), pod(), true);
    check(&on("key: '.status.none.[].deeper', operator: Exists"), pod(), false);
    check(&on("jq: {key: .status.phase, operator: Exists}"), pod(), true);
}

#[test]
fn delays_and_jitter() {
    let check = |delay: &str, annotation: Option<&str>, expect: std::ops::Range<u128>| {
        let stages = read(&format!("  selector: {{}}\n  delay: {delay}\n")).expect(delay);
        let pod = json!({"metadata": {"annotations": {"wait": annotation}}});
        let (_, after) = chosen(&stages, &pod, "web").expect("it matches");
        assert!(expect.contains(&after), "{delay} {annotation:?}: {after}");
        assert_eq!(chosen(&stages, &pod, "web"), Some((0, after)), "the same each time");
    };
    let from = "durationFrom: {expressionFrom: '.metadata.annotations.wait'}";
    check("{durationMilliseconds: 500}", None, 500..501);
    check("{durationMilliseconds: 1000, jitterDurationMilliseconds: 5000}", None, 1000..5000);
    check("{durationMilliseconds: 1000, jitterDurationMilliseconds: 400}", None, 400..401);
    check(&format!("{{durationMilliseconds: 500, {from}}}"), None, 500..501);
    check(&format!("{{durationMilliseconds: 500, {from}}}"), Some("2s"), 2000..2001);
    check(&format!("{{{from}}}"), Some("2026-01-01T00:00:30Z"), 30_000..30_001);
    check(&format!("{{{from}}}"), Some("2020-01-01T00:00:00Z"), 0..1);
    check(&format!("{{durationMilliseconds: 500, {from}}}"), Some(""), 0..1);
    let jitter = "{durationMilliseconds: 1000, jitterDurationFrom: {jq: {expression: .metadata.annotations.wait}}}";
    check(jitter, Some("2026-01-01T00:00:30Z"), 1000..30_000);
    check(jitter, Some("2025-01-01T00:00:00Z"), 0..1);
    check(jitter, None, 1000..1001);
}

/// How often each stage is chosen out of a thousand pods.
fn shares(weights: &[&str]) -> Vec<usize> {
    let spec = |weight: &&str| format!("{HEAD}  selector: {{}}\n{weight}");
    let text = weights.iter().map(spec).collect::<Vec<_>>().join("---\n");
    let stages = Stages::read([("w.yaml", &*text)]).expect("stages");
    let mut shares = vec![0; weights.len()];
    for n in 0..1000 {
        let (stage, _) = chosen(&stages, &json!({}), &format!("pod-{n}")).expect("one matches");
        shares[stage] += 1;
    }
    shares
}

#[test]
fn weights() {
    let even = shares(&["", ""]);
    assert!(even.iter().all(|n| (400..600).contains(n)), "{even:?}");
    let uneven = shares(&["  weight: 1\n", "  weight: 9\n"]);
    assert!((50..150).contains(&uneven[0]), "{uneven:?}");
    assert_eq!(shares(&["", "  weight: 1\n"]), [0, 1000]);
    // What says nothing has the weight that is written; an empty text has none.
    let from = "  weight: 1\n  weightFrom: {expressionFrom: .none}\n";
    assert!((400..600).contains(&shares(&[from, "  weight: 1\n"])[0]));
    let none = "  weightFrom: {expressionFrom: '\"\"'}\n";
    assert_eq!(shares(&[none, ""]), [0, 1000]);
}

#[test]
fn steps_come_in_kwoks_order() {
    let stages = read(concat!(
        "  selector: {}\n  next:\n    delete: true\n",
        "    event: {type: Normal, reason: Gone, message: m}\n",
        "    finalizers: {add: [{value: a/b}]}\n",
        "    statusTemplate: '{phase: Failed}'\n",
    ))
    .expect("a stage");
    let found = first_actions(&stages, &json!({})).expect("actions");
    let [
        Action::Event(event),
        Action::Patch { body, .. },
        Action::Patch { body: status, subresource, kind },
        Action::Delete,
    ] = &found[..]
    else {
        panic!("{found:?}");
    };
    assert_eq!(event.reason, "Gone");
    assert_eq!(body[0]["path"], "/metadata/finalizers");
    assert_eq!(*status, json!({"status": {"phase": "Failed"}}));
    assert_eq!((&**subresource, *kind), ("status", PatchKind::Strategic));
    let steps = "  selector: {}\n  steps:\n  - {delete: true}\n  - {patch: {template: 'a: 1'}}\n  - {event: {reason: E}}\n";
    let found = first_actions(&read(steps).expect("steps"), &json!({})).expect("actions");
    assert!(matches!(found[..], [Action::Delete, Action::Event(_)]), "{found:?}");
    let fails = read("  selector: {}\n  next: {statusTemplate: '{{ index .none 1 }}'}\n");
    let error = first_actions(&fails.expect("a stage"), &json!({})).expect_err("it fails");
    assert!(error.contains("stage s: line 1"), "{error}");
}

#[test]
fn the_defaults_make_pods_run_and_nodes_ready() {
    let stages = crate::defaults::stages().expect("they are right");
    let pod = json!({
        "metadata": {"name": "web"}, "status": {"phase": "Pending"},
        "spec": {"nodeName": "n", "containers": [{"name": "c", "image": "i"}]},
    });
    assert_eq!(chosen(&stages, &pod, ""), Some((0, 0)));
    let found = first_actions(&stages, &pod).expect("actions");
    let [Action::Patch { body, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(body["status"]["podIP"], "10.128.0.1");
    assert_eq!(body["status"]["containerStatuses"][0]["ready"], true);
    let job = json!({"metadata": {"ownerReferences": [{"kind": "Job", "controller": true}]}, "status": {"phase": "Running"}});
    assert_eq!(chosen(&stages, &job, ""), Some((1, 0)));
    let bare = |policy: &str, owner: Value| {
        let of_it = json!({"metadata": {"ownerReferences": owner}, "spec": {"restartPolicy": policy}, "status": {"phase": "Running"}});
        chosen(&stages, &of_it, "")
    };
    assert_eq!(bare("Never", Value::Null), Some((1, 0)));
    assert_eq!(bare("OnFailure", json!([{"kind": "Foo"}])), Some((1, 0)));
    assert_eq!(bare("Always", Value::Null), None);
    assert_eq!(bare("Never", json!([{"kind": "Foo", "controller": true}])), None);
    let deleted = json!({"metadata": {"deletionTimestamp": "x"}, "status": {"phase": "Running"}});
    assert_eq!(chosen(&stages, &deleted, ""), Some((2, 0)));
    assert_eq!(chosen(&stages, &json!({"status": {"phase": "Running"}}), ""), None);
    let node = json!({"metadata": {"name": "n"}});
    let found = stages.actions(&nodes(), 0, &node, &mut Here).expect("actions");
    let [Action::Patch { body, .. }] = &found[..] else { panic!("{found:?}") };
    assert_eq!(body["status"]["allocatable"]["pods"], "110");
    assert_eq!(body["status"]["conditions"][0]["status"], "True");
}

#[test]
fn who_waits_is_asked_again_when_it_changes() {
    let text = format!(
        "{HEAD}  selector: {{matchLabels: {{go: 'yes'}}}}\n  delay: {{durationMilliseconds: 1000}}\n"
    );
    let stages = Stages::read([("a.yaml", &*text)]).expect("a stage");
    let mut schedule = Schedule::new(std::sync::Arc::new(stages));
    let key = trace::ObjectKey::new(pods(), "default", "web");
    let pod = |revision: &str, go: &str| json!({"metadata": {"uid": "u", "resourceVersion": revision, "labels": {"go": go}}});
    let at = |ms: u64| Here.now().plus(Duration::from_millis(ms));
    let mut look = |object: &Value, ms| schedule.look(&key, object, at(ms), &|| "web".to_owned());
    let wait = |ms| Look::Wait(Duration::from_millis(ms));
    assert_eq!(look(&pod("1", "no"), 0), Look::Rest);
    assert_eq!(look(&pod("2", "yes"), 0), wait(1000));
    assert_eq!(look(&pod("2", "yes"), 400), wait(600));
    assert_eq!(look(&pod("3", "yes"), 500), wait(1000), "a change begins anew");
    assert_eq!(look(&pod("4", "no"), 600), Look::Rest, "and may end it");
    assert_eq!(look(&pod("4", "no"), 5000), Look::Rest);
    assert_eq!(look(&pod("5", "yes"), 5000), wait(1000));
    assert_eq!(look(&pod("5", "yes"), 6000), Look::Play(0));
    assert_eq!(look(&pod("5", "yes"), 7000), Look::Rest, "once");
}
