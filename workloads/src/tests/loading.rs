//! Tests that can't be read say where and what to do; those that can give a list.

use super::*;

const HEAD: &str = "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Test\nmetadata: {name: t}\n";

#[test]
fn errors_say_where_and_what_to_do() {
    let whole = [
        "".to_owned(),
        "a: 1\n---\nb: 2\n".to_owned(),
        "apiVersion: v1\nkind: Test\n".to_owned(),
        "apiVersion: chainsaw.kyverno.io/v1alpha1\nkind: Configuration\n".to_owned(),
        format!("{HEAD}spec: {{}}\n"),
        format!("{HEAD}spec:\n  steps: []\n  stepz: []\n"),
        format!("{HEAD}spec:\n  stps: []\n"),
        format!("{HEAD}spec:\n  steps:\n"),
        format!("{HEAD}spec:\n  steps: []\n  steps: []\n"),
        format!("{HEAD}spec:\n  steps: []\nspce: 1\n"),
        format!("{HEAD}spec:\n  scenarios: []\n  steps: []\n"),
        format!("{HEAD}spec:\n  skipDelete: false\n  steps: []\n"),
        format!("{HEAD}spec:\n  timeouts: {{asert: 5s}}\n  steps: []\n"),
        format!("{HEAD}spec:\n  timeouts: {{assert: 5}}\n  steps: []\n"),
        format!("{HEAD}spec:\n  bindings: [{{name: a, value: ($b)}}]\n  steps: []\n"),
        format!("{HEAD}spec:\n  bindings: [{{name: a-b, value: 1}}]\n  steps: []\n"),
        format!("{HEAD}spec:\n  bindings: [{{name: y, value: 1}}]\n  steps: []\n"),
        format!("{HEAD}spec:\n  compiler: cel\n  steps: []\n"),
        format!("{HEAD}spec:\n  steps:\n  - use: {{template: x.yaml}}\n"),
        format!("{HEAD}spec:\n  steps:\n  - try:\n    - settle: {{}}\n"),
        format!("{HEAD}spec:\n  steps:\n  - finally:\n    - assert: {{file: a.yaml}}\n"),
    ];
    let operations = [
        "- {}",
        "- apply: {file: none.yaml}",
        "- apply: {resource: {apiVersion: v1, kind: A, metadata: {name: (env('HOME'))}}}",
        "- apply: {file: 'https://example.com/a.yaml'}",
        "- apply: {}",
        "- aply: {}",
        "- setle: {}",
        "- frobnicate: {}",
        "- apply: {resorce: {kind: Bar}}",
        "- apply: {resource: {kind: Bar}}",
        "- apply: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {generateName: a-}}}",
        "- apply:\n    resource: [1]",
        "- apply:\n    file: bad.yaml",
        "- apply:\n    resource:\n      apiVersion: v1\n      kind: ConfigMap\n      metadata:\n        name: (nope('x'))",
        "- apply:\n    resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}\n    cluster: other",
        "- patch: {resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a}}, subresorce: status}",
        "- delete: {ref: {kind: Bar}}",
        "- delete: {deletionPropagationPolicy: No, ref: {apiVersion: v1, kind: ConfigMap}}",
        "- sleep: {duration: soon}",
        "- sleep: {duraton: 5s}",
        "- sleep:",
        "- sleep: {duration: 1s}\n  settle: {}",
        "- proxy: {}",
        "- podLogs: {}",
        "- wait: {apiVersion: v1, kind: Pod, for: {}}",
        "- wait: {apiVersion: v1, kind: Pod, for: {deletion: {}, creation: {}}}",
        "- wait: {apiVersion: v1, kind: Pod, name: a, selector: b, for: {deletion: {}}}",
        "- wait: {apiVersion: v1, kind: Pod, for: {jsonPath: {path: '{.a[?(@.b>1)]}'}}}",
        "- script: {content: x, check: {($stdut): a}}",
        "- script: {content: x, check: 1}",
        "- script: {content: [x]}",
        "- concurrently: []",
        "- concurrently:\n  - sleep: {duration: 1s}",
        "- settle: {horizon: 5s}",
        "- assert:\n    resource:\n      apiVersion: v1\n      kind: ConfigMap\n      data: {a: ($c)}",
    ];
    let bad = [(
        "bad.yaml",
        "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata:\n  a: 1\n  a: 2\n",
    )];
    let all = whole.into_iter().chain(operations.into_iter().map(test_of));
    let lines: Vec<String> = all
        .map(|test| match load(&test, &bad) {
            Ok((workload, _)) => {
                format!("read, with {} operations: {test}", workload.operations.len())
            }
            Err(error) => error,
        })
        .collect();
    insta::assert_snapshot!(lines.join("\n"));
}

