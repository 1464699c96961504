//! Strategic merge patch: a merge patch that knows which lists are maps, by their merge key.
//!
//! Directives: `$patch: replace | delete | merge` in maps and list items, `$retainKeys`,
//! `$deleteFromPrimitiveList/FIELD`, `$setElementOrder/FIELD`. As upstream, a directive is obeyed also
//! where the schema gives no strategy, and nulls in the patch delete; where it replaces what is there, its nulls are
//! kept, for Go's decoders to make something of.
//!
//! One difference from upstream, which could only show in hand-written or stale patches: inside an item
//! that the live list doesn't have, upstream leaves directives unobeyed (`$patch: delete` then adds the
//! item that it names); here they are obeyed there too.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{PatchError, merge::without_nulls};
use crate::schema::{Node, Schema, shown_number};

const DIRECTIVE: &str = "$patch";
const RETAIN_KEYS: &str = "$retainKeys";
const DELETE_FROM: &str = "$deleteFromPrimitiveList/";
const ORDER: &str = "$setElementOrder/";

type Fields = Map<String, Value>;
type Outcome<T> = Result<T, PatchError>;

/// A place in a schema; nowhere for values that the schema doesn't describe.
type Place<'a> = Option<(&'a Schema, &'a Node)>;

/// Applies a strategic merge patch.
pub(super) fn apply(live: &Value, patch: &Value, schema: Option<&Schema>) -> Outcome<Value> {
    let (Value::Object(live), Value::Object(patch)) = (live, patch) else {
        return Err(bad("a strategic merge patch must be an object"));
    };
    let place = schema.map(|schema| (schema, schema.root()));
    Ok(Value::Object(merge_map(live.clone(), patch, place)?))
}

fn bad(text: impl Into<String>) -> PatchError {
    PatchError::BadRequest(text.into())
}

/// As Go prints a decoded value (`%v`): maps by their keys, in order.
pub(crate) fn go_text(value: &Value) -> String {
    let joined = |parts: Vec<String>| parts.join(" ");
    match value {
        Value::Object(fields) => {
            let sorted: BTreeMap<_, _> = fields.iter().collect();
            let pairs = sorted.iter().map(|(key, value)| format!("{key}:{}", go_text(value)));
            format!("map[{}]", joined(pairs.collect()))
        }
        Value::Array(items) => format!("[{}]", joined(items.iter().map(go_text).collect())),
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Number(number) => shown_number(number),
        other => other.to_string(),
    }
}

fn field<'a>(place: Place<'a>, name: &str) -> Place<'a> {
    let (schema, node) = place?;
    schema.field(node, name).map(|field| (schema, field))
}

fn items(place: Place<'_>) -> Place<'_> {
    let (schema, node) = place?;
    schema.items(node).map(|items| (schema, items))
}

fn has_strategy(place: Place<'_>, strategy: &str) -> bool {
    place.is_some_and(|(_, node)| node.patch_strategy.iter().any(|own| own == strategy))
}

fn merge_map(mut live: Fields, patch: &Fields, place: Place<'_>) -> Outcome<Fields> {
    match patch.get(DIRECTIVE).map(|directive| directive.as_str().unwrap_or("")) {
        Some("replace") => return Ok(without_directives(patch)),
        Some("delete") => return Ok(Fields::new()),
        Some("merge") | None => {}
        Some(other) => {
            let patch = go_text(&Value::Object(patch.clone()));
            let why = format!("unknown patch type: {other} in map: {patch}");
            return Err(PatchError::Unclassified(why));
        }
    }
    retain_keys(&mut live, patch)?;
    for (name, list) in patch {
        if let Some(field) = name.strip_prefix(DELETE_FROM) {
            delete_from_list(&mut live, field, list)?;
        }
    }
    for (name, value) in patch {
        if name == DIRECTIVE || name == RETAIN_KEYS || name.starts_with(DELETE_FROM) {
            continue;
        }
        if let Some(name) = name.strip_prefix(ORDER) {
            // Where the list itself is patched, the order is set there.
            if !patch.contains_key(name) {
                reorder(&mut live, name, value, field(place, name))?;
            }
            continue;
        }
        let place = field(place, name);
        if value.is_null() {
            live.remove(name);
            continue;
        }
        let merged = match (live.remove(name), value) {
            (Some(Value::Object(live)), Value::Object(patch)) => {
                let replace = has_strategy(place, "replace");
                if replace {
                    Value::Object(without_directives(patch))
                } else {
                    Value::Object(merge_map(live, patch, place)?)
                }
            }
            (Some(Value::Array(live)), Value::Array(list)) => {
                merge_list(live, list, patch.get(&format!("{ORDER}{name}")), place)?
            }
            (_, Value::Object(patch)) => {
                if patch.get(DIRECTIVE).and_then(Value::as_str) == Some("delete") {
                    continue;
                }
                Value::Object(merge_map(Fields::new(), patch, place)?)
            }
            (_, Value::Array(list)) => Value::Array(new_list(list)),
            (_, value) => value.clone(),
        };
        live.insert(name.clone(), merged);
    }
    Ok(live)
}

/// A list where none was: as the patch has it, whatever its items are called and however often, but for directives and
/// nulls (`removeDirectives`, `discardNullValuesFromPatch`).
fn new_list(list: &[Value]) -> Vec<Value> {
    let said = list.iter().filter(|item| item.get(DIRECTIVE).is_none());
    said.map(|item| plain(&without_nulls(item))).collect()
}

/// The patch's own content where it replaces what is there.
fn without_directives(patch: &Fields) -> Fields {
    let directive = |name: &str| {
        name == DIRECTIVE
            || name == RETAIN_KEYS
            || name.starts_with(DELETE_FROM)
            || name.starts_with(ORDER)
    };
    let kept = patch.iter().filter(|(name, _)| !directive(name));
    kept.map(|(name, value)| (name.clone(), plain(value))).collect()
}

/// A value without directives anywhere inside.
fn plain(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(without_directives(fields)),
        Value::Array(list) => {
            let is_delete =
                |item: &&Value| item.get(DIRECTIVE).and_then(Value::as_str) == Some("delete");
            Value::Array(list.iter().filter(|item| !is_delete(item)).map(plain).collect())
        }
        other => other.clone(),
    }
}

