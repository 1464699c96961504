//! Values as YAML-like lines, for people: never parsed again.

use serde_json::Value;

/// Appends `value` as block YAML; `indent` in levels of two spaces.
pub(super) fn block(out: &mut String, value: &Value, indent: usize) {
    match value {
        Value::Object(map) => {
            for (key, inner) in map {
                pad(out, indent);
                out.push_str(&text(key));
                after_key(out, inner, indent);
            }
        }
        Value::Array(items) => {
            for item in items {
                pad(out, indent);
                out.push('-');
                element(out, item, indent);
            }
        }
        scalar => {
            pad(out, indent);
            line(out, scalar);
        }
    }
}

fn after_key(out: &mut String, value: &Value, indent: usize) {
    out.push(':');
    match value {
        Value::Object(map) if !map.is_empty() => {
            out.push('\n');
            block(out, value, indent + 1);
        }
        // kubectl does not indent lists below their key.
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(out, value, indent);
        }
        Value::String(string) if is_block(string) => {
            out.push_str(" |\n");
            for line in string.lines() {
                pad(out, indent + 1);
                out.push_str(line);
                out.push('\n');
            }
        }
        scalar => {
            out.push(' ');
            line(out, scalar);
        }
    }
}

fn element(out: &mut String, item: &Value, indent: usize) {
    match item {
        Value::Object(map) if !map.is_empty() => {
            for (at, (key, inner)) in map.iter().enumerate() {
                if at == 0 {
                    out.push(' ');
                } else {
                    pad(out, indent + 1);
                }
                out.push_str(&text(key));
                after_key(out, inner, indent + 1);
            }
        }
        Value::Array(items) if !items.is_empty() => {
            out.push('\n');
            block(out, item, indent + 1);
        }
        scalar => {
            out.push(' ');
            line(out, scalar);
        }
    }
}

fn line(out: &mut String, scalar: &Value) {
    match scalar {
        Value::String(string) => out.push_str(&text(string)),
        other => out.push_str(&other.to_string()),
    }
    out.push('\n');
}

fn pad(out: &mut String, indent: usize) {
    for _ in 0..indent {
        out.push_str("  ");
    }
}

/// Long texts of several lines are shown line by line, so that a diff shows the line that differs.
fn is_block(string: &str) -> bool {
    let clean =
        |line: &str| !line.ends_with([' ', '\r', '\t']) && !line.chars().any(char::is_control);
    string.trim_end_matches('\n').contains('\n')
        && string.ends_with('\n')
        && !string.starts_with([' ', '\n'])
        && !string.ends_with("\n\n")
        && string.lines().all(clean)
}

/// Plain where YAML reads it back as the same string, else in quotes.
fn text(string: &str) -> String {
    let plain = !string.is_empty()
        && string.parse::<f64>().is_err()
        && !matches!(
            string.to_ascii_lowercase().as_str(),
            "true" | "false" | "null" | "~" | "yes" | "no" | "on" | "off" | "y" | "n"
        )
        && !string.starts_with([
            '-', '?', ':', ',', '[', ']', '{', '}', '#', '&', '*', '!', '|', '>', '\'', '"', '%',
            '@', '`', ' ', '=',
        ])
        && !string.starts_with(|first: char| first.is_ascii_digit())
        && !string.ends_with([' ', ':'])
        && !string.contains(": ")
        && !string.contains(" #")
        && !string.chars().any(char::is_control);
    if plain || string == crate::comparison::MASKED {
        string.to_owned()
    } else {
        Value::from(string).to_string()
    }
}
