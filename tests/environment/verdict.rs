//! The judgement of a scenario: played on both arms, it comes to the same states in the same ways, or what differs, and
//! the shortest script found that still does.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicUsize, Ordering},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use trommel_tests::real::Access;

use crate::{
    arm::{Arm, Embedded, PATIENCE, Real},
    ends::{self, Ends},
    form, paste, play, scalers,
    scenario::{Scenario, Step},
    sequences, shrink,
    watched::{self, TYPES, Watched},
};

/// How often a scenario is played at most until the real controllers come to the same end.
const ATTEMPTS: u32 = 3;

/// How long the real controllers get where a difference is only made shorter; what comes of it is confirmed with all
/// patience.
const HURRY: Duration = Duration::from_secs(10);

/// How many scenarios a run shrinks: each takes some minutes, and the first ones tell most.
const SHRUNK_AT_MOST: usize = 3;

/// Where the states are equal and the ways are not: how long it is waited for something to happen.
const STILLNESS: Duration = Duration::from_secs(10);

/// How a scenario went.
pub struct Played {
    /// Of what kind it is: its name up to a number.
    pub kind: String,
    /// How often it was played.
    pub attempts: u32,
    /// What differed, or what was refused, where no attempt agreed.
    pub different: Option<String>,
}

/// How many of each kind there were, and how many agreed when.
pub fn tally(played: &[Played]) -> String {
    let mut kinds: BTreeMap<&str, [usize; 3]> = BTreeMap::new();
    for one in played {
        let counts = kinds.entry(&one.kind).or_default();
        counts[0] += 1;
        counts[1] += usize::from(one.attempts == 1);
        counts[2] += usize::from(one.different.is_some());
    }
    let lines = kinds.iter().map(|(kind, [all, first, different])| {
        format!("{kind}: {all} played, {first} agreed at the first attempt, {different} differ")
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// What was done up to a step, for whoever wants to know why it differs.
pub fn script(scenario: &Scenario, last: usize) -> String {
    let steps = scenario.steps.iter().take(last + 1).enumerate();
    let steps = steps.map(|(number, step)| match step {
        Step::Create(path, object) => format!("  {number}: create {path} {object}"),
        Step::Patch(path, patch) | Step::MayPatch(path, patch) => {
            format!("  {number}: patch {path} {patch}")
        }
        other => format!("  {number}: {other:?}"),
    });
    format!("{}\n{}", scenario.name, steps.collect::<Vec<String>>().join("\n"))
}

/// What a scenario came to.
enum Outcome {
    Agrees,
    /// At this step, in these words.
    Differs(usize, String),
    /// Something that must succeed did not.
    Refused(String),
}

/// Who plays scenarios, one after the other.
pub struct Judge<'a> {
    access: &'a Access,
    real: Real,
    watched: &'a Watched,
    /// How many scenarios were shrunk in this run.
    shrunk: &'a AtomicUsize,
}

impl<'a> Judge<'a> {
    pub fn new(access: &'a Access, watched: &'a Watched, shrunk: &'a AtomicUsize) -> Judge<'a> {
        Judge { access, real: Real::new(access, PATIENCE), watched, shrunk }
    }

    /// What differs, or what was refused, and for a scenario that was drawn a shorter one. Real controllers run side by
    /// side, and some ends are a matter of chance: ours has to be one of those that they come to, and a scenario whose
    /// first end was another one says so.
    pub fn told(&self, scenario: &Scenario) -> Played {
        let kind = scenario.name.trim_end_matches(|c: char| c.is_ascii_digit()).to_owned();
        let (attempts, outcome) = self.attempted(scenario);
        let different = match outcome {
            Outcome::Agrees => None,
            Outcome::Refused(found) => Some(found),
            Outcome::Differs(step, found) if scenario.name.starts_with("generated-") => {
                Some(format!("{found}\n{}", self.shorter(scenario, step)))
            }
            Outcome::Differs(_, found) => Some(found),
        };
        Played { kind, attempts, different }
    }

    /// How often a scenario was played until it agreed, or what came out first.
    fn attempted(&self, scenario: &Scenario) -> (u32, Outcome) {
        let (mut first, mut attempts) = (None, 0);
        while attempts < ATTEMPTS {
            attempts += 1;
            let name = match attempts {
                1 => scenario.name.clone(),
                _ => format!("{}-again-{attempts}", scenario.name),
            };
            let outcome = self.once(&Scenario { name, ..scenario.clone() });
            if let Outcome::Differs(_, found) | Outcome::Refused(found) = &outcome {
                println!("attempt {attempts} of {ATTEMPTS}: {found}");
            } else {
                return (attempts, outcome);
            }
            first.get_or_insert(outcome);
        }
        (attempts, first.unwrap_or(Outcome::Agrees))
    }

    fn once(&self, scenario: &Scenario) -> Outcome {
        let compared = std::panic::AssertUnwindSafe(|| self.compare(scenario));
        let refused = |_| Outcome::Refused(format!("{}: refused, see above", scenario.name));
        let outcome = std::panic::catch_unwind(compared).unwrap_or_else(refused);
        self.watched.forget(&scenario.name);
        if !matches!(outcome, Outcome::Agrees) {
            self.remove_nodes(&scenario.name);
        }
        outcome
    }

    /// Nodes that a scenario left behind when it came to no end: the next attempt would count them too.
    fn remove_nodes(&self, name: &str) {
        const NODES: &str = "/api/v1/nodes";
        let (_, all) = self.real.send("GET", NODES, None);
        let names = all["items"].as_array().into_iter().flatten();
        let names = names.filter_map(|node| node["metadata"]["name"].as_str());
        for node in names.filter(|node| node.starts_with(&format!("{name}-"))) {
            self.real.send("DELETE", &format!("{NODES}/{node}"), None);
        }
    }

    /// The shortest script found that differs as this scenario does up to this step, to be kept with those by hand.
    fn shorter(&self, scenario: &Scenario, last: usize) -> String {
        if self.shrunk.fetch_add(1, Ordering::Relaxed) >= SHRUNK_AT_MOST {
            return format!("not shrunk: {SHRUNK_AT_MOST} others were");
        }
        let steps = scenario.steps.iter().take(last + 1).cloned().collect();
        let whole = Scenario { name: scenario.name.clone(), steps };
        let tried = AtomicUsize::new(0);
        let named = |one: &Scenario| {
            let name = format!("{}-less-{}", one.name, tried.fetch_add(1, Ordering::Relaxed));
            Scenario { name, ..one.clone() }
        };
        let hurried = Judge { real: Real::new(self.access, HURRY), ..*self };
        let differs =
            |one: &Scenario| matches!(hurried.attempted(&named(one)).1, Outcome::Differs(..));
        let found = shrink::smallest(&whole, differs);
        let script = paste::text(&found);
        match self.attempted(&named(&found)).1 {
            Outcome::Differs(_, why) => format!("shrunk to\n{script}\n{why}"),
            _ => format!(
                "shrunk to a script that differs only in a hurry:\n{script}\nthe whole:\n{}",
                paste::text(&whole)
            ),
        }
    }

    /// Plays a scenario on both arms; what differs at the first step where they don't agree. Where the end depends on
    /// chance upstream (`ends.rs`), the real one must come to one of all ends, in one of the ways to it, and goes on
    /// from it.
    fn compare(&self, scenario: &Scenario) -> Outcome {
        let first = if scenario.tells() { Embedded::telling() } else { Embedded::new() };
        let mut worlds = vec![first];
        for arm in [&worlds[0] as &dyn Arm, &self.real] {
            arm.make_namespace(&scenario.name);
            scalers::serve_metrics(arm, scenario);
        }
        let mut in_every_way = true;
        for (number, step) in scenario.steps.iter().enumerate() {
            let differs = |what: String| {
                Outcome::Differs(number, format!("{}\n{what}", script(scenario, number)))
            };
            worlds = match self.answered(scenario, step, worlds) {
                Ok(worlds) => worlds,
                Err(what) => return differs(what),
            };
            let ends: Vec<Ends> = worlds.iter().map(|world| ends::all(scenario, world)).collect();
            in_every_way &= ends.iter().all(|ends| ends.in_every_way);
            worlds = ends.into_iter().flat_map(|ends| ends.worlds).collect();
            worlds = ends::distinct(&scenario.name, worlds);
            let come = self.come_to_rest(scenario, number, worlds);
            let come = match come {
                Ok(worlds) if in_every_way => self.came_in_order(scenario, worlds),
                other => other,
            };
            worlds = match come {
                Ok(worlds) => worlds,
                Err(what) => return differs(what),
            };
        }
        Outcome::Agrees
    }

    /// Takes a step on both arms: the worlds that answered as the real one did.
    fn answered(
        &self,
        scenario: &Scenario,
        step: &Step,
        worlds: Vec<Embedded>,
    ) -> Result<Vec<Embedded>, String> {
        let name = &scenario.name;
        let (last, before) = step.parts().split_last().expect("a step has parts");
        let mut worlds: Vec<Embedded> =
            worlds.into_iter().flat_map(|world| ends::between(name, world, before)).collect();
        let ours: Vec<Option<u16>> = worlds.iter().map(|world| play(world, name, last)).collect();
        if step.changes_template() {
            self.real.grow_older();
        }
        let theirs = play(&self.real, name, step);
        if !ours.contains(&theirs) {
            return Err(format!("  embedded {ours:?}\n  real     {theirs:?}"));
        }
        let mut answered = ours.iter();
        worlds.retain(|_| answered.next() == Some(&theirs));
        Ok(worlds)
    }

    /// Waits until the real one is where one of these worlds is: the worlds that are there.
    fn come_to_rest(
        &self,
        scenario: &Scenario,
        number: usize,
        mut worlds: Vec<Embedded>,
    ) -> Result<Vec<Embedded>, String> {
        let more = form::more(scenario);
        let state = |arm: &dyn Arm| form::of(arm, &scenario.name, &more);
        let states: Vec<Value> = worlds.iter().map(|world| state(world)).collect();
        let end = self.real.comes_to(&states, &state).map_err(|found| one_of(&states, &found))?;
        if end != states[0] {
            println!("{} {number}: an end of another order", scenario.name);
        }
        let mut states = states.iter();
        worlds.retain(|_| states.next() == Some(&end));
        Ok(worlds)
    }

    /// Looks at the way that the real one has come: the worlds that have come in the same way.
    fn came_in_order(
        &self,
        scenario: &Scenario,
        mut worlds: Vec<Embedded>,
    ) -> Result<Vec<Embedded>, String> {
        let name = &scenario.name;
        let way = |world: &Embedded| sequences::of(&watched::in_embedded(world, &TYPES, name));
        let ways: Vec<Value> = worlds.iter().map(way).collect();
        let found = self.way(name, &ways).map_err(|found| {
            format!("  the same state, but on the way\n{}", one_of(&ways, &found))
        })?;
        let mut ways = ways.iter();
        worlds.retain(|_| ways.next() == Some(&found));
        Ok(worlds)
    }

    /// Waits until the way that the real one has come is one of those that are expected; which. Something may still
    /// happen that leads back to the same state. Errors: what it is when patience is over, or nothing happens any more.
    fn way(&self, namespace: &str, expect: &[Value]) -> Result<Value, Value> {
        let (began, mut last) = (Instant::now(), (Instant::now(), 0));
        let mut found = json!("its watches have not told all of it");
        while began.elapsed() <= self.real.patience && last.0.elapsed() <= STILLNESS {
            if let Some(happened) = self.watched.until_now(&self.real, namespace) {
                found = sequences::of(&happened);
                if expect.contains(&found) {
                    return Ok(found);
                }
                if happened.len() != last.1 {
                    last = (Instant::now(), happened.len());
                }
            }
            self.real.pause();
        }
        Err(found)
    }
}

/// What differs from each of those that are expected.
fn one_of(expect: &[Value], found: &Value) -> String {
    let differences: Vec<String> =
        expect.iter().map(|expect| form::difference(expect, found)).collect();
    differences.join("\n  or\n")
}
