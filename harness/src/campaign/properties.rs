//! Properties that the user asks for: `spec.properties`.
//!
//! They are judged on the worlds that each trial goes through, its end included, and on what follows its end for ever. A
//! violation is a finding like any other.
//!
//! **What has passed.** A trial on a fork does not see what came before. Whether the `after` of a property has held by then,
//! or its `to` is still to come, goes with the fork ([`Passed`]), and worlds that differ in it are two: exploring goes
//! through the product of worlds and properties.
//!
//! **What undisturbed runs violate** ends the campaign with the references' exit code: each trial would violate it as well,
//! and what is wrong without a disturbance needs none to be found.

mod course;
mod file;
mod judge;
mod lasso;

use cluster::World;
use oracles::{Baseline, Verdict};
use plans::Replay;
use serde::{Deserialize, Serialize};
use trace::Revision;

use crate::{
    campaign::{expression::Objects, reference::References, setup::Setup},
    config::Campaign,
    exit::{Exit, Expected},
    trial::{Start, TrialRun},
};
pub use course::{Course, Ending, State, Step};
use file::Asks;
pub use file::{LeadsTo, NeverAfter, Property, PropertySpec};
pub use judge::judge;

/// As many as a word has bits.
const PROPERTIES_MAX: usize = 64;

/// What a campaign asks for.
#[derive(Debug, Default)]
pub struct Properties {
    all: Vec<Property>,
}

/// What of the properties has happened before a world: a bit for each, in their order.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Passed(u64);

impl Properties {
    /// Reads all that the campaign names.
    ///
    /// # Errors
    /// See [`file::load`].
    pub fn load(campaign: &Campaign) -> anyhow::Result<Properties> {
        let all = file::load(campaign)?;
        if all.len() > PROPERTIES_MAX {
            let message = format!(
                "{}: spec.properties: {} properties, at most {PROPERTIES_MAX} are judged in one campaign",
                campaign.path.display(),
                all.len()
            );
            return Err(Expected::error(Exit::Usage, message));
        }
        Ok(Properties { all })
    }

    /// Those of a replay file.
    ///
    /// # Errors
    /// They are none.
    pub fn of_replay(replay: &Replay) -> Result<Properties, String> {
        let read = |value: &serde_json::Value| {
            let spec = PropertySpec::deserialize(value).map_err(|error| error.to_string())?;
            Property::of(spec)
        };
        Ok(Properties { all: replay.properties.iter().map(read).collect::<Result<_, _>>()? })
    }

