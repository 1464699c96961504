//! A script: requests in order, written down or generated.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::HeaderMap;
use serde::Deserialize;
use serde_json::Value;

use crate::{hooks::Reply, run::Transcript};

/// A script. In texts, `{ns}` is the script's own namespace, `{id.path.to.field}` a part of an earlier
/// answer of the same server, and `{ab*1000}` a thousand times `ab`.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Script {
    /// Which fact of the API it shows.
    pub about: String,
    /// Where that is written.
    #[serde(default)]
    pub source: String,
    /// Whether permissions count on the embedded server too; on the real one they always do, and scripts are
    /// sent by its administrator.
    #[serde(default)]
    pub authorization: Authorization,
    /// Whether both servers mount tokens of ServiceAccounts.
    #[serde(default, rename = "serviceAccounts")]
    pub service_accounts: bool,
    /// What the webhooks answer that the script configures, by the last part of their URL: `{hooks.url}/name`.
    #[serde(default)]
    pub webhooks: BTreeMap<String, Reply>,
    /// What must be there before: sent first, not compared.
    #[serde(default)]
    pub setup: Vec<Step>,
    pub steps: Vec<Step>,
}

/// See [`Script::authorization`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Authorization {
    #[default]
    None,
    Rbac,
}

/// One request.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// `GET /api/v1/…`. `WATCH` is a GET that is read for one second; `AWAIT` a GET repeated until it is
    /// answered with 200 (a custom type that is about to be served), and not compared; `REFUSED` a POST repeated until
    /// it is refused (by a webhook or a policy that is about to be asked), and not compared; `GONE` a GET repeated until
    /// it finds nothing (what a finalizer is about to let go of), and not compared.
    #[serde(rename = "do")]
    pub action: String,
    /// A patch's type: `json`, `merge`, `strategic`, `apply`; or a media type.
    #[serde(default, rename = "as")]
    pub kind: String,
    #[serde(default)]
    pub headers: BTreeMap<String, String>,
    /// A text is sent as it is, anything else as JSON.
    #[serde(default)]
    pub body: Option<Value>,
    /// By which later steps refer to this one's answer.
    #[serde(default)]
    pub id: String,
}

/// What a step asks for.
#[derive(Debug, Clone)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

impl Step {
    /// A step without headers.
    pub fn new(action: impl Into<String>, body: Option<Value>) -> Step {
        Step { action: action.into(), body, ..Step::default() }
    }

    /// Its method, or `WATCH`, `AWAIT`, `REFUSED` or `GONE`.
    pub fn verb(&self) -> &str {
        self.action.split_once(' ').map_or("", |(verb, _)| verb)
    }

    /// The request that it makes, its references looked up in what was answered so far.
    pub fn request(&self, namespace: &str, so_far: &Transcript) -> Request {
        let fill = |text: &str| fill(text, namespace, so_far);
        let (verb, path) = self.action.split_once(' ').unwrap_or_else(|| {
            panic!("{:?}: a step is a verb and a path, such as GET /api/v1/nodes", self.action)
        });
        let mut path = fill(path.trim());
        if verb == "WATCH" {
            path.push_str(if path.contains('?') { "&" } else { "?" });
            path.push_str("watch=1&timeoutSeconds=1");
        }
        let mut headers = HeaderMap::new();
        let mut set = |name: &str, value: &str| {
            let name: http::HeaderName = name.parse().expect("a header's name");
            headers.insert(name, fill(value).parse().expect("a header's value"));
        };
        let media_type = match (self.kind.as_str(), verb) {
            ("", "PATCH") => "application/merge-patch+json",
            ("", _) => "application/json",
            ("json", _) => "application/json-patch+json",
            ("merge", _) => "application/merge-patch+json",
            ("strategic", _) => "application/strategic-merge-patch+json",
            ("apply", _) => "application/apply-patch+yaml",
            (other, _) => other,
        };
        if self.body.is_some() {
            set("content-type", media_type);
        }
        for (name, value) in &self.headers {
            set(name, value);
        }
        let body = match &self.body {
            None => String::new(),
            Some(Value::String(text)) => fill(text),
            Some(value) => fill(&value.to_string()),
        };
        let method = match verb {
            "WATCH" | "AWAIT" | "GONE" => "GET",
            "REFUSED" => "POST",
            verb => verb,
        };
        Request { method: method.to_owned(), path, headers, body: body.into() }
    }
}

/// Replaces `{ns}`, `{id.path}` and `{text*times}`. What an earlier answer does not have becomes `missing`.
fn fill(text: &str, namespace: &str, so_far: &Transcript) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let close = rest.find('}').filter(|&close| is_reference(&rest[1..close]));
        let Some(close) = close else {
            out.push('{');
            rest = &rest[1..];
            continue;
        };
        let inner = &rest[1..close];
        match (inner.split_once('.'), repeated(inner)) {
            (_, Some((text, times))) => out.push_str(&text.repeat(times)),
            (Some((id, path)), None) => out.push_str(&so_far.look_up(id, path)),
            (None, None) => out.push_str(namespace),
        }
        rest = &rest[close + 1..];
    }
    out.push_str(rest);
    out
}

fn is_reference(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "._-".contains(letter);
    text == "ns"
        || (text.contains('.') && text.chars().all(plain))
        || repeated(text).is_some_and(|(text, _)| text.chars().all(|it| plain(it) || it == ','))
}

fn repeated(text: &str) -> Option<(&str, usize)> {
    let (text, times) = text.split_once('*')?;
    Some((text, times.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn references_are_filled_in() {
        let mut so_far = Transcript::default();
        so_far.answered("a", json!({"metadata": {"uid": "u", "list": [{"n": 7}]}}));
        let check = |text: &str, expect: &str| assert_eq!(fill(text, "n1", &so_far), expect);
        check("/x/{ns}/y", "/x/n1/y");
        check("{a.metadata.uid}-{a.metadata.list.0.n}", "u-7");
        check("{a.nothing}", "missing");
        check(r#"{"a":{"b":"{ns}"},"c":{}}"#, r#"{"a":{"b":"n1"},"c":{}}"#);
        check("[a{,b*2}]{ab*}{\"a\"*2}", "[a,b,b]{ab*}{\"a\"*2}");
        check("{", "{");
    }
}
