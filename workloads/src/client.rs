//! The user's connection to a cluster.
//!
//! A small typed API over any service of HTTP requests: the embedded server in process, a proxy, or a real
//! one. Every request carries [`trace::Actor`] as an extension and says `User-Agent: trommel-user`.
//! Kinds are looked up in the API's own discovery, one group-version at a time, and looked up again when one
//! is missing: it may have come with a CRD since.
//!
//! A client is also the user's *session*: it keeps the outputs of operations. Clones share all of it.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    pin::Pin,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::ServiceExt;
use trace::Actor;

use crate::operation::Outputs;

/// An error of the transport.
pub type BoxError = Box<dyn std::error::Error + Send + Sync>;
/// A body of a request or an answer.
pub type Body = http_body_util::combinators::UnsyncBoxBody<Bytes, BoxError>;
/// Whatever serves the API.
pub type Upstream = tower::util::BoxCloneSyncService<Request<Body>, http::Response<Body>, BoxError>;

/// Acts as one actor on one cluster.
#[derive(Clone)]
pub struct Client {
    upstream: Upstream,
    actor: Actor,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Shared {
    /// Resource types by `apiVersion` and kind.
    resources: Mutex<BTreeMap<(String, String), Resource>>,
    outputs: Mutex<Outputs>,
}

/// A resource type as discovery describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resource {
    /// `apps/v1`, `v1`.
    pub api_version: String,
    /// `Deployment`.
    pub kind: String,
    /// `deployments`.
    pub plural: String,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
}

/// A request that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No answer.
    #[error("{method} {path}: no answer: {source}")]
    Transport {
        /// HTTP method.
        method: Method,
        /// Path and query.
        path: String,
        /// Why.
        source: BoxError,
    },
    /// The API answered with an error; the message is its own.
    #[error("{message} ({})", format!("{code} {reason}").trim_end())]
    Refused {
        /// HTTP status.
        code: u16,
        /// `reason` of the `Status`, for example `AlreadyExists`.
        reason: String,
        /// `message` of the `Status`, or the body's text.
        message: String,
    },
    /// Discovery knows no such kind.
    #[error("the cluster has no kind {kind} in {api_version}{}", .hint)]
    UnknownKind {
        /// As the document says.
        api_version: String,
        /// As the document says.
        kind: String,
        /// Kinds that are there, where the group-version is.
        hint: String,
    },
    /// The API answered with something that is no JSON object.
    #[error("{method} {path}: the answer is no JSON: {message}")]
    Malformed {
        /// HTTP method.
        method: Method,
        /// Path and query.
        path: String,
        /// Why.
        message: String,
    },
}

impl ClientError {
    /// HTTP status, or 0 where there was none.
    pub fn code(&self) -> u16 {
        match self {
            ClientError::Refused { code, .. } => *code,
            _ => 0,
        }
    }

    /// Whether there is no such object.
    pub fn is_not_found(&self) -> bool {
        self.code() == 404
    }
}

/// Media type of merge patches (RFC 7386).
pub(crate) const MERGE_PATCH: &str = "application/merge-patch+json";
const JSON: &str = "application/json";

impl Client {
    /// The user's client.
    pub fn new(upstream: Upstream) -> Client {
        Client::as_actor(upstream, Actor::User)
    }

    /// A client of another actor's: [`Actor::Trommel`] applies manifests before the start.
    pub fn as_actor(upstream: Upstream, actor: Actor) -> Client {
        Client { upstream, actor, shared: Arc::default() }
    }

