//! Commits of a trial so far, counted as they come: what waiting asks for after each jump of the clocks.

use trace::{Event, History, Recorder, Time};

/// How many there were, and when the last was. Leases and Events don't count.
#[derive(Debug, Default)]
pub(super) struct Commits {
    /// Records of the history that were looked at.
    looked_at: usize,
    /// How many.
    pub count: usize,
    /// When the last was.
    pub last: Option<Time>,
}

impl Commits {
    /// Looks at what is new since it last looked.
    pub fn look(&mut self, recorder: &Recorder) -> &Commits {
        recorder.with(|history| self.go_on(history));
        self
    }

    fn go_on(&mut self, history: &History) {
        for record in &history.records[self.looked_at.min(history.records.len())..] {
            if let Event::Commit(commit) = &record.event
                && !commit.is_bookkeeping()
            {
                self.count += 1;
                self.last = Some(record.at);
            }
        }
        self.looked_at = history.records.len();
    }
}
