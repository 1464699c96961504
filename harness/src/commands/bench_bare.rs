//! `trommel bare`: the controller without Trommel, for `cargo ci bench` to compare trials with.
//!
//! What is left is what any test of the controller needs: an API server and the process. The campaign's first
//! world, with the user's first writes done, is served on a plain listener of this machine; the controller is
//! an ordinary child: no namespaces, no tracing, its own clock, its output thrown away. Nothing stands between
//! the two, and the only thing recorded is the moment of the first write that is not bookkeeping.

use std::{
    path::Path,
    process::Stdio,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::Context;
use cluster::{Server, World};
use tokio::{net::TcpListener, sync::oneshot};
use trace::{Actor, Cursor, Event, Record, Recorder};
use workloads::OperationKind;

use crate::{
    campaign::setup::{self, Setup},
    config::Campaign,
    exit::{Exit, Expected},
    providers::{client_files, listener},
    trial::{
        cpu_time,
        incarnation::{Placeholders, environment, substitute},
    },
};

/// Whose all requests are.
const SUBJECT: Actor = Actor::Subject(0);

/// A controller that has not written by then never will.
const PATIENCE: Duration = Duration::from_secs(30);

/// `trommel bare`.
#[derive(Debug, clap::Args)]
pub struct Options {
    /// The campaign file.
    campaign: std::path::PathBuf,
    /// How often.
    #[arg(short = 'k', long, default_value_t = 1)]
    repeats: u32,
}

/// From exec to the first write.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
#[serde(rename_all = "camelCase")]
struct FirstWrite {
    /// Real time.
    seconds: f64,
    /// Processor time of the controller.
    cpu_seconds: f64,
}

/// Measures, and prints the measurements as JSON.
///
/// # Errors
/// A campaign that is wrong, or whose controller does not write.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let campaign = Campaign::load(&options.campaign, None)?;
    setup::build(&campaign)?;
    let files = tempfile::tempdir()?;
    let setup = Setup::prepare(campaign, files.path(), 1)?;
    let Some(first) = setup.ground.world() else {
        return Err(Expected::error(
            Exit::Usage,
            "only the embedded cluster can be served like this",
        ));
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let world = runtime.block_on(asked_for(&setup, first))?;
    let mut all = Vec::new();
    for _ in 0..options.repeats {
        // A runtime each, so that nothing of one controller is left when the next starts.
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        all.push(runtime.block_on(once(&setup, &world, files.path()))?);
    }
    println!("{}", serde_json::to_string(&all)?);
    Ok(Exit::Clean)
}

/// The first world with the writes done that the workload begins with: what a controller finds that is started
/// again right after them.
async fn asked_for(setup: &Setup, first: &World) -> anyhow::Result<World> {
    let server = Server::new(first.clone(), None);
    let user = workloads::Client::new(server.service());
    let mut cursor = Cursor::default();
    while let Some(operation) = setup.workload.operation(cursor) {
        let OperationKind::Act(_) = operation.kind else { break };
        for document in 0..operation.documents() {
            workloads::act(operation, document, &user).await?;
        }
        cursor.operation += 1;
    }
    Ok(server.world())
}

async fn once(setup: &Setup, world: &World, files: &Path) -> anyhow::Result<FirstWrite> {
    let pid = Arc::new(AtomicU32::new(0));
    let (recorder, first_write) = until_first_write(pid.clone());
    let server = Server::new(world.clone(), Some(recorder));
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let port = listener.local_addr()?.port();
    let path = files.join("kubeconfig");
    client_files::write(&path, port, setup, &setup.token)?;
    let service = server.service();
    tokio::spawn(listener::serve(listener, service, setup.certificates.server.clone(), SUBJECT));

    let placeholders = Placeholders { kubeconfig: &path, port, replica: 0 };
    let command = substitute(&setup.command, &placeholders);
    let (program, arguments) = command.split_first().context("an empty command")?;
    let mut controller = tokio::process::Command::new(program);
    controller
        .args(arguments)
        .current_dir(&setup.campaign.folder)
        .env_clear()
        .envs(environment(setup, &setup.campaign.file.spec.subject.env, files, &placeholders))
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .kill_on_drop(true);
    let exec = Instant::now();
    let mut child = controller.spawn().with_context(|| format!("cannot start {program}"))?;
    pid.store(child.id().unwrap_or(0), Ordering::Relaxed);
    let (at, cpu) = tokio::select! {
        written = tokio::time::timeout(PATIENCE, first_write) => written
            .map_err(|_| silent(&format!("the controller wrote nothing in {PATIENCE:?}")))?
            .context("the server is gone")?,
        ended = child.wait() => {
            return Err(silent(&format!("the controller ended ({}) before it wrote", ended?)));
        }
    };
    child.kill().await?;
    Ok(FirstWrite { seconds: (at - exec).as_secs_f64(), cpu_seconds: cpu.as_secs_f64() })
}

fn silent(what: &str) -> anyhow::Error {
    Expected::error(
        Exit::Usage,
        format!("{what}; the campaign's first steps must give it reason to write"),
    )
}

/// A recorder that tells once: when the first write was committed that is not bookkeeping, and what the writer
/// had used by then.
fn until_first_write(pid: Arc<AtomicU32>) -> (Recorder, oneshot::Receiver<(Instant, Duration)>) {
    let (tell, told) = oneshot::channel();
    let mut tell = Some(tell);
    let sink = move |record: &Record| {
        let Event::Commit(commit) = &record.event else { return };
        if commit.is_bookkeeping() {
            return;
        }
        if let Some(tell) = tell.take() {
            let at = Instant::now();
            let _ = tell.send((at, cpu_time::of_process(pid.load(Ordering::Relaxed)))); // nobody waits any more
        }
    };
    (Recorder::new(Arc::new(Default::default), Some(Box::new(sink))), told)
}