fn retain_keys(live: &mut Fields, patch: &Fields) -> Outcome<()> {
    let Some(kept) = patch.get(RETAIN_KEYS) else { return Ok(()) };
    let kept = kept.as_array().ok_or_else(|| bad("$retainKeys must be a list"))?;
    let kept: BTreeSet<&str> = kept.iter().filter_map(Value::as_str).collect();
    let extra = patch.keys().find(|name| {
        !name.starts_with('$') && !kept.contains(name.as_str()) && !patch[*name].is_null()
    });
    if let Some(name) = extra {
        return Err(bad(format!("{name:?} is not in $retainKeys, but in the patch")));
    }
    live.retain(|name, _| kept.contains(name.as_str()));
    Ok(())
}

fn delete_from_list(live: &mut Fields, name: &str, gone: &Value) -> Outcome<()> {
    let gone = gone.as_array().ok_or_else(|| bad(format!("{DELETE_FROM}{name} must be a list")))?;
    if let Some(Value::Array(list)) = live.get_mut(name) {
        list.retain(|item| !gone.contains(item));
    }
    Ok(())
}

fn merge_list(
    live: Vec<Value>,
    patch: &[Value],
    order: Option<&Value>,
    place: Place<'_>,
) -> Outcome<Value> {
    if !has_strategy(place, "merge") {
        return Ok(Value::Array(patch.iter().map(plain).collect()));
    }
    let key = place.and_then(|(_, node)| node.patch_merge_key.as_deref());
    let server = live.clone();
    let merged = match key {
        Some(key) => {
            let merged = merge_objects(live, patch, key, items(place))?;
            // What was there without a key can't be told from what the patch names (`partitionMapsByPresentInList`).
            if let Some(item) = merged.iter().find(|item| item.get(key).is_none()) {
                return Err(keyless(item, key));
            }
            merged
        }
        None => merge_scalars(live, patch),
    };
    let order = match order {
        Some(order) => order.as_array().ok_or_else(|| bad("$setElementOrder must be a list"))?,
        None => patch,
    };
    Ok(Value::Array(sorted(merged, order, &server, key)))
}

/// A list of scalars is a set; new ones go to the end.
fn merge_scalars(mut live: Vec<Value>, patch: &[Value]) -> Vec<Value> {
    for item in patch {
        if !live.contains(item) {
            live.push(item.clone());
        }
    }
    live
}

