//! What templates can call: Go's own functions, kwok's, and the plain ones of sprig.

use serde_json::{Map, Value, json};

use super::{arithmetic, compare, equal, print, truth};
use crate::steps::Surroundings;

/// All of them.
pub(super) const NAMES: &[&str] = &[
    // Go's.
    "and",
    "or",
    "not",
    "index",
    "slice",
    "len",
    "print",
    "printf",
    "println",
    "eq",
    "ne",
    "lt",
    "le",
    "gt",
    "ge", // kwok's.
    "Quote",
    "Now",
    "StartTime",
    "YAML",
    "Version",
    "NodeConditions",
    "NodeIP",
    "NodeName",
    "NodePort",
    "NodeIPWith",
    "NodeIPsWith",
    "PodIP",
    "PodIPWith",
    "PodIPsWith",
    // sprig's.
    "dict",
    "list",
    "default",
    "empty",
    "coalesce",
    "ternary",
    "quote",
    "squote",
    "toString",
    "trim",
    "trimPrefix",
    "trimSuffix",
    "lower",
    "upper",
    "contains",
    "hasPrefix",
    "hasSuffix",
    "replace",
    "join",
    "first",
    "last",
    "has",
    "hasKey",
    "get",
    "keys",
    "toJson",
    "indent",
    "nindent",
    "repeat",
    "trunc",
    "fail",
    "add",
    "add1",
    "sub",
    "mul",
    "div",
    "mod",
    "min",
    "max",
    "int",
    "int64",
    "atoi",
];

/// A function by its name.
pub(super) fn known(name: &str) -> Option<&'static str> {
    NAMES.iter().find(|known| **known == name).copied()
}

/// Calls one. Errors: wrong arguments.
pub(super) fn call(
    name: &str,
    arguments: &[Value],
    object: &Value,
    around: &mut dyn Surroundings,
) -> Result<Value, String> {
    if let Some(result) = arithmetic::call(name, arguments) {
        return result;
    }
    if let Some(result) = kwok(name, arguments, object, around)? {
        return Ok(result);
    }
    if let Some(result) = texts(name, arguments)? {
        return Ok(result);
    }
    logic(name, arguments)
}

/// An argument. Errors: there are too few.
fn at(arguments: &[Value], index: usize) -> Result<&Value, String> {
    arguments.get(index).ok_or_else(|| format!("it wants more than {index} arguments"))
}

/// An argument as text, as sprig's `strval` makes it.
fn text(arguments: &[Value], index: usize) -> Result<String, String> {
    let value = at(arguments, index)?;
    Ok(if value.is_null() { String::new() } else { print::text(value) })
}

fn whole(arguments: &[Value], index: usize) -> Result<usize, String> {
    let value = at(arguments, index)?;
    let whole = value.as_u64().and_then(|n| usize::try_from(n).ok());
    whole.ok_or_else(|| format!("{} is no whole number", print::text(value)))
}

