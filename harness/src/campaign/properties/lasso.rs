//! How a trial goes on that never came to rest: the worlds that come again.
//!
//! Worlds are the same here as at the level `age`: objects get older from round to round, by which few controllers go. The
//! values of all expressions are the same as well.

use std::collections::HashMap;

use oracles::Baseline;
use trace::{Level, Revision, identity::Identity};

use super::course::Course;
use crate::{
    campaign::{identities::Identities, setup::Setup},
    trial::TrialRun,
};

/// A course without an end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Lasso {
    /// The last of its states.
    pub end: usize,
    /// The state that follows the last one.
    pub back_to: usize,
}

/// The lasso of a course that was stopped; none if its worlds do not come again, or nobody kept them.
pub fn find(setup: &Setup, run: &TrialRun, baseline: &Baseline, course: &Course) -> Option<Lasso> {
    let server = run.server.as_ref()?;
    let footprint = Default::default();
    let identities = Identities {
        workload: &setup.workload,
        heartbeats: &setup.heartbeats,
        random_payloads: &baseline.random_payloads,
        changing_payloads: &baseline.changing_payloads,
        masks: &baseline.masks,
        drawn_names: setup.drawn_names.get(),
        footprint: &footprint,
        cached: &[],
        lasts: 0,
        passed: Default::default(),
    };
    let mut worlds: HashMap<Revision, Identity> = HashMap::new();
    let mut keys = Vec::new();
    for state in &course.states {
        let world = match worlds.get(&state.revision) {
            Some(known) => *known,
            None => {
                let world = server.world_at(state.revision)?;
                let identity = identities.at_level(&world, state.cursor, Level::Age);
                worlds.insert(state.revision, identity);
                identity
            }
        };
        keys.push((world, state.cursor, state.up, &state.truths));
    }
    of(&keys)
}

/// The shortest lasso whose round was gone twice at the end.
fn of<K: PartialEq>(keys: &[K]) -> Option<Lasso> {
    let last = keys.len().checked_sub(1)?;
    let before = keys[..last].iter().rposition(|key| *key == keys[last])?;
    let round = last - before;
    let again = (0..=before).rev().take_while(|at| keys[*at] == keys[at + round]).last()?;
    (before + 1 - again >= round).then_some(Lasso { end: again + round - 1, back_to: again })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_comes_again_does_so_at_the_end() {
        let check = |keys: &str, expect: Option<(usize, usize)>| {
            let found = of(keys.as_bytes()).map(|lasso| (lasso.back_to, lasso.end));
            assert_eq!(found, expect, "{keys}");
        };
        check("", None);
        check("abc", None);
        check("abab", Some((0, 1)));
        check("xyabab", Some((2, 3)));
        check("xyababa", Some((2, 3)));
        check("xyabcabcab", Some((2, 4)));
        check("abcaxbcab", None);
        check("aba", None);
    }
}
