//! What is told of which answer, a line each; with upstream's words.

use serde_json::{Value, json};
use trace::ObjectKey;

use super::{Answered, Note, component, told};
use crate::{
    Controller, Request, Response, View,
    fixture::{object, view},
    template::Template,
};

const WEB: &str = "replicasets.apps/default/web";
const DB: &str = "statefulsets.apps/default/db";
const ONE: &str = "jobs.batch/default/one";
const CRON: &str = "cronjobs.batch/default/daily";
const POD: &str = "pods/default/p";

fn key(text: &str) -> ObjectKey {
    text.parse().expect("a key")
}

/// A world of these objects, and pods: `p` runs on node `n`, `f` has failed there.
fn world(objects: &[(&str, Value)]) -> View {
    let pod = |name: &str, phase: &str| {
        let fields = json!({"spec": {"nodeName": "n"}, "status": {"phase": phase}});
        object(&format!("pods/default/{name}"), fields)
    };
    let mut all: Vec<_> = objects.iter().map(|(key, fields)| object(key, fields.clone())).collect();
    all.extend([pod("p", "Running"), pod("f", "Failed")]);
    view(&all)
}

fn shown(note: &Note) -> String {
    let kind = if note.is_warning { "Warning" } else { "Normal" };
    let action = if note.action.is_empty() { "" } else { " " };
    format!("{} {kind} {}{action}{}: {}", note.key.name, note.reason, note.action, note.message)
}

fn check(
    (controller, at): (Controller, &str),
    (before, after): (&View, &View),
    request: &Request,
    response: Response,
    expect: &[&str],
) {
    let notes = told(&Answered {
        controller,
        key: &key(at),
        before,
        after,
        request,
        response: &response,
        written: "made",
    });
    assert_eq!(notes.iter().map(shown).collect::<Vec<_>>(), expect, "{request:?}");
}

fn refused(code: u16, reason: &str) -> Response {
    Response::Refused { code, reason: reason.into(), message: "no".into() }
}

fn create(at: &str) -> Request {
    Request::Create { key: key(at), object: Box::new(Value::Null) }
}

fn delete(at: &str) -> Request {
    Request::delete(key(at), "u".into())
}

fn status(at: &str, status: Value) -> Request {
    let (key, revision) = (key(at), trace::Revision(7));
    Request::Update { key, revision, subresource: "status", fields: vec![("/status", status)] }
}

const DONE: Response = Response::Written(None);

#[test]
fn pods_that_are_made_and_deleted() {
    let world =
        world(&[(WEB, json!({})), (ONE, json!({})), ("daemonsets.apps/default/d", json!({}))]);
    let set = (Controller::ReplicaSet, WEB);
    let both = (&world, &world);
    let make = Request::CreatePod {
        namespace: "default".into(),
        generate_name: "web-".into(),
        owner: crate::Owner::default(),
        template: Template::read(&json!({})),
    };
    check(set, both, &make, DONE, &["web Normal SuccessfulCreate: Created pod: made"]);
    check(
        set,
        both,
        &make,
        refused(403, "Forbidden"),
        &["web Warning FailedCreate: Error creating: no"],
    );
    check(set, both, &make, refused(403, "NamespaceTerminating"), &[]);
    check(set, both, &delete(POD), DONE, &["web Normal SuccessfulDelete: Deleted pod: p"]);
    check(set, both, &delete(POD), refused(404, "NotFound"), &[]);
    check(
        set,
        both,
        &delete(POD),
        refused(409, "x"),
        &["web Warning FailedDelete: Error deleting: no"],
    );
    let job = (Controller::Job, ONE);
    check(
        job,
        both,
        &create("pods/default/"),
        DONE,
        &["one Normal SuccessfulCreate: Created pod: made"],
    );
    let daemon = (Controller::DaemonSet, "daemonsets.apps/default/d");
    check(
        daemon,
        both,
        &delete("pods/default/f"),
        DONE,
        &[
            "d Warning FailedDaemonPod: Found failed daemon pod default/f on node n, will try to kill it",
            "d Normal SuccessfulDelete: Deleted pod: f",
        ],
    );
    // History.
    check(daemon, both, &delete("controllerrevisions.apps/default/r"), DONE, &[]);
    // Whose key is gone has nothing to tell of.
    check((Controller::ReplicaSet, "replicasets.apps/default/x"), both, &make, DONE, &[]);
}

#[test]
fn replica_sets_that_are_scaled() {
    let world = world(&[
        ("deployments.apps/default/web", json!({})),
        (WEB, json!({"spec": {"replicas": 3}})),
    ]);
    let deployment = (Controller::Deployment, "deployments.apps/default/web");
    let both = (&world, &world);
    let scale = |replicas: i64| Request::UpdateReplicaSet {
        key: key(WEB),
        revision: trace::Revision(7),
        replicas,
        min_ready_seconds: 0,
        annotations: crate::object::Labels::new(),
    };
    let scaled = "web Normal ScalingReplicaSet: Scaled";
    let up = format!("{scaled} up replica set web from 3 to 5");
    check(deployment, both, &scale(5), DONE, &[&up]);
    let down = format!("{scaled} down replica set web from 3 to 1");
    check(deployment, both, &scale(1), DONE, &[&down]);
    check(deployment, both, &scale(3), DONE, &[]);
    check(deployment, both, &scale(1), refused(409, "Conflict"), &[]);
}

