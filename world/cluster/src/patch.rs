//! The patch types of the API: JSON patch, JSON merge patch, strategic merge patch. Pure: live object and
//! patch in, new object out. (Server-side apply is [`crate::apply`].)

mod json;
mod merge;
mod strategic;

use serde_json::Value;
pub(crate) use strategic::go_text;

use crate::schema::Schema;

/// What a PATCH request's content type asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PatchType {
    /// `application/json-patch+json`
    Json,
    /// `application/merge-patch+json`
    Merge,
    /// `application/strategic-merge-patch+json`; built-in types only.
    Strategic,
    /// `application/apply-patch+yaml`
    Apply,
}

/// A patch that can't be applied.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PatchError {
    /// The patch itself is no patch: 400 BadRequest.
    #[error("{0}")]
    BadRequest(String),
    /// Directives that make no sense, which upstream does not tell from failures of its own: 500.
    #[error("{0}")]
    Unclassified(String),
    /// The patch doesn't fit the object (failed test, missing path, copies of too much): 422 Invalid.
    #[error("{0}")]
    Unprocessable(String),
    /// The patch has more operations than allowed: 413 RequestEntityTooLarge.
    #[error("{0}")]
    TooLarge(String),
}

impl PatchError {
    /// Whether a test of a JSON patch found another value.
    pub fn is_failed_test(&self) -> bool {
        matches!(self, PatchError::Unprocessable(why) if why.ends_with(": test failed"))
    }

    /// The HTTP status code.
    pub fn code(&self) -> u16 {
        match self {
            PatchError::BadRequest(_) => 400,
            PatchError::Unclassified(_) => 500,
            PatchError::Unprocessable(_) => 422,
            PatchError::TooLarge(_) => 413,
        }
    }
}

impl PatchType {
    /// From a `Content-Type`; parameters are tolerated.
    pub fn parse(content_type: &str) -> Option<PatchType> {
        let bare = content_type.split(';').next().unwrap_or("").trim();
        match bare {
            "application/json-patch+json" => Some(PatchType::Json),
            "application/merge-patch+json" => Some(PatchType::Merge),
            "application/strategic-merge-patch+json" => Some(PatchType::Strategic),
            "application/apply-patch+yaml" => Some(PatchType::Apply),
            _ => None,
        }
    }

    /// The media types accepted for a type, for the 415 answer: `built_in` types take strategic patches.
    pub fn accepted(built_in: bool) -> Vec<&'static str> {
        let mut types = vec!["application/json-patch+json", "application/merge-patch+json"];
        if built_in {
            types.push("application/strategic-merge-patch+json");
        }
        types.push("application/apply-patch+yaml");
        types
    }
}

/// Applies a JSON, merge or strategic patch to `live`. `schema` decides how strategic patches merge
/// lists; for types without one they merge like JSON merge patches.
///
/// `PatchType::Apply` is not for this function; it is answered as a bad request.
pub fn patch(
    kind: PatchType,
    live: &Value,
    patch: &Value,
    schema: Option<&Schema>,
) -> Result<Value, PatchError> {
    match kind {
        PatchType::Json => json::apply(live, patch),
        PatchType::Merge => merge::apply(live, patch),
        PatchType::Strategic => strategic::apply(live, patch, schema),
        PatchType::Apply => {
            Err(PatchError::BadRequest("apply patches are merged by field managers".to_owned()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn content_types_name_patch_types() {
        let check = |text, expect| assert_eq!(PatchType::parse(text), expect, "{text}");
        check("application/merge-patch+json; charset=utf-8", Some(PatchType::Merge));
        check("application/json-patch+json", Some(PatchType::Json));
        check("application/strategic-merge-patch+json", Some(PatchType::Strategic));
        check("application/apply-patch+yaml", Some(PatchType::Apply));
        check("application/json", None);
    }
}
