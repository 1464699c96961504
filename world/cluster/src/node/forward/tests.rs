//! Which streams and ports are accepted, and what a client hears that opens some.

use std::collections::VecDeque;

use bytes::Bytes;
use futures::executor::block_on;
use serde_json::json;

use super::*;
use crate::node::{spdy, upgrade::tests::request};

fn opened(stream: u32, headers: &[(&str, &str)]) -> Opened {
    let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    Opened { stream, headers: headers.iter().map(own).collect() }
}

#[test]
fn streams_say_what_they_are_for() {
    let check = |headers: &[(&str, &str)], expect: Option<(u16, bool)>| {
        assert_eq!(accepted(&opened(1, headers)), expect, "{headers:?}");
    };
    check(&[("port", "80"), ("streamtype", "error")], Some((80, true)));
    check(&[("port", "80"), ("streamtype", "data")], Some((80, false)));
    check(&[("port", "80"), ("streamtype", "stdin")], None);
    check(&[("port", "+80"), ("streamtype", "data")], None);
    check(&[("port", "0"), ("streamtype", "data")], None);
    check(&[("port", "70000"), ("streamtype", "data")], None);
    check(&[("port", "80")], None);
    check(&[("streamtype", "data")], None);
}

#[test]
fn pairs_have_a_number() {
    let given = [("requestid", "7")];
    assert_eq!(number(&opened(3, &given), false), "7");
    assert_eq!(number(&opened(1, &[]), true), number(&opened(3, &[]), false));
}

#[test]
fn ports_of_a_query() {
    let check = |query: &str, expect: Result<Vec<u16>, &str>| {
        let mut request = request(&[]);
        request.set_query(query);
        let found = ports(&request).map_err(|refusal| refusal.message);
        let wrong =
            |why: &str| format!("cannot convert to []int32: strconv.ParseUint: parsing {why}");
        assert_eq!(found, expect.map_err(wrong), "{query}");
    };
    check("ports=80,81&ports=9", Ok(vec![80, 81, 9]));
    check("ports=0", Ok(vec![0]));
    // Only kubelets call them so.
    check("port=80", Ok(vec![]));
    check("ports=", Err("\"\": invalid syntax"));
    check("ports=1,x", Err("\"x\": invalid syntax"));
    check("ports=%2B1", Err("\"+1\": invalid syntax"));
    check("ports=65536", Err("\"65536\": value out of range"));
}

#[test]
fn channels_need_ports() {
    let running = json!({"containerStatuses": [{"name": "c", "state": {"running": {}}}]});
    let pod = |status: &Value| json!({"metadata": {"name": "p", "namespace": "d", "uid": "u"}, "status": status});
    let asked = |protocol: &'static str| {
        request(&[
            ("upgrade", "websocket"),
            ("sec-websocket-version", "13"),
            ("sec-websocket-key", "k"),
            ("sec-websocket-protocol", protocol),
        ])
    };
    let check =
        |protocol: &'static str, ports: &[u16], status: &Value, expect: Result<(), &str>| {
            let found = begin(&asked(protocol), ports, &pod(status));
            let found = found.map(|_| ()).map_err(|plain| plain.text);
            assert_eq!(found, expect.map_err(str::to_owned), "{protocol} {ports:?}");
        };
    let (channels, tunnel) = ("v4.channel.k8s.io", "SPDY/3.1+portforward.k8s.io");
    check(channels, &[80], &running, Ok(()));
    check(channels, &[], &running, Err("query parameter \"port\" is required"));
    check(channels, &[80, 0], &running, Err("port \"80,0\" must be > 0"));
    check(tunnel, &[], &running, Ok(()));
    let gone = "pod not found (\"p_d\")";
    check(channels, &[80], &json!({}), Err(gone));
    check(tunnel, &[], &json!({}), Err(gone));
}

/// A client that has all bytes ready, and goes when they were read.
#[derive(Default)]
struct Client {
    says: VecDeque<Bytes>,
    heard: Vec<u8>,
}

impl Wire for &mut Client {
    async fn receive(&mut self) -> io::Result<Option<Bytes>> {
        Ok(self.says.pop_front())
    }

    async fn send(&mut self, bytes: Vec<u8>) -> io::Result<()> {
        self.heard.extend_from_slice(&bytes);
        Ok(())
    }
}

/// What a client hears that opens streams 1, 3 and so on with these headers.
fn heard(streams: &[Vec<(&str, &str)>]) -> Vec<u8> {
    let numbered = (1..).step_by(2).zip(streams);
    let says = numbered.map(|(number, headers)| Bytes::from(spdy::tests::open(number, headers)));
    let mut client = Client { says: says.collect(), ..Client::default() };
    block_on(speak(&mut client, "u")).expect("it speaks SPDY");
    client.heard
}

/// What a server writes.
fn written(write: impl FnOnce(&mut Session)) -> Vec<u8> {
    let mut session = Session::new().expect("a session");
    write(&mut session);
    session.output()
}

/// Headers of a stream to port 80.
fn stream<'a>(kind: &'a str, request: &'a str) -> Vec<(&'a str, &'a str)> {
    vec![("streamtype", kind), ("port", "80"), ("requestid", request)]
}

const TOLD: &[u8] = b"error forwarding port 80 to pod u, uid : \
                      dial tcp4 127.0.0.1:80: connect: connection refused";

#[test]
fn a_pair_is_told_that_nobody_listens() {
    let expect = written(|session| {
        session.accept(1);
        session.accept(3);
        session.write_all(1, TOLD);
        session.write_all(3, b"");
    });
    assert_eq!(heard(&[stream("error", "0"), stream("data", "0")]), expect);
    let expect = written(|session| {
        session.accept(1);
        session.refuse(3);
    });
    assert_eq!(heard(&[stream("data", "0"), stream("other", "0")]), expect);
}

#[test]
fn halves_of_pairs_are_counted() {
    let numbers: Vec<String> = (0..=HALVES_MAX).map(|number| number.to_string()).collect();
    let mut streams: Vec<_> = numbers.iter().map(|number| stream("error", number)).collect();
    streams.push(stream("data", "0"));
    let expect = written(|session| {
        let refused = 2 * u32::try_from(HALVES_MAX).expect("few") + 1;
        (1..refused).step_by(2).for_each(|number| session.accept(number));
        session.refuse(refused);
        // The other half of one that is open is welcome.
        session.accept(refused + 2);
        session.write_all(1, TOLD);
        session.write_all(refused + 2, b"");
    });
    assert_eq!(heard(&streams), expect);
}