fn merge_objects(
    mut live: Vec<Value>,
    patch: &[Value],
    key: &str,
    place: Place<'_>,
) -> Outcome<Vec<Value>> {
    let directive = |item: &Value| item.get(DIRECTIVE).and_then(Value::as_str).map(str::to_owned);
    // `- $patch: replace` as an item replaces the whole list by the other items.
    if patch.iter().any(|item| directive(item).as_deref() == Some("replace")) {
        let others = patch.iter().filter(|item| directive(item).as_deref() != Some("replace"));
        return Ok(others.map(plain).collect());
    }
    for item in patch {
        let fields = item
            .as_object()
            .ok_or_else(|| bad(format!("list items with merge key {key:?} must be objects")))?;
        let identity = fields.get(key).ok_or_else(|| keyless(item, key))?;
        let is_same = |other: &Value| other.get(key) == Some(identity);
        if directive(item).as_deref() == Some("delete") {
            live.retain(|other| !is_same(other));
            continue;
        }
        match live.iter_mut().find(|other| is_same(other)) {
            Some(Value::Object(found)) => {
                *found = merge_map(std::mem::take(found), fields, place)?;
            }
            _ => live.push(Value::Object(merge_map(Fields::new(), fields, place)?)),
        }
    }
    Ok(live)
}

/// `mergepatch.ErrNoMergeKey`
fn keyless(item: &Value, key: &str) -> PatchError {
    let item = go_text(item);
    PatchError::Unclassified(format!("map: {item} does not contain declared merge key: {key}"))
}

fn reorder(live: &mut Fields, name: &str, order: &Value, place: Place<'_>) -> Outcome<()> {
    let key = place.and_then(|(_, node)| node.patch_merge_key.as_deref());
    let order = order.as_array().ok_or_else(|| bad("$setElementOrder must be a list"))?;
    if let Some(Value::Array(list)) = live.get_mut(name) {
        let server = list.clone();
        *list = sorted(std::mem::take(list), order, &server, key);
    }
    Ok(())
}

