//! The other workloads at work in `environment: full`, with nodes and kubelets: what becomes of them, and that a fork
//! anywhere on the way comes to the same end. Beside the real controllers they are in `tests/environment`.

use serde_json::{Value, json};
use trace::Revision;

use super::{Api, workloads::full};
use crate::Server;

const SETS: &str = "/apis/apps/v1/namespaces/default/statefulsets";
const CLAIMS: &str = "/api/v1/namespaces/default/persistentvolumeclaims";
const PODS: &str = "/api/v1/namespaces/default/pods";
const JOBS: &str = "/apis/batch/v1/namespaces/default/jobs";

fn template(image: &str, script: Value) -> Value {
    json!({
        "metadata": {"labels": {"app": "a"}, "annotations": script},
        "spec": {"containers": [{"name": "c", "image": image, "ports": [{"name": "p", "containerPort": 80}]}]},
    })
}

fn stateful(replicas: u32, script: Value) -> Value {
    let mut template = template("v1", script);
    template["spec"]["containers"][0]["volumeMounts"] =
        json!([{"name": "data", "mountPath": "/data"}]);
    json!({"metadata": {"name": "db"}, "spec": {
        "replicas": replicas,
        "serviceName": "db",
        "selector": {"matchLabels": {"app": "a"}},
        "template": template,
        "volumeClaimTemplates": [{"metadata": {"name": "data"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }}],
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Delete", "whenScaled": "Delete"},
    }})
}

fn job(more: Value, script: Value) -> Value {
    let mut template = template("v1", script);
    template["spec"]["restartPolicy"] = json!("Never");
    let mut spec = json!({"template": template});
    for (key, value) in more.as_object().into_iter().flatten() {
        spec[key] = value.clone();
    }
    json!({"metadata": {"name": "work"}, "spec": spec})
}

impl Api {
    /// `name phase` of the objects of a type.
    fn phases(&self, path: &str) -> Vec<String> {
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let told = |item: &Value| {
            format!("{} {}", text(&item["metadata"]["name"]), text(&item["status"]["phase"]))
        };
        self.items(path).iter().map(told).collect()
    }

    /// `type reason` of a Job's conditions that hold, and how many pods succeeded and failed.
    fn job(&self) -> (Vec<String>, i64, i64) {
        let status = self.get(&format!("{JOBS}/work")).body["status"].clone();
        let conditions = status["conditions"].as_array().into_iter().flatten();
        let holds = conditions.into_iter().filter(|condition| condition["status"] == "True");
        let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
        let told = holds.map(|c| format!("{} {}", text(&c["type"]), text(&c["reason"])));
        let count = |field: &str| status[field].as_i64().unwrap_or(0);
        (told.collect(), count("succeeded"), count("failed"))
    }
}

#[test]
fn a_stateful_set_comes_up_in_order_with_its_volumes_and_goes_with_them() {
    let api = full(2);
    api.create(SETS, stateful(2, json!({"trommel.dev/ready-after": "5s"})));
    api.calm();
    assert_eq!(api.phases(PODS), ["db-0 Running"]);
    assert_eq!(api.phases(CLAIMS), ["data-db-0 Bound"]);
    api.later(5);
    assert_eq!(api.phases(PODS), ["db-0 Running", "db-1 Running"]);
    api.later(5);
    let status = api.get(&format!("{SETS}/db")).body["status"].clone();
    assert_eq!((&status["readyReplicas"], &status["availableReplicas"]), (&json!(2), &json!(2)));
    assert_eq!(api.phases("/api/v1/persistentvolumes").len(), 2);

    api.patch(&format!("{SETS}/db"), json!({"spec": {"replicas": 1}}));
    api.later(60);
    assert_eq!(api.phases(PODS), ["db-0 Running"]);
    assert_eq!(api.phases(CLAIMS), ["data-db-0 Bound"]);
    assert_eq!(api.phases("/api/v1/persistentvolumes").len(), 1);
    assert_eq!(api.call("DELETE", &format!("{SETS}/db"), None).code, 200);
    api.later(60);
    for path in [PODS, CLAIMS, "/api/v1/persistentvolumes"] {
        assert_eq!(api.phases(path), [] as [&str; 0], "{path}");
    }
}

