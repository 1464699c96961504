//! Changes for tests.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::Change;

use super::of;
use crate::watched::Happened;

/// Changes in their order. An object's uid is its name, unless it comes again.
#[derive(Default, Clone)]
pub struct Story(pub Vec<Arc<Happened>>);

impl Story {
    fn then(mut self, of: &'static str, change: Change, mut object: Value) -> Story {
        if object["metadata"]["uid"].is_null() {
            object["metadata"]["uid"] = object["metadata"]["name"].clone();
        }
        let revision = self.0.len() as u64 + 1;
        self.0.push(Arc::new(Happened { revision, of, change, object }));
        self
    }

    /// An object is created.
    pub fn made(self, of: &'static str, object: Value) -> Story {
        self.then(of, Change::Created, object)
    }

    /// An object of a name that there was before is created.
    pub fn again(self, of: &'static str, mut object: Value) -> Story {
        object["metadata"]["uid"] = json!(format!("{}-again", self.0.len()));
        self.then(of, Change::Created, object)
    }

    /// An object is from now on like this.
    pub fn now(self, of: &'static str, object: Value) -> Story {
        self.then(of, Change::Updated, object)
    }

    /// An object goes.
    pub fn gone(self, of: &'static str, object: Value) -> Story {
        self.then(of, Change::Deleted, object)
    }

    /// What is told of it.
    pub fn told(&self) -> Value {
        of(&self.0)
    }
}

/// An object that is created, and then is like each of these.
pub fn story(of: &'static str, states: impl IntoIterator<Item = Value>) -> Story {
    let states = states.into_iter().enumerate();
    states.fold(Story::default(), |story, (number, state)| match number {
        0 => story.made(of, state),
        _ => story.now(of, state),
    })
}

/// An object with an owner that controls it, whose uid is its name.
pub fn owned(kind: &str, owner: &str, mut object: Value) -> Value {
    object["metadata"]["ownerReferences"] = json!([{
        "kind": kind, "name": owner, "uid": owner, "controller": true, "blockOwnerDeletion": true,
    }]);
    object
}
