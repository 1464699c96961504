//! What is said of an object that is stored nevertheless (`WarningsOnCreate`, `WarningsOnUpdate` of the strategies).

mod containers;
mod definitions;
mod pods;
mod scheduling;
mod volumes;
mod workloads;

use serde_json::Value;

use super::Work;

impl Work<'_> {
    /// Warns of a valid object of a built-in type that is about to be stored.
    pub(super) fn warn(&mut self, old: Option<&Value>, new: &Value) {
        // A Scale is stored by the strategy of what it scales.
        let is_asked = matches!(self.route.subresource.as_str(), "" | "scale");
        if self.kind.is_custom() || !is_asked {
            return;
        }
        let storage = &self.kind.storage;
        let warnings = match (&*storage.group, &*storage.resource) {
            ("", "services") => of_service(new),
            ("storage.k8s.io", "csidrivers") => {
                let before = old.map_or(&Value::Null, |old| &old["spec"]);
                of_tokens(before, &new["spec"]).into_iter().collect()
            }
            ("apiextensions.k8s.io", "customresourcedefinitions") => {
                definitions::of_definition(old, new)
            }
            ("" | "apps" | "batch", resource) => workloads::of_workload(resource, old, new),
            _ => Vec::new(),
        };
        self.warnings.extend(warnings);
    }
}

/// The items of a list; none where there is no list.
fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}

/// A text field; empty if absent.
fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or("")
}

/// A field that is a whole number; 0 if absent.
fn number(value: &Value, field: &str) -> i64 {
    value[field].as_i64().unwrap_or(0)
}

/// What a service had better not ask for (`pkg/api/service/warnings.go`); addresses in another form than usual are not
/// looked for.
fn of_service(service: &Value) -> Vec<String> {
    const HINTS: &str = "service.kubernetes.io/topology-aware-hints";
    let spec = &service["spec"];
    let external = spec["type"] == "ExternalName";
    let addresses = spec["externalIPs"].as_array().is_some_and(|all| !all.is_empty());
    let mut warnings = Vec::new();
    if service["metadata"]["annotations"].get(HINTS).is_some() {
        warnings.push(format!(
            "annotation {HINTS} is deprecated, please use service.kubernetes.io/topology-mode instead"
        ));
    }
    warnings.extend(of_headless(spec));
    if addresses && !external && spec["clusterIP"] != "None" {
        let text =
            "spec.externalIPs is deprecated and may no longer be implemented in some clusters";
        warnings.push(text.to_owned());
    }
    if addresses && external {
        warnings.push("spec.externalIPs is ignored when spec.type is \"ExternalName\"".to_owned());
    }
    if !external && spec["externalName"].as_str().is_some_and(|name| !name.is_empty()) {
        let text = "spec.externalName is ignored when spec.type is not \"ExternalName\"";
        warnings.push(text.to_owned());
    }
    if spec["trafficDistribution"] == "PreferClose" {
        let text =
            "spec.trafficDistribution: \"PreferClose\" is deprecated; use \"PreferSameZone\"";
        warnings.push(text.to_owned());
    }
    warnings
}

/// What a service without an address has no use for.
fn of_headless(spec: &Value) -> Vec<String> {
    if spec["clusterIP"] != "None" || spec["type"] == "ExternalName" {
        return vec![];
    }
    let ignored = [
        (
            "loadBalancerIP",
            spec["loadBalancerIP"].as_str().is_some_and(|address| !address.is_empty()),
        ),
        ("externalIPs", spec["externalIPs"].as_array().is_some_and(|all| !all.is_empty())),
        ("SessionAffinity", spec["sessionAffinity"] != "None"),
    ];
    let given = ignored.into_iter().filter(|(_, given)| *given);
    given.map(|(field, _)| format!("spec.{field} is ignored for headless services")).collect()
}

/// A driver that is given tokens should ask for them where they are not logged (KEP-5538).
fn of_tokens(before: &Value, after: &Value) -> Option<String> {
    const REQUESTS: &str = "tokenRequests";
    let asked = after[REQUESTS].as_array().is_some_and(|requests| !requests.is_empty());
    let changed = before[REQUESTS] != after[REQUESTS];
    (asked && changed && after["serviceAccountTokenInSecrets"].is_null()).then(|| {
        "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible \
         logging of tokens in volume attributes"
            .to_owned()
    })
}
