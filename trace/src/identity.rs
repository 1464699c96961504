//! Identity: equal only if no subject could tell the two worlds apart (design §5), and coarser forms of it ([`Level`]).
//!
//! What follows is about the finest level, `exact`; `identity/level.rs` says what the others ignore.
//!
//! A world's identity is the hash of its *canonical text*: all objects in the order in which a list shows
//! them, with every uid, address and generated name replaced by the number of its first occurrence. Equal
//! texts therefore exhibit an isomorphism: same number, same thing.
//!
//! **Why no search for the best numbering.** The order among generated siblings shows in lists, so it is part
//! of identity; that makes the order of all objects canonical, and first occurrence numbers everything. Only
//! maps whose *keys* hold tokens have no visible order: their entries are ordered by what is already numbered,
//! then by content, then (individualisation) by the real key, where a tie costs at most a missed merge.
//!
//! What two worlds may differ in and still be equal:
//! - the texts of uids, addresses, generated names and node ports that an allocator chose (not their equality,
//!   occurrences, prefix, or order);
//! - `metadata.resourceVersion`, unless some other field holds exactly that text. So the *order* of two objects'
//!   revisions does not count: a subject that compares revisions of different objects to learn which was written
//!   last (allowed within one type since KEP-5504, unheard of in controllers) could notice. Creation times count;
//! - the times in `managedFields`;
//! - the contents of Secrets that are random ([`Context::random_payloads`]): kept as equality classes over the
//!   world, so that a controller that generates passwords does not make every world a new one;
//! - absolute time: RFC 3339 strings are kept as ages to `now`, with their precision and offset;
//! - Leases and Events.
//!
//! Literal text can't be mistaken for a label: labels stand between `‹` and `›`, and a literal `‹` is doubled.
//!
//! **Secrets count, unless they are random.** The first design kept all contents as equality classes. A controller
//! that keeps its progress in a Secret was then explored wrongly (`tests/campaigns/secret-state`). So contents are
//! part of identity, except the fields that no two references share and no run changes: generated passwords and keys
//! stay classes, or every trial would lead to new worlds.
//!
//! **Generations count as they are**, not only their relation to `observedGeneration`: a controller may branch on the
//! number. A name is generated if the world's generator gave it, never because it looks so.
//!
//! **Node ports are labels as cluster IPs are.** An allocator counts on, so a controller that creates its Service anew
//! would lead to new worlds for ever. Who asks for a fixed port or address of the range from which allocators choose first
//! could notice, because it may be taken in one world and free in the other (KEP-3668 keeps a part of the range for those).
//! Ports that somebody asked for are values.
//!
//! **Names of nodes are values.** They are few, so they cost no closure, and nodes have properties of their own. The levels
//! before `exact` take those that the scheduler chose for labels, where the subject has asked about no Node at all.
//!
//! **Leases are bookkeeping**: their commits are no place to crash and no part of identity. A controller that uses a
//! Lease as a lock for its own work, not to elect a leader, is therefore explored less than others; nothing in the
//! report tells the two apart.
//!
//! Ages count in whole seconds: below a second the world's time shows the rounding of runtimes' waits.

mod apart;
mod canonical;
mod level;

use std::{fmt, str::FromStr, sync::Arc};

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::{
    apart::{Apart, keep_apart},
    level::{Level, age as rough_age},
};
use crate::{
    comparison::Masks,
    key::{ObjectKey, serde_as_text},
    step::Cursor,
    time::Time,
};

/// What belongs to a world besides its objects.
#[derive(Debug, Clone, Default)]
pub struct Context<'a> {
    /// The world's clock.
    pub now: Time,
    /// How far the workload is.
    pub cursor: Cursor,
    /// Every name ever issued for a `generateName`, also of objects that are gone.
    pub generated_names: Vec<&'a str>,
    /// Payloads of Secrets known to be drawn at random: `secrets/default/db-‹*› password`, the folded key and the
    /// field.
    pub random_payloads: Vec<&'a str>,
    /// Anything else that decides what can happen next: pending timers relative to now, remaining budget.
    pub extra: Value,
    /// How closely to look.
    pub level: Level,
    /// What differs by itself; counts at [`Level::Exact`] only.
    pub masks: Option<&'a Masks>,
}

/// The identity of a world: blake3 of its canonical text. Written as 64 hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identity(pub [u8; 32]);

impl Identity {
    /// The first twelve digits: enough for people, and for file names.
    pub fn short(&self) -> String {
        self.to_string()[..12].to_owned()
    }
}

impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no identity.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("not an identity of 64 hexadecimal digits: {0:?}")]
pub struct ParseIdentityError(String);

impl FromStr for Identity {
    type Err = ParseIdentityError;
    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let wrong = || ParseIdentityError(text.to_owned());
        if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong());
        }
        let mut bytes = [0; 32];
        for (at, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * at..2 * at + 2], 16).map_err(|_| wrong())?;
        }
        Ok(Identity(bytes))
    }
}
serde_as_text!(Identity);

/// The identity of the world made of these objects (any order; bookkeeping is left out here).
///
/// Takes some microseconds an object; allocates one text of the size of the world.
pub fn identity<'a>(
    objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    context: &Context<'_>,
) -> Identity {
    Identity(*blake3::hash(canonical::text(objects, context).as_bytes()).as_bytes())
}

/// The canonical world whose hash is the [`identity`]: for people, and for looking at two worlds that
/// should have merged and did not.
///
/// Its form (`cursor`, `objects` in order, `tokens`) is not stable between versions.
pub fn canonical_world<'a>(
    objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    context: &Context<'_>,
) -> Value {
    let text = canonical::text(objects, context);
    serde_json::from_str(&text).expect("the canonical text is JSON")
}

#[cfg(test)]
mod tests;
