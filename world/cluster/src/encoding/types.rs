//! The messages of Kubernetes, from `descriptors.binpb` (a FileDescriptorSet of all API protos), `older-messages.txt`
//! (those that are only in older ones) and `go-json.txt` (what Go's JSON does with each field). Read once, on first use.

use std::{
    collections::{BTreeMap, HashMap},
    sync::OnceLock,
};

use super::wire::{Fields, Malformed, Payload};
use crate::facts;

const DESCRIPTORS: &[u8] = include_bytes!("../../data/descriptors.binpb");
const OLDER: &str = include_str!("../../data/older-messages.txt");
const GO_JSON: &str = include_str!("../../data/go-json.txt");

/// Index of a message.
pub(super) type MessageId = usize;

/// One message.
#[derive(Debug)]
pub(super) struct Message {
    pub(super) special: Special,
    /// In order of number.
    pub(super) fields: Vec<Field>,
}

/// Messages whose JSON is no object of their fields.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Special {
    None,
    Quantity,
    IntOrString,
    Time,
    MicroTime,
    Duration,
    /// Field 1 holds JSON bytes (or, for RawExtension, an enveloped protobuf object).
    RawJson,
    SchemaOrBool,
    SchemaOrArray,
    SchemaOrStrings,
    /// A named Go slice: the only field is `items`.
    Wrapper,
}

/// One field.
#[derive(Debug)]
pub(super) struct Field {
    pub(super) number: u32,
    pub(super) json: &'static str,
    pub(super) kind: Kind,
    pub(super) repeated: bool,
    /// Kind of the values of a map; keys are strings.
    pub(super) map: bool,
    /// A Go pointer: absent and zero differ.
    pub(super) pointer: bool,
    /// No `omitempty`.
    pub(super) always: bool,
    /// `omitzero`
    pub(super) omit_zero: bool,
    /// Its JSON fields stand in the outer object.
    pub(super) inline: bool,
}

/// Type of a field (of the values, for lists and maps).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Bool,
    Integer,
    Double,
    String,
    Bytes,
    Message(MessageId),
}

/// All messages.
pub(super) struct Types {
    pub(super) messages: Vec<Message>,
    by_name: HashMap<&'static str, MessageId>,
}

/// The table.
pub(super) fn types() -> &'static Types {
    static TYPES: OnceLock<Types> = OnceLock::new();
    TYPES.get_or_init(|| read().expect("the descriptors of this crate are well formed"))
}

/// The message of a kind, by `apiVersion`. Options and the like (`DeleteOptions`, `Status`) are known in
/// every group, as upstream registers them so.
pub(super) fn message_of(api_version: &str, kind: &str) -> Option<MessageId> {
    const META: &str = "k8s.io.apimachinery.pkg.apis.meta.v1";
    let (group, version) = facts::split_api_version(api_version);
    // `k8s.io.api.apps.v1` is for `apps` only, never for a custom `apps.example.com`.
    let others = ["meta.k8s.io", "admission.k8s.io", "extensions"];
    if facts::group(group).is_none() && !others.contains(&group) {
        return None;
    }
    let package = match group {
        "" => format!("k8s.io.api.core.{version}"),
        "meta.k8s.io" => META.to_owned(),
        "apiextensions.k8s.io" => {
            format!("k8s.io.apiextensions_apiserver.pkg.apis.apiextensions.{version}")
        }
        "apiregistration.k8s.io" => {
            format!("k8s.io.kube_aggregator.pkg.apis.apiregistration.{version}")
        }
        "internal.apiserver.k8s.io" => format!("k8s.io.api.apiserverinternal.{version}"),
        _ => format!("k8s.io.api.{}.{version}", group.split('.').next()?),
    };
    let by_name = &types().by_name;
    let own = by_name.get(format!("{package}.{kind}").as_str());
    let shared = || {
        let shared = matches!(
            kind,
            "DeleteOptions"
                | "CreateOptions"
                | "UpdateOptions"
                | "PatchOptions"
                | "ListOptions"
                | "GetOptions"
                | "Status"
                | "List"
                | "APIVersions"
                | "APIGroup"
                | "APIGroupList"
                | "APIResourceList"
        );
        shared.then(|| by_name.get(format!("{META}.{kind}").as_str())).flatten()
    };
    own.or_else(shared).copied()
}

/// Whether there is a message of this full name.
pub(super) fn has_message(name: &str) -> bool {
    types().by_name.contains_key(name)
}

