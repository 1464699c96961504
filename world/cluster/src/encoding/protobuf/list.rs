//! Lists whose items are encoded one by one, so that what was made of an object once can be kept.

use serde_json::{Value, json};

use super::{ProtobufError, enveloped, message, write};
use crate::encoding::{
    types::{Kind, MessageId, types},
    wire::put_bytes,
};

/// The message of a list.
pub(crate) struct ListMessage<'a> {
    api_version: &'a str,
    kind: &'a str,
    id: MessageId,
    /// Number of the field `items`, which is the last one of every list.
    number: u32,
    /// Message of an item.
    item: MessageId,
}

impl<'a> ListMessage<'a> {
    /// The list of this name, such as `PodList` of `v1`. Errors: it has no message, as those of custom types.
    pub(crate) fn new(
        api_version: &'a str,
        kind: &'a str,
    ) -> Result<ListMessage<'a>, ProtobufError> {
        let id = message(api_version, kind)?;
        let fields = &types().messages[id].fields;
        let items = fields.last().filter(|field| field.json == "items" && field.repeated);
        match items.map(|items| (items.number, items.kind)) {
            Some((number, Kind::Message(item))) => {
                Ok(ListMessage { api_version, kind, id, number, item })
            }
            _ => Err(ProtobufError::UnknownKind {
                api_version: api_version.to_owned(),
                kind: kind.to_owned(),
            }),
        }
    }

    /// One item. Errors: a field has a type that the message doesn't have there.
    pub(crate) fn item(&self, object: &Value) -> Result<Box<[u8]>, ProtobufError> {
        let mut out = Vec::with_capacity(1024);
        write::message(&mut out, self.item, object)?;
        Ok(out.into_boxed_slice())
    }

    /// The whole, in its envelope. Errors: those of its items.
    pub(crate) fn encode<'b>(
        &self,
        metadata: &Value,
        items: impl Iterator<Item = Result<&'b [u8], ProtobufError>>,
    ) -> Result<Vec<u8>, ProtobufError> {
        let mut raw = Vec::new();
        write::message(&mut raw, self.id, &json!({"metadata": metadata}))?;
        for item in items {
            put_bytes(&mut raw, self.number, item?);
        }
        Ok(enveloped(self.api_version, self.kind, &raw))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::facts;

    #[test]
    fn every_built_in_list_is_one() {
        for version in facts::groups().iter().flat_map(|group| &group.versions) {
            for row in version.resources.iter().filter(|row| row.serves("list")) {
                let (api_version, kind) = (row.api_version(), format!("{}List", row.kind));
                assert!(ListMessage::new(&api_version, &kind).is_ok(), "{api_version} {kind}");
            }
        }
    }
}
