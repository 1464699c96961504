//! Judges a property on the course of one trial, by the checker of models.
//!
//! A course is a system without choices: its states are positions, and each has one step, so what happened in the trial is
//! the only run. It is fair, for a trial ends where nothing has anything left to do, or where its worlds come again
//! (`lasso.rs`): controller, user and built-in controllers had their turns, and nothing disturbs any more.
//!
//! **Not on the joined graph.** States of the fork graph are worlds; what a running controller remembers is in none. A way
//! that goes along one trial to a world and along another from there may be one that no controller takes, so it convicts
//! nobody.

use std::num::NonZeroUsize;

use model::{
    Fairness, Property as Asked, Search, Verdict as Judged,
    traces::{Action, Graph, GraphSystem, State, Trace},
};
use oracles::Broken;

use super::{
    Property,
    course::{Course, Ending},
    file::Asks,
    lasso::Lasso,
};

/// What a property says of a course. `first`: where its truths begin. `passed`: its `after` held, or its `to` was still to
/// come, before the course. `lasso`: how a course goes on that never came to rest.
///
/// # Errors
/// Why nothing can be said.
pub fn judge(
    property: &Property,
    first: usize,
    course: &Course,
    passed: bool,
    lasso: Option<Lasso>,
) -> Result<Option<Broken>, String> {
    let endless = matches!(property.asks, Asks::Eventually | Asks::LeadsTo);
    let lasso = lasso.filter(|_| endless);
    if endless && lasso.is_none() && course.ending != Ending::Settled {
        return Err(match course.ending {
            Ending::Restless => "the run never came to rest, and its worlds never came again",
            _ => "the run did not come to its end",
        }
        .to_owned());
    }
    let length = lasso.map_or(course.states.len(), |lasso| lasso.end + 1);
    let graph = graph(course, length, lasso);
    let truth = |at: usize, part: usize| course.states[at].truths[first + part];
    let after = (0..length).find(|at| truth(*at, 0)).filter(|_| property.asks == Asks::NeverAfter);
    let name = property.name();
    let asked: Asked<'_, GraphSystem<'_>> = match property.asks {
        Asks::Always => Asked::always(name, move |at| truth(*at, 0)),
        Asks::NeverAfter => Asked::always(name, move |at| {
            let comes_later = passed || after.is_some_and(|after| after < *at);
            !(comes_later && truth(*at, 1))
        }),
        Asks::Eventually => Asked::eventually_always(name, move |at| truth(*at, 0)),
        Asks::LeadsTo => Asked::leads_to(
            name,
            move |at| truth(*at, 0) || passed && *at == 0,
            move |at| truth(*at, 1),
        ),
    };
    let (system, properties) = (graph.system(), [asked]);
    let fairness = [Fairness::weak("what happens", |_: &usize| true)];
    let search = Search {
        fairness: &fairness,
        threads: NonZeroUsize::MIN,
        ..Search::new(&system, &properties)
    };
    let report = search.breadth_first().map_err(|error| error.to_string())?;
    let Judged::Violated { run: Some(run) } = report.verdict(name) else { return Ok(None) };
    Ok(Some(broken(property, first, course, run)))
}

/// The course as a system, up to where it goes on as before.
fn graph(course: &Course, length: usize, lasso: Option<Lasso>) -> Graph {
    let actions = course.steps[..length - usize::from(lasso.is_none())].iter();
    let actions = actions.map(|step| Some(Action::named(step.verb))).collect();
    let states = vec![State::new(); length];
    let trace = Trace::new(states, actions, lasso.map(|lasso| lasso.back_to));
    Graph::of_trace(&trace.expect("a course has a step between each two states"))
}

/// The violation in words, with its path.
fn broken(
    property: &Property,
    first: usize,
    course: &Course,
    run: &model::Run<usize, usize>,
) -> Broken {
    let taken = &course.steps[..run.actions.len()];
    let step = |(at, step): (usize, &super::course::Step)| {
        let (before, now) = (&course.states[at].truths, &course.states[at + 1].truths);
        let changed = property.asks.parts().iter().zip(first..);
        let changed: Vec<String> = changed
            .filter(|(_, part)| before[*part] != now[*part])
            .map(|(name, part)| format!("{name} is {} now", now[part]))
            .collect();
        match changed.is_empty() {
            true => step.to_string(),
            false => format!("{step} ({})", changed.join(", ")),
        }
    };
    let steps: Vec<String> = taken.iter().enumerate().map(step).collect();
    let last = run.states.len() - 1;
    let again = run.loops_to.filter(|back| *back < last).map(|back| last - back);
    let cycle = run.loops_to.map(|back| if back < last { back } else { steps.len() });
    let at_last = match taken.last() {
        Some(step) => format!("after {}", step.noun()),
        None => "at the beginning".to_owned(),
    };
    let (how, text) = match (property.asks, again) {
        (Asks::Always, _) => ("always", format!("it does not hold {at_last}")),
        (Asks::NeverAfter, _) => {
            ("never-after", format!("what must not come any more is there {at_last}"))
        }
        (Asks::LeadsTo, None) => {
            ("leads-to, settled", "what must follow never came, and all has settled".to_owned())
        }
        (Asks::LeadsTo, Some(steps)) => (
            "leads-to, for ever",
            format!("what must follow never comes: {steps} steps come again and again"),
        ),
        (Asks::Eventually, None) => {
            ("eventually, settled", "it does not hold when all has settled".to_owned())
        }
        (Asks::Eventually, Some(steps)) => (
            "eventually, for ever",
            format!("it does not hold for good: {steps} steps come again and again"),
        ),
    };
    Broken { how, text, steps, cycle }
}