/// A field as the descriptor has it; types are resolved when all messages are known.
struct RawField {
    number: u32,
    name: &'static str,
    repeated: bool,
    scalar: Option<Kind>,
    type_name: &'static str,
}

struct RawMessage {
    name: String,
    fields: Vec<RawField>,
    map_entry: bool,
}

fn text(bytes: &'static [u8]) -> &'static str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

fn read() -> Result<Types, Malformed> {
    let mut raws = Vec::new();
    for file in Fields(DESCRIPTORS) {
        let (1, Payload::Bytes(file)) = file? else { continue };
        let mut package = "";
        for field in Fields(file) {
            match field? {
                (2, Payload::Bytes(name)) => package = text(name),
                (4, Payload::Bytes(message)) => read_message(package, message, &mut raws)?,
                _ => {}
            }
        }
    }
    raws.extend(OLDER.lines().filter(|line| !line.starts_with('#')).filter_map(older_message));
    Ok(resolve(raws))
}

/// A line of `older-messages.txt`.
fn older_message(line: &'static str) -> Option<RawMessage> {
    let (name, fields) = line.split_once(' ')?;
    let fields = fields.split(' ').filter_map(|field| older_field(name, field)).collect();
    Some(RawMessage { name: name.to_owned(), fields, map_entry: false })
}

fn older_field(message: &'static str, text: &'static str) -> Option<RawField> {
    let (number, rest) = text.split_once(':')?;
    let (name, kind) = rest.split_once(':')?;
    let (repeated, kind) = kind.strip_prefix("[]").map_or((false, kind), |item| (true, item));
    let scalar = match kind {
        "string" => Some(Kind::String),
        "int32" | "int64" => Some(Kind::Integer),
        _ => None,
    };
    let type_name = match kind.contains('.') {
        true => kind,
        false => format!("{}.{kind}", message.rsplit_once('.')?.0).leak(),
    };
    Some(RawField { number: number.parse().ok()?, name, repeated, scalar, type_name })
}

fn read_message(
    scope: &str,
    bytes: &'static [u8],
    raws: &mut Vec<RawMessage>,
) -> Result<(), Malformed> {
    let mut name = String::new();
    let mut fields = Vec::new();
    let mut nested = Vec::new();
    let mut map_entry = false;
    for field in Fields(bytes) {
        match field? {
            (1, Payload::Bytes(own)) => name = format!("{scope}.{}", text(own)),
            (2, Payload::Bytes(field)) => fields.push(read_field(field)?),
            (3, Payload::Bytes(message)) => nested.push(message),
            // MessageOptions.map_entry
            (7, Payload::Bytes(options)) => {
                map_entry = Fields(options)
                    .any(|option| matches!(option, Ok((7, Payload::Varint(value))) if value != 0));
            }
            _ => {}
        }
    }
    for message in nested {
        read_message(&name, message, raws)?;
    }
    raws.push(RawMessage { name, fields, map_entry });
    Ok(())
}

fn read_field(bytes: &'static [u8]) -> Result<RawField, Malformed> {
    let mut raw = RawField { number: 0, name: "", repeated: false, scalar: None, type_name: "" };
    for field in Fields(bytes) {
        match field? {
            (1, Payload::Bytes(name)) => raw.name = text(name),
            (3, Payload::Varint(number)) => raw.number = number as u32,
            (4, Payload::Varint(label)) => raw.repeated = label == 3,
            (5, Payload::Varint(kind)) => {
                raw.scalar = match kind {
                    1 => Some(Kind::Double),
                    3 | 4 | 5 | 13 => Some(Kind::Integer),
                    8 => Some(Kind::Bool),
                    9 => Some(Kind::String),
                    12 => Some(Kind::Bytes),
                    _ => None,
                }
            }
            (6, Payload::Bytes(name)) => raw.type_name = text(name).trim_start_matches('.'),
            _ => {}
        }
    }
    Ok(raw)
}

/// What `go-json.txt` says about one field.
#[derive(Clone, Copy)]
struct Flags {
    json: &'static str,
    pointer: bool,
    always: bool,
    omit_zero: bool,
    inline: bool,
}

fn go_flags() -> HashMap<&'static str, BTreeMap<&'static str, Flags>> {
    let lines = GO_JSON.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut words = line.split(' ');
            let message = words.next()?;
            Some((message, words.map(flags).collect()))
        })
        .collect()
}

