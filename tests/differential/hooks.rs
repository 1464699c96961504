//! The webhooks of the scripts: one server on loopback, which both API servers call, and which answers as the script
//! says. What it is asked is compared too.

use std::{
    collections::BTreeMap,
    net::{SocketAddr, TcpListener},
    sync::{Arc, Mutex, PoisonError},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use bytes::Bytes;
use cluster::{Caller, Destination, WebhookAnswer, WebhookCall};
use futures::future::BoxFuture;
use http::{Request, Response};
use http_body_util::{BodyExt, Full};
use proxy::tls::Authority;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::net::TcpStream;
use trace::{Actor, Recorder, Time};

/// What a webhook answers.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub struct Reply {
    /// Fields of the `response`; its uid is filled in. Default: allowed.
    #[serde(default)]
    pub response: Option<Value>,
    /// A JSON patch: the answer allows, and says that it is one.
    #[serde(default)]
    pub patch: Option<Value>,
    /// A body that is no review, as it stands.
    #[serde(default)]
    pub body: Option<String>,
    /// HTTP status; default 200.
    #[serde(default)]
    pub status: Option<u16>,
    /// It converts: names of fields of `spec` in v1, and what they are called in v2. All else stays as it is.
    #[serde(default)]
    pub convert: Option<BTreeMap<String, String>>,
    /// What it is asked is not compared: how often it is asked depends on how quick the real server is.
    #[serde(default)]
    pub unseen: bool,
}

/// The server, and all that it was asked: by arm, script and webhook, in order.
#[derive(Default)]
struct Book {
    replies: BTreeMap<String, BTreeMap<String, Reply>>,
    seen: BTreeMap<(String, String), Vec<Value>>,
}

/// See the module's documentation.
#[derive(Clone)]
pub struct Hooks {
    book: Arc<Mutex<Book>>,
    address: SocketAddr,
    closing: SocketAddr,
    authority: Arc<Authority>,
    /// A certificate that signed nothing.
    other: String,
    _serving: Arc<proxy::Serving>,
}

/// A day of 2026 by the machine: certificates are valid for years around it.
fn now() -> Time {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    Time(i64::try_from(since.expect("after 1970").as_nanos()).expect("before 2262"))
}

impl Hooks {
    /// Serves the webhooks of these scripts. Inside a tokio runtime.
    pub fn serve(replies: BTreeMap<String, BTreeMap<String, Reply>>) -> Hooks {
        let authority = Authority::mint(now()).expect("an authority");
        let tls = authority.server(now(), &[]).expect("a certificate");
        let tls = proxy::tls::server_config(&tls).expect("a configuration");
        let book = Arc::new(Mutex::new(Book { replies, ..Book::default() }));
        let answering = book.clone();
        let service = tower::service_fn(move |request: Request<proxy::Body>| {
            let book = answering.clone();
            async move { Ok::<_, proxy::Error>(answer(&book, request).await) }
        });
        let quiet = Recorder::new(Arc::new(Default::default), None);
        let front =
            proxy::Proxy::new(proxy::Upstream::new(service), quiet, Arc::new(proxy::JsonCodec));
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = proxy::Client { actor: Actor::User, incarnation: 0, tls: Some(tls) };
        let serving = front.serve(listener, client).expect("it is served");
        Hooks {
            book,
            address: serving.address(),
            closing: closing(),
            authority: Arc::new(authority),
            other: Authority::mint(now())
                .and_then(|other| other.server(now(), &[]))
                .expect("a certificate")
                .certificate,
            _serving: Arc::new(serving),
        }
    }

    /// What scripts can refer to as `{hooks.…}`.
    pub fn references(&self, arm: &str, script: &str) -> Value {
        let ca = |pem: &str| BASE64_STANDARD.encode(pem);
        json!({
            "url": format!("https://{}/{arm}/{script}", self.address),
            "closing": format!("https://{}", self.closing),
            "refusing": "https://127.0.0.1:1",
            "ca": ca(&self.authority.pair().certificate),
            "otherCa": ca(&self.other),
        })
    }

    /// What was asked on behalf of a script by one arm, as entries of its transcript.
    pub fn seen(&self, arm: &str, script: &str) -> Vec<Value> {
        let book = self.book.lock().unwrap_or_else(PoisonError::into_inner);
        book.seen.get(&(arm.to_owned(), script.to_owned())).cloned().unwrap_or_default()
    }
}

