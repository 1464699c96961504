//! The crate at work over real sockets.
