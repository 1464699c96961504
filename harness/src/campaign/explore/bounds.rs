//! How far an exploration goes.

use std::time::{Duration, Instant};

use crate::campaign::{fault, interrupt};

/// How far to go.
#[derive(Debug, Clone, Default)]
pub struct Bounds {
    /// Stop at this time.
    pub until: Option<Instant>,
    /// So much of it is kept for confirming, where something is to be confirmed.
    pub reserve: Duration,
    /// Stop after this many trials.
    pub trials: Option<u64>,
    /// Expand behind this many violated trials.
    pub through_findings: u64,
    /// Explore every schedule of at most this depth without de-duplication.
    pub brute_force: Option<u32>,
}

impl Bounds {
    /// Whether nothing more may begin, not even what was asked for.
    pub fn are_over(&self) -> bool {
        interrupt::asked()
            || fault::why().is_some()
            || self.until.is_some_and(|until| Instant::now() >= until)
    }

    /// Why it ends now. `suspicions`: some are still to be confirmed, for which time is kept.
    pub fn reached(&self, begun: u64, suspicions: bool) -> Option<String> {
        if interrupt::asked() {
            return Some("interrupted".to_owned());
        }
        if let Some(why) = fault::why() {
            return Some(why.to_owned());
        }
        let kept = if suspicions { self.reserve } else { Duration::ZERO };
        if self.until.is_some_and(|until| Instant::now() + kept >= until) {
            return Some("the time budget was used up".to_owned());
        }
        if self.trials.is_some_and(|trials| begun >= trials) {
            return Some("the budget of trials was used up".to_owned());
        }
        None
    }
}
