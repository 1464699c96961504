//! Claims that are made for one pod and go with it (`pkg/controller/volume/ephemeral`, Kubernetes 1.36): those of its
//! `volumes[].ephemeral`. The garbage collector deletes them, since the pod owns them. A claim of that name which is not
//! the pod's is left alone: the controller tries again and again, and the pod waits.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use super::claims;
use crate::{
    calls::{Calls, Reconciled, Stop},
    controller::{Affected, Change},
    object::{Body, Meta, Object, Text},
    read,
    request::Request,
    view::View,
};

/// A volume whose claim is made for its pod.
#[derive(Debug, Clone, PartialEq)]
pub struct Ephemeral {
    /// The claim's name (`VolumeClaimName`).
    pub claim: Text,
    /// `volumeClaimTemplate`.
    pub template: Arc<Value>,
}

impl Ephemeral {
    /// A volume of a pod, if it is one of these.
    pub(crate) fn read(pod: &str, volume: &Value) -> Option<Ephemeral> {
        let ephemeral = volume.get("ephemeral").filter(|found| found.is_object())?;
        let claim = format!("{pod}-{}", read::text(volume, "name")).into();
        Some(Ephemeral { claim, template: Arc::new(ephemeral["volumeClaimTemplate"].clone()) })
    }
}

/// Whether a claim was made for this pod (`VolumeIsForPod`).
pub(crate) fn is_for(claim: &Meta, pod: &Meta) -> bool {
    claim.controller().is_some_and(|owner| owner.uid == pod.uid)
}

/// Why a claim that is another's can't be used.
pub(crate) fn not_its_own(claim: &ObjectKey, pod: &Text) -> String {
    let namespace = &claim.namespace;
    format!(
        "PVC {namespace}/{} was not created for pod {namespace}/{pod} (pod is not owner)",
        claim.name
    )
}

/// `key` is the pod's.
pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let Body::Pod(pod) = &object.body else { return Ok(None) };
    if object.meta.is_deleted() {
        return Ok(None);
    }
    for volume in &pod.ephemeral {
        let claim = ObjectKey::new(claims(), &key.namespace, &volume.claim);
        match view.get(&claim) {
            Some(found) if is_for(&found.meta, &object.meta) => {}
            Some(_) => {
                branch!(EphemeralTaken);
                return Err(Stop::Failed(not_its_own(&claim, &key.name)));
            }
            None => {
                branch!(EphemeralMade);
                calls.must(|| Request::Create {
                    key: claim.clone(),
                    object: Box::new(new(&claim, volume, key, &object.meta)),
                })?;
            }
        }
    }
    Ok(None)
}

fn new(claim: &ObjectKey, volume: &Ephemeral, pod: &ObjectKey, meta: &Meta) -> Value {
    let given = &volume.template["metadata"];
    let mut metadata = json!({
        "name": claim.name, "namespace": claim.namespace,
        "ownerReferences": [{
            "apiVersion": "v1", "kind": "Pod", "name": pod.name, "uid": meta.uid,
            "controller": true, "blockOwnerDeletion": true,
        }],
    });
    for field in ["annotations", "labels"] {
        if let Some(value) = given.get(field) {
            metadata[field] = value.clone();
        }
    }
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": metadata,
        "spec": volume.template["spec"],
    })
}

pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    let pods = GroupResource::new("", "pods");
    let asks = |object: &Object| {
        let asks = matches!(&object.body, Body::Pod(pod) if !pod.ephemeral.is_empty());
        asks && !object.meta.is_deleted()
    };
    // What a pod asks for never changes.
    if change.key.resource == pods {
        return match (change.before, change.after) {
            (None, Some(pod)) if asks(pod) => vec![Affected::now(change.key)],
            _ => vec![],
        };
    }
    if change.key.resource != claims() || change.after.is_some() {
        return vec![];
    }
    let used = |object: &Object| match &object.body {
        Body::Pod(pod) => pod.claims.iter().any(|(_, claim)| *claim == change.key.name),
        _ => false,
    };
    let all = view.list(&pods, &change.key.namespace);
    all.filter(|(_, pod)| asks(pod) && used(pod)).map(|(key, _)| Affected::now(&key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Controller, Next,
        fixture::{affected, object, run, view},
    };

    const POD: &str = "pods/default/p";

    fn pod(more: Value) -> (ObjectKey, Value) {
        let template = json!({
            "metadata": {"labels": {"a": "1"}},
            "spec": {"accessModes": ["ReadWriteOnce"], "storageClassName": "fast"},
        });
        let mut fields = json!({"spec": {"volumes": [
            {"name": "x", "emptyDir": {}},
            {"name": "v", "ephemeral": {"volumeClaimTemplate": template}},
        ]}});
        fields["metadata"] = more;
        object(POD, fields)
    }

    fn claim(owner: &str) -> (ObjectKey, Value) {
        let owner = json!({"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": owner, "controller": true});
        object(
            "persistentvolumeclaims/default/p-v",
            json!({"metadata": {"ownerReferences": [owner]}}),
        )
    }

    #[test]
    fn a_claim_is_made_for_the_pod() {
        let (sent, end) = run(Controller::EphemeralVolume, &view(&[pod(json!({}))]), POD, &[]);
        let [Request::Create { key, object }] = &sent[..] else { panic!("{sent:?}") };
        assert_eq!(key.to_string(), claim("p").0.to_string());
        assert_eq!(object["metadata"]["labels"], json!({"a": "1"}));
        assert_eq!(object["spec"]["storageClassName"], "fast");
        let owner = &object["metadata"]["ownerReferences"][0];
        assert_eq!((&owner["uid"], &owner["controller"]), (&json!("p"), &json!(true)));
        assert_eq!(end, Next::Done { requeue_after: None });
    }

    #[test]
    fn one_that_is_there_is_its_own_or_in_its_way() {
        let check = |owner: &str, expect: Next| {
            let world = view(&[pod(json!({})), claim(owner)]);
            let (sent, end) = run(Controller::EphemeralVolume, &world, POD, &[]);
            assert!(sent.is_empty(), "{sent:?}");
            assert_eq!(end, expect);
        };
        check("p", Next::Done { requeue_after: None });
        let why = "PVC default/p-v was not created for pod default/p (pod is not owner)";
        check("another", Next::Failed(why.to_owned()));
        let deleted = json!({"deletionTimestamp": "2026-01-01T00:00:30Z"});
        let (sent, _) = run(Controller::EphemeralVolume, &view(&[pod(deleted)]), POD, &[]);
        assert!(sent.is_empty(), "{sent:?}");
    }

    #[test]
    fn looked_at_when_the_pod_comes_and_when_the_claim_goes() {
        let (of, controller) = (view(&[pod(json!({}))]), Controller::EphemeralVolume);
        let (pod, claim) = (pod(json!({})).1, claim("p"));
        let keys = |key: &str, before: Option<&Value>, after: Option<&Value>| {
            affected(controller, &of, key, before.cloned(), after.cloned()).len()
        };
        assert_eq!(keys(POD, None, Some(&pod)), 1);
        assert_eq!(keys(POD, Some(&pod), Some(&pod)), 0);
        let key = claim.0.to_string();
        assert_eq!(keys(&key, Some(&claim.1), None), 1);
        assert_eq!(keys(&key, None, Some(&claim.1)), 0);
    }
}
