//! Every namespace has a ServiceAccount `default` (`pkg/controller/serviceaccount`, Kubernetes 1.36).

use serde_json::json;
use trace::{GroupResource, ObjectKey};

use crate::{
    calls::{Calls, Reconciled, Response, Stop},
    controller::{Affected, Change},
    namespace::namespaces,
    object::Body,
    request::Request,
    view::View,
};

const NAME: &str = "default";

fn accounts() -> GroupResource {
    GroupResource::new("", "serviceaccounts")
}

/// `key` is the namespace's.
pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(object) = view.get(key) else { return Ok(None) };
    let account = ObjectKey::new(accounts(), &key.name, NAME);
    match &object.body {
        Body::Namespace(namespace) if *namespace.phase == *"Active" => {}
        _ => return Ok(None),
    }
    if view.get(&account).is_some() {
        return Ok(None);
    }
    branch!(AccountMade);
    let sent = calls.send(|| {
        let object = json!({
            "apiVersion": "v1", "kind": "ServiceAccount",
            "metadata": {"name": NAME, "namespace": key.name},
        });
        Request::Create { key: account.clone(), object: Box::new(object) }
    })?;
    match sent {
        Response::Refused { code, reason, message }
            if *code != 409 && **reason != *"NamespaceTerminating" =>
        {
            Err(Stop::Failed(format!("{code}: {message}")))
        }
        _ => Ok(None),
    }
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let lost =
        change.after.is_none() && change.key.resource == accounts() && *change.key.name == *NAME;
    if lost {
        return vec![Affected::now(&ObjectKey::new(namespaces(), "", &change.key.namespace))];
    }
    match change.key.resource == namespaces() && change.after.is_some() {
        true => vec![Affected::now(change.key)],
        false => vec![],
    }
}
