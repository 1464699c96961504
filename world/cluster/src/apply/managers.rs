//! The entries of `metadata.managedFields`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::{
    Conflict, Ignores, Write,
    fields::{FieldSet, PathElement},
};

/// What makes two entries the same: for applies the version doesn't count.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Identity {
    /// `Apply` or `Update`.
    operation: String,
    manager: String,
    subresource: String,
    /// Empty for applies.
    version: String,
}

impl Identity {
    /// An update's entry.
    pub(super) fn update(write: &Write<'_>) -> Identity {
        Identity {
            operation: "Update".to_owned(),
            manager: write.manager.to_owned(),
            subresource: write.subresource.to_owned(),
            version: write.api_version.to_owned(),
        }
    }

    /// An apply's entry.
    pub(super) fn apply(write: &Write<'_>) -> Identity {
        let operation = "Apply".to_owned();
        Identity { operation, version: String::new(), ..Identity::update(write) }
    }

    /// By which conflicts are ordered: the text by which upstream tells managers apart (`BuildManagerIdentifier`).
    fn order(&self) -> String {
        let fields = [
            ("manager", &self.manager),
            ("operation", &self.operation),
            ("apiVersion", &self.version),
            ("subresource", &self.subresource),
        ];
        let given = fields.into_iter().filter(|(_, value)| !value.is_empty());
        let texts: Vec<String> = given.map(|(name, value)| format!("{name:?}:{value:?}")).collect();
        format!("{{{}}}", texts.join(","))
    }

    /// As messages show it.
    fn shown(&self) -> String {
        let mut text = format!("{:?}", self.manager);
        if !self.subresource.is_empty() {
            text.push_str(&format!(" with subresource {:?}", self.subresource));
        }
        if self.operation == "Update" {
            text.push_str(&format!(" using {}", self.version));
        }
        text
    }
}

/// One entry's content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Entry {
    api_version: String,
    time: Option<String>,
    fields: FieldSet,
}

/// All entries of an object.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Managers {
    entries: BTreeMap<Identity, Entry>,
}

/// Update managers above this number are merged into one, oldest first.
const UPDATES_MAX: usize = 10;

impl Managers {
    /// Reads an object's entries; unreadable ones are left out, as upstream drops them.
    pub(super) fn read(object: &Value) -> Managers {
        let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
        let mut managers = Managers::default();
        for entry in list.into_iter().flatten() {
            let text =
                |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or("").to_owned();
            let Some(fields) = entry.get("fieldsV1").and_then(FieldSet::parse) else { continue };
            let (operation, api_version) = (text("operation"), text("apiVersion"));
            let version = if operation == "Apply" { String::new() } else { api_version.clone() };
            let identity = Identity {
                operation,
                manager: text("manager"),
                subresource: text("subresource"),
                version,
            };
            let time = Some(text("time")).filter(|time| !time.is_empty());
            managers.entries.insert(identity, Entry { api_version, time, fields });
        }
        managers
    }

    /// Whether nobody manages anything.
    pub(super) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The fields of one entry.
    pub(super) fn fields(&self, identity: &Identity) -> Option<&FieldSet> {
        self.entries.get(identity).map(|entry| &entry.fields)
    }

    /// In which version an entry was written last, and its fields.
    pub(super) fn last(&self, identity: &Identity) -> Option<(String, FieldSet)> {
        let entry = self.entries.get(identity)?;
        Some((entry.api_version.clone(), entry.fields.clone()))
    }

    /// Fields of all entries, by the version in which they were written.
    pub(super) fn by_version(&self) -> BTreeMap<String, FieldSet> {
        let mut all: BTreeMap<String, FieldSet> = BTreeMap::new();
        for entry in self.entries.values() {
            let known = all.entry(entry.api_version.clone()).or_default();
            *known = known.union(&entry.fields);
        }
        all
    }

    /// Adds fields to an entry and moves its time.
    pub(super) fn add(&mut self, identity: Identity, fields: FieldSet, write: &Write<'_>) {
        let known = self.fields(&identity).cloned().unwrap_or_default();
        self.put(identity, known.union(&fields), write);
    }

    /// Replaces an entry's fields and moves its time.
    pub(super) fn put(&mut self, identity: Identity, fields: FieldSet, write: &Write<'_>) {
        let api_version = write.api_version.to_owned();
        let time = Some(write.now.to_owned());
        self.entries.insert(identity, Entry { api_version, time, fields });
    }

    /// Gives an entry the time that it had in `before`, if it was there.
    pub(super) fn restore_time(&mut self, identity: &Identity, before: &Managers) {
        let time = before.entries.get(identity).and_then(|entry| entry.time.clone());
        if let Some(entry) = self.entries.get_mut(identity) {
            entry.time = time;
        }
    }

    /// Narrows every entry's fields, which are of a version, but those of `except`; entries left with none go.
    pub(super) fn retain_fields(
        &mut self,
        except: Option<&Identity>,
        narrow: impl Fn(&str, &FieldSet) -> FieldSet,
    ) {
        self.entries.retain(|identity, entry| {
            if Some(identity) != except {
                entry.fields = narrow(&entry.api_version, &entry.fields);
                return !entry.fields.is_empty();
            }
            true
        });
    }

    /// Drops entries without fields.
    pub(super) fn drop_empty(&mut self) {
        self.entries.retain(|_, entry| !entry.fields.is_empty());
    }

    /// Whether the same managers own the same fields; times don't count.
    pub(super) fn same_fields(&self, other: &Managers) -> bool {
        let fields = |managers: &Managers| -> Vec<(Identity, String, FieldSet)> {
            let row = |(identity, entry): (&Identity, &Entry)| {
                (identity.clone(), entry.api_version.clone(), entry.fields.clone())
            };
            managers.entries.iter().map(row).collect()
        };
        fields(self) == fields(other)
    }

