//! Types of expressions, those that a schema declares, and the signatures of operators and functions.

use std::{
    collections::BTreeMap,
    fmt,
    sync::{Arc, LazyLock},
};

use super::value::{RESERVED, escape};
use crate::schema::{Additional, Node, NodeId, Schema, Type};

/// A type of CEL's checker.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Ty {
    /// Known at run time only; goes with everything.
    Dyn,
    /// `int`, `string`, `google.protobuf.Timestamp`, `kubernetes.Quantity` …
    Plain(Arc<str>),
    List(Box<Ty>),
    Map(Box<Ty>, Box<Ty>),
    Optional(Box<Ty>),
    /// The type of a type.
    Type(Box<Ty>),
    /// A type parameter of a signature.
    Parameter(Arc<str>),
    /// An object of a schema: its node, and whether it is the root of a resource.
    Object(NodeId, bool),
    /// What rules see of the `metadata` of a resource: `name` and `generateName`.
    Metadata,
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Ty::Dyn => f.write_str("dyn"),
            Ty::Plain(name) => f.write_str(match &**name {
                "google.protobuf.Timestamp" => "timestamp",
                "google.protobuf.Duration" => "duration",
                "null_type" => "null",
                other => other,
            }),
            Ty::List(item) => write!(f, "list({item})"),
            Ty::Map(key, value) => write!(f, "map({key}, {value})"),
            Ty::Optional(inner) => write!(f, "optional_type({inner})"),
            Ty::Type(inner) => write!(f, "type({inner})"),
            Ty::Parameter(name) => write!(f, "<{name}>"),
            Ty::Object(..) | Ty::Metadata => f.write_str("object"),
        }
    }
}

impl Ty {
    pub(super) fn plain(name: &str) -> Ty {
        Ty::Plain(name.into())
    }

    pub(super) fn list(item: Ty) -> Ty {
        Ty::List(Box::new(item))
    }

    /// An optional of this; optionals don't nest in what rules select.
    pub(super) fn optional(self) -> Ty {
        match self {
            already @ Ty::Optional(_) => already,
            other => Ty::Optional(Box::new(other)),
        }
    }

    pub(super) fn is(&self, name: &str) -> bool {
        matches!(self, Ty::Plain(own) if **own == *name)
    }
}

/// The type that a schema declares (`SchemaDeclType`); `None` for what rules can't see.
pub(super) fn declared(schema: &Schema, id: NodeId, root: bool) -> Option<Ty> {
    let node = schema.node(id);
    if node.int_or_string {
        return Some(Ty::Dyn);
    }
    let below = |id: NodeId| declared(schema, id, schema.node(id).embedded_resource);
    match (node.kind, node.additional) {
        (Type::Array, _) => Some(Ty::list(below(node.items?)?)),
        (Type::Object, Additional::Values(values)) => {
            Some(Ty::Map(Box::new(Ty::plain("string")), Box::new(below(values)?)))
        }
        (Type::Object, _) => Some(Ty::Object(id, root)),
        (Type::String, _) => Some(Ty::plain(match node.format.as_deref() {
            Some("byte") => "bytes",
            Some("duration") => "google.protobuf.Duration",
            Some("date" | "date-time") => "google.protobuf.Timestamp",
            _ => "string",
        })),
        (Type::Boolean, _) => Some(Ty::plain("bool")),
        (Type::Number, _) => Some(Ty::plain("double")),
        (Type::Integer, _) => Some(Ty::plain("int")),
        (Type::Any, _) if root => Some(Ty::Object(id, true)),
        (Type::Any, _) => None,
    }
}

/// The property of an object node that rules call by this name, with its JSON name. Words of CEL can be written as they are,
/// or escaped.
pub(super) fn property<'a>(node: &'a Node, called: &str) -> Option<(&'a str, NodeId)> {
    let is_called = |name: &str| {
        escape(name).as_deref() == Some(called) || name == called && RESERVED.contains(&name)
    };
    let found = node.properties.iter().find(|(name, _)| is_called(name));
    found.map(|(name, id)| (name.as_str(), *id))
}

/// One signature of a function; a receiver is its first argument.
#[derive(Debug)]
pub(super) struct Overload {
    pub(super) member: bool,
    pub(super) arguments: Vec<Ty>,
    pub(super) result: Ty,
}

/// All signatures, by name.
pub(super) static FUNCTIONS: LazyLock<BTreeMap<&'static str, Vec<Overload>>> =
    LazyLock::new(|| {
        let mut all: BTreeMap<&str, Vec<Overload>> = BTreeMap::new();
        let table = include_str!("../../data/cel-functions.txt");
        for line in table.lines().filter(|line| !line.starts_with('#')) {
            let (name, overload) =
                signature(line).expect("the table is well-formed: a test reads it");
            all.entry(name).or_default().push(overload);
        }
        all
    });

