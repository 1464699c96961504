//! Runs, made again by running the system along the numbers of the states on the way.

use crate::{
    Run, System,
    search::{
        Search, SearchError,
        fingerprint::{Fingerprint, Fingerprinter},
        judge::Spot,
        lasso::Lasso,
        table::Table,
        tree::Tree,
    },
};

type RunOf<S> = Run<<S as System>::State, <S as System>::Action>;

/// Makes runs of what a breadth first search has kept.
pub struct Rebuild<'s, 'a, S: System> {
    pub search: &'s Search<'a, S>,
    pub table: &'s Table<u32>,
    pub tree: &'s Tree,
}

impl<S: System> Rebuild<'_, '_, S> {
    /// A shortest run to `spot`, where something was found for property `index`.
    pub fn run(&self, spot: Spot, index: usize) -> Result<RunOf<S>, SearchError> {
        let mut run = self.run_to(spot.state)?;
        if let Some(step) = spot.step {
            self.add_step(&mut run, step, index)?;
        }
        Ok(run)
    }

    /// The run along `lasso`, whose numbers of steps count possible ones only.
    pub fn lasso(&self, lasso: &Lasso) -> Result<RunOf<S>, SearchError> {
        let mut run = self.run_to(lasso.from)?;
        for (_, nth) in &lasso.steps {
            let step = self.steps(last(&run)).nth(*nth);
            let (action, next) = step.expect("the graph has an edge for each possible step");
            run.actions.push(action);
            run.states.push(next);
        }
        run.loops_to = Some(lasso.cycle);
        Ok(run)
    }

    fn run_to(&self, state: u32) -> Result<RunOf<S>, SearchError> {
        let mut way = vec![state];
        while let Some(parent) = self.tree.parent(way[way.len() - 1]) {
            way.push(parent);
        }
        let is =
            |number: u32, state: &S::State| self.table.get(self.fingerprint(state)) == Some(number);
        let first = way[way.len() - 1];
        let initial = self.search.system.initial().into_iter().find(|state| is(first, state));
        let initial = initial.ok_or(SearchError::NoAutomorphism)?;
        let mut run = Run { states: vec![initial], actions: Vec::new(), loops_to: None };
        for number in way.into_iter().rev().skip(1) {
            let step = self.steps(last(&run)).find(|(_, next)| is(number, next));
            let (action, next) = step.ok_or(SearchError::NoAutomorphism)?;
            run.actions.push(action);
            run.states.push(next);
        }
        Ok(run)
    }

    /// Adds the step in which something was found. It was numbered in the canonical state, so with symmetry the step
    /// that does the same in the run's last state is looked for.
    fn add_step(&self, run: &mut RunOf<S>, step: u32, index: usize) -> Result<(), SearchError> {
        let (system, property) = (self.search.system, &self.search.properties[index]);
        let state = last(run);
        let canonical = match self.search.uses_symmetry() {
            true => system.canonical(state),
            false => state.clone(),
        };
        let mut actions = Vec::new();
        system.actions(&canonical, &mut actions);
        let next = actions.get(step as usize).and_then(|action| system.next(&canonical, action));
        let wanted = self.fingerprint(&next.ok_or(SearchError::NoAutomorphism)?);
        let (action, next) = self
            .steps(state)
            .find(|(action, next)| {
                self.fingerprint(next) == wanted
                    && (!property.is_of_steps() || property.violated_by(state, action, next))
            })
            .ok_or(SearchError::NoAutomorphism)?;
        run.actions.push(action);
        run.states.push(next);
        Ok(())
    }

    fn steps<'r>(
        &'r self,
        state: &'r S::State,
    ) -> impl Iterator<Item = (S::Action, S::State)> + 'r {
        let mut actions = Vec::new();
        self.search.system.actions(state, &mut actions);
        actions.into_iter().filter_map(|action| {
            let next = self.search.system.next(state, &action)?;
            Some((action, next))
        })
    }

    fn fingerprint(&self, state: &S::State) -> Fingerprint {
        let mut fingerprinter = Fingerprinter::default();
        match self.search.uses_symmetry() {
            true => fingerprinter.of(&self.search.system.canonical(state)),
            false => fingerprinter.of(state),
        }
    }
}

fn last<State, Action>(run: &Run<State, Action>) -> &State {
    run.states.last().expect("a run has an initial state")
}
