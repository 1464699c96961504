//! Which types the cluster serves, and where: discovery once, and CustomResourceDefinitions as they come and go.

use std::collections::{BTreeMap, BTreeSet};

use controllers::{Kind, Kinds, object::Text, wire::JSON};
use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use super::api::Api;
use crate::providers::remote::access::unavailable;

/// A type.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Type {
    /// Its name.
    pub resource: GroupResource,
    /// In which version it is read and written: `apps/v1`.
    pub api_version: Text,
    /// `Deployment`.
    pub kind: Text,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// Whether it can be listed.
    pub lists: bool,
    /// Whether it can be watched.
    pub watches: bool,
}

impl Type {
    /// The path of all its objects, of those of a namespace, or of one object, with a subresource if there is one.
    pub fn path(&self, namespace: &str, name: &str, subresource: &str) -> String {
        let prefix = if self.api_version.contains('/') { "/apis" } else { "/api" };
        let within = if namespace.is_empty() { "" } else { "/namespaces/" };
        let mut path =
            format!("{prefix}/{}{within}{namespace}/{}", self.api_version, self.resource.resource);
        for part in [name, subresource].into_iter().filter(|part| !part.is_empty()) {
            path = format!("{path}/{part}");
        }
        path
    }

    /// The key of one of its objects.
    pub fn key(&self, object: &Value) -> ObjectKey {
        let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
        ObjectKey::new(self.resource.clone(), text("namespace"), text("name"))
    }
}

/// All types.
#[derive(Debug, Clone, Default)]
pub struct Types {
    types: BTreeMap<GroupResource, Type>,
    kinds: BTreeMap<(Text, Text), Kind>,
    customs: BTreeSet<GroupResource>,
}

impl Types {
    /// What discovery says. Of a type that is served in several versions, the one that the server prefers.
    ///
    /// # Errors
    /// The server does not answer, or refuses.
    pub async fn discover(api: &Api) -> anyhow::Result<Types> {
        let mut versions = vec!["/api/v1".to_owned()];
        let groups = found(api, "/apis").await?;
        for group in groups["groups"].as_array().into_iter().flatten() {
            let preferred = &group["preferredVersion"]["groupVersion"];
            let all = group["versions"].as_array().into_iter().flatten();
            let others = all.map(|of| &of["groupVersion"]).filter(|of| *of != preferred);
            let of_group = [preferred].into_iter().chain(others).filter_map(Value::as_str);
            versions.extend(of_group.map(|version| format!("/apis/{version}")));
        }
        let mut types = Types::default();
        for version in versions {
            match found(api, &version).await {
                Ok(list) => types.add_version(&list),
                // A server of its own may be down: what it serves is as good as unknown.
                Err(error) if version != "/api/v1" => eprintln!("trommel: {error:#}; left out"),
                Err(error) => return Err(error),
            }
        }
        Ok(types)
    }

    fn add_version(&mut self, list: &Value) {
        let api_version = list["groupVersion"].as_str().unwrap_or_default();
        let group = api_version.split_once('/').map_or("", |(group, _)| group);
        for resource in list["resources"].as_array().into_iter().flatten() {
            let verbs = resource["verbs"].as_array().into_iter().flatten();
            let verbs: Vec<&str> = verbs.filter_map(Value::as_str).collect();
            let name = resource["name"].as_str().unwrap_or_default();
            if !name.contains('/') {
                self.add(Type {
                    resource: GroupResource::new(group, name),
                    api_version: api_version.into(),
                    kind: resource["kind"].as_str().unwrap_or_default().into(),
                    namespaced: resource["namespaced"] == true,
                    lists: verbs.contains(&"list"),
                    watches: verbs.contains(&"watch"),
                });
            }
        }
    }

    fn add(&mut self, of: Type) {
        let kind = Kind { resource: of.resource.clone(), namespaced: of.namespaced };
        self.kinds.insert((of.api_version.clone(), of.kind.clone()), kind);
        self.types.entry(of.resource.clone()).or_insert(of);
    }

