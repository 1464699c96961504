//! Names that refer to objects of the same kustomization, which namespace, prefix and suffix have renamed
//! (kustomize's `nameReferenceTransformer` and its `nameref` filter).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    Affixes, Id, Item, builtin,
    configuration::Configuration,
    spec::{FieldSpec, Type},
};
use crate::place::LoadError;

/// What an object was called, and is now.
struct Known {
    of: Type,
    is_cluster_scoped: bool,
    was: Vec<Id>,
    now: Id,
    /// As it is written, empty where there is none.
    namespace: String,
    affixes: Affixes,
}

/// One object that may name others.
struct Referrer<'a> {
    known: &'a Known,
    /// What it may name.
    reachable: Vec<&'a Known>,
    /// What its `roleRef` says.
    role: Option<Type>,
}

/// Lets all references follow what was renamed.
pub(super) fn follow(items: &mut [Item], configuration: &Configuration) -> Result<(), LoadError> {
    let known: Vec<Known> = items.iter().map(Known::of).collect();
    for (item, own) in items.iter_mut().zip(&known) {
        let bound = bound_namespaces(&item.manifest.object);
        let referrer = Referrer {
            known: own,
            reachable: known.iter().filter(|other| own.reaches(other, &bound)).collect(),
            role: role(&item.manifest.object),
        };
        let original = own.was.first().unwrap_or(&own.now).type_of(&own.of);
        let mut failed = None;
        for (named, fields) in &configuration.references {
            for field in fields.iter().filter(|field| field.of.selects(&original)) {
                field.each(&mut item.manifest.object, &Value::Null, &mut |value| {
                    let followed = referrer.follow(value, named, field);
                    failed = failed.take().or(followed.err());
                });
            }
        }
        if let Some(message) = failed {
            return Err(item.manifest.place.error(message));
        }
    }
    Ok(())
}

/// Namespaces of the accounts that a RoleBinding is for.
fn bound_namespaces(object: &Value) -> BTreeSet<String> {
    if object["kind"] != "RoleBinding" {
        return BTreeSet::new();
    }
    let subjects = object["subjects"].as_array().into_iter().flatten();
    subjects
        .filter(|subject| subject["kind"] == "ServiceAccount")
        .filter_map(|subject| subject["namespace"].as_str().map(str::to_owned))
        .collect()
}

fn role(object: &Value) -> Option<Type> {
    let text = |field: &str| object["roleRef"][field].as_str().map(str::to_owned);
    Some(Type { group: text("apiGroup")?, kind: text("kind")?, version: String::new() })
}

impl Known {
    fn of(item: &Item) -> Known {
        let of = item.type_of();
        Known {
            is_cluster_scoped: builtin::is_cluster_scoped(&of),
            of,
            was: item.was.clone(),
            now: item.id(),
            namespace: item.namespace().to_owned(),
            affixes: item.affixes.clone(),
        }
    }

    /// Whether it may name the other: in the same namespace, or where one of them is in none.
    fn reaches(&self, other: &Known, bound: &BTreeSet<String>) -> bool {
        self.is_cluster_scoped
            || other.is_cluster_scoped
            || self.now.namespace == other.now.namespace
            || bound.contains(&other.namespace)
    }

    fn was_of(&self, named: &Type) -> bool {
        self.was.iter().any(|id| named.selects(&id.type_of(&self.of)))
    }
}

impl Referrer<'_> {
    /// A name, a map with a name and perhaps a namespace, or a list of these.
    fn follow(&self, value: &mut Value, named: &Type, field: &FieldSpec) -> Result<(), String> {
        match value {
            Value::Array(items) => {
                items.iter_mut().try_for_each(|item| self.follow(item, named, field))
            }
            Value::String(name) => {
                let all = self.reachable.clone();
                if let Some(found) = self.find(name, all, named, field, |one| &one.now.name)? {
                    *name = found.now.name.clone();
                }
                Ok(())
            }
            Value::Object(map) => {
                let Some(name) = map.get("name").and_then(Value::as_str) else { return Ok(()) };
                let namespace = map.get("namespace").map(|namespace| namespace.as_str());
                let there = match namespace {
                    None => self.reachable.clone(),
                    Some(namespace) => self.in_namespace(namespace.unwrap_or_default()),
                };
                let identity = |one: &Known| (one.now.name.clone(), one.namespace.clone());
                let Some(found) = self.find(name, there, named, field, identity)? else {
                    return Ok(());
                };
                map.insert("name".to_owned(), json!(found.now.name));
                if !found.namespace.is_empty() {
                    map.insert("namespace".to_owned(), json!(found.namespace));
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    /// What was there at first; if that is nothing, what is there now.
    fn in_namespace(&self, namespace: &str) -> Vec<&Known> {
        let all = || self.reachable.iter().copied().filter(|one| !one.is_cluster_scoped);
        let first = |one: &&Known| one.was.first().unwrap_or(&one.now).namespace == namespace;
        let at_first: Vec<&Known> = all().filter(first).collect();
        match at_first.is_empty() {
            true => all().filter(|one| one.now.namespace == namespace).collect(),
            false => at_first,
        }
    }

    /// What a name means, if it means a renamed object. Of several, the one of the same layers.
    fn find<'a, I: PartialEq>(
        &self,
        name: &str,
        mut among: Vec<&'a Known>,
        named: &Type,
        field: &FieldSpec,
        identity: impl Fn(&'a Known) -> I,
    ) -> Result<Option<&'a Known>, String> {
        among.retain(|one| one.was.iter().any(|id| id.name == name) && one.was_of(named));
        if let Some(role) = self.role.as_ref().filter(|_| is_role(field)) {
            among.retain(|one| one.was_of(role));
        }
        among.retain(|one| {
            self.known.is_cluster_scoped
                || one.is_cluster_scoped
                || one.of.kind == "ServiceAccount"
                || one.now.namespace == self.known.now.namespace
        });
        if among.len() > 1 {
            among.retain(|one| one.affixes.fit(&self.known.affixes, true));
        }
        if among.len() > 1 {
            among.retain(|one| one.affixes.fit(&self.known.affixes, false));
        }
        match among.split_first() {
            None => Ok(None),
            Some((first, others)) => {
                if others.iter().all(|one| identity(one) == identity(first)) {
                    return Ok(Some(first));
                }
                let names: Vec<&str> = among.iter().map(|one| &*one.now.name).collect();
                let (kind, names) = (&named.kind, names.join(", "));
                Err(format!("{kind} {name:?} may be any of {names}"))
            }
        }
    }
}

fn is_role(field: &FieldSpec) -> bool {
    field.path.ends_with(&["roleRef".to_owned(), "name".to_owned()])
}
