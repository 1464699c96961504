//! Calls: one request of one actor, and its answer.

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::key::{GroupResource, ObjectKey, ParseKeyError, Revision, serde_as_text};

/// Who acts. Written `subject/0` (replica 0), `user`, `environment/gc`, `trommel`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Actor {
    /// The controller under test, by replica.
    Subject(u32),
    /// The workload.
    User,
    /// A built-in controller, by name.
    Environment(Arc<str>),
    /// Trommel itself: manifests applied before the subject starts, observers of a real cluster.
    Trommel,
}

impl Actor {
    /// Whether this is the controller under test.
    pub fn is_subject(&self) -> bool {
        matches!(self, Actor::Subject(_))
    }
}

impl fmt::Display for Actor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Actor::Subject(replica) => write!(f, "subject/{replica}"),
            Actor::User => f.write_str("user"),
            Actor::Environment(name) => write!(f, "environment/{name}"),
            Actor::Trommel => f.write_str("trommel"),
        }
    }
}

impl FromStr for Actor {
    type Err = ParseKeyError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.split_once('/') {
            None if text == "user" => Ok(Actor::User),
            None if text == "trommel" => Ok(Actor::Trommel),
            Some(("subject", replica)) => {
                replica.parse().map(Actor::Subject).map_err(|_| ParseKeyError(text.into()))
            }
            Some(("environment", name)) => Ok(Actor::Environment(name.into())),
            _ => Err(ParseKeyError(text.into())),
        }
    }
}
serde_as_text!(Actor);

/// What a client showed of itself when it connected (TLS): its certificate, and those by which that may be traced to an
/// authority, in DER. That it has the certificate's key is known; whether the certificate counts is not. An extension of
/// each request of such a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClientCertificates(pub Arc<[Vec<u8>]>);

/// Numbers the calls of one history, from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CallId(pub u64);

/// Numbers the connections of one history, from 1. Calls on one HTTP/1.1 connection are in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConnectionId(pub u64);

/// Kubernetes request verbs (API concepts), plus `Other` for non-resource paths.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// GET of one object.
    Get,
    /// GET of a collection.
    List,
    /// GET of a collection or object with `watch=true`.
    Watch,
    /// POST.
    Create,
    /// PUT.
    Update,
    /// PATCH, any type.
    Patch,
    /// DELETE of one object.
    Delete,
    /// DELETE of a collection.
    DeleteCollection,
    /// Discovery, OpenAPI, health, version: paths that name no resource.
    Other,
}

impl Verb {
    /// Whether a call of this verb can change the store.
    pub fn is_write(self) -> bool {
        use Verb::*;
        matches!(self, Create | Update | Patch | Delete | DeleteCollection)
    }
}

impl fmt::Display for Verb {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verb::Get => "get",
            Verb::List => "list",
            Verb::Watch => "watch",
            Verb::Create => "create",
            Verb::Update => "update",
            Verb::Patch => "patch",
            Verb::Delete => "delete",
            Verb::DeleteCollection => "deletecollection",
            Verb::Other => "other",
        })
    }
}

/// A body as the record keeps it. The bytes that were forwarded are never changed.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Body {
    /// There was none.
    #[default]
    None,
    /// JSON, or protobuf decoded to the JSON of the same object.
    Json(Arc<Value>),
    /// Anything else: what it said it was, and how long it was in bytes.
    Opaque {
        /// The `Content-Type`.
        content_type: String,
        /// Length in bytes.
        length: u64,
    },
}

impl Body {
    /// The decoded object, if the body was one.
    pub fn json(&self) -> Option<&Arc<Value>> {
        match self {
            Body::Json(value) => Some(value),
            _ => None,
        }
    }
}

/// One request, when all of it had been received by the proxy.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Call {
    /// Its number in this history.
    pub id: CallId,
    /// Who sent it.
    pub actor: Actor,
    /// Which start of that actor sent it, from 0.
    pub incarnation: u32,
    /// On which connection.
    pub connection: ConnectionId,
    /// What it asks for.
    pub verb: Verb,
    /// The resource type, where the path names one.
    pub resource: Option<GroupResource>,
    /// API version in the path, for example `v1beta1`; empty for non-resource paths.
    pub version: String,
    /// Namespace in the path, or empty.
    pub namespace: String,
    /// Object name in the path, or empty (create, list, watch, deletecollection).
    pub name: String,
    /// `status`, `scale`, …; empty for the object itself.
    pub subresource: String,
    /// HTTP method.
    pub method: String,
    /// Path and query exactly as sent.
    pub uri: String,
    /// `Content-Type` of the request, or empty.
    pub content_type: String,
    /// `User-Agent`, or empty.
    pub user_agent: String,
    /// The decoded body.
    pub body: Body,
    /// The body's bytes as sent, kept in memory for as long as the trial runs; not written to files.
    #[serde(skip)]
    pub raw: Option<Arc<[u8]>>,
}

impl Call {
    /// Whether this call could change the store: a write verb without `dryRun`.
    pub fn is_write(&self) -> bool {
        self.verb.is_write() && !self.uri.contains("dryRun=All")
    }

    /// The object it names, if it names one.
    pub fn object_key(&self) -> Option<ObjectKey> {
        let resource = self.resource.clone()?;
        (!self.name.is_empty()).then(|| ObjectKey::new(resource, &self.namespace, &self.name))
    }
}

/// What became of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Fate {
    /// The whole answer was handed to the client's socket.
    Answered,
    /// Applied upstream, but the client never got the answer (it was killed, or a plan lost it).
    Lost,
    /// Never forwarded: held when its sender was killed, or refused by a plan.
    Dropped,
}

/// The end of a call.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// The call that it answers.
    pub call: CallId,
    /// What became of it.
    pub fate: Fate,
    /// HTTP status; 0 where there was none.
    pub status: u16,
    /// `metadata.resourceVersion` of the object or list in the answer.
    pub revision: Option<Revision>,
    /// The decoded body; lists are kept as [`Body::Opaque`] unless the recorder is asked for all.
    pub body: Body,
    /// It is not the cluster's: a plan had it given instead of asking the cluster.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub injected: bool,
}

impl Answer {
    /// 2xx.
    pub fn succeeded(&self) -> bool {
        (200..300).contains(&self.status)
    }
}
