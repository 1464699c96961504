//! How to reach a cluster, and the few requests that observing needs.

use std::{net::Ipv4Addr, path::Path, sync::Arc};

use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use trace::{GroupResource, ObjectKey, Time};

use super::kubeconfig;
use crate::{
    exit::{Exit, Expected},
    providers::client_files::real_now,
};

/// How to reach a cluster.
#[derive(Clone)]
pub struct Access {
    /// The context of the kubeconfig that it was read from.
    context: String,
    server: http::Uri,
    tls: Option<Arc<rustls::ClientConfig>>,
    headers: http::HeaderMap,
    /// In PEM; empty where nobody is trusted by name.
    authority: String,
}

/// The cluster does not answer as it should: a retry may help.
pub fn unavailable(message: &str) -> anyhow::Error {
    Expected::error(Exit::Environment, format!("the cluster: {message}"))
}

impl Access {
    /// Reads `path`. A campaign creates, deletes and resets: a server that is not on this machine is accepted only if the
    /// user allowed its context.
    ///
    /// # Errors
    /// It can't be read, or it leads to another context than the one that is allowed, or to another machine: exit 64.
    pub fn read(
        path: &Path,
        context: Option<&str>,
        allowed: Option<&str>,
    ) -> anyhow::Result<Access> {
        let access = Access::read_any(path, context)?;
        access.check_allowed(allowed).map_err(|why| {
            Expected::error(Exit::Usage, format!("kubeconfig {}: {why}", path.display()))
        })?;
        Ok(access)
    }

    fn check_allowed(&self, allowed: Option<&str>) -> Result<(), String> {
        let (context, server) = (&self.context, &self.server);
        let host = server.host().unwrap_or_default();
        let here = host == "localhost"
            || host == "[::1]"
            || host.parse().is_ok_and(|address: Ipv4Addr| address.is_loopback());
        match allowed {
            Some(allowed) if allowed == context => Ok(()),
            Some(allowed) => Err(format!(
                "--allow-context {allowed}: the campaign uses the context {context} (server {server})"
            )),
            None if here => Ok(()),
            None => Err(format!(
                "the server {server} of its context {context} is not on this machine, and a campaign creates and deletes \
                 objects there. If it is a cluster for tests: --allow-context {context}"
            )),
        }
    }

    /// Reads the text of a kubeconfig.
    ///
    /// # Errors
    /// Why it can't be used.
    pub fn of_text(text: &str) -> Result<Access, String> {
        kubeconfig::parse(text, Path::new("."), None)
    }

    /// The same, by another address and port of this server.
    ///
    /// # Errors
    /// This is no address.
    pub fn led_to(self, address: &str) -> Result<Access, String> {
        let server = format!("https://{address}");
        let server = server.parse().map_err(|_| format!("{server} is no URL"))?;
        Ok(Access { server, ..self })
    }

    /// Reads `path`, wherever its server is.
    pub fn read_any(path: &Path, context: Option<&str>) -> anyhow::Result<Access> {
        kubeconfig::read(path, context)
    }

    pub(super) fn new(
        context: String,
        server: http::Uri,
        tls: Option<Arc<rustls::ClientConfig>>,
        headers: http::HeaderMap,
    ) -> Access {
        Access { context, server, tls, headers, authority: String::new() }
    }

    pub(super) fn with_authority(self, authority: String) -> Access {
        Access { authority, ..self }
    }

    /// The certificate by which the server is known, in PEM; empty where the kubeconfig has none.
    pub fn authority(&self) -> &str {
        &self.authority
    }

    /// Its URL.
    pub fn server(&self) -> &http::Uri {
        &self.server
    }

    /// The same server, for requests that bring their own credentials; this authority signed its certificate.
    ///
    /// # Errors
    /// The certificate is none.
    pub fn for_callers(&self, authority: &str) -> anyhow::Result<Access> {
        let tls = Some(proxy::tls::client_config(authority, None)?);
        let headers = http::HeaderMap::new();
        Ok(Access { tls, headers, ..self.clone() })
    }

    /// The server's address.
    ///
    /// # Errors
    /// Its name can't be resolved.
    pub fn address(&self) -> anyhow::Result<std::net::SocketAddr> {
        use std::net::ToSocketAddrs;
        let host = self.server.host().unwrap_or_default();
        let port = self.server.port_u16().unwrap_or(443);
        let mut found = (host, port).to_socket_addrs()?;
        found.next().ok_or_else(|| unavailable(&format!("{host} has no address")))
    }

