//! Schemas within `allOf`, `anyOf`, `oneOf` and `not`: they say something of values, and nothing of which there are
//! (`validateNestedValueValidation`, and `validateStructuralCompleteness` of `complete.go`).

use serde_json::{Value, json};

use super::{
    EMBEDDED, FieldError, INT_OR_STRING, PRESERVE, flag, forbidden, invalid, keyword, list,
    required, schemas, text,
};
use crate::schema::go_regexp_problem;

const JUNCTORS: [&str; 3] = ["anyOf", "allOf", "oneOf"];

/// Where `anyOf: [{type: integer}, {type: string}]` stands, which is how the type of `x-kubernetes-int-or-string` may be
/// said.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Known {
    Nowhere,
    Here,
    /// In the first branch of `allOf`.
    First,
}

impl Known {
    pub(super) fn of(schema: &Value) -> Known {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let is = |schema: Option<&Value>| schema.and_then(|one| one.get("anyOf")) == Some(&either);
        match (is(Some(schema)), is(list(schema, "allOf").first())) {
            (true, _) => Known::Here,
            (_, true) => Known::First,
            _ => Known::Nowhere,
        }
    }
}

/// What a schema says of values (`validateValueValidation`).
pub(super) fn values(schema: &Value, known: Known, at: &str, errors: &mut Vec<FieldError>) {
    for name in JUNCTORS.into_iter().filter(|name| *name != "anyOf" || known != Known::Here) {
        for (index, branch) in list(schema, name).iter().enumerate() {
            let known = match known == Known::First && name == "allOf" && index == 0 {
                true => Known::Here,
                false => Known::Nowhere,
            };
            nested(branch, known, &format!("{at}.{name}[{index}]"), errors);
        }
    }
    if let Some(not) = keyword(schema, "not") {
        nested(not, Known::Nowhere, &format!("{at}.not"), errors);
    }
    let pattern = text(schema, "pattern");
    if let Some(why) = go_regexp_problem(pattern) {
        let detail = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(invalid(&format!("{at}.pattern"), &Value::from(pattern), &detail));
    }
}

fn nested(schema: &Value, known: Known, at: &str, errors: &mut Vec<FieldError>) {
    values(schema, known, at, errors);
    if let Some(items) = keyword(schema, "items") {
        nested(items, Known::Nowhere, &format!("{at}.items"), errors);
    }
    for (name, property) in schemas(schema, "properties").into_iter().flatten() {
        let at = format!("{at}.properties[{name}]");
        nested(property, Known::Nowhere, &at, errors);
        if name == "metadata" {
            errors.push(forbidden(&at, "must not be specified in a nested context"));
        }
    }
    let says_values =
        keyword(schema, "additionalProperties").is_some_and(|all| *all != json!(false));
    let rest = [
        ("type", !text(schema, "type").is_empty(), "empty"),
        ("additionalProperties", says_values, "undefined"),
        ("default", keyword(schema, "default").is_some(), "undefined"),
        ("title", !text(schema, "title").is_empty(), "empty"),
        ("description", !text(schema, "description").is_empty(), "empty"),
        ("nullable", flag(schema, "nullable"), "false"),
        (PRESERVE, flag(schema, PRESERVE), "false"),
        (EMBEDDED, flag(schema, EMBEDDED), "false"),
        (INT_OR_STRING, flag(schema, INT_OR_STRING), "false"),
        (
            "x-kubernetes-list-map-keys",
            !list(schema, "x-kubernetes-list-map-keys").is_empty(),
            "empty",
        ),
        (
            "x-kubernetes-list-type",
            keyword(schema, "x-kubernetes-list-type").is_some(),
            "undefined",
        ),
        ("x-kubernetes-map-type", keyword(schema, "x-kubernetes-map-type").is_some(), "undefined"),
        ("x-kubernetes-validations", !list(schema, "x-kubernetes-validations").is_empty(), "empty"),
    ];
    for (name, _, wanted) in rest.into_iter().filter(|(_, said, _)| *said) {
        let detail = format!("must be {wanted} to be structural");
        errors.push(forbidden(&format!("{at}.{name}"), &detail));
    }
}

