//! What a workload does, one operation at a time.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc, time::Duration};

use serde_json::Value;

use crate::{
    expression::Expression,
    place::Place,
    scope::{Output, Scope},
    template::Template,
    tree::Tree,
};

/// One operation of a workload: one position of the flat list.
#[derive(Debug, Clone)]
pub struct Operation {
    /// Its position: the `operation` of a [`trace::Cursor`]. Operations within a
    /// [`OperationKind::Concurrently`] have the position of the whole.
    pub index: u32,
    /// Where it is written.
    pub place: Place,
    /// Number of its step, from 1; 0 for what Trommel puts before the first step.
    pub step: u32,
    /// Name of its step, or empty.
    pub step_name: String,
    /// As a person would name it: `step 2 "scale down": patch bars.example.com/default/bar`.
    pub title: String,
    /// What it does.
    pub kind: OperationKind,
    /// How long it may take **by the world's clock** before it counts as failed.
    pub timeout: Duration,
    /// When it runs.
    pub phase: Phase,
    /// `continueOnError`: its failure fails the workload, but what follows still runs.
    pub continue_on_error: bool,
    pub(crate) scope: Arc<Scope>,
}

/// When an operation runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// In order, as written.
    Try,
    /// Right after its step.
    Finally,
    /// After all steps; the last step's first.
    Cleanup,
    /// Only when the step failed. Never in the flat list: see [`crate::Workload::catch`].
    Catch,
}

/// What an operation does.
#[derive(Debug, Clone)]
pub enum OperationKind {
    /// Sends documents, one by one: [`crate::act`].
    Act(Act),
    /// Waits until something holds: [`crate::check`], asked as often as the caller likes.
    Check(Check),
    /// Advances the world's clock by this much.
    Sleep(Duration),
    /// Waits until all has settled (ours).
    Settle,
    /// Restarts the controller, undisturbed (ours).
    Restart,
    /// Carries these out at the same time (ours). Acts and runs only.
    Concurrently(Vec<Operation>),
    /// Runs a program: [`crate::run`].
    Run(Run),
}

impl Operation {
    /// Command lines of the programs that it runs, as they are written.
    pub(crate) fn programs(&self) -> Vec<String> {
        match &self.kind {
            OperationKind::Run(run) => {
                let words = std::iter::once(&run.program).chain(&run.args);
                vec![words.map(String::as_str).collect::<Vec<_>>().join(" ")]
            }
            OperationKind::Concurrently(all) => all.iter().flat_map(Operation::programs).collect(),
            _ => vec![],
        }
    }

    /// How many documents an act sends; 0 for everything else.
    pub fn documents(&self) -> u32 {
        match &self.kind {
            OperationKind::Act(act) => act.documents.len() as u32,
            _ => 0,
        }
    }

    /// Whether a process of it keeps state that no world holds. A world from *within* such an
    /// operation can't be taken up again: carry it out from the beginning.
    pub fn holds_foreign_state(&self) -> bool {
        match &self.kind {
            OperationKind::Run(_) => true,
            OperationKind::Concurrently(inner) => inner.iter().any(Operation::holds_foreign_state),
            _ => false,
        }
    }

    /// Whether a cursor tells how far the operation is *while it is under way*. Not so for programs, and not
    /// for what runs at the same time.
    pub fn resumable_within(&self) -> bool {
        !matches!(self.kind, OperationKind::Run(_) | OperationKind::Concurrently(_))
    }
}

/// A write by the user.
#[derive(Debug, Clone)]
pub struct Act {
    /// Which.
    pub verb: ActVerb,
    pub(crate) documents: Vec<Document>,
    pub(crate) expect: Vec<Expectation>,
    pub(crate) outputs: Vec<Output>,
    pub(crate) subresource: String,
    pub(crate) dry_run: bool,
    pub(crate) propagation: &'static str,
}

/// The verbs of [`Act`], with chainsaw's semantics (see [`crate::act`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActVerb {
    /// Create if absent, else merge-patch.
    Apply,
    /// Create; it must not exist.
    Create,
    /// Merge-patch; it must exist.
    Patch,
    /// Replace; it must exist.
    Update,
    /// Delete by name, labels, or kind alone; what is not there is no error.
    Delete,
    /// Create if absent, else leave alone: the workload's namespace.
    Ensure,
}

impl ActVerb {
    /// As written in a workload.
    pub fn name(self) -> &'static str {
        match self {
            ActVerb::Apply => "apply",
            ActVerb::Create => "create",
            ActVerb::Patch => "patch",
            ActVerb::Update => "update",
            ActVerb::Delete => "delete",
            ActVerb::Ensure => "ensure",
        }
    }
}

/// One document of an act.
#[derive(Debug, Clone)]
pub(crate) struct Document {
    pub place: Place,
    pub template: Template,
}