    /// A client of its own connections.
    pub fn upstream(&self) -> anyhow::Result<proxy::Upstream> {
        Ok(proxy::remote(&self.server, self.tls.clone(), self.headers.clone())?)
    }
}

/// A resource type that can be listed and watched.
#[derive(Debug, Clone)]
pub struct Type {
    /// Its name.
    pub resource: GroupResource,
    /// Path of its collection over all namespaces.
    pub path: String,
    /// For reading: list items carry neither.
    pub api_version: String,
    /// The same.
    pub kind: String,
    /// Whether its objects can be deleted.
    pub deletable: bool,
}

/// Sends one request without a body and reads a JSON answer.
pub async fn request(
    upstream: &proxy::Upstream,
    method: &str,
    path: &str,
) -> anyhow::Result<(http::StatusCode, Value)> {
    exchange(upstream, method, path, "application/json", Bytes::new()).await
}

/// Sends an object, or a patch of this media type, and reads a JSON answer.
pub async fn send(
    upstream: &proxy::Upstream,
    method: &str,
    path: &str,
    media: &str,
    body: &Value,
) -> anyhow::Result<(http::StatusCode, Value)> {
    exchange(upstream, method, path, media, body.to_string().into()).await
}

/// Sends a merge patch (RFC 7386).
pub async fn merge(
    upstream: &proxy::Upstream,
    path: &str,
    patch: &Value,
) -> anyhow::Result<(http::StatusCode, Value)> {
    send(upstream, "PATCH", path, "application/merge-patch+json", patch).await
}

async fn exchange(
    upstream: &proxy::Upstream,
    method: &str,
    path: &str,
    media: &str,
    body: Bytes,
) -> anyhow::Result<(http::StatusCode, Value)> {
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header(http::header::ACCEPT, "application/json")
        .header(http::header::CONTENT_TYPE, media)
        .header(http::header::USER_AGENT, "trommel")
        .body(Full::new(body).map_err(|never| match never {}).boxed_unsync())?;
    let answer = super::made::forward(upstream.clone(), request)
        .await
        .map_err(|error| unavailable(&format!("{method} {path}: {error}")))?;
    let status = answer.status();
    let bytes = answer.into_body().collect().await;
    let bytes =
        bytes.map_err(|error| unavailable(&format!("{method} {path}: {error}")))?.to_bytes();
    Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}

/// Whether somebody runs the built-in controllers: their Lease was renewed lately.
pub async fn has_controllers(upstream: &proxy::Upstream) -> anyhow::Result<bool> {
    const LEASE: &str =
        "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/kube-controller-manager";
    /// Leases of the built-in components last for 15 s (`--leader-elect-lease-duration`).
    const LATELY: std::time::Duration = std::time::Duration::from_secs(60);
    let (_, lease) = request(upstream, "GET", LEASE).await?;
    let renewed = lease["spec"]["renewTime"].as_str().and_then(Time::parse_rfc3339);
    Ok(renewed.is_some_and(|renewed| renewed.plus(LATELY) > real_now()))
}

/// Every type that can be listed and watched, without bookkeeping, by legacy discovery.
pub async fn types(upstream: &proxy::Upstream) -> anyhow::Result<Vec<Type>> {
    let mut versions = vec!["/api/v1".to_owned()];
    let (_, groups) = request(upstream, "GET", "/apis").await?;
    for group in groups["groups"].as_array().into_iter().flatten() {
        let preferred = group["preferredVersion"]["groupVersion"].as_str();
        versions.extend(preferred.map(|version| format!("/apis/{version}")));
    }
    let mut types = Vec::new();
    for version in versions {
        let (_, found) = request(upstream, "GET", &version).await?;
        let api_version = found["groupVersion"].as_str().unwrap_or_default().to_owned();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        for resource in found["resources"].as_array().into_iter().flatten() {
            let has = |verb: &str| {
                resource["verbs"].as_array().is_some_and(|verbs| verbs.iter().any(|v| v == verb))
            };
            let name = resource["name"].as_str().unwrap_or_default();
            let named = GroupResource::new(group, name);
            if name.contains('/') || !has("list") || !has("watch") || named.is_bookkeeping() {
                continue;
            }
            types.push(Type {
                path: format!("{version}/{name}"),
                resource: named,
                api_version: api_version.clone(),
                kind: resource["kind"].as_str().unwrap_or_default().to_owned(),
                deletable: has("delete"),
            });
        }
    }
    Ok(types)
}

