//! Paths that name no resource: discovery in its two forms, OpenAPI, version, health.
//!
//! The aggregated form (`/api` and `/apis`, KEP-3352) and the documents per group and version show the same
//! table: built-in types from the facts, custom ones from the world. So a type is discoverable at the very
//! commit from which it is served.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use serde_json::{Value, json};

use crate::{
    encoding::{MediaType, Offer, Target, encode, negotiate},
    facts::Release,
    openapi::{self, CustomResource},
    server::{
        Body,
        answer::{full, not_found, refuse, to_bytes},
        request::Request,
    },
    status::Refusal,
    world::World,
};

mod documents;
mod openid;

/// The minor release whose `/version` was the first to tell of compatibility (KEP-4330).
const COMPATIBILITY_SINCE: u8 = 33;

/// Answers a path that names no resource.
pub(crate) fn respond(world: &World, request: &Request, path: &str) -> Response<Body> {
    if request.method != http::Method::GET && request.method != http::Method::HEAD {
        return refuse(request, &Refusal::method_not_allowed());
    }
    let steps: Vec<&str> = path.split('/').skip(1).collect();
    match steps[..] {
        ["healthz" | "livez" | "readyz", ..] => text("ok"),
        ["version"] => plain(request, &version(world.release)),
        ["api"] => aggregated(request, &documents::core_list(), documents::api_versions),
        ["apis"] => {
            let all = || documents::aggregated(world);
            aggregated(request, &all(), || documents::group_list(world))
        }
        ["apis", group] => found(request, documents::group(world, group)),
        ["api", version] => found(request, documents::resources(world, "", version)),
        ["apis", group, version] => found(request, documents::resources(world, group, version)),
        ["openapi", "v2"] => openapi_v2(world, request),
        ["openapi", "v3"] => plain(request, &openapi::v3_index(world.release, customs(world))),
        ["openapi", "v3", ..] => {
            let path = path.trim_start_matches("/openapi/v3/");
            openapi::v3(path, world.release, customs(world)).map_or_else(not_found, |document| {
                document_answer(request, document.body, "application/json")
            })
        }
        [".well-known", "openid-configuration"] => openid::configuration(request),
        ["openid", "v1", "jwks"] => openid::keys(request),
        [".well-known", "openid-configuration", ..] | ["openid", "v1", "jwks", ..] => {
            refuse(request, &Refusal::no_such_path())
        }
        [""] => plain(request, &documents::paths(world)),
        _ => not_found(),
    }
}

/// The custom versions that are served, for their documents.
fn customs(world: &World) -> impl Iterator<Item = CustomResource<'_>> {
    world.customs.values().flat_map(|custom| {
        custom.versions.iter().map(|version| CustomResource {
            resource: &version.row,
            list_kind: &custom.list_kind,
            schema: version.published.as_ref(),
        })
    })
}

/// OpenAPI v2: gnostic's protobuf for those who ask for nothing else (client-go), else JSON.
fn openapi_v2(world: &World, request: &Request) -> Response<Body> {
    let accept = request.accept();
    let wanted = openapi::V2_PROTOBUF.iter().find(|name| accept.contains(**name));
    match wanted {
        Some(name) => {
            document_answer(request, openapi::v2_protobuf(world.release, customs(world)).body, name)
        }
        None => document_answer(
            request,
            openapi::v2(world.release, customs(world)).body,
            "application/json",
        ),
    }
}

fn found(request: &Request, document: Option<Value>) -> Response<Body> {
    document.map_or_else(not_found, |document| plain(request, &document))
}

/// A document in whatever form the client reads.
fn plain(request: &Request, document: &Value) -> Response<Body> {
    let agreed = match negotiate(Some(&request.accept()), &Offer::plain()) {
        Ok(agreed) => agreed,
        Err(error) => {
            return refuse(request, &Refusal::new(406, "NotAcceptable", error.to_string()));
        }
    };
    // Documents without a protobuf form (`/version`, `/`) are shown as JSON.
    let (agreed, bytes) = match encode(document, agreed.format) {
        Ok(bytes) => (agreed, bytes),
        Err(_) => (MediaType::JSON, to_bytes(document)),
    };
    untagged(bytes, &agreed.content_type())
}

/// A document that has no tag: those of one group or version.
fn untagged(bytes: Bytes, content_type: &str) -> Response<Body> {
    let mut response = Response::new(full(bytes));
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(header::CONTENT_TYPE, value);
    }
    response
}

/// The aggregated form if the client asks for it, the legacy one otherwise.
fn aggregated(request: &Request, list: &str, legacy: impl Fn() -> Value) -> Response<Body> {
    match negotiate(Some(&request.accept()), &Offer::discovery()) {
        Ok(agreed) if agreed.target == Some(Target::DISCOVERY) => {
            let bytes = Bytes::copy_from_slice(list.as_bytes());
            document_answer(request, bytes, &agreed.content_type())
        }
        _ => plain(request, &legacy()),
    }
}

/// A document with its tag; 304 if the client has it.
fn document_answer(request: &Request, bytes: Bytes, content_type: &str) -> Response<Body> {
    let tag = format!("\"{}\"", blake3::hash(&bytes).to_hex().to_uppercase());
    let known = request.header("if-none-match") == tag;
    let mut response = Response::new(full(if known { Bytes::new() } else { bytes }));
    if known {
        *response.status_mut() = StatusCode::NOT_MODIFIED;
    }
    let headers = response.headers_mut();
    for (name, value) in [(header::ETAG, tag.as_str()), (header::CONTENT_TYPE, content_type)] {
        if let Ok(value) = HeaderValue::from_str(value) {
            headers.insert(name, value);
        }
    }
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    response
}

fn text(text: &'static str) -> Response<Body> {
    let mut response = Response::new(full(Bytes::from_static(text.as_bytes())));
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

fn version(release: Release) -> Value {
    let minor = release.minor();
    let mut version = json!({
        "major": "1",
        "minor": minor.to_string(),
        "gitVersion": release.git_version(),
        "gitCommit": "0000000000000000000000000000000000000000",
        "gitTreeState": "clean",
        "buildDate": "2026-01-01T00:00:00Z",
        "goVersion": "go1.26",
        "compiler": "gc",
        "platform": "linux/amd64",
    });
    if minor >= COMPATIBILITY_SINCE {
        for (field, value) in [
            ("emulationMajor", "1".to_owned()),
            ("emulationMinor", minor.to_string()),
            ("minCompatibilityMajor", "1".to_owned()),
            ("minCompatibilityMinor", (minor - 1).to_string()),
        ] {
            version[field] = json!(value);
        }
    }
    version
}
