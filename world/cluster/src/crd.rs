//! Custom types: a CustomResourceDefinition, parsed once per change.
//!
//! A type is served from the commit that made its CRD established on; upstream establishes it a moment
//! after it was created, ours in the same commit (a legal, very quick cluster).

use std::sync::{Arc, OnceLock};

use serde_json::{Map, Value, json};
use trace::GroupResource;

mod approval;
pub(crate) mod conversion;
mod defaults;
pub(crate) mod definition;
mod demands;
pub(crate) mod embedded;
pub(crate) mod field_path;
mod go_schema;
mod open_api;
pub(crate) mod rules;
pub(crate) mod scale;
mod schemas;
mod selectable;
pub(crate) mod validate;
mod versions;

use self::{conversion::Converter, rules::Rules};
use crate::{
    facts::{Resource, Subresource},
    schema::{Gvk, Schema},
    world::meta,
};

/// Verbs of every custom type, in discovery order.
const VERBS: [&str; 8] =
    ["delete", "deletecollection", "get", "list", "patch", "create", "update", "watch"];

/// A custom type.
#[derive(Debug)]
pub(crate) struct CustomType {
    /// Served group and plural name.
    pub(crate) resource: GroupResource,
    pub(crate) list_kind: String,
    pub(crate) storage_version: String,
    /// Served versions, in upstream's order of priority.
    pub(crate) versions: Vec<CustomVersion>,
    /// Versions that are declared and not served: objects may be stored in them.
    unserved: Vec<CustomVersion>,
    /// Its CRD is being deleted: nothing new can be created.
    pub(crate) terminating: bool,
    /// The webhook that converts between its versions; without one they differ in nothing but their name.
    pub(crate) converter: Option<Converter>,
}

/// One served version of a custom type.
#[derive(Debug)]
pub(crate) struct CustomVersion {
    pub(crate) row: Resource,
    pub(crate) schema: Schema,
    /// Of a type that keeps unknown fields (`preserveUnknownFields`), what its schema says of values; nothing is pruned
    /// or defaulted by it.
    pub(crate) judged_by: Option<Schema>,
    /// The schema's CEL rules, if it has any; compiled when an object is first looked at.
    rules: Option<OnceLock<Rules>>,
    /// `openAPIV3Schema` as written, for the published documents.
    pub(crate) published: Option<Value>,
    pub(crate) status: bool,
    /// `specReplicasPath`, `statusReplicasPath`, `labelSelectorPath`.
    pub(crate) scale: Option<Value>,
    /// `additionalPrinterColumns`, as written.
    pub(crate) columns: Vec<Value>,
    /// `selectableFields`: paths without the leading dot.
    pub(crate) selectable: Vec<String>,
    pub(crate) deprecation: Option<String>,
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or("")
}

