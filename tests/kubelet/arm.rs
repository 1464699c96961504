//! A cluster behind a kubeconfig, asked from outside.

use std::{
    path::Path,
    time::{Duration, Instant},
};

use bytes::Bytes;
use cluster::Upstream;
use http::HeaderMap;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tokio::runtime::Runtime;
use tower::ServiceExt;
use trommel_tests::real::Access;

/// How long a cluster gets to come to a state.
const PATIENCE: Duration = Duration::from_secs(90);

/// How often it is asked meanwhile.
const PACE: Duration = Duration::from_millis(50);

/// A cluster.
pub struct Arm {
    runtime: Runtime,
    upstream: Upstream,
}

impl Arm {
    pub fn new(kubeconfig: &Path) -> Arm {
        let access = Access::by(kubeconfig);
        let tls = proxy::tls::client_config(&access.authority, None).expect("a TLS configuration");
        let base = access.server.parse().expect("a URL");
        let token = access.admin.parse().expect("a header");
        let headers = HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]);
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let upstream = proxy::remote(&base, Some(tls), headers).expect("a remote server");
        Arm { runtime: runtime.expect("a runtime"), upstream }
    }

    fn send(&self, method: &str, path: &str, body: Option<Value>) -> (u16, Value) {
        let bytes = body.map_or(Bytes::new(), |body| body.to_string().into());
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header("content-type", "application/json")
            .header("user-agent", "judge/1")
            .body(Full::new(bytes).map_err(|never| match never {}).boxed_unsync())
            .expect("a request");
        self.runtime.block_on(async {
            let answer = self.upstream.clone().oneshot(request).await.expect("an answer");
            let code = answer.status().as_u16();
            let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
            (code, serde_json::from_slice(&bytes).unwrap_or_default())
        })
    }

    pub fn create(&self, path: &str, object: Value) {
        let (code, answer) = self.send("POST", path, Some(object));
        assert_eq!(code, 201, "{path}: {answer}");
    }

    pub fn delete(&self, path: &str) {
        let (code, answer) = self.send("DELETE", path, None);
        assert_eq!(code, 200, "{path}: {answer}");
    }

    pub fn items(&self, path: &str) -> Vec<Value> {
        let (code, list) = self.send("GET", path, None);
        assert_eq!(code, 200, "{path}: {list}");
        list["items"].as_array().cloned().unwrap_or_default()
    }

    /// Asks until something holds. It panics when patience is over.
    pub fn wait_for(&self, what: &str, holds: impl Fn() -> bool) {
        let began = Instant::now();
        while !holds() {
            let pods = || self.items("/api/v1/namespaces/default/pods");
            assert!(began.elapsed() < PATIENCE, "waited for {what}: {:#?}", pods());
            self.runtime.block_on(async {
                let mut pace = tokio::time::interval(PACE);
                pace.tick().await;
                pace.tick().await;
            });
        }
    }
}
