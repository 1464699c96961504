//! Ctrl-C: once means *finish what runs, report, exit 5*; twice means *stop now*.

use std::sync::atomic::{AtomicBool, Ordering};

static ASKED: AtomicBool = AtomicBool::new(false);

/// Whether the user asked to finish.
pub fn asked() -> bool {
    ASKED.load(Ordering::Relaxed)
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
        loop {
            tokio::select! {
                _ = interrupt.recv() => {}
                _ = terminate.recv() => {}
            }
            if ASKED.swap(true, Ordering::Relaxed) {
                // Subjects die with this process: each is in a process namespace that ends with it.
                std::process::exit(i32::from(crate::exit::Exit::Incomplete.code()));
            }
            eprintln!(
                "trommel: finishing the trials that run, then reporting; once more stops at once"
            );
        }
    };
    std::thread::Builder::new()
        .name("interrupt".to_owned())
        .spawn(move || runtime.block_on(listen))?;
    Ok(())
}