/// A listener that closes every connection when it has been greeted: closed before, it would be reset.
fn closing() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    listener.set_nonblocking(true).expect("a socket that does not block");
    let address = listener.local_addr().expect("an address");
    let listener = tokio::net::TcpListener::from_std(listener).expect("a runtime");
    tokio::spawn(async move {
        let mut greeting = vec![0; 64 * 1024];
        while let Ok((mut stream, _)) = listener.accept().await {
            drop(tokio::io::AsyncReadExt::read(&mut stream, &mut greeting).await);
        }
    });
    address
}

async fn answer(book: &Mutex<Book>, request: Request<proxy::Body>) -> Response<proxy::Body> {
    let path = request.uri().path().to_owned();
    let mut parts = path.trim_start_matches('/').splitn(3, '/');
    let mut part = || parts.next().unwrap_or("").to_owned();
    let (arm, script, name) = (part(), part(), part());
    let query = request.uri().query().unwrap_or("").to_owned();
    let content_type = request.headers().get("content-type").cloned();
    let body = request.into_body().collect().await.expect("a body").to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap_or(Value::Null);
    let mut book = book.lock().unwrap_or_else(PoisonError::into_inner);
    let known = book.replies.get(&script).and_then(|own| own.get(&name)).cloned();
    let reply = known.unwrap_or_else(|| panic!("{path}: the script has no such webhook"));
    let (status, body) = reply.to(&review);
    if !reply.unseen {
        let content_type = content_type.map(|value| value.to_str().unwrap_or("").to_owned());
        let entry = json!({
            "request": format!("webhook {name}?{query}"), "code": 0,
            "headers": {"content-type": content_type}, "body": comparable(review),
        });
        book.seen.entry((arm, script)).or_default().push(entry);
    }
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    // As Go's `http.Error` has it.
    let content_type = if reply.status.is_some() { "text/plain" } else { "application/json" };
    let answer = Response::builder().status(status).header("content-type", content_type);
    answer.body(body).expect("an answer")
}

/// A review without what no two servers share: its uid, and who their administrators are.
fn comparable(mut review: Value) -> Value {
    if let Some(request) = review["request"].as_object_mut() {
        request.remove("uid");
        request.remove("userInfo");
    }
    review
}

impl Reply {
    fn to(&self, review: &Value) -> (u16, String) {
        let status = self.status.unwrap_or(200);
        if let Some(body) = &self.body {
            return (status, body.clone());
        }
        let answers = match &self.convert {
            Some(names) => conversion(names, &review["request"]),
            None => json!({"allowed": true}),
        };
        let mut response = self.response.clone().unwrap_or(answers);
        if let Some(patch) = &self.patch {
            response["patch"] = json!(BASE64_STANDARD.encode(patch.to_string()));
            response["patchType"] = json!("JSONPatch");
        }
        if response.get("uid").is_none() {
            response["uid"] = review["request"]["uid"].clone();
        }
        let answer = json!({
            "apiVersion": review["apiVersion"], "kind": review["kind"], "response": response,
        });
        (status, answer.to_string())
    }
}

/// The response to a review of objects whose fields have these names.
fn conversion(names: &BTreeMap<String, String>, request: &Value) -> Value {
    let to = request["desiredAPIVersion"].as_str().unwrap_or("");
    let objects = request["objects"].as_array().into_iter().flatten();
    let converted = objects.map(|object| {
        let mut object = object.clone();
        object["apiVersion"] = json!(to);
        if let Some(spec) = object["spec"].as_object_mut() {
            for (one, two) in names {
                let (from, into) = if to.ends_with("/v2") { (one, two) } else { (two, one) };
                if let Some(value) = spec.remove(from) {
                    spec.insert(into.clone(), value);
                }
            }
        }
        object
    });
    let converted: Vec<Value> = converted.collect();
    json!({"result": {"status": "Success"}, "convertedObjects": converted})
}

/// Makes the embedded server's calls.
pub struct Calling;

impl Caller for Calling {
    fn call(&self, call: WebhookCall) -> BoxFuture<'static, Result<WebhookAnswer, String>> {
        Box::pin(async move {
            let Destination::Host { host, port } = &call.destination else {
                return Err(call.destination.refused());
            };
            let stream = TcpStream::connect((host.as_str(), *port)).await;
            let stream = stream.map_err(|error| call.destination.undialled(&error))?;
            let post = proxy::Post {
                url: &call.url,
                server_name: host,
                ca_bundle: &call.ca_bundle,
                body: &call.body,
            };
            let proxy::Posted { status, is_text, body } = proxy::post(stream, post, now()).await?;
            Ok(WebhookAnswer { status, is_text, body })
        })
    }
}
