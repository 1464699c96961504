//! Upgrades that an upstream of this process answers itself, and logs that are followed: what counts as under way.

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tower::util::BoxCloneSyncService;

use super::kit::{Bench, Pieces, json_response, run, send, streamed, upstream};
use crate::{Conversation, Error, Upgraded};

const UPGRADE: &str = "POST /api/v1/namespaces/d/pods/a/exec?command=ls HTTP/1.1\r\nhost: a\r\n\
                       connection: Upgrade\r\nupgrade: shout\r\ncontent-length: 0\r\n\r\n";

/// Turns what it hears into upper case, once it is let.
async fn shout(
    mut stream: Upgraded,
    may: std::sync::Arc<tokio::sync::Semaphore>,
) -> Result<(), Error> {
    let mut heard = [0; 64];
    loop {
        let length = stream.read(&mut heard).await?;
        if length == 0 {
            return Ok(());
        }
        may.acquire().await?.forget();
        stream.write_all(&heard[..length].to_ascii_uppercase()).await?;
        stream.flush().await?;
    }
}

fn shouting(may: &std::sync::Arc<tokio::sync::Semaphore>) -> Bench {
    let may = may.clone();
    Bench::new(upstream(move |_| {
        let may = may.clone();
        async move {
            let mut response = json_response("");
            *response.status_mut() = http::StatusCode::SWITCHING_PROTOCOLS;
            let shout = tower::service_fn(move |stream| shout(stream, may.clone()));
            let conversation: Conversation = BoxCloneSyncService::new(shout);
            response.extensions_mut().insert(conversation);
            Ok(response)
        }
    }))
}

#[test]
fn a_conversation_is_under_way_except_while_it_waits_for_its_client() {
    run(async {
        let may = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        let bench = shouting(&may);
        let mut wire = bench.connect().await;
        wire.send(UPGRADE).await;
        assert_eq!(wire.head().await.status, 101);
        bench.until(|bench| bench.proxy.flight().calls.is_empty()).await;
        bench.assert_at_rest();
        for _ in 0..2 {
            wire.send("hear").await;
            // It has read and may not answer yet.
            bench.until(|bench| !bench.proxy.flight().calls.is_empty()).await;
            let flight = bench.proxy.flight();
            assert!(flight.calls[0].starts_with("create pods d/a/exec"), "{flight:?}");
            may.add_permits(1);
            let mut heard = [0; 4];
            wire.stream.read_exact(&mut heard).await.unwrap();
            assert_eq!(&heard, b"HEAR");
            bench.until(|bench| bench.proxy.flight().calls.is_empty()).await;
            bench.assert_at_rest();
        }
        drop(wire);
        bench.until(|bench| bench.proxy.flight().connections.is_empty()).await;
        bench.assert_at_rest();
        assert_eq!(bench.answers().len(), 1);
        assert_eq!(bench.answers()[0].status, 101);
    });
}

#[test]
fn a_conversation_is_cut_with_its_listener() {
    run(async {
        let may = std::sync::Arc::new(tokio::sync::Semaphore::new(0));
        let mut bench = shouting(&may);
        let mut wire = bench.connect().await;
        wire.send(UPGRADE).await;
        assert_eq!(wire.head().await.status, 101);
        wire.send("hear").await;
        bench.until(|bench| !bench.proxy.flight().calls.is_empty()).await;
        bench.serving.take().unwrap().close();
        bench.assert_at_rest();
        may.add_permits(1);
        assert_eq!(wire.until_closed().await, b"");
    });
}

/// An upstream whose answers are streams of text, handed out as they are opened.
fn logging() -> (Bench, futures::channel::mpsc::UnboundedReceiver<Pieces>) {
    let (opened, streams) = futures::channel::mpsc::unbounded();
    let service = upstream(move |_| {
        let (pieces, body) = streamed();
        opened.unbounded_send(pieces).unwrap();
        async move { Ok(http::Response::new(body)) }
    });
    (Bench::new(service), streams)
}

#[test]
fn a_followed_log_is_under_way_only_at_its_ends() {
    use futures::StreamExt;
    run(async {
        let (bench, mut streams) = logging();
        let mut wire = bench.connect().await;
        wire.request("GET", "/api/v1/namespaces/d/pods/a/log?follow=true", b"").await;
        let pieces = streams.next().await.unwrap();
        assert_eq!(wire.head().await.status, 200);
        bench.until(|bench| bench.proxy.flight().calls.is_empty()).await;
        send(&pieces, "line\n");
        assert_eq!(wire.chunk().await.unwrap(), b"line\n");
        bench.assert_at_rest();
        assert_eq!(bench.answers(), []);
        drop(pieces);
        assert_eq!(wire.chunk().await, None);
        bench.until(|bench| bench.answers().len() == 1).await;
        bench.assert_at_rest();
        // One that is not followed is under way until it has ended.
        wire.request("GET", "/api/v1/namespaces/d/pods/a/log?follow=false", b"").await;
        let pieces = streams.next().await.unwrap();
        assert_eq!(wire.head().await.status, 200);
        assert_eq!(bench.proxy.flight().calls.len(), 1);
        drop(pieces);
        assert_eq!(wire.chunks().await, b"");
    });
}