/// That what branches of the root's schema say something of is in the schema itself. `own` is the schema at `at`, of which
/// `branch` speaks from `from`.
pub(super) fn complete(
    own: &Value,
    branch: &Value,
    at: &str,
    from: &str,
    errors: &mut Vec<FieldError>,
) {
    let branches = JUNCTORS.into_iter().flat_map(|name| {
        let all = list(branch, name).iter().enumerate();
        all.map(move |(index, branch)| (branch, format!("{from}.{name}[{index}]")))
    });
    let not = keyword(branch, "not").map(|not| (not, format!("{from}.not")));
    for (branch, from) in branches.chain(not) {
        complete(own, branch, at, &from, errors);
        parts(own, branch, at, &from, errors);
    }
}

fn parts(own: &Value, branch: &Value, at: &str, from: &str, errors: &mut Vec<FieldError>) {
    let mut part = |own: Option<&Value>, branch: &Value, name: &str| {
        let (at, from) = (format!("{at}.{name}"), format!("{from}.{name}"));
        match own {
            Some(own) => {
                complete(own, branch, &at, &from, errors);
                parts(own, branch, &at, &from, errors);
            }
            None => errors.push(required(&at, format!("because it is defined in {from}"))),
        }
    };
    if let Some(items) = keyword(branch, "items") {
        part(keyword(own, "items"), items, "items");
    }
    for (name, property) in schemas(branch, "properties").into_iter().flatten() {
        let own = schemas(own, "properties").and_then(|all| all.get(name));
        part(own, property, &format!("properties[{name}]"));
    }
}

#[cfg(test)]
mod tests {
    use super::{super::structural_errors, *};

    fn check(schema: Value, expect: &[&str]) {
        let errors = structural_errors(&schema, "s");
        assert_eq!(
            errors.iter().map(FieldError::to_string).collect::<Vec<_>>(),
            expect,
            "{schema}"
        );
    }

    fn of(field: Value) -> Value {
        json!({"type": "object", "properties": {"a": field}})
    }

    #[test]
    fn branches_say_nothing_of_types() {
        check(of(json!({"type": "string", "anyOf": [{"pattern": "a"}, {"maxLength": 1}]})), &[]);
        check(
            of(
                json!({"type": "string", "not": {"default": "x", "type": "string", "nullable": false}}),
            ),
            &[
                "s.properties[a].not.default: Forbidden: must be undefined to be structural",
                "s.properties[a].not.type: Forbidden: must be empty to be structural",
            ],
        );
        check(
            of(json!({"type": "object", "oneOf": [{"properties": {"b": {"description": "x",
                "additionalProperties": true, "items": {"x-kubernetes-list-type": "set"}}}}]})),
            &[
                "s.properties[a].oneOf[0].properties[b].additionalProperties: Forbidden: must be undefined to be \
                    structural",
                "s.properties[a].oneOf[0].properties[b].description: Forbidden: must be empty to be structural",
                "s.properties[a].oneOf[0].properties[b].items.x-kubernetes-list-type: Forbidden: must be undefined \
                    to be structural",
            ],
        );
    }

    #[test]
    fn the_type_of_an_integer_or_a_string_may_be_said_in_two_ways() {
        let either = json!([{"type": "integer"}, {"type": "string"}]);
        let known = |rest: Value| {
            let mut field = json!({"x-kubernetes-int-or-string": true});
            field.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            of(field)
        };
        check(known(json!({"anyOf": either})), &[]);
        check(known(json!({"allOf": [{"anyOf": either}, {"pattern": "a"}]})), &[]);
        check(
            known(json!({"allOf": [{"pattern": "a"}, {"anyOf": either}]})),
            &[
                "s.properties[a].allOf[1].anyOf[0].type: Forbidden: must be empty to be structural",
                "s.properties[a].allOf[1].anyOf[1].type: Forbidden: must be empty to be structural",
            ],
        );
    }

    #[test]
    fn branches_of_the_root_speak_of_what_is_there() {
        let mut schema = of(json!({"type": "object", "properties": {"b": {"type": "string"}}}));
        schema["anyOf"] =
            json!([{"properties": {"a": {"properties": {"b": {}, "c": {}}}}}, {"required": ["a"]}]);
        check(
            schema,
            &["s.properties[a].properties[c]: Required value: because it is defined in \
                s.anyOf[0].properties[a].properties[c]"],
        );
    }
}
