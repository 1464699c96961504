//! What is asked of a system, as closures with whatever parameters they close over.
//!
//! Properties of states and steps are judged while states are found. Liveness properties speak of whole infinite runs
//! that are fair: they need the graph of all states (`search/liveness.rs`).

use std::fmt;

use crate::{Places, System};

type OfState<'a, S> = Box<dyn Fn(&<S as System>::State) -> bool + Send + Sync + 'a>;
type OfAction<'a, S> = Box<dyn Fn(&<S as System>::Action) -> bool + Send + Sync + 'a>;
type OfStep<'a, S> = Box<
    dyn Fn(&<S as System>::State, &<S as System>::Action, &<S as System>::State) -> bool
        + Send
        + Sync
        + 'a,
>;

/// One thing asked, with a name.
pub struct Property<'a, S: System> {
    /// What reports call it.
    pub name: String,
    /// Whether it is true of a state exactly if it is true of all renamings of it ([`System::canonical`]).
    pub symmetric: bool,
    /// What of a state it looks at.
    pub reads: Places,
    pub(crate) asks: Asks<'a, S>,
}

/// What a property asks.
pub(crate) enum Asks<'a, S: System> {
    Always(OfState<'a, S>),
    Sometimes(OfState<'a, S>),
    Steps(OfStep<'a, S>),
    GoesOn { allowed: OfState<'a, S> },
    EventuallyAlways(OfState<'a, S>),
    AlwaysEventually(OfState<'a, S>),
    LeadsTo(OfState<'a, S>, OfState<'a, S>),
}

impl<'a, S: System> Property<'a, S> {
    /// `invariant` holds in every state that can be reached.
    pub fn always(
        name: impl Into<String>,
        invariant: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::Always(Box::new(invariant)))
    }

    /// Some state that can be reached is as `wanted`. Violated only if all states were seen; held with a witness.
    pub fn sometimes(
        name: impl Into<String>,
        wanted: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::Sometimes(Box::new(wanted)))
    }

    /// `holds(state, action, next)` of every step from a state that can be reached.
    pub fn steps(
        name: impl Into<String>,
        holds: impl Fn(&S::State, &S::Action, &S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::Steps(Box::new(holds)))
    }

    /// A state without a step is reached only where `allowed`: no deadlock.
    pub fn no_deadlock(
        name: impl Into<String>,
        allowed: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::GoesOn { allowed: Box::new(allowed) })
    }

    /// `<>[] settled`: each fair run comes to a point from which on it is `settled` for ever.
    pub fn eventually_always(
        name: impl Into<String>,
        settled: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::EventuallyAlways(Box::new(settled)))
    }

    /// `[]<> recurring`: each fair run is `recurring` again and again.
    pub fn always_eventually(
        name: impl Into<String>,
        recurring: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::AlwaysEventually(Box::new(recurring)))
    }

    /// `cause ~> effect`: in each fair run a state with `cause` is, or is followed by, one with `effect`.
    pub fn leads_to(
        name: impl Into<String>,
        cause: impl Fn(&S::State) -> bool + Send + Sync + 'a,
        effect: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::new(name, Asks::LeadsTo(Box::new(cause), Box::new(effect)))
    }

    /// Eventually stable reconciliation: the state comes to `match_desired` and stays there (Anvil, OSDI 2024). The
    /// system is one in which the desired state no longer changes once the budgets of its environment are spent.
    pub fn stable_reconciliation(
        name: impl Into<String>,
        match_desired: impl Fn(&S::State) -> bool + Send + Sync + 'a,
    ) -> Self {
        Self::eventually_always(name, match_desired)
    }

    /// The same property, said to be true of all renamings of a state or of none.
    pub fn symmetric(self) -> Self {
        Property { symmetric: true, ..self }
    }

    /// The same property, said to look only at `places`.
    pub fn reading(self, places: Places) -> Self {
        Property { reads: places, ..self }
    }

    /// Whether it speaks of infinite runs.
    pub fn is_liveness(&self) -> bool {
        match self.asks {
            Asks::Always(_) | Asks::Sometimes(_) | Asks::Steps(_) | Asks::GoesOn { .. } => false,
            Asks::EventuallyAlways(_) | Asks::AlwaysEventually(_) | Asks::LeadsTo(..) => true,
        }
    }

    /// Whether it speaks of steps.
    pub(crate) fn is_of_steps(&self) -> bool {
        matches!(self.asks, Asks::Steps(_))
    }

    /// Whether single states decide it.
    pub(crate) fn is_of_states(&self) -> bool {
        matches!(self.asks, Asks::Always(_) | Asks::Sometimes(_))
    }

    /// Whether what is found in a search makes it hold rather than violates it.
    pub(crate) fn is_sometimes(&self) -> bool {
        matches!(self.asks, Asks::Sometimes(_))
    }

    /// Whether `state` alone decides it.
    pub(crate) fn decided_by(&self, state: &S::State) -> bool {
        match &self.asks {
            Asks::Always(invariant) => !invariant(state),
            Asks::Sometimes(wanted) => wanted(state),
            _ => false,
        }
    }

    /// Whether the step violates it.
    pub(crate) fn violated_by(
        &self,
        state: &S::State,
        action: &S::Action,
        next: &S::State,
    ) -> bool {
        matches!(&self.asks, Asks::Steps(holds) if !holds(state, action, next))
    }

    /// Whether `state`, which has no step, violates it.
    pub(crate) fn violated_at_end(&self, state: &S::State) -> bool {
        matches!(&self.asks, Asks::GoesOn { allowed } if !allowed(state))
    }

    /// Two truths of a state that a liveness property is judged by: cause (or the only one), effect.
    pub(crate) fn truths(&self, state: &S::State) -> (bool, bool) {
        match &self.asks {
            Asks::EventuallyAlways(truth) | Asks::AlwaysEventually(truth) => (truth(state), false),
            Asks::LeadsTo(cause, effect) => (cause(state), effect(state)),
            _ => (false, false),
        }
    }

    fn new(name: impl Into<String>, asks: Asks<'a, S>) -> Self {
        Property { name: name.into(), symmetric: false, reads: Places::Every, asks }
    }
}

impl<S: System> fmt::Debug for Property<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Property").field("name", &self.name).finish_non_exhaustive()
    }
}

/// A class of actions that is not put off for ever. It counts as taken by any step of the class, also one that leaves
/// the state as it is.
pub struct Fairness<'a, S: System> {
    /// What reports call it.
    pub name: String,
    /// Weak: a class possible from some point on at all times is taken. Strong: a class possible again and again is.
    pub strong: bool,
    of: OfAction<'a, S>,
}

impl<'a, S: System> Fairness<'a, S> {
    /// A class that is taken if it stays possible.
    pub fn weak(
        name: impl Into<String>,
        of: impl Fn(&S::Action) -> bool + Send + Sync + 'a,
    ) -> Self {
        Fairness { name: name.into(), strong: false, of: Box::new(of) }
    }

    /// A class that is taken if it becomes possible again and again.
    pub fn strong(
        name: impl Into<String>,
        of: impl Fn(&S::Action) -> bool + Send + Sync + 'a,
    ) -> Self {
        Fairness { name: name.into(), strong: true, of: Box::new(of) }
    }

    /// Whether `action` is of the class.
    pub fn holds_of(&self, action: &S::Action) -> bool {
        (self.of)(action)
    }
}

impl<S: System> fmt::Debug for Fairness<'_, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Fairness { name, strong, .. } = self;
        f.debug_struct("Fairness").field("name", name).field("strong", strong).finish()
    }
}
