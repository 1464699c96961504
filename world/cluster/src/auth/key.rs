//! The key that tokens of ServiceAccounts are signed with, by RS256 as kube-apiserver does with a key of RSA
//! (`pkg/serviceaccount/jwt.go`), and what is told of it (`openidmetadata.go`).
//!
//! It is the same in every world, and lies here for everyone to read (`cluster/data/token-key.txt`), as that of
//! certificates does: whoever reaches this server owns it. The same text gets the same signature, so the same world
//! gives the same tokens.

use std::{cell::RefCell, collections::HashSet, sync::LazyLock};

use base64::{
    Engine,
    engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD as BASE64},
};
use ring::{
    rand::SystemRandom,
    rsa::PublicKeyComponents,
    signature::{RSA_PKCS1_2048_8192_SHA256, RSA_PKCS1_SHA256, RsaKeyPair, UnparsedPublicKey},
};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

static KEY: LazyLock<RsaKeyPair> = LazyLock::new(|| {
    let text = include_str!("../../data/token-key.txt");
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    let key = STANDARD.decode(lines.collect::<String>()).expect("the file is part of the program");
    RsaKeyPair::from_pkcs8(&key).expect("the file is part of the program")
});

/// What stands before the public part of a key of 2048 bits in a `SubjectPublicKeyInfo` (RFC 3279, in DER).
const INFO: [u8; 24] = [
    0x30, 0x82, 0x01, 0x22, 0x30, 0x0d, 0x06, 0x09, 0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01,
    0x01, 0x05, 0x00, 0x03, 0x82, 0x01, 0x0f, 0x00,
];

/// By which tokens say that it is this key (`keyIDFromPublicKey`).
static ID: LazyLock<String> =
    LazyLock::new(|| BASE64.encode(Sha256::digest([&INFO[..], public()].concat())));

/// How many signatures a thread remembers.
const KNOWN_MAX: usize = 256;

thread_local! {
    /// Hashes of tokens whose signature was found to be good. To look at one costs as much as a whole request, and
    /// the same token comes with each.
    static KNOWN: RefCell<HashSet<blake3::Hash>> = RefCell::default();
}

fn public() -> &'static [u8] {
    KEY.public().as_ref()
}

/// A JSON web token with these claims.
pub(super) fn token(claims: &Value) -> String {
    let header = format!(r#"{{"alg":"RS256","kid":"{}"}}"#, *ID);
    let signed = format!("{}.{}", BASE64.encode(header), BASE64.encode(claims.to_string()));
    let mut signature = vec![0; KEY.public().modulus_len()];
    // This padding draws nothing, though the interface asks for something to draw from.
    KEY.sign(&RSA_PKCS1_SHA256, &SystemRandom::new(), signed.as_bytes(), &mut signature)
        .expect("the signature has the length of the key");
    format!("{signed}.{}", BASE64.encode(signature))
}

/// What a token claims, if it is signed with this key.
pub(super) fn claims(token: &str) -> Option<Value> {
    let (signed, signature) = token.rsplit_once('.')?;
    let hash = blake3::hash(token.as_bytes());
    if !KNOWN.with_borrow(|known| known.contains(&hash)) {
        let signature = BASE64.decode(signature).ok()?;
        let key = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public());
        key.verify(signed.as_bytes(), &signature).ok()?;
        KNOWN.with_borrow_mut(|known| {
            if known.len() == KNOWN_MAX {
                known.clear();
            }
            known.insert(hash);
        });
    }
    let (_, claims) = signed.split_once('.')?;
    serde_json::from_slice(&BASE64.decode(claims).ok()?).ok()
}

/// By which algorithm it signs.
pub(crate) const ALGORITHM: &str = "RS256";

/// Its public part as a JSON Web Key Set (RFC 7517).
pub(crate) fn published() -> Value {
    let parts: PublicKeyComponents<Vec<u8>> = KEY.public().into();
    let [n, e] = [parts.n, parts.e].map(|part| BASE64.encode(part));
    json!({"keys": [
        {"use": "sig", "kty": "RSA", "kid": *ID, "alg": ALGORITHM, "n": n, "e": e},
    ]})
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_published_key_is_that_of_the_tokens() {
        let token = token(&json!({"sub": "a"}));
        let (signed, signature) = token.rsplit_once('.').expect("three parts");
        let (header, _) = signed.split_once('.').expect("three parts");
        let header: Value =
            serde_json::from_slice(&BASE64.decode(header).expect("base64")).expect("JSON");
        let published = published();
        let key = &published["keys"][0];
        assert_eq!((&header["kid"], &header["alg"]), (&key["kid"], &key["alg"]));
        // As `openssl rsa -pubout -outform der | sha256sum` says it of the file.
        assert_eq!(key["kid"], "PwjzLzpfhLvqUA_TxdxA8D0MRFp1JdIlg9ZWQD80j-8");
        assert_eq!(key["e"], "AQAB");
        let part = |name: &str| BASE64.decode(key[name].as_str().expect("a text")).expect("base64");
        let parts = PublicKeyComponents { n: part("n"), e: part("e") };
        let signature = BASE64.decode(signature).expect("base64");
        parts
            .verify(&RSA_PKCS1_2048_8192_SHA256, signed.as_bytes(), &signature)
            .expect("whoever has the published key can check a token");
    }

    #[test]
    fn the_same_claims_make_the_same_token_and_others_none() {
        let first = token(&json!({"sub": "a"}));
        assert_eq!(first, token(&json!({"sub": "a"})));
        assert_ne!(first, token(&json!({"sub": "b"})));
        for _ in 0..2 {
            assert_eq!(claims(&first), Some(json!({"sub": "a"})));
        }
        let (signed, signature) = first.rsplit_once('.').expect("three parts");
        let (header, _) = signed.split_once('.').expect("three parts");
        let other = BASE64.encode(r#"{"sub":"b"}"#);
        assert_eq!(claims(&format!("{header}.{other}.{signature}")), None);
        assert_eq!(claims(&format!("{signed}.{}", BASE64.encode("x"))), None);
        assert_eq!(claims("anything"), None);
    }
}
