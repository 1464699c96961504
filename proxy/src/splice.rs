//! Upgrades (101 Switching Protocols): exec, attach, port-forward, WebSocket watches. After the head, bytes
//! go both ways as they come; the accounts count them, the gate and the record do not see them.

use http::{HeaderMap, Response, header};
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use trace::Event;

use crate::{Body, Error, Passing, exchange::Exchange, record};

/// Whether a request asks for an upgrade.
pub(crate) fn wanted(headers: &HeaderMap) -> bool {
    headers.contains_key(header::UPGRADE)
}

/// Releases the head; the two sides are joined as soon as both have switched.
pub(crate) async fn answer(
    exchange: &Exchange,
    mut response: Response<Body>,
    client_side: OnUpgrade,
) -> Result<Response<Body>, Error> {
    let upstream_side = hyper::upgrade::on(&mut response);
    let answer = record::head(exchange.call.id, response.status());
    exchange.connection.answers(answer.clone());
    exchange.pass(Passing::Response(&exchange.call, &answer)).await;
    exchange.connection.upgrades();
    exchange.connection.completes();
    let recorder = exchange.shared.recorder.clone();
    let call = exchange.call.id;
    exchange.connection.goes_on(Box::pin(async move {
        if let Err(error) = join(client_side, upstream_side).await {
            let text = format!("the upgraded connection of call {} ended: {error}", call.0);
            recorder.record(Event::Note { text });
        }
    }));
    Ok(Response::from_parts(response.into_parts().0, crate::full(bytes::Bytes::new())))
}

async fn join(client_side: OnUpgrade, upstream_side: OnUpgrade) -> Result<(), Error> {
    let (client, upstream) = futures::try_join!(client_side, upstream_side)?;
    let (mut client, mut upstream) = (TokioIo::new(client), TokioIo::new(upstream));
    tokio::io::copy_bidirectional(&mut client, &mut upstream).await?;
    Ok(())
}
