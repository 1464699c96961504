//! `trommel serve`, as a person uses it: kubectl against it, and its end. What kubectl says of it, beside what it
//! says of the real server: [`script`].

mod script;
mod strangers;

use std::{os::unix::fs::PermissionsExt, process::Command};

use rustix::process::Signal;
use serde_json::{Value, json};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, run, yaml},
    served::Served,
};

const DEPLOYMENT: &str = "\
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 2
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: c, image: 'web:1'}]}
";

#[test]
fn kubectl_works_with_it() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let house = House::new("serve/kubectl", &[]);
    house.write("web.yaml", DEPLOYMENT);
    let file = house.path("web.yaml").display().to_string();
    let served = Served::start(&house.root, &["--nodes", "2"]);
    let says = |arguments: &[&str], expect: &str| {
        let ended = served.kubectl(arguments);
        ended.expect(0);
        assert!(ended.stdout.contains(expect), "{arguments:?}: no {expect:?} in {ended}");
    };
    says(&["get", "nodes"], "node-1");
    says(&["create", "namespace", "shop"], "created");
    says(&["-n", "shop", "create", "-f", &file], "created");
    says(&["-n", "shop", "rollout", "status", "deployment/web"], "successfully rolled out");
    says(&["-n", "shop", "scale", "deployment/web", "--replicas=4"], "scaled");
    says(&["-n", "shop", "rollout", "status", "deployment/web"], "successfully rolled out");
    let ready = "jsonpath={.status.readyReplicas}";
    says(&["-n", "shop", "get", "deployment/web", "-o", ready], "4");
    says(&["-n", "shop", "set", "image", "deployment/web", "c=web:2"], "updated");
    says(&["-n", "shop", "rollout", "status", "deployment/web"], "successfully rolled out");
    let budget = ["create", "poddisruptionbudget", "web", "--selector=app=web"];
    says(&[&["-n", "shop"], &budget[..], &["--min-available=2"]].concat(), "created");
    says(&["drain", "node-0"], "drained");
    says(&["get", "node", "node-0"], "SchedulingDisabled");
    let on_it = ["get", "pods", "--field-selector=spec.nodeName=node-0", "-o", "name"];
    let left = served.kubectl(&[&["-n", "shop"], &on_it[..]].concat());
    left.expect(0);
    assert_eq!(left.stdout.trim(), "", "{left}");
    says(&["-n", "shop", "rollout", "status", "deployment/web"], "successfully rolled out");
    says(&["uncordon", "node-0"], "uncordoned");
    says(&["-n", "shop", "rollout", "undo", "deployment/web"], "rolled back");
    says(&["-n", "shop", "rollout", "status", "deployment/web"], "successfully rolled out");
    says(&["auth", "can-i", "delete", "nodes"], "yes");
    // Waits until it is gone, with everything in it.
    says(&["delete", "namespace", "shop"], "deleted");
    let gone = served.kubectl(&["get", "namespace", "shop"]);
    assert!(gone.stderr.contains("NotFound"), "{gone}");
    let kubeconfig = served.kubeconfig.clone();
    let (code, said) = served.end(Signal::INT);
    assert_eq!(code, Some(0), "{said}");
    assert!(!kubeconfig.exists(), "a kubeconfig for nothing is left");
}