fn logic(name: &str, arguments: &[Value]) -> Result<Value, String> {
    let last = || arguments.last().cloned().unwrap_or_default();
    let holds = |is: bool| Ok(Value::Bool(is));
    match name {
        // Whatever would have decided earlier did; a piped argument comes last.
        "or" => Ok(arguments.iter().find(|value| truth(value)).cloned().unwrap_or_else(last)),
        "and" => Ok(arguments.iter().find(|value| !truth(value)).cloned().unwrap_or_else(last)),
        "not" => holds(!truth(at(arguments, 0)?)),
        "empty" => holds(!truth(at(arguments, 0)?)),
        "default" => {
            let given = arguments.get(1).filter(|given| truth(given));
            Ok(given.unwrap_or(at(arguments, 0)?).clone())
        }
        "coalesce" => Ok(arguments.iter().find(|value| truth(value)).cloned().unwrap_or_default()),
        "ternary" => at(arguments, if truth(at(arguments, 2)?) { 0 } else { 1 }).cloned(),
        "eq" => {
            let left = at(arguments, 0)?;
            at(arguments, 1)?;
            let mut all = arguments[1..].iter().map(|right| equal(left, right));
            all.try_fold(false, |any, one| Ok(any || one?)).map(Value::Bool)
        }
        "ne" => holds(!equal(at(arguments, 0)?, at(arguments, 1)?)?),
        "lt" | "le" | "gt" | "ge" => {
            let order = compare(at(arguments, 0)?, at(arguments, 1)?)?;
            holds(match name {
                "lt" => order.is_lt(),
                "le" => order.is_le(),
                "gt" => order.is_gt(),
                _ => order.is_ge(),
            })
        }
        "index" => {
            let mut value = at(arguments, 0)?;
            for key in &arguments[1..] {
                value = index(value, key)?;
            }
            Ok(value.clone())
        }
        "get" => Ok(at(arguments, 0)?[&*text(arguments, 1)?].clone()),
        "hasKey" => holds(at(arguments, 0)?.get(text(arguments, 1)?).is_some()),
        "has" => holds(at(arguments, 1)?.as_array().is_some_and(|l| l.contains(&arguments[0]))),
        "keys" => {
            let fields = at(arguments, 0)?.as_object();
            Ok(fields.into_iter().flat_map(Map::keys).map(|key| json!(key)).collect())
        }
        "slice" => slice(arguments),
        "len" => match at(arguments, 0)? {
            Value::String(text) => Ok(json!(text.len())),
            Value::Array(list) => Ok(json!(list.len())),
            Value::Object(fields) => Ok(json!(fields.len())),
            other => Err(format!("{} has no length", print::text(other))),
        },
        "list" => Ok(arguments.to_vec().into()),
        "first" => Ok(at(arguments, 0)?[0].clone()),
        "last" => {
            Ok(at(arguments, 0)?.as_array().and_then(|l| l.last()).cloned().unwrap_or_default())
        }
        "dict" => {
            let pairs = arguments.chunks(2);
            Ok(pairs
                .map(|pair| (print::text(&pair[0]), pair.get(1).cloned().unwrap_or(json!(""))))
                .collect::<Map<_, _>>()
                .into())
        }
        _ => Err("it is not there".to_owned()),
    }
}

/// An element of a list or a field. Errors: as Go's.
fn index<'a>(value: &'a Value, key: &Value) -> Result<&'a Value, String> {
    match (value, key) {
        (Value::Object(fields), Value::String(key)) => Ok(fields.get(key).unwrap_or(&Value::Null)),
        (Value::Array(list), Value::Number(key)) => {
            let at = key.as_u64().and_then(|key| list.get(usize::try_from(key).ok()?));
            at.ok_or_else(|| format!("index out of range: {key}"))
        }
        (Value::Null, _) => Err("index of untyped nil".to_owned()),
        _ => Err(format!("can't index {} with {}", print::text(value), print::text(key))),
    }
}

fn slice(arguments: &[Value]) -> Result<Value, String> {
    let of = at(arguments, 0)?;
    let begin = if arguments.len() > 1 { whole(arguments, 1)? } else { 0 };
    let end = if arguments.len() > 2 { Some(whole(arguments, 2)?) } else { None };
    let wrong = || "it is out of range".to_owned();
    match of {
        Value::String(text) => {
            let part = text.get(begin..end.unwrap_or(text.len()));
            part.map(Value::from).ok_or_else(wrong)
        }
        Value::Array(list) => {
            let part = list.get(begin..end.unwrap_or(list.len()));
            part.map(|part| part.to_vec().into()).ok_or_else(wrong)
        }
        other => Err(format!("{} can't be sliced", print::text(other))),
    }
}

