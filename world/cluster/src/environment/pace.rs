//! Controllers that don't act at once, and the order in which they take turns: a part of the world for as long as it
//! lasts, so every fork has it.
//!
//! Upstream's controllers run side by side, on machines that are busy, and any of them may be behind the others, or not
//! there for a while (`--controllers=-deployment`). One that is held never acts: no key comes to its queue, so it costs
//! no world anything. One that is slow begins with a key only so long after the key was due; keys that wait for that
//! are timers, and what happens in the meantime it sees all at once. With an order, those whose keys wait take turns by
//! it, not by how long the keys have waited.
//!
//! A campaign holds or slows a controller for good (`cluster.embedded.controllers`). No perturbation holds one for a
//! while yet: tests use `Server::hold_controller`.

use std::{sync::Arc, time::Duration};

use controllers::Controller;

use super::EnvironmentOptions;

/// How a controller acts that does not act at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pace {
    /// Never.
    Held,
    /// So long after a key was due, by the world's clock.
    Slow(Duration),
}

/// How the controllers of a world act.
#[derive(Debug, Clone)]
pub(super) struct Paces {
    slow: Arc<[(Controller, Duration)]>,
    order: Arc<[Controller]>,
}

impl Paces {
    pub(super) fn new(options: &EnvironmentOptions) -> Paces {
        let slow = options.paces.iter().filter_map(|(controller, pace)| match pace {
            Pace::Held => None,
            Pace::Slow(late) => Some((*controller, *late)),
        });
        Paces { slow: slow.collect(), order: options.order.clone().into() }
    }

    /// How long after a key was due the controller begins with it.
    pub(super) fn delay(&self, of: Controller) -> Duration {
        let known = self.slow.iter().find(|(controller, _)| *controller == of);
        known.map_or(Duration::ZERO, |(_, late)| *late)
    }

    /// Whether turns are taken by an order.
    pub(super) fn has_order(&self) -> bool {
        !self.order.is_empty()
    }

    /// The place of a controller in that order; those that it does not name come after all others, together.
    pub(super) fn rank(&self, of: Controller) -> usize {
        self.order.iter().position(|controller| *controller == of).unwrap_or(self.order.len())
    }
}

impl EnvironmentOptions {
    /// The controllers that ever act.
    pub(super) fn acting(&self) -> Arc<[Controller]> {
        let held = |of: &&Controller| self.paces.contains(&(**of, Pace::Held));
        self.controllers.iter().filter(|controller| !held(controller)).copied().collect()
    }
}
