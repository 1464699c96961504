//! Changes that a webhook has to convert before a stream can tell of them.
//!
//! A stream has those at the head of its queue converted all at once. If that fails, the first of them alone: those
//! before the one that can't be converted are still told, as upstream does, which never converts two at once.
//!
//! A watch queues a change that a webhook has to convert as it is, and its stream has it converted in its turn,
//! without the lock. While it waits, its queue counts as under way at the webhook.

use std::sync::Arc;

use serde_json::Value;
use trace::Change;

use super::{Frame, Queued};
use crate::{
    server::Live,
    status::Refusal,
    store::Logged,
    verbs::scope::Scope,
    webhooks::{Asking, Calls, Wanted},
};

/// Most changes that are converted at once.
const CHANGES_MAX: usize = 500;

/// The conversion of the changes at the head of a queue.
#[derive(Debug, Default)]
pub(super) struct Conversion {
    /// What webhooks have answered.
    pub(super) calls: Calls,
    /// How many changes it is of; none before it has begun. Those that come meanwhile have to wait.
    changes: usize,
}

impl Conversion {
    /// Makes frames of the changes at the head of a watch's queue; or says which calls have to be made first.
    pub(super) fn go_on(&mut self, live: &mut Live, number: u64) -> Vec<Wanted> {
        let Some(watcher) = live.watchers.get(number) else { return Vec::new() };
        let scope = watcher.scope.clone();
        let waiting = watcher.queue.iter().map_while(|queued| match queued {
            Queued::Change(logged) => Some(logged.clone()),
            Queued::Frame(_) => None,
        });
        let most = if self.changes == 0 { CHANGES_MAX } else { self.changes };
        let mut changes: Vec<Arc<Logged>> = waiting.take(most).collect();
        self.calls.begin(live.world.now);
        let mut found = frames(live, &scope, &changes, &mut self.calls);
        if found.is_err() && !self.calls.is_wanting() && changes.len() > 1 {
            changes.truncate(1);
            found = frames(live, &scope, &changes, &mut self.calls);
        }
        self.changes = changes.len();
        let wanted = self.calls.take_wanted();
        let Some(watcher) = live.watchers.get(number) else { return wanted };
        watcher.converts = !wanted.is_empty();
        if watcher.converts {
            return wanted;
        }
        match found {
            Ok(frames) => {
                watcher.queue.drain(..changes.len());
                for frame in frames.into_iter().rev() {
                    watcher.queue.push_front(Queued::Frame(frame));
                }
            }
            Err(refusal) => {
                // A watch that can't say what has happened has nothing to say after it.
                watcher.queue.clear();
                watcher.push(Frame::Error(Refusal::internal(refusal.message)));
                watcher.closed = true;
            }
        }
        // The next changes have questions of their own.
        *self = Conversion::default();
        wanted
    }
}

/// What a watch sees of some changes. Errors: they can't be converted; or a webhook has to be called first.
fn frames(
    live: &mut Live,
    scope: &Scope,
    changes: &[Arc<Logged>],
    calls: &mut Calls,
) -> Result<Vec<Frame>, Refusal> {
    let with_before = scope.looks_inside();
    let parts = changes.iter().flat_map(|logged| {
        let before = logged.previous.iter().filter(|_| with_before);
        before.chain([&logged.object]).cloned()
    });
    let parts: Vec<Arc<Value>> = parts.collect();
    let mut shown = Asking { live, calls }.leave(&scope.kind, &parts)?.into_iter();
    let mut frames = Vec::new();
    for logged in changes {
        let before = logged.previous.as_ref().filter(|_| with_before).and_then(|_| shown.next());
        let Some(object) = shown.next() else { break };
        // Where nothing is selected, all that was there was told.
        let before = before.or_else(|| logged.previous.as_ref().map(|_| object.clone()));
        debug_assert!(logged.change != Change::Deleted || before.is_some(), "it was there");
        frames.extend(scope.event(logged, &object, before.as_ref()));
    }
    Ok(frames)
}
