//! Which changes take back which: what was true between them for a while only may never be seen.
//!
//! A change is cancelled by a later one of the same object that takes away what it brought: a creation by a deletion or
//! by an update of what was created, a deletion by another creation, an update by one that changes one of the same fields
//! again, or by a deletion.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use trace::{Change, GroupResource, ObjectKey};

use super::{changes::Lived, reads::Reading};

/// Two changes of one object, of which the later takes back the earlier.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Cancellation {
    /// The one that is taken back, in the model's `changes`.
    pub earlier: usize,
    /// The one that takes it back, in the same list.
    pub later: usize,
    /// How many changes of the object lie between them.
    pub between: usize,
}

/// Of the types that are watched: fewest changes between the two first; then by object, and by when.
pub(super) fn cancellations(
    lives: &BTreeMap<&ObjectKey, Vec<Lived>>,
    types: &BTreeMap<GroupResource, Reading>,
) -> Vec<Cancellation> {
    let watched = |key: &ObjectKey| types.get(&key.resource).is_some_and(|reading| reading.watched);
    let mut found: Vec<Cancellation> = Vec::new();
    for (_, life) in lives.iter().filter(|(key, _)| watched(key)) {
        for (at, earlier) in life.iter().enumerate() {
            let later = life[at + 1..].iter().enumerate();
            found.extend(later.filter(|(_, later)| cancels(later, earlier)).map(
                |(between, later)| Cancellation {
                    earlier: earlier.change,
                    later: later.change,
                    between,
                },
            ));
        }
    }
    found.sort_by_key(|pair| pair.between);
    found
}

fn cancels(later: &Lived, earlier: &Lived) -> bool {
    use Change::{Created, Deleted, Updated};
    match (earlier.kind, later.kind) {
        (Created | Updated, Deleted) | (Deleted, Created) => true,
        (Created | Updated, Updated) => !later.fields.is_disjoint(&earlier.fields),
        (Created | Updated, Created) | (Deleted, _) => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;
    use crate::schedule::changes::fields;

    fn check(earlier: (Change, Value, Value), later: (Change, Value, Value), expect: bool) {
        let lived = |(kind, old, new): (Change, Value, Value)| {
            let fields = fields((!old.is_null()).then_some(&old), &new);
            Lived { change: 0, kind, fields }
        };
        assert_eq!(cancels(&lived(later), &lived(earlier)), expect);
    }

    #[test]
    fn a_change_is_cancelled_by_what_takes_away_what_it_brought() {
        use Change::{Created, Deleted, Updated};
        let of = |x: u32, y: u32| json!({"spec": {"x": x, "y": y}});
        check((Created, Value::Null, of(1, 1)), (Deleted, of(1, 1), of(1, 1)), true);
        check((Created, Value::Null, of(1, 1)), (Updated, of(1, 1), of(2, 1)), true);
        check((Updated, of(1, 1), of(3, 1)), (Updated, of(3, 1), of(2, 1)), true);
        check((Updated, of(1, 1), of(3, 1)), (Updated, of(3, 1), of(3, 2)), false);
        check((Updated, of(1, 1), of(3, 1)), (Deleted, of(3, 1), of(3, 1)), true);
        check((Deleted, of(1, 1), of(1, 1)), (Created, Value::Null, of(1, 1)), true);
    }
}
