//! What a real API server shows whose etcd is behind, on a kind cluster with three control planes that `TROMMEL_REALITY`
//! names: `cargo ci reality NAME`. No part of the default tests. `requests.yaml` says what comes, and what Trommel shows in
//! its place, which unit tests of the harness (`perturbation/stale_state/tests.rs`) hold against the same file.
//!
//! Only such a cluster has what this is about: each API server talks to the etcd beside it, and one of the three may lag.

#![allow(clippy::print_stdout)] // the table is meant for the reader

mod controller;
mod servers;

use std::{sync::mpsc, time::Duration};

use serde_json::{Value, json};
use trommel_tests::{house::House, product::yaml};

use self::servers::{Asked, Servers};

const NAMESPACE: &str = "trommel-reality";
/// Longer than a server waits for a revision (3 s), shorter than it waits for its etcd (34 s and more).
const PATIENCE: Duration = Duration::from_secs(15);

fn configmaps(server: &str) -> String {
    format!("{server}/api/v1/namespaces/{NAMESPACE}/configmaps")
}

/// A namespace of its own; gone with the test.
struct Namespace<'s>(&'s Servers);

impl<'s> Namespace<'s> {
    fn new(servers: &'s Servers) -> Namespace<'s> {
        let url = format!("{}/api/v1/namespaces", servers.well);
        let made = json!({"metadata": {"name": NAMESPACE}});
        let (status, answer) = servers.answer("POST", &url, Some(&made));
        assert_eq!(status, 201, "{answer}");
        Namespace(servers)
    }

    /// A ConfigMap, by the server that is well: its revision.
    fn write(&self, method: &str, name: &str, x: &str) -> String {
        let all = configmaps(&self.0.well);
        let url = if method == "POST" { all } else { format!("{all}/{name}") };
        let body = (method != "DELETE").then(|| configmap(name, x));
        let (status, answer) = self.0.answer(method, &url, body.as_ref());
        assert!(matches!(status, 200 | 201), "{method} {name}: {answer}");
        answer["metadata"]["resourceVersion"].as_str().unwrap_or_default().to_owned()
    }

    /// Returns when the other server's cache has this revision.
    fn seen(&self, revision: &str) {
        let url = format!("{}?resourceVersion={revision}", configmaps(&self.0.lagging));
        while self.0.answer("GET", &url, None).0 != 200 {}
    }
}

impl Drop for Namespace<'_> {
    fn drop(&mut self) {
        let url = format!("{}/api/v1/namespaces/{NAMESPACE}", self.0.well);
        let mut status = 0;
        while status != 404 {
            status = self.0.answer("DELETE", &url, None).0;
        }
    }
}

fn configmap(name: &str, x: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": x}})
}

/// What came so far, in the words of `requests.yaml`.
fn shown(asked: &Asked) -> String {
    if asked.status().is_none() {
        return "hangs".to_owned();
    }
    let body = asked.body();
    let said: Vec<String> =
        body.lines().filter_map(|line| serde_json::from_str(line).ok()).map(told).collect();
    let said: Vec<String> = said.into_iter().filter(|said| !said.is_empty()).collect();
    if said.is_empty() { "nothing".to_owned() } else { said.join(" ") }
}

fn told(value: Value) -> String {
    if let Some(items) = value["items"].as_array() {
        let items: Vec<String> = items.iter().cloned().map(told).collect();
        return items.into_iter().filter(|item| !item.is_empty()).collect::<Vec<_>>().join(" ");
    }
    if value["kind"] == "Status" {
        let cause = value["details"]["causes"][0]["reason"].as_str();
        return cause.or(value["reason"].as_str()).unwrap_or_default().to_owned();
    }
    let object = || told(value["object"].clone());
    match value["type"].as_str() {
        Some("BOOKMARK") => "end".to_owned(),
        Some("ADDED") => Some(object())
            .filter(|said| !said.is_empty())
            .map_or_else(String::new, |said| format!("+{said}")),
        Some(_) => object(),
        None => {
            let name = value["metadata"]["name"].as_str().unwrap_or_default();
            // Each namespace has one of the cluster's own.
            let x = value["data"]["x"].as_str().filter(|_| name != "kube-root-ca.crt");
            x.map(|x| format!("{name}={x}")).unwrap_or_default()
        }
    }
}

#[test]
fn a_server_whose_etcd_is_stopped() {
    let house = House::new("reality", &["tests/reality"]);
    let Some(servers) = Servers::named(&house) else { return };
    let requests = yaml(&house.path("tests/reality/requests.yaml"));
    let requests = requests.as_array().expect("a list");
    let namespace = Namespace::new(&servers);
    let first = namespace.write("POST", "gone", "1");
    let old = namespace.write("POST", "a", "1");
    namespace.seen(&old);
    let stopped = servers.stopped();
    let new = namespace.write("PUT", "a", "2");
    namespace.write("POST", "b", "1");
    namespace.write("DELETE", "gone", "1");

    let (heard, hears) = mpsc::channel();
    let ask = |entry: &Value| {
        let ask = entry["ask"].as_str().expect("a request");
        let ask = ask.replace("FIRST", &first).replace("OLD", &old).replace("NEW", &new);
        let all = configmaps(&servers.lagging);
        match &*ask {
            "POST" => servers.ask("POST", &all, Some(&configmap("c", "1")), heard.clone()),
            path => servers.ask("GET", &format!("{all}{path}"), None, heard.clone()),
        }
    };
    let asked: Vec<Asked> = requests.iter().map(ask).collect();
    let expected = |(entry, asked): (&Value, &Asked)| entry["shows"] == *shown(asked);
    while !requests.iter().zip(&asked).all(expected) && hears.recv_timeout(PATIENCE).is_ok() {}
    let found: Vec<String> = asked.iter().map(shown).collect();
    drop(asked);
    drop(stopped);

    let mut wrong = vec![];
    println!("{:<62} {:<26} {:<26} Trommel", "asked", "expected", "found");
    for (entry, found) in requests.iter().zip(&found) {
        let text = |key: &str| entry[key].as_str().unwrap_or_default().to_owned();
        let (ask, shows, trommel) = (text("ask"), text("shows"), text("trommel"));
        let ask = ask.replace("sendInitialEvents", "…").replace("resourceVersion", "rv");
        println!("{ask:<62} {shows:<26} {found:<26} {trommel}");
        if shows != *found {
            wrong.push(ask);
        }
    }
    assert_eq!(wrong, Vec::<String>::new());
    let caught_up = format!("{}/b?resourceVersion=0", configmaps(&servers.lagging));
    while servers.answer("GET", &caught_up, None).0 != 200 {}
}

#[test]
fn a_server_whose_etcd_is_cut_off() {
    let house = House::new("reality-cut", &[]);
    let Some(servers) = Servers::named(&house) else { return };
    let namespace = Namespace::new(&servers);
    namespace.seen(&namespace.write("POST", "a", "1"));
    let cut = servers.cut_off();
    namespace.write("PUT", "a", "2");
    let any = format!("{}?resourceVersion=0", configmaps(&servers.lagging));
    let mut answers = (0..).map(|_| servers.answer("GET", &any, None));
    let (status, refusal) = answers
        .find(|(status, list)| *status != 200 || list["items"][0]["data"]["x"] != "1")
        .expect("answers have no end");
    assert_eq!((status, refusal["message"].as_str()), (429, Some("storage is (re)initializing")));
    drop(cut);
    let caught_up =
        |(status, list): &(u16, Value)| *status == 200 && list["items"][0]["data"]["x"] == "2";
    assert!(answers.any(|answer| caught_up(&answer)));
}
