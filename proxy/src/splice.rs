//! Upgrades (101 Switching Protocols): exec, attach, port-forward, WebSocket watches. After the head, bytes
//! go both ways as they come; the accounts count them, the gate and the record do not see them.
//!
//! An upstream of this process speaks for itself ([`Conversation`]). Such a connection is under way except while it
//! waits for its client: then it is the client's turn, as after an answer. Of one that is joined to a remote server
//! nobody can say whose turn it is; its bytes alone count.
//!
//! What comes after an upgrade is a function that the answer carries (an extension of the 101), and whoever owns the
//! connection runs it: the proxy in a trial, the listener of `trommel serve`. So the server stays without IO and
//! without tasks. An exec is answered in one go, so it is under way until all is written; a forwarded port that nobody
//! uses keeps no moment from being quiet. A log that is followed counts like a watch, and its end, decided by a
//! commit, as undelivered until it is told.

use futures::{FutureExt, TryFutureExt, future::BoxFuture};
use http::{HeaderMap, Response, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use tower::ServiceExt;
use trace::Event;

use crate::{Body, Conversation, Error, Upgraded, connection::Upgrade, exchange::Exchange, record};

/// Whether a request asks for an upgrade.
pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

/// Releases the head; what comes then begins as soon as both sides have switched.
pub(crate) async fn answer(
    exchange: &Exchange,
    mut response: Response<Body>,
    client_side: OnUpgrade,
) -> Result<Response<Body>, Error> {
    let conversation = response.extensions_mut().remove::<Conversation>();
    let upstream_side = hyper::upgrade::on(&mut response);
    let answer = record::head(exchange.call.id, response.status());
    exchange.connection.answers(answer.clone());
    exchange.releases(&answer).await?;
    exchange.connection.upgrades(match &conversation {
        Some(_) => Upgrade::Spoken,
        None => Upgrade::Spliced,
    });
    exchange.connection.completes();
    let recorder = exchange.shared.recorder.clone();
    let call = exchange.call.id;
    exchange.connection.goes_on(Box::pin(async move {
        let ended = match conversation {
            Some(conversation) => converse(client_side, conversation).await,
            None => join(client_side, upstream_side).await,
        };
        if let Err(error) = ended {
            let text = format!("the upgraded connection of call {} ended: {error}", call.0);
            recorder.record(Event::Note { text });
        }
    }));
    Ok(Response::from_parts(response.into_parts().0, crate::full(bytes::Bytes::new())))
}

/// No `async fn`, since the compiler can't follow boxed streams into one.
fn converse(
    client_side: OnUpgrade,
    conversation: Conversation,
) -> BoxFuture<'static, Result<(), Error>> {
    let begin = move |client| {
        let (read, write) = tokio::io::split(TokioIo::new(client));
        let upgraded: Upgraded = tokio::io::join(Box::new(read), Box::new(write));
        conversation.oneshot(upgraded)
    };
    client_side.map_err(Error::from).and_then(begin).boxed()
}

async fn join(client_side: OnUpgrade, upstream_side: OnUpgrade) -> Result<(), Error> {
    let (client, upstream) = futures::try_join!(client_side, upstream_side)?;
    let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
    tokio::io::copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
