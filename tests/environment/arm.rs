//! The two arms: the embedded cluster in this process, the real one over TLS.

use std::time::{Duration, Instant, SystemTime};

use bytes::Bytes;
use cluster::{
    Body, Controller, EnvironmentOptions, Server, SuffixOrder, Upstream, World, WorldOptions,
};
use futures::executor::block_on;
use http_body_util::{BodyExt, Full};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;
use trace::{Revision, Time};
use trommel_tests::real::Access;

/// How long the real controllers get to come to a state.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// How often they are asked meanwhile.
const PACE: Duration = Duration::from_millis(20);

/// How long the embedded ones get, by their own clock: a namespace waits for five seconds before it is emptied.
pub const REST: Duration = Duration::from_secs(30);

/// A cluster.
pub trait Arm {
    /// Status and body of a request.
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value);

    /// A request that must succeed.
    fn must(&self, method: &str, path: &str, body: Option<Value>) {
        let (code, answer) = self.send(method, path, body);
        assert!((200..300).contains(&code), "{method} {path}: {code} {answer}");
    }

    /// Makes a scenario's namespace.
    fn make_namespace(&self, name: &str) {
        let namespace = json!({"metadata": {"name": name}});
        self.must("POST", "/api/v1/namespaces", Some(namespace));
    }

    /// What time it is there.
    fn now(&self) -> Value {
        let map = json!({"metadata": {"name": "now"}});
        let path = "/api/v1/namespaces/default/configmaps?dryRun=All";
        self.send("POST", path, Some(map)).1["metadata"]["creationTimestamp"].clone()
    }

    /// Waits until something holds.
    fn wait_for(&self, holds: &dyn Fn() -> bool);

    /// The bodies of several GETs.
    fn get_all(&self, paths: &[String]) -> Vec<Value> {
        paths.iter().map(|path| self.send("GET", path, None).1).collect()
    }
}

/// The embedded cluster, with all that kube-controller-manager has here, and no node.
pub struct Embedded(pub Server);

/// All that kube-controller-manager has here.
const CONTROLLERS: [Controller; 32] = [
    Controller::GarbageCollector,
    Controller::Namespace,
    Controller::Deployment,
    Controller::ReplicaSet,
    Controller::StatefulSet,
    Controller::DaemonSet,
    Controller::Job,
    Controller::CronJob,
    Controller::TtlAfterFinished,
    Controller::ServiceAccount,
    Controller::RootCa,
    Controller::PodGc,
    Controller::NodeLifecycle,
    Controller::TaintEviction,
    Controller::EndpointSlice,
    Controller::Endpoints,
    Controller::Disruption,
    Controller::VolumeBinder,
    Controller::ClaimProtection,
    Controller::VolumeProtection,
    Controller::ReplicationController,
    Controller::EndpointSliceMirroring,
    Controller::Quota,
    Controller::Autoscaler,
    Controller::AccountToken,
    Controller::ClusterRoleAggregation,
    Controller::RequestApprover,
    Controller::RequestSigner,
    Controller::RequestCleaner,
    Controller::Expand,
    Controller::EphemeralVolume,
    Controller::TokenCleaner,
];

fn options(controllers: Vec<Controller>) -> EnvironmentOptions {
    EnvironmentOptions {
        controllers,
        nodes: 0,
        root_ca: "a certificate".to_owned(),
        ..EnvironmentOptions::default()
    }
}

impl Embedded {
    pub fn new() -> Embedded {
        Embedded::of(CONTROLLERS.to_vec(), false)
    }

    /// Its controllers write Events.
    pub fn telling() -> Embedded {
        Embedded::of(CONTROLLERS.to_vec(), true)
    }

