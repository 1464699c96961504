//! How perturbations are carried out: a file a family below this one, and the list of them here.
//!
//! Each begins at its moment. One that begins with a kill ([`plans::Crash`]) shares arming, kill and restart with all
//! others that do (`trial.rs`), and says here what the restart meets. Others are set up when their turn comes, and begin
//! by themselves. What goes on after its beginning is [`Standing`], until it is due to end, the user waits for the subject,
//! or the end is to be judged.

mod stale_state;
mod unobserved_state;

use std::time::Duration;

use plans::Perturbation;
use trace::Revision;

pub(super) use stale_state::Caches;

use super::{Going, Trial, patience::Patience, quiet::AT_ONCE};

/// Something of a perturbation that lasts.
pub(super) trait Standing {
    /// Whether it has begun; one that is set up for a moment begins later.
    fn has_begun(&mut self, _trial: &Trial<'_>) -> bool {
        true
    }

    /// All is quiet: lets go on what it held without need. Whether there was anything.
    fn lets_go(&mut self) -> bool {
        false
    }

    /// All is quiet: whether it is to end now.
    fn is_due(&mut self, trial: &Trial<'_>) -> bool;

    /// Time that is to pass before it can end: the user does nothing before that.
    fn time_left(&self, _trial: &Trial<'_>) -> Duration {
        Duration::ZERO
    }

    /// The user did a step.
    fn user_stepped(&mut self) {}

    /// Ends it. Errors: why it did not come to what was planned.
    fn end(self: Box<Self>, trial: &mut Trial<'_>) -> Result<(), String>;
}

/// A standing part, and whether its beginning was taken down.
pub(super) struct Stands {
    what: Box<dyn Standing>,
    begun: bool,
}

/// What a restart by this perturbation meets: called just before the subject is started again. `behind` is a revision
/// that was worked out before, on a fork. Errors: something that the plan names did not happen.
fn before_start(
    perturbation: &Perturbation,
    trial: &mut Trial<'_>,
    behind: Option<Revision>,
) -> Result<Option<Box<dyn Standing>>, String> {
    match perturbation {
        Perturbation::StaleState(stale) => {
            stale_state::before_start(stale, trial, behind).map(Some)
        }
        Perturbation::Crash(_) | Perturbation::UnobservedState(_) => Ok(None),
    }
}

/// Sets up a perturbation that begins with no kill.
fn set_up(perturbation: &Perturbation, trial: &mut Trial<'_>) -> Option<Box<dyn Standing>> {
    match perturbation {
        Perturbation::UnobservedState(unobserved) => {
            Some(unobserved_state::set_up(unobserved, trial))
        }
        Perturbation::Crash(_) | Perturbation::StaleState(_) => None,
    }
}

impl Trial<'_> {
    /// See [`before_start`].
    pub(super) fn meet(
        &mut self,
        perturbation: &Perturbation,
        behind: Option<Revision>,
    ) -> Going<()> {
        match before_start(perturbation, self, behind) {
            Ok(Some(what)) => {
                self.patience = Some(Patience::new(self.proxy.gate()));
                self.standing.push(Stands { what, begun: true });
            }
            Ok(None) => {}
            Err(why) => return Err(super::Stop(super::RunEnd::NeverFired(why))),
        }
        Ok(())
    }

    /// Sets up the next perturbation, if it begins with no kill and is not set up yet.
    pub(super) fn set_up_next(&mut self) {
        let Some(next) = self.todo.front().cloned() else { return };
        if self.standing.iter().all(|stands| stands.begun)
            && let Some(what) = set_up(&next, self)
        {
            self.standing.push(Stands { what, begun: false });
        }
    }

    /// All is quiet until `deadline`: takes down what has begun, and ends what is due. Whether something was ended.
    pub(super) fn attend_to_standing(&mut self, deadline: Option<Duration>) -> bool {
        if self.standing.is_empty() {
            return false;
        }
        let mut left = std::mem::take(&mut self.standing);
        let mut let_go = false;
        for stands in &mut left {
            let_go |= stands.what.lets_go();
            if !stands.begun && stands.what.has_begun(self) {
                stands.begun = true;
                self.patience = Some(Patience::new(self.proxy.gate()));
                self.begin_next();
            }
        }
        // What is due at once comes before: the subject is still at what it sees.
        let at_rest = !let_go && deadline.is_none_or(|deadline| deadline > AT_ONCE);
        let over = self.patience.as_ref().is_some_and(Patience::is_over);
        let due =
            |stands: &mut Stands| stands.begun && (over || (at_rest && stands.what.is_due(self)));
        let ended: Vec<Stands> = left.extract_if(.., due).collect();
        if let Some(patience) = self.patience.as_ref().filter(|_| at_rest && !over) {
            patience.renew();
        }
        self.standing.extend(left);
        let any = let_go || !ended.is_empty();
        ended.into_iter().for_each(|stands| self.end(stands));
        self.set_up_next();
        any
    }

    /// Whether something that has begun lasts.
    pub(super) fn stands(&self) -> bool {
        self.standing.iter().any(|stands| stands.begun)
    }

    /// Time that is to pass before the user goes on.
    pub(super) fn standing_time(&self) -> Duration {
        let left = self.standing.iter().map(|stands| stands.what.time_left(self));
        left.max().unwrap_or_default()
    }

    /// The user waits for the subject, or the end is to be judged: ends all that has begun. Whether something had.
    pub(super) fn end_standing(&mut self) -> bool {
        let ended: Vec<Stands> = self.standing.extract_if(.., |stands| stands.begun).collect();
        let any = !ended.is_empty();
        ended.into_iter().for_each(|stands| self.end(stands));
        any
    }

    fn end(&mut self, stands: Stands) {
        if let Err(why) = stands.what.end(self) {
            self.not_possible.get_or_insert(why);
        }
        if !self.stands() {
            self.patience = None;
        }
    }

    /// The user did a step.
    pub(super) fn user_stepped(&mut self) {
        self.standing.iter_mut().for_each(|stands| stands.what.user_stepped());
    }
}
