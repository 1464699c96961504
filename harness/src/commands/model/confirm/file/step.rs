//! What users and nodes do, as a file says it.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Span, Usage};

/// What a user or a node does.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// After what; left out: after the step before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub after: Option<After>,
    /// Or when, counted from where the run begins, by the controllers' clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<Span>,
    /// As `kubectl apply`: fields that the last one applied and this one lacks are removed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub apply: Option<Value>,
    /// A new object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<Value>,
    /// A merge patch, with `apiVersion`, `kind` and name of its object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch: Option<Value>,
    /// A merge patch of its status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub patch_status: Option<Value>,
    /// `apiVersion`, `kind` and name of an object, and `replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub scale: Option<Value>,
    /// `apiVersion`, `kind` and name of an object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delete: Option<Value>,
    /// A node: it is cordoned, and its pods are evicted, every five seconds until none is left (`kubectl drain
    /// --ignore-daemonsets`).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<String>,
    /// What pods use from then on, in place of `usage`.
    #[serde(default, rename = "use", skip_serializing_if = "Option::is_none")]
    pub uses: Option<Vec<Usage>>,
}

/// After what a step comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum After {
    /// The step before, when all are quiet.
    Previous,
    /// When the controllers have nothing more to do.
    Stable,
}

/// What a step does.
#[derive(Debug, Clone, Copy)]
pub enum Does<'a> {
    /// [`Step::apply`].
    Apply(&'a Value),
    /// [`Step::create`].
    Create(&'a Value),
    /// [`Step::patch`].
    Patch(&'a Value),
    /// [`Step::patch_status`].
    PatchStatus(&'a Value),
    /// [`Step::scale`].
    Scale(&'a Value),
    /// [`Step::delete`].
    Delete(&'a Value),
    /// [`Step::drain`].
    Drain(&'a str),
    /// [`Step::uses`].
    Use(&'a [Usage]),
}

impl Step {
    /// What it does.
    ///
    /// # Errors
    /// Nothing, or more than one thing.
    pub fn does(&self) -> Result<Does<'_>, String> {
        let all = [
            self.apply.as_ref().map(Does::Apply),
            self.create.as_ref().map(Does::Create),
            self.patch.as_ref().map(Does::Patch),
            self.patch_status.as_ref().map(Does::PatchStatus),
            self.scale.as_ref().map(Does::Scale),
            self.delete.as_ref().map(Does::Delete),
            self.drain.as_deref().map(Does::Drain),
            self.uses.as_deref().map(Does::Use),
        ];
        let mut said = all.into_iter().flatten();
        match (said.next(), said.next()) {
            (Some(one), None) => Ok(one),
            _ => Err("a step does one of apply, create, patch, patchStatus, scale, delete, drain, use, and no more".to_owned()),
        }
    }

    pub(super) fn check(&self) -> Result<(), String> {
        if self.after.is_some() && self.at.is_some() {
            return Err("a step comes after something or at a time, not both".to_owned());
        }
        match self.does()? {
            Does::Scale(scale) if !scale["replicas"].is_u64() => {
                Err("scale: replicas must be a whole number".to_owned())
            }
            Does::Apply(object)
            | Does::Create(object)
            | Does::Patch(object)
            | Does::PatchStatus(object)
            | Does::Scale(object)
            | Does::Delete(object) => names_an_object(object),
            Does::Drain(_) | Does::Use(_) => Ok(()),
        }
    }
}

/// Whether it says which object it is about.
pub(super) fn names_an_object(object: &Value) -> Result<(), String> {
    for pointer in ["/apiVersion", "/kind", "/metadata/name"] {
        if object.pointer(pointer).and_then(Value::as_str).is_none_or(str::is_empty) {
            let field = pointer[1..].replace('/', ".");
            return Err(format!("it names no object: {field} is missing"));
        }
    }
    Ok(())
}
