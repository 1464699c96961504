//! YAML and JSON as a tree in which everything knows where it is written.
//!
//! Built on the parser's events rather than on serde: assertion trees, templates and unknown keys need a
//! position for every key and value, and serde loses them wherever a shape is flattened or untagged.
//! JSON is read by the same parser (YAML is a superset, tabs included in flow context).

use std::{collections::HashMap, path::Path, sync::Arc};

use granit_parser::{Event, Parser, ScalarStyle, Span};
use serde_json::{Map, Number, Value};

use crate::{
    place::{LoadError, Place},
    scalar::{self, Dialect},
};

/// A value and its position.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Node {
    pub place: Place,
    pub content: Content,
}

/// What a node holds. Maps keep the order in which they are written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Content {
    Null,
    Bool(bool),
    Number(Number),
    Text(String),
    List(Vec<Node>),
    Map(Vec<Entry>),
}

/// One key of a map with its value.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub key: String,
    pub place: Place,
    pub value: Node,
}

impl Node {
    /// The value without positions.
    pub fn to_json(&self) -> Value {
        match &self.content {
            Content::Null => Value::Null,
            Content::Bool(value) => Value::Bool(*value),
            Content::Number(value) => Value::Number(value.clone()),
            Content::Text(value) => Value::String(value.clone()),
            Content::List(items) => items.iter().map(Node::to_json).collect(),
            Content::Map(entries) => Value::Object(
                entries.iter().map(|e| (e.key.clone(), e.value.to_json())).collect::<Map<_, _>>(),
            ),
        }
    }

    /// The entry of a map, if this is a map that has it.
    pub fn entry(&self, key: &str) -> Option<&Entry> {
        match &self.content {
            Content::Map(entries) => entries.iter().find(|entry| entry.key == key),
            _ => None,
        }
    }

    /// The value at a path of keys.
    pub fn at(&self, path: &[&str]) -> Option<&Node> {
        path.iter().try_fold(self, |node, key| node.entry(key).map(|entry| &entry.value))
    }

    /// The text, if it is one.
    pub fn text(&self) -> Option<&str> {
        match &self.content {
            Content::Text(text) => Some(text),
            _ => None,
        }
    }

    /// What it is, for messages.
    pub fn kind(&self) -> &'static str {
        match self.content {
            Content::Null => "empty",
            Content::Bool(_) => "a boolean",
            Content::Number(_) => "a number",
            Content::Text(_) => "a string",
            Content::List(_) => "a list",
            Content::Map(_) => "a map",
        }
    }
}

/// Reads all documents of a text; empty ones (only comments) are left out.
pub(crate) fn parse(file: &Path, text: &str) -> Result<Vec<Node>, LoadError> {
    parse_in(Dialect::Kubectl, file, text)
}

/// Reads all documents of a text in which scalars mean this.
pub(crate) fn parse_in(dialect: Dialect, file: &Path, text: &str) -> Result<Vec<Node>, LoadError> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut options = granit_parser::options! {};
    options.set_emit_comments(false);
    let mut reader = Reader {
        file: file.display().to_string().into(),
        parser: Parser::new_from_str_with_options(text, options),
        anchors: HashMap::new(),
        nodes: 0,
        dialect,
    };
    let mut documents = Vec::new();
    loop {
        let (event, span) = reader.next()?;
        match event {
            Event::StreamEnd => return Ok(documents),
            Event::DocumentStart(..) => {
                reader.anchors.clear();
                let (event, span) = reader.next()?;
                let node = reader.node(event, span)?;
                if node.content != Content::Null {
                    documents.push(node);
                }
            }
            Event::StreamStart | Event::DocumentEnd => {}
            _ => return Err(reader.place(&span).error("expected a document")),
        }
    }
}

/// Aliases are expanded by copying; a bomb of nested aliases must not fill the memory.
const NODES_MAX: usize = 2_000_000;

struct Reader<'text> {
    file: Arc<str>,
    parser: Parser<'text, granit_parser::StrInput<'text>>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    dialect: Dialect,
}

impl<'text> Reader<'text> {
    fn next(&mut self) -> Result<(Event<'text>, Span), LoadError> {
        match self.parser.next_event() {
            Some(Ok(pair)) => Ok(pair),
            Some(Err(error)) => {
                let marker = error.marker();
                Err(self.at(marker.line(), marker.col()).error(error.info()))
            }
            None => Err(self.at(0, 0).error("the text ends within a document")),
        }
    }

    fn at(&self, line: usize, column: usize) -> Place {
        Place { file: self.file.clone(), line: line as u32, column: column as u32 + 1 }
    }

    fn place(&self, span: &Span) -> Place {
        self.at(span.start.line(), span.start.col())
    }

