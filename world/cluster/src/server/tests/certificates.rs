//! Who shows which client certificate. What the real server says to the same ones: `tests/serve/certificates.rs`.

use std::time::Duration;

use base64::{Engine, engine::general_purpose::STANDARD};
use rcgen::{
    BasicConstraints, CertificateParams, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, date_time_ymd,
};
use rustls_pki_types::{CertificateDer, pem::PemObject};
use trace::{Actor, ClientCertificates};

use super::{workloads::full, *};

/// Whom the test is about: `CN`, then `O`s.
fn named(name: &str, groups: &[&str]) -> CertificateParams {
    let mut params = CertificateParams::new(vec![]).expect("no names");
    // Good in 2025 and 2026; worlds begin with 2026.
    params.not_before = date_time_ymd(2025, 1, 1);
    params.not_after = date_time_ymd(2027, 1, 1);
    params.distinguished_name = DistinguishedName::new();
    params.distinguished_name.push(DnType::CommonName, name);
    for group in groups {
        params.distinguished_name.push(DnType::OrganizationName, *group);
    }
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    params
}

struct Authority {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
    der: Vec<u8>,
}

impl Authority {
    fn new(name: &str, above: Option<&Authority>) -> Authority {
        let mut params = named(name, &[]);
        params.extended_key_usages = vec![];
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().expect("a key");
        let certificate = match above {
            None => params.self_signed(&key),
            Some(above) => params.signed_by(&key, &above.issuer),
        };
        let certificate = certificate.expect("a certificate");
        let (pem, der) = (certificate.pem(), certificate.der().to_vec());
        Authority { issuer: Issuer::new(params, key), pem, der }
    }

    fn sign(&self, params: CertificateParams) -> Vec<u8> {
        let key = KeyPair::generate().expect("a key");
        params.signed_by(&key, &self.issuer).expect("a certificate").der().to_vec()
    }
}

/// A server that trusts the clients of this authority.
fn trusting(authority: &Authority) -> Api {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let mut world = World::new(options);
    world.trust_clients_of(&authority.pem).expect("an authority");
    world.enforce_rbac();
    Api { server: Server::new(world, None) }
}

/// What the server says to a subject with these certificates that asks who it is: the code, and `userInfo`.
fn whoami(api: &Api, shown: &[Vec<u8>], token: Option<&str>) -> (u16, Value) {
    let review = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"});
    let mut request = Request::builder()
        .method("POST")
        .uri("/apis/authentication.k8s.io/v1/selfsubjectreviews")
        .header("content-type", "application/json")
        .extension(Actor::Subject(0))
        .extension(ClientCertificates(shown.into()));
    if let Some(token) = token {
        request = request.header("authorization", format!("Bearer {token}"));
    }
    let body = Full::new(Bytes::from(review.to_string())).map_err(|never| match never {});
    let response = api.send(request.body(body.boxed_unsync()).expect("a request"));
    let code = response.status().as_u16();
    let bytes = block_on(response.into_body().collect()).expect("a body").to_bytes();
    let answer: Value = serde_json::from_slice(&bytes).expect("JSON");
    (code, answer["status"].get("userInfo").cloned().unwrap_or(answer))
}

#[test]
fn a_certificate_says_who_somebody_is() {
    let authority = Authority::new("clients", None);
    let api = trusting(&authority);
    let own = authority.sign(named("jo", &["ops"]));
    let print: String = ring::digest::digest(&ring::digest::SHA256, &own)
        .as_ref()
        .iter()
        .map(|b| format!("{b:02x}"))
        .collect();
    let expect = json!({
        "username": "jo", "groups": ["ops", "system:authenticated"],
        "extra": {"authentication.kubernetes.io/credential-id": [format!("X509SHA256={print}")]},
    });
    assert_eq!(whoami(&api, std::slice::from_ref(&own), None), (201, expect.clone()));
    // The certificate comes before the token.
    assert_eq!(whoami(&api, std::slice::from_ref(&own), Some("nobody")), (201, expect.clone()));
    assert_eq!(whoami(&api, &[own], Some(crate::ADMIN_TOKEN)), (201, expect));
}

