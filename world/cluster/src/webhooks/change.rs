//! What webhooks see of an object that is being written, and what becomes of it when they have changed it.

use serde_json::Value;

use super::{hook::Hook, review::write_options, shown::Shown};
use crate::{
    patch::{PatchType, patch},
    schema::unknown_field_message,
    status::Refusal,
    verbs::Work,
    world::meta,
};

/// A write as admission sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change<'a> {
    /// The object before; none for a new one.
    pub(crate) old: Option<&'a Value>,
    pub(crate) dry_run: bool,
    /// The object as it was sent, where mutating webhooks are to see it.
    pub(crate) sent: Option<&'a Value>,
}

/// What is given to a new object after mutating webhooks have seen it.
const GIVEN_LATER: [&str; 3] = ["uid", "creationTimestamp", "generation"];
/// What an update takes from the stored object after mutating webhooks have seen it.
const KEPT_LATER: [&str; 6] = [
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
];

impl Change<'_> {
    pub(super) fn options(&self, work: &Work<'_>) -> Value {
        let kind = if self.old.is_some() { "UpdateOptions" } else { "CreateOptions" };
        write_options(work.request, kind)
    }

    /// The object as mutating webhooks see it.
    pub(super) fn hide(&self, object: &Value) -> Value {
        let mut view = object.clone();
        let Some(sent) = self.sent else { return view };
        match self.old {
            None => {
                let unnamed = meta(sent, "name").is_empty();
                let later = GIVEN_LATER.into_iter().chain(unnamed.then_some("name"));
                later.for_each(|field| set(&mut view["metadata"], field, None));
            }
            Some(_) => {
                for field in KEPT_LATER {
                    set(&mut view["metadata"], field, sent["metadata"].get(field));
                }
            }
        }
        set(&mut view, "status", sent.get("status"));
        view
    }

    /// What they made of it, with what they did not see.
    pub(super) fn reveal(&self, object: &Value, mut view: Value) -> Value {
        if self.sent.is_none() || self.old.is_some() {
            return view;
        }
        let unnamed = meta(&view, "name").is_empty();
        for field in GIVEN_LATER.into_iter().chain(unnamed.then_some("name")) {
            set(&mut view["metadata"], field, object["metadata"].get(field));
        }
        set(&mut view, "status", object.get("status"));
        view
    }
}

fn set(object: &mut Value, field: &str, value: Option<&Value>) {
    match (value, object.as_object_mut()) {
        (Some(value), Some(fields)) => drop(fields.insert(field.to_owned(), value.clone())),
        (None, Some(fields)) => drop(fields.remove(field)),
        (_, None) => {}
    }
}

impl Work<'_> {
    /// Applies a webhook's patch; whether it changed anything. Errors: 500.
    pub(super) fn change(
        &mut self,
        hook: &Hook,
        shown: &Shown,
        operations: &Value,
        object: Option<&mut Value>,
    ) -> Result<bool, Refusal> {
        let (Some(object), Some(before)) = (object, &shown.object) else {
            return Err(Refusal::internal(format!(
                "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
                hook.name()
            )));
        };
        let schema = shown.other.as_ref().unwrap_or(&self.kind).schema();
        let patched = patch(PatchType::Json, before, operations, schema.as_ref());
        let patched = patched.map_err(|error| Refusal::internal(error.to_string()))?;
        let patched = self.as_decoded(patched, shown, false)?;
        let changed = patched != *before;
        *object = match &shown.other {
            Some(_) => self.convert(&patched, &self.kind.api_version())?,
            None => patched,
        };
        Ok(changed)
    }

    /// An object that was changed as JSON, as the server reads and defaults it. Errors: 500 for what is no object of the
    /// type, with `strict` also for fields that it does not have.
    pub(crate) fn as_decoded(
        &self,
        mut object: Value,
        shown: &Shown,
        strict: bool,
    ) -> Result<Value, Refusal> {
        let schema = shown.other.as_ref().unwrap_or(&self.kind).schema();
        let Some(schema) = schema.filter(|_| self.has_own_body()) else { return Ok(object) };
        if let Some(why) = schema.decode_error(&object) {
            return Err(Refusal::internal(why));
        }
        // Of a custom object unknown fields go when it is stored, and others still see them.
        if !self.kind.is_custom() {
            let unknown = schema.prune(&mut object);
            if strict && !unknown.is_empty() {
                let unknown: Vec<String> =
                    unknown.iter().map(|path| unknown_field_message(path)).collect();
                return Err(Refusal::internal(format!(
                    "strict decoding error: {}",
                    unknown.join(", ")
                )));
            }
        }
        schema.default(&mut object);
        schema.internalize(&mut object);
        crate::encoding::canonical(&mut object)
            .map_err(|error| Refusal::internal(error.to_string()))?;
        Ok(object)
    }

    /// Removes what webhooks and policies have put into a custom object and its schema doesn't know.
    pub(crate) fn prune_patched(&self, object: &mut Value) {
        if let Some(custom) = self.kind.custom().filter(|_| self.meets_any_hook()) {
            custom.schema.prune(object);
        }
    }

    /// Whether what is written has the type of its object (and not of a subresource of its own, like a Scale).
    fn has_own_body(&self) -> bool {
        let row = self.kind.row();
        row.subresource(&self.route.subresource).is_none_or(|below| below.kind == row.kind)
    }
}