const LONG: &str = r#"
apiVersion: trommel.dev/v1alpha1
kind: Test
metadata: {name: long}
spec:
  description: everything once
  namespace: own
  timeouts: {assert: 2m, exec: 7s}
  bindings: [{name: size, value: 2}]
  catch:
  - describe: {apiVersion: v1, kind: Pod}
  - script: {content: kubectl get all}
  steps:
  - name: scale down
    bindings: [{name: name, value: "(join('-', ['bar', to_string($size)]))"}]
    timeouts: {apply: 9s}
    try:
    - apply: {file: 'bars/*.yaml'}
    - patch:
        timeout: 1m
        resource: {apiVersion: example.com/v1, kind: Bar, metadata: {name: ($name)}}
    - assert: {file: bars/a.yaml}
      continueOnError: true
    - delete: {ref: {apiVersion: v1, kind: ConfigMap, labels: {app: x}}}
    - sleep: {duration: 1m30s}
    - settle: {}
    - restart: {}
    - concurrently:
      - delete: {ref: {apiVersion: v1, kind: ConfigMap, name: a}}
      - command: {entrypoint: kubectl, args: [get, pods, -n, $NAMESPACE]}
    catch:
    - events: {}
    - podLogs: {selector: a=b}
    finally:
    - command: {entrypoint: "true"}
    cleanup:
    - script: {content: "echo 1\necho 2\n"}
  - cleanup:
    - delete: {ref: {apiVersion: v1, kind: Namespace, name: extra}}
"#;

const BARS: &[(&str, &str)] = &[
    ("bars/b.yaml", "{apiVersion: example.com/v1, kind: Bar, metadata: {name: b}}"),
    (
        "bars/a.yaml",
        "{apiVersion: example.com/v1, kind: Bar, metadata: {name: a}}\n---\n{apiVersion: example.com/v1, kind: Bar, metadata: {name: c, namespace: d}}\n",
    ),
];

#[test]
fn a_test_is_a_flat_list() {
    let (workload, folder) = load(LONG, BARS).unwrap();
    let lines = workload.operations.iter().map(|operation| {
        let file = folder.path().display().to_string();
        let place = operation.place.to_string().replace(&file, "");
        let documents = operation.documents();
        format!(
            "{} {place} [{documents}, {:?}] {}",
            operation.index, operation.timeout, operation.title
        )
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"));
    let catch = workload.catch(&workload.operations[1]);
    assert_eq!(catch.len(), 1, "collectors are dropped: {catch:?}");
    assert_eq!(catch[0].title, "step 1 \"scale down\" (catch): script \"kubectl get all\"");
    assert!(!workload.skip);
    assert_eq!(workload.namespace, "own");
    let foreign: Vec<u32> =
        workload.operations.iter().filter(|o| o.holds_foreign_state()).map(|o| o.index).collect();
    assert_eq!(foreign, [10, 12, 15], "programs, and what runs beside one");
}

#[test]
fn the_hash_is_of_the_bytes_and_not_of_the_place() {
    let hash = |test: &str, files: &[(&str, &str)]| load(test, files).unwrap().0.hash().to_owned();
    assert_eq!(hash(LONG, BARS), hash(LONG, BARS));
    assert_ne!(hash(LONG, BARS), hash(&LONG.replace("9s", "8s"), BARS));
    let changed =
        [BARS[0], ("bars/a.yaml", "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}")];
    assert_ne!(hash(LONG, BARS), hash(LONG, &changed));
}

#[test]
fn chainsaw_files_are_read_with_our_version_or_theirs() {
    let text = test_of("- sleep: {duration: 5s}");
    let theirs = text.replace("trommel.dev/v1alpha1", "chainsaw.kyverno.io/v1alpha1");
    assert_eq!(load(&theirs, &[]).unwrap().0.operations.len(), 1);
}

#[test]
fn steps_that_check_nothing_are_named() {
    let map = "{apiVersion: v1, kind: ConfigMap, metadata: {name: a}}";
    let apply = format!("- apply: {{resource: {map}}}");
    let assert = format!("- assert: {{resource: {map}}}");
    assert_eq!(operations(&apply).unchecked_steps(), ["the whole workload"]);
    assert_eq!(operations(&format!("{apply}\n{assert}")).unchecked_steps(), [""; 0]);
}
