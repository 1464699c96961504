//! Keeps strangers of this machine, and pages in its browsers, from servers on loopback.

use bytes::Bytes;
use cluster::{Body, BoxError, Upstream};
use futures::future::{self, Either};
use http::{Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full};
use tower::ServiceExt;

/// Answers only those who ask for this machine or for `kubernetes` by name: a page whose name was made to lead here
/// says its own (DNS rebinding).
pub fn by_own_name(service: Upstream) -> Upstream {
    refusing(service, |request| {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok());
        let authority = request.uri().authority().map(http::uri::Authority::as_str);
        match host.or(authority).is_none_or(is_own_name) {
            true => None,
            false => Some((StatusCode::MISDIRECTED_REQUEST, "this server has another name")),
        }
    })
}

fn is_own_name(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    let name = name.trim_end_matches('.').to_ascii_lowercase();
    let in_cluster = ["kubernetes", "kubernetes.default", "kubernetes.default.svc"];
    matches!(&*name, "127.0.0.1" | "::1" | "localhost")
        || in_cluster.contains(&&*name)
        || name == "kubernetes.default.svc.cluster.local"
}

/// Answers only those who have this bearer token.
pub fn with_token(service: Upstream, token: &str) -> Upstream {
    let expected = format!("Bearer {token}");
    refusing(service, move |request| {
        let given = request.headers().get(header::AUTHORIZATION);
        match given.is_some_and(|given| given.as_bytes() == expected.as_bytes()) {
            true => None,
            false => Some((StatusCode::UNAUTHORIZED, "Unauthorized")),
        }
    })
}

fn refusing(
    service: Upstream,
    refuse: impl Fn(&Request<Body>) -> Option<(StatusCode, &'static str)>
    + Clone
    + Send
    + Sync
    + 'static,
) -> Upstream {
    Upstream::new(tower::service_fn(move |request: Request<Body>| match refuse(&request) {
        Some((code, message)) => Either::Left(future::ready(Ok(refusal(code, message)))),
        None => Either::Right(service.clone().oneshot(request)),
    }))
}

/// A `Status`, as the API server refuses.
fn refusal(code: StatusCode, message: &str) -> Response<Body> {
    let status = serde_json::json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Failure",
        "message": message,
        "reason": code.canonical_reason().unwrap_or_default().replace(' ', ""),
        "code": code.as_u16(),
    });
    let body = Full::new(Bytes::from(status.to_string()));
    let never = |error: std::convert::Infallible| -> BoxError { match error {} };
    let mut answer = Response::new(body.map_err(never).boxed_unsync());
    *answer.status_mut() = code;
    let json = http::HeaderValue::from_static("application/json");
    answer.headers_mut().insert(header::CONTENT_TYPE, json);
    answer
}

#[cfg(test)]
mod tests {
    use super::is_own_name;

    #[test]
    fn own_names() {
        for host in [
            "127.0.0.1:6443",
            "localhost",
            "LOCALHOST:1",
            "[::1]:6443",
            "kubernetes.default.svc:443",
        ] {
            assert!(is_own_name(host), "{host}");
        }
        for host in
            ["example.com", "127.0.0.1.example.com:6443", "localhost.example.com", "10.0.0.1", ""]
        {
            assert!(!is_own_name(host), "{host}");
        }
    }
}
