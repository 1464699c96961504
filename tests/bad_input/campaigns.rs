//! Campaign files: a sound one, and what can be wrong with it.

use crate::Case;

/// One that ends with 0.
pub const SOUND: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Campaign
metadata: {name: sound}
spec:
  subject:
    transport: http
    command: [bash, idle.sh]
  manifests: [examples/bar-foo/crds/]
  workload: {file: workload.yaml}
";

/// The user's side of it.
pub const WORKLOAD: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Test
metadata: {name: one-object}
spec:
  steps:
    - name: one
      try:
        - apply:
            resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
        - settle: {}
";

/// A ConfigMap, and a CRD whose name is not that of its type.
pub const WRONG_CRD: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: {name: first, namespace: default}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: foos.example.com}
spec:
  group: example.com
  names: {kind: Foo, plural: fools, singular: foo}
  scope: Namespaced
  versions:
    - name: v1
      served: true
      storage: true
      schema: {openAPIV3Schema: {type: object}}
";

/// As `config/rbac` of kubebuilder has it: the namespace is made elsewhere.
pub const ACCOUNT: &str =
    "apiVersion: v1\nkind: ServiceAccount\nmetadata: {name: manager, namespace: system}\n";

/// Waits for what no controller here does.
pub const ASSERTING: &str = "\
apiVersion: trommel.dev/v1alpha1
kind: Test
metadata: {name: one-object}
spec:
  steps:
    - name: answer
      try:
        - apply:
            resource: {apiVersion: v1, kind: ConfigMap, metadata: {name: a, namespace: default}}
        - assert:
            resource:
              apiVersion: v1
              kind: ConfigMap
              metadata: {name: a, namespace: default}
              data: {answer: yes}
";

