//! Secrets with tokens of ServiceAccounts (`pkg/controller/serviceaccount/tokens_controller.go`, Kubernetes 1.36): a
//! user makes a Secret of type `kubernetes.io/service-account-token` for an account; it is filled, and goes with the
//! account.
//!
//! Whoever runs the controllers signs the token, which is no pure function's affair: [`Request::FillToken`].
//!
//! Simplification: when such a Secret is gone, every account of its namespace forgets it, not only the one that it was
//! for. Who could notice: whoever writes a Secret into the `secrets` of an account that it is not for.

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    data::{Keys, secrets},
    object::{Body, Object, Text},
    read,
    request::Request,
    view::View,
};

/// The type of these Secrets.
const TYPE: &str = "kubernetes.io/service-account-token";
/// The annotation with the account's name.
const NAME: &str = "kubernetes.io/service-account.name";
/// The annotation with the account's uid.
const UID: &str = "kubernetes.io/service-account.uid";

/// A Secret of this type.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct TokenSecret {
    /// Whether it has a token.
    pub has_token: bool,
    /// Whether it says in which namespace it is.
    pub has_namespace: bool,
    /// `ca.crt`, in base64.
    pub authority: Text,
    /// Its keys.
    pub keys: Keys,
}

/// A ServiceAccount.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Account {
    /// `secrets`, as they are written.
    pub secrets: Vec<Value>,
}

impl TokenSecret {
    /// A Secret, if it is one of this type.
    pub(crate) fn read(object: &Value) -> Option<TokenSecret> {
        let data = &object["data"];
        (object["type"] == TYPE).then(|| TokenSecret {
            has_token: !read::text(data, "token").is_empty(),
            has_namespace: !read::text(data, "namespace").is_empty(),
            authority: read::text(data, "ca.crt"),
            keys: Keys::read(object),
        })
    }
}

impl Account {
    pub(crate) fn read(object: &Value) -> Account {
        Account { secrets: read::list(object, "secrets").cloned().collect() }
    }
}

fn accounts() -> GroupResource {
    GroupResource::new("", "serviceaccounts")
}

/// The account that a Secret is for, if it is there.
pub(crate) fn account_of<'v>(
    view: &'v View,
    key: &ObjectKey,
    secret: &Object,
) -> Option<(ObjectKey, &'v Object)> {
    let name = secret.meta.annotations.get(NAME)?;
    let key = ObjectKey::new(accounts(), &key.namespace, name);
    let account = view.get(&key)?;
    let uid = secret.meta.annotations.get(UID).filter(|uid| !uid.is_empty());
    uid.is_none_or(|uid| *uid == account.meta.uid).then_some((key, account))
}

/// `key` is a Secret's, or an account's.
pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    if key.resource == accounts() {
        for (secret, object) in view.list(&secrets(), &key.namespace) {
            let named = object.meta.annotations.get(NAME) == Some(&key.name);
            if named && matches!(object.body, Body::TokenSecret(_)) {
                fill_or_delete(view, &secret, object, calls)?;
            }
        }
        return Ok(None);
    }
    match view.get(key) {
        Some(object) if matches!(object.body, Body::TokenSecret(_)) => {
            fill_or_delete(view, key, object, calls)?;
        }
        Some(_) => {}
        None => forget(view, key, calls)?,
    }
    Ok(None)
}

fn fill_or_delete(
    view: &View,
    key: &ObjectKey,
    object: &Object,
    calls: &mut Calls<'_>,
) -> Result<(), crate::calls::Stop> {
    let Body::TokenSecret(secret) = &object.body else { return Ok(()) };
    let named = object.meta.annotations.get(NAME).is_some_and(|name| !name.is_empty());
    if !named {
        return Ok(());
    }
    let Some((account, found)) = account_of(view, key, object) else {
        branch!(TokenDeleted);
        calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
        return Ok(());
    };
    let authority = &view.root_ca_base64;
    let trusted = authority.is_empty() || secret.authority == *authority;
    if trusted && secret.has_token && secret.has_namespace {
        return Ok(());
    }
    branch!(TokenFilled);
    calls.need(|| Request::FillToken {
        key: key.clone(),
        revision: object.meta.revision,
        account: account.name.clone(),
        uid: found.meta.uid.clone(),
        authority: Some(authority.clone()).filter(|authority| !authority.is_empty()),
    })?;
    Ok(())
}

/// A Secret is gone: accounts no longer name it.
fn forget(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Result<(), crate::calls::Stop> {
    for (account, object) in view.list(&accounts(), &key.namespace) {
        let Body::Account(body) = &object.body else { continue };
        let (gone, left): (Vec<&Value>, Vec<&Value>) =
            body.secrets.iter().partition(|secret| secret["name"] == *key.name);
        if gone.is_empty() {
            continue;
        }
        branch!(TokenForgotten);
        let left = if left.is_empty() { Value::Null } else { json!(left) };
        calls.need(|| Request::Update {
            key: account.clone(),
            revision: object.meta.revision,
            subresource: "",
            fields: vec![("/secrets", left)],
        })?;
    }
    Ok(())
}

pub(crate) fn keys_affected(change: &Change<'_>) -> Vec<Affected> {
    let is_token = |object: &Object| matches!(object.body, Body::TokenSecret(_));
    let mut objects = [change.before, change.after].into_iter().flatten();
    let ours = change.key.resource == accounts()
        || change.key.resource == secrets() && objects.any(is_token);
    ours.then(|| Affected::now(change.key)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Controller,
        fixture::{object, run, view},
    };

    const SECRET: &str = "secrets/default/s";

    fn secret(uid: &str, data: Value) -> (ObjectKey, Value) {
        let annotations = json!({NAME: "bot", UID: uid});
        object(
            SECRET,
            json!({"type": TYPE, "metadata": {"annotations": annotations}, "data": data}),
        )
    }

    fn account() -> (ObjectKey, Value) {
        let secrets = json!([{"name": "s"}, {"name": "other"}]);
        object("serviceaccounts/default/bot", json!({"secrets": secrets}))
    }

    fn check(objects: &[(ObjectKey, Value)], key: &str, expect: &[&str]) {
        let (sent, _) = run(Controller::AccountToken, &view(objects), key, &[]);
        let told = sent.iter().map(|request| match request {
            Request::FillToken { account, uid, .. } => format!("fill for {account} {uid}"),
            Request::Delete { key, .. } => format!("delete {}", key.name),
            Request::Update { fields, .. } => format!("{}", fields[0].1),
            other => format!("{other:?}"),
        });
        assert_eq!(told.collect::<Vec<String>>(), expect);
    }

    #[test]
    fn a_secret_is_filled_or_goes() {
        let full = || json!({"token": "dG9rZW4=", "namespace": "bnM="});
        check(&[account(), secret("", json!({}))], SECRET, &["fill for bot bot"]);
        check(
            &[account(), secret("bot", json!({"token": "dG9rZW4="}))],
            SECRET,
            &["fill for bot bot"],
        );
        check(&[account(), secret("bot", full())], SECRET, &[]);
        check(&[account(), secret("another", full())], SECRET, &["delete s"]);
        check(&[secret("", json!({}))], SECRET, &["delete s"]);
        check(&[secret("bot", full())], "serviceaccounts/default/bot", &["delete s"]);
        check(&[account()], SECRET, &[r#"[{"name":"other"}]"#]);
        let plain = object(SECRET, json!({"type": "Opaque"}));
        check(&[account(), plain], SECRET, &[]);
    }
}
