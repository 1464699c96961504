//! Two API servers of a kind cluster with several control planes, each on an etcd of its own, and curl as their client.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc},
};

use base64::{Engine, prelude::BASE64_STANDARD};
use serde_json::Value;
use trommel_tests::{Need, house::House, needs, skip};

/// The servers of the cluster that `TROMMEL_REALITY` names.
pub struct Servers {
    /// The container of the server whose etcd is to lag.
    node: String,
    /// URL of a server that stays well.
    pub well: String,
    /// URL of the server whose etcd is to lag.
    pub lagging: String,
    /// Folder of the administrator's certificates.
    credentials: String,
    _alone: MutexGuard<'static, ()>,
}

/// Tests of one cluster come one after the other.
static ALONE: Mutex<()> = Mutex::new(());

impl Servers {
    /// None if no cluster is named.
    pub fn named(house: &House) -> Option<Servers> {
        let Ok(name) = std::env::var("TROMMEL_REALITY") else {
            skip("TROMMEL_REALITY names no kind cluster with three control planes");
            return None;
        };
        if !needs(&[Need::Docker, Need::Kubectl]) {
            return None;
        }
        let node = format!("{name}-control-plane2");
        let config = said("docker", &["exec", &node, "cat", "/etc/kubernetes/admin.conf"]);
        for part in ["certificate-authority", "client-certificate", "client-key"] {
            let key = format!("{part}-data: ");
            let line = config.lines().find_map(|line| line.trim().strip_prefix(&key));
            let pem = BASE64_STANDARD.decode(line.expect("credentials")).expect("base64");
            house.write(&format!("{part}.pem"), &String::from_utf8(pem).expect("a PEM"));
        }
        let url = |node: &str| {
            let ports = said("docker", &["port", node, "6443"]);
            format!("https://{}", ports.lines().next().expect("a port").trim())
        };
        let (well, lagging) = (url(&format!("{name}-control-plane")), url(&node));
        for (file, server) in [("well", &well), ("lagging", &lagging)] {
            let of = |line: &str| match line.trim().starts_with("server:") {
                true => format!("    server: {server}\n"),
                false => format!("{line}\n"),
            };
            house.write(file, &config.lines().map(of).collect::<String>());
        }
        let credentials = house.root.display().to_string();
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        Some(Servers { node, well, lagging, credentials, _alone: alone })
    }

    /// The lagging server's etcd stands still until this is dropped.
    pub fn stopped(&self) -> Behind<'_> {
        said("docker", &["exec", &self.node, "pkill", "-STOP", "-x", "etcd"]);
        Behind { node: &self.node, again: vec![vec!["pkill", "-CONT", "-x", "etcd"]] }
    }

    /// The lagging server's etcd hears nothing of the others until this is dropped.
    pub fn cut_off(&self) -> Behind<'_> {
        let ends = [
            ("INPUT", "--dport"),
            ("INPUT", "--sport"),
            ("OUTPUT", "--dport"),
            ("OUTPUT", "--sport"),
        ];
        let rule = |act, (chain, port)| {
            vec!["iptables", act, chain, "-p", "tcp", port, "2380", "-j", "DROP"]
        };
        let again = ends.map(|end| rule("-D", end)).to_vec();
        let behind = Behind { node: &self.node, again };
        for end in ends {
            said("docker", &[&["exec", &*self.node], &*rule("-I", end)].concat());
        }
        behind
    }

    /// Asks, and does not wait for an answer. `heard` is told of each piece of it.
    pub fn ask(
        &self,
        method: &str,
        url: &str,
        body: Option<&Value>,
        heard: mpsc::Sender<()>,
    ) -> Asked {
        let pem = |name: &str| format!("{}/{name}.pem", self.credentials);
        let mut curl = Command::new("curl");
        // Heads are told at once on stderr only; servers write for people if it is curl that asks.
        curl.args(["-sSvN", "--http1.1", "--user-agent", "trommel", "--request", method, url]);
        curl.args(["--cacert", &pem("certificate-authority")]);
        curl.args(["--cert", &pem("client-certificate"), "--key", &pem("client-key")]);
        if let Some(body) = body {
            curl.args(["--header", "Content-Type: application/json", "--data", &body.to_string()]);
        }
        curl.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = curl.spawn().expect("curl starts");
        let told = Said::of(child.stderr.take().expect("it is piped"), heard.clone());
        let body = Said::of(child.stdout.take().expect("it is piped"), heard);
        Asked { child, told, body }
    }

    /// Asks, and waits for the whole answer: its status and its body.
    pub fn answer(&self, method: &str, url: &str, body: Option<&Value>) -> (u16, Value) {
        let (heard, hears) = mpsc::channel();
        let asked = self.ask(method, url, body, heard);
        // The end of the last sender is the end of the answer.
        hears.iter().for_each(drop);
        let body = serde_json::from_str(&asked.body()).unwrap_or_default();
        (asked.status().unwrap_or_default(), body)
    }
}

/// An etcd lags; dropped, it goes on.
pub struct Behind<'s> {
    node: &'s str,
    again: Vec<Vec<&'static str>>,
}

impl Drop for Behind<'_> {
    fn drop(&mut self) {
        for command in &self.again {
            let command = [&["exec", self.node], &**command].concat();
            drop(Command::new("docker").args(command).status());
        }
    }
}

/// A request under way; ended when dropped.
pub struct Asked {
    child: Child,
    /// What curl tells of heads.
    told: Said,
    body: Said,
}

impl Asked {
    /// The status, if the answer has begun.
    pub fn status(&self) -> Option<u16> {
        let told = self.told.so_far();
        let status = told.lines().find_map(|line| line.strip_prefix("< HTTP/1.1 "))?;
        status.split(' ').next()?.parse().ok()
    }

    /// What came of the body so far.
    pub fn body(&self) -> String {
        self.body.so_far()
    }
}

/// What a program says, as it comes.
struct Said(Arc<Mutex<Vec<u8>>>);

impl Said {
    fn of(mut pipe: impl Read + Send + 'static, heard: mpsc::Sender<()>) -> Said {
        let said = Said(Arc::default());
        let (told, mut piece) = (said.0.clone(), [0; 65536]);
        std::thread::spawn(move || {
            while let Ok(length @ 1..) = pipe.read(&mut piece) {
                told.lock().expect("nobody panics with it").extend_from_slice(&piece[..length]);
                let _ = heard.send(());
            }
        });
        said
    }

    fn so_far(&self) -> String {
        String::from_utf8_lossy(&self.0.lock().expect("nobody panics with it")).into_owned()
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

/// What a program prints; it must succeed.
pub fn said(program: &str, arguments: &[&str]) -> String {
    let ended = Command::new(program).args(arguments).stdin(Stdio::null()).output();
    let ended = ended.expect("it starts");
    let stderr = String::from_utf8_lossy(&ended.stderr);
    assert!(ended.status.success(), "{program} {arguments:?}: {stderr}");
    String::from_utf8_lossy(&ended.stdout).into_owned()
}
