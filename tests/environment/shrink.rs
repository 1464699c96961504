//! A short scenario in place of a long one that shows the same: without the steps that it does not need, and with smaller
//! numbers. Who shrinks is proptest, as for the scripts of `tests/differential`; what it shrinks are which changes are
//! kept, and the numbers in them.
//!
//! The last change goes first: an object goes after what was done to it, since a scenario that is refused shows nothing.

use std::{cell::RefCell, collections::BTreeMap};

use proptest::{
    bool::{Weighted, weighted},
    num::u64::BinarySearch,
    strategy::{NewTree, Strategy},
    test_runner::{Config, RngAlgorithm, TestCaseError, TestError, TestRng, TestRunner},
};
use serde_json::Value;

use crate::{
    paste,
    scenario::{Scenario, Step},
};

/// How many shorter scenarios are tried: each is played several times where it differs.
const TRIED_AT_MOST: usize = 60;

/// How many steps proptest may take: most of them only lead back to what was tried.
const STEPS_AT_MOST: u32 = 10_000;

/// Larger numbers than this mean "any", and stay.
const LARGEST: u64 = 1_000;

/// A number that begins here and goes down.
#[derive(Debug)]
struct Down(u64);

impl Strategy for Down {
    type Tree = BinarySearch;
    type Value = u64;

    fn new_tree(&self, _: &mut TestRunner) -> NewTree<Self> {
        Ok(BinarySearch::new(self.0))
    }
}

/// The shortest scenario found that differs still; the same one where it does not differ when it is played again.
pub fn smallest(scenario: &Scenario, differs: impl Fn(&Scenario) -> bool) -> Scenario {
    let parts: usize = scenario.steps.iter().map(|step| step.parts().len()).sum();
    let kept: Vec<Weighted> = vec![weighted(1.0); parts];
    let numbers: Vec<Down> = numbers(scenario).into_iter().map(Down).collect();
    let config =
        Config { failure_persistence: None, max_shrink_iters: STEPS_AT_MOST, ..Config::default() };
    let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, rng);
    let tree = (kept, numbers).new_tree(&mut runner).expect("nothing is drawn");
    let known = RefCell::new(BTreeMap::<String, bool>::new());
    let differs = |one: &Scenario| {
        let text = paste::text(one);
        if let Some(found) = known.borrow().get(&text) {
            return *found;
        }
        let found = known.borrow().len() < TRIED_AT_MOST && differs(one);
        known.borrow_mut().insert(text, found);
        found
    };
    let outcome = runner.run_one(tree, |(kept, numbers)| {
        match differs(&lessened(scenario, &kept, &numbers)) {
            true => Err(TestCaseError::fail("it differs still")),
            false => Ok(()),
        }
    });
    match outcome {
        Err(TestError::Fail(_, (kept, numbers))) => lessened(scenario, &kept, &numbers),
        _ => scenario.clone(),
    }
}

/// The numbers in a scenario, in their order.
fn numbers(scenario: &Scenario) -> Vec<u64> {
    let mut found = Vec::new();
    for step in &mut scenario.steps.clone() {
        each_number(step, &mut |number| {
            found.push(number);
            number
        });
    }
    found
}

/// A scenario with other numbers, and without the changes that are not kept; the last one comes first.
fn lessened(scenario: &Scenario, kept: &[bool], numbers: &[u64]) -> Scenario {
    let mut numbers = numbers.iter().copied();
    let mut steps = scenario.steps.clone();
    for step in &mut steps {
        each_number(step, &mut |number| numbers.next().unwrap_or(number));
    }
    let mut kept = kept.iter().rev();
    let mut is_kept = || kept.next().copied().unwrap_or(true);
    let mut left = Vec::new();
    for step in steps {
        match step {
            Step::AtOnce(mut parts) => {
                parts.retain(|_| is_kept());
                match parts.len() {
                    0 | 1 => left.extend(parts),
                    _ => left.push(Step::AtOnce(parts)),
                }
            }
            one if is_kept() => left.push(one),
            _ => {}
        }
    }
    Scenario { name: scenario.name.clone(), steps: left }
}

