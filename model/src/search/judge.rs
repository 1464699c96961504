//! The properties that a search still looks for, by what decides them, and what was found.

use crate::{
    Counts, Limit, Run, System, Verdict,
    search::{ReportOf, Search},
};

/// Where something was found: in a state, or in the step from it that is `step`th of its actions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Spot {
    /// The state's number.
    pub state: u32,
    /// The index of the step.
    pub step: Option<u32>,
}

/// Indices of properties for which nothing was found yet.
#[derive(Debug)]
pub struct Judge<'s, 'a, S: System> {
    search: &'s Search<'a, S>,
    of_states: Vec<usize>,
    of_steps: Vec<usize>,
    of_ends: Vec<usize>,
}

impl<'s, 'a, S: System> Judge<'s, 'a, S> {
    /// Judges those that are `open`.
    pub fn new(search: &'s Search<'a, S>, open: impl Fn(usize) -> bool) -> Self {
        use crate::properties::Asks;
        let mut judge =
            Judge { search, of_states: Vec::new(), of_steps: Vec::new(), of_ends: Vec::new() };
        for (index, property) in search.properties.iter().enumerate().filter(|(i, _)| open(*i)) {
            match property.asks {
                Asks::Always(_) | Asks::Sometimes(_) => judge.of_states.push(index),
                Asks::Steps(_) => judge.of_steps.push(index),
                Asks::GoesOn { .. } => judge.of_ends.push(index),
                Asks::EventuallyAlways(_) | Asks::AlwaysEventually(_) | Asks::LeadsTo(..) => {}
            }
        }
        judge
    }

    /// Whether nothing is left to be found.
    pub fn is_done(&self) -> bool {
        self.of_states.is_empty()
            && self.of_steps.is_empty()
            && self.of_ends.is_empty()
            && !self.search.properties.is_empty()
            && !self.search.judges_liveness()
    }

    /// Properties that `state` decides.
    pub fn state(&self, state: &S::State) -> impl Iterator<Item = usize> {
        let properties = self.search.properties;
        self.of_states.iter().copied().filter(move |index| properties[*index].decided_by(state))
    }

    /// Properties that the step violates.
    pub fn step(
        &self,
        state: &S::State,
        action: &S::Action,
        next: &S::State,
    ) -> impl Iterator<Item = usize> {
        let properties = self.search.properties;
        let violated = move |index: &usize| properties[*index].violated_by(state, action, next);
        self.of_steps.iter().copied().filter(violated)
    }

    /// Properties that are violated because `state` has no step.
    pub fn end(&self, state: &S::State) -> impl Iterator<Item = usize> {
        let properties = self.search.properties;
        self.of_ends.iter().copied().filter(move |index| properties[*index].violated_at_end(state))
    }
}

/// The report for what was found, a run for each property or none.
pub fn report<S: System>(
    search: &Search<'_, S>,
    counts: Counts,
    limit: Option<Limit>,
    found: Vec<Option<Run<S::State, S::Action>>>,
) -> ReportOf<S> {
    let verdicts = search.properties.iter().zip(found).map(|(property, run)| {
        let verdict = match (run, property.is_sometimes(), &limit) {
            (Some(run), true, _) => Verdict::Held { witness: Some(run) },
            (Some(run), false, _) => Verdict::Violated { run: Some(run) },
            (None, _, Some(why)) => Verdict::Unknown { covered: counts, why: why.clone() },
            (None, true, None) => Verdict::Violated { run: None },
            (None, false, None) => Verdict::Held { witness: None },
        };
        (property.name.clone(), verdict)
    });
    ReportOf::<S> {
        counts,
        verdicts: verdicts.collect(),
        limit,
        reductions: crate::Reductions::default(),
        paused: None,
    }
}
