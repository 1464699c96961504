//! What kustomize knows of the built-in types: where they name each other, carry labels, and run images
//! (`builtinpluginconsts` of its API, 5.5). Where it has gaps, so have we: what comes out is the same.

use super::spec::{FieldSpec, Type};

/// A field, and the types that have it; `POD` is where the type has the spec of a pod.
type Row = (&'static str, &'static str);

/// Types with pods that name ConfigMaps and Secrets.
const MOUNTING: &str =
    "*/v1/Pod PodTemplate Deployment ReplicaSet DaemonSet StatefulSet Job CronJob";

/// Types with pods that name the rest.
const RUNNING: &str = "Pod StatefulSet Deployment ReplicationController CronJob Job DaemonSet";

const SCALED: &[Row] = &[("spec/scaleTargetRef/name", "HorizontalPodAutoscaler")];

/// Which type is named, and where. Its entry of IngressClasses is left out: with `networking.k8s.io/v1` as the group it
/// selects nothing.
const REFERENCES: &[(&str, &[Row])] = &[
    ("Deployment", SCALED),
    ("ReplicationController", SCALED),
    ("ReplicaSet", SCALED),
    ("StatefulSet", SCALED),
    (
        "*/v1/ConfigMap",
        &[
            ("POD/volumes/configMap/name", MOUNTING),
            ("POD/volumes/projected/sources/configMap/name", MOUNTING),
            ("POD/containers/env/valueFrom/configMapKeyRef/name", MOUNTING),
            ("POD/initContainers/env/valueFrom/configMapKeyRef/name", MOUNTING),
            ("POD/containers/envFrom/configMapRef/name", MOUNTING),
            ("POD/initContainers/envFrom/configMapRef/name", MOUNTING),
            ("spec/configSource/configMap", "Node"),
            ("rules/resourceNames", "Role ClusterRole"),
            (
                "metadata/annotations/nginx.ingress.kubernetes.io\\/fastcgi-params-configmap",
                "Ingress",
            ),
        ],
    ),
    (
        "*/v1/Secret",
        &[
            ("POD/volumes/secret/secretName", MOUNTING),
            ("POD/volumes/projected/sources/secret/name", MOUNTING),
            ("POD/containers/env/valueFrom/secretKeyRef/name", MOUNTING),
            ("POD/initContainers/env/valueFrom/secretKeyRef/name", MOUNTING),
            ("POD/containers/envFrom/secretRef/name", MOUNTING),
            ("POD/initContainers/envFrom/secretRef/name", MOUNTING),
            ("POD/imagePullSecrets/name", MOUNTING),
            ("spec/tls/secretName", "Ingress"),
            ("metadata/annotations/ingress.kubernetes.io\\/auth-secret", "Ingress"),
            ("metadata/annotations/nginx.ingress.kubernetes.io\\/auth-secret", "Ingress"),
            ("metadata/annotations/nginx.ingress.kubernetes.io\\/auth-tls-secret", "Ingress"),
            ("imagePullSecrets/name", "ServiceAccount"),
            ("parameters/secretName", "StorageClass"),
            ("parameters/adminSecretName", "StorageClass"),
            ("parameters/userSecretName", "StorageClass"),
            ("parameters/secretRef", "StorageClass"),
            ("rules/resourceNames", "Role ClusterRole"),
            (
                "spec/template/spec/containers/env/valueFrom/secretKeyRef/name",
                "serving.knative.dev/v1/Service",
            ),
            ("spec/azureFile/secretName", "PersistentVolume"),
        ],
    ),
    (
        "*/v1/Service",
        &[
            ("spec/serviceName", "apps/StatefulSet"),
            ("spec/rules/http/paths/backend/serviceName", "Ingress"),
            ("spec/backend/serviceName", "Ingress"),
            ("spec/rules/http/paths/backend/service/name", "Ingress"),
            ("spec/defaultBackend/service/name", "Ingress"),
            ("spec/service/name", "apiregistration.k8s.io/APIService"),
            (
                "webhooks/clientConfig/service",
                "admissionregistration.k8s.io/ValidatingWebhookConfiguration \
                 admissionregistration.k8s.io/MutatingWebhookConfiguration",
            ),
        ],
    ),
    (
        "rbac.authorization.k8s.io/Role",
        &[("roleRef/name", "rbac.authorization.k8s.io/RoleBinding")],
    ),
    (
        "rbac.authorization.k8s.io/ClusterRole",
        &[(
            "roleRef/name",
            "rbac.authorization.k8s.io/RoleBinding rbac.authorization.k8s.io/ClusterRoleBinding",
        )],
    ),
    (
        "*/v1/ServiceAccount",
        &[
            (
                "subjects",
                "rbac.authorization.k8s.io/RoleBinding rbac.authorization.k8s.io/ClusterRoleBinding",
            ),
            ("POD/serviceAccountName", RUNNING),
        ],
    ),
    ("*/v1/PersistentVolumeClaim", &[("POD/volumes/persistentVolumeClaim/claimName", RUNNING)]),
    (
        "*/v1/PersistentVolume",
        &[("spec/volumeName", "PersistentVolumeClaim"), ("rules/resourceNames", "ClusterRole")],
    ),
    (
        "storage.k8s.io/v1/StorageClass",
        &[
            ("spec/storageClassName", "PersistentVolume PersistentVolumeClaim"),
            ("spec/volumeClaimTemplates/spec/storageClassName", "StatefulSet"),
        ],
    ),
    ("scheduling.k8s.io/v1/PriorityClass", &[("POD/priorityClassName", RUNNING)]),
    (
        "admissionregistration.k8s.io/ValidatingAdmissionPolicy",
        &[("spec/policyName", "admissionregistration.k8s.io/ValidatingAdmissionPolicyBinding")],
    ),
];

