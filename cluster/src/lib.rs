//! The embedded API server: forkable store, verbs, schemas, encodings.
