//! Ctrl-C: once means *finish what runs, report, exit 5*; twice means *stop now*.

use std::{
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};

use crate::exit::{Exit, Expected};

/// What comes so soon after the first signal is the same one: `timeout`, shells and CI systems send theirs to the
/// process and to its group.
const SAME: Duration = Duration::from_secs(1);

static ASKED: AtomicBool = AtomicBool::new(false);
static LEFT: OnceLock<String> = OnceLock::new();

/// Says what an end at once leaves behind, and how it goes.
pub fn leaves(sentence: String) {
    drop(LEFT.set(sentence));
}

/// Whether the user asked to finish.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
}

/// # Errors
/// The user asked to finish, while this was under way: exit 5.
pub fn check(during: &str) -> anyhow::Result<()> {
    match asked() {
        true => Err(Expected::error(Exit::Incomplete, format!("interrupted during {during}"))),
        false => Ok(()),
    }
}

/// Listens for SIGINT and SIGTERM from now on, on a thread of its own.
pub fn listen() -> anyhow::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let listen = async {
        use tokio::signal::unix::{SignalKind, signal};
        let (Ok(mut interrupt), Ok(mut terminate)) =
            (signal(SignalKind::interrupt()), signal(SignalKind::terminate()))
        else {
            return;
        };
        let mut first: Option<Instant> = None;
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            match first {
                Some(first) if first.elapsed() < SAME => {}
                // Subjects die with this process: each is in a process namespace that ends with it.
                Some(_) => {
                    if let Some(left) = LEFT.get() {
                        eprintln!("trommel: stopped at once: {left}");
                    }
                    std::process::exit(i32::from(Exit::Incomplete.code()))
                }
                None => {
                    first = Some(Instant::now());
                    ASKED.store(true, Ordering::Relaxed);
                    eprintln!(
                        "trommel: finishing the running trials, then writing the report; interrupt again to stop at once"
                    );
                }
            }
        }
    };
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || runtime.block_on(listen))?;
    Ok(())
}
