//! What a write is meant to leave, by its body and by what was there before.

use std::borrow::Cow;

use serde_json::Value;
use trace::{Call, Verb};

use super::patch::{Failed, json_patch, merge_patch};

/// What is to be there afterwards.
#[derive(Debug, Clone, PartialEq)]
pub enum Meant<'c> {
    /// This object, and nothing else but what servers fill in.
    Whole(Cow<'c, Value>),
    /// This of the object, beside what was there.
    Part(Cow<'c, Value>),
    /// A refusal: a test of this place does not hold.
    Refusal(String),
    /// It can't be told.
    Nothing,
}

impl<'c> Meant<'c> {
    /// By a create, update or patch of what was there before, in the version in which it was sent.
    pub fn by(call: &'c Call, before: Option<&Value>) -> Meant<'c> {
        let Some(sent) = call.body.json() else { return Meant::Nothing };
        let kind = |kind: &str| call.verb == Verb::Patch && call.content_type.contains(kind);
        match (call.verb, before) {
            (Verb::Create | Verb::Update, _) => Meant::Whole(Cow::Borrowed(sent)),
            _ if kind("apply-patch") || kind("strategic-merge-patch") => {
                Meant::Part(Cow::Borrowed(sent))
            }
            (_, Some(before)) if kind("merge-patch") => {
                Meant::Whole(Cow::Owned(merge_patch(before, sent)))
            }
            (_, None) if kind("merge-patch") => Meant::Part(Cow::Borrowed(sent)),
            (_, Some(before)) if kind("json-patch") => {
                match sent.as_array().map(|steps| json_patch(before, steps)) {
                    Some(Ok(patched)) => Meant::Whole(Cow::Owned(patched)),
                    // On what it is based is looked at of all writes.
                    Some(Err(Failed::Test(place))) if place != "/metadata/resourceVersion" => {
                        Meant::Refusal(place)
                    }
                    Some(Err(_)) | None => Meant::Nothing,
                }
            }
            _ => Meant::Nothing,
        }
    }
}