    /// For the replay file of a verdict: the properties by which it may be.
    pub fn for_replay(&self, verdict: &Verdict) -> Vec<serde_json::Value> {
        let says = |property: &&Property| {
            let begins = format!("{} ", property.name());
            verdict.fingerprint.0.iter().any(|part| part.starts_with(&begins))
        };
        let spec = |one: &Property| serde_json::to_value(&one.spec).expect("plain data");
        self.all.iter().filter(says).map(spec).collect()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// The names of all expressions, in the order of [`State::truths`].
    pub fn names(&self) -> Vec<String> {
        let parts = self.all.iter().flat_map(|property| {
            let parts = property.asks.parts().iter();
            parts.map(|part| match part.split_once('.') {
                Some((_, part)) => format!("{}.{part}", property.name()),
                None => property.name().to_owned(),
            })
        });
        parts.collect()
    }

    /// The names of the properties of which something has passed.
    pub fn having_passed(&self, passed: Passed) -> impl Iterator<Item = &str> {
        let all = self.all.iter().zip(0..);
        all.filter(move |(_, at)| passed.0 >> at & 1 == 1).map(|(property, _)| property.name())
    }

    /// The course of a trial, worked out once.
    ///
    /// # Errors
    /// See [`Course::of`].
    pub fn course<'r>(&self, run: &'r TrialRun) -> Result<&'r Course, String> {
        run.course.get_or_init(|| Course::of(run, self)).as_ref().map_err(Clone::clone)
    }

    /// One verdict a property.
    pub fn verdicts(&self, setup: &Setup, run: &TrialRun, baseline: &Baseline) -> Vec<Verdict> {
        if self.is_empty() {
            return vec![];
        }
        let course = match (run.undone(), self.course(run)) {
            (Some(undone), _) => Err(undone.to_owned()),
            (None, course) => course,
        };
        let restless = |course: &&Course| course.ending == Ending::Restless;
        let lasso = course.as_ref().ok().filter(|course| restless(course));
        let lasso = lasso.and_then(|course| lasso::find(setup, run, baseline, course));
        let (mut first, before) = (0, before(run));
        let mut verdicts = Vec::new();
        for (at, property) in self.all.iter().enumerate() {
            let passed = before.0 >> at & 1 == 1;
            let judged = course.as_ref().map_err(Clone::clone);
            let judged =
                judged.and_then(|course| judge::judge(property, first, course, passed, lasso));
            verdicts.push(Verdict::of_property(property.name(), judged));
            first += property.expressions.len();
        }
        verdicts
    }

    /// What has passed when a trial comes to a revision.
    pub fn passed(&self, run: &TrialRun, revision: Revision) -> Passed {
        let course = if self.is_empty() { None } else { self.course(run).ok() };
        let Some(course) = course else { return before(run) };
        let later = course.states.partition_point(|state| state.revision <= revision);
        later.checked_sub(1).map_or(before(run), |last| course.states[last].passed)
    }

    /// What has passed behind a world, if this has before it; and the values of all expressions there.
    pub fn in_world(&self, passed: Passed, world: &World) -> (Passed, Option<Vec<bool>>) {
        let objects = world.objects().map(|(key, object)| (key.clone(), object.clone()));
        let objects: Vec<_> = if self.is_empty() { vec![] } else { objects.collect() };
        // A world in which an expression has no value is told by the trials that start on it.
        let truths = self.truths(&Objects::of(&objects));
        match truths {
            Ok(truths) => (self.through(passed, &truths), Some(truths)),
            Err(_) => (passed, None),
        }
    }

    /// The values of all expressions.
    fn truths(&self, objects: &Objects) -> Result<Vec<bool>, String> {
        if self.is_empty() {
            return Ok(vec![]);
        }
        let context = objects.context();
        let parts = self.all.iter().flat_map(|property| {
            let parts = property.expressions.iter().zip(property.asks.parts());
            parts.map(move |(expression, part)| (property, expression, part))
        });
        parts
            .map(|(property, expression, part)| {
                let told = |why| format!("property {}: {part}: {why}", property.name());
                expression.holds(&context).map_err(told)
            })
            .collect()
    }

    fn through(&self, passed: Passed, truths: &[bool]) -> Passed {
        let (mut now, mut first) = (passed.0, 0);
        for (at, property) in self.all.iter().enumerate() {
            let truth = |part: usize| truths[first + part];
            let bit = 1 << at;
            match property.asks {
                Asks::NeverAfter if truth(0) => now |= bit,
                Asks::LeadsTo if truth(1) => now &= !bit,
                Asks::LeadsTo if truth(0) => now |= bit,
                _ => {}
            }
            first += property.expressions.len();
        }
        Passed(now)
    }

    /// Looks at the undisturbed runs.
    ///
    /// # Errors
    /// One of them violates a property (exit 105), or an expression has no value in one of its worlds (exit 64).
    pub fn check_undisturbed(&self, setup: &Setup, references: &References) -> anyhow::Result<()> {
        for (number, run) in references.runs.iter().enumerate().filter(|_| !self.is_empty()) {
            if let Err(why) = self.course(run) {
                let message = format!("{}: {why}", setup.campaign.path.display());
                return Err(Expected::error(Exit::Usage, message));
            }
            let verdicts = self.verdicts(setup, run, &references.baseline);
            let Some((verdict, (steps, _))) =
                verdicts.iter().find_map(|verdict| Some((verdict, verdict.path()?)))
            else {
                continue;
            };
            let from = steps.len().saturating_sub(STEPS_TOLD);
            let steps: String = steps[from..].iter().map(|step| format!("\n  {step}")).collect();
            let message = format!("undisturbed run {number}: {}{steps}", verdict.title);
            return Err(Expected::error(Exit::References, message));
        }
        Ok(())
    }
}

/// Steps of an undisturbed run that are told, at most.
const STEPS_TOLD: usize = 10;

fn before(run: &TrialRun) -> Passed {
    match &run.spec.start {
        Start::Beginning => Passed::default(),
        Start::Fork(fork) => fork.passed,
    }
}
