//! Results go to stdout, whose reader may have seen enough (`trommel show … | head`): that is no error. A full disk is one.

use std::{
    io::{self, ErrorKind, Write},
    sync::atomic::{AtomicBool, Ordering},
};

use crate::exit::Exit;

static LOST: AtomicBool = AtomicBool::new(false);

/// Writes a whole text. A reader that is gone ends the output, not the program.
pub fn write(text: &str) {
    let mut out = io::stdout().lock();
    let written = out.write_all(text.as_bytes()).and_then(|()| out.flush());
    if let Err(error) = written.as_ref().map_err(io::Error::kind)
        && error != ErrorKind::BrokenPipe
        && !LOST.swap(true, Ordering::Relaxed)
    {
        eprintln!("trommel: stdout can't be written: {error}");
    }
}

/// The exit code of a program that would end with this one: what was to be printed and is lost is a failure of the
/// machine. Findings come before that: the run folder has them.
pub fn exit(would_be: Exit) -> Exit {
    match would_be {
        Exit::Clean | Exit::Unknown | Exit::Nothing | Exit::Incomplete
            if LOST.load(Ordering::Relaxed) =>
        {
            Exit::Environment
        }
        other => other,
    }
}
