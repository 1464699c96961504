//! The documents of a real 1.36 server, embedded in the binary as they are.

/// The OpenAPI v3 document of a built-in group-version; `None` if there is none.
pub(crate) fn v3(group: &str, version: &str) -> Option<&'static str> {
    let path =
        if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
    v3_by_path(&path)
}

/// The OpenAPI v3 document at this path under `/openapi/v3/`.
pub(crate) fn v3_by_path(path: &str) -> Option<&'static str> {
    V3.iter().find(|(name, _)| *name == path).map(|(_, text)| *text)
}

/// The OpenAPI v2 document.
pub(crate) const V2: &str = include_str!("../../data/openapi-v2.json");

/// All v3 documents by path, sorted.
pub(crate) const V3: &[(&str, &str)] = &[
    ("api", include_str!("../../data/openapi-v3/api.json")),
    ("api/v1", include_str!("../../data/openapi-v3/api__v1.json")),
    ("apis", include_str!("../../data/openapi-v3/apis.json")),
    (
        "apis/admissionregistration.k8s.io",
        include_str!("../../data/openapi-v3/apis__admissionregistration.k8s.io.json"),
    ),
    (
        "apis/admissionregistration.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__admissionregistration.k8s.io__v1.json"),
    ),
    (
        "apis/apiextensions.k8s.io",
        include_str!("../../data/openapi-v3/apis__apiextensions.k8s.io.json"),
    ),
    (
        "apis/apiextensions.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__apiextensions.k8s.io__v1.json"),
    ),
    (
        "apis/apiregistration.k8s.io",
        include_str!("../../data/openapi-v3/apis__apiregistration.k8s.io.json"),
    ),
    (
        "apis/apiregistration.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__apiregistration.k8s.io__v1.json"),
    ),
    ("apis/apps", include_str!("../../data/openapi-v3/apis__apps.json")),
    ("apis/apps/v1", include_str!("../../data/openapi-v3/apis__apps__v1.json")),
    (
        "apis/authentication.k8s.io",
        include_str!("../../data/openapi-v3/apis__authentication.k8s.io.json"),
    ),
    (
        "apis/authentication.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__authentication.k8s.io__v1.json"),
    ),
    (
        "apis/authorization.k8s.io",
        include_str!("../../data/openapi-v3/apis__authorization.k8s.io.json"),
    ),
    (
        "apis/authorization.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__authorization.k8s.io__v1.json"),
    ),
    ("apis/autoscaling", include_str!("../../data/openapi-v3/apis__autoscaling.json")),
    ("apis/autoscaling/v1", include_str!("../../data/openapi-v3/apis__autoscaling__v1.json")),
    ("apis/autoscaling/v2", include_str!("../../data/openapi-v3/apis__autoscaling__v2.json")),
    ("apis/batch", include_str!("../../data/openapi-v3/apis__batch.json")),
    ("apis/batch/v1", include_str!("../../data/openapi-v3/apis__batch__v1.json")),
    (
        "apis/certificates.k8s.io",
        include_str!("../../data/openapi-v3/apis__certificates.k8s.io.json"),
    ),
    (
        "apis/certificates.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__certificates.k8s.io__v1.json"),
    ),
    (
        "apis/coordination.k8s.io",
        include_str!("../../data/openapi-v3/apis__coordination.k8s.io.json"),
    ),
    (
        "apis/coordination.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__coordination.k8s.io__v1.json"),
    ),
    ("apis/discovery.k8s.io", include_str!("../../data/openapi-v3/apis__discovery.k8s.io.json")),
    (
        "apis/discovery.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__discovery.k8s.io__v1.json"),
    ),
    ("apis/events.k8s.io", include_str!("../../data/openapi-v3/apis__events.k8s.io.json")),
    ("apis/events.k8s.io/v1", include_str!("../../data/openapi-v3/apis__events.k8s.io__v1.json")),
    (
        "apis/flowcontrol.apiserver.k8s.io",
        include_str!("../../data/openapi-v3/apis__flowcontrol.apiserver.k8s.io.json"),
    ),
    (
        "apis/flowcontrol.apiserver.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__flowcontrol.apiserver.k8s.io__v1.json"),
    ),
    ("apis/networking.k8s.io", include_str!("../../data/openapi-v3/apis__networking.k8s.io.json")),
    (
        "apis/networking.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__networking.k8s.io__v1.json"),
    ),
    ("apis/node.k8s.io", include_str!("../../data/openapi-v3/apis__node.k8s.io.json")),
    ("apis/node.k8s.io/v1", include_str!("../../data/openapi-v3/apis__node.k8s.io__v1.json")),
    ("apis/policy", include_str!("../../data/openapi-v3/apis__policy.json")),
    ("apis/policy/v1", include_str!("../../data/openapi-v3/apis__policy__v1.json")),
    (
        "apis/rbac.authorization.k8s.io",
        include_str!("../../data/openapi-v3/apis__rbac.authorization.k8s.io.json"),
    ),
    (
        "apis/rbac.authorization.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__rbac.authorization.k8s.io__v1.json"),
    ),
    ("apis/resource.k8s.io", include_str!("../../data/openapi-v3/apis__resource.k8s.io.json")),
    (
        "apis/resource.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__resource.k8s.io__v1.json"),
    ),
    ("apis/scheduling.k8s.io", include_str!("../../data/openapi-v3/apis__scheduling.k8s.io.json")),
    (
        "apis/scheduling.k8s.io/v1",
        include_str!("../../data/openapi-v3/apis__scheduling.k8s.io__v1.json"),
    ),
    ("apis/storage.k8s.io", include_str!("../../data/openapi-v3/apis__storage.k8s.io.json")),
    ("apis/storage.k8s.io/v1", include_str!("../../data/openapi-v3/apis__storage.k8s.io__v1.json")),
    ("openid/v1/jwks", include_str!("../../data/openapi-v3/openid__v1__jwks.json")),
    ("version", include_str!("../../data/openapi-v3/version.json")),
];
