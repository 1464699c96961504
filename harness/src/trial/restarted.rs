//! A subject that was started again acts before the user goes on.
//!
//! A program that was just started does nothing for a while: informers look every 100 ms whether they have all
//! (`WaitForCacheSync` of client-go), and one that elects a leader waits for its predecessor's lease. A user who goes on at
//! the first quiet moment would always come before it, and what a restarted subject does with the state that it was
//! started on would be tried only where the workload waits. That the user comes first is tried as well: by restarts after
//! the user's next steps.

use std::{collections::BTreeSet, time::Duration};

use trace::Event;

use super::Trial;

/// For how long a started subject is watched at its first work, from its start or from when it leads. Counted is the time
/// that it let pass, doing nothing: on a busy machine it may take seconds of real time until it begins. Work that failed is
/// tried again soon.
pub(super) const FIRST_WORK: Duration = Duration::from_secs(2);

/// The last start of the subject, if it had run before.
#[derive(Clone, Copy)]
pub(super) struct Restarted {
    incarnation: u32,
    /// Its record comes at this place or later.
    at: usize,
}

impl Trial<'_> {
    /// The subject is being started, as this incarnation.
    pub(super) fn note_start(&mut self, incarnation: u32) {
        let ran_before = self.carried_out > 0 || incarnation as usize >= self.members.replicas();
        let at = || self.recorder.with(|history| history.records.len());
        self.restarted = ran_before.then(|| Restarted { incarnation, at: at() });
    }

    /// How much of its first time is left to a subject that was started again.
    pub(super) fn first_work_left(&self) -> Duration {
        let Some(Restarted { incarnation, at }) = self.restarted else { return Duration::ZERO };
        let Some(lease) = self.setup.lease() else { return self.left_since(at, FIRST_WORK) };
        // Whoever waits for longer than its predecessor's lease may never lead.
        match self.left_since(at, 2 * lease + FIRST_WORK) {
            Duration::ZERO => Duration::ZERO,
            _ => match self.leads_since(incarnation) {
                Some(since) => self.left_since(since, FIRST_WORK),
                None => FIRST_WORK,
            },
        }
    }

    /// How much of that time is left to the subject that was started as this incarnation or later. One that elects a leader
    /// does nothing before it leads.
    pub(super) fn first_work_left_to(&self, incarnation: u32) -> Duration {
        let since = match self.setup.elects_leader() {
            true => self.leads_since(incarnation),
            false => Some(self.recorder.with(trace::History::last_start)),
        };
        since.map_or(FIRST_WORK, |since| self.left_since(since, FIRST_WORK))
    }

    /// The record with which it began to lead.
    fn leads_since(&self, incarnation: u32) -> Option<usize> {
        self.recorder.with(|history| {
            let mut calls = BTreeSet::new();
            let started = history.last_start();
            let mut records = history.records[started..].iter();
            let leads = records.position(|record| match &record.event {
                Event::Call(call) if call.incarnation >= incarnation => {
                    calls.insert(call.id);
                    false
                }
                Event::Commit(commit) => {
                    commit.actor.is_subject()
                        && *commit.key.resource.resource == *"leases"
                        && commit.call.is_some_and(|call| calls.contains(&call))
                }
                _ => false,
            });
            leads.map(|at| started + at)
        })
    }

    /// What is left of a time from this record on.
    fn left_since(&self, record: usize, whole: Duration) -> Duration {
        self.recorder.with(|history| {
            let mut left = whole;
            for record in history.records.get(record..).unwrap_or_default() {
                let Event::Clock { from } = &record.event else { continue };
                left = left.saturating_sub(record.at.since(*from));
                if left.is_zero() {
                    break;
                }
            }
            left
        })
    }
}
