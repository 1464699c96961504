//! Bar and Foo: a controller that creates one Foo for its Bar and writes into the Bar's status that it did.
//!
//! N. Miculinic's example ("Kubernetes Operators: Safety First Through Model Checkers"). The Foo has a generated name, so
//! a controller that is restarted between the two requests creates a second one. The same model is there in PlusCal:
//! `specs/ns.tla`; the mended ones are `specs/ns_fixed_name.tla` and `specs/ns_list_first.tla`. States have the variables
//! of those, and steps are in the order of their translations, so a checker that goes breadth first finds TLC's trace.

use std::fmt::{self, Display, Formatter};

use crate::{
    System,
    traces::{State as Vars, Value},
};

/// How the controller creates the Foo.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Variant {
    /// With `generateName`, without looking: the fault.
    GeneratedName,
    /// With a name that follows from the Bar's. A second POST is answered 409 AlreadyExists, and the Foo that is there
    /// adopted.
    FixedName,
    /// With `generateName`, if a list of the Bar's Foos, asked of the API server right before, is empty.
    LiveList,
    /// The same with a list from a cache, which may be at any older state: the fault again.
    CachedList,
}

/// The model, and what keeps its states finite.
#[derive(Debug, Clone, Copy)]
pub struct BarFoo {
    /// How the Foo is created.
    pub variant: Variant,
    /// No step leads to more Foos than this. Without it, `GeneratedName` has no end.
    pub foos_max: Option<usize>,
    /// The controller is restarted at most so often. Restarts are counted in the state only if this is given.
    pub reboots_max: Option<usize>,
    /// Whether a controller that is done goes on taking the step `Terminating`, which changes nothing. PlusCal's
    /// translation has it, so that the end is no deadlock.
    pub terminating: bool,
}

/// The labels of `ns.tla`, and `ListObjects` of `ns_list_first.tla`: what the controller does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[allow(missing_docs)] // The names are those of the specification.
pub enum Pc {
    Start,
    ListObjects,
    CreateObject,
    MarkCreated,
    RebootDuringMarkingCreation,
    RebootDuringCreation,
    Done,
}

impl Display for Pc {
    fn fmt(&self, out: &mut Formatter<'_>) -> fmt::Result {
        write!(out, "{self:?}")
    }
}

/// A state of the model.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct State {
    /// What is done next.
    pub pc: Pc,
    /// How many Foos there are: `Len(fooObjs)`.
    pub foos: usize,
    /// Whether the Bar's status says that its Foo is created.
    pub created: bool,
    /// How many Foos the controller saw when it listed them.
    pub listed: usize,
    /// Restarts so far, if they are limited.
    pub reboots: usize,
}

/// One step: what is done, and how it goes on. Where `pc` has only one way on, the choice says just that.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Action {
    /// The label that is executed; [`Pc::Done`] is `Terminating`.
    pub does: Pc,
    /// The label after it.
    pub then: Pc,
    /// What a list sees, if it is a list.
    pub sees: usize,
}

impl BarFoo {
    /// The model as it is in `specs`, without limits.
    pub fn new(variant: Variant) -> Self {
        Self { variant, foos_max: None, reboots_max: None, terminating: true }
    }

    /// What the specification has as the invariant `LimitedFooObjs`.
    pub fn limited_foo_objs(state: &State) -> bool {
        state.foos <= 1
    }

    /// What the specification asserts at the end of `Start`, on leaving the loop.
    pub fn asserted(state: &State) -> bool {
        !(state.pc == Pc::Start && state.created) || state.foos == 1
    }

    /// `state` as the variables of the specification.
    pub fn vars(&self, state: &State) -> Vars {
        let object = match self.variant {
            Variant::FixedName => Value::record([("name", "foo".into())]),
            _ => Value::record([("generateName", "foo-".into())]),
        };
        let bar = [("name", "foo".into()), ("created", state.created.into())];
        let mut vars = Vars::from([
            ("pc".to_owned(), Value::text(state.pc.to_string())),
            ("fooObjs".to_owned(), Value::Seq(vec![object; state.foos])),
            ("barObj".to_owned(), Value::record(bar)),
        ]);
        if self.lists() {
            vars.insert("listed".to_owned(), Value::Int(state.listed as i128));
        }
        if self.reboots_max.is_some() {
            vars.insert("reboots".to_owned(), Value::Int(state.reboots as i128));
        }
        vars
    }

    fn lists(&self) -> bool {
        matches!(self.variant, Variant::LiveList | Variant::CachedList)
    }

    /// How many Foos there are after a POST.
    fn posted(&self, state: &State) -> usize {
        match self.variant {
            Variant::GeneratedName => state.foos + 1,
            Variant::FixedName => state.foos.max(1),
            Variant::LiveList | Variant::CachedList => state.foos + usize::from(state.listed == 0),
        }
    }

    /// The labels that may come after that of `state`.
    fn after(&self, state: &State) -> &'static [Pc] {
        match state.pc {
            Pc::Start if state.created => &[Pc::Done],
            Pc::Start if self.lists() => &[Pc::ListObjects, Pc::RebootDuringCreation],
            Pc::Start => &[Pc::CreateObject, Pc::RebootDuringCreation],
            Pc::ListObjects => &[Pc::CreateObject],
            Pc::CreateObject => &[Pc::MarkCreated, Pc::RebootDuringMarkingCreation],
            Pc::MarkCreated | Pc::RebootDuringMarkingCreation | Pc::RebootDuringCreation => {
                &[Pc::Start]
            }
            Pc::Done if self.terminating => &[Pc::Done],
            Pc::Done => &[],
        }
    }
}

impl System for BarFoo {
    type State = State;
    type Action = Action;

    fn initial(&self) -> Vec<State> {
        vec![State { pc: Pc::Start, foos: 0, created: false, listed: 0, reboots: 0 }]
    }

    fn actions(&self, state: &State, into: &mut Vec<Action>) {
        let oldest = if self.variant == Variant::CachedList { 0 } else { state.foos };
        let seen = if state.pc == Pc::ListObjects { oldest..=state.foos } else { 0..=0 };
        for sees in seen {
            let then = self.after(state).iter();
            into.extend(then.map(|then| Action { does: state.pc, then: *then, sees }));
        }
    }

    fn next(&self, state: &State, action: &Action) -> Option<State> {
        let mut next = State { pc: action.then, ..*state };
        match action.does {
            Pc::ListObjects => next.listed = action.sees,
            Pc::CreateObject => {
                next.foos = self.posted(state);
                next.listed = 0;
            }
            Pc::MarkCreated => next.created = true,
            _ => {}
        }
        let reboots = matches!(next.pc, Pc::RebootDuringMarkingCreation | Pc::RebootDuringCreation);
        if let Some(reboots_max) = self.reboots_max.filter(|_| reboots) {
            if state.reboots == reboots_max {
                return None;
            }
            next.reboots += 1;
        }
        self.foos_max.is_none_or(|foos_max| next.foos <= foos_max).then_some(next)
    }

    fn label(&self, action: &Action) -> String {
        match action.does {
            Pc::Done => "Terminating".to_owned(),
            label => label.to_string(),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
