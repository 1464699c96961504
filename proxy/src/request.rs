//! What a request asks for, read from its method and URL by Kubernetes' rules
//! (`RequestInfoFactory.NewRequestInfo` in k8s.io/apiserver).
//!
//! One difference, on purpose: a namespace is a cluster-scoped object here, so `namespaces/default` has
//! the name `default` and no namespace, where apiserver's request info says both.

use trace::{GroupResource, Verb};

/// What a request asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Target {
    /// The API verb; `Other` for paths that name no resource and methods that have no verb.
    pub verb: Verb,
    /// The resource type.
    pub resource: Option<GroupResource>,
    /// API version in the path, or empty.
    pub version: String,
    /// Namespace in the path, or empty.
    pub namespace: String,
    /// Object name in the path, or empty.
    pub name: String,
    /// `status`, `scale`, `exec`, …, or empty.
    pub subresource: String,
    /// Segments after the subresource (`proxy` has them), joined by `/`.
    pub rest: String,
}

impl Target {
    /// Reads method, path (still percent-encoded) and query (without `?`).
    pub fn parse(method: &str, path: &str, query: Option<&str>) -> Target {
        let decoded = percent_decode(path);
        let parts: Vec<&str> = decoded.split('/').filter(|part| !part.is_empty()).collect();
        let (group, version, parts) = match parts[..] {
            ["api", version, ref rest @ ..] if !rest.is_empty() => ("", version, rest),
            ["apis", group, version, ref rest @ ..] if !rest.is_empty() => (group, version, rest),
            _ => return Target::without_resource(),
        };
        let (legacy_watch, parts) = match parts {
            ["watch"] => return Target::without_resource(),
            ["watch", rest @ ..] => (true, rest),
            _ => (false, parts),
        };
        let (namespace, parts) = split_namespace(parts);
        let name = parts.get(1).copied().unwrap_or_default();
        let watches = legacy_watch || asks_for(query, "watch");
        Target {
            verb: if legacy_watch { Verb::Watch } else { verb(method, name, watches) },
            resource: Some(GroupResource::new(group, parts[0])),
            version: version.to_owned(),
            namespace: namespace.to_owned(),
            name: name.to_owned(),
            subresource: parts.get(2).copied().unwrap_or_default().to_owned(),
            rest: parts.get(3..).unwrap_or_default().join("/"),
        }
    }

    fn without_resource() -> Target {
        Target {
            verb: Verb::Other,
            resource: None,
            version: String::new(),
            namespace: String::new(),
            name: String::new(),
            subresource: String::new(),
            rest: String::new(),
        }
    }
}

/// `namespaces/x/pods/…` is about pods in x; `namespaces/x`, `namespaces/x/status` and
/// `namespaces/x/finalize` are about the namespace itself.
fn split_namespace<'a, 'p>(parts: &'a [&'p str]) -> (&'p str, &'a [&'p str]) {
    match parts {
        ["namespaces", _, "status" | "finalize", ..] => ("", parts),
        ["namespaces", namespace, _, ..] => (namespace, &parts[2..]),
        _ => ("", parts),
    }
}

fn verb(method: &str, name: &str, watches: bool) -> Verb {
    match (method, name.is_empty()) {
        ("GET" | "HEAD", true) if watches => Verb::Watch,
        ("GET" | "HEAD", true) => Verb::List,
        ("GET" | "HEAD", false) => Verb::Get,
        ("POST", _) => Verb::Create,
        ("PUT", _) => Verb::Update,
        ("PATCH", _) => Verb::Patch,
        ("DELETE", true) => Verb::DeleteCollection,
        ("DELETE", false) => Verb::Delete,
        _ => Verb::Other,
    }
}

/// A flag like `watch` counts as true unless its first value is `0` or `false`
/// (`Convert_Slice_string_To_bool` in apimachinery).
pub(crate) fn asks_for(query: Option<&str>, flag: &str) -> bool {
    let first = query.unwrap_or_default().split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == flag).then_some(value)
    });
    first.is_some_and(|value| !matches!(value.to_ascii_lowercase().as_str(), "0" | "false"))
}

/// All values of a query parameter in a URI, decoded.
pub fn parameters(uri: &str, name: &str) -> Vec<String> {
    let query = uri.split_once('?').map_or("", |(_, query)| query);
    let pairs = query.split('&').filter_map(|pair| pair.split_once('='));
    let named = pairs.filter(|(key, _)| *key == name);
    named.map(|(_, value)| percent_decode(&value.replace('+', " ")).into_owned()).collect()
}

