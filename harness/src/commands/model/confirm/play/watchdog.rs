//! When a run has gone too far.

use std::time::{Duration, Instant};

use cluster::Server;
use trace::{Commit, Event, Recorder, Time};

use super::{Ending, Player};
use crate::commands::model::confirm::{file::Limits, usage};

/// A commit that counts: no Lease, no Event, nothing of metrics-server's.
pub(super) fn write(event: &Event) -> Option<&Commit> {
    match event {
        Event::Commit(commit)
            if !commit.is_bookkeeping() && commit.key.resource != usage::resource() =>
        {
            Some(commit)
        }
        _ => None,
    }
}

/// Looks whether a run has gone too far.
pub(super) struct Watchdog {
    recorder: Recorder,
    server: Server,
    stepped: (usize, Time),
    due: Time,
    limits: Limits,
    until: Instant,
}

impl Watchdog {
    pub(super) fn of(player: &Player<'_>) -> Watchdog {
        Watchdog {
            recorder: player.recorder.clone(),
            server: player.server.clone(),
            stepped: player.stepped,
            due: player.due,
            limits: player.file.1.limits,
            until: player.until,
        }
    }

    pub(super) fn over(&self) -> Option<Ending> {
        if Instant::now() >= self.until {
            return Some(Ending::Broken("--timeout was over".to_owned()));
        }
        let (first, stepped) = self.stepped;
        let writes = self.recorder.with(|history| {
            history.records[first..].iter().filter(|record| write(&record.event).is_some()).count()
        });
        if writes >= self.limits.writes {
            return Some(Ending::Restless);
        }
        let end = stepped.plus(self.limits.time.0).max(self.due);
        (self.server.now() > end).then_some(Ending::TimeOver)
    }

    /// Ends when one is exceeded: looks at each write, and once a second for the time here.
    pub(super) async fn exceeded(&self) -> Ending {
        let mut revisions = self.server.subscribe();
        loop {
            drop(tokio::time::timeout(Duration::from_secs(1), revisions.changed()).await);
            if let Some(over) = self.over() {
                return over;
            }
        }
    }
}
