//! Tokens of ServiceAccounts: JSON web tokens with upstream's claims (KEP-1205), good until they expire by the
//! world's clock or the account is gone.
//!
//! They are signed with a key that everyone can read here (HS256): whoever reaches this server owns it. So no
//! keys are published at `/openid/v1/jwks`, and a program that checks signatures by itself can't check these.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD as BASE64};
use hmac::{Hmac, Mac};
use serde_json::{Value, json};
use sha2::Sha256;
use trace::{GroupResource, ObjectKey, Time};

use super::User;
use crate::world::{World, meta};

/// Who issues tokens, and whom they are for where nobody else is named.
pub(crate) const ISSUER: &str = "https://kubernetes.default.svc.cluster.local";

const KEY: &[u8] = b"trommel";
const HEADER: &str = r#"{"alg":"HS256","kid":"trommel"}"#;

/// What a token says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Claims {
    pub(crate) namespace: String,
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) audiences: Vec<String>,
    /// Its own identifier.
    pub(crate) id: String,
    pub(crate) since: Time,
    pub(crate) until: Time,
}

impl Claims {
    /// Whom it makes its bearer.
    pub(super) fn user(&self) -> User {
        let mut user = User::account(&self.namespace, &self.name, &self.uid);
        let key = "authentication.kubernetes.io/credential-id".to_owned();
        user.extra.insert(key, vec![format!("JTI={}", self.id)]);
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
        let signed = format!("{}.{}", BASE64.encode(HEADER), BASE64.encode(claims.to_string()));
        let signature = BASE64.encode(mac(&signed).finalize().into_bytes());
        format!("{signed}.{signature}")
    }
}

fn mac(signed: &str) -> Hmac<Sha256> {
    let mut mac = Hmac::new_from_slice(KEY).expect("HMAC takes keys of every length");
    mac.update(signed.as_bytes());
    mac
}

/// What a token says, if it is one of this server's, is not out of date, and its account is still there.
pub(crate) fn read(world: &World, token: &str) -> Option<Claims> {
    let (signed, signature) = token.rsplit_once('.')?;
    mac(signed).verify_slice(&BASE64.decode(signature).ok()?).ok()?;
    let (_, claims) = signed.split_once('.')?;
    let claims: Value = serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()?;
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
        let (signed, _) = token.rsplit_once('.').expect("three parts");
        assert_eq!(read(&world, &format!("{signed}.{}", BASE64.encode("x"))), None);
        assert_eq!(read(&world, "anything"), None);
        let mut later = world.clone();
        later.now = Time(60_000_000_000);
        assert_eq!(read(&later, &token), None);
        world.remove(key);
        assert_eq!(read(&world, &token), None);
    }
}
