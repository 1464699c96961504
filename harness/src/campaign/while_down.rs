//! What can happen to a world while the controller is down: time, the rest of its writes under way, the user.
//!
//! The user waits where the workload waits. While the controller is down, the user passes steps that hold, does writes
//! and sleeps. A `settle`, or a check that does not hold, ends what can happen without the controller (pruned as
//! `user-waits`).

use std::time::Duration;

use cluster::{Server, World};
use http_body_util::{BodyExt, Full};
use plans::schedule::causality::Write;
use trace::{Cursor, Time};
use workloads::{CheckOutcome, OperationKind};

use crate::{campaign::setup::Setup, trial::quiet::AT_ONCE};

/// What the user does next while the controller is down.
pub enum UserStep {
    /// A write or a wait, after which the world is this.
    Done(Box<World>, Cursor),
    /// Nothing: the user waits for something that is not so.
    Waits,
    /// Nothing: the workload is over.
    End,
    /// Something that leaves traces outside the world.
    Foreign,
    /// A step that the cluster refuses now.
    Failed(String),
}

/// The world when its built-in controllers have done all that they can without time passing, and how many worlds
/// lie between; none if they have nothing to do.
///
/// # Errors
/// They don't come to rest.
pub fn environment_rests(world: &World) -> Result<Option<(World, u64)>, cluster::Restless> {
    if world.is_environment_quiet() {
        return Ok(None);
    }
    let server = Server::new(world.clone(), None);
    server.run_environment()?;
    let rested = server.world();
    let between = (rested.revision().0 - world.revision().0).saturating_sub(1);
    Ok(Some((rested, between)))
}

/// As a trial waits before the user acts: the environment is quiet, and none of its timers is due at once.
fn calm(server: &Server) -> Result<(), cluster::Restless> {
    let at_once = server.now().plus(AT_ONCE);
    server.run_environment()?;
    while let Some(due) = server.next_timer().filter(|due| *due <= at_once) {
        server.advance_to(due);
        server.run_environment()?;
    }
    Ok(())
}

/// The user's next write (one document) or sleep, on a fork of this world, of whose operation so much has passed.
/// Checks that hold are passed over.
pub fn user_step(setup: &Setup, world: &World, cursor: Cursor, begun: Duration) -> UserStep {
    let server = Server::new(world.clone(), None);
    let user = workloads::Client::new(server.service());
    if let Err(restless) = calm(&server) {
        return UserStep::Failed(restless.to_string());
    }
    let (mut cursor, mut begun) = (cursor, begun);
    loop {
        let Some(operation) = setup.workload.operation(cursor) else { return UserStep::End };
        let next = Cursor { operation: cursor.operation + 1, document: 0 };
        match &operation.kind {
            OperationKind::Act(_) => {
                if operation.documents() == 0 {
                    (cursor, begun) = (next, Duration::ZERO);
                    continue;
                }
                let document = cursor.document;
                return match wait(workloads::act(operation, document, &user)) {
                    Ok(_) if document + 1 < operation.documents() => {
                        let cursor = Cursor { document: document + 1, ..cursor };
                        UserStep::Done(Box::new(server.world()), cursor)
                    }
                    Ok(_) => UserStep::Done(Box::new(server.world()), next),
                    // A webhook that is down with the controller: the user tries again until it is up.
                    Err(error) if workloads::webhook_is_down(&error.to_string()) => UserStep::Waits,
                    Err(error) => UserStep::Failed(error.to_string()),
                };
            }
            OperationKind::Check(_) => match wait(workloads::check(operation, &user)) {
                Ok(CheckOutcome::Holds) => (cursor, begun) = (next, Duration::ZERO),
                Ok(CheckOutcome::NotYet { .. }) => return UserStep::Waits,
                Err(error) => return UserStep::Failed(error.to_string()),
            },
            OperationKind::Sleep(duration) => {
                let slept = server.live_until(world.now().plus(duration.saturating_sub(begun)));
                return match slept.and_then(|()| server.run_environment()) {
                    Ok(_) => UserStep::Done(Box::new(server.world()), next),
                    Err(restless) => UserStep::Failed(restless.to_string()),
                };
            }
            OperationKind::Settle | OperationKind::Restart => return UserStep::Waits,
            OperationKind::Concurrently(_) | OperationKind::Run(_) => return UserStep::Foreign,
        }
    }
}

/// The world at `time`, with these writes applied to it in order: those that were under way together with
/// one that got lost. `None` if one of them is refused now: then it depended on the lost one after all.
pub fn rebuild(world: World, time: Time, kept: &[Write]) -> Option<World> {
    let server = Server::new(world, None);
    server.live_until(time).ok()?;
    let every = kept.iter().all(|write| {
        let call = &write.call;
        let body = call.raw.as_deref().unwrap_or_default().to_vec();
        let body =
            Full::new(bytes::Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
        let request = http::Request::builder()
            .method(call.method.as_str())
            .uri(call.uri.as_str())
            .header(http::header::CONTENT_TYPE, call.content_type.as_str())
            .header(http::header::USER_AGENT, call.user_agent.as_str())
            .extension(call.actor.clone())
            .body(body);
        let Ok(request) = request else { return false };
        let answer = wait(tower::ServiceExt::oneshot(server.service(), request));
        answer.is_ok_and(|answer| answer.status().is_success())
    });
    every.then(|| server.world())
}

/// Waits for an exchange with a server in this process: it never waits for anything outside.
fn wait<T>(exchange: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.expect("a runtime without IO needs nothing from the system").block_on(exchange)
}
