//! A controller that makes one Foo for each Bar: small, ordinary, and wrong.
//!
//! It finds its cluster as any kube-rs program does (`KUBECONFIG`, or the Pod it runs in).
//! `--fixed` selects the repaired reconciler. The two differ in one function:
//! [`as_written::create_foo`] and [`fixed::create_foo`].
#![allow(clippy::print_stderr)] // stderr is this controller's log
#![allow(clippy::disallowed_names)] // Foo is what the thing is called here

mod as_written;
mod fixed;
mod resources;

use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use futures::StreamExt;
use kube::api::{Api, PostParams};
use kube::runtime::controller::{Action, Controller};
use kube::runtime::watcher;
use kube::{Client, ResourceExt};

use resources::{Bar, BarStatus, ObjRef};

/// How long a failed reconcile waits before it is tried again.
const RETRY: Duration = Duration::from_millis(500);

struct Context {
    client: Client,
    fixed: bool,
}

/// One thread is plenty, and starts faster than one per core.
#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let fixed = match std::env::args().nth(1).as_deref() {
        None => false,
        Some("--fixed") => true,
        Some(other) => bail!("unknown argument {other}; usage: bar-foo [--fixed]"),
    };
    let client = Client::try_default().await?;
    let bars: Api<Bar> = Api::all(client.clone());
    let context = Arc::new(Context { client, fixed });

    // Foos are not watched: nobody else makes them, and what was made is in the Bar's status.
    Controller::new(bars, watcher::Config::default())
        .run(reconcile, on_error, context)
        .for_each(|_| std::future::ready(()))
        .await;
    Ok(())
}

/// Brings one Bar, as the cache shows it, to where its status names its Foo.
async fn reconcile(bar: Arc<Bar>, context: Arc<Context>) -> Result<Action, kube::Error> {
    let done = bar.status.as_ref().is_some_and(|status| status.obj_ref.is_some());
    if done {
        return Ok(Action::await_change());
    }
    let namespace = bar.namespace().unwrap_or_default();

    let foos = Api::namespaced(context.client.clone(), &namespace);
    let foo = match context.fixed {
        false => as_written::create_foo(&foos, &bar).await?,
        true => fixed::create_foo(&foos, &bar).await?,
    };
    eprintln!("bar {namespace}/{}: its foo is {}", bar.name_any(), foo.name_any());

    let mut marked = Bar::clone(&bar);
    marked.status = Some(BarStatus { obj_ref: Some(ObjRef { name: foo.name_any() }) });
    let bars: Api<Bar> = Api::namespaced(context.client.clone(), &namespace);
    bars.replace_status(&bar.name_any(), &PostParams::default(), &marked).await?;
    Ok(Action::await_change())
}

fn on_error(bar: Arc<Bar>, error: &kube::Error, _: Arc<Context>) -> Action {
    eprintln!("bar {}: {error}; again in {RETRY:?}", bar.name_any());
    Action::requeue(RETRY)
}
