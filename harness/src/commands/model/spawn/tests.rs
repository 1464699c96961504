//! Watches that are behind and answers that are lost, in front of an embedded API server. Time is the runtime's, and jumps
//! when nothing is left to do: so "at rest" is a moment, not a wait.

use std::{
    collections::BTreeSet,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use cluster::{Server, SuffixOrder, World, WorldOptions};
use controllers::{Controller, wire::JSON};
use futures::{FutureExt, StreamExt, stream};
use http_body_util::{BodyExt, BodyStream, StreamBody};
use proxy::{Body, Upstream};
use serde_json::{Value, json};
use tokio::{
    sync::{Notify, watch},
    task::LocalSet,
    time::Instant,
};
use tower::ServiceExt;
use trace::Time;

use super::{
    api::Api,
    manager::{Clock, Manager},
    types::Types,
};

const PODS: &str = "/api/v1/namespaces/default/pods";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const DEPLOYMENTS: &str = "/apis/apps/v1/namespaces/default/deployments";
const REPLICA_SETS: &str = "/apis/apps/v1/namespaces/default/replicasets";

/// More than any back-off that matters here.
const LONG: Duration = Duration::from_secs(120);

/// A cluster, its user, and what lies between it and the controllers.
struct Bench {
    user: Api,
    /// The type whose watches tell nothing for now.
    held: watch::Sender<&'static str>,
    /// How many answers to a POST of a pod are lost from now on.
    lost: Arc<AtomicUsize>,
}

impl Bench {
    async fn send(&self, method: &str, path: &str, body: Value) -> Value {
        let media = if method == "PATCH" { "application/merge-patch+json" } else { JSON };
        let sent = self.user.exchange(method, path, media, &body, "user").await;
        let (code, answer) = sent.expect("an answer");
        assert!(code < 300, "{method} {path}: {code} {answer}");
        answer
    }

    async fn names(&self, path: &str) -> Vec<String> {
        let list = self.send("GET", path, Value::Null).await;
        let items = list["items"].as_array().cloned().unwrap_or_default();
        items
            .iter()
            .map(|item| item["metadata"]["name"].as_str().unwrap_or("").to_owned())
            .collect()
    }

    /// Waits until nothing is left to do.
    async fn rest(&self) {
        drop(tokio::time::timeout(LONG, std::future::pending::<()>()).await);
    }
}

/// Runs controllers beside what a user does.
fn play(controllers: &[Controller], user: impl AsyncFnOnce(&Bench)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime");
    let options =
        WorldOptions { start: Time(1_000_000_000_000), seed: 1, suffixes: SuffixOrder::Ascending };
    let server = Server::new(World::new(options), None);
    let (held, lost) = (watch::Sender::new(""), Arc::default());
    let api = Api { upstream: between(&server, held.subscribe(), Arc::clone(&lost)) };
    let bench = Bench { user: Api { upstream: server.service() }, held, lost };
    let chosen: BTreeSet<Controller> = controllers.iter().copied().collect();
    LocalSet::new().block_on(&runtime, async {
        let types = Types::discover(&api).await.expect("it is discovered");
        let begin = Instant::now();
        let now = move || Time(1_000_000_000_000).plus(begin.elapsed());
        let ready = Notify::new();
        let user = async {
            ready.notified().await;
            user(&bench).await;
        };
        let about = ("", Box::new(now) as Clock);
        tokio::select! {
            ended = Manager::run(api, types, chosen, about, |_| ready.notify_one()) => {
                match ended.expect("it goes on") {}
            }
            () = user => {}
        }
    });
}

/// The server, as controllers come to it.
fn between(
    server: &Server,
    held: watch::Receiver<&'static str>,
    lost: Arc<AtomicUsize>,
) -> Upstream {
    let service = server.service();
    Upstream::new(tower::service_fn(move |request: http::Request<Body>| {
        let (held, lost) = (held.clone(), lost.clone());
        let (uri, is_post) = (request.uri().clone(), request.method() == http::Method::POST);
        service.clone().oneshot(request).map(move |answer| {
            let less = |count: usize| count.checked_sub(1);
            if is_post
                && uri.path().ends_with("/pods")
                && lost.fetch_update(Ordering::Relaxed, Ordering::Relaxed, less).is_ok()
            {
                return Err("the connection was cut".into());
            }
            let of = uri.path().rsplit('/').next().unwrap_or("").to_owned();
            let watches = uri.query().is_some_and(|query| query.contains("watch=true"));
            Ok(answer?.map(|body| if watches { hold(body, of, held) } else { body }))
        })
    }))
}

/// What a watch of a type tells, once it is not held.
fn hold(body: Body, of: String, held: watch::Receiver<&'static str>) -> Body {
    let frames =
        stream::unfold((BodyStream::new(body), held, of), async |(mut body, mut held, of)| {
            let frame = body.next().await?;
            held.wait_for(|held| *held != of).await.ok()?;
            Some((frame, (body, held, of)))
        });
    StreamBody::new(frames).boxed_unsync()
}

fn replica_set(replicas: u64) -> Value {
    json!({
        "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "i"}]},
            },
        },
    })
}

fn owned(name: &str, owner: &Value) -> Value {
    let (kind, meta) = (&owner["kind"], &owner["metadata"]);
    json!({"metadata": {"name": name, "ownerReferences": [{
        "apiVersion": owner["apiVersion"], "kind": kind, "name": meta["name"], "uid": meta["uid"],
    }]}})
}