#[test]
fn what_does_not_count_is_unauthorized_unless_a_token_does() {
    let authority = Authority::new("clients", None);
    let (api, stranger) = (trusting(&authority), Authority::new("clients", None));
    let dated = |from, until| {
        let mut parameters = named("jo", &[]);
        parameters.not_before = date_time_ymd(from, 1, 1);
        parameters.not_after = date_time_ymd(until, 1, 1);
        parameters
    };
    let mut serving = named("jo", &[]);
    serving.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let check = |what: &str, certificate: Vec<u8>| {
        let (code, status) = whoami(&api, std::slice::from_ref(&certificate), None);
        let expect = json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "message": "Unauthorized", "reason": "Unauthorized", "code": 401,
        });
        assert_eq!((code, status), (401, expect), "{what}");
        let (code, user) = whoami(&api, &[certificate], Some(crate::ADMIN_TOKEN));
        assert_eq!((code, &user["username"]), (201, &json!("admin")), "{what}");
    };
    check("out of date", authority.sign(dated(2024, 2025)));
    check("not yet", authority.sign(dated(2027, 2028)));
    check("a stranger's, of the same name", stranger.sign(named("jo", &[])));
    check("for servers", authority.sign(serving));
    check("no certificate", b"nonsense".to_vec());
    let mut forged = authority.sign(named("jo", &[]));
    *forged.last_mut().expect("a signature") ^= 1;
    check("forged", forged);
}

#[test]
fn an_authority_may_let_others_sign() {
    let root = Authority::new("root", None);
    let between = Authority::new("between", Some(&root));
    let api = trusting(&root);
    let own = between.sign(named("jo", &[]));
    assert_eq!(whoami(&api, std::slice::from_ref(&own), None).0, 401);
    assert_eq!(whoami(&api, &[own, between.der], None).1["username"], json!("jo"));
}

#[test]
fn who_names_nobody_is_anonymous_and_a_uid_counts() {
    let authority = Authority::new("clients", None);
    let api = trusting(&authority);
    let (code, user) = whoami(&api, &[authority.sign(named("", &["ops"]))], None);
    // Whom RBAC refuses even this.
    assert_eq!(code, 403);
    assert!(
        user["message"].as_str().expect("a message").contains("\"system:anonymous\""),
        "{user}"
    );
    assert_eq!(whoami(&api, &[], None).0, 403);
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let mut params = named("jo", &[]);
    params.distinguished_name.push(uid, "u-1");
    assert_eq!(whoami(&api, &[authority.sign(params)], None).1["uid"], json!("u-1"));
}

#[test]
fn what_the_clusters_own_signer_signed_counts() {
    const PEM: &str = include_str!("../../../../../tests/environment/requests/client.pem");
    let api = full(0);
    let requests = "/apis/certificates.k8s.io/v1/certificatesigningrequests";
    let request = json!({"metadata": {"name": "r"}, "spec": {
        "request": STANDARD.encode(PEM), "signerName": "kubernetes.io/kube-apiserver-client",
        "usages": ["digital signature", "client auth"],
    }});
    api.create(requests, request);
    let approved = json!({"type": "Approved", "status": "True", "reason": "Test", "message": ""});
    let approval = json!({"status": {"conditions": [approved]}});
    assert_eq!(api.call("PATCH", &format!("{requests}/r/approval"), Some(approval)).code, 200);
    api.server.run_environment().expect("it comes to rest");
    let issued = api.get(&format!("{requests}/r")).body["status"]["certificate"].clone();
    let pem = STANDARD.decode(issued.as_str().expect("it is signed")).expect("base64");
    let der = CertificateDer::from_pem_slice(&pem).expect("a certificate").to_vec();
    let (code, user) = whoami(&api, std::slice::from_ref(&der), None);
    assert_eq!((code, &user["username"]), (201, &json!("ann")), "{user}");
    assert_eq!(user["groups"], json!(["ops", "people", "system:authenticated"]));
    // It is good for a year.
    api.server.advance_to(START.plus(Duration::from_secs(366 * 24 * 3600)));
    assert_eq!(whoami(&api, &[der], None).0, 401);
}

#[test]
fn a_file_of_authorities_holds_some() {
    let options = WorldOptions { start: START, seed: 1, suffixes: SuffixOrder::Ascending };
    let mut world = World::new(options);
    let check = |world: &mut World, text: &str, expect: &str| {
        let error = world.trust_clients_of(text).expect_err(expect).to_string();
        assert!(error.starts_with(expect), "{error}");
    };
    check(&mut world, "", "no certificate in PEM");
    check(&mut world, "nonsense", "no certificate in PEM");
    let nonsense = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";
    check(&mut world, nonsense, "not a certificate: ");
    let pem = Authority::new("a", None).pem + &Authority::new("b", None).pem;
    assert_eq!(world.trust_clients_of(&pem), Ok(()));
}