/// Percent-decodes; what is no valid escape stays as it is, what is no UTF-8 is replaced.
fn percent_decode(text: &str) -> std::borrow::Cow<'_, str> {
    if !text.contains('%') {
        return text.into();
    }
    let digit = |byte: u8| (byte as char).to_digit(16).map(|digit| digit as u8);
    let (bytes, mut decoded, mut at) = (text.as_bytes(), Vec::with_capacity(text.len()), 0);
    while at < bytes.len() {
        let escape = (bytes[at] == b'%').then(|| bytes.get(at + 1..at + 3)).flatten();
        match escape.and_then(|pair| Some(digit(pair[0])? << 4 | digit(pair[1])?)) {
            Some(byte) => {
                decoded.push(byte);
                at += 3;
            }
            None => {
                decoded.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&decoded).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `verb group-resource version namespace name subresource`, `-` for nothing.
    fn check(method: &str, uri: &str, expect: &str) {
        let (path, query) = uri.split_once('?').map_or((uri, None), |(p, q)| (p, Some(q)));
        let target = Target::parse(method, path, query);
        let resource = target.resource.map_or(String::new(), |resource| resource.to_string());
        let found = [
            &target.verb.to_string(),
            &resource,
            &target.version,
            &target.namespace,
            &target.name,
            &target.subresource,
        ]
        .map(|text| if text.is_empty() { "-" } else { text })
        .join(" ");
        assert_eq!(found, expect, "{method} {uri}");
    }

    #[test]
    fn parameters_are_read_in_order() {
        let uri = "/api/v1/namespaces/d/pods/a/exec?command=sh&x=1&command=a+b%26c&command=";
        assert_eq!(parameters(uri, "command"), ["sh", "a b&c", ""]);
        assert_eq!(parameters("/api", "command"), [""; 0]);
    }

    #[test]
    fn targets_follow_the_rules_of_apiserver() {
        let cases = [
            ("GET", "/api/v1/namespaces/default/pods/a", "get pods v1 default a -"),
            ("HEAD", "/api/v1/namespaces/default/pods/a", "get pods v1 default a -"),
            ("GET", "/api/v1/pods", "list pods v1 - - -"),
            ("GET", "/api/v1/pods?watch=true", "watch pods v1 - - -"),
            ("GET", "/api/v1/pods?limit=5&watch=1", "watch pods v1 - - -"),
            ("GET", "/api/v1/pods?watch", "watch pods v1 - - -"),
            ("GET", "/api/v1/pods?watch=false", "list pods v1 - - -"),
            ("GET", "/api/v1/pods?watch=0&watch=1", "list pods v1 - - -"),
            ("GET", "/api/v1/pods?xwatch=1", "list pods v1 - - -"),
            ("GET", "/api/v1/namespaces/d/pods/a?watch=1", "get pods v1 d a -"),
            ("GET", "/api/v1/watch/pods", "watch pods v1 - - -"),
            ("GET", "/api/v1/watch/namespaces/d/pods/a", "watch pods v1 d a -"),
            (
                "GET",
                "/apis/apps/v1/watch/namespaces/d/deployments",
                "watch deployments.apps v1 d - -",
            ),
            ("GET", "/api/v1/watch", "other - - - - -"),
            ("GET", "/api/v1/namespaces", "list namespaces v1 - - -"),
            ("GET", "/api/v1/namespaces/default", "get namespaces v1 - default -"),
            (
                "PUT",
                "/api/v1/namespaces/default/finalize",
                "update namespaces v1 - default finalize",
            ),
            ("PUT", "/api/v1/namespaces/default/status", "update namespaces v1 - default status"),
            ("GET", "/api/v1/namespaces/default/pods", "list pods v1 default - -"),
            ("POST", "/api/v1/namespaces/d/pods/a/binding", "create pods v1 d a binding"),
            ("POST", "/apis/apps/v1/namespaces/d/deployments", "create deployments.apps v1 d - -"),
            (
                "PATCH",
                "/apis/apps/v1/namespaces/d/deployments/a/scale",
                "patch deployments.apps v1 d a scale",
            ),
            (
                "DELETE",
                "/apis/g.example.com/v1beta1/foos/a",
                "delete foos.g.example.com v1beta1 - a -",
            ),
            (
                "DELETE",
                "/apis/g.example.com/v1/namespaces/d/foos",
                "deletecollection foos.g.example.com v1 d - -",
            ),
            ("GET", "/api/v1/namespaces/d/pods/a/log?follow=true", "get pods v1 d a log"),
            ("GET", "/api/v1/nodes/n/proxy/metrics/cadvisor", "get nodes v1 - n proxy"),
            (
                "GET",
                "/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode",
                "get clusterroles.rbac.authorization.k8s.io v1 - system:node -",
            ),
            ("GET", "/apis/a/v1/foos/50%zz", "get foos.a v1 - 50%zz -"),
            ("OPTIONS", "/api/v1/pods", "other pods v1 - - -"),
            ("GET", "/api", "other - - - - -"),
            ("GET", "/api/v1", "other - - - - -"),
            ("GET", "/api/v1/", "other - - - - -"),
            ("GET", "/apis/apps/v1", "other - - - - -"),
            ("GET", "/openapi/v3/apis/apps/v1", "other - - - - -"),
            ("GET", "/version", "other - - - - -"),
            ("GET", "/", "other - - - - -"),
        ];
        for (method, uri, expect) in cases {
            check(method, uri, expect);
        }
    }
}
