//! The OpenAPI v2 document as gnostic's `openapi.v2.Document`, which old kubectl and client-go ask for
//! (`application/com.github.proto-openapi.spec.v2@v1.0+protobuf`). proto3: empty values are not written.
//! Field numbers are those of gnostic's `OpenAPIv2.proto`; only members that occur are known here.

use serde_json::{Map, Value};

use crate::encoding::wire::{put_bytes, put_fixed64, put_number};

/// Grows one message.
#[derive(Default)]
struct Message(Vec<u8>);

impl Message {
    fn bytes(mut self, number: u32, bytes: &[u8]) -> Message {
        put_bytes(&mut self.0, number, bytes);
        self
    }

    fn text(self, number: u32, value: Option<&Value>) -> Message {
        match value.and_then(Value::as_str).filter(|text| !text.is_empty()) {
            Some(text) => self.bytes(number, text.as_bytes()),
            None => self,
        }
    }

    fn texts(self, number: u32, value: Option<&Value>) -> Message {
        let list = value.and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str);
        list.fold(self, |message, text| message.bytes(number, text.as_bytes()))
    }

    fn flag(mut self, number: u32, value: Option<&Value>) -> Message {
        if value == Some(&Value::Bool(true)) {
            put_number(&mut self.0, number, 1);
        }
        self
    }

    fn integer(mut self, number: u32, value: Option<&Value>) -> Message {
        if let Some(value) = value.and_then(Value::as_i64).filter(|value| *value != 0) {
            put_number(&mut self.0, number, value as u64);
        }
        self
    }

    fn double(mut self, number: u32, value: Option<&Value>) -> Message {
        if let Some(value) = value.and_then(Value::as_f64).filter(|value| *value != 0.0) {
            put_fixed64(&mut self.0, number, value.to_bits());
        }
        self
    }

    fn message(self, number: u32, value: Option<Message>) -> Message {
        match value {
            Some(value) => self.bytes(number, &value.0),
            None => self,
        }
    }

    fn messages(self, number: u32, values: impl IntoIterator<Item = Message>) -> Message {
        values.into_iter().fold(self, |message, value| message.bytes(number, &value.0))
    }

    /// `x-…` members, as `NamedAny`.
    fn extensions(self, number: u32, fields: &Value) -> Message {
        let fields = fields.as_object().into_iter().flatten();
        let own = fields.filter(|(name, _)| name.starts_with("x-"));
        self.messages(number, own.map(|(name, value)| named(name, any(value))))
    }
}

/// `Any`: its YAML, of which JSON is a part.
fn any(value: &Value) -> Message {
    Message::default().bytes(2, format!("{value}\n").as_bytes())
}

fn named(name: &str, value: Message) -> Message {
    Message::default().bytes(1, name.as_bytes()).bytes(2, &value.0)
}

/// One `Named…` for each member of an object.
fn each(value: Option<&Value>, make: fn(&Value) -> Message) -> Vec<Message> {
    let fields = value.and_then(Value::as_object).into_iter().flatten();
    fields.map(|(name, value)| named(name, make(value))).collect()
}

/// A message whose only field is a list of `Named…`.
fn table(value: Option<&Value>, number: u32, make: fn(&Value) -> Message) -> Option<Message> {
    value?;
    Some(Message::default().messages(number, each(value, make)))
}

/// Encodes the JSON form of the document.
pub(super) fn encode(document: &Value) -> Vec<u8> {
    let get = |name: &str| document.get(name);
    let security = get("security").and_then(Value::as_array).into_iter().flatten();
    Message::default()
        .text(1, get("swagger"))
        .message(
            2,
            get("info").map(|info| {
                Message::default().text(1, info.get("title")).text(2, info.get("version"))
            }),
        )
        .message(8, table(get("paths"), 2, path_item))
        .message(9, table(get("definitions"), 1, schema))
        .message(10, table(get("parameters"), 1, parameter))
        .messages(
            12,
            security.map(|requirement| {
                let scopes = |scopes: &Value| Message::default().texts(1, Some(scopes));
                Message::default().messages(1, each(Some(requirement), scopes))
            }),
        )
        .message(13, table(get("securityDefinitions"), 1, security_definition))
        .extensions(16, document)
        .0
}

fn security_definition(value: &Value) -> Message {
    let key = Message::default()
        .text(1, value.get("type"))
        .text(2, value.get("name"))
        .text(3, value.get("in"));
    Message::default().message(2, Some(key))
}

fn path_item(value: &Value) -> Message {
    let methods = ["get", "put", "post", "delete", "options", "head", "patch"];
    let mut message = Message::default();
    for (number, method) in (2..).zip(methods) {
        message = message.message(number, value.get(method).map(operation));
    }
    message.messages(9, parameters(value)).extensions(10, value)
}

fn operation(value: &Value) -> Message {
    let get = |name: &str| value.get(name);
    let responses = get("responses").map(|responses| {
        Message::default().messages(
            1,
            each(Some(responses), |response| {
                let item =
                    |schema: &Value| Message::default().message(1, Some(self::schema(schema)));
                let response = Message::default()
                    .text(1, response.get("description"))
                    .message(2, response.get("schema").map(item));
                Message::default().message(1, Some(response))
            }),
        )
    });
    Message::default()
        .texts(1, get("tags"))
        .text(2, get("summary"))
        .text(3, get("description"))
        .text(5, get("operationId"))
        .texts(6, get("produces"))
        .texts(7, get("consumes"))
        .messages(8, parameters(value))
        .message(9, responses)
        .texts(10, get("schemes"))
        .flag(11, get("deprecated"))
        .extensions(13, value)
}

