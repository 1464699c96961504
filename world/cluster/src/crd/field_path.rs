//! A rule's `fieldPath` (`ValidFieldPath`): `.a.b` and `['a']`, nothing else, and only fields that are there.

use crate::schema::{Additional, NodeId, Schema};

/// The path as upstream prints it; `None` if it names nothing in the schema.
pub(crate) fn read(schema: &Schema, node: NodeId, path: &str) -> Option<String> {
    let (mut node, mut rest, mut out) = (schema.node(node), path, String::new());
    while !rest.is_empty() {
        let (name, after) = part(rest)?;
        let id = match (node.properties.is_empty(), node.additional) {
            (false, _) => {
                out.push_str(if out.is_empty() { "" } else { "." });
                out.push_str(&name);
                *node.properties.get(&name)?
            }
            (true, Additional::Values(id)) => {
                out.push_str(&format!("[{name}]"));
                id
            }
            _ => return None,
        };
        (node, rest) = (schema.node(id), after);
    }
    Some(out)
}

/// The first part of a path, and what is behind it.
fn part(path: &str) -> Option<(String, &str)> {
    if let Some(rest) = path.strip_prefix('.') {
        let end = rest.find(['.', '[', ']']).unwrap_or(rest.len());
        return (end > 0).then(|| (rest[..end].to_owned(), &rest[end..]));
    }
    let quoted = path.strip_prefix("['")?;
    let (mut name, mut letters) = (String::new(), quoted.char_indices());
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\'' => return Some((name, quoted[at + 1..].strip_prefix(']')?)),
            '\\' => name.push(unescaped(letters.next()?.1)?),
            other => name.push(other),
        }
    }
    None
}

fn unescaped(letter: char) -> Option<char> {
    Some(match letter {
        'a' => '\u{7}',
        'b' => '\u{8}',
        'f' => '\u{c}',
        'n' => '\n',
        'r' => '\r',
        't' => '\t',
        'v' => '\u{b}',
        '\'' => '\'',
        '\\' => '\\',
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::schema::Gvk;

    #[test]
    fn only_fields_that_are_there() {
        let gvk = Gvk { group: "g".into(), version: "v1".into(), kind: "K".into() };
        let schema = json!({"type": "object", "properties": {"a": {"type": "object", "properties": {
            "x.y": {"type": "string"}, "m": {"type": "object", "additionalProperties": {"type": "string"}}}}}});
        let schema = Schema::custom(&gvk, Some(&schema)).unwrap();
        let check = |path: &str, expect: Option<&str>| {
            assert_eq!(read(&schema, schema.root_id(), path).as_deref(), expect, "{path}");
        };
        check(".a", Some("a"));
        check(".a['x.y']", Some("a.x.y"));
        check(".a.m['k\\'']", Some("a.m[k']"));
        check(".b", None);
        check("a", None);
        check(".a[0]", None);
        check(".a..m", None);
    }
}
