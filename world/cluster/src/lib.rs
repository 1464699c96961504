//! The embedded API server: forkable store, verbs, schemas, encodings.
//!
//! A [`World`] is a whole cluster as a value; a [`Server`] puts one to work behind HTTP. Reading order:
//! [`store`] (objects and revisions), [`names`], [`world`]; `route` (what a path names), `verbs` (what a
//! request does), `watch` (who is told), `auth` and `rbac` (who may), `webhooks` (whose say a write needs), `node` (logs and exec), `server` (lock, bytes); and the pure parts: [`facts`],
//! [`schema`], `cel` (rules of custom types), [`patch`], [`openapi`]; and who runs the built-in controllers: [`environment`].
//!
//! The server does not know that faults exist, takes time from its world only, and has one writer.

mod admission;
pub mod apply;
mod auth;
mod cel;
mod crd;
mod discovery;
pub mod encoding;
pub mod environment;
pub mod facts;
pub mod names;
mod node;
pub mod openapi;
pub mod patch;
mod policies;
mod rbac;
mod route;
pub mod schema;
pub mod server;
pub mod status;
pub mod store;
pub mod table;
mod validation;
mod verbs;
mod watch;
mod webhooks;
pub mod world;

pub use auth::{ADMIN_TOKEN, Authorization, x509::AuthorityError};
pub use controllers::Controller;
pub use environment::{
    EnvironmentOptions, REQUESTS_WITHOUT_REST, Restless, client_authority, pace::Pace,
    schedule::Turn, use_authority,
};
pub use facts::Release;
pub use names::SuffixOrder;
pub use node::answers::{Answer, Answers};
pub use server::{Body, BoxError, Clock, Conversation, Server, Step, Upgraded, Upstream};
pub use store::{Logged, Packed};
pub use webhooks::{Caller, Destination, SharedCaller, WebhookAnswer, WebhookCall};
pub use world::{PackedWorld, World, WorldOptions};