    /// With these controllers, and Events.
    pub fn of(controllers: Vec<Controller>, events: bool) -> Embedded {
        // The same day as the real ones: CronJobs go by the calendar.
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is past 1970");
        let start = Time::default().plus(now);
        let mut world =
            World::new(WorldOptions { start, seed: 1, suffixes: SuffixOrder::Ascending });
        world.start_environment(&EnvironmentOptions { events, ..options(controllers) });
        Embedded(Server::new(world, None))
    }

    /// Lets its controllers come to rest.
    pub fn rest(&self) {
        self.rest_until(self.0.now().plus(REST));
    }

    /// Lets its controllers come to rest, at a later time.
    pub fn rest_until(&self, time: Time) {
        self.0.run_environment().expect("it comes to rest");
        self.0.live_until(time).expect("it comes to rest");
        self.0.run_environment().expect("it comes to rest");
    }

    /// A fork of it.
    pub fn fork(&self) -> Embedded {
        Embedded(Server::new(self.0.world(), None))
    }

    /// A fork of it as it was right after this revision.
    pub fn at(&self, revision: Revision) -> World {
        self.0.world_at(revision).expect("no history is forgotten")
    }

    /// A world whose controllers have forgotten everything, and look at all that there is.
    pub fn restarted(mut world: World) -> Embedded {
        world.start_environment(&options(CONTROLLERS.to_vec()));
        Embedded(Server::new(world, None))
    }
}

impl Arm for Embedded {
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        block_on(answer(self.0.service(), method, path, body))
    }

    fn wait_for(&self, holds: &dyn Fn() -> bool) {
        assert!(holds(), "here nothing takes time");
    }
}

fn content_type(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/strategic-merge-patch+json",
        _ => "application/json",
    }
}

/// A runtime on the thread that asks for it.
pub fn runtime() -> Runtime {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime")
}

/// The real cluster, by one connection that is kept.
pub struct Real {
    runtime: Runtime,
    upstream: Upstream,
    /// How long its controllers get to come to a state.
    pub patience: Duration,
}

impl Real {
    pub fn new(access: &Access, patience: Duration) -> Real {
        Real { runtime: runtime(), upstream: access.upstream(), patience }
    }

    /// Waits until the state is one of those that are expected; which. Errors: what it is when patience is over.
    pub fn comes_to(
        &self,
        expect: &[Value],
        state: &dyn Fn(&dyn Arm) -> Value,
    ) -> Result<Value, Value> {
        let began = Instant::now();
        loop {
            let found = state(self);
            if expect.contains(&found) {
                return Ok(found);
            }
            if began.elapsed() > self.patience {
                return Err(found);
            }
            self.pause();
        }
    }

    /// Waits until whatever is made from now on is younger than everything that there is: times of creation are
    /// whole seconds, and what is as old as another is ordered by names, which are chance.
    pub fn grow_older(&self) {
        let began = self.now();
        while self.now() == began {
            self.pause();
        }
    }

    /// Leaves the processor to those whom it waits for.
    pub fn pause(&self) {
        self.runtime.block_on(async {
            let mut pace = tokio::time::interval(PACE);
            pace.tick().await;
            pace.tick().await;
        });
    }
}

impl Arm for Real {
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        self.runtime.block_on(answer(self.upstream.clone(), method, path, body))
    }

    fn wait_for(&self, holds: &dyn Fn() -> bool) {
        while !holds() {
            self.pause();
        }
    }
}

/// Status and body of a request.
async fn answer(upstream: Upstream, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
    let answer = request(upstream, method, path, body).await;
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    (code, serde_json::from_slice(&bytes).unwrap_or_default())
}

/// The answer to a request, its body still to be read: that of a watch does not end.
pub async fn request(
    upstream: Upstream,
    method: &str,
    path: &str,
    body: Option<Value>,
) -> http::Response<Body> {
    let bytes = body.map_or(Bytes::new(), |body| body.to_string().into());
    let body = Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type(method))
        .header("user-agent", "judge/1")
        .body(body)
        .expect("a request");
    upstream.oneshot(request).await.expect("an answer")
}
