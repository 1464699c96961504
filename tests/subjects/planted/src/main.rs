//! Controllers with one planted bug each: `planted BUG [--fixed]`.
//!
//! Each bug is a file whose first comment says what is wrong and which schedule shows it; nothing
//! shorter does, and nothing at all shows in a run without a crash. `--fixed` selects the twin that
//! holds under every schedule. The campaigns are in `tests/campaigns/BUG/`.
//!
//! All of them read the object that they reconcile from the server, not from the cache, so that
//! what they write is a function of the world and of what they remember, never of how fast a watch
//! is.
#![allow(clippy::print_stderr)] // stderr is these controllers' log

mod age;
mod chosen;
mod controller;
mod creation_order;
mod deleted_while_down;
mod impatient;
mod late_sweep;
mod late_work;
mod managed_fields;
mod observed_generation;
mod secret_state;
mod two_crashes;
mod user_write;

use anyhow::bail;
use kube::{Client, runtime::watcher};

const USAGE: &str = "usage: planted BUG [--fixed], where BUG is age, chosen, creation-order, \
                     deleted-while-down, impatient, late-sweep, late-work, managed-fields, \
                     observed-generation, secret-state, streamed, two-crashes or user-write";

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let mut arguments = std::env::args().skip(1);
    let bug = arguments.next().unwrap_or_default();
    let fixed = match arguments.next().as_deref() {
        None => false,
        Some("--fixed") => true,
        Some(other) => bail!("unknown argument {other}; {USAGE}"),
    };
    let client = Client::try_default().await?;
    match bug.as_str() {
        "age" => age::run(client, fixed).await,
        "chosen" => chosen::run(client).await,
        "creation-order" => creation_order::run(client, fixed).await,
        "deleted-while-down" => deleted_while_down::run(client, fixed).await,
        "impatient" => impatient::run(client, impatient::from_cache()).await,
        "late-sweep" => late_sweep::run(client, fixed).await,
        "late-work" => late_work::run(client, fixed).await,
        "managed-fields" => managed_fields::run(client, fixed).await,
        "observed-generation" => observed_generation::run(client, fixed).await,
        "secret-state" => secret_state::run(client, fixed).await,
        "streamed" => impatient::run(client, watcher::Config::default().streaming_lists()).await,
        "two-crashes" => two_crashes::run(client, fixed).await,
        "user-write" => user_write::run(client, fixed).await,
        _ => bail!("{USAGE}"),
    }
    Ok(())
}
