//! A request as the verbs see it: read to its end, its query and headers at hand.

use bytes::Bytes;
use http::{HeaderMap, Method, request::Parts};
use trace::{Actor, CallId, ClientCertificates};

use crate::{
    apply::manager_from_user_agent,
    auth::User,
    route,
    server::{Author, BODY_LIMIT_BYTES},
    status::Refusal,
};

/// One request.
pub(crate) struct Request {
    pub(crate) method: Method,
    pub(crate) path: String,
    query: Vec<(String, String)>,
    headers: HeaderMap,
    body: Result<Bytes, bool>,
    pub(crate) author: Author,
    /// What its client showed when it connected.
    pub(crate) certificates: Option<ClientCertificates>,
    /// Whom it is from; the administrator until that has been looked at.
    pub(crate) user: User,
}

/// `fieldValidation`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    Ignore,
    Warn,
    Strict,
}

impl Request {
    /// `body` is what was read, or whether reading failed because it was too long.
    pub(crate) fn new(parts: Parts, body: Result<Bytes, bool>) -> Request {
        Request {
            path: parts.uri.path().to_owned(),
            query: route::query(parts.uri.query().unwrap_or("")),
            author: Author {
                actor: parts.extensions.get::<Actor>().cloned().unwrap_or(Actor::Trommel),
                call: parts.extensions.get::<CallId>().copied(),
            },
            certificates: parts.extensions.get().cloned(),
            user: User::admin(),
            method: parts.method,
            headers: parts.headers,
            body,
        }
    }

    /// A request that the server sends to itself: JSON, in the name of a program.
    pub(crate) fn own(actor: Actor, agent: &str, body: Bytes) -> Request {
        let (mut parts, ()) = http::Request::new(()).into_parts();
        for (name, value) in [("content-type", "application/json"), ("user-agent", agent)] {
            if let Ok(value) = http::HeaderValue::from_str(value) {
                parts.headers.insert(name, value);
            }
        }
        parts.extensions.insert(actor);
        Request::new(parts, Ok(body))
    }

    #[cfg(test)]
    pub(crate) fn set_query(&mut self, query: &str) {
        self.query = route::query(query);
    }

    #[cfg(test)]
    pub(crate) fn add_header(&mut self, name: &'static str, value: &str) {
        self.headers.append(name, value.parse().expect("a header"));
    }

    /// The body's bytes. Errors: too long, or cut.
    pub(crate) fn body(&self) -> Result<&Bytes, Refusal> {
        self.body.as_ref().map_err(|too_long| match too_long {
            true => Refusal::too_large(format_args!("limit is {BODY_LIMIT_BYTES}")),
            false => Refusal::bad_request("unable to read the request body"),
        })
    }

    /// A query parameter; empty if absent.
    pub(crate) fn query(&self, name: &str) -> &str {
        self.query.iter().find(|(key, _)| key == name).map_or("", |(_, value)| value)
    }

    /// All values of a query parameter.
    pub(crate) fn all<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a str> {
        let found = self.query.iter().filter(move |(key, _)| key == name);
        found.map(|(_, value)| value.as_str())
    }

    /// Whether a query parameter is there at all.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.query.iter().any(|(key, _)| key == name)
    }

    /// A boolean parameter. Like upstream's conversion, `false`, `0` and absence are false, the rest true.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.query.iter().any(|(key, value)| {
            key == name && !matches!(value.to_ascii_lowercase().as_str(), "false" | "0")
        })
    }

    /// A header as text; empty if absent or not text.
    pub(crate) fn header(&self, name: &str) -> &str {
        self.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or("")
    }

    /// All lines of a header that are text.
    pub(crate) fn header_lines(&self, name: &str) -> impl Iterator<Item = &str> {
        self.headers.get_all(name).iter().filter_map(|value| value.to_str().ok())
    }

    /// The headers whose name begins with `prefix` (in lower case): the rest of the name, and the value.
    pub(crate) fn headers_below(&self, prefix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.headers.iter().filter_map(move |(name, value)| {
            Some((name.as_str().strip_prefix(prefix)?, value.to_str().ok()?))
        })
    }

    /// `Accept`, all of its lines joined.
    pub(crate) fn accept(&self) -> String {
        self.header_lines("accept").collect::<Vec<_>>().join(",")
    }

    /// All values of `dryRun`.
    pub(crate) fn dry_run_values(&self) -> Vec<&str> {
        let given = self.query.iter().filter(|(key, _)| key == "dryRun");
        given.map(|(_, value)| value.as_str()).collect()
    }

    /// Whether `dryRun=All`; that there is nothing else has been looked at (`check_write`).
    pub(crate) fn dry_run(&self) -> bool {
        self.dry_run_values().contains(&"All")
    }

    /// `fieldValidation`; the default is Warn (GA 1.27). That it is one of them has been looked at (`check_write`).
    pub(crate) fn field_validation(&self) -> FieldValidation {
        match self.query("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            _ => FieldValidation::Warn,
        }
    }

    /// The name under which written fields are owned: `fieldManager`, or the first part of `User-Agent`
    /// (`managerOrUserAgent` in `apiserver/pkg/endpoints/handlers`).
    pub(crate) fn field_manager(&self) -> String {
        let manager = self.query("fieldManager");
        if !manager.is_empty() {
            return manager.to_owned();
        }
        let name = manager_from_user_agent(self.header("user-agent"));
        if name.is_empty() { "unknown".to_owned() } else { name }
    }
}
