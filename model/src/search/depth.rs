//! Depth first: each path to its end before the next one, on one thread.
//!
//! Memory holds a fingerprint for each state and the path; a run is the path itself. Nothing needs a number.

use crate::{
    Counts, Limit, Reductions, Run, System,
    search::{
        ReportOf, Search, SearchError, fingerprint::Fingerprinter, judge, judge::Judge,
        table::Table,
    },
};

/// States expanded between two looks at the deadline.
const BLOCK: u64 = 1 << 10;

/// A state on the path, and its steps in the common list.
struct Frame<State> {
    state: State,
    /// Where its steps begin.
    first: usize,
    /// The next one to take.
    next: usize,
    /// Whether one was possible.
    moved: bool,
}

struct Depth<'s, 'a, S: System> {
    search: &'s Search<'a, S>,
    judge: Judge<'s, 'a, S>,
    table: Table<()>,
    fingerprinter: Fingerprinter,
    path: Vec<Frame<S::State>>,
    /// The steps of all states of the path, one after the other.
    actions: Vec<S::Action>,
    found: Vec<Option<Run<S::State, S::Action>>>,
    counts: Counts,
    /// What the path's states keep on the heap, in bytes.
    heap: usize,
    limit: Option<Limit>,
}

/// Explores until nothing is left, a budget is reached, or what was found is enough.
pub fn explore<S: System>(search: &Search<'_, S>) -> Result<ReportOf<S>, SearchError> {
    let mut this = Depth {
        search,
        judge: Judge::new(search, |_| true),
        table: Table::new(),
        fingerprinter: Fingerprinter::default(),
        path: Vec::new(),
        actions: Vec::new(),
        found: search.properties.iter().map(|_| None).collect(),
        counts: Counts::default(),
        heap: 0,
        limit: None,
    };
    for state in search.system.initial() {
        if !this.stops() {
            this.enter(state);
            this.follow();
        }
    }
    let mut report = judge::report(search, this.counts, this.limit, this.found);
    for (property, (_, verdict)) in search.properties.iter().zip(&mut report.verdicts) {
        if property.is_liveness() {
            let why = Limit::NeedsGraph;
            *verdict = crate::Verdict::Unknown { covered: this.counts, why };
        }
    }
    report.reductions = Reductions { symmetry: search.uses_symmetry(), partial_order: false };
    Ok(report)
}

impl<S: System> Depth<'_, '_, S> {
    /// Whether the search is over. A depth budget only cuts paths.
    fn stops(&self) -> bool {
        !matches!(self.limit, None | Some(Limit::Depth))
    }

    /// Takes steps until the path is back at its beginning.
    fn follow(&mut self) {
        while !self.stops() {
            let Some(frame) = self.path.last_mut() else { return };
            let Some(action) = self.actions.get(frame.next) else {
                self.leave();
                continue;
            };
            frame.next += 1;
            let Some(next) = self.search.system.next(&frame.state, action) else { continue };
            frame.moved = true;
            let violated: Vec<_> = self.judge.step(&frame.state, action, &next).collect();
            for index in violated {
                self.note(index, Some(&next));
            }
            if !self.stops() {
                self.enter(next);
            }
        }
        // Not all of the steps were taken from the states on the path.
        self.counts.left += self.path.len() as u64;
    }

    /// Puts a state onto the path if it is new.
    fn enter(&mut self, state: S::State) {
        self.counts.generated += 1;
        let fingerprint = match self.search.uses_symmetry() {
            true => self.fingerprinter.of(&self.search.system.canonical(&state)),
            false => self.fingerprinter.of(&state),
        };
        if self.table.insert(fingerprint, (), |()| ()).is_some() {
            return;
        }
        self.counts.distinct += 1;
        self.counts.depth = self.counts.depth.max(self.path.len() as u64 + 1);
        let decided: Vec<_> = self.judge.state(&state).collect();
        for index in decided {
            self.note(index, Some(&state));
        }
        if self.path.len() as u64 + 1 >= self.search.budgets.depth {
            self.limit = self.limit.take().or(Some(Limit::Depth));
            self.counts.left += 1;
            return;
        }
        self.look_at_budgets();
        let first = self.actions.len();
        self.search.system.actions(&state, &mut self.actions);
        self.heap += self.search.system.heap_bytes(&state);
        self.path.push(Frame { state, first, next: first, moved: false });
    }

    fn leave(&mut self) {
        if self.path.last().is_some_and(|frame| !frame.moved) {
            let ends: Vec<_> = self.judge.end(&self.path[self.path.len() - 1].state).collect();
            for index in ends {
                self.note(index, None);
            }
        }
        if let Some(frame) = self.path.pop() {
            self.heap -= self.search.system.heap_bytes(&frame.state);
            self.actions.truncate(frame.first);
        }
    }

    /// Keeps the path, and one more state, as the run for property `index`.
    fn note(&mut self, index: usize, and: Option<&S::State>) {
        if self.found[index].is_some() {
            return;
        }
        let states = self.path.iter().map(|frame| &frame.state).chain(and).cloned().collect();
        let taken = self.path.iter().map(|frame| frame.next - 1);
        let taken = taken.take(self.path.len() - usize::from(and.is_none()));
        let actions = taken.map(|at| self.actions[at].clone()).collect();
        self.found[index] = Some(Run { states, actions, loops_to: None });
        if self.search.ends_with(index) {
            self.limit = Some(Limit::Violation(self.search.properties[index].name.clone()));
            return;
        }
        let judge = Judge::new(self.search, |index| self.found[index].is_none());
        if judge.is_done() && !self.stops() {
            self.limit = Some(Limit::Decided);
        }
        self.judge = judge;
    }

    fn look_at_budgets(&mut self) {
        if self.stops() {
            return;
        }
        let budgets = &self.search.budgets;
        let frames = self.path.capacity() * size_of::<Frame<S::State>>();
        let actions = self.actions.capacity() * size_of::<S::Action>();
        let bytes = self.table.bytes() + frames + actions + self.heap;
        let time_is_up = || budgets.deadline.is_some_and(|is_up| is_up());
        if self.counts.distinct >= budgets.states {
            self.limit = Some(Limit::States);
        } else if bytes >= budgets.memory_bytes {
            self.limit = Some(Limit::Memory);
        } else if self.counts.distinct.is_multiple_of(BLOCK) && time_is_up() {
            self.limit = Some(Limit::Deadline);
        }
    }
}
