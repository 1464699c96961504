//! Managers that wrote in other versions of a type: what changed as they see it.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Write,
    compare::{Comparison, compare},
    managers::Managers,
    root,
};
use crate::{encoding, facts, schema::Schema};

/// The versions of a type, in which its managers may have written.
pub trait Versions {
    /// An object of the type in one of them, with the schema of that. None: fields of that version are taken as if they
    /// were of the request's own. Errors: why it can't be converted.
    fn at(&mut self, object: &Value, api_version: &str) -> Result<Option<(Value, Schema)>, String>;
}

/// Those of built-in types. What can't be converted is taken as it is, and so are all others.
///
/// An object that was written as `networking.k8s.io/v1beta1` has `spec.backend` in that manager's set; a write of
/// `spec.defaultBackend` in `v1` changes it all the same.
#[derive(Debug, Clone, Copy)]
pub struct BuiltIn;

impl Versions for BuiltIn {
    fn at(&mut self, object: &Value, api_version: &str) -> Result<Option<(Value, Schema)>, String> {
        Ok(form(object, api_version))
    }
}

fn form(object: &Value, api_version: &str) -> Option<(Value, Schema)> {
    let (group, version) = facts::split_api_version(api_version);
    let schema = Schema::builtin(group, version, object["kind"].as_str()?)?;
    let mut object = object.clone();
    facts::convert(&mut object, api_version).ok()?;
    encoding::canonical(&mut object).ok()?;
    Some((object, schema))
}

/// What changed between two objects, in the versions of all who manage fields of them.
pub(super) struct Changes {
    /// In the request's version.
    pub(super) own: Comparison,
    others: BTreeMap<String, Comparison>,
}

impl Changes {
    /// Compares two objects. Errors: they can't be had in the version of some manager.
    pub(super) fn between(
        (old, new): (&Value, &Value),
        schema: &Schema,
        write: &Write<'_>,
        managers: &Managers,
        versions: &mut dyn Versions,
    ) -> Result<Changes, String> {
        let own = compare(root(schema), old, new).without(write.ignores);
        let mut others = BTreeMap::new();
        for version in managers.by_version().into_keys() {
            if version == write.api_version {
                continue;
            }
            let Some((old, schema)) = versions.at(old, &version)? else { continue };
            let new = versions.at(new, &version);
            let new = new.map_err(|why| format!("failed to convert new object: {why}"))?;
            let Some((new, _)) = new else { continue };
            let comparison = compare(root(&schema), &old, &new).without(write.ignores);
            others.insert(version, comparison);
        }
        Ok(Changes { own, others })
    }

    /// As one sees it in a version; what can't be had in it is taken as it is.
    pub(super) fn at(&self, api_version: &str) -> &Comparison {
        self.others.get(api_version).unwrap_or(&self.own)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::{Ignores, track};
    use super::*;

    #[test]
    fn who_wrote_in_an_old_version_loses_what_changes_in_a_new_one() {
        let ingress = |api_version: &str, spec: Value| json!({"apiVersion": api_version, "kind": "Ingress", "metadata": {"name": "i"}, "spec": spec});
        let (old, new) = ("networking.k8s.io/v1beta1", "networking.k8s.io/v1");
        let schema =
            |version: &str| Schema::builtin("networking.k8s.io", version, "Ingress").unwrap();
        let write = |manager: &'static str, api_version: &'static str| Write {
            manager,
            api_version,
            subresource: "",
            now: "2026-01-01T00:00:00Z",
            ignores: Ignores::Status,
        };
        let backend = json!({"serviceName": "s", "servicePort": 80});
        let mut live = ingress(old, json!({"ingressClassName": "c", "backend": backend}));
        track(None, &mut live, &schema("v1beta1"), &write("then", old), &mut BuiltIn);
        let managed = |object: &Value, index: usize| {
            let entry = &object["metadata"]["managedFields"][index];
            let fields = entry["fieldsV1"]["f:spec"].as_object().unwrap();
            let fields: Vec<String> = fields.keys().cloned().collect();
            (entry["apiVersion"].as_str().unwrap().to_owned(), fields.join(" "))
        };
        let both = "f:backend f:ingressClassName".to_owned();
        assert_eq!(managed(&live, 0), (old.to_owned(), both));
        facts::convert(&mut live, new).unwrap();
        let service = json!({"name": "t", "port": {"number": 80}});
        let mut changed = live.clone();
        changed["spec"]["defaultBackend"]["service"] = service;
        track(Some(&live), &mut changed, &schema("v1"), &write("now", new), &mut BuiltIn);
        let of = |manager: &str| {
            let entries = changed["metadata"]["managedFields"].as_array().unwrap();
            let at = entries.iter().position(|entry| entry["manager"] == manager).unwrap();
            changed["metadata"]["managedFields"][at]["fieldsV1"]["f:spec"].to_string()
        };
        assert!(!of("then").contains("serviceName"), "{}", of("then"));
        assert!(of("then").contains("servicePort"), "its port is as it was: {}", of("then"));
        assert!(of("now").contains("f:name"), "{}", of("now"));
    }
}