/// What must come of an act (`expect[]`).
#[derive(Debug, Clone)]
pub(crate) struct Expectation {
    /// Only for objects that match.
    pub matching: Option<Tree>,
    /// Asserted on the object, with `$error` bound.
    pub check: Tree,
}

/// Something that shall hold.
#[derive(Debug, Clone)]
pub struct Check {
    /// What is expected of the objects.
    pub(crate) expected: Expected,
    /// Which objects; `None`: an assertion on bindings alone.
    pub(crate) target: Option<Box<Target>>,
}

/// What a check expects.
#[derive(Debug, Clone)]
pub(crate) enum Expected {
    /// `assert`: at least one object matches.
    Match(Tree),
    /// `error`: no object matches.
    NoMatch(Tree),
    /// After a `delete`: none of the objects is still being deleted.
    Gone,
    /// `wait.for.deletion`: there is no such object.
    Absent,
    /// `wait.for.creation`: there is such an object.
    Present,
    /// `wait.for.condition`: all objects have the condition with this status.
    Condition { name: Template, value: Template },
    /// `wait.for.jsonPath`: all objects have this value, or any value.
    JsonPath { path: Template, value: Option<Template> },
}

/// Which objects a check looks at.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub api_version: Template,
    pub kind: Template,
    pub namespace: Template,
    pub name: Template,
    pub selector: Selector,
}

/// How objects without a name are selected.
#[derive(Debug, Clone)]
pub(crate) enum Selector {
    /// All labels equal.
    Labels(Template),
    /// In kubectl's notation.
    Text(Template),
}

/// A program to run.
#[derive(Debug, Clone)]
pub struct Run {
    /// The program.
    pub program: String,
    pub(crate) args: Vec<String>,
    /// Whether `$NAME` in arguments stands for a variable (a command has no shell that would do it).
    pub(crate) expand: bool,
    pub(crate) env: Vec<(String, Template)>,
    pub(crate) dir: PathBuf,
    pub(crate) check: Option<Tree>,
    pub(crate) outputs: Vec<Output>,
}

/// Values that operations gave to later ones, by the operation that gave them.
pub(crate) type Outputs = BTreeMap<u32, BTreeMap<String, Value>>;

impl OperationKind {
    /// Calls `see` on every expression within.
    pub(crate) fn expressions<'a>(&'a self, see: &mut dyn FnMut(&'a Expression)) {
        match self {
            OperationKind::Act(act) => {
                act.documents.iter().for_each(|document| document.template.expressions(see));
                for expectation in &act.expect {
                    tree_expressions(&expectation.check, see);
                }
                output_expressions(&act.outputs, see);
            }
            OperationKind::Check(check) => check.expressions(see),
            OperationKind::Run(run) => {
                run.env.iter().for_each(|(_, value)| value.expressions(see));
                run.check.iter().for_each(|check| tree_expressions(check, see));
                output_expressions(&run.outputs, see);
            }
            OperationKind::Concurrently(inner) => {
                inner.iter().for_each(|operation| operation.kind.expressions(see));
            }
            OperationKind::Sleep(_) | OperationKind::Settle | OperationKind::Restart => {}
        }
    }

    /// Names of the outputs that it gives.
    pub(crate) fn output_names(&self) -> Vec<&str> {
        fn names(outputs: &[Output]) -> Vec<&str> {
            outputs.iter().map(|output| output.name.as_str()).collect()
        }
        match self {
            OperationKind::Act(act) => names(&act.outputs),
            OperationKind::Run(run) => names(&run.outputs),
            OperationKind::Concurrently(inner) => {
                inner.iter().flat_map(|operation| operation.kind.output_names()).collect()
            }
            _ => Vec::new(),
        }
    }
}

impl Check {
    fn expressions<'a>(&'a self, see: &mut dyn FnMut(&'a Expression)) {
        match &self.expected {
            Expected::Match(tree) | Expected::NoMatch(tree) => tree_expressions(tree, see),
            Expected::Condition { name, value } => {
                name.expressions(see);
                value.expressions(see);
            }
            Expected::JsonPath { path, value } => {
                path.expressions(see);
                value.iter().for_each(|value| value.expressions(see));
            }
            Expected::Gone | Expected::Absent | Expected::Present => {}
        }
        let Some(target) = &self.target else { return };
        let (Selector::Labels(selector) | Selector::Text(selector)) = &target.selector;
        for template in
            [&target.api_version, &target.kind, &target.namespace, &target.name, selector]
        {
            template.expressions(see);
        }
    }
}

fn tree_expressions<'a>(tree: &'a Tree, see: &mut dyn FnMut(&'a Expression)) {
    tree.expressions(&mut Vec::new(), &mut |expression, _| see(expression));
}

fn output_expressions<'a>(outputs: &'a [Output], see: &mut dyn FnMut(&'a Expression)) {
    for output in outputs {
        output.value.expressions(see);
        output.matching.iter().for_each(|tree| tree_expressions(tree, see));
    }
}