#[test]
fn jobs_end_as_their_script_says() {
    let check = |more: Value, script: Value, expect: (&[&str], i64, i64)| {
        let api = full(1);
        api.create(JOBS, job(more, script));
        api.calm();
        api.later(600);
        let (conditions, succeeded, failed) = api.job();
        assert_eq!(
            (conditions, succeeded, failed),
            (expect.0.iter().map(ToString::to_string).collect(), expect.1, expect.2)
        );
    };
    let well: &[&str] = &["SuccessCriteriaMet CompletionsReached", "Complete CompletionsReached"];
    check(json!({}), json!({}), (well, 1, 0));
    check(json!({"completions": 3}), json!({"trommel.dev/runs-for": "30s"}), (well, 3, 0));
    check(json!({}), json!({"trommel.dev/exit-codes": "1,1,0"}), (well, 1, 2));
    let badly: &[&str] = &["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"];
    check(json!({"backoffLimit": 2}), json!({"trommel.dev/exit-codes": "1"}), (badly, 0, 3));
    let late: &[&str] = &["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"];
    let hour = json!({"trommel.dev/runs-for": "1h"});
    check(json!({"activeDeadlineSeconds": 60}), hour, (late, 0, 1));
    let indexed = json!({"completionMode": "Indexed", "completions": 3, "parallelism": 3});
    check(indexed, json!({"trommel.dev/exit-codes": "1,0"}), (well, 3, 3));
}

#[test]
fn a_cron_job_starts_a_job_each_hour_and_keeps_three() {
    let api = full(1);
    let crons = "/apis/batch/v1/namespaces/default/cronjobs";
    let template = json!({"spec": job(json!({}), json!({}))["spec"]});
    api.create(
        crons,
        json!({"metadata": {"name": "hourly"}, "spec": {
            "schedule": "@hourly", "jobTemplate": template,
        }}),
    );
    api.calm();
    api.later(5 * 3600 + 60);
    assert_eq!(api.items(JOBS).len(), 3);
    let status = api.get(&format!("{crons}/hourly")).body["status"].clone();
    assert_eq!(status["lastScheduleTime"], "2026-01-01T05:00:00Z");
    assert_eq!(status["active"], Value::Null);
}

#[test]
fn a_cron_job_a_day_starts_thirty_jobs_in_thirty_days() {
    let api = full(1);
    let template = json!({"spec": job(json!({}), json!({}))["spec"]});
    api.create(
        "/apis/batch/v1/namespaces/default/cronjobs",
        json!({"metadata": {"name": "daily"}, "spec": {
            "schedule": "30 2 * * *", "jobTemplate": template, "successfulJobsHistoryLimit": 99,
        }}),
    );
    api.calm();
    api.later(30 * 24 * 3600);
    let made = |job: &Value| job["metadata"]["creationTimestamp"].as_str().map(str::to_owned);
    let found: Vec<String> = api.items(JOBS).iter().filter_map(made).collect();
    let wanted: Vec<String> = (1..=30).map(|day| format!("2026-01-{day:02}T02:30:00Z")).collect();
    assert_eq!(found, wanted);
}

#[test]
fn a_schedule_that_names_no_day_there_is_starts_nothing() {
    let api = full(1);
    let crons = "/apis/batch/v1/namespaces/default/cronjobs";
    let template = json!({"spec": job(json!({}), json!({}))["spec"]});
    api.create(
        crons,
        json!({"metadata": {"name": "never"}, "spec": {
            "schedule": "0 0 31 2 *", "jobTemplate": template,
        }}),
    );
    api.calm();
    api.later(24 * 3600);
    assert_eq!(api.items(JOBS).len(), 0);
    api.patch(&format!("{crons}/never"), json!({"spec": {"schedule": "@hourly"}}));
    api.calm();
    api.later(3601);
    assert_eq!(api.items(JOBS).len(), 1);
}

