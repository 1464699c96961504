//! What comes first: one order over the plans of all families.
//!
//! A budget ends most campaigns, so whatever comes after it does not exist. The order is, from the first to the last:
//!
//! 1. Plans of one perturbation come before plans of two.
//! 2. Each family, and whatever else makes plans, has its turn ([`Turns::begun`]).
//! 3. New classes come coarse first (`frontier.rs`); those that only ages tell apart come after all others.
//! 4. What is likely to matter comes first ([`plans::Likelihood`]).
//! 5. Steps of the workload and types have their turn ([`Spot`]): otherwise a budget is spent on the first seconds of the
//!    workload, of which a run tells most.
//! 6. Simpler plans come first, then those that were found first.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, HashMap},
};

use plans::{Family, Heuristics, Likelihood, Moment, Perturbation, Plan, plan::Weight};
use trace::Cursor;

/// Where, and on which type, a plan's last perturbation acts.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Spot {
    family: Option<Family>,
    operation: u32,
    resource: String,
}

/// What the order of a plan goes by, whatever else was begun.
#[derive(Debug, Clone)]
pub struct Score {
    /// Simpler plans are less; the number of perturbations counts first.
    pub weight: Weight,
    /// How likely its last perturbation is to matter.
    pub likelihood: Likelihood,
    /// Where it acts.
    pub spot: Spot,
}

impl Score {
    /// Of a plan whose last perturbation begins with the workload at this position.
    pub fn of(plan: &Plan, cursor: Cursor, heuristics: &Heuristics) -> Score {
        let last = plan.perturbations.last();
        Score {
            weight: plan.weight(),
            likelihood: last.map_or(Likelihood::Medium, |last| heuristics.likelihood(last)),
            spot: Spot {
                family: plan.family(),
                operation: cursor.operation,
                resource: last.map_or_else(String::new, resource),
            },
        }
    }

    /// Of a run of a model: somebody asked for it, so that it comes first.
    pub fn of_model(plan: &Plan) -> Score {
        let spot = Spot { family: plan.family(), operation: 0, resource: String::new() };
        Score { weight: Weight::default(), likelihood: Likelihood::High, spot }
    }
}

/// The type that a perturbation is about; empty where it is about all, or none.
fn resource(perturbation: &Perturbation) -> String {
    let resource = match perturbation {
        Perturbation::Crash(crash) => match &crash.at {
            Moment::Committed { call, .. } => Some(&call.resource),
            Moment::Request { request, .. } => Some(&request.resource),
            Moment::Environment { write, .. } => Some(&write.resource),
            Moment::Delivery { event } => Some(&event.change.resource),
            Moment::Step { .. } | Moment::Settled => None,
        },
        Perturbation::StaleState(stale) => stale.behind.resource.as_ref(),
        Perturbation::UnobservedState(unobserved) => Some(&unobserved.until.change.resource),
    };
    resource.map(ToString::to_string).unwrap_or_default()
}

/// What trials come from, each of which has its turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// Worlds behind perturbations of a family.
    Worlds(Family),
    /// Plans that are carried out from the beginning.
    Beginning,
    /// Restarts when all has settled.
    Ends,
    /// States that are never seen after a restart.
    AfterRestarts,
}

/// What was begun so far.
#[derive(Debug, Clone, Default)]
pub struct Turns {
    begun: BTreeMap<Source, u64>,
    spots: HashMap<Spot, u64>,
}

impl Turns {
    /// How often this source had its turn.
    pub fn begun(&self, source: Source) -> u64 {
        self.begun.get(&source).copied().unwrap_or(0)
    }

    /// How often plans were begun there.
    pub fn visits(&self, spot: &Spot) -> u64 {
        self.spots.get(spot).copied().unwrap_or(0)
    }

    /// A source has its turn.
    pub fn begin(&mut self, source: Source) {
        *self.begun.entry(source).or_default() += 1;
    }

    /// A plan is begun there.
    pub fn visit(&mut self, spot: &Spot) {
        *self.spots.entry(spot.clone()).or_default() += 1;
    }
}

/// Plans that are no world's.
pub struct Queue<P> {
    waiting: Vec<Queued<P>>,
    /// Put in so far.
    put: usize,
}

impl<P> Default for Queue<P> {
    fn default() -> Queue<P> {
        Queue { waiting: vec![], put: 0 }
    }
}

