//! Jobs: both completion modes, limits, policies, suspension, their end and what comes after it.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const JOBS: &str = "/apis/batch/v1/namespaces/NS/jobs";
const WORK: &str = "/apis/batch/v1/namespaces/NS/jobs/work";

pub fn job(more: Value) -> Step {
    let mut spec = json!({
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "v1"}]},
        },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    Step::Create(JOBS, json!({"metadata": {"name": "work"}, "spec": spec}))
}

fn indexed(completions: u32, more: Value) -> Step {
    let mut spec = json!({"completionMode": "Indexed", "completions": completions, "parallelism": completions});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    job(spec)
}

pub fn change(spec: Value) -> Step {
    Step::Patch(WORK, json!({"spec": spec}))
}

pub fn on_codes(action: &str, codes: &[i32]) -> Value {
    json!({"action": action, "onExitCodes": {"operator": "In", "values": codes}})
}

const CRONS: &str = "/apis/batch/v1/namespaces/NS/cronjobs";
const CRON: &str = "/apis/batch/v1/namespaces/NS/cronjobs/yearly";
const CRON_STATUS: &str = "/apis/batch/v1/namespaces/NS/cronjobs/yearly/status";

/// A CronJob that does not start yet.
fn cron(more: Value) -> Step {
    let mut spec = json!({
        "schedule": "0 0 1 1 *",
        "suspend": true,
        "jobTemplate": {
            "metadata": {"labels": {"of": "cron"}, "annotations": {"note": "kept"}},
            "spec": {"template": {"spec": {
                "restartPolicy": "Never", "containers": [{"name": "c", "image": "v1"}],
            }}},
        },
    });
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    Step::Create(CRONS, json!({"metadata": {"name": "yearly"}, "spec": spec}))
}

/// As if it had started for the last time long ago: so a new year's Job is due, the same in both arms.
fn long_ago() -> Step {
    Step::Patch(CRON_STATUS, json!({"status": {"lastScheduleTime": "2024-06-01T00:00:00Z"}}))
}

fn start(more: Value) -> Vec<Step> {
    vec![cron(more), long_ago(), Step::Patch(CRON, json!({"spec": {"suspend": false}}))]
}

/// Its second time.
fn again() -> Vec<Step> {
    vec![Step::Patch(CRON, json!({"spec": {"schedule": "0 0 2 1 *"}})), long_ago()]
}

