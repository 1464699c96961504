//! Values as text: as Go prints them, as `printf` is told to, and as YAML.

use serde_json::Value;

/// `fmt.Sprint`, and `<no value>` for nil.
pub(super) fn text(value: &Value) -> String {
    match value {
        Value::Null => "<no value>".to_owned(),
        value => inner(value),
    }
}

fn inner(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => {
            let items: Vec<String> = list.iter().map(inner).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let pair = |(key, value): (&String, &Value)| format!("{key}:{}", inner(value));
            let pairs: Vec<String> = fields.iter().map(pair).collect();
            format!("map[{}]", pairs.join(" "))
        }
        other => other.to_string(),
    }
}

/// `fmt.Sprintf` with the verbs v, s, d, q, t, f, x, and widths. Errors: another verb, or too few arguments.
pub(super) fn formatted(format: &str, arguments: &[Value]) -> Result<String, String> {
    let (mut out, mut arguments, mut rest) = (String::new(), arguments.iter(), format);
    while let Some(at) = rest.find('%') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('%') {
            out.push('%');
            rest = after;
            continue;
        }
        let plain = |c: char| !(c.is_ascii_digit() || matches!(c, '.' | '-' | '+'));
        let length = rest.find(plain).ok_or("a % has no verb")?;
        let (flags, verb) = rest.split_at(length);
        let value = arguments.next().ok_or("it has more verbs than arguments")?;
        let verb = verb.chars().next().unwrap_or('v');
        out.push_str(&padded(flags, &one(verb, flags, value)?));
        rest = &rest[length + verb.len_utf8()..];
    }
    out.push_str(rest);
    match arguments.next() {
        Some(_) => Err("it has fewer verbs than arguments".to_owned()),
        None => Ok(out),
    }
}

fn one(verb: char, flags: &str, value: &Value) -> Result<String, String> {
    let wrong = || format!("%{verb} can't print {}", inner(value));
    match verb {
        'v' | 's' => Ok(inner(value)),
        'd' => value.as_i64().map(|n| n.to_string()).ok_or_else(wrong),
        't' => value.as_bool().map(|is| is.to_string()).ok_or_else(wrong),
        'q' => Ok(Value::from(inner(value)).to_string()),
        'x' => match (value.as_i64(), value) {
            (Some(n), _) => Ok(format!("{n:x}")),
            (_, Value::String(text)) => Ok(text.bytes().map(|b| format!("{b:02x}")).collect()),
            _ => Err(wrong()),
        },
        'f' => {
            let digits = flags.split_once('.').and_then(|(_, digits)| digits.parse().ok());
            let n = value.as_f64().ok_or_else(wrong)?;
            Ok(format!("{n:.*}", digits.unwrap_or(6)))
        }
        _ => Err(format!("%{verb} is not supported: use v, s, d, q, t, f or x")),
    }
}

fn padded(flags: &str, text: &str) -> String {
    let (left, rest) = (flags.starts_with('-'), flags.trim_start_matches(['-', '+']));
    let zero = rest.starts_with('0');
    let width = rest.split('.').next().and_then(|width| width.parse().ok()).unwrap_or(0);
    match (left, zero) {
        (true, _) => format!("{text:<width$}"),
        (false, true) => match text.strip_prefix('-') {
            Some(text) => format!("-{text:0>0$}", usize::saturating_sub(width, 1)),
            None => format!("{text:0>width$}"),
        },
        (false, false) => format!("{text:>width$}"),
    }
}

/// A value as YAML in blocks, with a line end; `YAML` of kwok.
pub(super) fn yaml(value: &Value) -> String {
    let mut out = String::new();
    block(value, 0, &mut out);
    out
}

fn block(value: &Value, indent: usize, out: &mut String) {
    let pad = "  ".repeat(indent);
    match value {
        Value::Object(fields) if !fields.is_empty() => {
            for (key, value) in fields {
                out.push_str(&format!("{pad}{}:", Value::from(&**key)));
                below(value, indent + 1, out);
            }
        }
        Value::Array(list) if !list.is_empty() => {
            for value in list {
                out.push_str(&format!("{pad}-"));
                below(value, indent + 1, out);
            }
        }
        // A text of JSON is one of YAML.
        other => out.push_str(&format!("{pad}{other}\n")),
    }
}

fn below(value: &Value, indent: usize, out: &mut String) {
    let nested = match value {
        Value::Object(fields) => !fields.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => false,
    };
    if nested {
        out.push('\n');
        block(value, indent, out);
    } else {
        out.push_str(&format!(" {value}\n"));
    }
}
