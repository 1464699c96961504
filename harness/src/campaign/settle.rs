//! When a world counts as settled: all is quiet, and its store has not changed for the horizon (design §4, *settled*).
//!
//! How long that is for a campaign is one value, [`Settle`]. It is made once, before the first reference, and nothing
//! changes it; a stage of the campaign gives each of its trials the part that is theirs, as [`Waits`].
//!
//! | horizon | decided by | what a replay file says in `settings.horizon` |
//! |---|---|---|
//! | as said | `settle.horizon` of the campaign, or of a replay file | the same |
//! | learnt | the rehearsal (`rehearsal.rs`) | the one with which the finding was confirmed, so that nobody learns it again |
//! | two seconds | nobody: `auto` where time is real | nothing, which means the same there |
//!
//! Only a horizon that was learnt can be too short: what a controller does late after a restart need not be what it does
//! late undisturbed. So with such a one some trials have more patience, as [`Settle::explored_to_the_end`] and
//! [`Settle::confirming`] say.

use std::time::Duration;

use oracles::judge::livelock::NEVER_SETTLES_AFTER;

use crate::{campaign::setup::Setup, config::Horizon};

/// How long the patient wait: the rehearsal for another write, and those that make sure of a learnt horizon.
pub const PATIENCE: Duration = Duration::from_secs(600);

/// What is learnt is this at least, in virtual time.
const LEARNT_MIN: Duration = Duration::from_secs(60);

/// The horizon in real time, which has to be waited for; also for how long controllers that nobody can look at must have
/// done nothing.
pub const REAL: Duration = Duration::from_secs(2);

/// A subject with more timers than this in ten minutes (33 a second) would make a patient wait long: it ends earlier,
/// and the report says so of the rehearsal.
pub const JUMPS: usize = 20_000;

/// As many jumps end the patient wait of an explored trial, of which there are many: a second, more or less.
const JUMPS_EXPLORED: usize = 1_000;

/// One wait for a world to settle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wait {
    /// For how long the store must stay unchanged, by the subject's clock: virtual time, or real where that is.
    pub horizon: Duration,
    /// Jumps of the clock after which the world counts as settled though the horizon has not passed.
    pub jumps: usize,
}

/// How long one trial waits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Waits {
    /// Where the workload says `settle`.
    pub at_a_step: Wait,
    /// When the workload has been played.
    pub at_the_end: Wait,
    /// How long either lasts where the store goes on changing, by the subject's clock: then it never settles.
    pub at_most: Duration,
}

impl Waits {
    /// As long as anybody waits: the rehearsal, from which the horizon is learnt.
    pub const REHEARSAL: Waits =
        Waits::everywhere(Wait { horizon: PATIENCE, jumps: JUMPS }, NEVER_SETTLES_AFTER);

    const fn everywhere(wait: Wait, at_most: Duration) -> Waits {
        Waits { at_a_step: wait, at_the_end: wait, at_most }
    }
}

/// When the worlds of a campaign count as settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Settle {
    horizon: Duration,
    by: Decided,
    at_most: Duration,
}

/// By whom the horizon was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Decided {
    File,
    RealTime,
    /// A rehearsal that waited only so long at its end, if its jumps were used up before ten minutes were over.
    Rehearsal {
        cut_short: Option<Duration>,
    },
}

impl Settle {
    /// As the campaign or replay file says, or time demands; none where a rehearsal has to learn it.
    pub fn given(setup: &Setup) -> Option<Settle> {
        let (horizon, by) = match setup.campaign.file.spec.settle.horizon {
            Horizon::For(horizon) => (horizon, Decided::File),
            Horizon::Auto if setup.virtual_time() => return None,
            Horizon::Auto => (REAL, Decided::RealTime),
        };
        Some(Settle { horizon, by, at_most: NEVER_SETTLES_AFTER }.at_most(setup))
    }

    /// With the limit that the campaign or replay file says.
    pub fn at_most(self, setup: &Setup) -> Settle {
        let given = setup.campaign.file.spec.settle.at_most;
        Settle { at_most: given.unwrap_or(self.at_most), ..self }
    }

    /// Twice the longest gap before a useful write, in whole seconds, so that the phases of timers don't show; a minute
    /// at least. A leader that was killed waits for its own lease, and for its next attempt to take it, before it does
    /// anything: undisturbed nothing shows that gap.
    pub fn learnt(
        longest_gap: Duration,
        lease: Option<Duration>,
        cut_short: Option<Duration>,
    ) -> Settle {
        let twice = Duration::from_secs((2 * longest_gap).as_secs_f64().ceil() as u64);
        let led_again = lease.map_or(Duration::ZERO, |lease| lease * 3 / 2 + LEARNT_MIN / 2);
        let horizon = LEARNT_MIN.max(twice).max(led_again);
        Settle { horizon, by: Decided::Rehearsal { cut_short }, at_most: NEVER_SETTLES_AFTER }
    }

    /// For how long a store stays unchanged in most trials: references, and those that explore.
    pub fn horizon(&self) -> Duration {
        self.horizon
    }

