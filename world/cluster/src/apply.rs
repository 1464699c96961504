//! Who manages which field: `metadata.managedFields`, and server-side apply.
//!
//! The rules of structured-merge-diff, under our own [`Schema`]: an update owns what it changed; an apply
//! owns what it says, conflicts with others over different values, and removes what its manager no
//! longer says and nobody else owns. What somebody wrote in another version of the type is compared in that version
//! ([`versions`]).
//!
//! Not here: upstream's migration of kubectl's last-applied annotation into an apply manager.

mod compare;
mod fields;
mod fields_json;
mod managers;
mod merge;
mod place;
mod remove;
mod set;
mod typed;
mod versions;

use serde_json::{Map, Value, json};

use crate::{encoding, schema::Schema};
pub use fields::{FieldSet, PathElement};
use managers::{Identity, Managers};
use place::Place;
pub use typed::{is_typed, type_errors};
use versions::Changes;
pub use versions::{BuiltIn, Versions};

/// One write, as the field managers see it.
#[derive(Debug, Clone, Copy)]
pub struct Write<'a> {
    /// Name of the manager: the `fieldManager` parameter or [`manager_from_user_agent`].
    pub manager: &'a str,
    /// `apiVersion` of the request's endpoint.
    pub api_version: &'a str,
    /// `status`, `scale`; empty for the object itself.
    pub subresource: &'a str,
    /// The world's now as `metav1.Time`.
    pub now: &'a str,
    /// Which fields the endpoint ignores.
    pub ignores: Ignores,
}

/// Fields that an endpoint resets, so that a write through it can't own them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ignores {
    /// None: types without a status subresource, and subresources such as `scale`.
    Nothing,
    /// `status`: the main endpoint of types with a status subresource.
    Status,
    /// All but `status`: the status endpoint of custom types.
    AllButStatus,
    /// `spec`: the status endpoint of most built-in types.
    Spec,
    /// `spec` and the labels: the status endpoint of the workloads.
    SpecAndLabels,
}

/// An apply that was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ApplyError {
    /// Others own fields with different values: 409 Conflict.
    #[error("{}", conflict_message(.0))]
    Conflicts(Vec<Conflict>),
    /// The applied configuration says something that it may not: 400 BadRequest.
    #[error("{0}")]
    BadRequest(String),
    /// The object can't be had in the version in which some manager wrote: 500 without a reason.
    #[error("{0}")]
    Unconverted(String),
}

/// One field that another manager owns with another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conflict {
    /// The other manager as messages show it: `"m1"`, `"m2" using apps/v1`.
    pub manager: String,
    /// The field: `.spec.replicas`.
    pub path: String,
}

impl Conflict {
    /// The entry in a Status' `details.causes`.
    pub fn cause(&self) -> Value {
        json!({
            "reason": "FieldManagerConflict",
            "message": format!("conflict with {}", self.manager),
            "field": self.path,
        })
    }
}

fn conflict_message(conflicts: &[Conflict]) -> String {
    if let [only] = conflicts {
        let Conflict { manager, path } = only;
        return format!("Apply failed with 1 conflict: conflict with {manager}: {path}");
    }
    // They come manager by manager.
    let mut lines = Vec::new();
    for own in conflicts.chunk_by(|left, right| left.manager == right.manager) {
        lines.extend(own.first().map(|first| format!("conflicts with {}:", first.manager)));
        lines.extend(own.iter().map(|conflict| format!("- {}", conflict.path)));
    }
    format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
}

/// The default manager's name: the User-Agent up to the first `/`, printable characters only, at most
/// 128 bytes.
pub fn manager_from_user_agent(user_agent: &str) -> String {
    const LENGTH_MAX_BYTES: usize = 128;
    let mut name = String::new();
    let head = user_agent.split('/').next().unwrap_or("");
    for letter in head.chars().filter(|letter| !letter.is_control()) {
        if name.len() + letter.len_utf8() > LENGTH_MAX_BYTES {
            break;
        }
        name.push(letter);
    }
    name
}

