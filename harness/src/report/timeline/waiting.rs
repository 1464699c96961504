//! Time in which nothing happens but that clocks go on and leases are renewed: one line for all of it.

use std::time::Duration;

use trace::{Event, Record, Time};

use super::{Entry, EntryKind, times};

/// Records one after another that say nothing of the work.
pub struct Waiting<'r> {
    last: &'r Record,
    moves: usize,
    passed: Duration,
    lease_writes: usize,
    lease_reads: usize,
}

impl<'r> Waiting<'r> {
    /// Begins with a move of the clock; none: it is something else.
    pub fn begin(record: &'r Record) -> Option<Waiting<'r>> {
        let Event::Clock { from } = record.event else { return None };
        let passed = record.at.since(from);
        Some(Waiting { last: record, moves: 1, passed, lease_writes: 0, lease_reads: 0 })
    }

    /// Takes the next record in.
    pub fn go_on(&mut self, record: &'r Record) {
        match &record.event {
            Event::Clock { from } => {
                self.last = record;
                self.moves += 1;
                self.passed += record.at.since(*from);
            }
            Event::Commit(commit) if *commit.key.resource.resource == *"leases" => {
                self.lease_writes += 1;
            }
            Event::Call(call) if !call.is_write() => {
                let of = call.resource.as_ref();
                self.lease_reads +=
                    usize::from(of.is_some_and(|resource| *resource.resource == *"leases"));
            }
            _ => {}
        }
    }

    /// The line for it, where its last move of the clock stands.
    pub fn entry(&self, start: Time) -> Entry {
        let seconds = self.passed.as_secs_f64();
        let mut text = match self.moves {
            1 => format!("clock goes on by {seconds:.3} s"),
            moves => format!("… {moves} × the clock goes on, by {seconds:.3} s in all"),
        };
        for (count, what) in [(self.lease_writes, "write"), (self.lease_reads, "read")] {
            let plural = if count == 1 { "" } else { "s" };
            if count > 0 {
                text += &format!("; {count} {what}{plural} of Leases");
            }
        }
        Entry {
            sequence: self.last.sequence,
            at: times(self.last.real_us, self.last.at.since(start)),
            who: "trommel".to_owned(),
            kind: EntryKind::Note,
            text,
            detail: String::new(),
        }
    }
}
