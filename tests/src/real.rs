//! etcd and kube-apiserver, started by `tests/reference/serve.sh`, as a person would.

use std::{
    io::{BufRead, BufReader},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::Value;

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

impl Cluster {
    /// What its kubeconfig says.
    pub fn access(&self) -> Access {
        let config = yaml(&self.kubeconfig);
        let text = |pointer: &str| {
            let value = config.pointer(pointer).and_then(Value::as_str);
            value.unwrap_or_else(|| panic!("the judge's kubeconfig has {pointer}")).to_owned()
        };
        let authority = std::fs::read_to_string(text("/clusters/0/cluster/certificate-authority"));
        Access {
            server: text("/clusters/0/cluster/server"),
            authority: authority.expect("a certificate in PEM"),
            admin: format!("Bearer {}", text("/users/0/user/token")),
        }
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
