//! One table: what matches, and what the difference is where it does not.

use serde_json::json;

use super::*;

/// The object that most rows are about.
fn object() -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Bar",
        "metadata": {
            "name": "bar", "labels": {"app": "x", "app.io/name": "nn"},
            "annotations": {"(odd)": "1", "~.a": "2"},
        },
        "spec": {"replicas": 3, "ratio": 1.5, "empty": {}, "none": null, "list": [], "paused": false},
        "status": {
            "ready": "3", "big": 9007199254740993u64,
            "conditions": [
                {"type": "Ready", "status": "True"},
                {"type": "Degraded", "status": "False"},
            ],
            "ports": [80, 443],
        },
    })
}

fn mismatches(tree: &str) -> String {
    let nodes = match crate::node::parse("t.yaml".as_ref(), tree) {
        Ok(nodes) => nodes,
        Err(error) => return error.to_string(),
    };
    let tree = match Tree::compile(&nodes[0]) {
        Ok(tree) => tree,
        Err(error) => return error.to_string(),
    };
    let bindings = Bindings::from([
        ("three".to_owned(), json!(3)),
        ("name".to_owned(), json!("bar")),
        ("ports".to_owned(), json!([80, 443])),
    ]);
    match tree.mismatches(&object(), &bindings) {
        Ok(found) => found.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "),
        Err(error) => error.to_string(),
    }
}