/// `ParametersItem`s.
fn parameters(value: &Value) -> Vec<Message> {
    let list = value.get("parameters").and_then(Value::as_array).into_iter().flatten();
    list.map(|value| match value.get("$ref") {
        Some(target) => {
            let reference = Message::default().text(1, Some(target));
            Message::default().message(2, Some(reference))
        }
        None => Message::default().message(1, Some(parameter(value))),
    })
    .collect()
}

fn parameter(value: &Value) -> Message {
    let get = |name: &str| value.get(name);
    let place = get("in").and_then(Value::as_str).unwrap_or("");
    if place == "body" {
        let body = Message::default()
            .text(1, get("description"))
            .text(2, get("name"))
            .text(3, get("in"))
            .flag(4, get("required"))
            .message(5, get("schema").map(schema))
            .extensions(6, value);
        return Message::default().message(1, Some(body));
    }
    // Query and form parameters have one more field, `allowEmptyValue`, before the type.
    let (number, shift) = match place {
        "header" => (1, 0),
        "formData" => (2, 1),
        "query" => (3, 1),
        _ => (4, 0),
    };
    let inner = Message::default()
        .flag(1, get("required"))
        .text(2, get("in"))
        .text(3, get("description"))
        .text(4, get("name"))
        .text(5 + shift, get("type"))
        .text(6 + shift, get("format"))
        .flag(19 + shift, get("uniqueItems"))
        .extensions(22 + shift, value);
    let non_body = Message::default().message(number, Some(inner));
    Message::default().message(2, Some(non_body))
}

fn schema(value: &Value) -> Message {
    let get = |name: &str| value.get(name);
    let list = |name: &str| get(name).and_then(Value::as_array).into_iter().flatten();
    let additional = get("additionalProperties").map(|additional| match additional {
        Value::Bool(_) => Message::default().flag(2, Some(additional)),
        other => Message::default().message(1, Some(schema(other))),
    });
    let kind = get("type").map(|kind| match kind {
        Value::Array(_) => Message::default().texts(1, Some(kind)),
        other => Message::default().text(1, Some(other)),
    });
    let items = get("items").map(|items| Message::default().message(1, Some(schema(items))));
    Message::default()
        .text(1, get("$ref"))
        .text(2, get("format"))
        .text(3, get("title"))
        .text(4, get("description"))
        .message(5, get("default").map(any))
        .double(6, get("multipleOf"))
        .double(7, get("maximum"))
        .flag(8, get("exclusiveMaximum"))
        .double(9, get("minimum"))
        .flag(10, get("exclusiveMinimum"))
        .integer(11, get("maxLength"))
        .integer(12, get("minLength"))
        .text(13, get("pattern"))
        .integer(14, get("maxItems"))
        .integer(15, get("minItems"))
        .flag(16, get("uniqueItems"))
        .integer(17, get("maxProperties"))
        .integer(18, get("minProperties"))
        .texts(19, get("required"))
        .messages(20, list("enum").map(any))
        .message(21, additional)
        .message(22, kind)
        .message(23, items)
        .messages(24, list("allOf").map(schema))
        .message(
            25,
            get("properties")
                .filter(|value| is_filled(value))
                .and_then(|value| table(Some(value), 1, schema)),
        )
        .extensions(31, value)
}

fn is_filled(value: &Value) -> bool {
    value.as_object().is_some_and(|fields: &Map<String, Value>| !fields.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::encoding::wire::{Fields, Payload};

    /// The bytes of a field, by a path of numbers; the first occurrence each time.
    fn find<'a>(bytes: &'a [u8], path: &[u32]) -> Option<&'a [u8]> {
        let [first, rest @ ..] = path else { return Some(bytes) };
        let inner = Fields(bytes).find_map(|field| match field {
            Ok((number, Payload::Bytes(bytes))) if number == *first => Some(bytes),
            _ => None,
        });
        find(inner?, rest)
    }

    #[test]
    fn documents_are_gnostic() {
        let bytes = encode(&json!({
            "swagger": "2.0",
            "info": {"title": "t", "version": "v"},
            "paths": {"/a": {"get": {"operationId": "read", "x-kubernetes-action": "get",
                "parameters": [{"$ref": "#/parameters/p"}]}}},
            "definitions": {"D": {"type": "object", "required": ["x"],
                "properties": {"x": {"type": "string", "default": ""}}}},
        }));
        let check = |path: &[u32], expect: &str| {
            let found = find(&bytes, path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
            assert_eq!(found.as_deref(), Some(expect), "{path:?}");
        };
        check(&[1], "2.0");
        check(&[2, 1], "t");
        check(&[8, 2, 1], "/a");
        check(&[8, 2, 2, 2, 5], "read");
        check(&[8, 2, 2, 2, 8, 2, 1], "#/parameters/p");
        check(&[8, 2, 2, 2, 13, 1], "x-kubernetes-action");
        check(&[8, 2, 2, 2, 13, 2, 2], "\"get\"\n");
        check(&[9, 1, 1], "D");
        check(&[9, 1, 2, 22, 1], "object");
        check(&[9, 1, 2, 25, 1, 2, 5, 2], "\"\"\n");
    }
}
