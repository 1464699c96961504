//! Reading request bodies.

use serde_json::Value;

use super::Work;
use crate::{
    encoding::{self, DecodeError},
    server::request::FieldValidation,
    status::Refusal,
};

/// Bytes of an unreadable body that its refusal shows.
const SHOWN_OF_BODY_BYTES: usize = 30;

impl Work<'_> {
    /// The object in the body. Fields that stand twice are told as `fieldValidation` says. Errors: 400,
    /// 413, 415.
    pub(super) fn read_object(&mut self) -> Result<Value, Refusal> {
        let object = self.decode()?.map_err(|why| self.unrecognized(&why))?;
        if self.request.field_validation() != FieldValidation::Ignore
            && !self.request.header("content-type").contains("protobuf")
        {
            let found = encoding::duplicate_fields(self.request.body()?);
            self.strict.extend(found.iter().map(|path| format!("duplicate field {path:?}")));
        }
        Ok(object)
    }

    /// The value in the body, or why there is none.
    fn decode(&self) -> Result<Result<Value, String>, Refusal> {
        let content_type = self.request.header("content-type");
        let content_type = (!content_type.is_empty()).then_some(content_type);
        match encoding::decode(content_type, self.request.body()?) {
            Ok(value) => Ok(Ok(value)),
            Err(DecodeError::Malformed(message)) => Ok(Err(message)),
            Err(error @ DecodeError::UnsupportedMediaType) => {
                Err(Refusal::new(415, "UnsupportedMediaType", error.to_string()))
            }
        }
    }

    /// What is said of bytes that are no object (`transformDecodeError`).
    fn unrecognized(&self, why: &str) -> Refusal {
        let row = self.kind.row();
        let below = row.subresource(&self.route.subresource);
        let kind = below.map_or(&row.kind, |below| &below.kind);
        let shown = self.request.body().map_or_else(|_| String::new(), |body| summary(body));
        Refusal::bad_request(format!(
            "the object provided is unrecognized (must be of type {kind}): {why} ({shown})"
        ))
    }

    /// The `DeleteOptions` in the body, if there is one.
    pub(super) fn read_delete_options(&self) -> Result<Option<Value>, Refusal> {
        match self.request.body()?.is_empty() {
            true => Ok(None),
            false => self.decode()?.map(Some).map_err(Refusal::bad_request),
        }
    }
}

/// The beginning of a body in a message, in hexadecimal unless it looks like JSON (`summarizeData`).
pub(super) fn summary(body: &[u8]) -> String {
    let start = &body[..body.len().min(SHOWN_OF_BODY_BYTES)];
    let more = if start.len() < body.len() { " ..." } else { "" };
    match body.first() {
        None => "<empty>".to_owned(),
        Some(b'{') => format!("{}{more}", String::from_utf8_lossy(start)),
        Some(_) => {
            let digits: String = start.iter().map(|byte| format!("{byte:02x}")).collect();
            format!("{digits}{more}")
        }
    }
}