#[test]
fn a_daemon_set_runs_on_every_node() {
    let api = full(3);
    let sets = "/apis/apps/v1/namespaces/default/daemonsets";
    api.create(
        sets,
        json!({"metadata": {"name": "log"}, "spec": {
            "selector": {"matchLabels": {"app": "a"}}, "template": template("v1", json!({})),
        }}),
    );
    api.calm();
    let nodes = |api: &Api| -> Vec<String> {
        let node = |pod: &Value| pod["spec"]["nodeName"].as_str().unwrap_or("").to_owned();
        let mut nodes: Vec<String> = api.items(PODS).iter().map(node).collect();
        nodes.sort();
        nodes
    };
    assert_eq!(nodes(&api), ["node-0", "node-1", "node-2"]);
    assert_eq!(api.call("DELETE", "/api/v1/nodes/node-1", None).code, 200);
    api.later(60);
    assert_eq!(nodes(&api), ["node-0", "node-2"]);
}

#[test]
fn services_know_their_pods_and_budgets_keep_them() {
    let api = full(2);
    let services = "/api/v1/namespaces/default/services";
    api.create(
        services,
        json!({"metadata": {"name": "db"}, "spec": {
            "selector": {"app": "a"}, "ports": [{"port": 80, "targetPort": "p"}],
        }}),
    );
    let budgets = "/apis/policy/v1/namespaces/default/poddisruptionbudgets";
    api.create(
        budgets,
        json!({"metadata": {"name": "db"}, "spec": {
            "maxUnavailable": 1, "selector": {"matchLabels": {"app": "a"}},
        }}),
    );
    api.create(SETS, stateful(3, json!({})));
    api.calm();
    let slices = "/apis/discovery.k8s.io/v1/namespaces/default/endpointslices";
    let endpoints = |api: &Api| api.items(slices)[0]["endpoints"].as_array().map_or(0, Vec::len);
    assert_eq!(endpoints(&api), 3);
    let subsets = api.get("/api/v1/namespaces/default/endpoints/db").body["subsets"].clone();
    assert_eq!(subsets[0]["addresses"].as_array().map(Vec::len), Some(3));
    let evict = |name: &str| {
        let eviction = json!({"metadata": {"name": name, "namespace": "default"}});
        api.call("POST", &format!("{PODS}/{name}/eviction"), Some(eviction)).code
    };
    assert_eq!([evict("db-0"), evict("db-1")], [201, 429]);
    api.calm();
    assert_eq!(evict("db-1"), 201);
}

#[test]
fn a_fork_anywhere_comes_to_the_same_end() {
    let api = full(2);
    api.create(
        "/api/v1/namespaces/default/services",
        json!({"metadata": {"name": "db"}, "spec": {
            "clusterIP": "None", "selector": {"app": "a"}, "ports": [{"port": 80}],
        }}),
    );
    let from = api.server.revision();
    api.create(SETS, stateful(2, json!({})));
    api.create(JOBS, job(json!({"completions": 2}), json!({"trommel.dev/exit-codes": "1,0"})));
    api.calm();
    let hour = api.server.now().plus(std::time::Duration::from_secs(3600));
    api.server.live_until(hour).unwrap();
    let everything = |server: &Server| -> Vec<String> {
        let world = server.world();
        world.objects().map(|(key, object)| format!("{key} {object}")).collect()
    };
    let (to, whole) = (api.server.revision(), everything(&api.server));
    assert!(to.0 - from.0 > 60, "{from:?} {to:?}");
    for revision in from.0 + 2..=to.0 {
        let fork = Server::new(api.server.world_at(Revision(revision)).expect("a world"), None);
        fork.run_environment().unwrap();
        fork.live_until(hour).unwrap();
        assert_eq!(everything(&fork), whole, "from revision {revision}");
    }
}

#[test]
fn every_namespace_has_its_account_and_the_certificate() {
    let api = full(0);
    api.create("/api/v1/namespaces", json!({"metadata": {"name": "n"}}));
    api.calm();
    assert_eq!(api.get("/api/v1/namespaces/n/serviceaccounts/default").code, 200);
    // No certificate is known here, so none is published.
    assert_eq!(api.get("/api/v1/namespaces/n/configmaps/kube-root-ca.crt").code, 404);
}

