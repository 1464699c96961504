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
    let manifests = manifest::load(folder.path(), None);
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
    check("resources: [p.yaml]\nhelmCharts: [{}]\n", "FOLDER/kustomization.yaml:2:1");
    check("resources: [p.yaml]\nvars: [{}]\n", "`vars` is not supported");
    check("resources: [p.yaml]\nvars: [{}]\n", "kubectl kustomize");
    check("resorces: [p.yaml]\n", "unknown field \"resorces\"; did you mean \"resources\"?");
    check("resources: p.yaml\n", "`resources` must be a list; it is a string");
    check("resources: [p.yaml, null]\n", "`resources` must be a string; it is empty");
    check("# nothing\n", "the kustomization is empty");
    check("resources: [p.yaml, p.yaml]\n", "Pod p is there already, from FOLDER/p.yaml:1:1");
    check("resources: [https://x/y]\n", "nothing is fetched");
    check("resources: [q.yaml]\n", "there is no FOLDER/q.yaml");
    check(
        "resources: [p.yaml]\npatches: [{patch: '{kind: Job, metadata: {name: p}}'}]\n",
        "there is no Job p",
    );
    check(
        "resources: [p.yaml]\npatches: [{patch: '{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: x}}'}]\n",
        "no object of this kustomization: Pod p is in namespace \"\"",
    );
    check("resources: [p.yaml]\npatches: [{patch: '[]'}]\n", "wants a `target`");
    check("resources: [.]\n", "without end");
    check("kind: Component\n", "this is of kind Component, and must be of kind Kustomization");
    check("components: [.]\n", "this is of kind Kustomization, and must be of kind Component");
}

#[test]
fn what_is_wrong_with_generators_and_replacements_is_told() {
    let check = |kustomization: &str, expect: &str| {
        let error =
            rendered(&[("kustomization.yaml", kustomization), ("p.yaml", POD)]).unwrap_err();
        assert!(error.contains(expect), "{kustomization}: {error}");
    };
    check(
        "configMapGenerator: [{}]\n",
        "FOLDER/kustomization.yaml:1:22: a generator wants a `name`",
    );
    check("configMapGenerator: [{name: a, type: b}]\n", "`type` of a generator is not supported");
    check("configMapGenerator: [{name: a, literals: [b]}]\n", "\"b\" is no KEY=VALUE");
    check("configMapGenerator: [{name: a, literals: [b=1, b=2]}]\n", "has the key b twice");
    check("configMapGenerator: [{name: a, files: [b]}]\n", "can't read FOLDER/b");
    check("configMapGenerator: [{name: a, behavior: merge}]\n", "no ConfigMap a to merge with");
    check("configMapGenerator: [{name: a}, {name: a}]\n", "ConfigMap a is there already");
    let replacement =
        |source: &str| format!("resources: [p.yaml]\nreplacements:\n- source: {source}\n");
    check(&replacement("{kind: Job}"), "the source is no object of this kustomization");
    check(&replacement("{kind: Pod, fieldPath: spec.x}"), "the source, Pod p, has no spec.x");
    let targets = "{kind: Pod}\n  targets: [{select: {kind: Pod}, fieldPaths: [spec.x]}]";
    check(&replacement(targets), "Pod p has no spec.x");
}

#[test]
fn what_is_generated_is_named_by_its_content() {
    let kustomization =
        "resources: [p.yaml]\nnamePrefix: x-\nconfigMapGenerator: [{name: c, literals: [A=<1>]}]\n";
    let pod = "apiVersion: v1\nkind: Pod\nmetadata: {name: p}\nspec: {volumes: [{configMap: {name: c}}]}\n";
    let objects = rendered(&[("kustomization.yaml", kustomization), ("p.yaml", pod)]).unwrap();
    assert_eq!(objects[1]["data"], json!({"A": "<1>"}));
    let name = &objects[1]["metadata"]["name"];
    assert_eq!(
        (name, &objects[0]["spec"]["volumes"][0]["configMap"]["name"]),
        (&json!("x-c-979c78b8g4"), name)
    );
}

