//! What a write changes, in each version in which somebody manages fields (structured-merge-diff's `Updater.update`).
//!
//! An object that was written as `networking.k8s.io/v1beta1` has `spec.backend` in that manager's set; a write of
//! `spec.defaultBackend` in `v1` changes it all the same. So both states are converted to that version and compared
//! there. Versions of custom types all have the same fields here, and so have types in one version.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{
    Write,
    compare::{Comparison, compare},
    managers::Managers,
    root,
};
use crate::{encoding, facts, schema::Schema};

/// The changes of one write.
#[derive(Debug)]
pub(super) struct Changes {
    /// In its own version.
    pub(super) own: Comparison,
    others: BTreeMap<String, Comparison>,
}

impl Changes {
    pub(super) fn of(
        managers: &Managers,
        old: &Value,
        new: &Value,
        schema: &Schema,
        write: &Write<'_>,
    ) -> Changes {
        let own = compare(root(schema), old, new).without(write.ignores);
        let foreign = |version: &&str| schema.is_builtin() && *version != write.api_version;
        let others = managers.versions().into_iter().filter(foreign).filter_map(|version| {
            let (old, _) = form(old, version)?;
            let (new, schema) = form(new, version)?;
            let found = compare(root(&schema), &old, &new).without(write.ignores);
            Some((version.to_owned(), found))
        });
        let others = others.collect();
        Changes { own, others }
    }

    /// In this version; what can't be converted to it is taken as it is.
    pub(super) fn at(&self, version: &str) -> &Comparison {
        self.others.get(version).unwrap_or(&self.own)
    }
}

/// An object in another version of its built-in type, with that version's schema.
fn form(object: &Value, api_version: &str) -> Option<(Value, Schema)> {
    let (group, version) = facts::split_api_version(api_version);
    let schema = Schema::builtin(group, version, object["kind"].as_str()?)?;
    let mut object = object.clone();
    facts::convert(&mut object, api_version).ok()?;
    encoding::canonical(&mut object).ok()?;
    Some((object, schema))
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
        track(None, &mut live, &schema("v1beta1"), &write("then", old));
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
        track(Some(&live), &mut changed, &schema("v1"), &write("now", new));
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