fn texts(value: &Value, key: &str) -> Vec<String> {
    let list = value.get(key).and_then(Value::as_array);
    list.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// The versions of a definition's spec.
fn list(spec: &Value) -> &[Value] {
    spec["versions"].as_array().map_or(&[][..], Vec::as_slice)
}

/// Whether all versions have the same of something, which upstream's own form has once then.
fn is_shared(versions: &[Value], field: &str) -> bool {
    let first = versions.first().map(|first| &first[field]);
    versions.iter().all(|version| Some(&version[field]) == first)
}

impl CustomType {
    /// Reads a CRD object. `None` if it is not established, or serves nothing.
    pub(crate) fn parse(crd: &Value) -> Option<CustomType> {
        let established = conditions(crd)
            .any(|c| text(c, "type") == "Established" && text(c, "status") == "True");
        if !established {
            return None;
        }
        let spec = crd.get("spec")?;
        let names = crd.pointer("/status/acceptedNames").unwrap_or(&spec["names"]);
        let group = text(spec, "group");
        let declared = spec.get("versions")?.as_array()?;
        let storage_version = declared
            .iter()
            .find(|version| version["storage"] == json!(true))
            .map(|version| text(version, "name").to_owned())?;
        let (served, unserved): (Vec<_>, Vec<_>) =
            declared.iter().partition(|version| version["served"] == json!(true));
        let parse = |versions: Vec<&Value>| -> Vec<CustomVersion> {
            let parsed = versions.into_iter();
            parsed.map(|version| CustomVersion::parse(spec, names, version)).collect()
        };
        let mut versions = parse(served);
        versions.sort_by(|a, b| version_order(&a.row.version, &b.row.version));
        Some(CustomType {
            resource: GroupResource::new(group, text(names, "plural")),
            list_kind: match text(names, "listKind") {
                "" => format!("{}List", text(names, "kind")),
                kind => kind.to_owned(),
            },
            storage_version,
            versions,
            unserved: parse(unserved),
            terminating: !meta(crd, "deletionTimestamp").is_empty(),
            converter: Converter::parse(crd),
        })
    }

    /// `group/version` in which its objects are stored.
    pub(crate) fn storage_api_version(&self) -> String {
        format!("{}/{}", self.resource.group, self.storage_version)
    }

    /// One of its versions, served or not, by `group/version`.
    pub(crate) fn version(&self, api_version: &str) -> Option<&CustomVersion> {
        let mut all = self.versions.iter().chain(&self.unserved);
        all.find(|version| version.row.api_version() == api_version)
    }
}

impl CustomVersion {
    /// The CEL rules of its schema, if it has any.
    pub(crate) fn rules(&self) -> Option<&Rules> {
        Some(self.rules.as_ref()?.get_or_init(|| Rules::of(&self.schema)))
    }

    fn parse(spec: &Value, names: &Value, version: &Value) -> CustomVersion {
        let (group, name) = (text(spec, "group"), text(version, "name"));
        let kind = text(names, "kind");
        let gvk = Gvk { group: group.to_owned(), version: name.to_owned(), kind: kind.to_owned() };
        let published = version.pointer("/schema/openAPIV3Schema");
        let preserve = spec.get("preserveUnknownFields") == Some(&json!(true));
        let judged_by = published.filter(|_| preserve);
        let judged_by = judged_by.and_then(|schema| Schema::custom(&gvk, Some(schema)).ok());
        // Clients that check by the document know nothing of fields that it doesn't name.
        let published = published.filter(|_| !preserve).cloned();
        // What does not parse was refused when it was created; objects that got in before a rule was known
        // to us are served without a schema.
        let schema = Schema::custom(&gvk, published.as_ref())
            .or_else(|_| Schema::custom(&gvk, None))
            .expect("the absence of a schema is a legal schema");
        let subresources = version.get("subresources");
        let status = subresources.is_some_and(|all| all.get("status").is_some());
        let scale = subresources.and_then(|all| all.get("scale")).cloned();
        let mut rows = Vec::new();
        if status {
            rows.push(subresource("status", group, name, kind));
        }
        if scale.is_some() {
            rows.push(subresource("scale", "autoscaling", "v1", "Scale"));
        }
        CustomVersion {
            row: Resource {
                group: group.to_owned(),
                version: name.to_owned(),
                resource: text(names, "plural").to_owned(),
                singular: text(names, "singular").to_owned(),
                kind: kind.to_owned(),
                namespaced: text(spec, "scope") == "Namespaced",
                verbs: VERBS.map(str::to_owned).to_vec(),
                short_names: texts(names, "shortNames"),
                categories: texts(names, "categories"),
                subresources: rows,
            },
            schema,
            judged_by,
            rules: published.as_ref().is_some_and(has_rules).then(OnceLock::new),
            published,
            status,
            scale,
            columns: version
                .get("additionalPrinterColumns")
                .and_then(Value::as_array)
                .cloned()
                .unwrap_or_default(),
            selectable: version
                .get("selectableFields")
                .and_then(Value::as_array)
                .into_iter()
                .flatten()
                .map(|field| text(field, "jsonPath").trim_start_matches('.').to_owned())
                .collect(),
            deprecation: (version["deprecated"] == json!(true)).then(|| {
                match text(version, "deprecationWarning") {
                    "" => deprecation(spec, kind, name),
                    warning => warning.to_owned(),
                }
            }),
        }
    }
}

/// What is said of a deprecated version that has no words of its own: the newest version that is better, if there is one
/// (`defaultDeprecationWarning`).
fn deprecation(spec: &Value, kind: &str, deprecated: &str) -> String {
    let group = text(spec, "group");
    let better = |version: &&Value| {
        version["served"] == json!(true)
            && version["deprecated"] != json!(true)
            && version_order(text(version, "name"), deprecated).is_lt()
    };
    let all = spec["versions"].as_array().into_iter().flatten().filter(better);
    let newest = all.map(|version| text(version, "name")).min_by(|a, b| version_order(a, b));
    let instead = newest.map(|name| format!("; use {group}/{name} {kind}")).unwrap_or_default();
    format!("{group}/{deprecated} {kind} is deprecated{instead}")
}

/// Whether there are CEL rules anywhere in a schema.
fn has_rules(schema: &Value) -> bool {
    let own = schema.get("x-kubernetes-validations").and_then(Value::as_array);
    own.is_some_and(|rules| !rules.is_empty()) || subschemas(schema).any(has_rules)
}

/// The schemas right below one, by the keywords that hold them; fields may have any name (`SchemaHas`).
pub(crate) fn subschemas(schema: &Value) -> impl Iterator<Item = &Value> {
    let members = schema.as_object().into_iter().flatten();
    members.flat_map(|(key, member)| match (key.as_str(), member) {
        ("properties", Value::Object(fields)) => fields.values().collect(),
        ("allOf" | "anyOf" | "oneOf", Value::Array(branches)) => branches.iter().collect(),
        ("items" | "additionalProperties" | "not", schema) => vec![schema],
        _ => vec![],
    })
}

fn subresource(name: &str, group: &str, version: &str, kind: &str) -> Subresource {
    Subresource {
        name: name.to_owned(),
        group: group.to_owned(),
        version: version.to_owned(),
        kind: kind.to_owned(),
        verbs: ["get", "patch", "update"].map(str::to_owned).to_vec(),
    }
}

fn conditions(crd: &Value) -> impl Iterator<Item = &Value> {
    crd.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten()
}

/// Versions as upstream ranks them (`version.CompareKubeAwareVersionStrings`): GA before beta before
/// alpha, higher numbers first, anything else last and by name.
pub(crate) fn version_order(a: &str, b: &str) -> std::cmp::Ordering {
    fn rank(version: &str) -> Option<(u8, u64, u64)> {
        let rest = version.strip_prefix('v')?;
        let digits = rest.find(|letter: char| !letter.is_ascii_digit()).unwrap_or(rest.len());
        let major = rest[..digits].parse().ok()?;
        let (stage, minor) = match &rest[digits..] {
            "" => (2, 0),
            tail if tail.starts_with("beta") => (1, tail[4..].parse().ok()?),
            tail if tail.starts_with("alpha") => (0, tail[5..].parse().ok()?),
            _ => return None,
        };
        Some((stage, major, minor))
    }
    match (rank(a), rank(b)) {
        (Some(a), Some(b)) => b.cmp(&a),
        (Some(_), None) => std::cmp::Ordering::Less,
        (None, Some(_)) => std::cmp::Ordering::Greater,
        (None, None) => a.cmp(b),
    }
}

/// Fills in what upstream's defaulting gives a CRD's spec.
pub(crate) fn default_spec(crd: &mut Value) {
    let Some(spec) = crd.get_mut("spec").and_then(Value::as_object_mut) else { return };
    spec.entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
    let Some(names) = spec.get_mut("names").and_then(Value::as_object_mut) else { return };
    let kind = names.get("kind").and_then(Value::as_str).unwrap_or("").to_owned();
    let absent = |names: &Map<String, Value>, key: &str| {
        names.get(key).and_then(Value::as_str).unwrap_or("").is_empty()
    };
    if kind.is_empty() {
        return;
    }
    if absent(names, "singular") {
        names.insert("singular".to_owned(), json!(kind.to_lowercase()));
    }
    if absent(names, "listKind") {
        names.insert("listKind".to_owned(), json!(format!("{kind}List")));
    }
}

/// What upstream's naming and establishing controllers write, for a CRD that is to be stored.
/// `taken` are the types that others serve in the same group.
pub(crate) fn establish(crd: &mut Value, taken: &[Arc<CustomType>], now: &str) {
    let spec = crd["spec"].clone();
    let conflict = name_conflict(&spec["names"], taken);
    let old = crd.get("status").cloned().unwrap_or(Value::Null);
    let accepted = match (&conflict, old.get("acceptedNames")) {
        (None, _) => spec["names"].clone(),
        (Some(_), Some(names)) => names.clone(),
        (Some(_), None) => json!({"plural": "", "kind": ""}),
    };
    let (names_status, names_reason, names_message) = match &conflict {
        None => ("True", "NoConflicts", "no conflicts found".to_owned()),
        Some((reason, message)) => ("False", *reason, message.clone()),
    };
    let was_established =
        conditions(crd).any(|c| text(c, "type") == "Established" && text(c, "status") == "True");
    let (status, reason, message) = match conflict.is_none() || was_established {
        true => ("True", "InitialNamesAccepted", "the initial names have been accepted"),
        false => ("False", "NotAccepted", "not all names are accepted"),
    };
    let mut stored = texts(&old, "storedVersions");
    for version in spec["versions"].as_array().into_iter().flatten() {
        let name = text(version, "name").to_owned();
        if version["storage"] == json!(true) && !stored.contains(&name) {
            stored.push(name);
        }
    }
    let mut all: Vec<Value> = conditions(crd).cloned().collect();
    set_condition(&mut all, "NamesAccepted", names_status, names_reason, &names_message, now);
    set_condition(&mut all, "Established", status, reason, message, now);
    crd["status"] = json!({
        "acceptedNames": accepted, "conditions": all, "storedVersions": stored,
    });
}

/// Sets a condition; its transition time changes only with its status.
pub(crate) fn set_condition(
    all: &mut Vec<Value>,
    kind: &str,
    status: &str,
    reason: &str,
    message: &str,
    now: &str,
) {
    let old = all.iter().position(|condition| text(condition, "type") == kind);
    let since = old
        .filter(|&at| text(&all[at], "status") == status)
        .map_or(now.to_owned(), |at| text(&all[at], "lastTransitionTime").to_owned());
    let condition = json!({
        "type": kind, "status": status, "reason": reason, "message": message,
        "lastTransitionTime": since,
    });
    match old {
        Some(at) => all[at] = condition,
        None => all.push(condition),
    }
}

fn name_conflict(names: &Value, taken: &[Arc<CustomType>]) -> Option<(&'static str, String)> {
    for other in taken {
        let Some(row) = other.versions.first().map(|version| &version.row) else { continue };
        let used = |name: &str| {
            row.resource == name
                || row.singular == name
                || row.short_names.iter().any(|n| n == name)
        };
        let checks = [("plural", "PluralConflict"), ("singular", "SingularConflict")];
        for (field, reason) in checks {
            let name = text(names, field);
            if !name.is_empty() && used(name) {
                return Some((reason, format!("{name:?} is already in use")));
            }
        }
        if let Some(name) = texts(names, "shortNames").iter().find(|name| used(name)) {
            return Some(("ShortNamesConflict", format!("{name:?} is already in use")));
        }
        let kind = text(names, "kind");
        if row.kind == kind || other.list_kind == kind {
            return Some(("KindConflict", format!("{kind:?} is already in use")));
        }
        let list = text(names, "listKind");
        if row.kind == list || other.list_kind == list {
            return Some(("ListKindConflict", format!("{list:?} is already in use")));
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_rank_as_upstream() {
        let mut found = ["v1alpha1", "foo", "v2", "v1beta2", "v10", "v1", "v1beta10", "bar"];
        found.sort_by(|a, b| version_order(a, b));
        assert_eq!(found, ["v10", "v2", "v1", "v1beta10", "v1beta2", "v1alpha1", "bar", "foo"]);
    }
}
