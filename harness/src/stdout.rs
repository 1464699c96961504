//! Results go to stdout, whose reader may have seen enough (`trommel show … | head`): that is no error.

use std::io::Write;

/// Writes a whole text. A reader that is gone ends the output, not the program.
pub fn write(text: &str) {
    let mut out = std::io::stdout().lock();
    // Nothing else can be done about a stdout that can't be written: the run folder has it all.
    drop(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}
