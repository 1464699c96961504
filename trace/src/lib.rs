//! The words of Trommel: what happened, and when two things that happened are the same.
//!
//! Values only. No clock, no environment, no schema facts: times are passed in, facts about Kubernetes
//! types come in as tables. Same input, same bytes out.
//!
//! Reading order: [`key`] and [`time`] name things; [`call`], [`watch`], [`commit`], [`process`] and
//! [`step`] are the five kinds of things that happen, and [`webhook`] what the server asks others meanwhile; [`history`] puts them in one order and [`file`] on
//! disk; [`identity`] and [`comparison`] say when two worlds are the same, [`footprint`] what of them a subject looks at; [`diff`] shows a difference.

pub mod key;
pub mod time;

pub mod call;
pub mod commit;
pub mod process;
pub mod step;
pub mod watch;
pub mod webhook;

pub mod flight;
pub mod footprint;
pub mod heartbeat;
pub mod history;

pub mod comparison;
pub mod diff;
mod drawn;
pub mod file;
pub mod identity;
mod made;
mod sets;
mod tokens;
pub mod versions;

pub use call::{Actor, Answer, Body, Call, CallId, ClientCertificates, ConnectionId, Fate, Verb};
pub use commit::{Change, Commit};
pub use comparison::{Accepted, Folder, Mask, Masks, Path, WorldForm, comparison, fold_key};
pub use drawn::DrawnNames;
pub use flight::{Flight, SocketPair};
pub use footprint::Footprint;
pub use heartbeat::Heartbeats;
pub use history::{Event, History, Record, Recorder};
pub use identity::{Context, Identity, Level, canonical_world, identity};
pub use key::{GroupResource, ObjectKey, Revision};
pub use process::{ProcessEvent, ProcessHappening};
pub use step::{Cursor, Lack, Settled, StepEvent, StepState, Unmet};
pub use time::Time;
pub use watch::{Delivery, DeliveryKind};
pub use webhook::{Webhook, WebhookOutcome};