/// Items that `order` names come in its order. The others keep the server's order among themselves, and
/// come before a named item only if they stood in front of it on the server.
fn sorted(list: Vec<Value>, order: &[Value], server: &[Value], key: Option<&str>) -> Vec<Value> {
    let identity = |item: &Value| match key {
        Some(key) => item.get(key).cloned().unwrap_or(Value::Null),
        None => item.clone(),
    };
    let place = |list: &[Value], item: &Value| {
        list.iter().position(|other| identity(other) == identity(item))
    };
    let (mut named, mut others): (Vec<Value>, Vec<Value>) =
        list.into_iter().partition(|item| place(order, item).is_some());
    named.sort_by_key(|item| place(order, item));
    others.sort_by_key(|item| place(server, item));
    let mut result = Vec::with_capacity(named.len() + others.len());
    let mut others = others.into_iter().peekable();
    for item in named {
        let own = place(server, &item);
        while let Some(other) =
            others.next_if(|other| own.is_some_and(|own| place(server, other) < Some(own)))
        {
            result.push(other);
        }
        result.push(item);
    }
    result.extend(others);
    result
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn pod_patch(live: Value, patch: Value) -> Outcome<Value> {
        let schema = Schema::builtin("", "v1", "Pod").unwrap();
        apply(&json!({"spec": live}), &json!({"spec": patch}), Some(&schema))
            .map(|mut object| object["spec"].take())
    }

    fn check(live: Value, patch: Value, expect: Value) {
        assert_eq!(pod_patch(live, patch).unwrap(), expect);
    }

    #[test]
    fn lists_merge_by_key() {
        check(
            json!({"containers": [{"name": "a", "image": "1"}, {"name": "b"}]}),
            json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}]}),
            json!({"containers": [{"name": "a", "image": "2"}, {"name": "c"}, {"name": "b"}]}),
        );
        check(
            json!({"containers": [{"name": "a", "args": ["x"]}]}),
            json!({"containers": [{"name": "a", "args": ["y"]}]}),
            json!({"containers": [{"name": "a", "args": ["y"]}]}),
        );
    }

    #[test]
    fn directives_are_obeyed() {
        check(
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"containers": [{"name": "b"}]}),
        );
        check(
            json!({"containers": [{"name": "a"}, {"name": "b"}]}),
            json!({"containers": [{"name": "c"}, {"$patch": "replace"}]}),
            json!({"containers": [{"name": "c"}]}),
        );
        check(
            json!({"securityContext": {"runAsUser": 1, "fsGroup": 2}}),
            json!({"securityContext": {"$patch": "replace", "runAsUser": 3}}),
            json!({"securityContext": {"runAsUser": 3}}),
        );
        check(
            json!({"volumes": [{"name": "v", "emptyDir": {}}]}),
            json!({"volumes": [{"name": "v", "$retainKeys": ["name", "configMap"],
                "configMap": {"name": "c"}}]}),
            json!({"volumes": [{"name": "v", "configMap": {"name": "c"}}]}),
        );
        check(
            json!({"containers": [{"name": "a"}, {"name": "b"}, {"name": "x"}]}),
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "a", "image": "i"}]}),
            json!({"containers": [{"name": "b"}, {"name": "a", "image": "i"}, {"name": "x"}]}),
        );
    }

    #[test]
    fn nulls_stay_where_the_patch_replaces() {
        let patched = |kind: (&str, &str, &str), live: Value, patch: Value| {
            let schema = Schema::builtin(kind.0, kind.1, kind.2).unwrap();
            apply(&live, &patch, Some(&schema)).unwrap()
        };
        let range = ("", "v1", "LimitRange");
        let patch = json!({"spec": {"limits": [{"max": {"storage": null}}]}});
        let live = json!({"spec": {"limits": [{"min": {"storage": "1"}}]}});
        assert_eq!(patched(range, live, patch.clone()), patch);
        let nothing = json!({"spec": {"limits": [{"max": {}}]}});
        assert_eq!(patched(range, json!({}), patch), nothing);
        let budget = ("policy", "v1", "PodDisruptionBudget");
        let patch = json!({"spec": {"selector": {"matchLabels": {"a": null}}}});
        let live = json!({"spec": {"selector": {"matchLabels": {"b": "c"}}}});
        assert_eq!(patched(budget, live, patch.clone()), patch);
    }

    #[test]
    fn scalars_with_merge_strategy_are_sets() {
        let schema = Schema::builtin("", "v1", "Pod").unwrap();
        let live = json!({"metadata": {"finalizers": ["a", "b"]}});
        let run = |patch: Value| apply(&live, &patch, Some(&schema)).unwrap();
        assert_eq!(
            run(json!({"metadata": {"finalizers": ["b", "c"]}})),
            json!({"metadata": {"finalizers": ["a", "b", "c"]}})
        );
        assert_eq!(
            run(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}})),
            json!({"metadata": {"finalizers": ["b"]}})
        );
        assert_eq!(
            run(json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a", "b"]}})),
            json!({"metadata": {"finalizers": []}})
        );
    }

    #[test]
    fn items_that_are_named_alike_are_kept_where_nothing_was() {
        let twice = json!([{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]);
        let container = |env: &Value| json!({"containers": [{"name": "c", "env": env}]});
        check(json!({}), container(&twice), container(&twice));
        check(json!({"containers": [{"name": "c"}]}), container(&twice), container(&twice));
        let patch = json!([{"name": "A", "value": "3"}, {"name": "B", "$patch": "delete"}]);
        let first = json!([{"name": "A", "value": "3"}, {"name": "A", "value": "2"}]);
        check(container(&twice), container(&patch), container(&first));
        check(json!({}), container(&patch), container(&json!([{"name": "A", "value": "3"}])));
        let gone = json!([{"name": "A", "$patch": "delete"}]);
        check(container(&twice), container(&gone), container(&json!([])));
        check(container(&json!([])), container(&twice), container(&json!([twice[1]])));
        check(
            json!({}),
            json!({"imagePullSecrets": [{}, {"name": "s"}, {"name": "s"}]}),
            json!({"imagePullSecrets": [{}, {"name": "s"}, {"name": "s"}]}),
        );
    }

    #[test]
    fn what_makes_no_sense_is_told_as_upstream_does() {
        let live = json!({"containers": [{"name": "a"}]});
        let refused = |patch| pod_patch(live.clone(), patch).unwrap_err();
        let error = refused(json!({"containers": [{"image": "x", "args": ["b", 1]}]}));
        let item = "map[args:[b 1] image:x]";
        let text = format!("map: {item} does not contain declared merge key: name");
        assert_eq!((error.code(), error.to_string()), (500, text));
        let live = json!({"imagePullSecrets": [{"name": "s"}, {}]});
        let error = pod_patch(live, json!({"imagePullSecrets": [{"name": "s"}]})).unwrap_err();
        let text = "map: map[] does not contain declared merge key: name".to_owned();
        assert_eq!((error.code(), error.to_string()), (500, text));
        let error = refused(json!({"securityContext": {"$patch": "jump"}}));
        let text = "unknown patch type: jump in map: map[$patch:jump]".to_owned();
        assert_eq!((error.code(), error.to_string()), (500, text));
    }

    #[test]
    fn twice_is_once_for_patches_without_order() {
        for patch in [
            json!({"containers": [{"name": "a", "image": "2"}, {"name": "c", "args": ["1"]}]}),
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"nodeSelector": {"x": "y", "z": null}}),
        ] {
            let live =
                json!({"containers": [{"name": "a"}, {"name": "b"}], "nodeSelector": {"z": ""}});
            let once = pod_patch(live, patch.clone()).unwrap();
            assert_eq!(pod_patch(once.clone(), patch).unwrap(), once);
        }
    }
}