/// Rows of `tree`, then what is wrong (nothing: it matches).
const TABLE: &[(&str, &str)] = &[
    // Maps are subsets.
    ("{}", ""),
    ("kind: Bar", ""),
    ("{kind: Bar, spec: {replicas: 3}}", ""),
    ("spec: {replicas: 4}", ".spec.replicas: expected 4, found 3"),
    ("spec: {replicas: '3'}", r#".spec.replicas: expected "3", found 3"#),
    ("status: {ready: 3}", r#".status.ready: expected 3, found "3""#),
    ("spec: {missing: 1}", ".spec.missing: expected 1, found nothing"),
    ("spec: {missing: null}", ".spec.missing: expected null, found nothing"),
    ("missing: {a: 1}", ".missing.a: expected 1, found nothing"),
    ("spec: {none: null}", ""),
    ("spec: {none: 1}", ".spec.none: expected 1, found null"),
    ("spec: {none: {a: 1}}", ".spec.none.a: expected 1, found nothing"),
    ("spec: {empty: {}}", ""),
    ("spec: {none: {}}", ".spec.none: expected anything but null, found null"),
    ("spec: {replicas: {}}", ""),
    ("spec: {replicas: {a: 1}}", ".spec.replicas.a: expected a field of a map, found 3"),
    ("spec: {paused: false}", ""),
    ("spec: {paused: no}", ""),
    ("spec: {paused: true}", ".spec.paused: expected true, found false"),
    ("metadata: {labels: {app.io/name: nn}}", ""),
    (
        "metadata: {labels: {app.io/name: m}}",
        r#".metadata.labels["app.io/name"]: expected "m", found "nn""#,
    ),
    // Numbers by value, and exactly.
    ("spec: {replicas: 3.0}", ""),
    ("spec: {ratio: 1.5}", ""),
    ("spec: {ratio: 1.25}", ".spec.ratio: expected 1.25, found 1.5"),
    ("status: {big: 9007199254740993}", ""),
    (
        "status: {big: 9007199254740992}",
        ".status.big: expected 9007199254740992, found 9007199254740993",
    ),
    // Lists are whole.
    ("spec: {list: []}", ""),
    ("status: {ports: [80, 443]}", ""),
    (
        "status: {ports: [443, 80]}",
        ".status.ports[0]: expected 443, found 80; .status.ports[1]: expected 80, found 443",
    ),
    ("status: {ports: [80]}", ".status.ports: expected a list of 1, found one of 2"),
    ("status: {ready: [1]}", r#".status.ready: expected a list of 1, found "3""#),
    ("status: {conditions: [{type: Ready}, {status: 'False'}]}", ""),
    (
        "status: {conditions: [{type: Ready}, {status: 'True'}]}",
        r#".status.conditions[1].status: expected "True", found "False""#,
    ),
    // Values that are expressions.
    ("spec: {replicas: ($three)}", ""),
    ("spec: {replicas: '(add($three, `1`))'}", ".spec.replicas: expected 4, found 3"),
    ("metadata: {name: ($name)}", ""),
    (
        "metadata: {name: \"(join('', [$name, '-x']))\"}",
        r#".metadata.name: expected "bar-x", found "bar""#,
    ),
    ("status: {ports: ($ports)}", ""),
    ("metadata: {name: (jp; $name)}", ""),
    ("spec: {replicas: (@)}", ""),
    // Keys that are expressions.
    ("spec: {(replicas > `2`): true}", ""),
    ("spec: {(replicas > `3`): true}", ".spec.(replicas > `3`): expected true, found false"),
    ("(length(status.conditions)): 2", ""),
    ("status: {(length(conditions)): 3}", ".status.(length(conditions)): expected 3, found 2"),
    ("status: {\"(conditions[?type == 'Ready'])\": [{status: 'True'}]}", ""),
    ("status: {\"(conditions[?type == 'Degraded'] | [0])\": {status: 'False'}}", ""),
    ("status: {\"(conditions[?type == 'None'])\": []}", ""),
    ("(missing.deep): null", ""),
    ("(metadata.labels.app == $name): false", ""),
    ("(starts_with(metadata.name, 'ba')): true", ""),
    ("(contains(keys(spec), 'replicas')): true", ""),
    ("spec: {(to_string(replicas)): '3'}", ""),
    (
        "(length(spec.none)): 1",
        "t.yaml:1:1: (length(spec.none)): Argument 0 expects type array|object|string, given null",
    ),
    ("($unbound): 1", "t.yaml:1:1: ($unbound): binding $unbound has no value here"),
    ("spec: {none: {\"(join('-', [$name, 'x']))\": bar-x}}", ""),
    ("spec: {none: (@)}", ""),
    // Iteration.
    ("status: {~.ports: {(@ > `10`): true}}", ""),
    (
        "status: {~.ports: {(@ > `100`): true}}",
        ".status.ports[0].(@ > `100`): expected true, found false",
    ),
    (
        "status: {~.conditions: {type: Ready}}",
        r#".status.conditions[1].type: expected "Ready", found "Degraded""#,
    ),
    ("status: {~index.conditions: {($index < `2`): true}}", ""),
    (
        "status: {~index.conditions: {($index): 0}}",
        ".status.conditions[1].($index): expected 0, found 1",
    ),
    ("metadata: {~key.labels: {\"(starts_with($key, 'app'))\": true}}", ""),
    ("status: {\"~.(conditions[?type=='Ready'])\": {status: 'True'}}", ""),
    (
        "status: {\"~(conditions[?type=='Ready'])\": {status: 'False'}}",
        r#".status.~(conditions[?type=='Ready'])[0].status: expected "False", found "True""#,
    ),
    ("spec: {~.list: {a: 1}}", ""),
    ("spec: {~.replicas: 3}", ".spec.replicas: expected a list or a map to iterate over, found 3"),
    ("spec: {~.nothing: 3}", ".spec.nothing: expected 3, found nothing"),
    // Bindings in keys.
    ("spec: {replicas->n: 3, ratio: '(divide($n, `2`))'}", ""),
    ("spec: {(replicas)->n: {(@ == $n): true}}", ""),
    ("{(metadata.name) -> found: ($name), kind: Bar}", ""),
    ("status: {~.conditions->all: {(length($all)): 2}}", ""),
    // Escapes.
    (r"metadata: {annotations: {'\(odd)\': '1'}}", ""),
    (
        r"metadata: {annotations: {'\(odd)\': '2'}}",
        r#".metadata.annotations["(odd)"]: expected "2", found "1""#,
    ),
    (r"metadata: {name: '\(x)\'}", r#".metadata.name: expected "(x)", found "bar""#),
    // Not at load time.
    (
        "a: {(foo(@)): 1}",
        "t.yaml:1:5: expression (foo(@)): unknown function foo (near it are floor, abs, add)",
    ),
    ("a: (cel; 1 > 2)", "t.yaml:1:4: CEL expressions are not supported (write it in JMESPath)"),
    ("a: (rego; x)", "t.yaml:1:4: unknown expression engine `rego`"),
    ("a: '~.(x)'", "t.yaml:1:4: `~` iterates in keys, not in values"),
];

#[test]
fn trees_match_as_in_the_table() {
    assert!(TABLE.len() >= 60);
    let wrong: Vec<String> = TABLE
        .iter()
        .map(|(tree, expect)| (tree, expect, mismatches(tree)))
        .filter(|(_, expect, found)| *expect != found)
        .map(|(tree, expect, found)| format!("{tree}\n  expected: {expect}\n  found:    {found}"))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn an_object_matches_itself() {
    let text = object().to_string().replace("(odd)", r"\\(odd)\\").replace("~.a", "odd");
    let expected = r#".metadata.annotations.odd: expected "2", found nothing"#;
    assert_eq!(mismatches(&text), expected, "all but the key that we renamed");
}
