//! Metadata that a write meant: what names an object, marks it, and holds it.

use std::collections::BTreeSet;

use serde_json::Value;
use trace::Verb;

use super::{Kept, Schema, Step};

/// A generated name begins with this much of what was sent (`maxGeneratedNameLength` of apiserver's `names`).
const NAME_BASE_MAX: usize = 58;

impl Kept<'_> {
    pub(super) fn metadata(&self, meant: &Value, before: &Value, shown: &Value) -> Option<String> {
        let (before, shown) = (&before["metadata"], &shown["metadata"]);
        let wrong = match self.call.verb {
            Verb::Create if !is_named(meant, shown) => Some("metadata.name".to_owned()),
            _ if self.loses_finalizers(meant, shown) => Some("metadata.finalizers".to_owned()),
            _ => ["labels", "annotations"].iter().find_map(|field| {
                let name = self.other_entry(&meant[field], &before[field], &shown[field])?;
                Some(format!("metadata.{field}.{name}"))
            }),
        };
        if let Some(field) = wrong {
            return Some(format!("{field} is not what was sent"));
        }
        let owners = "ownerReferences";
        match (&meant[owners], &shown[owners]) {
            (Value::Array(meant), Value::Null) if !meant.is_empty() => {
                Some("metadata.ownerReferences is lost".to_owned())
            }
            (meant, shown) => {
                let mut path = vec![Step::Member("metadata"), Step::Member(owners)];
                self.value(&mut path, (meant, &Value::Null, shown), Schema::Unknown)
            }
        }
    }

    /// A replaced or patched object has the finalizers that were meant, and no others; to one that is created, and where
    /// patches are merged, others come.
    fn loses_finalizers(&self, meant: &Value, shown: &Value) -> bool {
        let (meant, shown) = (texts(&meant["finalizers"]), texts(&shown["finalizers"]));
        match self.whole && self.call.verb != Verb::Create {
            true => meant != shown,
            false => !meant.is_subset(&shown),
        }
    }

    /// The first label or annotation that is shown otherwise than it was meant. Those of Kubernetes itself servers write
    /// by themselves.
    fn other_entry(&self, meant: &Value, before: &Value, shown: &Value) -> Option<String> {
        let names = |value: &Value| -> Vec<String> {
            let names = value.as_object().into_iter().flat_map(|value| value.keys().cloned());
            names
                .filter(|name| !name.contains("kubernetes.io/") && !name.starts_with("deprecated."))
                .collect()
        };
        let other = names(meant).into_iter().find(|name| match &meant[name.as_str()] {
            Value::Null => !self.whole && !shown[name.as_str()].is_null(),
            meant => shown[name.as_str()] != *meant,
        });
        let stays = |name: &String| {
            meant[name.as_str()].is_null() && shown[name.as_str()] == before[name.as_str()]
        };
        other.or_else(|| self.whole.then(|| names(before).into_iter().find(stays)).flatten())
    }
}

fn is_named(meant: &Value, shown: &Value) -> bool {
    let text =
        |object: &'_ Value, field: &str| object[field].as_str().unwrap_or_default().to_owned();
    let (name, base, shown) =
        (text(meant, "name"), text(meant, "generateName"), text(shown, "name"));
    match name.is_empty() {
        true => shown.starts_with(base.get(..NAME_BASE_MAX).unwrap_or(&base)),
        false => name == shown,
    }
}

fn texts(value: &Value) -> BTreeSet<&str> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
