//! A bug of the corpus in front of the real server that is behind. A proxy that changes nothing stands between the two, to
//! say what the controller has asked.

use std::{
    io::{BufRead, BufReader},
    process::{Child, Command, Stdio},
    sync::Arc,
};

use proxy::{Client, JsonCodec, Proxy, Serving};
use serde_json::json;
use trace::{Actor, Event, Recorder, Time, Verb};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{json as json_of, run},
};

use super::servers::{Servers, said};

const FOLDER: &str = "tests/corpus/tls-toggle";
const CRD: &str = "tests/corpus/operators/crd.yaml";

/// A program; ended with the test.
struct Program(Child);

impl Program {
    fn start(command: &mut Command) -> Program {
        command.stdin(Stdio::null()).stderr(Stdio::null());
        Program(command.spawn().expect("it starts"))
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// The controller in front of the server that a kubeconfig names.
fn controller(house: &House, kubeconfig: &str, flags: &[&str]) -> Program {
    let mut command = Command::new(house.path("tests/corpus/operators/bin/operators"));
    command.args(flags).arg("tls-toggle").env("KUBECONFIG", house.path(kubeconfig));
    Program::start(command.stdout(Stdio::null()))
}

/// Stands before the lagging server, for the kubeconfig `recorded`.
struct Between {
    recorder: Recorder,
    _serving: Serving,
    _kubectl: Program,
}

impl Between {
    fn new(house: &House) -> Between {
        let kubeconfig = house.path("lagging");
        let mut kubectl = Command::new("kubectl");
        kubectl.arg("--kubeconfig").arg(kubeconfig).args(["proxy", "--port=0"]);
        let mut kubectl = Program::start(kubectl.stdout(Stdio::piped()));
        let mut line = String::new();
        let stdout = kubectl.0.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it says where it serves");
        let base = format!("http://{}", line.trim().rsplit(' ').next().expect("an address"));
        let upstream = proxy::remote(&base.parse().expect("a URL"), None, http::HeaderMap::new());
        let recorder = Recorder::new(Arc::new(|| (Time(0), 0)), None);
        let upstream = upstream.expect("a server");
        let between = Proxy::new(upstream, recorder.clone(), Arc::new(JsonCodec));
        let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("a port");
        let client = Client { actor: Actor::Subject(0), incarnation: 0, tls: None };
        let serving = between.serve(listener, client).expect("it serves");
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {"server": format!("http://{}", serving.address())}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {}}],
        });
        house.write("recorded", &config.to_string());
        Between { recorder, _serving: serving, _kubectl: kubectl }
    }

    /// Returns when the controller has asked that of a type.
    fn until_asked(&self, verb: Verb, resource: &str) {
        let asks = |event: &Event| match event {
            Event::Call(call) => {
                call.verb == verb
                    && call.resource.as_ref().is_some_and(|of| *of.resource == *resource)
            }
            _ => false,
        };
        while !self
            .recorder
            .with(|history| history.records.iter().any(|record| asks(&record.event)))
        {
            std::thread::yield_now();
        }
    }
}

/// The user of a Database, at the server that is well; what there is of it goes with the test.
struct User<'h>(&'h House);

impl User<'_> {
    fn kubectl(&self, arguments: &[&str]) -> String {
        let kubeconfig = self.0.path("well").display().to_string();
        said("kubectl", &[&["--kubeconfig", &kubeconfig], arguments].concat())
    }

    fn applies(&self, tls: bool) {
        let database = json!({
            "apiVersion": "corpus.trommel.dev/v1", "kind": "Database",
            "metadata": {"name": "db", "namespace": "default"}, "spec": {"tls": tls},
        });
        self.0.write("database.json", &database.to_string());
        self.kubectl(&["apply", "-f", &self.0.path("database.json").display().to_string()]);
    }

    /// The uid of the Secret when one is there, or when none is.
    fn sees_secret(&self, there: bool) -> String {
        let ask = ["get", "secret", "db-tls", "--ignore-not-found", "-o=jsonpath={.metadata.uid}"];
        loop {
            let uid = self.kubectl(&ask);
            if uid.is_empty() != there {
                return uid;
            }
        }
    }

    fn cleans_up(&self) {
        let crd = self.0.path(CRD).display().to_string();
        self.kubectl(&["delete", "--ignore-not-found", "-f", &crd]);
        self.kubectl(&["delete", "secret", "db-tls", "--ignore-not-found"]);
    }
}

impl Drop for User<'_> {
    fn drop(&mut self) {
        self.cleans_up();
    }
}

/// TLS is turned on, off, and on again; the second server does not see the last. The controller is killed when the Secret
/// is there again, and started in front of that server, which catches up when the controller has done what it does about
/// the old state. Gives whether the live Secret outlived it.
fn the_secret_lives(servers: &Servers, house: &House, flags: &[&str], asks: (Verb, &str)) -> bool {
    let user = User(house);
    user.cleans_up();
    user.kubectl(&["apply", "-f", &house.path(CRD).display().to_string()]);
    user.kubectl(&["wait", "--for=condition=Established", "crd/databases.corpus.trommel.dev"]);
    let first = controller(house, "well", flags);
    user.applies(true);
    user.sees_secret(true);
    user.applies(false);
    user.sees_secret(false);
    let seen = format!(
        "{}/apis/corpus.trommel.dev/v1/namespaces/default/databases/db?resourceVersion=0",
        servers.lagging
    );
    while servers.answer("GET", &seen, None).1["spec"]["tls"] != false {}
    let stopped = servers.stopped();
    user.applies(true);
    let lives = user.sees_secret(true);
    drop(first);
    let between = Between::new(house);
    let _second = controller(house, "recorded", flags);
    between.until_asked(asks.0, asks.1);
    drop(stopped);
    while servers.answer("GET", &seen, None).1["spec"]["tls"] != true {}
    // It looks at the new state, and sees to it that the Secret is there.
    between.until_asked(Verb::Create, "secrets");
    user.sees_secret(true) == lives
}

#[test]
fn a_controller_before_a_server_that_is_behind() {
    let house = House::new("reality-controller", &["tests/corpus/operators", FOLDER]);
    let Some(servers) = Servers::named(&house) else { return };
    if !needs(&[Need::Go]) {
        return;
    }
    let campaign = format!("{FOLDER}/campaign.yaml");
    let families = ["--families", "stale-state"];
    let trommel = ["run", &campaign, "--quiet", "--out", "out"].into_iter().chain(families);
    run(&house.root, trommel).expect(100);
    let summary = json_of(&house.path("out/summary.json"));
    let findings = summary["findings"].to_string();
    assert!(findings.contains("db-tls"), "{findings}");

    let runtime = tokio::runtime::Runtime::new().expect("a runtime");
    let _entered = runtime.enter();
    // The bug deletes; its repaired twin asks first, and hangs at that for as long as etcd does.
    let deletes = (Verb::Delete, "secrets");
    assert!(!the_secret_lives(&servers, &house, &[], deletes), "the bug did not show");
    assert!(the_secret_lives(&servers, &house, &["-fixed"], (Verb::Get, "databases")));
}
