//! Stage files, read and checked.

use std::{collections::BTreeMap, fmt, time::Duration};

use serde::de::IgnoredAny;
use serde_json::Value;
use serde_saphyr::Spanned;
use trace::{GroupResource, Time};

use crate::{
    chance::Chance,
    file::{Delay, ExpressionFrom, MatchExpression, Next, PatchSpec, StageFile, StageSpec},
    query::Query,
    selector::{Operator, Requirement, Selector},
    stage::{self, Stage, WEIGHT_LIMIT, Wait},
    steps::{self, Action, Event, PatchKind, Step, Surroundings},
    template::Template,
};

/// Something is wrong with a stage file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{path}:{line}:{column}: {message}")]
pub struct StageError {
    /// The file, as it was named.
    pub path: String,
    /// From 1.
    pub line: u64,
    /// From 1.
    pub column: u64,
    /// What, and what to do.
    pub message: String,
}

/// The stages of pods and nodes.
#[derive(Default)]
pub struct Stages {
    by_type: BTreeMap<GroupResource, Vec<Stage>>,
}

impl fmt::Debug for Stages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.by_type.iter().map(|(of, stages)| {
            (of.to_string(), stages.iter().map(|stage| &stage.name).collect::<Vec<_>>())
        });
        f.debug_map().entries(names).finish()
    }
}

impl Stages {
    /// Reads files: their names, and their texts of one document or several. Stages come in this order.
    ///
    /// # Errors
    /// The first thing that is wrong with one.
    pub fn read<'a>(
        files: impl IntoIterator<Item = (&'a str, &'a str)>,
    ) -> Result<Stages, StageError> {
        let mut stages = Stages::default();
        for (path, text) in files {
            let place = Place { path };
            let read: Vec<StageFile> = serde_saphyr::from_multiple(text).map_err(|error| {
                let (line, column) = error.location().map_or((1, 1), |at| (at.line(), at.column()));
                place.at(line, column, error.without_snippet().to_string())
            })?;
            if read.is_empty() {
                return Err(place.at(1, 1, "it has no stage".to_owned()));
            }
            for file in &read {
                let (of, stage) = place.stage(file)?;
                stages.by_type.entry(of).or_default().push(stage);
            }
        }
        Ok(stages)
    }

    /// Puts others' stages in for the types that have none of their own, as kwok does with its own.
    #[must_use]
    pub fn or(mut self, others: Stages) -> Stages {
        for (of, stages) in others.by_type {
            self.by_type.entry(of).or_insert(stages);
        }
        self
    }

    /// Whether objects of this type have stages.
    pub fn cover(&self, resource: &GroupResource) -> bool {
        self.by_type.contains_key(resource)
    }

    fn of(&self, resource: &GroupResource) -> &[Stage] {
        self.by_type.get(resource).map_or(&[], |stages| stages)
    }

    /// The name of a stage.
    pub fn name(&self, resource: &GroupResource, stage: usize) -> &str {
        self.of(resource).get(stage).map_or("", |stage| &stage.name)
    }

    /// The stage that an object comes to, and after how long. None: it stays as it is.
    pub fn choose(
        &self,
        resource: &GroupResource,
        object: &Value,
        now: Time,
        chance: &dyn Fn() -> Chance,
    ) -> Option<(usize, Duration)> {
        stage::choose(self.of(resource), object, now, chance)
    }

    /// What a stage does with an object, in order; an action that is refused ends it.
    ///
    /// # Errors
    /// Why a template fails on this object.
    pub fn actions(
        &self,
        resource: &GroupResource,
        stage: usize,
        object: &Value,
        around: &mut dyn Surroundings,
    ) -> Result<Vec<Action>, String> {
        let Some(stage) = self.of(resource).get(stage) else { return Ok(vec![]) };
        let failed = |error| format!("stage {}: {error}", stage.name);
        steps::actions(&stage.steps, object, around).map_err(failed)
    }
}

/// The type of Pods.
pub fn pods() -> GroupResource {
    GroupResource::new("", "pods")
}

/// The type of Nodes.
pub fn nodes() -> GroupResource {
    GroupResource::new("", "nodes")
}

