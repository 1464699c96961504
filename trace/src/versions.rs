//! What is worked out once for each version of an object.
//!
//! Most objects of a world are the same in all worlds of a campaign: one `Arc` of the version that its manifests made.
//! What [`crate::comparison`] asks of a version is kept beside its address as long as somebody holds the version, so a
//! definition of a megabyte is walked through once, not at each settle of each trial.
//!
//! The results depend on nothing but the version and its key, so it does not show whether one was known before.

mod words;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, OnceLock, PoisonError, Weak},
};

use serde_json::Value;

pub(crate) use self::words::{Words, word};
use crate::{
    comparison::{ObjectForm, PartMasks},
    key::ObjectKey,
    tokens::Sources,
};

/// Versions that are known before the first look for those that nobody holds any more.
const SWEEP_AT_LEAST: usize = 1_024;

/// One version of an object, and what is known of it.
pub(crate) struct Version {
    /// Whose it is.
    pub key: ObjectKey,
    /// What it is.
    pub object: Weak<Value>,
    sources: OnceLock<Sources>,
    words: OnceLock<Words>,
    /// Texts that were looked for in it.
    held: Mutex<HashMap<String, bool>>,
    /// Its forms in worlds none of whose tokens occur in it, by what is masked.
    forms: Mutex<Vec<(PartMasks, Arc<ObjectForm>)>>,
}

impl Version {
    fn new(key: &ObjectKey, object: &Arc<Value>) -> Version {
        Version {
            key: key.clone(),
            object: Arc::downgrade(object),
            sources: OnceLock::new(),
            words: OnceLock::new(),
            held: Mutex::default(),
            forms: Mutex::default(),
        }
    }

    /// Which tokens it brings into a world.
    pub fn sources(&self, object: &Value) -> &Sources {
        self.sources.get_or_init(|| Sources::of(&self.key, object))
    }

    /// Which words occur in it.
    pub fn words(&self, object: &Value) -> &Words {
        self.words.get_or_init(|| Words::of(&self.key, object))
    }

    /// Whether a text all of whose words occur in the object may stand there as it is. "No" is always right. Large objects
    /// are looked at, once for each text.
    pub fn may_hold(&self, object: &Value, text: &str) -> bool {
        if !self.words(object).are_many() {
            return true;
        }
        let mut held = self.held.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = held.get(text) {
            return *known;
        }
        let holds = self.key.to_string().contains(text) || contains(object, text);
        held.insert(text.to_owned(), holds);
        holds
    }

    /// Its form under these masks, made by `make` if it is not known.
    pub fn form(
        &self,
        masks: PartMasks,
        make: impl FnOnce(&PartMasks) -> Value,
    ) -> Arc<ObjectForm> {
        let mut forms = self.forms.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, form)) = forms.iter().find(|(known, _)| *known == masks) {
            return form.clone();
        }
        let form = Arc::new(ObjectForm::new(make(&masks)));
        forms.push((masks, form.clone()));
        form
    }
}

fn contains(value: &Value, text: &str) -> bool {
    match value {
        Value::String(string) => string.contains(text),
        Value::Array(items) => items.iter().any(|item| contains(item, text)),
        Value::Object(map) => {
            map.iter().any(|(name, inner)| name.contains(text) || contains(inner, text))
        }
        _ => false,
    }
}

/// By the address of the version: the weak reference keeps it from meaning another one.
#[derive(Default)]
struct Known {
    versions: HashMap<usize, Arc<Version>>,
    sweep_at: usize,
}

static KNOWN: Mutex<Option<Known>> = Mutex::new(None);

/// Forgets what is known of versions that nobody holds any more. For whoever has just let go of a run.
pub fn forget_unheld() {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.get_or_insert_default().sweep();
}

/// What is known of these versions, in their order.
pub(crate) fn versions(objects: &[(&ObjectKey, &Arc<Value>)]) -> Vec<Arc<Version>> {
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    let known = known.get_or_insert_default();
    objects.iter().map(|(key, object)| known.version(key, object)).collect()
}

impl Known {
    fn sweep(&mut self) {
        self.versions.retain(|_, version| version.object.strong_count() > 0);
        self.sweep_at = 2 * self.versions.len();
    }

    fn version(&mut self, key: &ObjectKey, object: &Arc<Value>) -> Arc<Version> {
        let address = Arc::as_ptr(object) as usize;
        if let Some(version) = self.versions.get(&address) {
            // Its key is guessed where a run does not show which resource its kind belongs to.
            return match version.key == *key {
                true => version.clone(),
                false => Arc::new(Version::new(key, object)),
            };
        }
        if self.versions.len() >= self.sweep_at.max(SWEEP_AT_LEAST) {
            self.sweep();
        }
        let version = Arc::new(Version::new(key, object));
        self.versions.insert(address, version.clone());
        version
    }
}
