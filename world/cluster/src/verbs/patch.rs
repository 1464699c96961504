//! patch: JSON, merge and strategic patches on an object or subresource.
//!
//! There is one writer, so upstream's retry of a patch that lost a race has nothing to do here.

use serde_json::Value;

use super::{Outcome, Work, options};
use crate::{
    encoding,
    patch::{self, PatchError, PatchType},
    status::Refusal,
    world::meta,
};

impl Work<'_> {
    pub(super) fn patch(&mut self) -> Result<Outcome, Refusal> {
        let kind = self.patch_type()?;
        self.request.body()?;
        options::check_write(self.request, "PatchOptions", Some(kind))?;
        if kind == PatchType::Apply {
            return self.apply();
        }
        let dry_run = self.request.dry_run();
        let patch = self.read_patch()?;
        let old = self.stored()?;
        if self.route.subresource == "scale" {
            return self.patch_scale(&old, kind, &patch, dry_run);
        }
        let (shown, schema) = (self.present(&old)?, self.kind.schema());
        let patched = || patch::patch(kind, &shown, &patch, schema.as_ref());
        let mut new = patched().map_err(refused)?;
        // What is told is what the patch made, before anything else looked at it; it is made again where it is told.
        let unreadable = |work: &Self, refusal: Refusal| {
            let made = patched().map_or_else(|_| String::new(), |made| made.to_string());
            work.unreadable(refusal, &made)
        };
        self.check_identity(&mut new).map_err(|refusal| unreadable(self, refusal))?;
        self.shape(&mut new).map_err(|refusal| unreadable(self, refusal))?;
        self.check_path_name(&mut new)?;
        self.replace(&old, new, dry_run)
    }

    /// What a patch makes of a built-in object must still decode: else the patch is invalid, not the
    /// request (`applyJSPatch`). The object in the message is ours: its fields are in another order.
    fn unreadable(&self, refusal: Refusal, shown: &str) -> Refusal {
        let undecodable = refusal.message.contains("json: cannot unmarshal");
        if refusal.code != 400
            || (self.kind.is_custom() && !undecodable)
            || refusal.message.contains("namespace of the")
        {
            return refusal;
        }
        let wrapped = format!("cannot be handled as a {}: ", self.kind.row().kind);
        let why = refusal.message.split_once(&wrapped).map_or(&*refusal.message, |(_, why)| why);
        let kind = crate::schema::FieldErrorKind::Invalid;
        let value = Value::from(shown);
        let error = crate::schema::FieldError::with_value("patch", kind, &value, why);
        Refusal::invalid("", "", "", &[error])
    }

    pub(super) fn patch_type(&self) -> Result<PatchType, Refusal> {
        let built_in = !self.kind.is_custom();
        match PatchType::parse(self.request.header("content-type")) {
            Some(PatchType::Strategic) | None if !built_in => {
                Err(Refusal::unsupported_media_type(&PatchType::accepted(built_in)))
            }
            // Built-in types: upstream's router refuses it, before any of their code.
            None => Err(Refusal::new(415, "UnsupportedMediaType", "415: Unsupported Media Type")),
            Some(kind) => Ok(kind),
        }
    }

    pub(super) fn read_patch(&self) -> Result<Value, Refusal> {
        let body = self.request.body()?;
        let content_type = Some(self.request.header("content-type"));
        encoding::decode(content_type, body)
            .map_err(|error| Refusal::bad_request(error.to_string()))
    }

    /// Checks the uid that an applied object names, if it names one: it must be the object's.
    pub(super) fn check_applied_uid(&self, applied: &Value) -> Result<(), Refusal> {
        let uid = meta(applied, "uid");
        if uid.is_empty() {
            return Ok(());
        }
        let why = format!(
            "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
        );
        Err(Refusal::conflict(&self.kind.served(), &self.route.name, &why))
    }
}

/// A patch that can't be applied, as upstream tells it.
pub(super) fn refused(error: PatchError) -> Refusal {
    match error {
        PatchError::BadRequest(message) => Refusal::bad_request(message),
        PatchError::Unclassified(message) => Refusal::unclassified(message),
        PatchError::TooLarge(message) => Refusal::too_large(message),
        // What exactly does not fit is not told.
        PatchError::Unprocessable(_) => {
            let text = "the server rejected our request due to an error in our request";
            Refusal::new(422, "Invalid", text)
        }
    }
}