#[test]
fn claims_wait_for_a_consumer_where_their_class_says_so() {
    let api = full(1);
    api.create(
        "/apis/storage.k8s.io/v1/storageclasses",
        json!({
            "metadata": {"name": "late"}, "provisioner": "example.com/any",
            "volumeBindingMode": "WaitForFirstConsumer", "reclaimPolicy": "Retain",
        }),
    );
    let claim = |name: &str, class: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": class,
            "resources": {"requests": {"storage": "1Gi"}},
        }})
    };
    api.create(CLAIMS, claim("late", "late"));
    api.create(CLAIMS, claim("never", "none"));
    api.calm();
    assert_eq!(api.phases(CLAIMS), ["late Pending", "never Pending"]);
    let pod = |name: &str| {
        json!({"metadata": {"name": name}, "spec": {
            "containers": [{"name": "c", "image": "i"}],
            "volumes": [{"name": "v", "persistentVolumeClaim": {"claimName": name}}],
        }})
    };
    for name in ["late", "never", "missing"] {
        api.create(PODS, pod(name));
    }
    api.calm();
    assert_eq!(api.phases(CLAIMS), ["late Bound", "never Pending"]);
    assert_eq!(api.phases(PODS), ["late Running", "missing Pending", "never Pending"]);
    // It stays while the pod uses it; its volume stays afterwards.
    assert_eq!(api.call("DELETE", &format!("{CLAIMS}/late"), None).code, 200);
    api.calm();
    assert_eq!(api.phases(CLAIMS), ["late Bound", "never Pending"]);
    assert_eq!(api.call("DELETE", &format!("{PODS}/late"), None).code, 200);
    api.calm();
    assert_eq!(api.phases(CLAIMS), ["never Pending"]);
    let volumes = api.phases("/api/v1/persistentvolumes");
    assert!(volumes[0].ends_with(" Released"), "{volumes:?}");
}

/// What `kubectl get pods` shows of one: status, restarts.
fn shown(api: &Api, name: &str) -> String {
    let status = api.get(&format!("{PODS}/{name}")).body["status"].clone();
    let container = &status["containerStatuses"][0];
    let text = |value: &Value| value.as_str().unwrap_or("").to_owned();
    let waits = text(&container["state"]["waiting"]["reason"]);
    let what = if waits.is_empty() { text(&status["phase"]) } else { waits };
    format!("{what} {}", container["restartCount"])
}

fn condition(api: &Api, path: &str, kind: &str) -> (String, Value) {
    let status = api.get(path).body["status"].clone();
    let mut conditions = status["conditions"].as_array().expect("conditions").iter();
    let found = conditions.find(|one| one["type"] == kind).expect("the condition").clone();
    (found["status"].as_str().unwrap_or("").to_owned(), found["reason"].clone())
}

#[test]
fn a_container_is_started_again_at_once_then_later_and_later() {
    let api = full(1);
    let script = json!({"trommel.dev/exit-codes": "1", "trommel.dev/runs-for": "5s"});
    let mut pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    pod["metadata"]["annotations"] = script;
    api.create(PODS, pod);
    api.calm();
    assert_eq!(shown(&api, "p"), "Running 0");
    api.later(5);
    assert_eq!(shown(&api, "p"), "Running 1", "the first time at once");
    let last = api.get(&format!("{PODS}/p")).body["status"]["containerStatuses"][0].clone();
    assert_eq!(last["lastState"]["terminated"]["exitCode"], 1);
    for (restarts, wait) in [(1, 10), (2, 20), (3, 40), (4, 80), (5, 160), (6, 300), (7, 300)] {
        api.later(5);
        assert_eq!(shown(&api, "p"), format!("CrashLoopBackOff {restarts}"));
        assert_eq!(condition(&api, &format!("{PODS}/p"), "Ready").0, "False");
        api.later(wait - 1);
        assert_eq!(shown(&api, "p"), format!("CrashLoopBackOff {restarts}"));
        api.later(1);
        assert_eq!(shown(&api, "p"), format!("Running {}", restarts + 1));
    }
    assert_eq!(condition(&api, &format!("{PODS}/p"), "Ready"), ("True".to_owned(), Value::Null));
}

#[test]
fn a_long_run_makes_up_for_the_ends_before() {
    let api = full(1);
    let mut pod =
        json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    pod["metadata"]["annotations"] =
        json!({"trommel.dev/exit-codes": "1", "trommel.dev/runs-for": "11m"});
    api.create(PODS, pod);
    api.calm();
    for restarts in 1..4 {
        api.later(660);
        assert_eq!(shown(&api, "p"), format!("Running {restarts}"));
    }
}

