//! Paths: what a request is about, by its path, method and query alone.
//!
//! As `k8s.io/apiserver/pkg/endpoints/request.RequestInfoFactory` reads them. Whether the type exists is
//! the registry's affair (`kinds`), not the path's.

use trace::Verb;

/// A path that names a resource.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Route {
    /// API group; empty for the core group.
    pub group: String,
    /// API version.
    pub version: String,
    /// Plural resource name.
    pub resource: String,
    /// Namespace, or empty.
    pub namespace: String,
    /// Object name, or empty.
    pub name: String,
    /// Subresource, or empty.
    pub subresource: String,
    /// What follows the subresource (`proxy`), without the slash.
    pub rest: String,
    /// The deprecated `/watch/` prefix.
    pub watch_prefix: bool,
}

/// What a path names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Target {
    /// A resource, an object or a subresource.
    Resource(Route),
    /// Anything else: discovery, OpenAPI, health, version. The path without a trailing slash.
    Other(String),
}

/// Subresources of namespaces: `/namespaces/x/status` is not a type called `status`.
const NAMESPACE_SUBRESOURCES: [&str; 2] = ["status", "finalize"];

/// Reads a path (still percent-encoded).
pub fn parse(path: &str) -> Target {
    let parts: Vec<String> =
        path.split('/').filter(|part| !part.is_empty()).map(percent_decode).collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    let (group, version, rest) = match &parts[..] {
        ["api", version, rest @ ..] if !rest.is_empty() => ("", *version, rest),
        ["apis", group, version, rest @ ..] if !rest.is_empty() => (*group, *version, rest),
        parts => return Target::Other(format!("/{}", parts.join("/"))),
    };
    let mut route =
        Route { group: group.to_owned(), version: version.to_owned(), ..Route::default() };
    let mut rest = rest;
    if let ["watch", tail @ ..] = rest
        && !tail.is_empty()
    {
        route.watch_prefix = true;
        rest = tail;
    }
    if let ["namespaces", namespace, resource, ..] = rest
        && !NAMESPACE_SUBRESOURCES.contains(resource)
    {
        route.namespace = (*namespace).to_owned();
        rest = &rest[2..];
    }
    let mut rest = rest.iter();
    let mut next = || rest.next().map(|part| (*part).to_owned()).unwrap_or_default();
    route.resource = next();
    route.name = next();
    route.subresource = next();
    route.rest = rest.copied().collect::<Vec<_>>().join("/");
    Target::Resource(route)
}

/// The verb of a request. `watch` is the query parameter's value.
pub fn verb(method: &http::Method, route: &Route, watch: bool) -> Option<Verb> {
    let named = !route.name.is_empty();
    Some(match method.as_str() {
        // A path that names an object is a get whatever the query says (`RequestInfoFactory`).
        "GET" | "HEAD" if route.watch_prefix || (watch && !named) => Verb::Watch,
        "GET" | "HEAD" if named => Verb::Get,
        "GET" | "HEAD" => Verb::List,
        "POST" => Verb::Create,
        "PUT" => Verb::Update,
        "PATCH" => Verb::Patch,
        "DELETE" if named => Verb::Delete,
        "DELETE" => Verb::DeleteCollection,
        _ => return None,
    })
}

/// Decodes `%41`; leaves what is malformed as it is. `+` is not a space in paths.
pub fn percent_decode(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = (bytes[at] == b'%')
            .then(|| bytes.get(at + 1..at + 3))
            .flatten()
            .and_then(|pair| std::str::from_utf8(pair).ok())
            .and_then(|pair| u8::from_str_radix(pair, 16).ok());
        match hex {
            Some(byte) => {
                out.push(byte);
                at += 3;
            }
            None => {
                out.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&out).into_owned()
}

/// Reads a query string into its pairs, in order.
pub fn query(text: &str) -> Vec<(String, String)> {
    text.split('&')
        .filter(|pair| !pair.is_empty())
        .map(|pair| {
            let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
            let read = |part: &str| percent_decode(&part.replace('+', " "));
            (read(key), read(value))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(path: &str, expect: &str) {
        let found = match parse(path) {
            Target::Other(path) => format!("other {path}"),
            Target::Resource(r) => format!(
                "{}/{} {} ns={} name={} sub={} rest={}{}",
                r.group,
                r.version,
                r.resource,
                r.namespace,
                r.name,
                r.subresource,
                r.rest,
                if r.watch_prefix { " watch" } else { "" }
            ),
        };
        assert_eq!(found, expect, "{path}");
    }

    #[test]
    fn paths() {
        check("/api/v1/pods", "/v1 pods ns= name= sub= rest=");
        check("/api/v1/namespaces", "/v1 namespaces ns= name= sub= rest=");
        check("/api/v1/namespaces/a", "/v1 namespaces ns= name=a sub= rest=");
        check("/api/v1/namespaces/a/status", "/v1 namespaces ns= name=a sub=status rest=");
        check("/api/v1/namespaces/a/finalize", "/v1 namespaces ns= name=a sub=finalize rest=");
        check("/api/v1/namespaces/a/pods/b/log", "/v1 pods ns=a name=b sub=log rest=");
        check("/api/v1/watch/namespaces/a/pods", "/v1 pods ns=a name= sub= rest= watch");
        check("/apis/apps/v1/deployments/", "apps/v1 deployments ns= name= sub= rest=");
        check(
            "/api/v1/namespaces/a/services/b:80/proxy/x/y",
            "/v1 services ns=a name=b:80 sub=proxy rest=x/y",
        );
        check("/apis/x.io/v1/foos/a%2Fb", "x.io/v1 foos ns= name=a/b sub= rest=");
        check("/apis/apps/v1", "other /apis/apps/v1");
        check("/api", "other /api");
        check("/", "other /");
    }

    #[test]
    fn queries() {
        let found = query("labelSelector=a%3Db%2Cc&watch=1&x=a+b&y");
        let found: Vec<(&str, &str)> = found.iter().map(|(k, v)| (&**k, &**v)).collect();
        let expect = [("labelSelector", "a=b,c"), ("watch", "1"), ("x", "a b"), ("y", "")];
        assert_eq!(found, expect);
        assert_eq!(percent_decode("%4"), "%4");
        assert_eq!(percent_decode("%zz"), "%zz");
    }
}
