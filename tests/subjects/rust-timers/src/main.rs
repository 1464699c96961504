//! What Rust controllers do with time, one way a mode: `rust-timers requeue|thread|restless|beats|late|relist|minutes|stamps|mirror`. Each thing that happens is
//! one line, `WORD at TIME`.
#![allow(clippy::print_stdout)] // stdout is this controller's log
#![allow(clippy::disallowed_methods)] // a thread that sleeps is what is tested

mod mirror;
mod stamps;

use std::{sync::Arc, time::Duration};

use anyhow::bail;
use futures::StreamExt;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, WatchParams},
    runtime::{
        controller::{Action, Controller},
        watcher,
    },
};

#[tokio::main]
async fn main() -> anyhow::Result<()> {
    let client = Client::try_default().await?;
    match std::env::args().nth(1).as_deref() {
        Some("requeue") => requeue(client).await,
        Some("thread") => thread(client).await?,
        Some("restless") => restless(client).await?,
        Some("beats") => beats(client).await?,
        Some("late") => late(client).await?,
        Some("relist") => relist(client).await?,
        Some("minutes") => stamps::minutes(client).await?,
        Some("stamps") => {
            let work = std::env::args().nth(2).and_then(|text| text.parse().ok());
            stamps::stamps(client, Duration::from_millis(work.unwrap_or(0))).await?;
        }
        Some("mirror") => mirror::mirror(client).await?,
        other => bail!(
            "usage: rust-timers requeue|thread|restless|late|relist|minutes|stamps [MS]|mirror, not {other:?}"
        ),
    }
    Ok(())
}

/// kube-rs: every ConfigMap again five minutes after it was handled.
async fn requeue(client: Client) {
    let watched: Api<ConfigMap> = Api::default_namespaced(client);
    let reconcile = |_: Arc<ConfigMap>, _: Arc<()>| async {
        say("reconcile");
        Ok::<_, kube::Error>(Action::requeue(Duration::from_secs(300)))
    };
    Controller::new(watched, watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(1)), Arc::new(()))
        .for_each(|_| std::future::ready(()))
        .await;
}

/// A thread that sleeps ten minutes again and again, beside an idle runtime.
async fn thread(client: Client) -> anyhow::Result<()> {
    let read: Api<ConfigMap> = Api::default_namespaced(client);
    read.list(&Default::default()).await?;
    std::thread::spawn(|| {
        loop {
            say("reconcile");
            std::thread::sleep(Duration::from_secs(600));
        }
    });
    std::future::pending().await
}

/// Undoes every five seconds what it did before: it never comes to rest.
async fn restless(client: Client) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut pause = tokio::time::interval(Duration::from_secs(5));
    for value in ["on", "off"].iter().cycle() {
        pause.tick().await;
        let patch = Patch::Merge(serde_json::json!({"data": {"switch": value}}));
        if config_maps.get_opt("one").await?.is_some() {
            config_maps.patch("one", &PatchParams::default(), &patch).await?;
        }
    }
    Ok(())
}

/// Says every five seconds that it lives, by a time in an annotation, as leader election did before Leases.
async fn beats(client: Client) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut pause = tokio::time::interval(Duration::from_secs(5));
    loop {
        pause.tick().await;
        let renewed = jiff::Timestamp::now().to_string();
        let annotations = serde_json::json!({"example.com/renewed": renewed});
        let patch = Patch::Merge(serde_json::json!({"metadata": {"annotations": annotations}}));
        if config_maps.get_opt("one").await?.is_some() {
            config_maps.patch("one", &PatchParams::default(), &patch).await?;
        }
    }
}

/// Makes a ConfigMap `late` 250 seconds after it has found `one`, and lives on.
async fn late(client: Client) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let mut pause = tokio::time::interval(Duration::from_secs(1));
    while config_maps.get_opt("one").await?.is_none() {
        pause.tick().await;
    }
    tokio::time::sleep(Duration::from_secs(250)).await;
    let late = serde_json::from_value(serde_json::json!({"metadata": {"name": "late"}}))?;
    config_maps.create(&Default::default(), &late).await?;
    std::future::pending().await
}

/// Watches for a minute, and then lists and watches again, as operators in Python often do.
async fn relist(client: Client) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    loop {
        say("list");
        let list = config_maps.list(&Default::default()).await?;
        let version = list.metadata.resource_version.unwrap_or_default();
        let mut events =
            config_maps.watch(&WatchParams::default().timeout(60), &version).await?.boxed();
        while events.next().await.is_some() {}
    }
}

fn say(word: &str) {
    println!("{word} at {}", jiff::Timestamp::now());
}
