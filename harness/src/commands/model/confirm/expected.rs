//! What the model says of properties, held against what the real programs did.

use std::time::Duration;

use crate::campaign::{
    expression::Objects,
    properties::{
        Course, Ending as CourseEnding, Property, PropertySpec, State, Step as CourseStep, judge,
    },
};

use super::{
    file::{Expectation, ModelVerdict},
    intent::{Intent, Watch},
    play::{Ending, Played},
    story::{Story, who},
};

/// A property that can be judged.
#[derive(Debug)]
pub struct Expected {
    /// What reports call it.
    pub name: String,
    /// What the model says.
    pub model: ModelVerdict,
    asks: Asks,
}

#[derive(Debug)]
enum Asks {
    Intent(Watch),
    Property(Box<Property>),
}

/// What the real programs say of a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Judged {
    /// It held.
    Held,
    /// It was violated: how, and when if it was at one moment.
    Violated(String, Option<Duration>),
    /// Nothing can be said: why.
    Unknown(String),
}

impl Expected {
    /// Reads what a file says.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(spec: &Expectation) -> Result<Expected, String> {
        let asks = match spec.intent {
            Some(intent) => Asks::Intent(watch(intent, spec)?),
            None => {
                let property = PropertySpec {
                    name: spec.name.clone().unwrap_or_else(|| "expected".to_owned()),
                    always: spec.always.clone(),
                    eventually: spec.eventually.clone(),
                    leads_to: spec.leads_to.clone(),
                    never_after: spec.never_after.clone(),
                };
                let wrong = |why| format!("{why}; or an intent");
                Asks::Property(Box::new(Property::of(property).map_err(wrong)?))
            }
        };
        let name = match (&spec.name, &asks) {
            (Some(name), _) => name.clone(),
            (None, Asks::Intent(watch)) => watch.shown(),
            (None, Asks::Property(property)) => property.asks.parts()[0].to_owned(),
        };
        Ok(Expected { name, model: spec.model, asks })
    }

    /// Judges it. That nothing was violated proves nothing unless nothing more can come.
    pub fn judge(&self, played: &Played) -> Judged {
        let judged = match &self.asks {
            Asks::Intent(watch) => along(watch.clone(), played),
            Asks::Property(property) => {
                let judged = course(property, played)
                    .and_then(|course| judge(property, 0, &course, false, None));
                match judged {
                    Ok(None) => Judged::Held,
                    Ok(Some(broken)) => Judged::Violated(broken.text, None),
                    Err(why) => Judged::Unknown(why),
                }
            }
        };
        match (judged, &played.ending) {
            (Judged::Held, Ending::Broken(why)) => Judged::Unknown(why.clone()),
            (Judged::Held, Ending::Enough | Ending::TimeOver | Ending::Restless) => {
                Judged::Unknown("not violated so far, but they go on".to_owned())
            }
            (judged, _) => judged,
        }
    }
}

fn watch(intent: Intent, spec: &Expectation) -> Result<Watch, String> {
    let others = [spec.always.is_some(), spec.eventually.is_some()];
    let more = [spec.leads_to.is_some(), spec.never_after.is_some()];
    if others.into_iter().chain(more).any(|said| said) {
        return Err("it is an intent or an expression, not both".to_owned());
    }
    let deployment = match (&spec.deployment, intent.is_of_deployment()) {
        (Some(name), true) => match name.split_once('/') {
            Some((namespace, name)) => (namespace.to_owned(), name.to_owned()),
            None => ("default".to_owned(), name.clone()),
        },
        (None, false) => Default::default(),
        (None, true) => return Err("deployment: this intent is about one".to_owned()),
        (Some(_), false) => return Err("deployment: this intent is about none".to_owned()),
    };
    let needed = |value: Option<i64>, field: &str, of: Intent| match (value, intent == of) {
        (Some(value), true) => Ok(value),
        (None, false) => Ok(0),
        (None, true) => Err(format!("{field}: this intent needs it")),
        (Some(_), false) => Err(format!("{field}: this intent has none")),
    };
    let replicas = needed(spec.replicas, "replicas", Intent::ReplicaNumAlwaysMeetExp)?;
    let max_skew = needed(spec.max_skew, "maxSkew", Intent::PodBalanceAcrossNode)?;
    Ok(Watch::new(intent, deployment, replicas, max_skew))
}

/// Watches an intent along a run.
fn along(mut watch: Watch, played: &Played) -> Judged {
    let mut story = Story::of(&played.start);
    watch.begins(&story);
    for (at, commit) in &played.commits {
        let before = story.goes_on(commit);
        if let Some(how) = watch.saw(&story, before.as_deref(), commit) {
            return Judged::Violated(how, Some(*at));
        }
    }
    Judged::Held
}

/// The states that a run went through, and the values of the property's expressions in each.
fn course(property: &Property, played: &Played) -> Result<Course, String> {
    let mut objects = Objects::of(&played.start);
    let truths = |objects: &Objects| -> Result<Vec<bool>, String> {
        let context = objects.context();
        property.expressions.iter().map(|one| one.holds(&context)).collect()
    };
    let first = State { truths: truths(&objects)?, ..State::default() };
    let ending = match played.ending {
        Ending::Settled => CourseEnding::Settled,
        Ending::Restless => CourseEnding::Restless,
        Ending::Enough | Ending::TimeOver | Ending::Broken(_) => CourseEnding::Unknown,
    };
    let mut course = Course { states: vec![first], steps: vec![], ending };
    for (_, commit) in &played.commits {
        let step = course_step(&mut objects, commit)?;
        let truths = truths(&objects).map_err(|why| format!("{why}; after {step}"))?;
        course.states.push(State { revision: commit.revision, truths, ..State::default() });
        course.steps.push(step);
    }
    Ok(course)
}

fn course_step(objects: &mut Objects, commit: &trace::Commit) -> Result<CourseStep, String> {
    match commit.change {
        trace::Change::Deleted => objects.remove(&commit.key),
        _ => objects.set(&commit.key, &commit.object),
    }
    Ok(CourseStep::of_commit(who(&commit.actor), commit.change, commit.key.to_string()))
}