/// Everybody on this machine can connect to it; a page in a browser can make a name of its own lead to it.
#[test]
fn nobody_is_anybody_without_its_token() {
    let house = House::new("serve/strangers", &[]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let mode = std::fs::metadata(&served.kubeconfig).expect("a kubeconfig").permissions().mode();
    assert_eq!(mode & 0o777, 0o600, "everybody can read the token");
    let server = text_of(&served, "/clusters/0/cluster/server");
    let token = text_of(&served, "/users/0/user/token");
    let get = |path: &str, headers: &[String]| {
        let mut curl = Command::new("curl");
        curl.args(["-sk", "-o", "/dev/null", "-w", "%{http_code}", &format!("{server}{path}")]);
        for header in headers {
            curl.args(["-H", header]);
        }
        Ended::of(curl).stdout
    };
    let bearer = |token: &str| format!("Authorization: Bearer {token}");
    let host = "Host: evil.example.com".to_owned();
    let namespaces = "/api/v1/namespaces";
    assert_eq!(get(namespaces, &[bearer(&token)]), "200");
    assert_eq!(get(namespaces, &[]), "401");
    assert_eq!(get(namespaces, &[bearer("trommel")]), "401", "a token that everybody knows");
    assert_eq!(get(namespaces, &["Authorization: Basic YTpi".to_owned()]), "401");
    assert_eq!(get(namespaces, &[bearer(&token), host.clone()]), "421");
    assert_eq!((get("/healthz", &[]), get("/healthz", &[host])), ("200".into(), "421".into()));
    let other = Served::start(&house.path("target"), &["--environment", "none"]);
    assert_ne!(text_of(&other, "/users/0/user/token"), token, "a token that is always the same");
}

/// The key of the authority of campaigns, in the DER of PKCS #8: it is part of the program.
const KEY_OF_CAMPAIGNS: &[u8] =
    b"\x30\x2e\x02\x01\x00\x30\x05\x06\x03\x2b\x65\x70\x04\x22\x04\x20trommel's certificate authority.";

/// Makes `client.crt` of an administrator, signed with a key that everybody knows, and `client.key`.
const FORGE: &str = "
openssl pkey -inform DER -in known.der -out known.key
printf '[req]\\ndistinguished_name=dn\\nstring_mask=nombstr\\nprompt=no\\n[dn]\\nCN=kubernetes\\n' > name
openssl req -x509 -new -key known.key -config name -days 9 -out known.crt
openssl genpkey -algorithm ed25519 -out client.key
openssl req -new -key client.key -subj /O=system:masters/CN=stranger -out client.csr
echo extendedKeyUsage=clientAuth > usage
openssl x509 -req -in client.csr -CA known.crt -CAkey known.key -CAcreateserial -days 5 \
  -extfile usage -out client.crt
";

/// The certificates that the cluster signs make somebody of whoever shows them.
#[test]
fn no_certificate_of_a_known_key_makes_an_administrator() {
    let house = House::new("serve/forged", &[]);
    std::fs::write(house.path("known.der"), KEY_OF_CAMPAIGNS).expect("the folder is ours");
    let mut forge = Command::new("sh");
    forge.args(["-ec", FORGE]).current_dir(&house.root);
    Ended::of(forge).expect(0);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let server = text_of(&served, "/clusters/0/cluster/server");
    let mut curl = Command::new("curl");
    curl.args(["-sk", "-w", "%{http_code}", "--cert", "client.crt", "--key", "client.key"]);
    curl.arg(format!("{server}/api/v1/secrets")).current_dir(&house.root);
    let ended = Ended::of(curl);
    assert!(!ended.stdout.ends_with("200"), "{ended}");
}

/// A kubeconfig may trust whoever answers, and says in which way it does not work.
#[test]
fn campaigns_reach_the_cluster_of_a_kubeconfig() {
    const FOLDER: &str = "examples/bar-foo";
    let house = House::new("serve/kubeconfigs", &[FOLDER]);
    let served = Served::start(&house.root, &["--environment", "none"]);
    let campaign = std::fs::read_to_string(house.path(&format!("{FOLDER}/campaign.yaml")));
    let here = "cluster: {kubeconfig: {path: ../../edited}}\n  budget: {trials: 1}";
    let campaign =
        campaign.expect("a campaign").replace("cluster: {embedded: {environment: none}}", here);
    house.write(&format!("{FOLDER}/remote.yaml"), &campaign);
    let with = |cluster: Value| {
        let mut config = yaml(&served.kubeconfig);
        let server = text_of(&served, "/clusters/0/cluster/server");
        config["clusters"][0]["cluster"] = cluster;
        config["clusters"][0]["cluster"]["server"] = server.into();
        house.write("edited", &config.to_string());
        run(&house.root, ["run", &format!("{FOLDER}/remote.yaml"), "--quiet"])
    };
    // The one trial may be violated already: which plan comes first is not this test's business.
    let trusting = with(json!({"insecure-skip-tls-verify": true}));
    let ran = matches!(trusting.code, Some(5 | 100)) && trusting.stdout.contains(" 1 run in ");
    assert!(ran, "{trusting}");
    let silent = with(json!({}));
    assert!(silent.expect(64).stderr.contains("says nothing of whom to trust"), "{silent}");
}

fn text_of(served: &Served, path: &str) -> String {
    let config = yaml(&served.kubeconfig);
    config.pointer(path).and_then(Value::as_str).expect("a kubeconfig").to_owned()
}

#[test]
fn tokens_are_mounted_where_asked_for() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let house = House::new("serve/accounts", &[]);
    let served = Served::start(&house.root, &["--mount-service-accounts", "--environment", "none"]);
    let run = ["run", "p", "--image=i", "--overrides={\"spec\":{\"serviceAccountName\":\"s\"}}"];
    let refused = served.kubectl(&run);
    let says = "error looking up service account default/s";
    assert!(refused.code != Some(0) && refused.stderr.contains(says), "{refused}");
    served.kubectl(&["create", "serviceaccount", "s"]).expect(0);
    served.kubectl(&run).expect(0);
    let path = "jsonpath={.spec.containers[0].volumeMounts[0].mountPath}";
    let mounted = served.kubectl(&["get", "pod", "p", "-o", path]);
    assert_eq!(mounted.stdout, "/var/run/secrets/kubernetes.io/serviceaccount", "{mounted}");
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn permissions_count_where_asked_for() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let house = House::new("serve/rbac", &[]);
    let served = Served::start(&house.root, &["--authorization", "rbac", "--environment", "none"]);
    let check = |arguments: &[&str], code: i32, expect: &str| {
        let ended = served.kubectl(arguments);
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(said.contains(expect), "{arguments:?}: no {expect:?} in {ended}");
    };
    check(&["create", "serviceaccount", "s"], 0, "created");
    check(
        &["create", "rolebinding", "b", "--clusterrole=view", "--serviceaccount=default:s"],
        0,
        "created",
    );
    let account = "--as=system:serviceaccount:default:s";
    check(&["auth", "can-i", "list", "pods", account], 0, "yes");
    check(&["auth", "can-i", "list", "secrets", account], 1, "no");
    check(&["get", "pods", account], 0, "No resources found");
    let refusal = "cannot list resource \"nodes\" in API group \"\" at the cluster scope";
    check(&["get", "nodes", account], 1, refusal);
    assert_eq!(served.end(Signal::TERM).0, Some(0));
}

#[test]
fn wrong_options_and_a_taken_port_are_told() {
    let house = House::new("serve/wrong", &[]);
    let taken = std::net::TcpListener::bind("127.0.0.1:0").expect("a free port");
    let port = taken.local_addr().expect("an address").port().to_string();
    let check = |arguments: &[&str], code: i32, says: &str| {
        let ended = run(&house.root, ["serve"].iter().chain(arguments).copied());
        assert_eq!(ended.code, Some(code), "{arguments:?}: {ended}");
        assert!(ended.stderr.contains(says), "{arguments:?}: no {says:?} in {ended}");
    };
    check(&["--port", &port], 75, "leave --port out");
    check(&["--nodes", "3", "--environment", "none"], 64, "--nodes: there are nodes with");
    check(&["--environment", "envtest"], 64, "envtest");
    check(&["--kubeconfig", "no/such/folder"], 75, "--kubeconfig names another");
}