/// After a create, update or patch: writes who manages what into `new`'s `metadata.managedFields`.
///
/// Call it with the object as it will be stored but for `managedFields`: defaulted, canonical, reset
/// fields put back. What a client wrote into `managedFields` is taken, unless it is empty, unreadable or
/// a subresource is written; `[{}]` clears all. `live` is `None` for a create. The time of the entry moves
/// only when fields changed. Where the versions of other managers can't be had, nobody manages anything any more
/// (`UpdateNoErrors`).
pub fn track(
    live: Option<&Value>,
    new: &mut Value,
    schema: &Schema,
    write: &Write<'_>,
    versions: &mut dyn Versions,
) {
    let Some(mut managers) = managers_for_update(live, new, write) else { return };
    managers::strip(new);
    let base = base(live, schema, new);
    let tracked = live.is_none() || !managers.is_empty();
    if tracked {
        if update(&mut managers, (&base, new), schema, write, versions).is_err() {
            return;
        }
        managers.cap();
    }
    managers.write_into(new);
}

/// The managers to start from; `None` if the object keeps none.
fn managers_for_update(live: Option<&Value>, new: &Value, write: &Write<'_>) -> Option<Managers> {
    new.get("metadata")?;
    let of_live = || live.map(Managers::read).unwrap_or_default();
    if !write.subresource.is_empty() {
        return Some(of_live());
    }
    if managers::is_reset(new) {
        return Some(Managers::default());
    }
    let given = Managers::read(new);
    Some(if given.is_empty() { of_live() } else { given })
}

/// What the new object is compared to: the live one, or for creates the type's zero value.
fn base(live: Option<&Value>, schema: &Schema, new: &Value) -> Value {
    if let Some(live) = live {
        let mut live = live.clone();
        managers::strip(&mut live);
        return live;
    }
    let text = |name: &str| new.get(name).and_then(Value::as_str).unwrap_or("");
    let zero = schema.is_builtin().then(|| encoding::zero_value(text("apiVersion"), text("kind")));
    let mut zero: Map<String, Value> = zero.flatten().unwrap_or_default();
    for name in ["apiVersion", "kind"] {
        zero.insert(name.to_owned(), Value::from(text(name)));
    }
    Value::Object(zero)
}

fn root(schema: &Schema) -> Place<'_> {
    Some((schema, schema.root()))
}

/// An update by `write.manager`: it owns what it changed, others lose that. Errors: why that can't be told.
fn update(
    managers: &mut Managers,
    (old, new): (&Value, &Value),
    schema: &Schema,
    write: &Write<'_>,
    versions: &mut dyn Versions,
) -> Result<(), String> {
    let changes = Changes::between((old, new), schema, write, managers, versions)?;
    managers.retain_fields(None, |version, fields| changes.at(version).left_of(fields));
    let own = changes.own.changed().difference(&managers::never_managed());
    if !own.is_empty() {
        managers.add(Identity::update(write), own, write);
    }
    Ok(())
}

