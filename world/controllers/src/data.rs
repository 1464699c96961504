//! ConfigMaps and Secrets as the kubelet sees them: which keys they have, and which of them a pod names.
//!
//! A container is not started before it can have what its environment names (`makeEnvironmentVariables`), and a pod's
//! containers not before what the volumes name that they mount (the plug-ins `configmap`, `secret` and `projected`;
//! Kubernetes 1.36). Not looked at: secrets that drivers of volumes are given, and those for pulling images.

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use crate::{
    object::{Body, Text},
    read, root_ca,
    view::View,
};

/// The keys of a ConfigMap or Secret.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Keys {
    /// Of `data`.
    pub texts: Vec<Text>,
    /// Of a ConfigMap's `binaryData`: volumes show them, an environment can't have them.
    pub binary: Vec<Text>,
}

impl Keys {
    pub(crate) fn read(object: &Value) -> Keys {
        let keys = |field: &str| {
            let map = object.get(field).and_then(Value::as_object).into_iter().flatten();
            map.map(|(key, _)| Text::from(key.as_str())).collect()
        };
        Keys { texts: keys("data"), binary: keys("binaryData") }
    }
}

/// Something of a ConfigMap or Secret that a pod names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference {
    /// Whether it is a Secret.
    pub secret: bool,
    /// The object's name.
    pub name: Text,
    /// The key; none where all are meant.
    pub key: Option<Text>,
    /// Whether the pod can do without.
    pub optional: bool,
}

/// A container whose environment names some.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Environment {
    /// Whether it is an init container: the others wait for it.
    pub init: bool,
    /// Its name.
    pub container: Text,
    /// In the order in which the kubelet looks at them.
    pub references: Vec<Reference>,
}

/// All that a pod names.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Needs {
    /// Of volumes that containers mount.
    pub volumes: Vec<Reference>,
    /// Of environments, init containers first.
    pub environments: Vec<Environment>,
}

/// The type of ConfigMaps.
pub(crate) fn config_maps() -> GroupResource {
    GroupResource::new("", "configmaps")
}

/// The type of Secrets.
pub(crate) fn secrets() -> GroupResource {
    GroupResource::new("", "secrets")
}

impl Reference {
    fn key_in(&self, namespace: &str) -> ObjectKey {
        let resource = if self.secret { secrets() } else { config_maps() };
        ObjectKey::new(resource, namespace, &self.name)
    }

    /// Why it can't be had, in the kubelet's words; none if it can, or need not.
    fn lacks(&self, view: &View, namespace: &str, in_volume: bool) -> Option<String> {
        // Where no certificate is known nobody publishes it, and every pod with a token would wait for ever.
        let unpublished = !self.secret && *self.name == *root_ca::NAME && view.root_ca.is_empty();
        if self.optional || unpublished {
            return None;
        }
        let Some(object) = view.get(&self.key_in(namespace)) else {
            let kind = if self.secret { "secret" } else { "configmap" };
            return Some(format!("{kind} {:?} not found", self.name));
        };
        let (key, keys) = (self.key.as_ref()?, object.body.keys()?);
        if keys.texts.contains(key) || in_volume && keys.binary.contains(key) {
            return None;
        }
        Some(match (in_volume, self.secret) {
            (true, true) => format!("references non-existent secret key: {key}"),
            (true, false) => format!("configmap references non-existent config key: {key}"),
            (false, true) => format!("couldn't find key {key} in Secret {namespace}/{}", self.name),
            (false, false) => {
                format!("couldn't find key {key} in ConfigMap {namespace}/{}", self.name)
            }
        })
    }
}

impl Needs {
    /// What a pod's spec names; none for nothing.
    pub(crate) fn read(spec: &Value) -> Option<Box<Needs>> {
        let lists = [("initContainers", true), ("containers", false)];
        let containers: Vec<(bool, &Value)> = lists
            .iter()
            .flat_map(|(list, init)| {
                read::list(spec, list).map(move |container| (*init, container))
            })
            .collect();
        let mounted = |volume: &&Value| {
            containers.iter().any(|(_, container)| {
                let mounts = read::list(container, "volumeMounts");
                let mut all = mounts.chain(read::list(container, "volumeDevices"));
                all.any(|mount| mount["name"] == volume["name"])
            })
        };
        let needs = Needs {
            volumes: read::list(spec, "volumes").filter(mounted).flat_map(of_volume).collect(),
            environments: containers
                .iter()
                .map(|(init, container)| environment(*init, container))
                .filter(|environment| !environment.references.is_empty())
                .collect(),
        };
        (needs != Needs::default()).then(|| Box::new(needs))
    }

    /// Why its volumes can't be mounted.
    pub(crate) fn volumes_lack(&self, view: &View, namespace: &str) -> Option<String> {
        self.volumes.iter().find_map(|reference| reference.lacks(view, namespace, true))
    }