    /// Takes in the types of a CustomResourceDefinition: what it serves, if it is established. Whether that changed
    /// anything.
    pub fn define(&mut self, crd: &Value) -> bool {
        let spec = &crd["spec"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let (group, plural) = (text(&spec["group"]), text(&spec["names"]["plural"]));
        let resource = GroupResource::new(&group, &plural);
        let conditions = crd["status"]["conditions"].as_array().into_iter().flatten();
        let mut established = conditions.filter(|of| of["type"] == "Established");
        let established = established.any(|of| of["status"] == "True");
        let before = (self.types.get(&resource).cloned(), self.customs.contains(&resource));
        self.remove(&resource);
        let versions = spec["versions"].as_array().into_iter().flatten();
        let mut served: Vec<&Value> = versions.filter(|of| of["served"] == true).collect();
        served.sort_by_key(|of| of["storage"] != true);
        for version in served.into_iter().filter(|_| established) {
            self.customs.insert(resource.clone());
            self.add(Type {
                resource: resource.clone(),
                api_version: format!("{group}/{}", text(&version["name"])).into(),
                kind: text(&spec["names"]["kind"]).into(),
                namespaced: spec["scope"] == "Namespaced",
                lists: true,
                watches: true,
            });
        }
        before != (self.types.get(&resource).cloned(), self.customs.contains(&resource))
    }

    /// Forgets a type.
    pub fn remove(&mut self, resource: &GroupResource) {
        self.types.remove(resource);
        self.customs.remove(resource);
        self.kinds.retain(|_, kind| kind.resource != *resource);
    }

    /// A type, if it is served.
    pub fn get(&self, resource: &GroupResource) -> Option<&Type> {
        self.types.get(resource)
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = &Type> {
        self.types.values()
    }

    /// Whether a CustomResourceDefinition made a type.
    pub fn is_custom(&self, resource: &GroupResource) -> bool {
        self.customs.contains(resource)
    }

    /// The same, for controllers.
    pub fn kinds(&self) -> Kinds {
        self.kinds.iter().map(|(of, kind)| (of.clone(), kind.clone())).collect()
    }
}

async fn found(api: &Api, path: &str) -> anyhow::Result<Value> {
    let answered = api.exchange("GET", path, JSON, &Value::Null, "trommel").await;
    match answered.map_err(|why| unavailable(&why))? {
        (200, found) => Ok(found),
        (code, answer) => Err(unavailable(&format!("GET {path}: {code} {}", answer["message"]))),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn bars() -> GroupResource {
        GroupResource::new("example.com", "bars")
    }

    fn crd(established: &str) -> Value {
        json!({
            "spec": {
                "group": "example.com", "scope": "Namespaced", "names": {"plural": "bars", "kind": "Bar"},
                "versions": [
                    {"name": "v1", "served": true, "storage": false},
                    {"name": "v2", "served": true, "storage": true},
                    {"name": "v0", "served": false, "storage": false},
                ],
            },
            "status": {"conditions": [{"type": "Established", "status": established}]},
        })
    }

    #[test]
    fn a_definition_is_served_once_it_is_established() {
        let mut types = Types::default();
        assert!(!types.define(&crd("False")));
        assert!(types.define(&crd("True")));
        assert!(!types.define(&crd("True")), "nothing new");
        let bar = types.get(&bars()).expect("a type");
        assert_eq!(
            bar.path("ns", "a", "status"),
            "/apis/example.com/v2/namespaces/ns/bars/a/status"
        );
        assert!(types.is_custom(&bars()));
        assert!(types.kinds().get("example.com/v1", "Bar").is_some());
        assert!(types.kinds().get("example.com/v0", "Bar").is_none());
        types.remove(&bars());
        assert!(types.kinds().get("example.com/v1", "Bar").is_none());
    }

    #[test]
    fn the_first_version_of_a_group_counts() {
        let mut types = Types::default();
        for version in ["v2", "v1"] {
            types.add_version(
                &json!({"groupVersion": format!("autoscaling/{version}"), "resources": [
                    {"name": "hpas", "kind": "HPA", "namespaced": true, "verbs": ["list", "watch"]},
                    {"name": "hpas/status", "kind": "HPA", "namespaced": true, "verbs": ["get"]},
                ]}),
            );
        }
        let all: Vec<_> = types.iter().map(|of| of.path("", "", "")).collect();
        assert_eq!(all, ["/apis/autoscaling/v2/hpas"]);
    }
}