    /// Where others than `own` hold fields that changed in the version in which they wrote.
    pub(super) fn conflicts(
        &self,
        own: &Identity,
        changed: impl Fn(&str) -> FieldSet,
    ) -> Vec<Conflict> {
        let mut others: Vec<(&Identity, &Entry)> =
            self.entries.iter().filter(|(identity, _)| *identity != own).collect();
        others.sort_by_cached_key(|(identity, _)| identity.order());
        let paths = |(identity, entry): (&Identity, &Entry)| {
            let manager = identity.shown();
            let paths = entry.fields.intersection(&changed(&entry.api_version)).paths();
            let conflict = move |path| Conflict { manager: manager.clone(), path };
            paths.into_iter().map(conflict).collect::<Vec<_>>()
        };
        others.into_iter().flat_map(paths).collect()
    }

    /// Merges the oldest update entries into `ancient-changes` while there are too many.
    pub(super) fn cap(&mut self) {
        const ANCIENT: &str = "ancient-changes";
        let updates = |entries: &BTreeMap<Identity, Entry>| {
            let mut updates: Vec<(Option<String>, Identity)> = entries
                .iter()
                .filter(|(identity, _)| identity.operation == "Update")
                .map(|(identity, entry)| (entry.time.clone(), identity.clone()))
                .collect();
            updates.sort();
            updates
        };
        while updates(&self.entries).len() > UPDATES_MAX {
            let oldest = updates(&self.entries).into_iter().map(|(_, identity)| identity);
            let Some(oldest) = oldest.into_iter().find(|identity| identity.manager != ANCIENT)
            else {
                return;
            };
            let Some(entry) = self.entries.remove(&oldest) else { return };
            let bucket =
                Identity { manager: ANCIENT.to_owned(), subresource: String::new(), ..oldest };
            let known = self.entries.remove(&bucket);
            let fields = known.map_or_else(FieldSet::default, |known| known.fields);
            let fields = fields.union(&entry.fields);
            self.entries.insert(bucket, Entry { fields, ..entry });
        }
    }

    /// Writes the entries into an object's metadata, in upstream's order.
    pub(super) fn write_into(mut self, object: &mut Value) {
        self.drop_empty();
        strip(object);
        let mut rows: Vec<(&Identity, &Entry)> = self.entries.iter().collect();
        rows.sort_by_key(|(identity, entry)| {
            (&identity.operation, &entry.time, &identity.manager, &entry.api_version)
        });
        let list: Vec<Value> =
            rows.into_iter().map(|(identity, entry)| row(identity, entry)).collect();
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut)
            && !list.is_empty()
        {
            metadata.insert("managedFields".to_owned(), Value::Array(list));
        }
    }
}

fn row(identity: &Identity, entry: &Entry) -> Value {
    let mut row = Map::new();
    row.insert("manager".to_owned(), json!(identity.manager));
    row.insert("operation".to_owned(), json!(identity.operation));
    row.insert("apiVersion".to_owned(), json!(entry.api_version));
    if let Some(time) = &entry.time {
        row.insert("time".to_owned(), json!(time));
    }
    row.insert("fieldsType".to_owned(), json!("FieldsV1"));
    row.insert("fieldsV1".to_owned(), entry.fields.print());
    if !identity.subresource.is_empty() {
        row.insert("subresource".to_owned(), json!(identity.subresource));
    }
    Value::Object(row)
}

/// Removes `managedFields` from an object.
pub(super) fn strip(object: &mut Value) {
    if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
        metadata.remove("managedFields");
    }
}

/// Whether a client asks for all entries to go: one empty entry.
pub(super) fn is_reset(object: &Value) -> bool {
    let list = object.pointer("/metadata/managedFields").and_then(Value::as_array);
    list.is_some_and(|list| matches!(list.as_slice(), [Value::Object(only)] if only.is_empty()))
}

/// Fields that nobody manages.
pub(super) fn never_managed() -> FieldSet {
    const METADATA: [&str; 8] = [
        "name",
        "namespace",
        "creationTimestamp",
        "selfLink",
        "uid",
        "generation",
        "managedFields",
        "resourceVersion",
    ];
    let field = |name: &str| PathElement::Field(name.to_owned());
    let mut set = FieldSet::default();
    for name in ["apiVersion", "kind", "metadata"] {
        set.insert(&[field(name)]);
    }
    for name in METADATA {
        set.insert(&[field("metadata"), field(name)]);
    }
    set
}

/// A set without the fields that an endpoint ignores.
pub(super) fn without(mut set: FieldSet, ignores: Ignores) -> FieldSet {
    let name = |element: &PathElement| match element {
        PathElement::Field(name) => name.clone(),
        _ => String::new(),
    };
    let keep = |element: &PathElement| match ignores {
        Ignores::Nothing => true,
        Ignores::Status => name(element) != "status",
        Ignores::AllButStatus => name(element) == "status",
        Ignores::Spec | Ignores::SpecAndLabels => name(element) != "spec",
    };
    if ignores == Ignores::SpecAndLabels {
        let metadata = PathElement::Field("metadata".into());
        let labels = |element: &PathElement| name(element) == "labels";
        if let Some(inside) = set.children.get_mut(&metadata) {
            inside.members.retain(|element| !labels(element));
            inside.children.retain(|element, _| !labels(element));
            if inside.members.is_empty() && inside.children.is_empty() {
                set.children.remove(&metadata);
            }
        }
    }
    let members: BTreeSet<PathElement> = set.members.into_iter().filter(&keep).collect();
    set.children.retain(|element, _| keep(element));
    FieldSet { members, children: set.children }
}