    /// The resource type of a kind.
    pub async fn resource(&self, api_version: &str, kind: &str) -> Result<Resource, ClientError> {
        let key = (api_version.to_owned(), kind.to_owned());
        if let Some(resource) = lock(&self.shared.resources).get(&key) {
            return Ok(resource.clone());
        }
        let prefix = if api_version.contains('/') { "/apis" } else { "/api" };
        let unknown = |hint: String| ClientError::UnknownKind {
            api_version: api_version.to_owned(),
            kind: kind.to_owned(),
            hint,
        };
        let path = format!("{prefix}/{}", escape(api_version, "/"));
        let list = match self.send(Method::GET, &path, None).await {
            Ok(list) => list,
            Err(error) if error.is_not_found() => return Err(unknown(String::new())),
            Err(error) => return Err(error),
        };
        let mut kinds = Vec::new();
        let mut resources = lock(&self.shared.resources);
        for row in list["resources"].as_array().into_iter().flatten() {
            let text = |key: &str| row[key].as_str().unwrap_or_default().to_owned();
            let resource = Resource {
                api_version: api_version.to_owned(),
                kind: text("kind"),
                plural: text("name"),
                namespaced: row["namespaced"].as_bool().unwrap_or(false),
            };
            if resource.plural.contains('/') {
                continue; // a subresource
            }
            kinds.push(resource.kind.clone());
            resources.insert((api_version.to_owned(), resource.kind.clone()), resource);
        }
        resources
            .get(&key)
            .cloned()
            .ok_or_else(|| unknown(format!("; it has {}", kinds.join(", "))))
    }

    /// Forgets what discovery said: after CRDs changed.
    pub fn forget_resources(&self) {
        lock(&self.shared.resources).clear();
    }

    /// GET of one object.
    pub async fn get(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
    ) -> Result<Value, ClientError> {
        self.send(Method::GET, &resource.path(namespace, name, ""), None).await
    }

    /// GET of all objects; `namespace` empty for all namespaces, `selector` a label selector or empty.
    pub async fn list(
        &self,
        resource: &Resource,
        namespace: &str,
        selector: &str,
    ) -> Result<Vec<Value>, ClientError> {
        let mut path = resource.path(namespace, "", "");
        if !selector.is_empty() {
            let _ = write!(path, "?labelSelector={}", escape(selector, ""));
        }
        let mut list = self.send(Method::GET, &path, None).await?;
        let Value::Array(mut items) = list["items"].take() else { return Ok(Vec::new()) };
        for item in &mut items {
            // Items of a list do not say what they are.
            if let Value::Object(map) = item {
                map.entry("apiVersion").or_insert_with(|| resource.api_version.as_str().into());
                map.entry("kind").or_insert_with(|| resource.kind.as_str().into());
            }
        }
        Ok(items)
    }

    /// POST.
    pub async fn create(
        &self,
        resource: &Resource,
        namespace: &str,
        object: &Value,
        query: &str,
    ) -> Result<Value, ClientError> {
        let path = resource.path(namespace, "", "") + query;
        self.send(Method::POST, &path, Some((JSON, object))).await
    }

    /// PUT.
    pub async fn replace(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        object: &Value,
        query: &str,
    ) -> Result<Value, ClientError> {
        let path = resource.path(namespace, name, "") + query;
        self.send(Method::PUT, &path, Some((JSON, object))).await
    }

    /// PATCH with a merge patch; `subresource` may be empty.
    pub async fn merge_patch(
        &self,
        resource: &Resource,
        namespace: &str,
        (name, subresource): (&str, &str),
        patch: &Value,
        query: &str,
    ) -> Result<Value, ClientError> {
        let path = resource.path(namespace, name, subresource) + query;
        self.send(Method::PATCH, &path, Some((MERGE_PATCH, patch))).await
    }

    /// DELETE of one object, with options.
    pub async fn delete(
        &self,
        resource: &Resource,
        namespace: &str,
        name: &str,
        options: &Value,
    ) -> Result<Value, ClientError> {
        let path = resource.path(namespace, name, "");
        self.send(Method::DELETE, &path, Some((JSON, options))).await
    }