/// Every object of these types, each with its apiVersion and kind.
pub async fn list_all(
    upstream: &proxy::Upstream,
    types: &[Type],
) -> anyhow::Result<Vec<(ObjectKey, Arc<Value>)>> {
    let lists = types.iter().map(|of| async move {
        let found = list(upstream, of).await?;
        found.ok_or_else(|| unavailable(&format!("GET {}: 404 Not Found", of.path)))
    });
    let lists = futures::future::try_join_all(lists).await?;
    Ok(lists.into_iter().flatten().collect())
}

/// Every object of a type; none if there is no such type, or not any more.
pub async fn list(
    upstream: &proxy::Upstream,
    of: &Type,
) -> anyhow::Result<Option<Vec<(ObjectKey, Arc<Value>)>>> {
    let (status, mut list) = request(upstream, "GET", &of.path).await?;
    if status == http::StatusCode::NOT_FOUND {
        return Ok(None);
    }
    if !status.is_success() {
        return Err(unavailable(&format!("GET {}: {status}", of.path)));
    }
    let items = list["items"].as_array_mut().map(std::mem::take).unwrap_or_default();
    let complete = items.into_iter().map(|mut item| {
        item["apiVersion"] = of.api_version.clone().into();
        item["kind"] = of.kind.clone().into();
        (key(of, &item), Arc::new(item))
    });
    Ok(Some(complete.collect()))
}

/// How often, and at which pace, a cluster is asked again for types that it has just been given.
const READY_ATTEMPTS: u32 = 600;
const READY_PACE: std::time::Duration = std::time::Duration::from_millis(50);

/// Types and objects, once every CRD among `manifests` is discovered and can be listed: a new type is
/// answered with 404 or 429 for a moment (API concepts, CRD establishing).
pub async fn ready(
    upstream: &proxy::Upstream,
    manifests: &[Value],
) -> anyhow::Result<(Vec<Type>, Vec<(ObjectKey, Arc<Value>)>)> {
    let crds = manifests.iter().filter(|object| object["kind"] == "CustomResourceDefinition");
    let wanted: Vec<GroupResource> = crds
        .filter_map(|crd| {
            let group = crd["spec"]["group"].as_str()?;
            Some(GroupResource::new(group, crd["spec"]["names"]["plural"].as_str()?))
        })
        .collect();
    let mut pace = tokio::time::interval(READY_PACE);
    let mut missing = String::new();
    for _ in 0..READY_ATTEMPTS {
        pace.tick().await;
        let types = types(upstream).await?;
        let unknown = wanted.iter().find(|crd| !types.iter().any(|of| of.resource == **crd));
        match (unknown, list_all(upstream, &types).await) {
            (None, Ok(objects)) => return Ok((types, objects)),
            (Some(unknown), _) => missing = format!("{unknown} is not discovered"),
            (None, Err(error)) => missing = error.to_string(),
        }
    }
    Err(unavailable(&format!("its types are not ready: {missing}")))
}

/// Where an object of a type stands in the API.
pub fn object_path(of: &Type, object: &Value) -> Option<String> {
    let name = object["metadata"]["name"].as_str()?;
    let (version, resource) = of.path.rsplit_once('/')?;
    Some(match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("{version}/namespaces/{namespace}/{resource}/{name}"),
        None => format!("{}/{name}", of.path),
    })
}

/// The key of an object of a type.
pub fn key(of: &Type, object: &Value) -> ObjectKey {
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default().to_owned();
    ObjectKey::new(of.resource.clone(), &text("namespace"), &text("name"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(server: &str, allowed: Option<&str>, expect: Result<(), &str>) {
        let server = server.parse().unwrap();
        let access = Access::new("prod".to_owned(), server, None, http::HeaderMap::new());
        match (access.check_allowed(allowed), expect) {
            (Ok(()), Ok(())) => {}
            (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
            (found, expect) => panic!("{found:?}, not {expect:?}"),
        }
    }

    #[test]
    fn servers_elsewhere_need_the_name_of_their_context() {
        for here in ["https://127.0.0.1:6443", "http://localhost:1", "https://[::1]:6443"] {
            check(here, None, Ok(()));
        }
        for elsewhere in
            ["https://10.0.0.1:6443", "https://prod.example.com", "https://127x.example"]
        {
            check(elsewhere, None, Err("--allow-context prod"));
            check(elsewhere, Some("prod"), Ok(()));
            check(elsewhere, Some("dev"), Err("the campaign uses the context prod"));
        }
        check("https://127.0.0.1:6443", Some("dev"), Err("the campaign uses the context prod"));
    }
}