/// Where the namespace is set beside `metadata.namespace`. A `+` before a field: it is created.
const NAMESPACES: &[Row] = &[
    ("+metadata/name", "Namespace"),
    ("+spec/service/namespace", "apiregistration.k8s.io/APIService"),
    (
        "spec/conversion/webhook/clientConfig/service/namespace",
        "apiextensions.k8s.io/CustomResourceDefinition",
    ),
];

/// Metadata of templates, but for those of StatefulSets.
const TEMPLATES: &[Row] = &[
    ("+spec/template/metadata", "*/v1/ReplicationController Deployment ReplicaSet DaemonSet"),
    ("+spec/template/metadata", "batch/Job"),
    ("+spec/jobTemplate/metadata", "batch/CronJob"),
    ("+spec/jobTemplate/spec/template/metadata", "batch/CronJob"),
];

/// Selectors of pods within a pod's spec, of Deployments and StatefulSets.
const NEAR: [&str; 5] = [
    "affinity/podAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector",
    "affinity/podAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector",
    "affinity/podAntiAffinity/preferredDuringSchedulingIgnoredDuringExecution/podAffinityTerm/labelSelector",
    "affinity/podAntiAffinity/requiredDuringSchedulingIgnoredDuringExecution/labelSelector",
    "topologySpreadConstraints/labelSelector",
];

/// All other selectors.
const SELECTORS: &[Row] = &[
    ("+spec/selector", "*/v1/Service */v1/ReplicationController"),
    ("+spec/selector/matchLabels", "Deployment ReplicaSet DaemonSet apps/StatefulSet"),
    ("spec/selector/matchLabels", "batch/Job policy/PodDisruptionBudget"),
    ("spec/jobTemplate/spec/selector/matchLabels", "batch/CronJob"),
    ("spec/podSelector/matchLabels", "networking.k8s.io/NetworkPolicy"),
    ("spec/ingress/from/podSelector/matchLabels", "networking.k8s.io/NetworkPolicy"),
    ("spec/egress/to/podSelector/matchLabels", "networking.k8s.io/NetworkPolicy"),
];

const REPLICAS: &[Row] =
    &[("+spec/replicas", "Deployment ReplicationController ReplicaSet StatefulSet")];