fn each_number(step: &mut Step, act: &mut dyn FnMut(u64) -> u64) {
    match step {
        Step::Create(_, value)
        | Step::Patch(_, value)
        | Step::MayPatch(_, value)
        | Step::Post(_, value, _)
        | Step::PatchPods(value)
        | Step::PatchSlices(value) => in_value(value, act),
        Step::End(count, code) => {
            *count = act(*count as u64) as usize;
            *code = act(u64::from(code.unsigned_abs())) as i32;
        }
        Step::ScaleSet(_, replicas) => *replicas = act(u64::from(*replicas)) as u32,
        Step::AtOnce(parts) => parts.iter_mut().for_each(|part| each_number(part, act)),
        Step::Delete(..)
        | Step::MayDelete(..)
        | Step::Expect(_)
        | Step::Bind
        | Step::Ready
        | Step::ReadyOne
        | Step::DeleteOnePod
        | Step::EvictOnePod
        | Step::RelabelOnePod(_) => {}
    }
}

fn in_value(value: &mut Value, act: &mut dyn FnMut(u64) -> u64) {
    if let Some(number) = value.as_u64().filter(|number| *number <= LARGEST) {
        *value = act(number).into();
        return;
    }
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| in_value(item, act)),
        Value::Object(fields) => fields.values_mut().for_each(|field| in_value(field, act)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use serde_json::json;

    use super::*;
    use crate::{
        generated,
        scenario::{change, image, web},
    };

    fn text(scenario: &Scenario) -> String {
        paste::text(scenario)
    }

    fn long() -> Scenario {
        let steps = vec![
            web(7, json!({"revisionHistoryLimit": 2})),
            Step::Ready,
            change(json!({"paused": true})),
            Step::AtOnce(vec![change(json!({"replicas": 8})), image("v2")]),
            Step::DeleteOnePod,
            Step::End(2, 3),
            Step::Ready,
            change(json!({"paused": false})),
        ];
        Scenario { name: "n".to_owned(), steps }
    }

    /// Whether the Deployment is made, and before anything else is done to it.
    fn is_made_first(scenario: &Scenario) -> bool {
        matches!(scenario.steps.first(), Some(Step::Create(..)))
    }

    #[test]
    fn what_is_not_needed_goes() {
        // As an arm that goes wrong where a template changes while there are five pods or more.
        let differs = |scenario: &Scenario| {
            let replicas = |step: &Step| match step {
                Step::Create(_, object) => object["spec"]["replicas"].as_u64(),
                _ => None,
            };
            is_made_first(scenario)
                && scenario.steps.iter().find_map(replicas) >= Some(5)
                && scenario.steps.iter().flat_map(Step::parts).any(Step::changes_template)
        };
        let steps = vec![web(5, json!({"revisionHistoryLimit": 0})), image("v2")];
        let expect = Scenario { name: "n".to_owned(), steps };
        assert_eq!(text(&smallest(&long(), differs)), text(&expect));
    }

    #[test]
    fn what_is_needed_at_once_stays_at_once() {
        let differs = |scenario: &Scenario| {
            is_made_first(scenario) && scenario.steps.iter().any(|step| step.parts().len() == 2)
        };
        let steps = vec![
            web(0, json!({"revisionHistoryLimit": 0})),
            Step::AtOnce(vec![change(json!({"replicas": 0})), image("v2")]),
        ];
        let expect = Scenario { name: "n".to_owned(), steps };
        assert_eq!(text(&smallest(&long(), differs)), text(&expect));
    }

    #[test]
    fn what_does_not_differ_again_stays_as_it_is() {
        assert_eq!(text(&smallest(&long(), |_| false)), text(&long()));
    }

    #[test]
    fn the_search_has_an_end() {
        for seed in 0..18 {
            let (scenario, tried) = (generated::scenario(seed), Cell::new(0));
            let found = smallest(&scenario, |one| {
                tried.set(tried.get() + 1);
                one.steps.len() > 3
            });
            assert!(tried.get() <= TRIED_AT_MOST, "{seed}: {} tried", tried.get());
            assert_eq!(found.steps.len(), 4, "{seed}");
        }
    }

    #[test]
    fn a_scenario_is_lessened_from_its_end() {
        let (scenario, all) = (long(), numbers(&long()));
        assert_eq!(all, [7, 2, 8, 2, 3]);
        let mut kept = [true; 9];
        assert_eq!(text(&lessened(&scenario, &kept, &all)), text(&scenario));
        (kept[0], kept[4]) = (false, false);
        let steps = vec![
            web(1, json!({"revisionHistoryLimit": 2})),
            Step::Ready,
            change(json!({"paused": true})),
            change(json!({"replicas": 3})),
            Step::DeleteOnePod,
            Step::End(4, 5),
            Step::Ready,
        ];
        let expect = Scenario { name: "n".to_owned(), steps };
        assert_eq!(text(&lessened(&scenario, &kept, &[1, 2, 3, 4, 5])), text(&expect));
    }
}
