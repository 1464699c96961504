//! Whom the requests go to: a fresh embedded server for every script, or the one real server of the test.

use bytes::Bytes;
use cluster::{Body, Server, SuffixOrder, Upstream, World, WorldOptions};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full};
use tower::{Service, ServiceExt};
use trace::Time;
use trommel_tests::real::Cluster;

use crate::{defects::Defect, script::Request as Asked};

/// 2026-01-01T00:00:00Z.
const START: Time = Time(1_767_225_600_000_000_000);

/// Who both servers take the requests for; it names the field managers.
const USER_AGENT: &str = "differential/1.0";

/// The group that may do everything.
const MASTERS: &str = "system:masters";

/// One server.
#[derive(Clone)]
pub struct Arm {
    pub name: &'static str,
    upstream: Upstream,
    /// By which its administrator is known: who sends what does not say otherwise.
    admin: String,
    /// The embedded server itself: its clock has to be moved. None for the real one.
    embedded: Option<Server>,
    /// What is wrong with it.
    defect: Option<&'static Defect>,
}

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Got {
    pub code: u16,
    pub headers: HeaderMap,
    pub bytes: Bytes,
}

impl Arm {
    /// An embedded server on a world of its own.
    pub fn embedded(world: &World) -> Arm {
        let server = Server::new(world.clone(), None);
        server.call_webhooks_by(std::sync::Arc::new(crate::hooks::Calling));
        let admin = format!("Bearer {}", cluster::ADMIN_TOKEN);
        let upstream = server.service();
        Arm { name: "embedded", upstream, admin, embedded: Some(server), defect: None }
    }

    /// The same server with a planted defect.
    pub fn with(mut self, defect: Option<&'static Defect>) -> Arm {
        self.defect = defect;
        self
    }

    /// What an embedded server's world has become.
    pub fn world(&self) -> World {
        self.embedded.as_ref().expect("only embedded servers have a world here").world()
    }

    /// The world that embedded servers start from.
    pub fn empty_world() -> World {
        World::new(WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending })
    }

    /// The real server, which `cluster` keeps running.
    pub fn real(cluster: &Cluster) -> Arm {
        let access = cluster.access();
        let tls = proxy::tls::client_config(&access.authority, None).expect("a TLS configuration");
        let base = access.server.parse().expect("a URL");
        let upstream = proxy::remote(&base, Some(tls), HeaderMap::new()).expect("a remote server");
        let admin = access.admin;
        Arm { name: "real", upstream, admin, embedded: None, defect: None }
    }

    /// Sends a request and reads the whole answer. A watch is read to its end: `timeoutSeconds` of the
    /// request pass, on the real server by waiting, on the embedded one by moving its clock.
    pub async fn call(&self, mut asked: Asked) -> Got {
        if let Some(defect) = self.defect {
            (defect.ask)(&mut asked);
        }
        let path = &asked.path;
        let body = Full::new(asked.body.clone()).map_err(|never| match never {}).boxed_unsync();
        let method: Method = asked.method.parse().expect("a method");
        let mut request = Request::builder().method(method).uri(path).body(body);
        let request = request.as_mut().unwrap_or_else(|error| panic!("{path}: {error}"));
        request.headers_mut().insert("user-agent", USER_AGENT.parse().expect("a header"));
        request.headers_mut().insert("authorization", self.admin.parse().expect("a header"));
        if self.embedded.is_none() && !says_who(&asked.headers) {
            // Under the name of the embedded server's own administrator, because some answers show it.
            for (name, value) in [("impersonate-user", "admin"), ("impersonate-group", MASTERS)] {
                request.headers_mut().insert(name, value.parse().expect("a header"));
            }
        }
        request.headers_mut().extend(asked.headers.clone());
        let request = std::mem::replace(request, Request::new(Body::default()));
        let mut upstream = self.upstream.clone();
        let answer = async { upstream.ready().await?.call(request).await }.await;
        let answer = answer.unwrap_or_else(|error| panic!("{}: {path}: {error}", self.name));
        let (parts, body) = answer.into_parts();
        if let Some(server) = &self.embedded {
            server.advance_to(server.now().plus(seconds_of_watch(path)));
        }
        let body = body.collect().await.unwrap_or_else(|error| panic!("{path}: {error}"));
        let (code, headers) = (parts.status.as_u16(), parts.headers);
        let mut got = Got { code, headers, bytes: body.to_bytes() };
        if let Some(defect) = self.defect {
            (defect.answer)(&asked, &mut got);
        }
        got
    }
}

/// Whether a request comes from anybody but the administrator.
fn says_who(headers: &HeaderMap) -> bool {
    headers.keys().any(|name| name == "authorization" || name.as_str().starts_with("impersonate-"))
}

/// How long a request asks its watch to live; zero for everything else.
fn seconds_of_watch(path: &str) -> std::time::Duration {
    let value = path.split(['?', '&']).find_map(|pair| pair.strip_prefix("timeoutSeconds="));
    std::time::Duration::from_secs(value.and_then(|text| text.parse().ok()).unwrap_or(0))
}

/// Both servers.
pub struct Arms {
    pub real: Arm,
    /// What each embedded server starts from.
    pub world: World,
}