#[test]
fn containers_run_beside_those_that_wait() {
    let api = full(1);
    let late = json!({"name": "c", "image": "i", "envFrom": [{"secretRef": {"name": "late"}}]});
    let mut pod = json!({"spec": {"containers": [late, {"name": "d", "image": "i"}]}});
    pod["metadata"] = json!({"name": "p", "annotations": {"trommel.dev/ready-after": "5s"}});
    api.create(PODS, pod);
    api.calm();
    let status = || api.get(&format!("{PODS}/p")).body["status"].clone();
    let told = || {
        let status = status();
        let ready = |n: usize| status["containerStatuses"][n]["ready"] == true;
        let runs = |n: usize| status["containerStatuses"][n]["state"]["running"].is_object();
        let list = [runs(0), ready(0), runs(1), ready(1)];
        (status["phase"].as_str().unwrap_or("").to_owned(), list)
    };
    assert_eq!(told(), ("Pending".to_owned(), [false, false, true, false]));
    api.later(5);
    assert_eq!(told(), ("Pending".to_owned(), [false, false, true, true]));
    let conditions = status()["conditions"].as_array().cloned().unwrap_or_default();
    let ready = conditions.iter().find(|one| one["type"] == "ContainersReady").expect("it");
    assert_eq!(ready["message"], "containers with unready status: [c]");
    assert_eq!(api.server.next_timer(), None, "nobody looks again for nothing");
    let started = status()["containerStatuses"][1]["state"].clone();
    api.create("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "late"}}));
    api.calm();
    assert_eq!(told(), ("Running".to_owned(), [true, false, true, false]));
    assert_eq!(status()["containerStatuses"][1]["state"], started, "it was not started again");
    api.later(5);
    assert_eq!(told(), ("Running".to_owned(), [true, true, true, true]));
}

#[test]
fn pods_wait_for_the_config_maps_and_secrets_that_they_name() {
    let api = full(1);
    let pod = |name: &str, container: Value| {
        let mut container = container;
        (container["name"], container["image"]) = (json!("c"), json!("i"));
        json!({"metadata": {"name": name}, "spec": {
            "containers": [container],
            "volumes": [{"name": "v", "configMap": {"name": "late"}}],
        }})
    };
    let mounted = json!({"volumeMounts": [{"name": "v", "mountPath": "/v"}]});
    api.create(PODS, pod("volume", mounted));
    api.create(PODS, pod("env", json!({"envFrom": [{"secretRef": {"name": "late"}}]})));
    api.create(PODS, pod("none", json!({})));
    api.calm();
    let all = || ["volume", "env", "none"].map(|name| shown(&api, name));
    assert_eq!(all(), ["ContainerCreating 0", "CreateContainerConfigError 0", "Running 0"]);
    let sandbox =
        |name: &str| condition(&api, &format!("{PODS}/{name}"), "PodReadyToStartContainers").0;
    assert_eq!(["volume", "env"].map(sandbox), ["False", "True"]);
    let env = api.get(&format!("{PODS}/env")).body["status"].clone();
    assert_eq!(env["phase"], "Pending");
    let waiting = &env["containerStatuses"][0]["state"]["waiting"];
    assert_eq!(waiting["message"], "secret \"late\" not found");
    assert_eq!(api.server.next_timer(), None, "nobody looks again for nothing");
    api.create("/api/v1/namespaces/default/configmaps", json!({"metadata": {"name": "late"}}));
    api.calm();
    assert_eq!(all(), ["Running 0", "CreateContainerConfigError 0", "Running 0"]);
    api.create("/api/v1/namespaces/default/secrets", json!({"metadata": {"name": "late"}}));
    api.calm();
    assert_eq!(all(), ["Running 0", "Running 0", "Running 0"]);
    for name in ["volume", "env"] {
        let ready = condition(&api, &format!("{PODS}/{name}"), "Ready");
        assert_eq!(ready, ("True".to_owned(), Value::Null), "{name}");
    }
}

#[test]
fn a_pod_gets_the_claims_of_its_own_and_takes_them_along() {
    let api = full(1);
    let pod = |name: &str| {
        let claim = json!({"spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }});
        json!({"metadata": {"name": name}, "spec": {
            "containers": [{
                "name": "c", "image": "i", "volumeMounts": [{"name": "v", "mountPath": "/v"}],
            }],
            "volumes": [{"name": "v", "ephemeral": {"volumeClaimTemplate": claim}}],
        }})
    };
    api.create(PODS, pod("p"));
    api.calm();
    assert_eq!(
        (shown(&api, "p"), api.phases(CLAIMS)),
        ("Running 0".to_owned(), vec!["p-v Bound".to_owned()])
    );
    // One of that name that is somebody else's.
    api.create(
        CLAIMS,
        json!({"metadata": {"name": "q-v"}, "spec": {
            "accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}},
        }}),
    );
    api.create(PODS, pod("q"));
    api.calm();
    let (status, _) = condition(&api, &format!("{PODS}/q"), "PodScheduled");
    assert_eq!(status, "False");
    let q = api.get(&format!("{PODS}/q")).body["status"]["conditions"][0]["message"].clone();
    let why = "PVC default/q-v was not created for pod default/q (pod is not owner)";
    assert!(q.as_str().is_some_and(|message| message.contains(why)), "{q}");
    // Once it is gone the pod gets its own.
    assert_eq!(api.call("DELETE", &format!("{CLAIMS}/q-v"), None).code, 200);
    api.calm();
    api.later(60);
    assert_eq!(shown(&api, "q"), "Running 0");
    for name in ["p", "q"] {
        let options = json!({"propagationPolicy": "Foreground"});
        assert_eq!(api.call("DELETE", &format!("{PODS}/{name}"), Some(options)).code, 200);
        api.later(60);
    }
    assert_eq!(api.phases(PODS), [] as [&str; 0]);
    assert_eq!(api.phases(CLAIMS), [] as [&str; 0]);
}

/// A Deployment on two nodes, of which one falls silent.
#[test]
fn a_node_whose_kubelet_stops_is_noticed_and_left() {
    let api = full(2);
    let mut spec = json!({
        "replicas": 2, "selector": {"matchLabels": {"app": "a"}},
        "template": template("v1", json!({})),
    });
    spec["template"]["spec"]["tolerations"] = json!([{
        "key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute",
        "tolerationSeconds": 30,
    }]);
    api.create(
        "/apis/apps/v1/namespaces/default/deployments",
        json!({"metadata": {"name": "web"}, "spec": spec}),
    );
    api.calm();
    let on = |node: &str| {
        let pods = api.items(PODS);
        let there = pods.iter().filter(|pod| pod["spec"]["nodeName"] == node);
        let told = there.map(|pod| {
            let gone = !pod["metadata"]["deletionTimestamp"].is_null();
            let mut conditions = pod["status"]["conditions"].as_array().expect("conditions").iter();
            let ready = conditions.any(|one| one["type"] == "Ready" && one["status"] == "True");
            if gone {
                "going"
            } else if ready {
                "ready"
            } else {
                "not ready"
            }
        });
        let mut told: Vec<&str> = told.collect();
        told.sort_unstable();
        told.join(", ")
    };
    assert_eq!([on("node-0"), on("node-1")], ["ready", "ready"]);
    let says = |annotation: Value| {
        api.patch(
            "/api/v1/nodes/node-0",
            json!({"metadata": {"annotations": {"trommel.dev/kubelet": annotation}}}),
        );
        api.calm();
    };
    let node = || condition(&api, "/api/v1/nodes/node-0", "Ready");
    says(json!("stopped"));
    assert_ne!(api.server.world().pending(), Value::Null, "somebody waits for a word of it");
    api.later(49);
    assert_eq!((node().0, on("node-0")), ("True".to_owned(), "ready".to_owned()));
    api.later(1);
    assert_eq!(node(), ("Unknown".to_owned(), json!("NodeStatusUnknown")));
    assert_eq!([on("node-0"), on("node-1")], ["not ready", "ready"]);
    api.later(30);
    assert_eq!([on("node-0"), on("node-1")], ["going", "ready, ready"]);
    // It comes back, and does what is to be done.
    says(Value::Null);
    assert_eq!(node(), ("True".to_owned(), json!("KubeletReady")));
    assert_eq!([on("node-0"), on("node-1")], ["", "ready, ready"]);
    let taints = api.get("/api/v1/nodes/node-0").body["spec"]["taints"].clone();
    assert_eq!(taints, Value::Null);
}
