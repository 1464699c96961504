//! Which steps are enough of all that are possible in a state.
//!
//! The next steps of one actor are enough if (Clarke, Grumberg, Peled: "Model Checking", chapter 10; numbers as there)
//! C0 one of them is possible; C1 nothing that others may ever do depends on what this actor may do next; C2 no
//! property looks at what they write; and C3 no step is put off on a cycle for ever. C3 is checked where the steps are
//! taken: if one of them leads to a state no deeper than this one, all steps are taken. Each cycle has a step that does
//! not go deeper, so each has a state from which all steps are taken.

use crate::{Places, System};

/// An actor whose possible steps are enough in `state`, by C0 to C2, if they are fewer than all.
pub fn actor<S: System>(
    system: &S,
    state: &S::State,
    actions: &[S::Action],
    seen_by_properties: &Places,
) -> Option<usize> {
    let actors = system.actors(state);
    if actors < 2 {
        return None;
    }
    let enough = |actor: &usize| {
        let next = system.footprint(state, *actor);
        let of_actor = |action: &&S::Action| system.actor(action) == *actor;
        !next.writes.meets(seen_by_properties)
            && (0..actors)
                .filter(|other| other != actor)
                .all(|other| next.independent(&system.future(state, other)))
            && actions.iter().any(|action| !of_actor(&action))
            && actions.iter().filter(of_actor).any(|action| system.next(state, action).is_some())
    };
    (0..actors).find(enough)
}
