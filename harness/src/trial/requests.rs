//! How many requests there were since a moment.

use trace::{Event, Recorder};

/// Counts the requests of everybody.
pub(super) struct Requests {
    /// Records of the history that were looked at.
    looked_at: usize,
    count: usize,
}

impl Requests {
    /// None yet.
    pub fn from_now(recorder: &Recorder) -> Requests {
        Requests { looked_at: recorder.with(|history| history.records.len()), count: 0 }
    }

    /// How many there were since the beginning.
    pub fn look(&mut self, recorder: &Recorder) -> usize {
        recorder.with(|history| {
            let new = history.records.get(self.looked_at..).unwrap_or_default();
            self.count +=
                new.iter().filter(|record| matches!(record.event, Event::Call(_))).count();
            self.looked_at = history.records.len();
        });
        self.count
    }
}
