//! `trommel envtest`: a suite with controller-runtime's envtest runs on the stand-ins as it is, and they say in words
//! what they can't do.

mod certificates;

use std::{
    io::{BufRead, BufReader, Read},
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{self, Ended},
    root,
};

/// The tests of `tests/envtest/suite`: none may be left out.
const SUITE: [&str; 7] = [
    "TestUsersHaveCertificates",
    "TestUsersHaveTheirRights",
    "TestStrangersAreNobody",
    "TestAccountsHaveTokens",
    "TestPodsNeedNoAccount",
    "TestManager",
    "TestStopEndsBothPrograms",
];

/// Has the folder written, and returns it.
fn assets(house: &House, arguments: &[&str]) -> PathBuf {
    let ended = product::run(&house.root, ["envtest"].iter().chain(arguments).copied());
    ended.expect(0);
    let folder = ended.stdout.trim().strip_prefix("export KUBEBUILDER_ASSETS=").map(PathBuf::from);
    folder.unwrap_or_else(|| panic!("it says {:?}", ended.stdout))
}

/// Runs a stand-in to its end.
fn run(assets: &Path, name: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new(assets.join(name));
    command.args(arguments).stdin(Stdio::null());
    Ended::of(command)
}

#[test]
fn a_suite_runs_unmodified() {
    if !needs(&[Need::Go]) {
        return;
    }
    let house = House::new("envtest/suite", &[]);
    let assets = assets(&house, &[]);
    let mut go = Command::new("go");
    go.args(["test", "-count=1", "-v", "."]).current_dir(root().join("tests/envtest/suite"));
    // What would lead it elsewhere.
    for name in
        ["USE_EXISTING_CLUSTER", "KUBECONFIG", "TEST_ASSET_KUBE_APISERVER", "TEST_ASSET_ETCD"]
    {
        go.env_remove(name);
    }
    let ended = Ended::of({
        go.env("KUBEBUILDER_ASSETS", &assets);
        go
    });
    ended.expect(0);
    for name in SUITE {
        assert!(ended.stdout.contains(&format!("--- PASS: {name} ")), "no {name} in {ended}");
    }
}

#[test]
fn the_folder_is_written_anew_and_nothing_of_others_is_touched() {
    let house = House::new("envtest/folder", &[]);
    for arguments in [&["a"][..], &["a"], &["a", "--copy"], &["a", "--copy"], &["a"]] {
        let folder = assets(&house, arguments);
        assert_eq!(folder, house.root.canonicalize().expect("a folder").join("a"));
        for (name, says) in [("kube-apiserver", "--client-ca-file"), ("etcd", "--unsafe-no-fsync")]
        {
            let metadata = std::fs::symlink_metadata(folder.join(name)).expect("it is there");
            assert_eq!(metadata.is_symlink(), !arguments.contains(&"--copy"), "{arguments:?}");
            let help = run(&folder, name, &["--help"]);
            help.expect(0);
            assert!(help.stdout.contains(says), "{help}");
        }
    }
    house.write("b/etcd", "somebody else's");
    let ended = product::run(&house.root, ["envtest", "b"]);
    ended.expect(64);
    assert!(ended.stderr.contains("b/etcd exists and is not Trommel's"), "{ended}");
    assert!(!house.path("b/kube-apiserver").exists(), "half a folder is left");
    assert_eq!(std::fs::read_to_string(house.path("b/etcd")).expect("a file"), "somebody else's");
}

#[test]
fn what_can_not_be_done_is_said() {
    let house = House::new("envtest/words", &[]);
    let assets = assets(&house, &[]);
    let check = |name: &str, arguments: &[&str], code: i32, says: &str| {
        let ended = run(&assets, name, arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        assert!(ended.stderr.contains(says), "{arguments:?}: no {says:?} in {ended}");
    };
    let server = "kube-apiserver";
    check(
        server,
        &["--no-such-flag"],
        64,
        "kube-apiserver: flag needs an argument: --no-such-flag",
    );
    check(server, &["--no-such-flag=1"], 64, "kube-apiserver: unknown flag: --no-such-flag");
    check(server, &["--oidc-issuer-url", "https://a"], 64, "there is no OpenID Connect");
    check(server, &["--authorization-mode=ABAC"], 64, "knows RBAC");
    check(server, &["--enable-admission-plugins=NodeRestriction"], 64, "does not have it");
    check(server, &["--bind-address=0.0.0.0"], 64, "only loopback");
    let folder = house.root.display().to_string();
    let nowhere = format!("{folder}/none.crt");
    let authority = ["--cert-dir", &folder, "--client-ca-file", &nowhere];
    check(server, &authority, 64, "--client-ca-file");
    check("etcd", &["--listen-client-urls=https://127.0.0.1:1"], 64, "does not begin with http://");
    check(
        "etcd",
        &["--listen-client-urls=http://0.0.0.0:1"],
        75,
        "only addresses of this machine's loopback",
    );
    check("etcd", &["--cert-file=a"], 64, "--cert-file: this stand-in speaks plain HTTP");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port();
    let (secure, client) =
        (format!("--secure-port={port}"), format!("--listen-client-urls=http://127.0.0.1:{port}"));
    check(server, &["--cert-dir", &folder, &secure], 75, "cannot listen on 127.0.0.1");
    check("etcd", &[&client], 75, "cannot listen on 127.0.0.1");
}

/// A stand-in that runs.
struct Running(Child);

impl Running {
    /// Returns when it has said a line on stderr that contains this; what it said until then comes with it.
    fn start(assets: &Path, name: &str, arguments: &[&str], says: &str) -> (Running, String) {
        let mut command = Command::new(assets.join(name));
        let command = command.args(arguments).stdin(Stdio::null()).stderr(Stdio::piped());
        let mut running = Running(command.spawn().expect("it starts"));
        let mut stderr = BufReader::new(running.0.stderr.take().expect("a pipe"));
        let mut said = String::new();
        while !said.contains(says) {
            let read = stderr.read_line(&mut said).expect("text");
            assert!(read > 0, "it ended, and said {said:?}");
        }
        running.0.stderr = Some(stderr.into_inner());
        (running, said)
    }

    /// Its exit code after SIGTERM.
    fn end(mut self) -> Option<i32> {
        kill_process(Pid::from_child(&self.0), Signal::TERM).expect("it can be told");
        let mut rest = String::new();
        self.0.stderr.take().expect("a pipe").read_to_string(&mut rest).expect("text");
        self.0.wait().expect("a child can be waited for").code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may be gone.
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

#[test]
fn flags_of_no_effect_are_named_and_a_certificate_is_made() {
    let house = House::new("envtest/named", &[]);
    let assets = assets(&house, &[]);
    let folder = house.path("certificates").display().to_string();
    let arguments =
        ["--cert-dir", &folder, "--secure-port=0", "--etcd-servers=http://127.0.0.1:1", "--v=5"];
    let (running, said) = Running::start(&assets, "kube-apiserver", &arguments, "serves on");
    assert!(said.contains("everything is kept in this process: --etcd-servers"), "{said}");
    assert!(said.contains("no audit, no metrics, no traces are kept: --v"), "{said}");
    assert_eq!(running.end(), Some(0));
    for name in ["apiserver.crt", "apiserver.key"] {
        assert!(house.path("certificates").join(name).exists(), "{name}");
    }
}
