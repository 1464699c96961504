//! Layers, references, patches and images one by one, and a whole project against `kubectl kustomize`.

use serde_json::{Value, json};

use super::*;

/// A folder with these files; what its kustomization renders to, or the error.
fn rendered(files: &[(&str, &str)]) -> Result<Vec<Value>, String> {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let manifests = manifest::load(folder.path());
    let manifests = manifests.map_err(|error| {
        error.to_string().replace(&*folder.path().display().to_string(), "FOLDER")
    })?;
    Ok(manifests.into_iter().map(|manifest| manifest.object).collect())
}

const POD: &str = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  serviceAccountName: s\n  containers:\n  \
                   - {name: a, image: 'reg:5000/x:1', env: [{name: A, value: '1'}]}\n  - {name: b, image: yy@sha256:0}\n";
const ACCOUNT: &str =
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s, namespace: system}\n";
const BINDING: &str = "apiVersion: rbac.authorization.k8s.io/v1\nkind: ClusterRoleBinding\nmetadata: {name: b}\n\
                       roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: r}\n\
                       subjects: [{kind: ServiceAccount, name: s, namespace: system}]\n";

#[test]
fn names_follow_what_was_renamed_in_any_layer() {
    let objects = rendered(&[
        ("kustomization.yaml", "resources: [below]\nnamePrefix: outer-\nnamespace: here\n"),
        ("below/kustomization.yaml", "resources: [all.yaml]\nnameSuffix: -x\n"),
        ("below/all.yaml", &[ACCOUNT, POD, BINDING].join("---\n")),
    ])
    .unwrap();
    let [account, pod, binding] = &objects[..] else { panic!("{objects:?}") };
    assert_eq!(account["metadata"], json!({"name": "outer-s-x", "namespace": "here"}));
    assert_eq!(pod["spec"]["serviceAccountName"], "outer-s-x");
    assert_eq!(binding["metadata"], json!({"name": "outer-b-x"}));
    let subject = json!({"kind": "ServiceAccount", "name": "outer-s-x", "namespace": "here"});
    assert_eq!(binding["subjects"], json!([subject]));
    assert_eq!(binding["roleRef"]["name"], "r", "it is none of these objects");
}

#[test]
fn patches_of_both_kinds_find_their_objects() {
    let merge = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec:\n  containers:\n  - {name: a, env: [{name: B, value: '2'}]}\n  \
                 - {name: c, image: z}\n  serviceAccountName: null\n";
    let kustomization = "resources: [p.yaml]\npatches:\n- path: merge.yaml\n- target: {kind: P.d}\n  patch: |-\n    - {op: replace, \
                         path: /spec/containers/2/image, value: w}\n";
    let objects =
        rendered(&[("kustomization.yaml", kustomization), ("p.yaml", POD), ("merge.yaml", merge)])
            .unwrap();
    let env = json!([{"name": "B", "value": "2"}, {"name": "A", "value": "1"}]);
    let containers = json!([
        {"name": "a", "image": "reg:5000/x:1", "env": env},
        {"name": "c", "image": "z"},
        {"name": "b", "image": "w"},
    ]);
    assert_eq!(objects[0]["spec"], json!({"containers": containers}));
}

#[test]
fn images_are_found_by_name() {
    let kustomization = "resources: [p.yaml]\nimages:\n- {name: 'reg:5000/x', newTag: v2}\n- {name: yy, newName: other, newTag: 3}\n\
                         labels: [{pairs: {l: m}}]\ncommonAnnotations: {a: b}\n";
    let objects = rendered(&[("kustomization.yaml", kustomization), ("p.yaml", POD)]).unwrap();
    let image = |at: usize| objects[0]["spec"]["containers"][at]["image"].clone();
    assert_eq!((image(0), image(1)), (json!("reg:5000/x:v2"), json!("other:3")));
    let meta = json!({"name": "p", "labels": {"l": "m"}, "annotations": {"a": "b"}});
    assert_eq!(objects[0]["metadata"], meta);
}

#[test]
fn what_is_not_supported_is_named() {
    let check = |kustomization: &str, expect: &str| {
        let error =
            rendered(&[("kustomization.yaml", kustomization), ("p.yaml", POD)]).unwrap_err();
        assert!(error.contains(expect), "{kustomization}: {error}");
    };
    check("resources: [p.yaml]\nconfigMapGenerator: []\n", "FOLDER/kustomization.yaml:2:1");
    check("resources: [p.yaml]\nreplacements: []\n", "`replacements` is not supported");
    check("resources: [p.yaml]\nreplacements: []\n", "kubectl kustomize");
    check("resources: [https://x/y]\n", "nothing is fetched");
    check("resources: [q.yaml]\n", "there is no FOLDER/q.yaml");
    check(
        "resources: [p.yaml]\npatches: [{patch: '{kind: Job, metadata: {name: p}}'}]\n",
        "no object",
    );
    check("resources: [p.yaml]\npatches: [{patch: '[]'}]\n", "wants a `target`");
    check("resources: [.]\n", "without end");
    check("kind: Component\n", "kind Component");
}

/// By what `kubectl kustomize` makes of a project as kubebuilder lays it out.
#[test]
#[allow(clippy::print_stdout)] // `cargo ci` counts what is skipped by that
fn kubectl_renders_the_same() {
    let layout = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/kubebuilder/config");
    for folder in ["default", "crd", "rbac", "manager", "webhook", "samples"] {
        let folder = layout.join(folder);
        let kubectl = std::process::Command::new("kubectl").arg("kustomize").arg(&folder).output();
        let Ok(kubectl) = kubectl else {
            println!("skipped: kubectl is not installed");
            return;
        };
        assert!(kubectl.status.success(), "{}", String::from_utf8_lossy(&kubectl.stderr));
        let theirs = String::from_utf8(kubectl.stdout).unwrap();
        let theirs = manifest::objects("theirs.yaml".as_ref(), &theirs).unwrap();
        let sorted = |mut objects: Vec<Value>| {
            objects
                .sort_by_key(|object| (object["kind"].to_string(), object["metadata"].to_string()));
            objects
        };
        let ours = manifest::load(&folder).unwrap();
        let ours = sorted(ours.into_iter().map(|manifest| manifest.object).collect());
        let theirs = sorted(theirs.iter().map(Node::to_json).collect());
        assert!(!ours.is_empty());
        for (ours, theirs) in ours.iter().zip(&theirs) {
            let text = |object| serde_json::to_string_pretty(object).unwrap();
            assert_eq!(text(ours), text(theirs), "{}", folder.display());
        }
        assert_eq!(ours.len(), theirs.len());
    }
}
