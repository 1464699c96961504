//! From a webhook's `clientConfig` to whom to call (`apiserver/pkg/util/webhook`, `util/proxy.ResolveCluster`).

use std::{ops::Bound, time::Duration};

use base64::{Engine, engine::general_purpose::STANDARD};
use bytes::Bytes;
use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use super::{Destination, WebhookCall};
use crate::world::{World, meta};

/// Seconds that an admission webhook has which doesn't say.
pub(super) const TIMEOUT_SECONDS: u64 = 10;

/// Seconds that a conversion webhook has: it can't say.
pub(super) const CONVERSION_SECONDS: u64 = 30;

/// The role of a webhook that converts.
pub(super) const CONVERSION: &str = "conversion";

/// A call of the program that `config` leads to, which has so many seconds. Errors: it leads nowhere, in upstream's words
/// behind the URL.
pub(crate) fn call(
    world: &World,
    (name, role, about): (&str, &'static str, String),
    config: &Value,
    seconds: u64,
    body: Bytes,
) -> Result<WebhookCall, String> {
    let ca = config["caBundle"].as_str().unwrap_or("");
    let ca_bundle = STANDARD.decode(ca).unwrap_or_default().into();
    let (url, destination) = address(world, config);
    let url = format!("{url}?timeout={seconds}s");
    let destination = destination.map_err(|why| post(&url, &why))?;
    let timeout = Duration::from_secs(seconds);
    let name = name.to_owned();
    Ok(WebhookCall { name, role, about, url, destination, ca_bundle, body, timeout })
}

/// What Go's HTTP client says of a POST that failed.
pub(crate) fn post(url: &str, why: &str) -> String {
    format!("Post {url:?}: {why}")
}

/// The URL without a query, and whom it means.
fn address(world: &World, config: &Value) -> (String, Result<Destination, String>) {
    let service = &config["service"];
    if service.is_object() {
        let text = |field: &str| service[field].as_str().unwrap_or("");
        let port = service["port"].as_u64().unwrap_or(443);
        let server_name = format!("{}.{}.svc", text("name"), text("namespace"));
        let path = clean(text("path"));
        let found = resolve(world, text("namespace"), text("name"), port, &server_name);
        return (format!("https://{server_name}:{port}{path}"), found);
    }
    let url = config["url"].as_str().unwrap_or("");
    let bare = url.split(['?', '#']).next().unwrap_or("");
    let rest = bare.strip_prefix("https://").unwrap_or(bare);
    let (authority, path) = rest.split_once('/').unwrap_or((rest, ""));
    let (host, port) = match authority.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, port.parse().ok()),
        _ => (authority, Some(443)),
    };
    let host = host.trim_matches(['[', ']']).to_owned();
    let destination = match port {
        Some(port) => Ok(Destination::Host { host, port }),
        None => Err("dial tcp: the URL names no port".to_owned()),
    };
    (format!("https://{authority}{}", clean(path)), destination)
}

/// A path as client-go asks for it (`path.Join` in `rest.NewRequest`): from the root, without empty steps, `.` and `..`, and
/// without a slash at its end. envtest writes URLs with two slashes before the path.
fn clean(path: &str) -> String {
    let mut steps: Vec<&str> = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            step => steps.push(step),
        }
    }
    format!("/{}", steps.join("/"))
}

fn resolve(
    world: &World,
    namespace: &str,
    name: &str,
    port: u64,
    server_name: &str,
) -> Result<Destination, String> {
    let key = ObjectKey::new(GroupResource::new("", "services"), namespace, name);
    let service = world.store.get(&key).ok_or_else(|| format!("service {name:?} not found"))?;
    let spec = &service["spec"];
    let ip = spec["clusterIP"].as_str().unwrap_or("");
    let host = match spec["type"].as_str().unwrap_or("ClusterIP") {
        "ExternalName" => {
            let host = spec["externalName"].as_str().unwrap_or("").to_owned();
            return Ok(Destination::Host { host, port: u16::try_from(port).unwrap_or(443) });
        }
        "ClusterIP" if ip == "None" => {
            return Err("cannot route to service with ClusterIP \"None\"".to_owned());
        }
        _ => ip,
    };
    let mut ports = spec["ports"].as_array().into_iter().flatten();
    let found = ports
        .find(|one| one["port"].as_u64() == Some(port))
        .ok_or_else(|| format!("no service port {port} found for service {name:?}"))?;
    let target = match &found["targetPort"] {
        Value::Number(number) => number.as_u64(),
        Value::String(named) => container_port(world, namespace, &spec["selector"], named),
        _ => Some(port),
    };
    Ok(Destination::Service {
        server_name: server_name.to_owned(),
        address: format!("{host}:{port}"),
        target_port: target.and_then(|port| u16::try_from(port).ok()),
    })
}

/// The port that containers of the selected pods call by this name: in the pods, or where none are made of them in
/// the templates of workloads.
fn container_port(world: &World, namespace: &str, selector: &Value, named: &str) -> Option<u64> {
    let selected = |labels: &Value| {
        let mut wanted = selector.as_object().into_iter().flatten();
        selector.is_object() && wanted.all(|(key, value)| labels.get(key) == Some(value))
    };
    let workloads = ["deployments", "statefulsets", "daemonsets"];
    let workloads = workloads.map(|plural| (GroupResource::new("apps", plural), "/spec/template"));
    let pods = [(GroupResource::new("", "pods"), "")];
    pods.into_iter().chain(workloads).find_map(|(resource, below)| {
        let mut all = world.store.root().scan(&resource, namespace, Bound::Unbounded);
        all.find_map(|(_, object)| {
            let pod = object.pointer(below)?;
            if !selected(&pod["metadata"]["labels"]) {
                return None;
            }
            let containers = pod.pointer("/spec/containers")?.as_array()?.iter();
            let mut ports = containers.filter_map(|one| one["ports"].as_array()).flatten();
            ports.find(|port| port["name"] == named)?["containerPort"].as_u64()
        })
    })
}

/// Verb and object, for people.
pub(crate) fn about(
    operation: &str,
    plural: &str,
    namespace: &str,
    object: Option<&Value>,
) -> String {
    let name = object.map_or("", |object| meta(object, "name"));
    let slash = if namespace.is_empty() { "" } else { "/" };
    format!("{operation} {plural} {namespace}{slash}{name}")
}

#[cfg(test)]
mod tests {
    use super::clean;

    #[test]
    fn paths_are_asked_for_as_client_go_does() {
        let check = |path, expect| assert_eq!(clean(path), expect, "{path:?}");
        check("", "/");
        check("/", "/");
        check("/a/b", "/a/b");
        check("a/b/", "/a/b");
        check("//a//./b", "/a/b");
        check("/a/../../b", "/b");
    }
}
