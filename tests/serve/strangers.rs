//! Connections of others on this machine, who say nothing: they keep nobody out.

use std::{
    io::{ErrorKind, Read},
    net::TcpStream,
    process::Command,
};

use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};
use trommel_tests::{house::House, product::Ended, served::Served};

use crate::text_of;

/// More than may wait at the same time.
const MANY: usize = 300;

fn idle(served: &Served) -> Vec<TcpStream> {
    let server = text_of(served, "/clusters/0/cluster/server");
    let address = server.strip_prefix("https://").expect("TLS");
    (0..MANY).map(|_| TcpStream::connect(address).expect("it listens")).collect()
}

/// The administrator's request, on a connection of its own.
fn ask(served: &Served) -> String {
    let server = text_of(served, "/clusters/0/cluster/server");
    let token = text_of(served, "/users/0/user/token");
    let mut curl = Command::new("curl");
    curl.args(["-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H"]);
    curl.arg(format!("Authorization: Bearer {token}")).arg(format!("{server}/api/v1/namespaces"));
    Ended::of(curl).stdout
}

/// Waits until it is closed from the other side.
fn is_closed(mut stream: &TcpStream) -> bool {
    match stream.read(&mut [0; 1]) {
        Ok(count) => count == 0,
        Err(error) => error.kind() == ErrorKind::ConnectionReset,
    }
}

#[test]
fn idle_connections_keep_nobody_out() {
    let house = House::new("serve/idle", &[]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let idle = idle(&served);
    assert_eq!(ask(&served), "200");
    assert!(is_closed(&idle[0]), "the oldest has to make room");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn descriptors_may_run_out() {
    let house = House::new("serve/descriptors", &[]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let few = Rlimit { current: Some(64), maximum: Some(64) };
    let process = Pid::from_raw(served.id() as i32);
    prlimit(process, Resource::Nofile, few).expect("a child's limit can be lowered");
    let idle = idle(&served);
    assert_eq!(ask(&served), "200", "while they are open");
    drop(idle);
    assert_eq!(ask(&served), "200", "when they are gone");
    let (code, said) = served.end(Signal::TERM);
    assert_eq!(code, Some(0), "{said}");
    for part in ["a connection has to wait", "64 files", "ulimit -Hn"] {
        assert!(said.contains(part), "no {part:?} in {said}");
    }
}
