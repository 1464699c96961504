//! Random walks: runs by steps drawn from a seed. What they come across is real; what they don't says nothing.

use crate::{
    Counts, Limit, Run, System, Verdict,
    search::{ReportOf, Search, judge, judge::Judge},
};

/// Takes runs until one is enough or all were taken.
pub fn explore<S: System>(search: &Search<'_, S>, seed: u64, runs: u64) -> ReportOf<S> {
    let mut walk = Walk {
        search,
        judge: Judge::new(search, |_| true),
        found: search.properties.iter().map(|_| None).collect(),
        counts: Counts::default(),
        limit: Limit::Sampled,
    };
    for run in 0..runs {
        if walk.limit != Limit::Sampled {
            break;
        }
        walk.run(&mut Draw(seed.wrapping_add(run.wrapping_mul(0xa076_1d64_78bd_642f))));
    }
    let mut report = judge::report(search, walk.counts, Some(walk.limit), walk.found);
    for (property, (_, verdict)) in search.properties.iter().zip(&mut report.verdicts) {
        if property.is_liveness() {
            *verdict = Verdict::Unknown { covered: walk.counts, why: Limit::NeedsGraph };
        }
    }
    report
}

struct Walk<'s, 'a, S: System> {
    search: &'s Search<'a, S>,
    judge: Judge<'s, 'a, S>,
    found: Vec<Option<Run<S::State, S::Action>>>,
    /// States are not compared: all count as different.
    counts: Counts,
    limit: Limit,
}

impl<S: System> Walk<'_, '_, S> {
    fn run(&mut self, draw: &mut Draw) {
        let system = self.search.system;
        let mut initial = system.initial();
        if initial.is_empty() {
            return;
        }
        let state = initial.swap_remove(draw.below(initial.len()));
        let mut run = Run { states: vec![state], actions: Vec::new(), loops_to: None };
        let mut actions = Vec::new();
        loop {
            let state = &run.states[run.states.len() - 1];
            self.count(run.states.len());
            let decided: Vec<_> = self.judge.state(state).collect();
            self.note(decided, &run);
            if self.is_over(run.states.len()) {
                return;
            }
            actions.clear();
            system.actions(state, &mut actions);
            let Some((action, next)) = self.draw_step(state, &mut actions, draw) else {
                let ends: Vec<_> = self.judge.end(state).collect();
                return self.note(ends, &run);
            };
            let violated: Vec<_> = self.judge.step(state, &action, &next).collect();
            run.actions.push(action);
            run.states.push(next);
            self.note(violated, &run);
            if self.limit != Limit::Sampled {
                return self.count(run.states.len());
            }
        }
    }

    fn draw_step(
        &self,
        state: &S::State,
        actions: &mut Vec<S::Action>,
        draw: &mut Draw,
    ) -> Option<(S::Action, S::State)> {
        while !actions.is_empty() {
            let action = actions.swap_remove(draw.below(actions.len()));
            if let Some(next) = self.search.system.next(state, &action) {
                return Some((action, next));
            }
        }
        None
    }

    fn count(&mut self, depth: usize) {
        self.counts.generated += 1;
        self.counts.distinct += 1;
        self.counts.depth = self.counts.depth.max(depth as u64);
    }

    fn is_over(&mut self, depth: usize) -> bool {
        let budgets = &self.search.budgets;
        if self.limit == Limit::Sampled && budgets.deadline.is_some_and(|is_up| is_up()) {
            self.limit = Limit::Deadline;
        }
        if self.limit == Limit::Sampled && self.counts.distinct >= budgets.states {
            self.limit = Limit::States;
        }
        self.limit != Limit::Sampled || depth as u64 >= budgets.depth
    }

    fn note(&mut self, indices: Vec<usize>, run: &Run<S::State, S::Action>) {
        for index in indices {
            self.found[index].get_or_insert_with(|| run.clone());
            if self.search.ends_with(index) && self.limit == Limit::Sampled {
                self.limit = Limit::Violation(self.search.properties[index].name.clone());
            }
            self.judge = Judge::new(self.search, |index| self.found[index].is_none());
        }
        if self.judge.is_done() && self.limit == Limit::Sampled {
            self.limit = Limit::Decided;
        }
    }
}

/// SplitMix64 (Steele, Lea, Flood 2014).
struct Draw(u64);

impl Draw {
    /// A number below `sides`, which is not 0.
    fn below(&mut self, sides: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        ((u128::from(mixed) * sides as u128) >> 64) as usize
    }
}
