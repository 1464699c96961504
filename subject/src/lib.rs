//! Runs an unmodified controller process: start, kill, freeze, quiet, clock.
