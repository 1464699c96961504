//! Watches: who is told what.
//!
//! Each open watch has a queue. A commit decides at once, for each watch of its type, which event that
//! watch sees of it (a selector can turn a change into an appearance or a disappearance, as upstream's
//! `convertToWatchEvent`); the stream pulls and encodes later. So "committed but not yet pulled" is a
//! number that is always right, and a slow reader costs pointers, not copies.
//!
//! A change of an object that a webhook has to convert is queued as it is; its stream has it converted, in its turn,
//! before it says anything of it.
//!
//! Streams end by the client, by the server or by *world* time (`timeoutSeconds` counts in the world's
//! clock, which stands still while anything works).

use std::{
    collections::{BTreeMap, VecDeque},
    sync::Arc,
    task::Waker,
    time::Duration,
};

use serde_json::{Value, json};
use trace::{Change, DeliveryKind, Revision, Time};

use crate::{status::Refusal, store::Logged, verbs::scope::Scope, world::World};

mod convert;
mod start;
pub(crate) mod stream;

pub(crate) use start::start;

/// How often a watch that asked for bookmarks gets one, in world time.
const BOOKMARK_EVERY: Duration = Duration::from_secs(60);

/// What a stream is about to say.
#[derive(Debug, Clone)]
pub(crate) enum Frame {
    /// The object entered, changed or left.
    Event(DeliveryKind, Arc<Value>),
    /// Nothing before this revision is still to come; or the end of the initial events.
    Bookmark { revision: Revision, initial_events_end: bool },
    /// The stream ends with this.
    Error(Refusal),
}

/// What waits for a stream to pull it.
#[derive(Debug, Clone)]
pub(crate) enum Queued {
    /// It is known what is to be said.
    Frame(Frame),
    /// A change that has to be converted first.
    Change(Arc<Logged>),
}

/// One open watch.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) scope: Scope,
    pub(crate) queue: VecDeque<Queued>,
    /// What is queued waits for a webhook.
    pub(crate) converts: bool,
    pub(crate) waker: Option<Waker>,
    /// Events up to here are none of this watch's business.
    pub(crate) after: Revision,
    pub(crate) bookmarks: bool,
    /// World time at which it ends.
    pub(crate) ends: Time,
    /// The last revision it was told of, and when that was checked last.
    pub(crate) told: Revision,
    pub(crate) bookmarked: Time,
    /// No more frames come after those in the queue.
    pub(crate) closed: bool,
}

/// All open watches, by number.
#[derive(Debug, Default)]
pub(crate) struct Watchers {
    next: u64,
    open: BTreeMap<u64, Watcher>,
}

impl Watchers {
    /// The number that the next watch will get.
    pub(crate) fn next_number(&self) -> u64 {
        self.next
    }

    /// Opens a watch.
    pub(crate) fn open(&mut self, watcher: Watcher) -> u64 {
        let number = self.next;
        self.next += 1;
        self.open.insert(number, watcher);
        number
    }

    /// The watch of this number, while its stream lives.
    pub(crate) fn get(&mut self, number: u64) -> Option<&mut Watcher> {
        self.open.get_mut(&number)
    }

    /// Its stream is gone.
    pub(crate) fn close(&mut self, number: u64) {
        self.open.remove(&number);
    }

    /// Ends the streams of a type that is served no more.
    pub(crate) fn end_type(&mut self, resource: &trace::GroupResource) {
        for watcher in self.open.values_mut() {
            if watcher.scope.kind.storage == *resource {
                watcher.closed = true;
                watcher.wake();
            }
        }
    }

    /// When the first of them ends by its time limit.
    pub(crate) fn next_end(&self) -> Option<Time> {
        self.open.values().filter(|watcher| !watcher.closed).map(|watcher| watcher.ends).min()
    }

    /// Frames not pulled, of streams that could pull them.
    pub(crate) fn undelivered(&self) -> usize {
        let open = self.open.values().filter(|watcher| !watcher.converts);
        open.map(|watcher| watcher.queue.len()).sum()
    }

    /// Tells all whom it concerns of a commit.
    pub(crate) fn committed(&mut self, logged: &Arc<Logged>) {
        for watcher in self.open.values_mut() {
            watcher.tell(logged);
        }
    }

    /// Custom types have changed: how their versions are converted, perhaps.
    pub(crate) fn learn_types(&mut self, world: &World) {
        for watcher in self.open.values_mut().filter(|watcher| watcher.scope.kind.is_custom()) {
            let row = watcher.scope.kind.row();
            if let Some(kind) = world.kind(&row.group, &row.version, &row.resource) {
                watcher.scope.kind = kind;
            }
        }
    }

    /// The world's clock moved.
    pub(crate) fn advance(&mut self, now: Time, revision: Revision) {
        for watcher in self.open.values_mut().filter(|watcher| !watcher.closed) {
            let due = now.since(watcher.bookmarked) >= BOOKMARK_EVERY || now >= watcher.ends;
            if watcher.bookmarks && due {
                watcher.bookmarked = now;
                // Repeating a known revision would tell nothing and wake the client.
                if revision > watcher.told {
                    watcher.push(Frame::Bookmark { revision, initial_events_end: false });
                    watcher.told = revision;
                }
            }
            if now >= watcher.ends {
                watcher.closed = true;
                watcher.wake();
            }
        }
    }
}

impl Watcher {
    /// Queues what this watch sees of a commit, if anything.
    pub(crate) fn tell(&mut self, logged: &Arc<Logged>) {
        if self.closed || logged.revision <= self.after || !self.scope.covers(&logged.key) {
            return;
        }
        let (now, before) = (&logged.object, logged.previous.as_ref());
        if self.scope.needs_webhook(logged) {
            self.told = logged.revision;
            self.queue.push_back(Queued::Change(logged.clone()));
            self.wake();
        } else if let Some(event) = self.scope.event(logged, now, before) {
            self.told = logged.revision;
            self.push(event);
        }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.queue.push_back(Queued::Frame(frame));
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Scope {
    /// Whether a webhook has to be asked before it is known what a watch sees of a commit.
    fn needs_webhook(&self, logged: &Logged) -> bool {
        let before = logged.previous.iter().filter(|_| self.looks_inside());
        before.chain([&logged.object]).any(|object| self.kind.needs_webhook(object))
    }

    /// What a watch of this scope sees of a commit to an object that it covers, which made `object` of what was there
    /// `before`.
    fn event(
        &self,
        logged: &Logged,
        object: &Arc<Value>,
        before: Option<&Arc<Value>>,
    ) -> Option<Frame> {
        let now = logged.change != Change::Deleted && self.selects(object);
        let before = before.filter(|before| self.selects(before));
        let (kind, object) = match (before, now) {
            (None, false) => return None,
            (None, true) => (DeliveryKind::Added, object.clone()),
            (Some(_), true) => (DeliveryKind::Modified, object.clone()),
            (Some(_), false) if logged.change == Change::Deleted => {
                (DeliveryKind::Deleted, object.clone())
            }
            (Some(before), false) => {
                // It left the selection: the last selected content, at the revision that left.
                let mut last = (**before).clone();
                last["metadata"]["resourceVersion"] = json!(logged.revision.to_string());
                (DeliveryKind::Deleted, Arc::new(last))
            }
        };
        Some(Frame::Event(kind, object))
    }

    /// A frame of stored objects as it is told.
    fn present(&self, frame: Frame) -> Frame {
        match frame {
            Frame::Event(kind, object) => match self.kind.present(&object) {
                Ok(object) => Frame::Event(kind, object),
                Err(refusal) => Frame::Error(refusal),
            },
            other => other,
        }
    }
}
