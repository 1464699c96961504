//! Tokens of ServiceAccounts: JSON web tokens with upstream's claims (KEP-1205), good until they expire by the
//! world's clock or the account is gone.
//!
//! They are signed with a key that everyone can read ([`super::key`]), whose public part is at `/openid/v1/jwks`: a
//! program that checks signatures by itself can check these. What a token is bound to (`boundObjectRef`) it does not
//! say. Who could notice: a program that looks for the pod in a token, or in its user's `extra`.
//!
//! Not here: other issuers than the server's own, signed with keys that are handed in. `--service-account-issuer` and
//! its like change nothing in the stand-in for kube-apiserver.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey, Time};

use super::{CREDENTIAL, User, key};
use crate::world::{World, meta};

/// Who issues tokens, and whom they are for where nobody else is named.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) audiences: Vec<String>,
    /// Its own identifier; empty for the token of a Secret.
    pub(crate) id: String,
    pub(crate) since: Time,
    pub(crate) until: Time,
}

impl Claims {
    /// Whom it makes its bearer.
    pub(super) fn user(&self) -> User {
        let mut user = User::account(&self.namespace, &self.name, &self.uid);
        if !self.id.is_empty() {
            user.extra.insert(CREDENTIAL.to_owned(), vec![format!("JTI={}", self.id)]);
        }
        user
    }

    /// The token.
    pub(crate) fn token(&self) -> String {
        let Claims { namespace, name, uid, audiences, id, since, until } = self;
        let claims = json!({
            "aud": audiences, "exp": until.seconds(), "iat": since.seconds(), "iss": ISSUER, "jti": id,
            "kubernetes.io": {
                "namespace": namespace, "serviceaccount": {"name": name, "uid": uid},
            },
            "nbf": since.seconds(), "sub": format!("system:serviceaccount:{namespace}:{name}"),
        });
        key::token(&claims)
    }
}

/// What the token of a Secret says of it (`legacyPrivateClaims`).
const OF_SECRET: &str = "kubernetes.io/serviceaccount/";
/// Who issues tokens of Secrets.
const SECRET_ISSUER: &str = "kubernetes/serviceaccount";

/// The token of a Secret, of an account by name and uid: good as long as the Secret has it (`LegacyClaims`).
pub(crate) fn of_secret(namespace: &str, secret: &str, (name, uid): (&str, &str)) -> String {
    let mut claims =
        json!({"iss": SECRET_ISSUER, "sub": format!("system:serviceaccount:{namespace}:{name}")});
    let parts = [
        ("namespace", namespace),
        ("secret.name", secret),
        ("service-account.name", name),
        ("service-account.uid", uid),
    ];
    for (part, text) in parts {
        claims[format!("{OF_SECRET}{part}")] = json!(text);
    }
    key::token(&claims)
}

/// What a token of a Secret says, if the Secret still has it (`legacyValidator`).
fn read_of_secret(world: &World, token: &str, claims: &Value) -> Option<Claims> {
    let part = |name: &str| Some(claims[format!("{OF_SECRET}{name}")].as_str()?.to_owned());
    let (namespace, secret) = (part("namespace")?, part("secret.name")?);
    let key = ObjectKey::new(GroupResource::new("", "secrets"), &namespace, &secret);
    let secret = world.store.get(&key)?;
    let known = STANDARD.decode(secret["data"]["token"].as_str()?).ok()?;
    let gone = secret["metadata"]["deletionTimestamp"].is_string();
    (known == token.as_bytes() && !gone).then_some(())?;
    Some(Claims {
        namespace,
        name: part("service-account.name")?,
        uid: part("service-account.uid")?,
        audiences: vec![ISSUER.to_owned()],
        id: String::new(),
        since: Time(0),
        until: Time(i64::MAX),
    })
}

/// What a token says, if it is one of this server's, is not out of date, and its account is still there.
pub(crate) fn read(world: &World, token: &str) -> Option<Claims> {
    let claims = key::claims(token)?;
    if claims["iss"] == SECRET_ISSUER {
        return still_there(world, read_of_secret(world, token, &claims)?);
    }
    let text = |path: &str| claims.pointer(path).and_then(Value::as_str).map(str::to_owned);
    let time = |path: &str| Some(Time(claims[path].as_i64()?.checked_mul(1_000_000_000)?));
    let audiences = claims["aud"].as_array().into_iter().flatten();
    let claims = Claims {
        namespace: text("/kubernetes.io/namespace")?,
        name: text("/kubernetes.io/serviceaccount/name")?,
        uid: text("/kubernetes.io/serviceaccount/uid")?,
        audiences: audiences.filter_map(|name| Some(name.as_str()?.to_owned())).collect(),
        id: text("/jti")?,
        since: time("iat")?,
        until: time("exp")?,
    };
    still_there(world, claims)
}

/// Claims that are not out of date, of an account that is still there.
fn still_there(world: &World, claims: Claims) -> Option<Claims> {
    let accounts = GroupResource::new("", "serviceaccounts");
    let key = ObjectKey::new(accounts, &claims.namespace, &claims.name);
    let account = world.store.get(&key)?;
    (meta(account, "uid") == claims.uid && world.now < claims.until).then_some(claims)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{SuffixOrder, WorldOptions};

    #[test]
    fn a_token_is_good_until_it_expires_or_its_account_goes() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let mut world = World::new(options);
        let key = ObjectKey::new(GroupResource::new("", "serviceaccounts"), "a", "b");
        world.put(key.clone(), json!({"metadata": {"name": "b", "namespace": "a", "uid": "u"}}));
        let claims = Claims {
            namespace: "a".to_owned(),
            name: "b".to_owned(),
            uid: "u".to_owned(),
            audiences: vec![ISSUER.to_owned()],
            id: "i".to_owned(),
            since: Time(0),
            until: Time(60_000_000_000),
        };
        let token = claims.token();
        assert_eq!(read(&world, &token), Some(claims.clone()));
        assert_eq!(claims.user().name, "system:serviceaccount:a:b");
        assert_eq!(read(&world, &format!("{token}x")), None);
        assert_eq!(read(&world, "anything"), None);
        let mut later = world.clone();
        later.now = Time(60_000_000_000);
        assert_eq!(read(&later, &token), None);
        world.remove(key);
        assert_eq!(read(&world, &token), None);
    }

    #[test]
    fn the_token_of_a_secret_is_good_as_long_as_the_secret_has_it() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let mut world = World::new(options);
        let account = ObjectKey::new(GroupResource::new("", "serviceaccounts"), "a", "b");
        world.put(account, json!({"metadata": {"name": "b", "namespace": "a", "uid": "u"}}));
        let token = of_secret("a", "s", ("b", "u"));
        assert_eq!(read(&world, &token), None);
        let secret = ObjectKey::new(GroupResource::new("", "secrets"), "a", "s");
        let data = json!({"token": STANDARD.encode(&token)});
        let metadata = json!({"name": "s", "namespace": "a", "uid": "x"});
        world.put(secret.clone(), json!({"metadata": metadata, "data": data}));
        let claims = read(&world, &token).expect("it is good");
        assert_eq!(claims.user().name, "system:serviceaccount:a:b");
        assert!(claims.user().extra.is_empty());
        let old = of_secret("a", "s", ("b", "another"));
        assert_eq!(read(&world, &old), None);
        world.remove(secret);
        assert_eq!(read(&world, &token), None);
    }
}