fn crons() -> Vec<Scenario> {
    let policy = |policy: &str| [start(json!({"concurrencyPolicy": policy})), again()].concat();
    vec![
        scenario("cron-suspended", vec![cron(json!({})), long_ago()]),
        scenario("cron-due", [start(json!({})), vec![Step::Ready, Step::End(1, 0)]].concat()),
        scenario("cron-allow", policy("Allow")),
        scenario("cron-forbid", policy("Forbid")),
        scenario("cron-replace", policy("Replace")),
        scenario("cron-too-late", start(json!({"startingDeadlineSeconds": 30}))),
        scenario("cron-never", start(json!({"schedule": "0 0 31 2 *"}))),
        scenario("cron-zone", start(json!({"timeZone": "Europe/Berlin"}))),
        scenario(
            "cron-history",
            [start(json!({"successfulJobsHistoryLimit": 0})), vec![Step::End(1, 0)]].concat(),
        ),
        scenario(
            "cron-failed-history",
            [
                start(json!({"failedJobsHistoryLimit": 1})),
                vec![Step::Patch(
                    CRON,
                    json!({"spec": {"jobTemplate": {"spec": {"backoffLimit": 0}}}}),
                )],
                vec![Step::End(1, 0)],
                again(),
                vec![Step::End(1, 1)],
            ]
            .concat(),
        ),
        scenario(
            "cron-deleted",
            [start(json!({})), vec![Step::Delete(CRON, Some("Foreground"))]].concat(),
        ),
    ]
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    let policy =
        |rules: Vec<Value>| json!({"podFailurePolicy": {"rules": rules}, "backoffLimit": 1});
    let jobs = vec![
        scenario("job-one", vec![job(json!({})), Step::Ready, Step::End(1, 0)]),
        scenario(
            "job-many",
            vec![
                job(json!({"completions": 4, "parallelism": 2})),
                Step::Ready,
                Step::End(1, 0),
                Step::End(2, 0),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-work-queue",
            vec![job(json!({"parallelism": 3})), Step::Ready, Step::End(1, 0), Step::End(2, 0)],
        ),
        scenario(
            "job-backoff-limit",
            vec![job(json!({"backoffLimit": 1})), Step::End(1, 1), Step::End(1, 1)],
        ),
        scenario(
            "job-fails-while-others-run",
            vec![
                job(json!({"backoffLimit": 0, "completions": 3, "parallelism": 3})),
                Step::Ready,
                Step::End(1, 3),
            ],
        ),
        scenario("job-deadline", vec![job(json!({"activeDeadlineSeconds": 2}))]),
        scenario("job-ttl", vec![job(json!({"ttlSecondsAfterFinished": 1})), Step::End(1, 0)]),
        scenario(
            "job-suspend",
            vec![
                job(json!({"suspend": true, "parallelism": 2, "completions": 2})),
                change(json!({"suspend": false})),
                Step::Ready,
                Step::End(1, 0),
                change(json!({"suspend": true})),
                change(json!({"suspend": false})),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-parallelism",
            vec![
                job(json!({"parallelism": 4, "completions": 6})),
                Step::Ready,
                change(json!({"parallelism": 1})),
                change(json!({"parallelism": 2})),
                change(json!({"parallelism": 0})),
            ],
        ),
        scenario(
            "job-indexed",
            vec![indexed(3, json!({})), Step::Ready, Step::End(2, 0), Step::End(1, 0)],
        ),
        scenario(
            "job-indexed-retry",
            vec![
                indexed(3, json!({"parallelism": 2, "backoffLimit": 3})),
                Step::End(1, 1),
                Step::End(2, 0),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-per-index",
            vec![
                indexed(3, json!({"backoffLimitPerIndex": 1})),
                Step::End(1, 1),
                Step::End(1, 1),
                Step::End(2, 0),
            ],
        ),
        scenario(
            "job-max-failed-indexes",
            vec![
                indexed(4, json!({"backoffLimitPerIndex": 0, "maxFailedIndexes": 1})),
                Step::End(1, 1),
                Step::End(1, 1),
            ],
        ),
        scenario(
            "job-policy-fail",
            vec![
                job(json!({
                    "podFailurePolicy": {"rules": [on_codes("FailJob", &[42])]},
                    "parallelism": 2, "completions": 2,
                })),
                Step::End(1, 42),
                Step::End(1, 1),
            ],
        ),
        scenario(
            "job-policy-ignore",
            vec![
                job(policy(vec![on_codes("Ignore", &[7])])),
                Step::End(1, 7),
                Step::End(1, 7),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-policy-count",
            vec![
                job(policy(vec![
                    on_codes("Count", &[1]),
                    json!({"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}),
                ])),
                Step::End(1, 1),
                Step::End(1, 2),
            ],
        ),
        scenario(
            "job-policy-index",
            vec![
                indexed(
                    2,
                    json!({
                        "backoffLimitPerIndex": 5,
                        "podFailurePolicy": {"rules": [on_codes("FailIndex", &[9])]},
                    }),
                ),
                Step::End(1, 9),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-success-policy",
            vec![
                indexed(
                    4,
                    json!({
                        "successPolicy": {"rules": [
                            {"succeededIndexes": "2-3", "succeededCount": 2},
                            {"succeededCount": 2},
                        ]},
                    }),
                ),
                Step::Ready,
                Step::End(1, 0),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-replaces-only-failed",
            vec![
                job(json!({"podReplacementPolicy": "Failed"})),
                Step::Ready,
                Step::End(1, 1),
                Step::End(1, 0),
            ],
        ),
        scenario(
            "job-deleted",
            vec![job(json!({"parallelism": 2})), Step::Delete(WORK, Some("Background"))],
        ),
        scenario(
            "job-deleted-foreground",
            vec![
                job(json!({"parallelism": 2, "completions": 4})),
                Step::End(1, 0),
                Step::Delete(WORK, Some("Foreground")),
            ],
        ),
        scenario(
            "job-orphaned",
            vec![job(json!({"parallelism": 2})), Step::Delete(WORK, Some("Orphan"))],
        ),
        scenario("job-not-ours", vec![job(json!({"managedBy": "example.com/other"}))]),
    ];
    [jobs, crons()].concat()
}
