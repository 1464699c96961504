//! Informers of client-go, controller-runtime, kube-rs and Python against the embedded server, under random writes, while their connections break and
//! the revisions that they know are forgotten: in the end each cache holds what the store holds.

mod door;
mod mirror;
mod writes;

use std::time::Duration;

use cluster::{Server, SuffixOrder, World, WorldOptions};
use futures::future::join_all;
use trace::Time;
use trommel_tests::{Need, needs, product, subjects};

use door::Door;
use mirror::Mirror;
use writes::Writer;

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000_000);
/// How often all connections break. Some clients wait twice as long each time before they come back.
const ROUNDS: usize = 6;
/// Against hanging for ever only: what has not come back by then never will.
const LIMIT: Duration = Duration::from_secs(120);

/// The clients: name, and the command without the kubeconfig. Not fabric8's (`tests/subjects/java-timers`, `Mirror`): when
/// its connections were cut it did not come back to two of three watches within two minutes, and why is not known.
fn clients() -> Vec<(&'static str, Vec<String>)> {
    let text = |path: std::path::PathBuf| path.display().to_string();
    let go = subjects::built("go-timers");
    let python = subjects::built("python-bar-foo");
    let words = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
    vec![
        ("client-go", words(&[&text(go.join("bin/current")), "mirrored"])),
        ("client-go, two years old", words(&[&text(go.join("bin/old")), "mirrored"])),
        ("controller-runtime", words(&[&text(go.join("bin/current")), "cached"])),
        ("controller-runtime, two years old", words(&[&text(go.join("bin/old")), "cached"])),
        ("kube-rs", words(&[&text(product::binary().with_file_name("rust-timers")), "mirror"])),
        (
            "Python",
            words(&[&text(python.join(".venv/bin/python")), &text(python.join("mirror.py"))]),
        ),
    ]
}

#[test]
fn caches_end_as_the_store() {
    if !needs(&[Need::Go, Need::Python]) {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(under_load());
}

async fn under_load() {
    let world =
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending });
    let server = Server::new(world, None);
    let mut writer = Writer::new(&server).await;
    writer.some(300).await;
    let mut pairs = Vec::new();
    for (name, command) in clients() {
        let door = Door::open(name, &server).await;
        let mirror = Mirror::start(name, &command, &door);
        pairs.push((door, mirror));
    }
    watching(&pairs).await;
    for round in 0..ROUNDS {
        writer.some(80).await;
        // In the middle of what the watches have to tell.
        pairs.iter().for_each(|(door, _)| door.cut());
        if round % 2 == 1 {
            // Before anybody is back, so nobody can go on from what they knew: 410.
            writer.at_once(40).await;
            server.compact(server.revision());
        }
        writer.some(40).await;
        watching(&pairs).await;
    }
    writer.some(80).await;
    let expect = writer.store().await;
    for (door, mut mirror) in pairs {
        mirror.comes_to(&expect, LIMIT).await;
        // Each began with lists, and had to list again after it was told that its revisions are gone.
        let relists = door.lists() - 3;
        assert!(relists >= ROUNDS / 2, "{}: listed again only {relists} times", mirror.name);
    }
}

/// Until each client watches all three things.
async fn watching(pairs: &[(Door, Mirror)]) {
    let all = join_all(pairs.iter().map(|(door, _)| door.watched()));
    if tokio::time::timeout(LIMIT, all).await.is_err() {
        let missing = pairs.iter().filter_map(|(door, _)| door.missing());
        panic!("{}", missing.collect::<Vec<_>>().join("\n"));
    }
}