/// Server-side apply. Returns the merged object with its `managedFields`, not yet defaulted; a no-op
/// returns `live` as it is. `live` is `None` when the apply creates the object.
pub fn apply(
    live: Option<&Value>,
    config: &Value,
    schema: &Schema,
    write: &Write<'_>,
    force: bool,
    versions: &mut dyn Versions,
) -> Result<Value, ApplyError> {
    if config.pointer("/metadata/managedFields").is_some_and(|value| !value.is_null()) {
        return Err(ApplyError::BadRequest("metadata.managedFields must be nil".to_owned()));
    }
    let old = base(live, schema, config);
    let mut managers = live.map(Managers::read).unwrap_or_default();
    if managers.is_empty() && live.is_some() {
        // Objects that nobody tracked belong to a manager of their own from their first apply on.
        let before = Write { manager: "before-first-apply", subresource: "", ..*write };
        let empty = base(None, schema, config);
        update(&mut managers, (&empty, &old), schema, &before, versions)
            .map_err(ApplyError::Unconverted)?;
    }
    // Upstream looks at what is there through the eyes of all managers first (`reconcileManagedFieldsWithSchemaChanges`).
    for version in managers.by_version().into_keys().filter(|version| version != write.api_version)
    {
        versions.at(&old, &version).map_err(ApplyError::Unconverted)?;
    }
    let before = managers.clone();
    let identity = Identity::apply(write);
    let last = managers.last(&identity);
    let own = set::of(root(schema), config);
    let own = managers::without(own, write.ignores);
    // The name counts while fields are removed: it keeps `metadata` from going with its last label.
    managers.put(identity.clone(), own.clone(), write);

    let config = without_ignored(config, write.ignores);
    let merged = merge::merge(root(schema), &old, &config);
    let merged = (schema, merged);
    let pruned = remove::prune(merged, &managers, last.as_ref(), write.api_version, versions);
    let mut merged = pruned.map_err(ApplyError::Unconverted)?;

    managers.put(identity.clone(), own.difference(&managers::never_managed()), write);

    let changes = Changes::between((&old, &merged), schema, write, &managers, versions);
    let changes = changes.map_err(ApplyError::Unconverted)?;
    let conflicts = managers.conflicts(&identity, |version| changes.at(version).changed());
    if !force && !conflicts.is_empty() {
        return Err(ApplyError::Conflicts(conflicts));
    }
    managers.retain_fields(Some(&identity), |version, fields| changes.at(version).left_of(fields));
    managers.drop_empty();
    if changes.own.is_same() {
        // Upstream notes a time only with a change of the object (`managedFieldsUpdater.Apply`).
        managers.restore_time(&identity, &before);
    }
    if let Some(live) = live
        && changes.own.is_same()
        && managers.same_fields(&before)
        && !Managers::read(live).is_empty()
    {
        return Ok(live.clone());
    }
    managers.write_into(&mut merged);
    Ok(merged)
}

/// What of an object its schema doesn't know or has another type for, as upstream tells it; none if all is well.
pub(crate) fn untyped(schema: &Schema, object: &Value) -> Option<String> {
    let unknown = schema.prune(&mut object.clone());
    let mut lines: Vec<String> =
        unknown.iter().map(|path| format!(".{path}: field not declared in schema")).collect();
    lines.extend(type_errors(schema, object));
    match &lines[..] {
        [] => None,
        [one] => Some(one.clone()),
        many => Some(format!("errors:\n  {}", many.join("\n  "))),
    }
}

/// A configuration merged into an object, without a record of who manages what (`TypedValue.Merge`).
pub(crate) fn merged(schema: &Schema, object: &Value, config: &Value) -> Value {
    merge::merge(root(schema), object, config)
}

/// The configuration without the parts that the endpoint ignores, so that they neither merge nor remove.
fn without_ignored(config: &Value, ignores: Ignores) -> Value {
    let mut config = config.clone();
    let Some(fields) = config.as_object_mut() else { return config };
    match ignores {
        Ignores::Nothing => {}
        Ignores::Status => {
            fields.remove("status");
        }
        Ignores::AllButStatus => {
            let kept = ["apiVersion", "kind", "metadata", "status"];
            fields.retain(|name, _| kept.contains(&name.as_str()));
        }
        Ignores::Spec | Ignores::SpecAndLabels => {
            fields.remove("spec");
            let metadata = fields.get_mut("metadata").and_then(Value::as_object_mut);
            if let (Ignores::SpecAndLabels, Some(metadata)) = (ignores, metadata) {
                metadata.remove("labels");
            }
        }
    }
    config
}

#[cfg(test)]
mod tests;