#[test]
fn pods_and_claims_of_a_stateful_set() {
    let world = world(&[(DB, json!({}))]);
    let (set, both) = ((Controller::StatefulSet, DB), (&world, &world));
    let (pod, claim) = ("pods/default/db-0", "persistentvolumeclaims/default/data-db-0");
    check(
        set,
        both,
        &create(pod),
        DONE,
        &["db Normal SuccessfulCreate: Create Pod db-0 in StatefulSet db successful"],
    );
    check(set, both, &create(pod), refused(409, "AlreadyExists"), &[]);
    check(
        set,
        both,
        &create(pod),
        refused(403, "Forbidden"),
        &["db Warning FailedCreate: Create Pod db-0 in StatefulSet db failed error: no"],
    );
    check(
        set,
        both,
        &create(claim),
        DONE,
        &["db Normal SuccessfulCreate: Create Claim data-db-0 Pod db-0 in StatefulSet db success"],
    );
    check(
        set,
        both,
        &create(claim),
        refused(403, "Forbidden"),
        &[
            "db Warning FailedCreate: Create Claim data-db-0 for Pod db-0 in StatefulSet db failed error: no",
            "db Warning FailedCreate: Create Pod db-0 in StatefulSet db failed error: failed to create \
             PVC data-db-0: no",
        ],
    );
    let deleted = "db Normal SuccessfulDelete: Delete Pod db-0 in StatefulSet db successful";
    check(set, both, &delete(pod), DONE, &[deleted]);
    check(set, both, &delete(pod), refused(404, "NotFound"), &[deleted]);
    check(set, both, &status(DB, json!({})), DONE, &[]);
}

#[test]
fn jobs_that_are_over() {
    let suspended = json!({"type": "Suspended", "status": "True"});
    let world = world(&[(
        ONE,
        json!({
            "spec": {"completions": 1}, "status": {"conditions": [suspended]},
        }),
    )]);
    let (job, both) = ((Controller::Job, ONE), (&world, &world));
    let says = |succeeded: i64, condition: Value| {
        status(ONE, json!({"succeeded": succeeded, "conditions": [condition]}))
    };
    let complete = || json!({"type": "Complete", "status": "True"});
    check(job, both, &says(1, complete()), DONE, &["one Normal Completed: Job completed"]);
    check(job, both, &says(1, complete()), refused(409, "Conflict"), &[]);
    check(
        job,
        both,
        &says(2, complete()),
        DONE,
        &[
            "one Warning TooManySucceededPods: Too many succeeded pods running after completion count reached",
            "one Normal Completed: Job completed",
        ],
    );
    let failed = json!({"type": "Failed", "status": "True", "reason": "R", "message": "why"});
    check(job, both, &says(0, failed), DONE, &["one Warning R: why"]);
    check(job, both, &says(0, suspended.clone()), DONE, &[]);
    let resumed = json!({"type": "Suspended", "status": "False"});
    check(job, both, &says(0, resumed), DONE, &["one Normal Resumed: Job resumed"]);
}

#[test]
fn jobs_of_a_cron_job() {
    let active = |name: &str| json!({"name": name, "uid": name});
    let over = json!({"status": {"conditions": [{"type": "Failed", "status": "True"}]}});
    let cron = json!({"status": {"active": [active("one"), active("gone")]}});
    let before = world(&[(CRON, cron.clone()), (ONE, over)]);
    let after = world(&[(CRON, cron)]);
    let (daily, both) = ((Controller::CronJob, CRON), (&before, &before));
    check(daily, both, &create(ONE), DONE, &["daily Normal SuccessfulCreate: Created job made"]);
    check(daily, both, &create(ONE), refused(409, "AlreadyExists"), &[]);
    check(
        daily,
        both,
        &create(ONE),
        refused(403, "x"),
        &["daily Warning FailedCreate: Error creating job: no"],
    );
    check(daily, both, &delete(ONE), DONE, &["daily Normal SuccessfulDelete: Deleted job one"]);
    let gone = "daily Normal MissingJob: Active job went missing: gone";
    check(
        daily,
        both,
        &status(CRON, json!({})),
        DONE,
        &["daily Normal SawCompletedJob: Saw completed job: one, condition: Failed", gone],
    );
    // It has deleted it itself.
    check(daily, (&before, &after), &status(CRON, json!({})), DONE, &[gone]);
}

#[test]
fn pods_that_are_scheduled() {
    let world = world(&[("pods/default/v", json!({"spec": {"nodeName": "m"}}))]);
    let (pod, both) = ((Controller::Scheduler, POD), (&world, &world));
    let bind = Request::Bind { key: key(POD), uid: "p".into(), node: "n".into() };
    check(
        pod,
        both,
        &bind,
        DONE,
        &["p Normal Scheduled Binding: Successfully assigned default/p to n"],
    );
    check(pod, both, &bind, refused(409, "Conflict"), &[]);
    let fits = |message: &str| Request::PatchStatus {
        key: key(POD),
        uid: "p".into(),
        status: Box::new(json!({"conditions": [{"type": "PodScheduled", "message": message}]})),
    };
    check(pod, both, &fits("0/1"), DONE, &["p Warning FailedScheduling Scheduling: 0/1"]);
    let long = "x".repeat(1025);
    let told = format!("p Warning FailedScheduling Scheduling: {} ...", &long[..1020]);
    check(pod, both, &fits(&long), DONE, &[&told]);
    check(
        pod,
        both,
        &delete("pods/default/v"),
        DONE,
        &["v Normal Preempted Preempting: Preempted by pod p on node m"],
    );
    assert_eq!(component(Controller::Scheduler), "default-scheduler");
}
