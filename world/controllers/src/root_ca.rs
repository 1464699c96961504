//! Every namespace has the certificate by which the API server is known, in the ConfigMap `kube-root-ca.crt`
//! (`pkg/controller/certificates/rootcacertpublisher`, Kubernetes 1.36). Where no certificate is known
//! ([`View::root_ca`] is empty) none is published, as where `--root-ca-file` is not given.

use serde_json::{Value, json};
use trace::ObjectKey;

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    data::{Keys, config_maps},
    namespace::namespaces,
    object::{Body, Text},
    read,
    request::Request,
    view::View,
    write,
};

/// The ConfigMap's name.
pub(crate) const NAME: &str = "kube-root-ca.crt";
const DESCRIPTION: &str = "kubernetes.io/description";
const TEXT: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal \
                    endpoints such as the internal service IP or kubernetes.default.svc. No other usage is \
                    guaranteed across distributions of Kubernetes clusters.";

/// The ConfigMap of a namespace.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RootCa {
    /// Its certificate; empty where there is more in it.
    pub certificate: Text,
    /// Its keys.
    pub keys: Keys,
}

impl RootCa {
    pub(crate) fn read(object: &Value) -> RootCa {
        let keys = Keys::read(object);
        let only = keys.texts.len() == 1;
        let certificate = if only { read::text(&object["data"], "ca.crt") } else { "".into() };
        RootCa { certificate, keys }
    }
}

/// `key` is the namespace's.
pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    if view.root_ca.is_empty() || view.get(key).is_none() {
        return Ok(None);
    }
    let map = ObjectKey::new(config_maps(), &key.name, NAME);
    let data = json!({"ca.crt": view.root_ca});
    let Some(found) = view.get(&map) else {
        let sent = calls.send(|| {
            let object = json!({
                "apiVersion": "v1", "kind": "ConfigMap", "data": data,
                "metadata": {
                    "name": NAME, "namespace": key.name, "annotations": {DESCRIPTION: TEXT},
                },
            });
            Request::Create { key: map.clone(), object: Box::new(object) }
        })?;
        return match sent {
            Response::Refused { code, reason, message }
                if *code != 404 && **reason != *"NamespaceTerminating" =>
            {
                Err(Stop::Failed(format!("{code}: {message}")))
            }
            _ => Ok(None),
        };
    };
    let mut annotations = found.meta.annotations.clone();
    let described = annotations.get(DESCRIPTION).is_some_and(|text| !text.is_empty());
    if described && matches!(&found.body, Body::RootCa(known) if known.certificate == view.root_ca)
    {
        return Ok(None);
    }
    branch!(RootCaRestored);
    annotations.insert(DESCRIPTION.into(), Text::from(TEXT));
    calls.must(|| Request::Update {
        key: map.clone(),
        revision: found.meta.revision,
        subresource: "",
        fields: vec![("/metadata/annotations", write::labels(&annotations)), ("/data", data)],
    })?;
    Ok(None)
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource == config_maps() && *change.key.name == *NAME && change.before.is_some()
    {
        return vec![Affected::now(&ObjectKey::new(namespaces(), "", &change.key.namespace))];
    }
    let lives = |body: &Body| matches!(body, Body::Namespace(one) if *one.phase == *"Active");
    match change.after {
        Some(after) if change.key.resource == namespaces() && lives(&after.body) => {
            vec![Affected::now(change.key)]
        }
        _ => vec![],
    }
}
