//! Caches that are behind, in front of the embedded server and asked over a socket: the requests of `tests/reality`, which
//! say what a real server shows, and the forms that clients accept.

use std::sync::Arc;

use cluster::{Server, SuffixOrder, World, WorldOptions, encoding};
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Full};
use proxy::{Body, Client, Options, Proxy, Upstream};
use serde_json::{Value, json};
use tower::ServiceExt;
use trace::{Actor, CallId, Delivery, DeliveryKind, Recorder, Time};

use super::*;
use crate::providers::codec::ClusterCodec;

const CONFIGMAPS: &str = "/api/v1/namespaces/default/configmaps";
const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

/// A server whose caches are behind, and a client of it.
struct Lagging {
    client: Upstream,
    user: Upstream,
    recorder: Recorder,
    first: Revision,
    at: Revision,
    new: Revision,
    hold: Hold,
    _refused: Deciding,
    _serving: proxy::Serving,
}

impl Lagging {
    async fn of(streams_lists: bool) -> Lagging {
        let options = WorldOptions { start: Time(0), seed: 0, suffixes: SuffixOrder::Ascending };
        let server = Server::new(World::new(options), None);
        let user = server.service();
        let first = write(&user, "POST", "gone", "1").await;
        let at = write(&user, "POST", "a", "1").await;
        let new = write(&user, "PUT", "a", "2").await;
        write(&user, "POST", "b", "1").await;
        write(&user, "DELETE", "gone", "1").await;

        let behind = Behind { resource: None, up_to: None, before: false };
        let cached = Cached { behind, at, streams_lists };
        let caches = Caches::default();
        let recorder = Recorder::new(Arc::new(|| (Time(0), 0)), None);
        let options = Options { keep_delivered_objects: true };
        let upstream = caches.before(server.service());
        let proxy =
            Proxy::with_options(upstream, recorder.clone(), Arc::new(ClusterCodec), options);
        let (hold, refused) = guarded(proxy.gate(), &cached);
        caches.set(Some(cached));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let subject = Client { actor: Actor::Subject(0), incarnation: 0, tls: None };
        let serving = proxy.serve(listener, subject).expect("it serves");
        let base = format!("http://{}", serving.address()).parse().expect("a uri");
        let client = proxy::remote(&base, None, http::HeaderMap::new()).expect("a client");
        Lagging {
            client,
            user,
            recorder,
            first,
            at,
            new,
            hold,
            _refused: refused,
            _serving: serving,
        }
    }

    /// As `tests/reality/requests.yaml` says it.
    async fn shows(&self, ask: &str) -> String {
        let ask = [("FIRST", self.first), ("OLD", self.at), ("NEW", self.new)]
            .iter()
            .fold(ask.to_owned(), |ask, (name, revision)| ask.replace(name, &revision.to_string()));
        let request = match &*ask {
            "POST" => request("POST", CONFIGMAPS, "", Some(configmap("c", "1"))),
            path => request("GET", &format!("{CONFIGMAPS}{path}"), "", None),
        };
        let watches = ask.contains("watch=true");
        let response = self.client.clone().oneshot(request).await.expect("an answer");
        if watches && response.status() == StatusCode::OK {
            return self.streams(response.into_body()).await;
        }
        told(&json_of(response.into_body()).await)
    }

    /// What a watch shows until something newer is held, or it ends.
    async fn streams(&self, body: Body) -> String {
        // Whatever a watch has shown, this is news for it.
        write(&self.user, "PUT", "a", "3").await;
        tokio::select! {
            _ = body.collect() => {}
            () = self.hold.until_held(1) => {}
        }
        let (mut shown, call) = self.deliveries();
        if call.is_some_and(|call| self.hold.calls().contains(&call)) && shown.is_empty() {
            shown.push("nothing".to_owned());
        }
        shown.join(" ")
    }

    /// Events of the last watch.
    fn deliveries(&self) -> (Vec<String>, Option<CallId>) {
        self.recorder.with(|history| {
            let call = history.records.iter().rev().find_map(|record| match &record.event {
                Event::Call(call) => Some(call.id),
                _ => None,
            });
            let shown = history.records.iter().filter_map(|record| match &record.event {
                Event::Delivery(delivery) if Some(delivery.watch) == call => Some(event(delivery)),
                _ => None,
            });
            (shown.collect(), call)
        })
    }
}

fn event(delivery: &Delivery) -> String {
    let object = delivery.object.as_ref().expect("objects are kept");
    match delivery.kind {
        DeliveryKind::Added => format!("+{}", told(object)),
        DeliveryKind::Bookmark => "end".to_owned(),
        _ => told(object),
    }
}

/// `a=1`, or why not.
fn told(answer: &Value) -> String {
    if let Some(items) = answer["items"].as_array() {
        return items.iter().map(told).collect::<Vec<_>>().join(" ");
    }
    if answer["kind"] == "Status" {
        let cause = answer["details"]["causes"][0]["reason"].as_str();
        return cause.or(answer["reason"].as_str()).unwrap_or_default().to_owned();
    }
    let name = answer["metadata"]["name"].as_str().unwrap_or_default();
    format!("{name}={}", answer["data"]["x"].as_str().unwrap_or_default())
}

