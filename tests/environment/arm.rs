//! The two arms: the embedded cluster in this process, the real one by curl.

use std::{
    path::{Path, PathBuf},
    process::Command,
    time::{Duration, Instant, SystemTime},
};

use bytes::Bytes;
use cluster::{Controller, EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};
use futures::executor::block_on;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;
use trace::Time;

/// How long the real controllers get to come to a state.
const PATIENCE: Duration = Duration::from_secs(60);

/// How long the embedded ones get, by their own clock: a namespace waits for five seconds before it is emptied.
const REST: Duration = Duration::from_secs(30);

/// A cluster.
pub trait Arm {
    /// Status and body of a request.
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value);

    /// A request that must succeed.
    fn must(&self, method: &str, path: &str, body: Option<Value>) {
        let (code, answer) = self.send(method, path, body);
        assert!((200..300).contains(&code), "{method} {path}: {code} {answer}");
    }

    /// The bodies of several GETs.
    fn get_all(&self, paths: &[String]) -> Vec<Value> {
        paths.iter().map(|path| self.send("GET", path, None).1).collect()
    }
}

/// The embedded cluster, with all that kube-controller-manager has here, and no node.
pub struct Embedded(Server);

impl Embedded {
    pub fn new() -> Embedded {
        // The same day as the real ones: CronJobs go by the calendar.
        let now =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).expect("it is past 1970");
        let start = Time::default().plus(now);
        let mut world =
            World::new(WorldOptions { start, seed: 1, suffixes: SuffixOrder::Ascending });
        let controllers = vec![
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
        ];
        world.start_environment(&EnvironmentOptions {
            controllers,
            nodes: 0,
            root_ca: "a certificate".to_owned(),
        });
        Embedded(Server::new(world, None))
    }

    /// Lets its controllers come to rest.
    pub fn rest(&self) {
        self.0.run_environment().expect("it comes to rest");
        self.0.live_until(self.0.now().plus(REST)).expect("it comes to rest");
        self.0.run_environment().expect("it comes to rest");
    }
}

impl Arm for Embedded {
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let bytes = body.map_or(Bytes::new(), |body| body.to_string().into());
        let body = Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content_type(method))
            .header("user-agent", "curl/8")
            .body(body)
            .expect("a request");
        let answer = block_on(self.0.service().oneshot(request)).expect("an answer");
        let code = answer.status().as_u16();
        let bytes = block_on(answer.into_body().collect()).expect("a body").to_bytes();
        (code, serde_json::from_slice(&bytes).unwrap_or_default())
    }
}

fn content_type(method: &str) -> &'static str {
    match method {
        "PATCH" => "application/strategic-merge-patch+json",
        _ => "application/json",
    }
}

/// The real cluster.
pub struct Real {
    server: String,
    body: PathBuf,
}

impl Real {
    /// `body`: where it keeps what it is about to send.
    pub fn new(kubeconfig: &Path, body: PathBuf) -> Real {
        let text = std::fs::read_to_string(kubeconfig).expect("serve.sh writes a kubeconfig");
        let (_, rest) = text.split_once("server: \"").expect("it names a server");
        let server = rest.split('"').next().expect("it names a server").to_owned();
        Real { server, body }
    }

    /// Waits until the state is as expected. Errors: what it is when patience is over.
    pub fn comes_to(&self, expect: &Value, state: &dyn Fn(&dyn Arm) -> Value) -> Result<(), Value> {
        let began = Instant::now();
        loop {
            let found = state(self);
            if found == *expect {
                return Ok(());
            }
            if began.elapsed() > PATIENCE {
                return Err(found);
            }
        }
    }

    fn curl(&self) -> Command {
        let mut curl = Command::new("curl");
        curl.args(["--silent", "--show-error", "--insecure"]);
        curl.args(["--header", "Authorization: Bearer judge-token"]);
        curl
    }
}

impl Arm for Real {
    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let mut curl = self.curl();
        curl.args(["--request", method, "--write-out", "\n%{http_code}"]);
        if let Some(body) = body {
            std::fs::write(&self.body, body.to_string()).expect("the folder can be written");
            curl.arg("--header").arg(format!("Content-Type: {}", content_type(method)));
            curl.arg("--data-binary").arg(format!("@{}", self.body.display()));
        }
        let output = curl.arg(format!("{}{path}", self.server)).output().expect("curl runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let (body, code) = text.rsplit_once('\n').expect("curl writes the status");
        (code.parse().expect("a status"), serde_json::from_str(body).unwrap_or_default())
    }

    fn get_all(&self, paths: &[String]) -> Vec<Value> {
        let urls = paths.iter().map(|path| format!("{}{path}", self.server));
        let output = self.curl().args(urls).output().expect("curl runs");
        let bodies = serde_json::Deserializer::from_slice(&output.stdout).into_iter::<Value>();
        bodies.map(|body| body.expect("JSON")).collect()
    }
}