#[cfg(test)]
mod tests {
    use trace::{Cursor, Revision, Time};

    use super::*;
    use crate::campaign::properties::course::{State, Step};

    fn property(text: &str) -> Property {
        let spec = serde_saphyr::from_str(text).expect("a property");
        Property::of(spec).expect("expressions")
    }

    /// A course with these truths of a property's one or two parts.
    fn course(truths: &[&[bool]], ending: Ending) -> Course {
        let state = |truths: &&[bool]| State {
            revision: Revision(1),
            since: Time(0),
            cursor: Cursor::default(),
            up: 1,
            truths: truths.to_vec(),
            passed: Default::default(),
        };
        let steps = vec![Step::of("controller", "update"); truths.len() - 1];
        Course { states: truths.iter().map(state).collect(), steps, ending }
    }

    type Shown = Result<Option<(&'static str, usize, Option<usize>)>, String>;

    /// In which way it is broken, after how many steps, and where the endless part begins.
    fn judged(
        property: &Property,
        course: &Course,
        passed: bool,
        lasso: Option<(usize, usize)>,
    ) -> Shown {
        let lasso = lasso.map(|(back_to, end)| Lasso { end, back_to });
        let judged = judge(property, 0, course, passed, lasso)?;
        Ok(judged.map(|broken| (broken.how, broken.steps.len(), broken.cycle)))
    }

    const YES: bool = true;
    const NO: bool = false;

    #[test]
    fn what_is_to_hold_always_is_judged_in_each_world() {
        let always = property("{name: a, always: 'true'}");
        let check = |truths: &[&[bool]], expect| {
            let course = course(truths, Ending::Unknown);
            assert_eq!(judged(&always, &course, false, None), Ok(expect));
        };
        check(&[&[YES], &[YES]], None);
        check(&[&[YES], &[NO], &[YES]], Some(("always", 1, None)));
    }

    #[test]
    fn what_is_never_to_come_may_be_there_before_and_at_once() {
        let never = property("{name: a, neverAfter: {after: 'true', never: 'true'}}");
        let check = |truths: &[&[bool]], passed, expect| {
            let course = course(truths, Ending::Settled);
            assert_eq!(judged(&never, &course, passed, None), Ok(expect));
        };
        check(&[&[NO, YES], &[YES, YES], &[NO, NO]], false, None);
        check(&[&[NO, YES], &[YES, NO], &[NO, YES]], false, Some(("never-after", 2, None)));
        check(&[&[NO, NO], &[NO, YES]], true, Some(("never-after", 1, None)));
    }

    #[test]
    fn what_must_follow_is_waited_for_until_all_has_settled() {
        let leads = property("{name: a, leadsTo: {from: 'true', to: 'true'}}");
        let check = |truths: &[&[bool]], passed, expect| {
            let course = course(truths, Ending::Settled);
            assert_eq!(judged(&leads, &course, passed, None), Ok(expect));
        };
        check(&[&[YES, NO], &[NO, NO], &[NO, YES]], false, None);
        check(&[&[YES, NO], &[NO, NO]], false, Some(("leads-to, settled", 1, Some(1))));
        check(&[&[NO, NO], &[NO, NO]], true, Some(("leads-to, settled", 1, Some(1))));
        check(&[&[NO, NO], &[NO, YES]], true, None);
    }

    #[test]
    fn a_round_that_comes_again_is_the_cycle() {
        let leads = property("{name: a, leadsTo: {from: 'true', to: 'true'}}");
        let truths: &[&[bool]] = &[&[NO, NO], &[YES, NO], &[NO, NO], &[NO, NO], &[NO, NO]];
        let restless = course(truths, Ending::Restless);
        let broken = Some(("leads-to, for ever", 4, Some(2)));
        assert_eq!(judged(&leads, &restless, false, Some((2, 3))), Ok(broken));
        assert!(judged(&leads, &restless, false, None).is_err());

        let eventually = property("{name: a, eventually: 'true'}");
        let flips = course(&[&[YES], &[NO], &[YES], &[NO], &[YES]], Ending::Restless);
        let shown = judged(&eventually, &flips, false, Some((1, 2))).expect("a verdict");
        assert_eq!(shown.map(|(how, ..)| how), Some("eventually, for ever"));
        let settles = course(&[&[YES], &[NO], &[YES]], Ending::Settled);
        assert_eq!(judged(&eventually, &settles, false, None), Ok(None));
    }
}
