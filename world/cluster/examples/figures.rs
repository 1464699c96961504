//! What the built-in controllers cost: `figures [PODS…]` prints JSON, for `cargo ci bench`.
//!
//! Everything is wall time of this thread, without HTTP's bytes on a wire: requests are sent in process. Each
//! argument is a number of pods that are updated one after the other, without surge.
#![allow(clippy::print_stdout)]

use std::time::Instant;

use bytes::Bytes;
use cluster::{Controller, EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};
use controllers::{Change, Next, Object, View};
use futures::executor::block_on;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tower::ServiceExt;
use trace::{Context, ObjectKey, Revision, Time, identity};

/// As in `trommel`.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const WEB: &str = "/apis/apps/v1/namespaces/default/deployments/web";
/// Replicas of the Deployment that is timed from its creation to all Ready.
const REPLICAS: u64 = 100;
/// How often everything is measured.
const REPEATS: usize = 21;
/// Looks at keys of one world, or clones of one, that are timed together.
const TOGETHER: u32 = 1_000;
/// Pods of a node, and some room for those that go.
const PODS_OF_A_NODE: u64 = 90;

/// A cluster at rest with everything in it, and room for so many pods.
fn cluster(pods: u64) -> Server {
    let start = Time(1_767_225_600_000_000_000);
    let mut world = World::new(WorldOptions { start, seed: 1, suffixes: SuffixOrder::Ascending });
    world.start_environment(&EnvironmentOptions {
        controllers: Controller::FULL.to_vec(),
        nodes: u32::try_from(pods.div_ceil(PODS_OF_A_NODE)).expect("few nodes"),
        ..EnvironmentOptions::default()
    });
    let server = Server::new(world, None);
    server.run_environment().expect("it comes to rest");
    server
}

fn send(server: &Server, method: &str, path: &str, body: &Value) -> Value {
    let content_type = match method {
        "PATCH" => "application/strategic-merge-patch+json",
        _ => "application/json",
    };
    let body = Full::new(Bytes::from(body.to_string())).map_err(|never| match never {});
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(body.boxed_unsync())
        .expect("a request");
    block_on(async {
        let answer = server.service().oneshot(request).await.expect("an answer");
        let status = answer.status();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        assert!(status.is_success(), "{method} {path}: {}", String::from_utf8_lossy(&bytes));
        serde_json::from_slice(&bytes).expect("JSON")
    })
}

fn template(image: &str) -> Value {
    json!({
        "metadata": {"labels": {"app": "web"}},
        "spec": {"containers": [{"name": "c", "image": image}]},
    })
}

/// Makes a Deployment and waits until all its pods are ready.
fn create(server: &Server, replicas: u64) {
    let spec = json!({
        "replicas": replicas, "selector": {"matchLabels": {"app": "web"}}, "template": template("v1"),
        "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
    });
    send(server, "POST", DEPLOYMENTS, &json!({"metadata": {"name": "web"}, "spec": spec}));
    finish(server, replicas);
}

/// Lets everything come to rest; all pods are then of the newest template, and ready.
fn finish(server: &Server, replicas: u64) {
    server.run_environment().expect("it comes to rest");
    let status = &send(server, "GET", WEB, &Value::Null)["status"];
    for field in ["updatedReplicas", "readyReplicas"] {
        assert_eq!(status[field], replicas, "{field}");
    }
}

fn milliseconds(of: impl FnOnce()) -> f64 {
    let began = Instant::now();
    of();
    began.elapsed().as_secs_f64() * 1e3
}

/// Milliseconds from the creation of a Deployment until all its replicas are ready.
fn deployment() -> Vec<f64> {
    let run = |_| {
        let server = cluster(REPLICAS);
        milliseconds(|| create(&server, REPLICAS))
    };
    (0..REPEATS).map(run).collect()
}