    fn node(&mut self, event: Event<'text>, span: Span) -> Result<Node, LoadError> {
        let place = self.place(&span);
        self.nodes += 1;
        if self.nodes > NODES_MAX {
            return Err(place.error(format!("more than {NODES_MAX} values, aliases expanded")));
        }
        let (content, anchor) = match event {
            Event::Alias(id) => {
                let node = self.anchors.get(&id).cloned();
                let node = node.ok_or_else(|| place.error("an alias within its own anchor"))?;
                self.nodes += size(&node);
                return Ok(node);
            }
            Event::Scalar(text, style, anchor, tag) => {
                let tag = match tag.as_deref() {
                    None => None,
                    Some(tag) => Some(tag.core_suffix().map(str::to_owned).ok_or_else(|| {
                        let start = span.tag_start().unwrap_or(span.start);
                        let place = self.at(start.line(), start.col());
                        place.error(format!("tag {:?} is not supported", tag.original()))
                    })?),
                };
                (scalar_content(&place, &text, style, tag.as_deref(), self.dialect)?, anchor)
            }
            Event::SequenceStart(_, anchor, _) => (Content::List(self.list()?), anchor),
            Event::MappingStart(_, anchor, _) => (Content::Map(self.map()?), anchor),
            _ => return Err(place.error("expected a value")),
        };
        let node = Node { place, content };
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    fn list(&mut self) -> Result<Vec<Node>, LoadError> {
        let mut items = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::SequenceEnd {
                return Ok(items);
            }
            items.push(self.node(event, span)?);
        }
    }

    fn map(&mut self) -> Result<Vec<Entry>, LoadError> {
        let mut entries: Vec<Entry> = Vec::new();
        let mut merged: Vec<Entry> = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                break;
            }
            let is_merge =
                matches!(&event, Event::Scalar(text, ScalarStyle::Plain, _, None) if text == "<<");
            let key_node = self.node(event, span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            if is_merge {
                merge_sources(&value, &mut merged)?;
                continue;
            }
            let key = key_text(&key_node)?;
            if let Some(first) = entries.iter().find(|entry| entry.key == key) {
                let (line, column) = (first.place.line, first.place.column);
                let message = format!("duplicate key {key:?}, first given at {line}:{column}");
                return Err(key_node.place.error(message));
            }
            entries.push(Entry { key, place: key_node.place, value });
        }
        for entry in merged {
            if entries.iter().all(|own| own.key != entry.key) {
                entries.push(entry);
            }
        }
        Ok(entries)
    }
}

fn size(node: &Node) -> usize {
    match &node.content {
        Content::List(items) => 1 + items.iter().map(size).sum::<usize>(),
        Content::Map(entries) => 1 + entries.iter().map(|e| size(&e.value)).sum::<usize>(),
        _ => 1,
    }
}

fn merge_sources(value: &Node, merged: &mut Vec<Entry>) -> Result<(), LoadError> {
    match &value.content {
        Content::Map(entries) => merged.extend(entries.iter().cloned()),
        Content::List(maps) => {
            for map in maps {
                merge_sources(map, merged)?;
            }
        }
        _ => return Err(value.place.error("`<<` merges a map or a list of maps")),
    }
    Ok(())
}

/// JSON keys are strings: numbers and booleans are written out, as `sigs.k8s.io/yaml` does.
fn key_text(node: &Node) -> Result<String, LoadError> {
    match &node.content {
        Content::Text(text) => Ok(text.clone()),
        Content::Number(number) => Ok(number.to_string()),
        Content::Bool(value) => Ok(value.to_string()),
        _ => Err(node.place.error(format!("a key must be a string; it is {}", node.kind()))),
    }
}

fn scalar_content(
    place: &Place,
    text: &str,
    style: ScalarStyle,
    tag: Option<&str>,
    dialect: Dialect,
) -> Result<Content, LoadError> {
    let quoted = style != ScalarStyle::Plain;
    match tag {
        Some("str") => return Ok(Content::Text(text.to_owned())),
        Some("binary") => return Err(place.error("`!!binary` is not supported")),
        None if quoted => return Ok(Content::Text(text.to_owned())),
        _ => {}
    }
    match scalar::resolve(text, dialect) {
        Some(Value::Null) => Ok(Content::Null),
        Some(Value::Bool(value)) => Ok(Content::Bool(value)),
        Some(Value::Number(number)) => Ok(Content::Number(number)),
        Some(Value::String(text)) => Ok(Content::Text(text)),
        Some(_) => Ok(Content::Text(text.to_owned())),
        None => Err(place.error(format!("JSON has no number {text}"))),
    }
}