/// All of these are seen before the first run.
pub const CASES: &[Case] = &[
    Case {
        name: "name-leads-out",
        from: "{name: sound}",
        to: "{name: ../../x}",
        exit: 64,
        says: &[
            "name-leads-out.yaml",
            "metadata.name",
            "\"../../x\" can't be the name of a folder",
        ],
    },
    Case {
        name: "no-replicas",
        from: "    transport: http",
        to: "    transport: http\n    replicas: 0",
        exit: 64,
        says: &["no-replicas.yaml", "spec.subject.replicas: 0", "from 1 to 9"],
    },
    Case {
        name: "unknown-environment",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: envtest}}\n  workload:",
        exit: 64,
        says: &[
            "unknown-environment.yaml:9:37",
            "unknown value \"envtest\"",
            "none, minimal, full",
        ],
    },
    Case {
        name: "answers-of-nobody",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: minimal, answers: [{logs: a}]}}\n  workload:",
        exit: 64,
        says: &["spec.cluster.embedded.answers", "environment: full or kcm only"],
    },
    Case {
        name: "no-answer",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: full, answers: [{pod: a}]}}\n  workload:",
        exit: 64,
        says: &["no-answer.yaml:9:", "spec.cluster.embedded.answers", "it answers nothing"],
    },
    Case {
        name: "no-manager",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: kcm, controllerManager: [bin/kcm]}}\n  workload:",
        exit: 64,
        says: &[
            "spec.cluster.embedded.controllerManager",
            "there is no program bin/kcm",
            "dl.k8s.io",
        ],
    },
    Case {
        name: "manager-of-nobody",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: full, controllerManager: [bin/kcm]}}\n  workload:",
        exit: 64,
        says: &["spec.cluster.embedded.controllerManager", "environment: kcm"],
    },
    Case {
        name: "nodes-of-nobody",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: minimal, nodes: 3}}\n  workload:",
        exit: 64,
        says: &["spec.cluster.embedded.nodes", "environment: full"],
    },
    Case {
        name: "held-by-another-name",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: minimal, controllers: {deploy: held}}}\n  workload:",
        exit: 64,
        says: &["spec.cluster.embedded.controllers", "\"deploy\"", "garbage-collector, namespace"],
    },
    Case {
        name: "unknown-pace",
        from: "  workload:",
        to: "  cluster: {embedded: {environment: full, controllers: {deployment: {slow: 3}}}}\n  workload:",
        exit: 64,
        says: &["unknown-pace.yaml", "is not a duration"],
    },
    Case {
        name: "order-of-nobody",
        from: "  workload:",
        to: "  cluster: {embedded: {order: [namespace]}}\n  workload:",
        exit: 64,
        says: &["spec.cluster.embedded.order", "none runs in this environment"],
    },
    Case {
        name: "unknown-key",
        from: "    transport: http",
        to: "    transprot: http",
        exit: 64,
        says: &[
            "unknown-key.yaml:6:5",
            "unknown field \"transprot\"",
            "did you mean \"transport\"?",
        ],
    },
    Case {
        name: "unknown-value",
        from: "transport: http",
        to: "transport: gopher",
        exit: 64,
        says: &["unknown-value.yaml:6:16", "gopher", "tls"],
    },
    Case {
        name: "api-version",
        from: "trommel.dev/v1alpha1",
        to: "trommel.dev/v9",
        exit: 64,
        says: &["api-version.yaml", "trommel.dev/v9", "apiVersion: trommel.dev/v1alpha1"],
    },
    Case {
        name: "kind",
        from: "kind: Campaign",
        to: "kind: Campain",
        exit: 64,
        says: &["kind.yaml", "Campain", "kind: Campaign"],
    },
    Case {
        name: "no-yaml",
        from: "metadata: {name: sound}",
        to: "metadata: {name: [",
        exit: 64,
        says: &["no-yaml.yaml:"],
    },
    Case {
        name: "no-subject",
        from: "    command: [bash, idle.sh]\n",
        to: "",
        exit: 64,
        says: &["no-subject.yaml:", "spec.subject.command is empty"],
    },
    Case {
        name: "empty-command",
        from: "[bash, idle.sh]",
        to: "[]",
        exit: 64,
        says: &["empty-command.yaml", "spec.subject.command is empty"],
    },
    Case {
        name: "no-workload",
        from: "  workload: {file: workload.yaml}\n",
        to: "",
        exit: 64,
        says: &["no-workload.yaml:", "missing field `workload`"],
    },
    Case {
        name: "missing-workload",
        from: "{file: workload.yaml}",
        to: "{file: gone.yaml}",
        exit: 64,
        says: &["spec.workload.file", "gone.yaml"],
    },
    Case {
        name: "misspelt-workload",
        from: "{file: workload.yaml}",
        to: "{file: misspelt.yaml}",
        exit: 64,
        says: &["misspelt.yaml:10:11", "unknown field \"setle\"; did you mean \"settle\"?"],
    },
    Case {
        name: "missing-manifests",
        from: "examples/bar-foo/crds/",
        to: "examples/gone/",
        exit: 64,
        says: &["spec.manifests", "examples/gone"],
    },
    Case {
        name: "missing-namespace",
        from: "examples/bar-foo/crds/",
        to: "account.yaml",
        exit: 64,
        says: &[
            "account.yaml:1:1",
            "namespaces \"system\" not found",
            "add one of kind Namespace with the name system",
            "config/default",
        ],
    },
    Case {
        name: "wrong-crd",
        from: "examples/bar-foo/crds/",
        to: "crd.yaml",
        exit: 64,
        says: &[
            "crd.yaml:5:1",
            "the cluster refused a manifest",
            "foos.example.com",
            "spec.names.plural",
        ],
    },
    Case {
        name: "missing-program",
        from: "[bash, idle.sh]",
        to: "[./controller]",
        exit: 64,
        says: &["missing-program.yaml", "spec.subject.command", "./controller", "build"],
    },
    Case {
        name: "missing-in-path",
        from: "[bash, idle.sh]",
        to: "[no-such-controller]",
        exit: 64,
        says: &["missing-in-path.yaml", "spec.subject.command", "no-such-controller"],
    },
    Case {
        name: "no-program",
        from: "[bash, idle.sh]",
        to: "[./workload.yaml]",
        exit: 64,
        says: &["no-program.yaml", "workload.yaml", "no execute permission"],
    },
    Case {
        name: "failing-build",
        from: "    transport: http",
        to: "    build: 'echo no compiler >&2; exit 1'",
        exit: 64,
        says: &["no compiler", "build failed", "exit 1"],
    },
    Case {
        name: "accept",
        from: "  manifests",
        to: "  accept: ['configmaps/default/a [']\n  manifests",
        exit: 64,
        says: &["accept.yaml", "spec.accept"],
    },
];
