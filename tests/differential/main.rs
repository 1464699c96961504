//! The embedded API server against the real one: the same requests to both, and their answers compared.
//!
//! Four questions, each a test: do the hand-written scripts (`scripts/*.yaml`, one a fact of the API) get
//! the same answers; do generated requests, and do those find defects
//! that are planted on purpose ([`defects`]); is the list of accepted differences (`accepted.yaml`) short,
//! reasoned and used. Answers are compared in a form that hides only what no two servers share ([`form`]):
//! uids, revisions, times, generated names, addresses.
//!
//! What is known to differ and not mended yet is counted: `open.yaml` has a number for each written script,
//! and generated scripts are under test for the `closed` types of `objects.yaml` only. All differences of
//! the last run stand in `target/tests/differential-written/differences.txt`.
//!
//! Reading order: [`script`] (what is sent), [`arm`] (to whom), [`run`] (what came back), [`form`]
//! (what of it counts), [`accepted`] (what may differ), then the two kinds of scripts: [`written`] and
//! [`generated`]; [`corpus`], which takes custom types of others; and [`hooks`], whom both servers call.

mod accepted;
mod arm;
mod corpus;
mod defects;
mod form;
mod generated;
mod hooks;
mod run;
mod script;
mod written;