    /// Asks for the eviction of a pod, which a PodDisruptionBudget can refuse with 429.
    pub async fn evict(&self, namespace: &str, pod: &str) -> Result<(), ClientError> {
        let eviction = serde_json::json!({
            "apiVersion": "policy/v1", "kind": "Eviction",
            "metadata": {"name": pod, "namespace": namespace},
        });
        let (namespace, pod) = (escape(namespace, ""), escape(pod, ""));
        let path = format!("/api/v1/namespaces/{namespace}/pods/{pod}/eviction");
        self.send(Method::POST, &path, Some((JSON, &eviction))).await.map(drop)
    }

    async fn send(
        &self,
        method: Method,
        path: &str,
        body: Option<(&str, &Value)>,
    ) -> Result<Value, ClientError> {
        let transport = |source: BoxError| ClientError::Transport {
            method: method.clone(),
            path: path.to_owned(),
            source,
        };
        let mut request = Request::builder()
            .method(method.clone())
            .uri(path)
            .extension(self.actor.clone())
            .header(header::USER_AGENT, "trommel-user")
            .header(header::ACCEPT, JSON);
        if let Some((content_type, _)) = body {
            request = request.header(header::CONTENT_TYPE, content_type);
        }
        let bytes = body.map(|(_, body)| Bytes::from(body.to_string())).unwrap_or_default();
        let body = Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
        let request = request.body(body).map_err(|error| transport(error.into()))?;
        let response = call(self.upstream.clone(), request).await.map_err(transport)?;
        let (head, body) = response.into_parts();
        let bytes = body.collect().await.map_err(transport)?.to_bytes();
        let value = serde_json::from_slice::<Value>(&bytes);
        if !head.status.is_success() {
            return Err(refused(head.status, value.ok(), &bytes));
        }
        value.map_err(|error| ClientError::Malformed {
            method,
            path: path.to_owned(),
            message: error.to_string(),
        })
    }

    pub(crate) fn outputs(&self) -> MutexGuard<'_, Outputs> {
        lock(&self.shared.outputs)
    }
}

impl std::fmt::Debug for Client {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Client").field("actor", &self.actor).finish_non_exhaustive()
    }
}

impl Resource {
    /// Request path; `namespace` is left out for resources without namespaces, an empty `name` means all.
    fn path(&self, namespace: &str, name: &str, subresource: &str) -> String {
        let prefix = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let mut path = format!("{prefix}/{}", escape(&self.api_version, "/"));
        if self.namespaced && !namespace.is_empty() {
            let _ = write!(path, "/namespaces/{}", escape(namespace, ""));
        }
        for part in [&self.plural, name, subresource] {
            if !part.is_empty() {
                let _ = write!(path, "/{}", escape(part, ""));
            }
        }
        path
    }

    /// `bars.example.com`.
    pub(crate) fn shown(&self) -> String {
        match self.api_version.split_once('/') {
            Some((group, _)) => format!("{}.{group}", self.plural),
            None => self.plural.clone(),
        }
    }
}

/// Boxed so that the futures of this crate are `Send`: the compiler can't see it through the service's type.
fn call(
    upstream: Upstream,
    request: Request<Body>,
) -> Pin<Box<dyn Future<Output = Result<http::Response<Body>, BoxError>> + Send>> {
    Box::pin(upstream.oneshot(request))
}

fn refused(status: http::StatusCode, value: Option<Value>, bytes: &[u8]) -> ClientError {
    let text = |key: &str| value.as_ref().and_then(|value| value[key].as_str()).map(str::to_owned);
    ClientError::Refused {
        code: status.as_u16(),
        reason: text("reason")
            .unwrap_or_else(|| status.canonical_reason().unwrap_or("unknown").to_owned()),
        message: text("message")
            .unwrap_or_else(|| String::from_utf8_lossy(bytes).trim().to_owned()),
    }
}

/// Percent-encodes all but unreserved characters and `keep`.
fn escape(text: &str, keep: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        let character = char::from(byte);
        if byte.is_ascii_alphanumeric() || "-._~".contains(character) || keep.contains(character) {
            out.push(character);
        } else {
            let _ = write!(out, "%{byte:02X}");
        }
    }
    out
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Nothing is held across a wait, and a panic leaves a whole map behind.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
