//! Fields of certain kinds of objects, as kustomize's configuration names them (`fieldSpecs`).

use serde_json::{Map, Value};

/// Which types are meant. What is empty is any.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Type {
    pub group: String,
    pub version: String,
    pub kind: String,
}

impl Type {
    /// `KIND`, `GROUP/KIND`, or `GROUP/VERSION/KIND`; `*` is any.
    pub fn read(text: &str) -> Type {
        let part = |text: &str| text.trim_matches('*').to_owned();
        let parts: Vec<&str> = text.split('/').collect();
        match parts[..] {
            [group, version, kind] => {
                Type { group: part(group), version: part(version), kind: part(kind) }
            }
            [group, kind] => Type { group: part(group), kind: part(kind), ..Type::default() },
            _ => Type { kind: part(text), ..Type::default() },
        }
    }

    /// Of `apiVersion` and `kind`.
    pub fn of(api_version: &str, kind: &str) -> Type {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Type { group: group.to_owned(), version: version.to_owned(), kind: kind.to_owned() }
    }

    /// Whether a type is among those meant.
    pub fn selects(&self, other: &Type) -> bool {
        let fits = |wanted: &str, found: &str| wanted.is_empty() || wanted == found;
        fits(&self.group, &other.group)
            && fits(&self.version, &other.version)
            && fits(&self.kind, &other.kind)
    }
}

/// One field of these types.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FieldSpec {
    pub of: Type,
    /// Names of fields. Lists on the way are gone through; `[]` behind a name: a list, which is not created.
    pub path: Vec<String>,
    /// Create it where it is missing.
    pub create: bool,
}

impl FieldSpec {
    /// `path` has slashes between the names; one in a name is written `\/`.
    pub fn new(of: Type, path: &str, create: bool) -> FieldSpec {
        const SLASH: &str = "\u{0}";
        let path = path.replace("\\/", SLASH);
        let path = path.split('/').filter(|name| !name.is_empty());
        FieldSpec { of, path: path.map(|name| name.replace(SLASH, "/")).collect(), create }
    }

    /// Each value there, of an object of these types. `missing` is what a field begins with that is created.
    pub fn each(&self, object: &mut Value, missing: &Value, then: &mut dyn FnMut(&mut Value)) {
        walk(object, &self.path, self.create.then_some(missing), then);
    }
}

fn walk(
    value: &mut Value,
    path: &[String],
    missing: Option<&Value>,
    then: &mut dyn FnMut(&mut Value),
) {
    let Some((first, rest)) = path.split_first() else { return then(value) };
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| walk(item, path, missing, then)),
        Value::Object(map) => {
            let (name, is_list) = match first.strip_suffix("[]") {
                Some(name) => (name, true),
                None => (first.as_str(), false),
            };
            if let Some(missing) = missing.filter(|_| !is_list) {
                let begin = || match rest {
                    [] => missing.clone(),
                    _ => Value::Object(Map::new()),
                };
                let field = map.entry(name).or_insert_with(begin);
                if field.is_null() {
                    *field = begin();
                }
            }
            if let Some(field) = map.get_mut(name) {
                walk(field, rest, missing, then);
            }
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn fields_are_found_through_lists_and_created() {
        let check = |path: &str, create: bool, expect: Value| {
            let mut object = json!({"a": [{"b": 1}, {}], "c": null, "d/e": 2});
            let spec = FieldSpec::new(Type::default(), path, create);
            spec.each(&mut object, &json!(0), &mut |value| *value = json!("x"));
            assert_eq!(object, expect, "{path}");
        };
        check("a/b", false, json!({"a": [{"b": "x"}, {}], "c": null, "d/e": 2}));
        check("a[]/b", true, json!({"a": [{"b": "x"}, {"b": "x"}], "c": null, "d/e": 2}));
        check("c/f", false, json!({"a": [{"b": 1}, {}], "c": null, "d/e": 2}));
        check("c/f", true, json!({"a": [{"b": 1}, {}], "c": {"f": "x"}, "d/e": 2}));
        check("d\\/e", false, json!({"a": [{"b": 1}, {}], "c": null, "d/e": "x"}));
    }

    #[test]
    fn types_are_any_where_nothing_is_said() {
        let deployment = Type::of("apps/v1", "Deployment");
        for (selector, expect) in [
            ("Deployment", true),
            ("apps/Deployment", true),
            ("*/v2/Deployment", false),
            ("*", true),
        ] {
            assert_eq!(Type::read(selector).selects(&deployment), expect, "{selector}");
        }
    }
}