/// `string .find(string) string`, `size(list(<A>)) int`.
fn signature(line: &'static str) -> Option<(&'static str, Overload)> {
    let (receiver, rest) = match line.split_once(" .") {
        Some((receiver, rest)) => (Some(receiver), rest),
        None => (None, line),
    };
    let (name, rest) = rest.split_once('(')?;
    let mut arguments: Vec<Ty> = receiver.map(parse).into_iter().collect::<Option<_>>()?;
    let close = closing(rest)?;
    for part in split(&rest[..close]) {
        arguments.push(parse(part)?);
    }
    let result = parse(rest[close + 1..].trim())?;
    Some((name, Overload { member: receiver.is_some(), arguments, result }))
}

/// Where the parenthesis closes that was opened before the text.
fn closing(text: &str) -> Option<usize> {
    let mut depth = 0;
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' if depth == 0 => return Some(at),
            ')' => depth -= 1,
            _ => {}
        }
    }
    None
}

/// Splits at commas outside of parentheses.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, letter) in text.char_indices() {
        match letter {
            '(' => depth += 1,
            ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if !text[start..].trim().is_empty() {
        parts.push(text[start..].trim());
    }
    parts
}

fn parse(text: &str) -> Option<Ty> {
    if let Some(name) = text.strip_prefix('<') {
        return Some(Ty::Parameter(name.strip_suffix('>')?.into()));
    }
    let Some((name, inner)) = text.split_once('(') else {
        return Some(if text == "dyn" { Ty::Dyn } else { Ty::plain(text) });
    };
    let inner: Vec<Ty> =
        split(inner.strip_suffix(')')?).into_iter().map(parse).collect::<Option<_>>()?;
    Some(match (name, &inner[..]) {
        ("list", [item]) => Ty::list(item.clone()),
        ("map", [key, value]) => Ty::Map(Box::new(key.clone()), Box::new(value.clone())),
        ("optional_type", [inner]) => Ty::Optional(Box::new(inner.clone())),
        ("type", [inner]) => Ty::Type(Box::new(inner.clone())),
        _ => return None,
    })
}

/// What type parameters stand for in one call.
pub(super) type Bindings = BTreeMap<Arc<str>, Ty>;

/// Whether a value of type `given` may stand where `wanted` is asked for; binds type parameters.
pub(super) fn goes(wanted: &Ty, given: &Ty, bound: &mut Bindings) -> bool {
    match (wanted, given) {
        (Ty::Parameter(_), Ty::Dyn) | (Ty::Dyn, _) | (_, Ty::Dyn) => true,
        (Ty::Parameter(name), given) => match bound.get(name).cloned() {
            None => {
                bound.insert(name.clone(), given.clone());
                true
            }
            Some(before) if before.is("null_type") => {
                bound.insert(name.clone(), given.clone());
                goes(given, &before, bound)
            }
            Some(before) => goes(&before, given, bound),
        },
        (Ty::List(wanted), Ty::List(given))
        | (Ty::Optional(wanted), Ty::Optional(given))
        | (Ty::Type(wanted), Ty::Type(given)) => goes(wanted, given, bound),
        (Ty::Map(key, value), Ty::Map(given_key, given_value)) => {
            goes(key, given_key, bound) && goes(value, given_value, bound)
        }
        (Ty::Object(..) | Ty::Metadata, Ty::Object(..) | Ty::Metadata) => true,
        (wanted, given) if given.is("null_type") => takes_null(wanted),
        (wanted, given) => wanted == given,
    }
}

/// Types whose values may be null for the checker.
fn takes_null(wanted: &Ty) -> bool {
    match wanted {
        Ty::Object(..) | Ty::Metadata | Ty::Optional(_) => true,
        Ty::Plain(name) => name.contains('.') || &**name == "null_type",
        _ => false,
    }
}

/// A signature's result, its parameters filled in.
pub(super) fn resolved(ty: &Ty, bound: &Bindings) -> Ty {
    let below = |ty: &Ty| Box::new(resolved(ty, bound));
    match ty {
        Ty::Parameter(name) => bound.get(name).cloned().unwrap_or(Ty::Dyn),
        Ty::List(item) => Ty::List(below(item)),
        Ty::Map(key, value) => Ty::Map(below(key), below(value)),
        Ty::Optional(inner) => Ty::Optional(below(inner)),
        Ty::Type(inner) => Ty::Type(below(inner)),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_reads_as_it_is_written() {
        let show = |name: &str| {
            let overloads = FUNCTIONS[name].iter();
            overloads.map(|one| {
                format!("{:?}", one.arguments.iter().map(Ty::to_string).collect::<Vec<_>>())
                    + " "
                    + &one.result.to_string()
            })
        };
        assert_eq!(
            show("getQuery").collect::<Vec<_>>(),
            [r#"["kubernetes.URL"] map(string, list(string))"#]
        );
        assert_eq!(show("@in").next_back().as_deref(), Some(r#"["<A>", "map(<A>, <B>)"] bool"#));
        assert_eq!(show("optional.none").collect::<Vec<_>>(), ["[] optional_type(<V>)"]);
    }
}