/// Microseconds of a look at a key with nothing to do, in a world of a thousand objects, by controller.
fn looks() -> Vec<(&'static str, f64)> {
    let server = cluster(1_000);
    create(&server, 980);
    let world = server.world();
    assert!(world.objects().count() >= 1_000, "{}", world.objects().count());
    let mut view = View::default();
    let (mut keys, now) = (Vec::<(Controller, ObjectKey)>::new(), world.now());
    for (key, value) in world.objects() {
        let object = Object::read(key, value);
        view.set(key, Some(object));
    }
    for (key, value) in world.objects() {
        let object = Object::read(key, value);
        let change = Change { key, before: Some(&object), after: Some(&object) };
        for controller in Controller::FULL {
            let affected = controller.keys_affected(&view, &change, now);
            keys.extend(affected.into_iter().map(|affected| (*controller, affected.key)));
        }
    }
    keys.sort();
    keys.dedup();
    let quiet = |(controller, key): &(Controller, ObjectKey)| {
        matches!(controller.next(&view, key, now, &[]), Next::Done { .. })
    };
    keys.retain(quiet);
    let looks = Controller::FULL.iter().filter_map(|controller| {
        let keys: Vec<&ObjectKey> =
            keys.iter().filter(|(of, _)| of == controller).map(|(_, key)| key).collect();
        let rounds = TOGETHER.div_ceil(u32::try_from(keys.len()).ok().filter(|n| *n > 0)?);
        let took = milliseconds(|| {
            for key in (0..rounds).flat_map(|_| &keys) {
                std::hint::black_box(controller.next(&view, key, now, &[]));
            }
        });
        let all = f64::from(rounds) * keys.len() as f64;
        Some((controller.name(), took * 1e3 / all))
    });
    looks.collect()
}

/// What it costs to tell worlds of fifty objects apart.
struct Told {
    /// Microseconds of a clone.
    clone: f64,
    /// Microseconds of a print, in worlds that each have one object that none before had.
    print: f64,
    /// Microseconds of an identity.
    identity: f64,
}

fn tell_apart() -> Told {
    let server = cluster(90);
    create(&server, 36);
    let worlds =
        (0..=server.revision().0).filter_map(|revision| server.world_at(Revision(revision)));
    // Pods, and what every cluster has; each made of the one before by one commit.
    let worlds: Vec<World> = worlds.filter(|world| world.objects().count() == 50).collect();
    let [first, others @ ..] = &worlds[..] else { panic!("there are worlds of fifty objects") };
    first.print();
    let each = |took: f64, times: usize| took * 1e3 / times as f64;
    let printed = milliseconds(|| {
        for world in others {
            std::hint::black_box(world.print());
        }
    });
    let world = server.world();
    let cloned =
        milliseconds(|| (0..TOGETHER).for_each(|_| drop(std::hint::black_box(world.clone()))));
    let identified = milliseconds(|| {
        for _ in 0..TOGETHER {
            let context = Context {
                now: world.now(),
                generated_names: world.generated_names().collect(),
                extra: world.pending(),
                ..Context::default()
            };
            std::hint::black_box(identity(world.objects(), &context));
        }
    });
    Told {
        clone: each(cloned, TOGETHER as usize),
        print: each(printed, others.len()),
        identity: each(identified, TOGETHER as usize),
    }
}

/// Seconds and revisions of a rolling update.
fn rolling_update(pods: u64) -> (f64, u64) {
    let server = cluster(pods);
    create(&server, pods);
    let before = server.revision();
    let took = milliseconds(|| {
        send(&server, "PATCH", WEB, &json!({"spec": {"template": template("v2")}}));
        finish(&server, pods);
    });
    (took / 1e3, server.revision().0 - before.0)
}

fn main() {
    let updates: Vec<Value> = std::env::args()
        .skip(1)
        .map(|pods| {
            let pods = pods.parse().expect("a number of pods");
            let (seconds, revisions) = rolling_update(pods);
            json!({"pods": pods, "seconds": seconds, "revisions": revisions})
        })
        .collect();
    let told = tell_apart();
    let looks: Vec<Value> =
        looks().into_iter().map(|(name, us)| json!({"controller": name, "us": us})).collect();
    println!(
        "{}",
        json!({
            "replicas": REPLICAS, "deploymentMs": deployment(), "looks": looks,
            "cloneUs": told.clone, "printUs": told.print, "identityUs": told.identity,
            "updates": updates,
        })
    );
}