#[test]
fn a_controller_waits_until_it_has_seen_its_own_writes() {
    play(&[Controller::ReplicaSet], async |bench| {
        bench.held.send_replace("pods");
        bench.send("POST", REPLICA_SETS, replica_set(3)).await;
        bench.rest().await;
        assert_eq!(bench.names(PODS).await.len(), 3);
        // Its key comes again, and it still sees none of them.
        let web = format!("{REPLICA_SETS}/web");
        bench.send("PATCH", &web, json!({"spec": {"replicas": 4}})).await;
        bench.rest().await;
        assert_eq!(bench.names(PODS).await.len(), 3);
        bench.held.send_replace("");
        bench.rest().await;
        assert_eq!(bench.names(PODS).await.len(), 4);
        assert_eq!(bench.send("GET", &web, Value::Null).await["status"]["replicas"], 4);
    });
}

#[test]
fn a_write_whose_answer_is_lost_is_looked_up() {
    play(&[Controller::ReplicaSet], async |bench| {
        bench.held.send_replace("pods");
        bench.lost.store(2, Ordering::Relaxed);
        bench.send("POST", REPLICA_SETS, replica_set(3)).await;
        bench.rest().await;
        assert_eq!(bench.lost.load(Ordering::Relaxed), 0, "two answers were lost");
        // One too many would be deleted again as soon as it was seen.
        assert_eq!(bench.names(PODS).await.len(), 3);
    });
}

#[test]
fn an_owner_that_is_not_seen_yet_is_not_taken_for_gone() {
    play(&[Controller::GarbageCollector], async |bench| {
        bench.held.send_replace("configmaps");
        let owner = bench.send("POST", MAPS, json!({"metadata": {"name": "owner"}})).await;
        let mut set = replica_set(0);
        set["metadata"] = owned("web", &owner)["metadata"].clone();
        bench.send("POST", REPLICA_SETS, set).await;
        bench.rest().await;
        assert_eq!(bench.names(REPLICA_SETS).await, ["web"]);
        bench.held.send_replace("");
        bench.rest().await;
        assert_eq!(bench.names(REPLICA_SETS).await, ["web"]);
        bench.send("DELETE", &format!("{MAPS}/owner"), Value::Null).await;
        bench.rest().await;
        assert!(bench.names(REPLICA_SETS).await.is_empty());
    });
}

#[test]
fn who_is_going_adopts_nothing() {
    play(&[Controller::ReplicaSet], async |bench| {
        bench.held.send_replace("replicasets");
        let mut set = replica_set(1);
        set["metadata"]["finalizers"] = json!(["example.com/stays"]);
        bench.send("POST", REPLICA_SETS, set).await;
        bench.held.send_replace("");
        bench.rest().await;
        // It goes, and who keeps it has not seen that when a pod comes that it would adopt.
        bench.held.send_replace("replicasets");
        bench.send("DELETE", &format!("{REPLICA_SETS}/web"), Value::Null).await;
        let mut pod = replica_set(1)["spec"]["template"].clone();
        pod["metadata"]["name"] = json!("stray");
        bench.send("POST", PODS, pod).await;
        bench.rest().await;
        let stray = bench.send("GET", &format!("{PODS}/stray"), Value::Null).await;
        assert!(stray["metadata"]["ownerReferences"].is_null(), "{stray}");
    });
}

#[test]
fn a_namespace_is_not_empty_before_all_is_seen() {
    play(&[Controller::Namespace], async |bench| {
        let namespaces = "/api/v1/namespaces";
        bench.send("POST", namespaces, json!({"metadata": {"name": "n"}})).await;
        bench.held.send_replace("configmaps");
        let maps = format!("{namespaces}/n/configmaps");
        bench.send("POST", &maps, json!({"metadata": {"name": "a"}})).await;
        bench.send("DELETE", &format!("{namespaces}/n"), Value::Null).await;
        bench.rest().await;
        assert_eq!(bench.names(&maps).await, ["a"]);
        assert!(bench.names(namespaces).await.contains(&"n".to_owned()));
        bench.held.send_replace("");
        bench.rest().await;
        assert!(!bench.names(namespaces).await.contains(&"n".to_owned()));
        assert!(bench.names(&maps).await.is_empty());
    });
}

#[test]
fn custom_types_are_watched_as_they_come_and_go() {
    play(&[Controller::GarbageCollector], async |bench| {
        let version = json!({
            "name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}},
        });
        let crds = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
        let crd = json!({
            "metadata": {"name": "bars.example.com"},
            "spec": {
                "group": "example.com", "scope": "Namespaced", "versions": [version],
                "names": {"plural": "bars", "singular": "bar", "kind": "Bar", "listKind": "BarList"},
            },
        });
        bench.send("POST", crds, crd).await;
        bench.rest().await;
        let bars = "/apis/example.com/v1/namespaces/default/bars";
        let named = |name: &str| json!({"apiVersion": "example.com/v1", "kind": "Bar", "metadata": {"name": name}});
        let owner = bench.send("POST", bars, named("owner")).await;
        let mut bar = named("bar");
        bar["metadata"] = owned("bar", &owner)["metadata"].clone();
        bench.send("POST", bars, bar).await;
        bench
            .send("POST", DEPLOYMENTS, {
                let mut deployment = replica_set(0);
                deployment["metadata"] = owned("web", &owner)["metadata"].clone();
                deployment
            })
            .await;
        bench.rest().await;
        assert_eq!(bench.names(bars).await, ["bar", "owner"]);
        bench.send("DELETE", &format!("{bars}/owner"), Value::Null).await;
        bench.rest().await;
        assert!(bench.names(bars).await.is_empty());
        assert!(bench.names(DEPLOYMENTS).await.is_empty());
        bench.send("DELETE", &format!("{crds}/bars.example.com"), Value::Null).await;
        bench.rest().await;
        assert!(bench.names(crds).await.is_empty());
    });
}
