//! How big values can be by their schema (`k8s.io/apiserver/pkg/cel/common.SchemaDeclType`): as it limits them, or as
//! many as a request can hold.

use super::{ITEMS, KEYS, Range, VALUES};
use crate::{
    cel::types::{declared, property},
    schema::{Additional, Limits, Node, NodeId, Schema, Type},
};

/// The longest request in bytes.
const REQUEST: u64 = 3 * 1024 * 1024;
/// The longest text in it, between its quotes; or what is between the brackets of a list.
const TEXT: u64 = REQUEST - 2;
/// Bytes of a character at most.
const CHARACTER: u64 = 4;

/// Sizes of the values below `self`.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes<'a> {
    pub(crate) schema: &'a Schema,
    pub(crate) node: NodeId,
    /// Whether it is the root of a resource.
    pub(crate) root: bool,
}

/// Where a path leads.
#[derive(Clone, Copy)]
enum Place {
    /// A node, and whether it is the root of a resource.
    Node(NodeId, bool),
    /// What rules see of the metadata of a resource: `name` and `generateName`.
    Metadata,
    /// A text of which nothing more is said.
    Text,
    /// A key of a map.
    Key,
}

impl Sizes<'_> {
    /// The size of what a path leads to, whose first part is a variable; none if it leads nowhere.
    pub(super) fn of(&self, path: &[String]) -> Option<Range> {
        let mut place = Place::Node(self.node, self.root);
        for step in path.get(1..)? {
            place = self.step(place, step)?;
        }
        let max = match place {
            Place::Node(id, _) => self.most(id),
            Place::Text => TEXT,
            Place::Metadata | Place::Key => 0,
        };
        Some(Range { min: 0, max })
    }

    /// How many values of this sort a request can hold (`maxCardinality`).
    pub(crate) fn count(&self) -> u64 {
        REQUEST / (self.least(self.node, self.root) + 1)
    }

    fn is_root(&self, id: NodeId) -> bool {
        self.schema.node(id).embedded_resource
    }

    fn step(&self, from: Place, step: &str) -> Option<Place> {
        let (id, root) = match (from, step) {
            (Place::Node(id, root), _) => (id, root),
            (Place::Metadata, "name" | "generateName") => return Some(Place::Text),
            _ => return None,
        };
        let node = self.schema.node(id);
        let below = match (node.kind, node.additional) {
            _ if node.int_or_string => return None,
            (Type::Array, _) => node.items?,
            (Type::Object, Additional::Values(values)) => values,
            (Type::Object, _) | (Type::Any, _) => return self.field(node, root, step),
            _ => return None,
        };
        match step {
            ITEMS | VALUES => Some(Place::Node(below, self.is_root(below))),
            KEYS if node.kind == Type::Object => Some(Place::Key),
            _ => None,
        }
    }

    fn field(&self, node: &Node, root: bool, name: &str) -> Option<Place> {
        match name {
            "apiVersion" | "kind" if root => return Some(Place::Text),
            "metadata" if root => return Some(Place::Metadata),
            _ => {}
        }
        let (_, id) = property(node, name)?;
        declared(self.schema, id, self.is_root(id))?;
        Some(Place::Node(id, self.is_root(id)))
    }

    /// The highest number of characters, items or entries (`MaxElements`); of what has none of these, 0.
    fn most(&self, id: NodeId) -> u64 {
        let node = self.schema.node(id);
        let limit = |of: fn(&Limits) -> Option<u64>| node.limits.as_deref().and_then(of);
        let characters = || limit(|limits| limits.max_length);
        let text = || characters().map(|count| count.saturating_mul(CHARACTER));
        let least = |id: NodeId| self.least(id, self.is_root(id));
        if node.int_or_string {
            return text().unwrap_or(TEXT);
        }
        match (node.kind, node.additional) {
            (Type::Array, _) => limit(|limits| limits.max_items)
                .unwrap_or_else(|| TEXT / (node.items.map_or(0, least) + 1)),
            (Type::Object, Additional::Values(values)) => {
                limit(|limits| limits.max_properties).unwrap_or_else(|| TEXT / (least(values) + 6))
            }
            (Type::String, _) => match node.format.as_deref() {
                Some("byte") => characters().unwrap_or(TEXT),
                Some("duration" | "date-time") => 32,
                Some("date") => 12,
                _ => text().or_else(|| longest_choice(node)).unwrap_or(TEXT),
            },
            _ => 0,
        }
    }

    /// How many bytes a value takes at least (`MinSerializedSize`).
    fn least(&self, id: NodeId, root: bool) -> u64 {
        let node = self.schema.node(id);
        if node.int_or_string {
            return 1;
        }
        match (node.kind, node.additional) {
            (Type::Array, _) | (Type::Object, Additional::Values(_)) => 2,
            (Type::Object, _) | (Type::Any, _) => self.least_of_object(node, root),
            (Type::String, _) => match node.format.as_deref() {
                Some("duration") => 3,
                Some("date") => 12,
                Some("date-time") => 21,
                _ => 2,
            },
            (Type::Boolean, _) => 4,
            (Type::Number | Type::Integer, _) => 1,
        }
    }

    /// Braces, and of all that has to be sent: its name, quotes, colon and comma, and its value.
    fn least_of_object(&self, node: &Node, root: bool) -> u64 {
        let value = |name: &str| -> Option<u64> {
            if root && matches!(name, "apiVersion" | "kind" | "metadata") {
                return Some(2);
            }
            let &id = node.properties.get(name)?;
            declared(self.schema, id, self.is_root(id))?;
            let sent = self.schema.node(id).default.is_none();
            sent.then(|| self.least(id, self.is_root(id)))
        };
        let sizes = node.required.iter().filter_map(|name| {
            let name_and_value = name.len() as u64 + value(name)?;
            Some(name_and_value + 4)
        });
        2 + sizes.sum::<u64>()
    }
}

/// The length of the longest of the texts that are allowed, where they are listed.
fn longest_choice(node: &Node) -> Option<u64> {
    let allowed = &node.limits.as_deref()?.allowed;
    let lengths = allowed.iter().filter_map(|choice| Some(choice.as_str()?.len() as u64));
    (!allowed.is_empty()).then(|| lengths.max().unwrap_or(0))
}
