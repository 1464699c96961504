//! Events of the built-in controllers: what `kubectl describe` shows, forks between a request and what is told of it,
//! and that worlds are the same with Events and without.

use controllers::Controller;
use serde_json::{Value, json};
use trace::{Context, Identity, Revision, identity};

use super::{Api, START};
use crate::{EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const PODS: &str = "/api/v1/namespaces/default/pods";

/// Two replicas, and a pod that no node is large enough for.
fn busy(events: bool) -> Api {
    let mut world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: Controller::FULL.to_vec(),
        nodes: 1,
        events,
        ..EnvironmentOptions::default()
    });
    let api = Api { server: Server::new(world, None) };
    api.calm();
    let labels = json!({"app": "web"});
    let spec = |asks: Value| json!({"containers": [{"name": "c", "image": "v1", "resources": {"requests": asks}}]});
    let template = json!({"metadata": {"labels": labels}, "spec": spec(json!({}))});
    let selector = json!({"matchLabels": labels});
    let deployment = json!({"replicas": 2, "selector": selector, "template": template});
    api.create(DEPLOYMENTS, json!({"metadata": {"name": "web"}, "spec": deployment}));
    api.create(PODS, json!({"metadata": {"name": "big"}, "spec": spec(json!({"cpu": "1000"}))}));
    api.calm();
    api
}

/// What is told of objects of a kind: type, reason, who, how often; and the message as far as it holds no names.
fn told(api: &Api, kind: &str) -> Vec<String> {
    let path =
        format!("/api/v1/namespaces/default/events?fieldSelector=involvedObject.kind%3D{kind}");
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let told = |event: &Value| {
        let who = text(&event["reportingComponent"]);
        let (kind, reason) = (text(&event["type"]), text(&event["reason"]));
        format!("{kind} {reason} {who} {}", event["count"])
    };
    let mut all: Vec<String> = api.items(&path).iter().map(told).collect();
    all.sort();
    all
}

fn all_told(api: &Api) -> [Vec<String>; 3] {
    ["Deployment", "ReplicaSet", "Pod"].map(|kind| told(api, kind))
}

#[test]
fn what_controllers_do_is_told() {
    let api = busy(true);
    let made = "Normal SuccessfulCreate replicaset-controller 1";
    let bound = "Normal Scheduled default-scheduler null";
    assert_eq!(
        all_told(&api),
        [
            vec!["Normal ScalingReplicaSet deployment-controller 1"],
            vec![made, made],
            vec![bound, bound, "Warning FailedScheduling default-scheduler null"],
        ]
    );
    // The same words once more.
    api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"replicas": 3}}));
    api.calm();
    for replicas in [2, 3] {
        api.patch(&format!("{DEPLOYMENTS}/web"), json!({"spec": {"replicas": replicas}}));
        api.calm();
    }
    let scaled = |count: u32| format!("Normal ScalingReplicaSet deployment-controller {count}");
    assert_eq!(told(&api, "Deployment"), [scaled(1), scaled(1), scaled(2)]);
    assert_eq!(busy(false).items("/api/v1/events"), [] as [Value; 0]);
}

#[test]
fn a_fork_tells_what_its_original_tells() {
    let api = busy(true);
    let expect = all_told(&api);
    for revision in 1..=api.server.revision().0 {
        let Some(world) = api.server.world_at(Revision(revision)) else { continue };
        if world.objects().all(|(key, _)| *key.name != *"big") {
            continue;
        }
        let fork = Api { server: Server::new(world, None) };
        fork.calm();
        assert_eq!(all_told(&fork), expect, "at {revision}");
    }
}

#[test]
fn a_world_is_the_same_with_events_and_without() {
    let of = |api: &Api| -> Identity {
        let world = api.server.world();
        let context = Context {
            now: world.now(),
            generated_names: world.generated_names().collect(),
            extra: world.pending(),
            ..Context::default()
        };
        identity(world.objects(), &context)
    };
    assert_eq!(of(&busy(true)), of(&busy(false)));
}