/// Makes stages of what a file says.
struct Place<'a> {
    path: &'a str,
}

impl Place<'_> {
    fn at(&self, line: u64, column: u64, message: String) -> StageError {
        StageError { path: self.path.to_owned(), line, column, message }
    }

    fn wrong<T>(&self, about: &Spanned<T>, message: impl fmt::Display) -> StageError {
        self.at(about.referenced.line(), about.referenced.column(), message.to_string())
    }

    /// Errors: the key is there.
    fn absent(&self, key: &Option<Spanned<IgnoredAny>>, message: &str) -> Result<(), StageError> {
        key.as_ref().map_or(Ok(()), |key| Err(self.wrong(key, message)))
    }

    fn stage(&self, file: &StageFile) -> Result<(GroupResource, Stage), StageError> {
        if file.api_version.value != "kwok.x-k8s.io/v1alpha1" || file.kind.value != "Stage" {
            let message = "it is no Stage: write apiVersion: kwok.x-k8s.io/v1alpha1 and kind: Stage, and keep other \
                           objects in other files";
            return Err(self.wrong(&file.kind, message));
        }
        let spec = &file.spec.value;
        let of = match (&*spec.resource_ref.api_group.value, &*spec.resource_ref.kind.value) {
            ("v1", "Pod") => pods(),
            ("v1", "Node") => nodes(),
            (group, kind) => {
                let message = format!(
                    "there are stages of Pods and Nodes (apiGroup v1) only, not of {group} {kind}"
                );
                return Err(self.wrong(&spec.resource_ref.kind, message));
            }
        };
        let Some(selector) = &spec.selector else {
            let message = "it has no selector, so it would never be played: say `selector: {}` for all objects";
            return Err(self.wrong(&file.spec, message));
        };
        if !(0..=WEIGHT_LIMIT).contains(&spec.weight) {
            return Err(self.wrong(&file.spec, format!("weight: from 0 to {WEIGHT_LIMIT}")));
        }
        let expressions = selector.match_expressions.iter();
        let selector = Selector {
            labels: selector.match_labels.clone(),
            annotations: selector.match_annotations.clone(),
            expressions: expressions
                .map(|expression| self.requirement(expression, &file.spec))
                .collect::<Result<_, _>>()?,
        };
        let stage = Stage {
            name: file.metadata.name.clone(),
            selector,
            weight: spec.weight,
            weight_from: self.from(spec.weight_from.as_ref())?,
            delay: spec.delay.as_ref().map(|delay| self.delay(delay)).transpose()?,
            steps: self.steps(spec, &file.spec)?,
        };
        Ok((of, stage))
    }

    fn requirement(
        &self,
        expression: &MatchExpression,
        spec: &Spanned<StageSpec>,
    ) -> Result<Requirement, StageError> {
        self.absent(&expression.cel, NO_CEL)?;
        let (key, operator, values) = match (&expression.jq, &expression.key, &expression.operator)
        {
            (Some(jq), _, _) => (&jq.key, &jq.operator, &jq.values),
            (None, Some(key), Some(operator)) => (key, operator, &expression.values),
            (None, Some(key), None) => return Err(self.wrong(key, "it has no operator")),
            _ => return Err(self.wrong(spec, "an expression of its selector has no key")),
        };
        let wrong = |message| self.wrong(operator, message);
        Ok(Requirement {
            query: Query::parse(&key.value).map_err(|message| self.wrong(key, message))?,
            operator: Operator::parse(&operator.value, values).map_err(wrong)?,
        })
    }

    fn from(&self, from: Option<&ExpressionFrom>) -> Result<Option<Query>, StageError> {
        let Some(from) = from else { return Ok(None) };
        self.absent(&from.cel, NO_CEL)?;
        let newer = from.jq.as_ref().map(|jq| &jq.expression);
        let Some(code) = newer.or(from.expression_from.as_ref()) else { return Ok(None) };
        Query::parse(&code.value).map(Some).map_err(|message| self.wrong(code, message))
    }

    fn delay(&self, delay: &Delay) -> Result<stage::Delay, StageError> {
        let nanoseconds = |given: Option<i64>| given.map(|ms| ms.saturating_mul(1_000_000));
        let least = nanoseconds(delay.duration_milliseconds).unwrap_or(0);
        let from = delay.jitter_duration_from.as_ref();
        let jitter =
            Wait { fixed: nanoseconds(delay.jitter_duration_milliseconds), from: self.from(from)? };
        let some = jitter.fixed.is_some() || jitter.from.is_some();
        Ok(stage::Delay {
            duration: Wait { fixed: Some(least), from: self.from(delay.duration_from.as_ref())? },
            jitter: some.then_some(jitter),
        })
    }

    fn steps(&self, spec: &StageSpec, place: &Spanned<StageSpec>) -> Result<Vec<Step>, StageError> {
        match (&spec.next, &spec.steps[..]) {
            (Some(_), [_, ..]) => Err(self
                .wrong(place, "kwok does not look at next where there are steps: leave one out")),
            (Some(next), []) => self.next(next),
            (None, given) => {
                let mut steps = vec![];
                for step in given {
                    self.absent(
                        &step.apply,
                        "apply is not supported: a stage writes its own object only",
                    )?;
                    steps.extend(step.event.as_ref().map(event));
                    steps.extend(step.finalizers.as_ref().map(finalizers));
                    if step.delete {
                        steps.push(Step::Delete);
                    } else if let Some(patch) = &step.patch {
                        steps.push(self.patch(patch)?);
                    }
                }
                Ok(steps)
            }
        }
    }

    /// `Convert_v1alpha1_StageSpec_To_internalversion_StageSpec`.
    fn next(&self, next: &Next) -> Result<Vec<Step>, StageError> {
        self.absent(&next.status_patch_as, NO_IMPERSONATION)?;
        let mut steps = vec![];
        steps.extend(next.event.as_ref().map(event));
        steps.extend(next.finalizers.as_ref().map(finalizers));
        for patch in &next.patches {
            steps.push(self.patch(patch)?);
        }
        if let Some(template) = &next.status_template {
            if !next.patches.is_empty() {
                let message = "kwok does not look at statusTemplate where there are patches: make it one of them, with \
                               root: status and subresource: status";
                return Err(self.wrong(template, message));
            }
            let subresource = next.status_subresource.clone().unwrap_or("status".to_owned());
            let (root, kind) = ("status".to_owned(), PatchKind::Strategic);
            let template = self.template(template)?;
            steps.push(Step::Patch { template, root, kind, subresource });
        }
        steps.extend(next.delete.then_some(Step::Delete));
        Ok(steps)
    }

    fn patch(&self, patch: &PatchSpec) -> Result<Step, StageError> {
        self.absent(&patch.impersonation, NO_IMPERSONATION)?;
        let kind = match &patch.kind {
            None => PatchKind::Strategic,
            Some(kind) => match &*kind.value {
                "json" => PatchKind::Json,
                "merge" => PatchKind::Merge,
                "strategic" | "" => PatchKind::Strategic,
                _ => return Err(self.wrong(kind, "type: one of json, merge, strategic")),
            },
        };
        let (root, subresource) = (patch.root.clone(), patch.subresource.clone());
        Ok(Step::Patch { template: self.template(&patch.template)?, root, kind, subresource })
    }

    fn template(&self, text: &Spanned<String>) -> Result<Template, StageError> {
        Template::parse(&text.value).map_err(|error| {
            let line = text.referenced.line() + error.line - 1;
            self.at(line, 1, format!("template: {}", error.message))
        })
    }
}

const NO_CEL: &str = "cel is not supported: write the same as jq";
const NO_IMPERSONATION: &str =
    "impersonation is not supported; kwok has none for Pods and Nodes either: leave it out";

fn event(event: &crate::file::EventSpec) -> Step {
    let (kind, reason, message) = (event.kind.clone(), event.reason.clone(), event.message.clone());
    Step::Event(Event { kind, reason, message })
}

fn finalizers(of: &crate::file::Finalizers) -> Step {
    let names = |list: &[crate::file::Finalizer]| list.iter().map(|f| f.value.clone()).collect();
    Step::Finalizers { add: names(&of.add), remove: names(&of.remove), empty: of.empty }
}

#[cfg(test)]
mod tests;
