//! Names of actions that a format leaves out, from the program counter.
//!
//! PlusCal's translation gives each label an action of its name, and holds in `pc` the label that comes next: of the
//! only process, or as a function of the processes (PlusCal manual, 5.9). So the step from a state is named by the `pc`
//! of that state, and taken by the process whose `pc` it changes.

use super::{Action, Param, State, Trace, Value};

/// What PlusCal calls the parameter of an action that is a process.
const SELF: &str = "self";

/// Names the steps of `trace` that have no name yet, where `pc` says it.
pub(super) fn name_steps(trace: &mut Trace) {
    let named: Vec<Option<Action>> = trace
        .steps()
        .map(|(before, action, after)| action.cloned().or_else(|| step(before, after)))
        .collect();
    trace.actions = named;
}

/// The action that leads from `before` to `after`; none if nothing changes, or no one process moves.
fn step(before: &State, after: &State) -> Option<Action> {
    if before == after {
        return None;
    }
    let (from, to) = (before.get("pc")?, after.get("pc")?);
    if let Value::Text(label) = from {
        return Some(Action::named(label));
    }
    let mut moved = from.pairs()?.into_iter().filter(|(process, at)| to.get(process) != Some(at));
    let (process, label) = moved.next()?;
    let (Value::Text(label), None) = (label, moved.next()) else { return None };
    let params = vec![Param { name: Some(SELF.to_owned()), value: process }];
    Some(Action { name: label.clone(), params })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::traces::literal;

    #[test]
    fn steps_are_named_by_the_process_that_moves() {
        let check = |from: &str, to: &str, expect: Option<&str>| {
            let states = [(from, 0), (to, 1)].map(|(pc, x)| {
                let pc = literal::parse(pc).unwrap();
                State::from([("pc".to_owned(), pc), ("x".to_owned(), Value::Int(x))])
            });
            let mut trace = Trace::new(states.to_vec(), vec![None], None).unwrap();
            name_steps(&mut trace);
            let name = trace.actions[0].as_ref().map(ToString::to_string);
            assert_eq!(name.as_deref(), expect, "{from} to {to}");
        };
        check("\"A\"", "\"B\"", Some("A"));
        check("\"A\"", "\"A\"", Some("A"));
        check("<<\"A\", \"B\">>", "<<\"A\", \"C\">>", Some("B(2)"));
        check("(p :> \"A\" @@ q :> \"B\")", "(p :> \"Done\" @@ q :> \"B\")", Some("A(p)"));
        check("<<\"A\", \"B\">>", "<<\"C\", \"C\">>", None);
        check("<<\"A\", \"B\">>", "<<\"A\", \"B\">>", None);
        check("7", "8", None);
    }

    #[test]
    fn names_that_are_there_stay() {
        let state = State::from([("pc".to_owned(), "A".into())]);
        let other = State::from([("pc".to_owned(), "B".into())]);
        let given = Some(Action::named("Given"));
        let mut trace = Trace::new(vec![state, other], vec![given.clone(), None], Some(0)).unwrap();
        name_steps(&mut trace);
        assert_eq!(trace.actions, [given, Some(Action::named("B"))]);
    }
}