    /// For how long the rehearsal waited, if it ended before it should, because the subject has so many timers.
    pub fn cut_short(&self) -> Option<Duration> {
        match self.by {
            Decided::Rehearsal { cut_short } => cut_short,
            Decided::File | Decided::RealTime => None,
        }
    }

    /// Whether some trials wait for longer than others.
    pub fn is_learnt(&self) -> bool {
        matches!(self.by, Decided::Rehearsal { .. })
    }

    /// Whether those that confirm wait for longer than all before: then what was explored may only have been looked at
    /// too early.
    pub fn confirms_longer(&self) -> bool {
        self.confirming().at_the_end.horizon > self.horizon
    }

    /// What a replay file says of it.
    pub fn in_replay(&self) -> Horizon {
        match self.by {
            Decided::RealTime => Horizon::Auto,
            Decided::File | Decided::Rehearsal { .. } => {
                Horizon::For(self.confirming().at_the_end.horizon)
            }
        }
    }

    /// For trials that have no reason to wait for longer.
    pub fn usual(&self) -> Waits {
        self.everywhere(Wait { horizon: self.horizon, jumps: usize::MAX })
    }

    /// For the last repeat of an explored world. A sweep every five minutes may find nothing to do undisturbed, and much
    /// after a restart. At its end only, so that what is done before has the same age in all repeats.
    pub fn explored_to_the_end(&self) -> Waits {
        let usual = self.usual();
        let at_the_end = self.patient(usual.at_the_end, JUMPS_EXPLORED);
        Waits { at_a_step: usual.at_a_step, ..self.everywhere(at_the_end) }
    }

    /// For trials that confirm: what turned up has to hold however long one waits.
    pub fn confirming(&self) -> Waits {
        self.everywhere(self.patient(self.usual().at_the_end, JUMPS))
    }

    /// Twice the horizon at least: a change just before the first would have ended it.
    fn everywhere(&self, wait: Wait) -> Waits {
        Waits::everywhere(wait, self.at_most.max(2 * wait.horizon))
    }

    /// This wait, no shorter than the rehearsal's where the horizon comes from there.
    fn patient(&self, wait: Wait, jumps: usize) -> Wait {
        match self.is_learnt() {
            true => Wait { horizon: wait.horizon.max(PATIENCE), jumps },
            false => wait,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(wait: Wait) -> (u64, usize) {
        (wait.horizon.as_secs(), wait.jumps)
    }

    #[test]
    fn a_minute_at_least_and_whole_seconds() {
        for (gap_ms, lease_s, horizon_s) in
            [(0, None, 60), (29_000, Some(15), 60), (300_200, Some(60), 601), (0, Some(137), 235)]
        {
            let lease = lease_s.map(Duration::from_secs);
            let learnt = Settle::learnt(Duration::from_millis(gap_ms), lease, None);
            assert_eq!(learnt.horizon().as_secs(), horizon_s, "{gap_ms} {lease_s:?}");
        }
    }

    #[test]
    fn only_what_was_learnt_is_made_sure_of() {
        let at_most = NEVER_SETTLES_AFTER;
        let said = Settle { horizon: Duration::from_secs(90), by: Decided::File, at_most };
        let real = Settle { horizon: REAL, by: Decided::RealTime, at_most };
        for settle in [said, real] {
            assert_eq!(settle.explored_to_the_end(), settle.usual());
            assert_eq!(settle.confirming(), settle.usual());
            assert!(!settle.confirms_longer() && !settle.is_learnt());
        }
        assert_eq!(said.in_replay(), Horizon::For(Duration::from_secs(90)));
        assert_eq!(real.in_replay(), Horizon::Auto);
    }

    /// A gap, and how long its trials wait: usually, at the end of an explored one, to confirm.
    #[test]
    fn patience_is_ten_minutes_or_the_horizon() {
        for (gap, usual, longer) in [(0, 60, 600), (290, 580, 600), (400, 800, 800)] {
            let settle = Settle::learnt(Duration::from_secs(gap), None, None);
            let (explored, confirming) = (settle.explored_to_the_end(), settle.confirming());
            assert_eq!(settle.usual(), settle.everywhere(explored.at_a_step));
            assert_eq!(seconds(explored.at_a_step), (usual, usize::MAX));
            assert_eq!(seconds(explored.at_the_end), (longer, JUMPS_EXPLORED));
            assert_eq!(seconds(confirming.at_a_step), (longer, JUMPS));
            assert_eq!(seconds(confirming.at_the_end), (longer, JUMPS));
            assert_eq!(settle.confirms_longer(), longer > usual);
            assert_eq!(settle.in_replay(), Horizon::For(Duration::from_secs(longer)));
        }
    }

    #[test]
    fn a_limit_leaves_time_to_settle() {
        for (limit, usual, confirming) in [(10, 120, 1200), (600, 600, 1200), (5000, 5000, 5000)] {
            let learnt = Settle::learnt(Duration::ZERO, None, None);
            let settle = Settle { at_most: Duration::from_secs(limit), ..learnt };
            assert_eq!(settle.usual().at_most.as_secs(), usual, "{limit}");
            assert_eq!(settle.confirming().at_most.as_secs(), confirming, "{limit}");
        }
    }
}