    /// The containers that can't be started, and why: the first such init container, or all others.
    pub(crate) fn containers_lack(&self, view: &View, namespace: &str) -> Vec<(Text, Text)> {
        let lacks = |of: &Environment| {
            let mut references = of.references.iter();
            let why = references.find_map(|one| one.lacks(view, namespace, false))?;
            Some((of.container.clone(), Text::from(why)))
        };
        let (init, others): (Vec<&Environment>, Vec<&Environment>) =
            self.environments.iter().partition(|of| of.init);
        match init.into_iter().find_map(lacks) {
            Some(first) => vec![first],
            None => others.into_iter().filter_map(lacks).collect(),
        }
    }

    /// Whether this is an init container, as far as its environment names anything.
    pub(crate) fn is_init(&self, container: &str) -> bool {
        self.environments.iter().any(|of| of.init && *of.container == *container)
    }

    /// Whether anything of this object is named.
    pub(crate) fn name(&self, key: &ObjectKey) -> bool {
        let in_environments = self.environments.iter().flat_map(|of| &of.references);
        self.volumes.iter().chain(in_environments).any(|one| one.key_in(&key.namespace) == *key)
    }
}

/// The names of all Secrets that a pod uses, in whatever way (`VisitPodSecretNames`).
pub(crate) fn secret_names(spec: &Value) -> Vec<Text> {
    const BY_REFERENCE: [&str; 7] =
        ["cephfs", "cinder", "flexVolume", "rbd", "scaleIO", "iscsi", "storageos"];
    let of_volume = |volume: &Value| {
        let by_reference = BY_REFERENCE.map(|kind| &volume[kind]["secretRef"]["name"]);
        let more = [
            &volume["azureFile"]["secretName"],
            &volume["csi"]["nodePublishSecretRef"]["name"],
            &volume["secret"]["secretName"],
        ];
        let projected = read::list(&volume["projected"], "sources");
        let projected = projected.map(|source| &source["secret"]["name"]);
        let all = by_reference.into_iter().chain(more).chain(projected);
        all.filter_map(Value::as_str).map(Text::from).collect::<Vec<Text>>()
    };
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let of_containers =
        lists.iter().flat_map(|list| read::list(spec, list)).flat_map(|container| {
            let references = environment(false, container).references.into_iter();
            references.filter(|one| one.secret).map(|one| one.name).collect::<Vec<Text>>()
        });
    let pulled = read::list(spec, "imagePullSecrets").map(|one| read::text(one, "name"));
    let mut names: Vec<Text> = read::list(spec, "volumes").flat_map(of_volume).collect();
    names.extend(of_containers);
    names.extend(pulled);
    names.sort();
    names.dedup();
    names
}

fn reference(secret: bool, source: &Value, field: &str, key: Option<Text>) -> Reference {
    let optional = read::flag(source, "optional");
    Reference { secret, name: read::text(source, field), key, optional }
}

/// What a volume names of a source: the items, or all.
fn items(secret: bool, source: &Value, field: &str) -> Vec<Reference> {
    let keys = read::list(source, "items").map(|item| read::text(item, "key"));
    let keys: Vec<Option<Text>> = keys.map(Some).collect();
    let keys = if keys.is_empty() { vec![None] } else { keys };
    keys.into_iter().map(|key| reference(secret, source, field, key)).collect()
}

fn of_volume(volume: &Value) -> Vec<Reference> {
    let projected = |source: &Value| {
        let of = |secret: bool, field: &str| {
            let found = source.get(field).filter(|found| found.is_object());
            found.map(|found| items(secret, found, "name")).unwrap_or_default()
        };
        [of(true, "secret"), of(false, "configMap")].concat()
    };
    if let Some(source) = volume.get("configMap") {
        return items(false, source, "name");
    }
    if let Some(source) = volume.get("secret") {
        return items(true, source, "secretName");
    }
    read::list(&volume["projected"], "sources").flat_map(projected).collect()
}

fn environment(init: bool, container: &Value) -> Environment {
    let whole = |from: &Value| {
        let fields = [(false, "configMapRef"), (true, "secretRef")];
        let found = fields.into_iter().find_map(|(secret, field)| Some((secret, from.get(field)?)));
        found.map(|(secret, source)| reference(secret, source, "name", None))
    };
    let one = |variable: &Value| {
        let from = variable.get("valueFrom")?;
        let fields = [(false, "configMapKeyRef"), (true, "secretKeyRef")];
        let found = fields.into_iter().find_map(|(secret, field)| Some((secret, from.get(field)?)));
        let (secret, source) = found?;
        Some(reference(secret, source, "name", Some(read::text(source, "key"))))
    };
    let from = read::list(container, "envFrom").filter_map(whole);
    let references = from.chain(read::list(container, "env").filter_map(one)).collect();
    Environment { init, container: read::text(container, "name"), references }
}

impl Body {
    /// The keys of a ConfigMap or Secret; none of anything else.
    pub(crate) fn keys(&self) -> Option<&Keys> {
        match self {
            Body::Data(keys) => Some(keys),
            Body::RootCa(map) => Some(&map.keys),
            Body::Tracking(map) => Some(&map.keys),
            Body::DeschedulerPolicy(map) => Some(&map.keys),
            Body::TokenSecret(secret) => Some(&secret.keys),
            _ => None,
        }
    }
}
