//! The node's side of logs, exec, attach and port-forward: what a kubelet answers where nothing really runs.
//!
//! What a container says and how a command ends in it, the user gives as [`Answers`]. Without an answer a log is
//! empty, and exec and attach fail as on a node whose runtime does not know the container; to a port that is forwarded
//! nobody listens. Which container, whether it runs, and the words of each error are upstream's (API server, kubelet
//! and the streaming server of container runtimes).
//!
//! A command is answered at once and in one go, whatever its standard input says. So neither time nor state is needed
//! for it: an upgraded connection is a function of the request ([`Talk`]) that is run by whoever owns the connection.
//!
//! Reading order: [`answers`] (what the user says), [`container`] (whether there is a log, whether it runs), [`log`]
//! and [`follow`]; [`begin`] and [`process`] (what an exec or attach comes to), [`upgrade`] (what a client asks to
//! speak), and the two languages: [`spdy`] and [`websocket`], in which [`remote_command`] and [`forward`] answer;
//! [`reach`] (what is said of a kubelet that is not there).
//!
//! Simplifications: who opens a connection and never the streams that it announced is waited for without end (a
//! kubelet gives up after 30 s), and idle connections are kept (4 h there). Who attaches sees what there is to see and
//! is let go, where upstream holds them until the container ends; a forwarded port stays open when its kubelet is
//! stopped. A log that is asked for over a WebSocket comes as plain text. Why a runtime could not reach a port is
//! worded shorter than by containerd, which also names its network namespace.

use std::{io, sync::Arc};

use futures::future::BoxFuture;
use serde_json::Value;

use crate::{server::Upgraded, world::meta};

pub mod answers;
pub(crate) mod begin;
pub(crate) mod container;
pub(crate) mod follow;
pub(crate) mod forward;
pub(crate) mod log;
pub(crate) mod process;
pub(crate) mod reach;
pub(crate) mod remote_command;
mod spdy;
pub(crate) mod upgrade;
mod websocket;
mod wire;

pub(crate) use upgrade::{Plain, Switch};

/// What becomes of a connection after its upgrade.
pub(crate) type Talk = Arc<dyn Fn(Upgraded) -> BoxFuture<'static, io::Result<()>> + Send + Sync>;

/// What a kubelet answers.
pub(crate) enum Reply {
    /// No upgrade.
    Plain(Plain),
    /// 101, and what is spoken then.
    Switch(Switch),
}

/// A pod as kubelets call it.
pub(crate) fn full_name(pod: &Value) -> String {
    format!("{}_{}", meta(pod, "name"), meta(pod, "namespace"))
}