fn configmap(name: &str, x: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"x": x}})
}

fn request(method: &str, path: &str, accept: &str, body: Option<Value>) -> Request<Body> {
    let bytes = body.map(|body| body.to_string()).unwrap_or_default();
    let body = Full::new(bytes.into()).map_err(|never| match never {}).boxed_unsync();
    let request = Request::builder().method(method).uri(path);
    let request = request.header("accept", accept).header("content-type", "application/json");
    request.body(body).expect("a request")
}

/// A write by somebody else: its revision.
async fn write(user: &Upstream, method: &str, name: &str, x: &str) -> Revision {
    let path = match method {
        "POST" => CONFIGMAPS.to_owned(),
        _ => format!("{CONFIGMAPS}/{name}"),
    };
    let body = (method != "DELETE").then(|| configmap(name, x));
    let written = user.clone().oneshot(request(method, &path, "", body)).await;
    let written = written.expect("an answer");
    assert!(written.status().is_success(), "{method} {name}: {}", written.status());
    let object = json_of(written.into_body()).await;
    object["metadata"]["resourceVersion"].as_str().and_then(Revision::parse).unwrap_or_default()
}

async fn json_of(body: Body) -> Value {
    let bytes = body.collect().await.expect("a body").to_bytes();
    serde_json::from_slice(&bytes).expect("JSON")
}

#[tokio::test]
async fn what_a_real_server_shows_or_what_is_known_to_differ() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/reality/requests.yaml");
    let text = std::fs::read_to_string(file).expect("the requests are there");
    let requests: Vec<Value> = serde_saphyr::from_str(&text).expect("requests");
    assert!(requests.len() > 30);
    for entry in requests {
        let ask = entry["ask"].as_str().expect("a request");
        let expect = entry["trommel"].as_str().or(entry["shows"].as_str()).expect("an answer");
        let server = Lagging::of(true).await;
        assert_eq!(server.shows(ask).await, expect, "{ask}");
        assert_eq!(entry["trommel"].is_string(), entry["why"].is_string(), "{ask}");
    }
}

#[tokio::test]
async fn a_server_that_streams_no_lists() {
    let check = async |ask: &str, expect: &str| {
        assert_eq!(Lagging::of(false).await.shows(ask).await, expect, "{ask}");
    };
    let streamed = "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan";
    check(&format!("{streamed}&resourceVersion=0"), "FieldValueForbidden").await;
    check(streamed, "FieldValueForbidden").await;
    check("?watch=true", "+a=1 +gone=1").await;
    check("?watch=true&resourceVersion=0&allowWatchBookmarks=true", "+a=1 +gone=1").await;
}

#[tokio::test]
async fn in_the_form_that_is_accepted() {
    let server = Lagging::of(true).await;
    let ask = async |name: &str, accept: &str| {
        let path = format!("{CONFIGMAPS}/{name}?resourceVersion=0");
        let answer = server.client.clone().oneshot(request("GET", &path, accept, None)).await;
        let answer = answer.expect("an answer");
        let content_type = answer.headers()["content-type"].to_str().expect("text").to_owned();
        let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
        (content_type.clone(), encoding::decode(Some(&content_type), &bytes).expect("an object"))
    };
    let metadata = "as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let json = format!("application/json;{metadata}");
    let protobuf = format!("{PROTOBUF};{metadata}");
    let kinds = ["ConfigMap", "PartialObjectMetadata"];
    for (accept, content_type, kind) in [
        (PROTOBUF, PROTOBUF, kinds[0]),
        ("application/json", "application/json", kinds[0]),
        (&json, "application/json", kinds[1]),
        (&protobuf, PROTOBUF, kinds[1]),
    ] {
        let (found, object) = ask("a", accept).await;
        assert_eq!((&*found, object["kind"].as_str()), (content_type, Some(kind)), "{accept}");
        assert_eq!(object["metadata"]["resourceVersion"], server.at.to_string(), "{accept}");
        let (found, absent) = ask("b", accept).await;
        assert_eq!(absent["reason"], "NotFound", "{accept}: {found}");
    }
    // Its columns are nowhere in a list of objects: the store answers.
    let table = "application/json;as=Table;g=meta.k8s.io;v=v1";
    let (_, rows) = ask("a", table).await;
    assert_eq!(rows["rows"][0]["object"]["metadata"]["resourceVersion"], server.new.to_string());
}

#[tokio::test]
async fn watches_in_protobuf() {
    let server = Lagging::of(true).await;
    let path = format!("{CONFIGMAPS}?watch=true&resourceVersion=0&allowWatchBookmarks=true");
    let accept = format!("{PROTOBUF};stream=watch");
    let asked = server.client.clone().oneshot(request("GET", &path, &accept, None)).await;
    let response = asked.expect("an answer");
    let content_type = response.headers()["content-type"].to_str().expect("text");
    assert!(content_type.starts_with(PROTOBUF), "{content_type}");
    assert_eq!(server.streams(response.into_body()).await, "+a=1 +gone=1 end");
}
