//! How many states a second, and how much memory each takes: `cluster NODES PODS drain|reconcile|write|step [THREADS]`.
#![allow(clippy::print_stdout)]

use std::{num::NonZeroUsize, time::Instant};

use controllers::Controller;
use model::{
    Search,
    cluster::{ClientSetup, Cluster, Granularity, Setup},
};
use serde_json::{Value, json};

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let number = |at: usize, other: usize| {
        arguments.get(at).map_or(other, |text| text.parse().expect("a number"))
    };
    let granularity = match arguments.get(2).map(String::as_str) {
        Some("drain") => Granularity::Drain,
        Some("reconcile") => Granularity::Reconcile,
        Some("step") => Granularity::Step,
        _ => Granularity::Write,
    };
    let mut objects: Vec<Value> = (0..number(0, 2)).map(|n| node(&format!("n{n}"))).collect();
    objects.push(deployment(number(1, 2)));
    let clients = [
        Controller::Deployment,
        Controller::ReplicaSet,
        Controller::Scheduler,
        Controller::Kubelet,
    ];
    let clients = clients.map(ClientSetup::of).into();
    let setup = Setup { objects, clients, granularity, ..Setup::default() };
    let cluster = Cluster::new(setup).expect("a cluster");
    let mut search = Search::new(&cluster, &[]);
    if let Some(threads) = NonZeroUsize::new(number(3, 0)) {
        search.threads = threads;
    }
    let begun = Instant::now();
    let counts = search.breadth_first().expect("a search").counts;
    let seconds = begun.elapsed().as_secs_f64();
    let objects = cluster.objects.count();
    let (distinct, generated) = (counts.distinct as f64, counts.generated as f64);
    println!(
        "{counts:?}, {objects} objects, {seconds:.2} s, {:.0} distinct/s, {:.0} generated/s, {:.0} B of memory a state",
        distinct / seconds,
        generated / seconds,
        peak_bytes() / distinct
    );
}

/// The most memory that the process ever had (`VmHWM` of proc(5)).
fn peak_bytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").expect("proc(5)");
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
    line.trim().trim_end_matches(" kB").parse::<f64>().expect("a number") * 1024.0
}

fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
        "status": {
            "allocatable": {"cpu": "64", "memory": "64Gi", "pods": "80"},
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    })
}

fn deployment(replicas: usize) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "web"},
        "spec": {
            "replicas": replicas, "selector": {"matchLabels": {"app": "web"}},
            "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"}},
            "revisionHistoryLimit": 10, "progressDeadlineSeconds": 600,
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "restartPolicy": "Always", "terminationGracePeriodSeconds": 30,
                    "schedulerName": "default-scheduler",
                    "containers": [{"name": "c", "image": "v1", "resources": {"requests": {"cpu": "1"}}}],
                },
            },
        },
    })
}
