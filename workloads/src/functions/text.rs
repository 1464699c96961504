//! Functions of strings.

use base64::{Engine, prelude::BASE64_STANDARD};
use jmespath::{Rcvar, Runtime, Variable, functions::ArgumentType};

use super::{add, int, shown, string, text, whole};

pub(super) fn register(runtime: &mut Runtime) {
    use ArgumentType::{Any, Number as Num, String as Text};
    let text_or_number = || ArgumentType::Union(vec![Text, Num]);
    // The crate's own writes whole floats, which its arithmetic gives, with a fraction.
    add(runtime, "to_string", [Any], |a| Ok(text(shown(&a[0]))));
    add(runtime, "as_string", [Any], |a| Ok(a[0].as_string().map_or(Variable::Null, text)));
    add(runtime, "base64_decode", [Text], |a| {
        let bytes = BASE64_STANDARD.decode(string(&a[0])).map_err(|error| error.to_string())?;
        String::from_utf8(bytes).map(Variable::String).map_err(|error| error.to_string())
    });
    add(runtime, "base64_encode", [Text], |a| Ok(text(BASE64_STANDARD.encode(string(&a[0])))));
    add(runtime, "compare", [Text, Text], |a| Ok(int(string(&a[0]).cmp(string(&a[1])) as i64)));
    add(runtime, "concat", [Text, Text], |a| {
        Ok(text(format!("{}{}", string(&a[0]), string(&a[1]))))
    });
    add(runtime, "equal_fold", [Text, Text], |a| {
        Ok(Variable::Bool(string(&a[0]).to_lowercase() == string(&a[1]).to_lowercase()))
    });
    for name in ["lower", "to_lower"] {
        add(runtime, name, [Text], |a| Ok(text(string(&a[0]).to_lowercase())));
    }
    for name in ["upper", "to_upper"] {
        add(runtime, name, [Text], |a| Ok(text(string(&a[0]).to_uppercase())));
    }
    add(runtime, "pattern_match", [Text, text_or_number()], |a| {
        Ok(Variable::Bool(wildcard(string(&a[0]), &shown(&a[1]))))
    });
    add(runtime, "wildcard", [Text, Text], |a| {
        Ok(Variable::Bool(wildcard(string(&a[0]), string(&a[1]))))
    });
    add(runtime, "regex_match", [Text, text_or_number()], |a| {
        Ok(Variable::Bool(regex(string(&a[0]))?.is_match(&shown(&a[1]))))
    });
    let three = || [Text, text_or_number(), text_or_number()];
    add(runtime, "regex_replace_all", three(), |a| {
        let (source, by) = (shown(&a[1]), shown(&a[2]));
        Ok(text(regex(string(&a[0]))?.replace_all(&source, by.as_str())))
    });
    add(runtime, "regex_replace_all_literal", three(), |a| {
        let (source, by) = (shown(&a[1]), shown(&a[2]));
        Ok(text(regex(string(&a[0]))?.replace_all(&source, regex::NoExpand(&by))))
    });
    add(runtime, "replace", [Text, Text, Text, Num], |a| {
        let (source, from, to) = (string(&a[0]), string(&a[1]), string(&a[2]));
        Ok(text(match whole(&a[3])? {
            count if count < 0 => source.replace(from, to),
            count => source.replacen(from, to, count as usize),
        }))
    });
    add(runtime, "replace_all", [Text, Text, Text], |a| {
        Ok(text(string(&a[0]).replace(string(&a[1]), string(&a[2]))))
    });
    add(runtime, "semver_compare", [Text, Text], |a| semver_compare(string(&a[0]), string(&a[1])));
    add(runtime, "split", [Text, Text], |a| {
        let parts = string(&a[0]).split(string(&a[1])).map(|part| Rcvar::new(text(part)));
        Ok(Variable::Array(parts.collect()))
    });
    add(runtime, "to_boolean", [Text], |a| match string(&a[0]).to_lowercase().as_str() {
        "true" => Ok(Variable::Bool(true)),
        "false" => Ok(Variable::Bool(false)),
        other => Err(format!("{other:?} is neither true nor false")),
    });
    add(runtime, "trim", [Text, Text], |a| {
        Ok(text(string(&a[0]).trim_matches(|c| string(&a[1]).contains(c))))
    });
    add(runtime, "trim_prefix", [Text, Text], |a| {
        let source = string(&a[0]);
        Ok(text(source.strip_prefix(string(&a[1])).unwrap_or(source)))
    });
    add(runtime, "trim_space", [Text], |a| Ok(text(string(&a[0]).trim())));
    add(runtime, "truncate", [Text, Num], |a| {
        let length = usize::try_from(whole(&a[1])?).unwrap_or(0);
        Ok(text(string(&a[0]).chars().take(length).collect::<String>()))
    });
}

fn regex(pattern: &str) -> Result<regex::Regex, String> {
    regex::Regex::new(pattern).map_err(|error| error.to_string())
}

/// `*` any characters, `?` one character.
fn wildcard(pattern: &str, text: &str) -> bool {
    let (pattern, text): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), text.chars().collect());
    let (mut p, mut t, mut star) = (0, 0, None);
    while t < text.len() {
        if p < pattern.len() && pattern[p] == '*' {
            star = Some((p, t));
            p += 1;
        } else if p < pattern.len() && (pattern[p] == '?' || pattern[p] == text[t]) {
            (p, t) = (p + 1, t + 1);
        } else if let Some((at, from)) = star {
            star = Some((at, from + 1));
            (p, t) = (at + 1, from + 1);
        } else {
            return false;
        }
    }
    pattern[p..].iter().all(|character| *character == '*')
}

/// Ranges as `>=1.2.3 <2.0.0`, joined by spaces (and) or ` || ` (or); pre-releases are not ordered.
fn semver_compare(version: &str, range: &str) -> Result<Variable, String> {
    let parse = |text: &str| -> Result<[u64; 3], String> {
        let core = text.trim().trim_start_matches('v').split(['-', '+']).next().unwrap_or_default();
        let mut parts = [0; 3];
        for (index, part) in core.split('.').enumerate() {
            let slot = parts.get_mut(index).ok_or_else(|| format!("{text:?} is no version"))?;
            *slot = part.parse().map_err(|_| format!("{text:?} is no version"))?;
        }
        Ok(parts)
    };
    let version = parse(version)?;
    for alternative in range.split("||") {
        let mut all = true;
        for bound in alternative.split_whitespace() {
            let digits =
                bound.find(|c: char| c.is_ascii_digit() || c == 'v').unwrap_or(bound.len());
            let order = version.cmp(&parse(&bound[digits..])?);
            all &= match &bound[..digits] {
                "" | "=" | "==" => order.is_eq(),
                "!" | "!=" => order.is_ne(),
                ">" => order.is_gt(),
                ">=" => order.is_ge(),
                "<" => order.is_lt(),
                "<=" => order.is_le(),
                other => return Err(format!("unknown comparison {other:?}")),
            };
        }
        if all {
            return Ok(Variable::Bool(true));
        }
    }
    Ok(Variable::Bool(false))
}
