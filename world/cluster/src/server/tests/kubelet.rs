//! What kubelets tell of pods that change while they run: which generation they have seen (KEP-5067), and containers with
//! other images.

use serde_json::{Value, json};

use super::{Api, workloads::full};

const P: &str = "/api/v1/namespaces/default/pods/p";

/// A pod `p` with containers of these names, which are ready two seconds after they start.
fn started(names: &[&str]) -> Api {
    let api = full(1);
    let containers: Vec<Value> =
        names.iter().map(|name| json!({"name": name, "image": "i:1"})).collect();
    let metadata = json!({"name": "p", "annotations": {"trommel.dev/ready-after": "2s"}});
    let pod = json!({"metadata": metadata, "spec": {"containers": containers}});
    api.create("/api/v1/namespaces/default/pods", pod);
    api.calm();
    api.later(2);
    api
}

fn change(api: &Api, spec: Value) {
    let generation = generations(api).0;
    api.patch(P, json!({"spec": spec}));
    assert_ne!(generations(api).0, generation);
    api.calm();
}

/// The generation, that of the status, and those of its conditions.
fn generations(api: &Api) -> (Value, Value, Vec<Value>) {
    let pod = api.get(P).body;
    let conditions = pod["status"]["conditions"].as_array().expect("conditions");
    let of_conditions = conditions.iter().map(|one| one["observedGeneration"].clone());
    let status = pod["status"]["observedGeneration"].clone();
    (pod["metadata"]["generation"].clone(), status, of_conditions.collect())
}

fn container(api: &Api, number: usize) -> Value {
    api.get(P).body["status"]["containerStatuses"][number].clone()
}

#[test]
fn each_generation_of_a_running_pod_is_seen() {
    let api = started(&["c"]);
    let seen = |generation: i64| {
        let all = vec![json!(generation); 5];
        assert_eq!(generations(&api), (json!(generation), json!(generation), all));
    };
    seen(1);
    let before = api.get(P).body["status"].clone();
    change(&api, json!({"activeDeadlineSeconds": 1000}));
    seen(2);
    let after = api.get(P).body["status"].clone();
    for part in ["phase", "containerStatuses", "startTime", "podIP"] {
        assert_eq!(before[part], after[part], "{part}");
    }
    // Neither metadata nor what others write of the status makes another generation.
    api.patch(P, json!({"metadata": {"labels": {"l": "1"}}}));
    api.calm();
    seen(2);
}

#[test]
fn a_container_is_another_one_with_another_image() {
    let api = started(&["c", "d"]);
    let (c, d) = (container(&api, 0), container(&api, 1));
    assert_eq!((&c["ready"], &c["restartCount"]), (&json!(true), &json!(0)));
    api.later(10);
    let images = |c: &str, d: &str| json!({"containers": [{"name": "c", "image": c}, {"name": "d", "image": d}]});
    change(&api, images("i:2", "i:1"));
    let now = container(&api, 0);
    assert_eq!((&now["image"], &now["imageID"]), (&json!("i:2"), &json!("i:2")));
    assert_eq!((&now["restartCount"], &now["ready"]), (&json!(1), &json!(false)));
    assert_ne!(now["containerID"], c["containerID"]);
    let ended = &now["lastState"]["terminated"];
    assert_eq!((&ended["exitCode"], &ended["reason"]), (&json!(143), &json!("Error")));
    assert_eq!(ended["containerID"], c["containerID"]);
    assert_eq!(ended["startedAt"], c["state"]["running"]["startedAt"]);
    assert_eq!(ended["finishedAt"], now["state"]["running"]["startedAt"]);
    assert_ne!(now["state"]["running"]["startedAt"], c["state"]["running"]["startedAt"]);
    assert_eq!(container(&api, 1), d, "the other one goes on");
    assert_eq!(generations(&api).1, json!(2));
    api.later(2);
    assert_eq!(container(&api, 0)["ready"], json!(true));
    assert_eq!(container(&api, 0)["restartCount"], json!(1));
    assert_eq!(container(&api, 1), d, "nor is it counted later");
    assert_eq!(api.server.next_timer(), None, "nobody looks again for nothing");
    // Each is counted by itself.
    change(&api, images("i:2", "i:3"));
    change(&api, images("i:2", "i:4"));
    let counts = [0, 1].map(|number| container(&api, number)["restartCount"].clone());
    assert_eq!(counts, [json!(1), json!(2)]);
}

#[test]
fn a_container_that_waits_to_be_started_again_does_not_wait_with_another_image() {
    let api = full(1);
    let script = json!({"trommel.dev/exit-codes": "1,1,0", "trommel.dev/runs-for": "5s"});
    let pod = json!({"metadata": {"name": "p", "annotations": script},
        "spec": {"containers": [{"name": "c", "image": "i:1"}]}});
    api.create("/api/v1/namespaces/default/pods", pod);
    api.calm();
    api.later(5);
    api.later(5);
    assert_eq!(container(&api, 0)["state"]["waiting"]["reason"], "CrashLoopBackOff");
    change(&api, json!({"containers": [{"name": "c", "image": "i:2"}]}));
    let now = container(&api, 0);
    assert!(now["state"]["running"].is_object(), "{now}");
    assert_eq!((&now["image"], &now["restartCount"]), (&json!("i:2"), &json!(2)));
}