/// Types that no namespace holds, as far as kustomize knows: in its eyes custom types and newer ones are namespaced.
const CLUSTER_SCOPED: &str = "\
    admissionregistration.k8s.io/v1/MutatingWebhookConfiguration admissionregistration.k8s.io/v1/ValidatingWebhookConfiguration \
    admissionregistration.k8s.io/v1beta1/MutatingWebhookConfiguration \
    admissionregistration.k8s.io/v1beta1/ValidatingWebhookConfiguration \
    apiextensions.k8s.io/v1/CustomResourceDefinition apiextensions.k8s.io/v1beta1/CustomResourceDefinition \
    apiregistration.k8s.io/v1/APIService apiregistration.k8s.io/v1beta1/APIService \
    certificates.k8s.io/v1/CertificateSigningRequest certificates.k8s.io/v1beta1/CertificateSigningRequest \
    flowcontrol.apiserver.k8s.io/v1beta1/FlowSchema flowcontrol.apiserver.k8s.io/v1beta1/PriorityLevelConfiguration \
    networking.k8s.io/v1/IngressClass networking.k8s.io/v1beta1/IngressClass node.k8s.io/v1/RuntimeClass \
    node.k8s.io/v1beta1/RuntimeClass policy/v1beta1/PodSecurityPolicy rbac.authorization.k8s.io/v1/ClusterRole \
    rbac.authorization.k8s.io/v1/ClusterRoleBinding rbac.authorization.k8s.io/v1beta1/ClusterRole \
    rbac.authorization.k8s.io/v1beta1/ClusterRoleBinding scheduling.k8s.io/v1/PriorityClass \
    scheduling.k8s.io/v1beta1/PriorityClass storage.k8s.io/v1/CSIDriver storage.k8s.io/v1/CSINode \
    storage.k8s.io/v1/StorageClass storage.k8s.io/v1/VolumeAttachment storage.k8s.io/v1beta1/CSIDriver \
    storage.k8s.io/v1beta1/CSINode storage.k8s.io/v1beta1/StorageClass storage.k8s.io/v1beta1/VolumeAttachment \
    /v1/ComponentStatus /v1/Namespace /v1/Node /v1/NodeProxyOptions /v1/PersistentVolume";

/// Whether no namespace holds objects of a type.
pub(super) fn is_cluster_scoped(of: &Type) -> bool {
    let name = format!("{}/{}/{}", of.group, of.version, of.kind);
    CLUSTER_SCOPED.split_whitespace().any(|one| one == name)
}

/// Where names refer to objects of a type.
pub(super) fn references() -> impl Iterator<Item = (Type, Vec<FieldSpec>)> {
    REFERENCES.iter().map(|(named, rows)| (Type::read(named), specs(rows)))
}

pub(super) fn namespaces() -> Vec<FieldSpec> {
    specs(NAMESPACES)
}

/// The labels of objects, and of templates in them.
pub(super) fn template_labels() -> Vec<FieldSpec> {
    let mut all = vec![FieldSpec::new(Type::default(), "metadata/labels", true)];
    let mut templates = specs(TEMPLATES);
    for path in ["spec/template/metadata", "spec/volumeClaimTemplates[]/metadata"] {
        templates.push(FieldSpec::new(Type::read("apps/StatefulSet"), path, true));
    }
    all.extend(below(templates, "labels"));
    all
}

/// [`template_labels`], and selectors.
pub(super) fn common_labels() -> Vec<FieldSpec> {
    let mut all = template_labels();
    all.extend(specs(SELECTORS));
    for near in NEAR {
        for kind in ["apps/Deployment", "apps/StatefulSet"] {
            let path = format!("spec/template/spec/{near}/matchLabels");
            all.push(FieldSpec::new(Type::read(kind), &path, false));
        }
    }
    all
}

pub(super) fn common_annotations() -> Vec<FieldSpec> {
    let mut all = vec![FieldSpec::new(Type::default(), "metadata/annotations", true)];
    let mut templates = specs(TEMPLATES);
    templates.push(FieldSpec::new(Type::read("StatefulSet"), "spec/template/metadata", true));
    all.extend(below(templates, "annotations"));
    all
}

pub(super) fn replicas() -> Vec<FieldSpec> {
    specs(REPLICAS)
}

fn below(mut specs: Vec<FieldSpec>, field: &str) -> Vec<FieldSpec> {
    specs.iter_mut().for_each(|spec| spec.path.push(field.to_owned()));
    specs
}

fn specs(rows: &[Row]) -> Vec<FieldSpec> {
    let mut specs = Vec::new();
    for (path, kinds) in rows {
        for of in kinds.split_whitespace().map(Type::read) {
            let pod = match of.kind.as_str() {
                "Pod" => "spec",
                "PodTemplate" => "template/spec",
                "CronJob" => "spec/jobTemplate/spec/template/spec",
                _ => "spec/template/spec",
            };
            let path = path.replace("POD", pod);
            let created = path.strip_prefix('+');
            specs.push(FieldSpec::new(of, created.unwrap_or(&path), created.is_some()));
        }
    }
    specs
}
