//! Who is dropped, and who is not. The clock is tokio's, which jumps to the next timer when nothing else can happen.

use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use http_body_util::{Full, StreamBody};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex},
    time::{Instant, advance, interval, timeout},
};

use super::{strangers::PATIENCE, *};

const HOUR: Duration = Duration::from_secs(3600);
const KNOWN: &str = "GET / HTTP/1.1\r\nAuthorization: one\r\n\r\n";
const WATCH: &str = "GET /watch HTTP/1.1\r\nAuthorization: one\r\n\r\n";
const UNKNOWN: &str = "GET / HTTP/1.1\r\n\r\n";
const HEALTH: &str = "GET /healthz HTTP/1.1\r\n\r\n";

/// Lets in whoever has a header, once their body is there; watches say something once an hour.
fn toy() -> Upstream {
    Upstream::new(tower::service_fn(async |request: http::Request<Body>| {
        let (head, body) = request.into_parts();
        let open = OPEN.contains(&head.uri.path());
        let let_in = open || head.headers.contains_key(http::header::AUTHORIZATION);
        body.collect().await?;
        let hourly = stream::unfold(interval(HOUR), async |mut hours| {
            hours.tick().await;
            Some((Ok(Frame::data(Bytes::from("event"))), hours))
        });
        let body = match head.uri.path() {
            "/watch" => StreamBody::new(hourly).boxed_unsync(),
            _ => Full::new(Bytes::from("told")).map_err(|never| match never {}).boxed_unsync(),
        };
        let mut answer = http::Response::new(body);
        if !let_in {
            *answer.status_mut() = StatusCode::UNAUTHORIZED;
        }
        Ok(answer)
    }))
}

fn connect(strangers: &Arc<Strangers>) -> DuplexStream {
    let (ours, theirs) = duplex(1 << 16);
    let stranger = Arc::new(strangers.welcome());
    let client = Client { actor: Actor::User, stranger, shown: None };
    tokio::spawn(attend(theirs, toy(), None, client));
    ours
}

/// What is said until it ends with this; none if the connection ends before.
async fn heard(wire: &mut DuplexStream, end: &str) -> Option<String> {
    let mut said = String::new();
    while !said.ends_with(end) {
        let mut bytes = [0; 512];
        let read = timeout(10 * HOUR, wire.read(&mut bytes)).await.expect("something happens");
        match read.ok()? {
            0 => return None,
            count => said.push_str(std::str::from_utf8(&bytes[..count]).ok()?),
        }
    }
    Some(said)
}

#[tokio::test(start_paused = true)]
async fn strangers_have_to_hurry() {
    // What is sent at once and answered, then byte by byte, one each second.
    let check = async |answered: Option<&str>, slowly: &str| {
        let mut wire = connect(&Arc::default());
        let began = Instant::now();
        if let Some(request) = answered {
            wire.write_all(request.as_bytes()).await.expect("it is open");
            heard(&mut wire, "told").await.expect("an answer");
        }
        for byte in slowly.bytes() {
            // It may be closed by now.
            drop(wire.write_all(&[byte]).await);
            advance(Duration::from_secs(1)).await;
        }
        assert_eq!(heard(&mut wire, "\n").await, None, "{answered:?} {slowly:?}: it is still open");
        began.elapsed()
    };
    assert_eq!(check(None, "").await, PATIENCE);
    assert_eq!(check(Some(UNKNOWN), "").await, PATIENCE);
    assert_eq!(check(Some(HEALTH), "").await, PATIENCE);
    check(None, KNOWN).await;
    check(Some(UNKNOWN), KNOWN).await;
    let head = "POST / HTTP/1.1\r\nAuthorization: one\r\nContent-Length: 1000\r\n\r\n";
    let mut wire = connect(&Arc::default());
    wire.write_all(head.as_bytes()).await.expect("it is open");
    assert_eq!(heard(&mut wire, "told").await, None, "a body that never comes");
}

#[tokio::test(start_paused = true)]
async fn who_was_let_in_may_wait() {
    let mut wire = connect(&Arc::default());
    for _ in 0..3 {
        wire.write_all(KNOWN.as_bytes()).await.expect("it is open");
        heard(&mut wire, "told").await.expect("an answer");
        advance(HOUR).await;
    }
    wire.write_all(WATCH.as_bytes()).await.expect("it is open");
    for _ in 0..3 {
        heard(&mut wire, "event\r\n").await.expect("a watch that goes on");
    }
}

#[tokio::test(start_paused = true)]
async fn the_oldest_stranger_makes_room() {
    let strangers = Arc::<Strangers>::default();
    let mut known = connect(&strangers);
    known.write_all(KNOWN.as_bytes()).await.expect("it is open");
    heard(&mut known, "told").await.expect("an answer");
    let began = Instant::now();
    let mut waiting: Vec<_> = (0..=strangers::WAITING_MAX).map(|_| connect(&strangers)).collect();
    assert_eq!(heard(&mut waiting[0], "\n").await, None);
    assert_eq!(began.elapsed(), Duration::ZERO, "the oldest had to wait");
    for wire in [&mut waiting[1], &mut known] {
        wire.write_all(KNOWN.as_bytes()).await.expect("it is open");
        heard(wire, "told").await.expect("an answer");
    }
    assert!(strangers.drop_oldest());
    assert_eq!(heard(&mut waiting[2], "\n").await, None);
    assert_eq!(began.elapsed(), Duration::ZERO, "it had to wait");
}
