//! Watches: who is told what.
//!
//! Each open watch has a queue. A commit decides at once, for each watch of its type, which event that
//! watch sees of it (a selector can turn a change into an appearance or a disappearance, as upstream's
//! `convertToWatchEvent`); the stream pulls and encodes later. So "committed but not yet pulled" is a
//! number that is always right, and a slow reader costs pointers, not copies.
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

use crate::{status::Refusal, store::Logged, verbs::scope::Scope};

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

/// One open watch.
#[derive(Debug)]
pub(crate) struct Watcher {
    pub(crate) scope: Scope,
    pub(crate) queue: VecDeque<Frame>,
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

    /// Frames decided and not pulled.
    pub(crate) fn undelivered(&self) -> usize {
        self.open.values().map(|watcher| watcher.queue.len()).sum()
    }

    /// Tells all whom it concerns of a commit.
    pub(crate) fn committed(&mut self, logged: &Logged) {
        for watcher in self.open.values_mut() {
            watcher.tell(logged);
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
    pub(crate) fn tell(&mut self, logged: &Logged) {
        if self.closed || logged.revision <= self.after {
            return;
        }
        if let Some((kind, object)) = self.scope.event(logged) {
            self.told = logged.revision;
            self.push(Frame::Event(kind, object));
        }
    }

    pub(crate) fn push(&mut self, frame: Frame) {
        self.queue.push_back(frame);
        self.wake();
    }

    fn wake(&mut self) {
        if let Some(waker) = self.waker.take() {
            waker.wake();
        }
    }
}

impl Scope {
    /// What a watch of this scope sees of a commit.
    fn event(&self, logged: &Logged) -> Option<(DeliveryKind, Arc<Value>)> {
        if !self.covers(&logged.key) {
            return None;
        }
        let now = logged.change != Change::Deleted && self.selects(&logged.object);
        let before = logged.previous.as_ref().filter(|previous| self.selects(previous));
        match (before, now) {
            (None, false) => None,
            (None, true) => Some((DeliveryKind::Added, logged.object.clone())),
            (Some(_), true) => Some((DeliveryKind::Modified, logged.object.clone())),
            (Some(_), false) if logged.change == Change::Deleted => {
                Some((DeliveryKind::Deleted, logged.object.clone()))
            }
            (Some(previous), false) => {
                // It left the selection: the last selected content, at the revision that left.
                let mut last = (**previous).clone();
                last["metadata"]["resourceVersion"] = json!(logged.revision.to_string());
                Some((DeliveryKind::Deleted, Arc::new(last)))
            }
        }
    }
}