struct Queued<P> {
    what: P,
    repeat: u64,
    score: Score,
    at: usize,
}

impl<P> Queue<P> {
    /// Puts a plan in.
    pub fn put(&mut self, what: P, repeat: u64, score: Score) {
        let at = self.put;
        self.put += 1;
        self.waiting.push(Queued { what, repeat, score, at });
    }

    /// How many wait.
    pub fn len(&self) -> usize {
        self.waiting.len()
    }

    /// Leaves out those of which `keep` says no.
    pub fn retain(&mut self, mut keep: impl FnMut(&P) -> bool) {
        self.waiting.retain(|queued| keep(&queued.what));
    }

    /// Perturbations of the next one.
    pub fn depth(&self, turns: &Turns) -> Option<usize> {
        self.first(turns).map(|at| self.waiting[at].score.weight.perturbations)
    }

    /// Takes the next one, and which repeat of it. A plan is repeated once all others of its depth had their first trial.
    pub fn take(&mut self, turns: &mut Turns) -> Option<(P, u64)> {
        let next = self.waiting.swap_remove(self.first(turns)?);
        turns.visit(&next.score.spot);
        Some((next.what, next.repeat))
    }

    fn first(&self, turns: &Turns) -> Option<usize> {
        let order = |one: &Queued<P>| {
            let Score { weight, likelihood, spot } = &one.score;
            let visits = turns.visits(spot);
            (weight.perturbations, one.repeat, *likelihood, visits, *weight, one.at)
        };
        (0..self.waiting.len()).min_by_key(|at| order(&self.waiting[*at]))
    }
}

/// Which source has its turn: of those whose next plan has the fewest perturbations, the one that had fewest turns.
pub fn next_source(
    sources: impl IntoIterator<Item = (Source, Depth)>,
    turns: &Turns,
) -> Option<Source> {
    let order =
        |(source, depth): &(Source, Depth)| (*depth, turns.begun(*source), Reverse(*source));
    sources.into_iter().min_by_key(order).map(|(source, _)| source)
}

/// How deep the next plan of a source is. Worlds that only the finest level tells apart from others come last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Depth {
    /// So many perturbations.
    Coarse(usize),
    /// So many, and only ages tell its world apart from others.
    Fine(usize),
    /// No matter how many.
    Exact,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn score(operation: u32, likelihood: Likelihood, perturbations: usize) -> Score {
        let spot = Spot { family: None, operation, resource: String::new() };
        Score { weight: Weight { perturbations, ..Weight::default() }, likelihood, spot }
    }

    #[test]
    fn a_queue_spreads_what_is_likely_over_the_workload() {
        use Likelihood::{High, Low, Medium};
        let mut queue = Queue::default();
        for (what, operation, likelihood, depth) in [
            ("early 1", 1, Medium, 1),
            ("early 2", 1, Medium, 1),
            ("status", 2, Low, 1),
            ("two", 1, High, 2),
            ("late", 7, Medium, 1),
            ("likely", 1, High, 1),
        ] {
            queue.put(what, 0, score(operation, likelihood, depth));
        }
        queue.put("likely again", 1, score(1, High, 1));
        let mut turns = Turns::default();
        let order: Vec<&str> =
            std::iter::from_fn(|| queue.take(&mut turns).map(|(what, _)| what)).collect();
        assert_eq!(
            order,
            ["likely", "late", "early 1", "early 2", "status", "likely again", "two"]
        );
    }

    #[test]
    fn sources_take_turns_at_the_least_depth() {
        let mut turns = Turns::default();
        let mut next = |sources: &[(Source, Depth)]| {
            let next = next_source(sources.iter().copied(), &turns).expect("one");
            turns.begin(next);
            next
        };
        let crashes = Source::Worlds(Family::IntermediateState);
        let both = [(crashes, Depth::Coarse(1)), (Source::Beginning, Depth::Coarse(1))];
        let taken = [next(&both), next(&both), next(&both), next(&both)];
        assert_eq!(taken.iter().filter(|source| **source == crashes).count(), 2);
        assert_eq!(
            next(&[(crashes, Depth::Exact), (Source::Ends, Depth::Coarse(2))]),
            Source::Ends
        );
        assert_eq!(next(&[(crashes, Depth::Coarse(1)), (Source::Ends, Depth::Coarse(2))]), crashes);
    }
}
