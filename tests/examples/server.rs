//! What the embedded API server costs beside kube-apiserver with etcd: prints JSON, for `cargo ci bench`.
//!
//! Both are programs of their own (`trommel serve --environment none`, `tests/reference/serve.sh`), asked by the same
//! client over TLS and HTTP/1.1. Processor time is what the kernel charged to the servers' processes, in ticks of
//! 10 ms, over all requests of a kind. `server N…`: after so many objects the time of a write to the embedded one is
//! taken, to see whether it grows.
#![allow(clippy::print_stdout)]

use std::{
    fs,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use cluster::Upstream;
use futures::{StreamExt, stream};
use http::{HeaderMap, Request, Response};
use http_body_util::{BodyExt, Full};
use rustix::process::{Resource, Rlimit, setrlimit};
use serde_json::{Value, json};
use tokio::sync::Notify;
use tower::{Service, ServiceExt};
use trommel_tests::{
    real::{Access, Cluster},
    root,
    served::Served,
};

/// Requests at the same time.
const CLIENTS: usize = 32;
const WRITES: usize = 4_000;
const PODS: usize = 5_000;
const LISTS: usize = 20;
const WATCHERS: usize = 1_000;
/// Writes that all watchers are told of.
const TOLD: usize = 20;
/// Writes that are timed together where growth is looked for.
const TOGETHER: usize = 1_000;

const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const SECRETS: &str = "/api/v1/namespaces/default/secrets";
const POD_LIST: &str = "/api/v1/namespaces/default/pods";

/// A server, asked as its administrator.
#[derive(Clone)]
struct Arm {
    upstream: Upstream,
    admin: String,
    processes: Vec<u32>,
}

impl Arm {
    fn new(access: &Access, processes: Vec<u32>) -> Arm {
        let tls = proxy::tls::client_config(&access.authority, None).expect("a TLS configuration");
        let base = access.server.parse().expect("a URL");
        let upstream = proxy::remote(&base, Some(tls), HeaderMap::new()).expect("a remote server");
        Arm { upstream, admin: access.admin.clone(), processes }
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Response<cluster::Body> {
        self.ask_for("application/json", method, path, body).await
    }

    /// The same, with the media type of the answer.
    async fn ask_for(
        &self,
        accept: &str,
        method: &str,
        path: &str,
        body: Option<Value>,
    ) -> Response<cluster::Body> {
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("accept", accept)
            .header("authorization", &self.admin)
            .body(body)
            .expect("a request");
        let mut upstream = self.upstream.clone();
        let answer = async { upstream.ready().await?.call(request).await }.await;
        let answer = answer.unwrap_or_else(|error| panic!("{path}: {error}"));
        assert!(answer.status().is_success(), "{method} {path}: {}", answer.status());
        answer
    }

    async fn send(&self, method: &str, path: &str, body: Option<Value>) -> Bytes {
        let answer = self.ask(method, path, body).await;
        answer.into_body().collect().await.expect("a whole answer").to_bytes()
    }

    /// Reads a list as client-go does.
    async fn list_protobuf(&self, path: &str) {
        let answer = self.ask_for("application/vnd.kubernetes.protobuf", "GET", path, None).await;
        answer.into_body().collect().await.expect("a whole answer");
    }

    /// Creates objects, so many at the same time.
    async fn create(&self, path: &str, count: usize, object: impl Fn(usize) -> Value) {
        let writes = stream::iter((0..count).map(|at| self.send("POST", path, Some(object(at)))));
        writes.buffer_unordered(CLIENTS).for_each(|_| async {}).await;
    }

    /// Processor time so far, in microseconds.
    fn cpu(&self) -> f64 {
        let ticks = self.processes.iter().map(|process| {
            let line = fs::read_to_string(format!("/proc/{process}/stat")).expect("it runs");
            let after = line.rsplit_once(") ").expect("a name in brackets").1;
            let field = |at: usize| after.split(' ').nth(at).and_then(|text| text.parse().ok());
            field(11).unwrap_or(0.0) + field(12).unwrap_or(0.0)
        });
        ticks.sum::<f64>() * 10_000.0
    }

    /// Memory that is its own, in megabytes.
    fn memory(&self) -> f64 {
        let of = |process: &u32| -> f64 {
            let text = fs::read_to_string(format!("/proc/{process}/status")).expect("it runs");
            let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
            let number = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
            number.unwrap_or(0.0)
        };
        self.processes.iter().map(of).sum::<f64>() / 1024.0
    }
}

fn config_map(at: usize) -> Value {
    json!({"metadata": {"name": format!("m-{at}")}, "data": {"key": "value"}})
}

fn pod(at: usize) -> Value {
    let environment: Vec<Value> =
        (0..8).map(|at| json!({"name": format!("NAME_{at}"), "value": "value"})).collect();
    json!({
        "metadata": {"name": format!("p-{at}"), "labels": {"app": "web", "number": at.to_string()}},
        "spec": {"containers": [{"name": "c", "image": "registry.example/web:v1", "env": environment,
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]},
    })
}

/// Processor and wall time of some requests, in microseconds each.
struct Cost {
    cpu: f64,
    wall: f64,
}

async fn cost(arm: &Arm, count: usize, work: impl Future<Output = ()>) -> Cost {
    let (cpu, began) = (arm.cpu(), Instant::now());
    work.await;
    let wall = began.elapsed().as_secs_f64() * 1e6;
    Cost { cpu: (arm.cpu() - cpu) / count as f64, wall: wall / count as f64 }
}

/// Writes that a thousand watchers are told of.
async fn fan_out(arm: &Arm) -> Cost {
    let (heard, all) = (Arc::new(AtomicUsize::new(0)), Arc::new(Notify::new()));
    let list: Value = serde_json::from_slice(&arm.send("GET", SECRETS, None).await).expect("JSON");
    let version = list["metadata"]["resourceVersion"].as_str().expect("a list has one").to_owned();
    let mut watchers = Vec::new();
    for _ in 0..WATCHERS {
        let path = format!("{SECRETS}?watch=1&resourceVersion={version}");
        let mut body = arm.ask("GET", &path, None).await.into_body();
        let (heard, all) = (heard.clone(), all.clone());
        watchers.push(tokio::spawn(async move {
            while let Some(Ok(frame)) = body.frame().await {
                let bytes = frame.into_data().unwrap_or_default();
                let events = bytes.iter().filter(|byte| **byte == b'\n').count();
                if (heard.fetch_add(events, Ordering::Relaxed) + events).is_multiple_of(WATCHERS) {
                    all.notify_one();
                }
            }
        }));
    }
    let told = cost(arm, TOLD, async {
        for at in 0..TOLD {
            let secret = json!({"metadata": {"name": format!("s-{at}")}});
            arm.send("POST", SECRETS, Some(secret)).await;
            while heard.load(Ordering::Relaxed) < (at + 1) * WATCHERS {
                all.notified().await;
            }
        }
    });
    let told = told.await;
    watchers.iter().for_each(tokio::task::JoinHandle::abort);
    told
}

async fn measure(arm: &Arm, started: Duration) -> Value {
    let writes = cost(arm, WRITES, arm.create(MAPS, WRITES, config_map)).await;
    let before = arm.memory();
    arm.create(POD_LIST, PODS, pod).await;
    let grown = (arm.memory() - before) * 10_000.0 / PODS as f64;
    let lists = cost(arm, LISTS, async {
        for _ in 0..LISTS {
            arm.send("GET", POD_LIST, None).await;
        }
    });
    let lists = lists.await;
    let encoded = cost(arm, LISTS, async {
        for _ in 0..LISTS {
            arm.list_protobuf(POD_LIST).await;
        }
    });
    let encoded = encoded.await;
    let told = fan_out(arm).await;
    let both = |cost: &Cost| json!({"cpuUs": cost.cpu, "wallUs": cost.wall});
    json!({
        "startMs": started.as_secs_f64() * 1000.0,
        "write": both(&writes), "list": both(&lists), "protobufList": both(&encoded),
        "fanOut": both(&told),
        "mbOf10000Pods": grown,
    })
}

/// The embedded server, and how long it took until it served.
fn embedded(folder: &Path) -> (Served, Arm, Duration) {
    let began = Instant::now();
    let served = Served::start(folder, &["--environment", "none"]);
    let started = began.elapsed();
    let arm = Arm::new(&Access::by(&served.kubeconfig), vec![served.id()]);
    (served, arm, started)
}

/// Microseconds of a write after so many objects.
async fn growth(folder: &Path, sizes: &[usize]) -> Vec<Value> {
    let (_served, arm, _) = embedded(folder);
    let (mut there, mut rows) = (0, Vec::new());
    for &size in sizes {
        let object = |first: usize| move |at: usize| config_map(first + at);
        arm.create(MAPS, size.saturating_sub(there + TOGETHER), object(there)).await;
        let first = there.max(size.saturating_sub(TOGETHER));
        let last = cost(&arm, TOGETHER, arm.create(MAPS, TOGETHER, object(first))).await;
        there = first + TOGETHER;
        rows.push(json!({"objects": there, "cpuUs": last.cpu, "wallUs": last.wall}));
    }
    rows
}

#[tokio::main]
async fn main() {
    let files = Rlimit { current: Some(8_192), maximum: Some(8_192) };
    setrlimit(Resource::Nofile, files).expect("a limit can be set");
    let sizes: Vec<usize> = std::env::args().skip(1).filter_map(|text| text.parse().ok()).collect();
    let folder = root().join("target/tests/server-figures");
    fs::create_dir_all(&folder).expect("a folder can be made");
    let (served, arm, started) = embedded(&folder);
    let ours = measure(&arm, started).await;
    drop(served);
    let growth = growth(&folder, &sizes).await;
    let began = Instant::now();
    let cluster = Cluster::start(&folder.join("judge"), &[]);
    let started = began.elapsed();
    let real = measure(&Arm::new(&cluster.access(), cluster.servers()), started).await;
    println!("{}", json!({"embedded": ours, "real": real, "growth": growth}));
}
