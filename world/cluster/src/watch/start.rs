//! The beginning of a watch: from which revision, and with which initial events
//! (kubernetes-api.md §3; KEP-3157 for `sendInitialEvents`).

use std::{collections::VecDeque, ops::Bound, sync::Arc, time::Duration};

use trace::{Change, Revision};

use super::{Frame, Watcher};
use crate::{
    server::{Live, default_watch_life, request::Request},
    status::Refusal,
    store::Logged,
    verbs::{options, scope::Scope},
};

/// From where a watch starts.
enum From {
    /// The current state as ADDED events, then what follows; with a marker in between if asked.
    State { marker: bool },
    /// What follows this revision.
    After(Revision),
    /// It can't: the stream says why and ends.
    Refused(Refusal),
}

/// Opens a watch and returns its number. Errors: refused parameters (4xx); everything later is told in
/// the stream itself.
pub(crate) fn start(live: &mut Live, request: &Request, scope: Scope) -> Result<u64, Refusal> {
    let from = from(live, request)?;
    let now = live.world.now;
    let revision = live.world.revision();
    let life = match request.query("timeoutSeconds").parse::<u64>() {
        Ok(seconds) if seconds > 0 => Duration::from_secs(seconds),
        _ => default_watch_life(live.watchers.next_number()),
    };
    let mut watcher = Watcher {
        scope,
        queue: VecDeque::new(),
        converts: false,
        waker: None,
        after: Revision(0),
        bookmarks: request.flag("allowWatchBookmarks"),
        ends: now.plus(life),
        told: revision,
        bookmarked: now,
        closed: false,
    };
    match from {
        From::Refused(refusal) => {
            watcher.push(Frame::Error(refusal));
            watcher.closed = true;
        }
        From::State { marker } => {
            let root = live.world.store.root();
            let found: Vec<Arc<Logged>> = watcher
                .scope
                .covered(root, Bound::Unbounded)
                .map(|(key, stored)| {
                    // To this watch it is new.
                    let (key, object) = (key.clone(), stored.object().clone());
                    let change = Change::Created;
                    Arc::new(Logged::new(revision, change, key, object, None))
                })
                .collect();
            found.iter().for_each(|logged| watcher.tell(logged));
            watcher.after = revision;
            watcher.told = revision;
            if marker && watcher.bookmarks {
                watcher.push(Frame::Bookmark { revision, initial_events_end: true });
            }
        }
        From::After(after) => {
            watcher.after = after;
            watcher.told = after;
            let store = &live.world.store;
            match store.log_after(&watcher.scope.kind.storage, after) {
                Ok(entries) => entries.for_each(|entry| watcher.tell(entry)),
                Err(gone) => {
                    let refusal = Refusal::too_old(gone.asked, gone.oldest);
                    watcher.push(Frame::Error(refusal));
                    watcher.closed = true;
                }
            }
        }
    }
    Ok(live.watchers.open(watcher))
}

fn from(live: &Live, request: &Request) -> Result<From, Refusal> {
    let initial = request.has("sendInitialEvents").then(|| request.flag("sendInitialEvents"));
    options::check_watch(request, initial.is_some())?;
    let (asked, _) = options::revision(request, None)?;
    let now = live.world.revision();
    Ok(match (initial, asked) {
        (Some(true), Some(asked)) if asked > now => {
            From::Refused(Refusal::too_large_revision(asked, now))
        }
        (Some(true), _) => From::State { marker: true },
        (None, None | Some(Revision(0))) => From::State { marker: false },
        (Some(false), None | Some(Revision(0))) => From::After(now),
        (_, Some(asked)) => From::After(asked),
    })
}
