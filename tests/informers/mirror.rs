//! A program that keeps informers and tells what their caches hold (`tests/subjects/*/mirror.*`).

use std::{
    collections::BTreeMap,
    process::Stdio,
    time::{Duration, Instant},
};

use tokio::{
    io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines},
    process::{Child, ChildStdin, ChildStdout, Command},
};

use crate::door::Door;

/// Cache → name of the object → its revision and its value.
pub type Held = BTreeMap<String, BTreeMap<String, String>>;

/// One that runs; it ends when this is dropped.
pub struct Mirror {
    /// Of the client library.
    pub name: &'static str,
    _process: Child,
    stdin: ChildStdin,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Mirror {
    /// A client of this door.
    pub fn start(name: &'static str, command: &[String], door: &Door) -> Mirror {
        let mut process = Command::new(&command[0])
            .args(&command[1..])
            .env("KUBECONFIG", &door.kubeconfig)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap_or_else(|error| panic!("{name}: {error}"));
        let stdin = process.stdin.take().expect("a pipe");
        let lines = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        Mirror { name, _process: process, stdin, lines }
    }

    /// Asks what it holds, and reads what it says of each change, until it holds this.
    pub async fn comes_to(&mut self, expect: &Held, limit: Duration) {
        self.stdin.write_all(b"now\n").await.expect("it reads");
        let end = tokio::time::Instant::from_std(Instant::now() + limit);
        let mut held = Held::new();
        while held != *expect {
            match tokio::time::timeout_at(end, self.lines.next_line()).await {
                Ok(Ok(Some(line))) => {
                    held = serde_json::from_str(&line)
                        .unwrap_or_else(|error| panic!("{}: {error}: {line}", self.name));
                }
                Ok(other) => panic!("{} ended: {other:?}", self.name),
                Err(_) => panic!("{}: {}", self.name, differences(expect, &held)),
            }
        }
    }
}

fn differences(expect: &Held, held: &Held) -> String {
    let mut lines = vec!["its caches are not what the store holds:".to_owned()];
    for (cache, objects) in expect {
        let held = held.get(cache).cloned().unwrap_or_default();
        let names: std::collections::BTreeSet<_> = objects.keys().chain(held.keys()).collect();
        for name in names.into_iter().filter(|name| objects.get(*name) != held.get(*name)) {
            let (store, cached) = (objects.get(name), held.get(name));
            lines.push(format!("{cache} {name}: store {store:?}, cache {cached:?}"));
        }
    }
    lines.join("\n")
}
