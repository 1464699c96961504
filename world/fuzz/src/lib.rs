//! A server with an object of each type, to which a fuzz target sends bytes.
//!
//! What counts as a failure, besides what libFuzzer finds: an answer that says that it is JSON and is not, an error without a `Status`, and
//! an object that can't be read after a write that was accepted.

use std::sync::LazyLock;

use cluster::{Body, Server, SuffixOrder, World, WorldOptions};
use futures::executor::block_on;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use serde::Deserialize;
use serde_json::{Value, json};
use tower::{Service, ServiceExt};
use trace::Time;

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000_000);

/// A row of `tests/differential/objects.yaml`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Row {
    path: String,
    body: Value,
    edits: Vec<Value>,
    #[serde(default, rename = "closed")]
    _closed: bool,
}

/// An object that is there.
#[derive(Debug)]
pub struct Object {
    /// Of its type.
    pub collection: String,
    /// Its own.
    pub path: String,
    /// As it was created.
    pub body: Value,
    /// Merge patches that its type allows.
    pub edits: Vec<Value>,
}

/// The world in which every input begins, and what is in it.
pub struct Start {
    world: World,
    /// One of each type.
    pub objects: Vec<Object>,
}

/// Made once: an input gets a fork.
pub static START_WORLD: LazyLock<Start> = LazyLock::new(start);

fn start() -> Start {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let arm = Arm { server: Server::new(World::new(options), None) };
    let rows: Vec<Row> =
        serde_saphyr::from_str(include_str!("../../../tests/differential/objects.yaml"))
            .expect("the objects of generated scripts");
    let mut objects = Vec::new();
    for row in rows {
        let collection = row.path.replace("{ns}", "default");
        let text = row.body.to_string().replace("{name}", "fuzzed").replace("{ns}", "default");
        let body: Value = serde_json::from_str(&text).expect("JSON");
        let json = "application/json";
        let answer = arm.send(Method::POST, &collection, json, text.into_bytes());
        // Types that a custom definition of the scripts brings are not here.
        let Some(made) = answer.filter(|answer| answer.code == 201) else { continue };
        let name = made.body["metadata"]["name"].as_str().expect("a name").to_owned();
        objects.push(Object {
            path: format!("{collection}/{name}"),
            collection,
            body,
            edits: row.edits,
        });
    }
    assert!(objects.len() > 30, "{} objects could be made", objects.len());
    Start { world: arm.server.world(), objects }
}

impl Start {
    /// The object that a byte stands for.
    pub fn object(&self, byte: u8) -> &Object {
        &self.objects[usize::from(byte) % self.objects.len()]
    }

    /// An object's message, without the magic number before it; none for types that have none.
    pub fn protobuf(&self, object: &Object) -> Option<Vec<u8>> {
        let nothing = Full::new(bytes::Bytes::new()).map_err(|never| match never {});
        let request = Request::get(&object.path)
            .header("accept", "application/vnd.kubernetes.protobuf")
            .body(nothing.boxed_unsync())
            .ok()?;
        let answer = self.arm().pass(request);
        let whole = block_on(answer.into_body().collect()).ok()?.to_bytes();
        whole.strip_prefix(b"k8s\0").map(<[u8]>::to_vec)
    }

    /// A server on a fork of the world.
    pub fn arm(&self) -> Arm {
        Arm { server: Server::new(self.world.clone(), None) }
    }
}

/// A server.
pub struct Arm {
    server: Server,
}

/// What it answered.
#[derive(Debug)]
pub struct Answer {
    /// Its status.
    pub code: u16,
    /// Its body, if that is JSON.
    pub body: Value,
}

impl Arm {
    /// Sends a request, which must not be a watch (its answer has no end), checks what any answer has to be, and returns
    /// it. None if it is no request at all.
    pub fn send(&self, method: Method, path: &str, content: &str, body: Vec<u8>) -> Option<Answer> {
        let body = Full::new(bytes::Bytes::from(body)).map_err(|never| match never {});
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", content)
            .header("accept", "application/json")
            .body(body.boxed_unsync())
            .ok()?;
        let what = format!("{} {}", request.method(), request.uri());
        let answer = self.pass(request);
        let code = answer.status().as_u16();
        let content = answer.headers().get("content-type").map(|value| value.as_bytes().to_vec());
        let bytes = block_on(answer.into_body().collect()).expect("a whole answer").to_bytes();
        let is_json = content.as_deref() == Some(b"application/json");
        let body = match is_json {
            true => serde_json::from_slice(&bytes)
                .unwrap_or_else(|error| panic!("{what}: {error}: {bytes:?}")),
            false => json!(null),
        };
        assert!((200..600).contains(&code), "{what}: {code}");
        if is_json && code >= 400 {
            assert_eq!(body["kind"], "Status", "{what}: {body}");
            assert_eq!(body["code"], json!(code), "{what}: {body}");
        }
        Some(Answer { code, body })
    }

    fn pass(&self, request: Request<Body>) -> Response<Body> {
        let mut service = self.server.service();
        let call = async { service.ready().await.expect("ready").call(request).await };
        block_on(call).expect("an answer")
    }

    /// Reads an object after a write to it: if it was accepted, it is there and has its name, or is gone with its last
    /// finalizer.
    pub fn check(&self, object: &Object, wrote: &Answer) {
        if wrote.code >= 300 {
            return;
        }
        let read = self.send(Method::GET, &object.path, "", Vec::new()).expect("an answer");
        assert!([200, 404].contains(&read.code), "{}: {read:?} after {wrote:?}", object.path);
        if read.code == 200 {
            let name = read.body["metadata"]["name"].as_str().unwrap_or("");
            assert!(object.path.ends_with(&format!("/{name}")), "{read:?}");
        }
    }
}