fn flags(word: &'static str) -> (&'static str, Flags) {
    let (inline, word) = word.strip_prefix('<').map_or((false, word), |rest| (true, rest));
    let names = word.trim_end_matches(['*', '!', '0']);
    let marks = &word[names.len()..];
    let (proto, json) = names.split_once(':').unwrap_or((names, names));
    let has = |mark| marks.contains(mark);
    let flags = Flags { json, pointer: has('*'), always: has('!'), omit_zero: has('0'), inline };
    (proto, flags)
}

fn resolve(raws: Vec<RawMessage>) -> Types {
    let raws: Vec<(&'static str, RawMessage)> =
        raws.into_iter().map(|raw| (&*raw.name.clone().leak(), raw)).collect();
    let by_name: HashMap<&'static str, MessageId> =
        raws.iter().enumerate().map(|(id, (name, _))| (*name, id)).collect();
    let flags = go_flags();
    let kind = |field: &RawField| match field.scalar {
        Some(kind) => Some(kind),
        None => by_name.get(field.type_name).map(|id| Kind::Message(*id)),
    };
    let messages = raws
        .iter()
        .map(|(name, raw)| {
            let own = flags.get(name);
            let mut fields: Vec<Field> = raw
                .fields
                .iter()
                .filter_map(|raw| {
                    let flags = own.and_then(|own| own.get(raw.name));
                    let entry = by_name.get(raw.type_name).map(|id| &raws[*id].1);
                    let entry = entry.filter(|entry| entry.map_entry);
                    let value = entry.and_then(|entry| entry.fields.iter().find(|f| f.number == 2));
                    Some(Field {
                        number: raw.number,
                        json: flags.map_or(raw.name, |flags| flags.json),
                        kind: kind(value.unwrap_or(raw))?,
                        repeated: raw.repeated && entry.is_none(),
                        map: entry.is_some(),
                        pointer: flags.is_some_and(|flags| flags.pointer),
                        always: flags.is_some_and(|flags| flags.always),
                        omit_zero: flags.is_some_and(|flags| flags.omit_zero),
                        inline: flags.is_some_and(|flags| flags.inline),
                    })
                })
                .collect();
            fields.sort_by_key(|field| field.number);
            Message { special: special(name, &fields), fields }
        })
        .collect();
    Types { messages, by_name }
}

fn special(name: &str, fields: &[Field]) -> Special {
    match name.rsplit('.').next().unwrap_or(name) {
        "Quantity" => Special::Quantity,
        "IntOrString" => Special::IntOrString,
        "Time" => Special::Time,
        "MicroTime" => Special::MicroTime,
        "Duration" => Special::Duration,
        "RawExtension" | "FieldsV1" => Special::RawJson,
        "JSON" if name.contains("apiextensions") => Special::RawJson,
        "JSONSchemaPropsOrBool" => Special::SchemaOrBool,
        "JSONSchemaPropsOrArray" => Special::SchemaOrArray,
        "JSONSchemaPropsOrStringArray" => Special::SchemaOrStrings,
        _ => match fields {
            [only] if only.json == "items" && only.repeated && only.kind == Kind::String => {
                Special::Wrapper
            }
            _ => Special::None,
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_built_in_kind_has_a_message() {
        for version in facts::groups().iter().flat_map(|group| &group.versions) {
            for row in &version.resources {
                assert!(message_of(&row.api_version(), &row.kind).is_some(), "{}", row.kind);
                if row.serves("list") {
                    let list = format!("{}List", row.kind);
                    assert!(message_of(&row.api_version(), &list).is_some(), "{list}");
                }
            }
        }
        for older in crate::facts::older::served("1.21".parse().unwrap()) {
            for kind in [older.row.kind.clone(), format!("{}List", older.row.kind)] {
                assert!(message_of(&older.row.api_version(), &kind).is_some(), "{kind}");
            }
        }
        assert!(message_of("apps/v1", "DeleteOptions").is_some());
        assert!(message_of("v1", "Status").is_some());
        assert!(message_of("meta.k8s.io/v1", "PartialObjectMetadataList").is_some());
        assert!(message_of("example.com/v1", "Foo").is_none());
        assert!(message_of("apps.example.com/v1", "Deployment").is_none());
    }

    #[test]
    fn go_flags_name_fields_that_exist() {
        let known = types();
        for (name, fields) in go_flags() {
            let Some(&id) = known.by_name.get(name) else { continue };
            let message = &known.messages[id];
            if message.special != Special::None {
                continue;
            }
            for (proto, flags) in fields {
                let found = message.fields.iter().any(|field| field.json == flags.json);
                assert!(found, "{name} has no field {proto}");
            }
        }
    }
}
