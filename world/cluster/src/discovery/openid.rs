//! Where programs learn who issues the tokens of ServiceAccounts, and by which key they know them
//! (`pkg/routes/openidmetadata.go`).

use bytes::Bytes;
use http::{HeaderValue, Method, Response, header};
use serde_json::{Value, json};

use super::documents::SERVER_ADDRESS;
use crate::{
    auth::{key, token::ISSUER},
    server::{
        Body,
        answer::{full, refuse},
        request::Request,
    },
    status::Refusal,
};

/// `/.well-known/openid-configuration`. The keys' address is the one by which the client came; upstream tells that
/// under which the server is known.
pub(super) fn configuration(request: &Request) -> Response<Body> {
    let host = match request.header("host") {
        "" => SERVER_ADDRESS,
        host => host,
    };
    let document = json!({
        "issuer": ISSUER,
        "jwks_uri": format!("https://{host}/openid/v1/jwks"),
        "response_types_supported": ["id_token"],
        "subject_types_supported": ["public"],
        "id_token_signing_alg_values_supported": [key::ALGORITHM],
    });
    answer(request, "application/json", &document)
}

/// `/openid/v1/jwks`.
pub(super) fn keys(request: &Request) -> Response<Body> {
    answer(request, "application/jwk-set+json", &key::published())
}

/// A document in its only form, which may be kept for an hour.
fn answer(request: &Request, content_type: &'static str, document: &Value) -> Response<Body> {
    if request.method != Method::GET {
        return refuse(request, &Refusal::method_not_allowed());
    }
    if !takes(request.header("accept"), content_type) {
        let text = format!("406: Not Acceptable\n\nAvailable representations: {content_type}");
        return refuse(request, &Refusal::new(406, "NotAcceptable", text));
    }
    let mut response = Response::new(full(Bytes::from(document.to_string())));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    let kept = HeaderValue::from_static("public, max-age=3600");
    headers.insert(header::CACHE_CONTROL, kept);
    response
}

/// Whether the client reads this form, or any (go-restful's `matchesAccept`).
fn takes(accept: &str, form: &str) -> bool {
    let mut ranges = accept.split(',').map(|range| range.split(';').next().unwrap_or("").trim());
    accept.is_empty() || ranges.any(|range| range == "*/*" || range == form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_reads_json_only_does_not_read_keys() {
        let check = |accept: &str, expect: bool| {
            assert_eq!(takes(accept, "application/jwk-set+json"), expect, "{accept}");
        };
        check("", true);
        check("*/*", true);
        check("application/json, */*;q=0.1", true);
        check("application/jwk-set+json", true);
        check("application/json", false);
        check("application/*", false);
    }
}
