//! The embedded API server: forkable store, verbs, schemas, encodings.

pub mod facts;
pub mod openapi;
pub mod patch;
pub mod schema;
