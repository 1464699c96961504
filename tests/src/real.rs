//! etcd and kube-apiserver, started by `tests/reference/serve.sh`, as a person would; and the real controllers by
//! themselves, for another server.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use base64::Engine;
use http_body_util::BodyExt;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;
use tower::ServiceExt;

use crate::{product::yaml, root};

/// A running cluster; dropping it ends it.
pub struct Cluster {
    /// For clients.
    pub kubeconfig: PathBuf,
    server: Child,
}

/// How a client comes to a cluster.
pub struct Access {
    /// Its URL.
    pub server: String,
    /// The certificate of its authority, as PEM.
    pub authority: String,
    /// The value of the header `Authorization`: its administrator's.
    pub admin: String,
}

impl Access {
    /// What a kubeconfig says, the judge's or ours.
    pub fn by(kubeconfig: &Path) -> Access {
        let config = yaml(kubeconfig);
        let find = |pointer: &str| config.pointer(pointer).and_then(Value::as_str);
        let text = |pointer: &str| {
            find(pointer).unwrap_or_else(|| panic!("a kubeconfig has {pointer}")).to_owned()
        };
        let authority = match find("/clusters/0/cluster/certificate-authority") {
            Some(file) => std::fs::read(file).expect("a file"),
            None => {
                let data = text("/clusters/0/cluster/certificate-authority-data");
                base64::engine::general_purpose::STANDARD.decode(data).expect("base64")
            }
        };
        Access {
            server: text("/clusters/0/cluster/server"),
            authority: String::from_utf8(authority).expect("a certificate in PEM"),
            admin: format!("Bearer {}", text("/users/0/user/token")),
        }
    }
}

impl Access {
    /// A cluster over TLS, as its administrator.
    pub fn upstream(&self) -> proxy::Upstream {
        let tls = proxy::tls::client_config(&self.authority, None).expect("a TLS configuration");
        let base = self.server.parse().expect("a URL");
        let token = self.admin.parse().expect("a header");
        let headers = http::HeaderMap::from_iter([(http::header::AUTHORIZATION, token)]);
        proxy::remote(&base, Some(tls), headers).expect("a remote server")
    }

    /// One request by one connection: status and answer. Patches are merge patches.
    pub fn send(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, Value) {
        let (status, bytes) = self.exchange(method, path, body);
        (status, serde_json::from_slice(&bytes).unwrap_or_default())
    }

    /// What a watch tells until it ends by itself.
    pub fn watch(&self, path: &str) -> Vec<Value> {
        let (status, bytes) = self.exchange("GET", path, None);
        assert_eq!(status, 200, "{path}: {}", String::from_utf8_lossy(&bytes));
        let lines = bytes.split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        lines.map(|line| serde_json::from_slice(line).expect("an event")).collect()
    }

    fn exchange(&self, method: &str, path: &str, body: Option<&Value>) -> (u16, bytes::Bytes) {
        let media =
            if method == "PATCH" { "application/merge-patch+json" } else { "application/json" };
        let body = body.map(Value::to_string).unwrap_or_default();
        let body = http_body_util::Full::new(bytes::Bytes::from(body));
        let request = http::Request::builder()
            .method(method)
            .uri(path)
            .header(http::header::CONTENT_TYPE, media)
            .body(body.map_err(|never| match never {}).boxed_unsync());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(async {
            let sent = self.upstream().oneshot(request.expect("a request")).await;
            let answer = sent.expect("the cluster answers");
            let status = answer.status().as_u16();
            (status, answer.into_body().collect().await.expect("a whole answer").to_bytes())
        })
    }
}

impl Cluster {
    /// What its kubeconfig says.
    pub fn access(&self) -> Access {
        Access::by(&self.kubeconfig)
    }

    /// The processes of its servers.
    pub fn servers(&self) -> Vec<u32> {
        let id = self.server.id();
        let children = std::fs::read_to_string(format!("/proc/{id}/task/{id}/children"));
        let children = children.expect("it runs");
        children.split_whitespace().filter_map(|number| number.parse().ok()).collect()
    }

    /// Starts it with everything in this folder, and with these arguments of `serve.sh`; returns when it serves.
    pub fn start(folder: &Path, arguments: &[&str]) -> Cluster {
        let mut server = Command::new(root().join("tests/reference/serve.sh"))
            .arg(folder)
            .args(arguments)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .spawn()
            .expect("serve.sh starts");
        // Its one line on stdout comes when the API server is ready.
        let stdout = server.stdout.take().expect("stdout is a pipe");
        let mut line = String::new();
        BufReader::new(stdout).read_line(&mut line).expect("a pipe can be read");
        let kubeconfig = line.trim().strip_prefix("export KUBECONFIG=").map(PathBuf::from);
        let mut cluster = Cluster { kubeconfig: PathBuf::new(), server };
        // If not, dropping it reaps it.
        cluster.kubeconfig = kubeconfig.unwrap_or_else(|| panic!("the judge does not start"));
        cluster
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        // Its trap kills both servers.
        let told = kill_process(Pid::from_child(&self.server), Signal::TERM);
        if told.is_ok() {
            drop(self.server.wait());
        }
    }
}

/// Where a program of the judge is.
pub fn program(name: &str) -> PathBuf {
    let script = root().join("tests/reference/build.sh");
    let said = Command::new(script).arg("--where").output().expect("a script");
    assert!(said.status.success(), "the judge is built");
    Path::new(String::from_utf8_lossy(&said.stdout).trim()).join(name)
}

/// The real kube-controller-manager, at work on any server; dropping it ends it.
pub struct ControllerManager(Child);

impl ControllerManager {
    /// Starts it; what it says goes to `log`.
    pub fn start(kubeconfig: &Path, log: &Path) -> ControllerManager {
        let key = log.with_extension("key");
        let mut openssl = Command::new("openssl");
        openssl.args(["genrsa", "-out"]).arg(&key).arg("2048").stderr(Stdio::null());
        assert!(openssl.status().expect("openssl runs").success(), "a key can be made");
        let authority = log.with_extension("crt");
        let mut openssl = Command::new("openssl");
        openssl.args(["req", "-x509", "-days", "3650", "-subj", "/CN=judge", "-key"]).arg(&key);
        openssl.arg("-out").arg(&authority).stderr(Stdio::null());
        assert!(openssl.status().expect("openssl runs").success(), "a certificate can be made");
        let log = std::fs::File::create(log).expect("a file can be made");
        let flag = |name: &str, value: &dyn std::fmt::Display| format!("--{name}={value}");
        let child = Command::new(program("kube-controller-manager"))
            .arg(flag("kubeconfig", &kubeconfig.display()))
            .arg(flag("service-account-private-key-file", &key.display()))
            .arg(flag("cluster-signing-cert-file", &authority.display()))
            .arg(flag("cluster-signing-key-file", &key.display()))
            .args(["--leader-elect=false", "--use-service-account-credentials=false"])
            .args(["--kube-api-qps=1000", "--kube-api-burst=1000"])
            .args(["--concurrent-namespace-syncs=50", "--secure-port=0"])
            // Nobody runs the nodes of scenarios: those that say that they are ready are believed.
            .arg("--node-monitor-grace-period=87600h")
            .stdin(Stdio::null())
            .stdout(log.try_clone().expect("a file can be shared"))
            .stderr(log)
            .spawn();
        ControllerManager(child.expect("it starts"))
    }
}

impl Drop for ControllerManager {
    fn drop(&mut self) {
        // It may be gone.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}
