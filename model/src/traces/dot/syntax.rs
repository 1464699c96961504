//! As much of the language DOT as state graphs are written in: statements with attributes, subgraphs flattened.
//!
//! Grammar: graphviz.org/doc/info/lang.html. Ports and HTML strings are not read.

use std::collections::BTreeMap;

use crate::traces::{
    error::{Place, Problem},
    literal::Cursor,
};

/// Attributes of a node or an edge.
pub(super) type Attributes = BTreeMap<String, String>;

/// A statement about nodes.
pub(super) struct Statement {
    pub(super) place: Place,
    /// One name for a node, several for edges from each to the next.
    pub(super) nodes: Vec<String>,
    pub(super) attributes: Attributes,
    /// The innermost subgraph that this is in, if it has a name.
    pub(super) subgraph: Option<String>,
}

/// Words that begin a statement about defaults.
const DEFAULTS: [&str; 3] = ["graph", "node", "edge"];

/// Reads a directed graph.
pub(super) fn read(text: &str) -> Result<Vec<Statement>, Problem> {
    let mut cursor = Cursor::new(text, 1, 1);
    word(&mut cursor, "strict");
    if !word(&mut cursor, "digraph") {
        return Err(cursor.expected("`digraph`"));
    }
    if !cursor.eat("{") {
        id(&mut cursor)?;
        need(&mut cursor, "{")?;
    }
    let mut statements = Vec::new();
    // Names of the subgraphs that are open, the graph itself first.
    let mut open = vec![None];
    while !open.is_empty() {
        if cursor.eat(";") || comment(&mut cursor) {
            continue;
        }
        if cursor.eat("}") {
            open.pop();
        } else if cursor.eat("{") {
            open.push(None);
        } else if word(&mut cursor, "subgraph") {
            let name = if cursor.eat("{") { None } else { Some(id(&mut cursor)?) };
            if name.is_some() {
                need(&mut cursor, "{")?;
            }
            open.push(name);
        } else if DEFAULTS.iter().any(|default| word(&mut cursor, default)) {
            attributes(&mut cursor)?;
        } else {
            let subgraph = open.iter().rev().find_map(Clone::clone);
            statements.extend(statement(&mut cursor, subgraph)?);
        }
    }
    Ok(statements)
}

/// A node, edges, or an attribute of the graph, which is none.
fn statement(
    cursor: &mut Cursor<'_>,
    subgraph: Option<String>,
) -> Result<Option<Statement>, Problem> {
    cursor.skip_space();
    let place = cursor.place();
    let mut nodes = vec![id(cursor)?];
    if cursor.eat("=") {
        id(cursor)?;
        return Ok(None);
    }
    while cursor.eat("->") {
        nodes.push(id(cursor)?);
    }
    let attributes = attributes(cursor)?;
    Ok(Some(Statement { place, nodes, attributes, subgraph }))
}

fn attributes(cursor: &mut Cursor<'_>) -> Result<Attributes, Problem> {
    let mut attributes = Attributes::new();
    while cursor.eat("[") {
        while !cursor.eat("]") {
            let name = id(cursor)?;
            need(cursor, "=")?;
            attributes.insert(name, id(cursor)?);
            // Between attributes there may be a comma, a semicolon, or nothing.
            let _ = cursor.eat(",") || cursor.eat(";");
        }
    }
    Ok(attributes)
}

fn need(cursor: &mut Cursor<'_>, token: &str) -> Result<(), Problem> {
    if cursor.eat(token) { Ok(()) } else { Err(cursor.expected(&format!("`{token}`"))) }
}

fn comment(cursor: &mut Cursor<'_>) -> bool {
    let rest = cursor.rest();
    let end = if rest.starts_with("//") || rest.starts_with('#') {
        rest.find('\n').unwrap_or(rest.len())
    } else if rest.starts_with("/*") {
        rest.find("*/").map_or(rest.len(), |at| at + 2)
    } else {
        return false;
    };
    cursor.take(end);
    true
}

/// Goes over `wanted`, if it is the next word.
fn word(cursor: &mut Cursor<'_>, wanted: &str) -> bool {
    cursor.skip_space();
    let rest = cursor.rest();
    let ends = |c: char| !is_bare(c);
    let there = rest.starts_with(wanted) && rest[wanted.len()..].chars().next().is_none_or(ends);
    if there {
        cursor.take(wanted.len());
    }
    there
}

fn is_bare(c: char) -> bool {
    c.is_alphanumeric() || c == '_' || c == '.'
}

/// A name or number as it is, or a string with what its escapes mean.
fn id(cursor: &mut Cursor<'_>) -> Result<String, Problem> {
    cursor.skip_space();
    if cursor.rest().starts_with('"') {
        return quoted(cursor);
    }
    let rest = cursor.rest();
    let sign = usize::from(rest.starts_with('-') && !rest.starts_with("->"));
    let end = rest[sign..].find(|c| !is_bare(c)).map_or(rest.len(), |at| at + sign);
    if end == sign {
        return Err(cursor.expected("a name"));
    }
    Ok(cursor.take(end).to_owned())
}

fn quoted(cursor: &mut Cursor<'_>) -> Result<String, Problem> {
    let place = cursor.place();
    cursor.take(1);
    let mut text = String::new();
    loop {
        let mut next = cursor.rest().chars();
        match (next.next(), next.next()) {
            (None, _) => {
                return Err(Problem { place, what: "this string has no end".to_owned() });
            }
            (Some('"'), _) => {
                cursor.take(1);
                return Ok(text);
            }
            // Ends of lines, centred, left and right.
            (Some('\\'), Some('n' | 'l' | 'r')) => {
                text.push('\n');
                cursor.take(2);
            }
            (Some('\\'), Some(escaped)) => {
                text.push(escaped);
                cursor.take(1 + escaped.len_utf8());
            }
            (Some(plain), _) => {
                text.push(plain);
                cursor.take(plain.len_utf8());
            }
        }
    }
}

/// `text` as a string of DOT.
pub(super) fn quote(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
    format!("\"{escaped}\"")
}
