//! An object in the store, and what was made of it once somebody asked: every world that shares the object shares that.

use std::sync::{Arc, OnceLock};

use serde_json::{Value, value::RawValue};

use super::print;

/// An object that does not change any more.
#[derive(Debug, Clone)]
pub(crate) struct Stored(Arc<Kept>);

#[derive(Debug)]
struct Kept {
    object: Arc<Value>,
    print: OnceLock<u128>,
    item: OnceLock<Box<RawValue>>,
    message: OnceLock<Box<[u8]>>,
}

impl Stored {
    pub(crate) fn new(object: Arc<Value>) -> Stored {
        Stored(Arc::new(Kept {
            object,
            print: OnceLock::new(),
            item: OnceLock::new(),
            message: OnceLock::new(),
        }))
    }

    pub(crate) fn object(&self) -> &Arc<Value> {
        &self.0.object
    }

    pub(super) fn print(&self) -> u128 {
        *self.0.print.get_or_init(|| print::print(&self.0.object))
    }

    /// Its text as an item of lists, which `write` makes when it is first asked for: most of what a long list costs.
    pub(crate) fn item(&self, write: impl FnOnce(&Value) -> Box<RawValue>) -> &RawValue {
        self.0.item.get_or_init(|| write(&self.0.object))
    }

    /// The same in protobuf. Errors: those of `write`, which is asked again then.
    pub(crate) fn message<E>(
        &self,
        write: impl FnOnce(&Value) -> Result<Box<[u8]>, E>,
    ) -> Result<&[u8], E> {
        if let Some(known) = self.0.message.get() {
            return Ok(known);
        }
        let made = write(&self.0.object)?;
        Ok(self.0.message.get_or_init(|| made))
    }
}
