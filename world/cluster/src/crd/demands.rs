//! What is asked of the schemas of a definition: of what is stored already, no more than it keeps (`validationOptions`).

use serde_json::{Value, json};

use super::{defaults::has_unknown_fields, list, open_api, subschemas};
use crate::{
    schema::{Gvk, Schema, is_structural},
    validation::Asked,
};

/// Which rules hold.
#[derive(Debug, Clone, Copy)]
pub(super) struct Demands {
    /// That every version has one (`requireOpenAPISchema`).
    pub(super) schema: bool,
    /// That they are structural (`requireStructuralSchema`).
    pub(super) structure: bool,
    /// That types are those of `OpenAPI` (`requireValidPropertyType`).
    pub(super) types: bool,
    /// That no default has fields that its schema does not know (`requirePrunedDefaults`).
    pub(super) pruned: bool,
    /// That items of sets are no objects that could be merged (`requireAtomicSetType`).
    pub(super) atomic: bool,
    /// That keys of lists are there and not null (`requireMapListKeysMapSetValidation`).
    pub(super) keys: bool,
}

impl Demands {
    pub(super) fn of(spec: &Value, old: Option<&Value>, asked: Asked) -> Demands {
        let all = |judge: &dyn Fn(&Value) -> bool| old.is_none_or(|old| schemas(old).all(judge));
        let pruned = |schema: &Value| {
            let read = Schema::custom(&nobody(), Some(schema));
            read.is_ok_and(|schema| !has_unknown_fields(&schema)) || !is_structural(schema)
        };
        let now = asked == Asked::Now;
        let whole = old.is_none_or(|old| schemas(old).count() == list(old).len());
        let pruning = spec["preserveUnknownFields"] != json!(true);
        let extended = || schemas(spec).any(|schema| has(schema, &is_extended));
        Demands {
            schema: now && whole,
            structure: pruning || has_defaults(spec) || extended() || (now && all(&is_structural)),
            types: now && all(&|schema| !has(schema, &open_api::is_of_another_type)),
            pruned: all(&pruned),
            atomic: all(&|schema| !has(schema, &open_api::is_set_of_parts)),
            keys: all(&|schema| !has(schema, &|one| !open_api::key_errors(one, "").is_empty())),
        }
    }
}

/// Whether a definition has any default.
pub(super) fn has_defaults(spec: &Value) -> bool {
    schemas(spec)
        .any(|schema| has(schema, &|one| one.get("default").is_some_and(|it| !it.is_null())))
}

/// The schemas of all versions that have one.
fn schemas(spec: &Value) -> impl Iterator<Item = &Value> {
    list(spec).iter().filter_map(|version| version.pointer("/schema/openAPIV3Schema"))
}

/// Whether a schema or one below it is such (`SchemaHas`).
fn has(schema: &Value, judge: &dyn Fn(&Value) -> bool) -> bool {
    judge(schema) || subschemas(schema).any(|below| has(below, judge))
}

/// `schemaHasKubernetesExtensions`
fn is_extended(schema: &Value) -> bool {
    let says = |name: &str| schema.get(name).is_some_and(|value| !value.is_null());
    let some = |name: &str| schema[name].as_array().is_some_and(|list| !list.is_empty());
    ["x-kubernetes-embedded-resource", "x-kubernetes-int-or-string"]
        .into_iter()
        .any(|name| schema[name] == true)
        || ["x-kubernetes-preserve-unknown-fields", "x-kubernetes-list-type"].into_iter().any(says)
        || ["x-kubernetes-list-map-keys", "x-kubernetes-validations"].into_iter().any(some)
}

/// The name of a type that is only looked at.
pub(super) fn nobody() -> Gvk {
    Gvk { group: String::new(), version: String::new(), kind: String::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(schema: Value) -> Value {
        json!({"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]})
    }

    #[test]
    fn what_is_stored_need_not_be_better() {
        let new = spec(json!({"type": "object"}));
        let check = |old: Value, broken: fn(Demands) -> bool| {
            let demands = Demands::of(&new, Some(&spec(old.clone())), Asked::Now);
            assert!(broken(demands), "{old}");
        };
        let of = |field: Value| json!({"type": "object", "properties": {"a": field}});
        check(of(json!({"type": "foo"})), |demands| !demands.types);
        check(
            of(
                json!({"type": "object", "properties": {"b": {"type": "string"}}, "default": {"c": 1}}),
            ),
            |demands| !demands.pruned,
        );
        let set =
            json!({"type": "array", "x-kubernetes-list-type": "set", "items": {"type": "object"}});
        check(of(set), |demands| !demands.atomic);
        check(of(json!({})), |demands| demands.structure && demands.types && demands.keys);
    }

    #[test]
    fn what_keeps_unknown_fields_is_structural_only_if_it_says_more() {
        let check = |schema: Value, expect: bool| {
            let mut new = spec(schema);
            new["preserveUnknownFields"] = json!(true);
            assert_eq!(Demands::of(&new, None, Asked::Then).structure, expect);
        };
        check(json!({"properties": {"a": {}}}), false);
        check(json!({"properties": {"a": {"default": 1}}}), true);
        check(json!({"properties": {"a": {"x-kubernetes-preserve-unknown-fields": false}}}), true);
    }
}