/// As kubectl has it: kubebuilder writes `patches:` with nothing but comments below it.
#[test]
fn a_field_without_a_value_is_as_if_absent() {
    let others = &["bases", "components", "configurations"];
    let nothing: Vec<String> = [fields::ORDER, fields::GENERATORS, fields::NOT_SUPPORTED, others]
        .concat()
        .iter()
        .map(|field| format!("{field}:\n# - a comment\n"))
        .collect();
    let kustomization = format!("resources:\n- p.yaml\n{}", nothing.concat());
    let objects = rendered(&[("kustomization.yaml", &kustomization), ("p.yaml", POD)]).unwrap();
    let plain = rendered(&[("p.yaml", POD)]).unwrap();
    assert_eq!(objects, plain);
    let empty = "resources: [p.yaml]\nvars: []\nlabels: [{pairs: }]\npatches: [{patch: '- {op: remove, path: /spec}', \
                 target: {kind: Job, name: }, options: }]\n";
    assert_eq!(rendered(&[("kustomization.yaml", empty), ("p.yaml", POD)]).unwrap(), plain);
}

#[test]
fn rules_policies_and_volumes_follow_what_was_renamed() {
    let all = "apiVersion: v1\nkind: Secret\nmetadata: {name: key}\n---\n\
               apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r}\n\
               rules: [{resources: [secrets], resourceNames: [key, other]}]\n---\n\
               apiVersion: v1\nkind: PersistentVolume\nmetadata: {name: disk}\n---\n\
               apiVersion: v1\nkind: PersistentVolumeClaim\nmetadata: {name: claim}\nspec: {volumeName: disk}\n---\n\
               apiVersion: apps/v1\nkind: StatefulSet\nmetadata: {name: set}\n\
               spec: {volumeClaimTemplates: [{metadata: {name: c}}], template: {spec: {topologySpreadConstraints: \
               [{labelSelector: {matchLabels: {a: b}}}]}}}\n";
    let kustomization = "resources: [all.yaml]\nnamePrefix: x-\ncommonLabels: {l: m}\n";
    let objects = rendered(&[("kustomization.yaml", kustomization), ("all.yaml", all)]).unwrap();
    assert_eq!(objects[1]["rules"][0]["resourceNames"], json!(["x-key", "other"]));
    assert_eq!(objects[3]["spec"]["volumeName"], "x-disk");
    let spec = &objects[4]["spec"];
    assert_eq!(spec["volumeClaimTemplates"][0]["metadata"]["labels"], json!({"l": "m"}));
    let near = &spec["template"]["spec"]["topologySpreadConstraints"][0]["labelSelector"];
    assert_eq!(near["matchLabels"], json!({"a": "b", "l": "m"}));
}

#[test]
fn a_name_that_may_mean_several_objects_is_an_error() {
    let error = rendered(&[
        ("kustomization.yaml", "resources: [one, two, p.yaml]\nnamePrefix: top-\n"),
        ("one/kustomization.yaml", "resources: [../below]\nnamePrefix: one-\n"),
        ("two/kustomization.yaml", "resources: [../below]\nnamePrefix: two-\n"),
        ("below/kustomization.yaml", "resources: [a.yaml]\n"),
        ("below/a.yaml", "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: s}\n"),
        ("p.yaml", POD),
    ])
    .unwrap_err();
    assert_eq!(error, "FOLDER/p.yaml:1:1: ServiceAccount \"s\" may be any of top-one-s, top-two-s");
}

/// By what `kubectl kustomize` makes of projects as kubebuilder lays them out, a new one and one with webhooks, of a folder
/// with all that names refer to, and of one with all that makes objects by itself.
#[test]
#[allow(clippy::print_stdout)] // `cargo ci` counts what is skipped by that
fn kubectl_renders_the_same() {
    let testdata = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata");
    let mut folders = vec![testdata.join("everything"), testdata.join("generated")];
    for layout in ["kubebuilder", "scaffold"] {
        for entry in std::fs::read_dir(testdata.join(layout).join("config")).unwrap() {
            folders.push(entry.unwrap().path());
        }
    }
    assert_eq!(folders.len(), 2 + 6 + 5);
    for folder in folders {
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
        let ours = manifest::load(&folder, None).unwrap();
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
