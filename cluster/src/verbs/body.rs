//! Reading request bodies.

use serde_json::Value;

use super::Work;
use crate::{
    encoding::{self, DecodeError},
    server::request::FieldValidation,
    status::Refusal,
};

impl Work<'_> {
    /// The object in the body. Fields that stand twice are told as `fieldValidation` says. Errors: 400,
    /// 413, 415.
    pub(super) fn read_object(&mut self) -> Result<Value, Refusal> {
        let object = self.read_value()?;
        if self.request.field_validation()? != FieldValidation::Ignore
            && !self.request.header("content-type").contains("protobuf")
        {
            let found = encoding::duplicate_fields(self.request.body()?);
            self.strict.extend(found.iter().map(|path| format!("duplicate field {path:?}")));
        }
        Ok(object)
    }

    /// The value in the body, whatever it is.
    pub(super) fn read_value(&self) -> Result<Value, Refusal> {
        let content_type = self.request.header("content-type");
        let content_type = (!content_type.is_empty()).then_some(content_type);
        encoding::decode(content_type, self.request.body()?).map_err(|error| match error {
            DecodeError::UnsupportedMediaType => {
                Refusal::new(415, "UnsupportedMediaType", error.to_string())
            }
            DecodeError::Malformed(message) => Refusal::bad_request(message),
        })
    }

    /// The `DeleteOptions` in the body, if there is one.
    pub(super) fn read_delete_options(&self) -> Result<Option<Value>, Refusal> {
        match self.request.body()?.is_empty() {
            true => Ok(None),
            false => self.read_value().map(Some),
        }
    }
}