fn texts(name: &str, arguments: &[Value]) -> Result<Option<Value>, String> {
    let one = || text(arguments, 0);
    let two = || text(arguments, 1);
    let value = match name {
        "print" => json!(arguments.iter().map(print::text).collect::<String>()),
        "println" => {
            json!(arguments.iter().map(print::text).collect::<Vec<_>>().join(" ") + "\n")
        }
        "printf" => json!(print::formatted(&one()?, &arguments[1..])?),
        "toString" => json!(one()?),
        "toJson" => json!(at(arguments, 0)?.to_string()),
        "quote" => {
            let some = arguments.iter().filter(|value| !value.is_null());
            json!(
                some.map(|v| Value::from(print::text(v)).to_string()).collect::<Vec<_>>().join(" ")
            )
        }
        "squote" => {
            let some = arguments.iter().filter(|value| !value.is_null());
            json!(some.map(|v| format!("'{}'", print::text(v))).collect::<Vec<_>>().join(" "))
        }
        "trim" => json!(one()?.trim()),
        "trimPrefix" => json!(two()?.strip_prefix(&*one()?).unwrap_or(&two()?)),
        "trimSuffix" => json!(two()?.strip_suffix(&*one()?).unwrap_or(&two()?)),
        "lower" => json!(one()?.to_lowercase()),
        "upper" => json!(one()?.to_uppercase()),
        // The text itself comes last, for pipelines.
        "contains" => json!(two()?.contains(&one()?)),
        "hasPrefix" => json!(two()?.starts_with(&one()?)),
        "hasSuffix" => json!(two()?.ends_with(&one()?)),
        "replace" => json!(text(arguments, 2)?.replace(&one()?, &two()?)),
        "repeat" => json!(two()?.repeat(whole(arguments, 0)?.min(TEXT_LIMIT))),
        "trunc" => json!(two()?.chars().take(whole(arguments, 0)?).collect::<String>()),
        "join" => {
            let list = at(arguments, 1)?.as_array().into_iter().flatten();
            json!(list.map(print::text).collect::<Vec<_>>().join(&one()?))
        }
        "indent" | "nindent" => {
            let pad = " ".repeat(whole(arguments, 0)?.min(TEXT_LIMIT));
            let indented = format!("{pad}{}", two()?.replace('\n', &format!("\n{pad}")));
            json!(if name == "nindent" { format!("\n{indented}") } else { indented })
        }
        "fail" => return Err(one()?),
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// Longest text that is made of repeating one, in repetitions.
const TEXT_LIMIT: usize = 1000;

fn kwok(
    name: &str,
    arguments: &[Value],
    object: &Value,
    around: &mut dyn Surroundings,
) -> Result<Option<Value>, String> {
    let own = object["metadata"]["name"].as_str().unwrap_or("");
    let node = object["spec"]["nodeName"].as_str().unwrap_or(own);
    let first = |list: Vec<String>| json!(list.into_iter().next().unwrap_or_default());
    let value = match name {
        "Quote" => match at(arguments, 0)? {
            Value::String(text) => json!(Value::from(&**text).to_string()),
            other => json!(Value::from(other.to_string()).to_string()),
        },
        "Now" => json!(around.now().rfc3339()),
        "StartTime" => json!(around.start().rfc3339()),
        "YAML" => {
            let data = print::yaml(at(arguments, 0)?);
            match arguments.get(1).and_then(Value::as_u64) {
                None | Some(0) => json!(data),
                Some(depth) => {
                    let pad = format!(
                        "\n{}",
                        "  ".repeat(usize::try_from(depth).unwrap_or(0).min(TEXT_LIMIT))
                    );
                    json!(format!("\n{data}").replace('\n', &pad))
                }
            }
        }
        "Version" => json!(env!("CARGO_PKG_VERSION")),
        "NodeConditions" => node_conditions(),
        "NodeIP" => first(around.node_ips(node)),
        "NodeName" => json!(own),
        // Nobody answers for containers there.
        "NodePort" => json!(0),
        "NodeIPWith" => first(around.node_ips(&text(arguments, 0)?)),
        "NodeIPsWith" => json!(around.node_ips(&text(arguments, 0)?)),
        "PodIP" => first(pod_ips(node, false, object, around)),
        "PodIPWith" => {
            let of = text(arguments, 0)?;
            first(pod_ips(&of, truth(at(arguments, 1)?), object, around))
        }
        "PodIPsWith" => {
            let of = text(arguments, 0)?;
            json!(pod_ips(&of, truth(at(arguments, 1)?), object, around))
        }
        _ => return Ok(None),
    };
    Ok(Some(value))
}

/// The addresses of a pod: those that it has, those of its host, or a fresh one.
fn pod_ips(
    node: &str,
    of_host: bool,
    object: &Value,
    around: &mut dyn Surroundings,
) -> Vec<String> {
    if of_host {
        return around.node_ips(node);
    }
    let known = object["status"]["podIPs"].as_array().into_iter().flatten();
    let known: Vec<String> =
        known.filter_map(|address| address["ip"].as_str()).map(str::to_owned).collect();
    match (&known[..], object["status"]["podIP"].as_str()) {
        ([_, ..], _) => known,
        ([], Some(one)) if !one.is_empty() => vec![one.to_owned()],
        ([], _) => vec![around.pod_ip(node)],
    }
}

/// Those of a node that is well.
fn node_conditions() -> Value {
    let rows = [
        ("Ready", "True", "KubeletReady", "kubelet is posting ready status"),
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        ("DiskPressure", "False", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
        ("PIDPressure", "False", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
        ("NetworkUnavailable", "False", "RouteCreated", "RouteController created a route"),
    ];
    rows.iter()
        .map(|(kind, status, reason, message)| {
            json!({
                "type": kind, "status": status, "reason": reason, "message": message,
                "lastHeartbeatTime": null, "lastTransitionTime": null,
            })
        })
        .collect()
}
