//! Controllers that give nothing to compare with: they fail, hang or differ before anything was disturbed.

use crate::Case;

/// Begins every script: a connection to the API, and `ask METHOD PATH BODY`.
pub const CONNECT: &str = r#"
connect() { exec 3<>"/dev/tcp/127.0.0.1/$KUBERNETES_SERVICE_PORT"; }
ask() {
  printf '%s %s HTTP/1.1\r\nHost: api\r\nContent-Type: application/json\r\nContent-Length: %s\r\n\r\n%s' \
    "$1" "$2" "${#3}" "$3" >&3
}
version() { connect; ask GET /version ''; read -r line <&3; }
"#;

/// Name and text of each.
pub const SCRIPTS: &[(&str, &str)] = &[
    ("idle.sh", "version; exec sleep infinity\n"),
    ("exits.sh", "echo 'unknown flag --leader' >&2; exit 3\n"),
    ("panics.sh", "version; echo 'panic: nil map' >&2; exit 2\n"),
    ("deaf.sh", "exec sleep infinity\n"),
    (
        "panics-once.sh",
        "version; mkdir \"$HOME/seen\" || exec sleep infinity; echo 'panic: nil map' >&2; exit 2\n",
    ),
    // Never waits for an answer: the loop is bound by what the API answers.
    ("hot.sh", "connect; cat <&3 >/dev/null & while ask GET /version ''; do :; done\n"),
    // Only the rehearsal waits so long.
    ("ends-late.sh", "version; sleep 480; echo 'gave up waiting' >&2; exit 1\n"),
    // The rehearsal makes the first folder; only one of the runs that are compared gets to make the second.
    (
        "differs.sh",
        "version; if ! mkdir rehearsed && mkdir only; then ask POST /api/v1/namespaces/default/configmaps \
         '{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"extra\"}}'; fi
         exec sleep infinity\n",
    ),
];

/// All of these show in the reference runs.
pub const CASES: &[Case] = &[
    Case {
        name: "exits",
        from: "idle.sh",
        to: "exits.sh",
        exit: 105,
        says: &["ended by itself (exit code 3)", "unknown flag --leader", "references/rehearsal"],
    },
    Case {
        name: "ends-late",
        from: "idle.sh",
        to: "ends-late.sh",
        exit: 105,
        says: &["the rehearsal, which waits for ten minutes", "(exit code 1)", "gave up waiting"],
    },
    Case {
        name: "panics",
        from: "idle.sh",
        to: "panics.sh",
        exit: 105,
        says: &["ended by itself (exit code 2)", "panic: nil map"],
    },
    Case {
        name: "panics-once",
        from: "idle.sh",
        to: "panics-once.sh",
        exit: 105,
        says: &["ended by itself (exit code 2)", "panic: nil map"],
    },
    Case {
        name: "deaf",
        from: "idle.sh",
        to: "deaf.sh",
        exit: 105,
        says: &["never connected to the API", "KUBECONFIG", "references/rehearsal"],
    },
    Case {
        name: "deaf-and-awaited",
        from: "[bash, idle.sh]\n  manifests: [examples/bar-foo/crds/]\n  workload: {file: workload.yaml}",
        to: "[bash, deaf.sh]\n  workload: {file: asserting.yaml}",
        exit: 105,
        says: &["the workload failed", "never connected to the API", "KUBECONFIG"],
    },
    Case {
        name: "hot",
        from: "idle.sh",
        to: "hot.sh",
        exit: 105,
        says: &["never became quiet", "requests without a quiet moment: a hot loop"],
    },
    Case {
        name: "assertion",
        from: "{file: workload.yaml}",
        to: "{file: asserting.yaml}",
        exit: 105,
        says: &[
            "the workload failed",
            "\"answer\"",
            "assert configmaps/default/a",
            ".data",
            "asserting.yaml:10:11",
            "the object as it was:\napiVersion: v1",
        ],
    },
    Case {
        name: "differs",
        from: "idle.sh",
        to: "differs.sh",
        exit: 105,
        says: &["the undisturbed runs disagree", "configmaps/default/extra", "spec.accept"],
    },
];
