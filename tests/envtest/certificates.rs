//! Who shows a client certificate, or none: the stand-in for kube-apiserver says the same as the real one.

use std::path::Path;

use bytes::Bytes;
use cluster::Upstream;
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use proxy::tls::{Authority, Pair, client_config};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tower::ServiceExt;
use trace::Time;
use trommel_tests::{Need, house::House, needs, real::Cluster};

use crate::{Running, assets};

/// Seconds of a year, leap days left out.
const YEAR_SECONDS: i64 = 365 * 24 * 3600;

/// The machine's clock: both servers go by it.
fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time(since.expect("it is later").as_nanos() as i64)
}

fn years_later(years: i64) -> Time {
    Time(now().0 + years * YEAR_SECONDS * 1_000_000_000)
}

/// Who comes: a name for the test, and what they show. Authorities sign from a year back, for 20 years.
fn clients(authority: &Authority) -> Vec<(&'static str, Option<Pair>)> {
    let stranger = Authority::mint(now()).expect("an authority");
    let by = |authority: &Authority, at, name, groups: &[&str]| {
        Some(authority.client(at, name, groups).expect("a certificate"))
    };
    vec![
        ("nothing", None),
        ("a user", by(authority, now(), "jo", &[])),
        ("a user in groups", by(authority, now(), "jo", &["dev", "ops"])),
        ("a master", by(authority, now(), "root", &["system:masters"])),
        ("a user called nothing", by(authority, now(), "", &["dev"])),
        ("a user who says they are anonymous", by(authority, now(), "system:anonymous", &[])),
        ("a user in the group of nobody", by(authority, now(), "jo", &["system:unauthenticated"])),
        ("out of date", by(authority, years_later(-25), "jo", &["dev"])),
        ("not yet good", by(authority, years_later(5), "jo", &["dev"])),
        ("a stranger", by(&stranger, now(), "jo", &["system:masters"])),
        ("a server", Some(authority.server(now(), &[]).expect("a certificate"))),
    ]
}

/// A method, a path, and headers.
type Question = (&'static str, &'static str, &'static [(&'static str, &'static str)]);

/// What they ask, with what headers.
const QUESTIONS: [Question; 7] = [
    ("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", &[]),
    ("GET", "/api/v1/nodes", &[]),
    ("GET", "/api/v1/namespaces/default/configmaps/none", &[]),
    ("GET", "/healthz", &[]),
    ("GET", "/metrics", &[]),
    ("GET", "/api/v1/nodes", &[("authorization", "Bearer nobody")]),
    ("GET", "/api/v1/nodes", &[("impersonate-user", "ann")]),
];

struct Arm {
    base: http::Uri,
    authority: String,
}

impl Arm {
    /// What a client hears: code and body of each answer.
    async fn hears(&self, shown: Option<&Pair>) -> Vec<(u16, Value)> {
        let tls = client_config(&self.authority, shown).expect("a configuration");
        let upstream = proxy::remote(&self.base, Some(tls), HeaderMap::new()).expect("a server");
        let mut heard = Vec::new();
        for (method, path, headers) in QUESTIONS {
            heard.push(ask(&upstream, method, path, headers).await);
        }
        heard
    }
}

async fn ask(
    upstream: &Upstream,
    method: &str,
    path: &str,
    headers: &[(&str, &str)],
) -> (u16, Value) {
    let body = match method {
        "POST" => json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}),
        _ => Value::Null,
    };
    let bytes = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    let mut request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("accept", "application/json")
        .header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let body = Full::new(bytes).map_err(|never| match never {}).boxed_unsync();
    let request = request.body(body).expect("a request");
    let answer = upstream.clone().oneshot(request).await.expect("an answer");
    let code = answer.status().as_u16();
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    let text = || Value::from(String::from_utf8_lossy(&bytes).into_owned());
    let mut body = serde_json::from_slice(&bytes).unwrap_or_else(|_| text());
    // When it was answered; and the state of the one store and the other.
    if let Some(metadata) = body.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("creationTimestamp");
        metadata.remove("resourceVersion");
    }
    (code, body)
}

/// The stand-in, with these authorities for servers and for clients.
fn stand_in(house: &House, clients: &Path) -> (Running, Arm) {
    let authority = Authority::mint(now()).expect("an authority");
    let pair = authority.server(now(), &[]).expect("a certificate");
    house.write("serving/apiserver.crt", &pair.certificate);
    house.write("serving/apiserver.key", &pair.key);
    let flags = [
        format!("--cert-dir={}", house.path("serving").display()),
        format!("--client-ca-file={}", clients.display()),
        "--authorization-mode=RBAC".to_owned(),
        "--secure-port=0".to_owned(),
    ];
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let serves = "serves on ";
    let (running, said) = Running::start(&assets(house, &[]), "kube-apiserver", &flags, serves);
    let (_, address) = said.split_once(serves).expect("it says so");
    let base = address.trim().parse().expect("a URL");
    (running, Arm { base, authority: authority.pair().certificate.clone() })
}

#[test]
fn certificates_count_as_with_the_real_server() {
    if !needs(&[Need::Go, Need::Judge]) {
        return;
    }
    let house = House::new("envtest/certificates", &[]);
    let authority = Authority::mint(now()).expect("an authority");
    house.write("clients.crt", &authority.pair().certificate);
    let file = house.path("clients.crt");
    let option = format!("--client-ca={}", file.display());
    let cluster = Cluster::start(&house.path("judge"), &[&option]);
    let access = cluster.access();
    let real = Arm { base: access.server.parse().expect("a URL"), authority: access.authority };
    let (running, ours) = stand_in(&house, &file);
    let runtime: Runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    for (who, shown) in clients(&authority) {
        let real = runtime.block_on(real.hears(shown.as_ref()));
        let ours = runtime.block_on(ours.hears(shown.as_ref()));
        for ((question, real), ours) in QUESTIONS.iter().zip(real).zip(ours) {
            // What a server says of itself is no matter of who asks.
            let (real, ours) = match question.1 {
                "/metrics" if real.0 == 200 => continue,
                _ => (real, ours),
            };
            assert_eq!(ours, real, "{who} asks {question:?}");
        }
    }
    assert_eq!(running.end(), Some(0));
}
