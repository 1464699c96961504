//! Whether a webhook, or a policy, is about a request (`plugin/webhook/predicates`, `generic.ShouldCallHook`).

use serde_json::Value;

use super::review::Attributes;
use crate::{
    facts,
    status::Refusal,
    verbs::{selector::Labels, selector_text},
    world::{World, kinds::Kind, namespaces},
};

/// Group, version and plural name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Resource {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) resource: String,
}

impl Resource {
    pub(crate) fn is_namespaces(&self) -> bool {
        self.group.is_empty() && self.version == "v1" && self.resource == "namespaces"
    }
}

/// Types that no webhook and no policy is ever asked about (`IsExemptAdmissionConfigurationResource`).
pub(crate) fn is_exempt(group: &str, kind: &str) -> bool {
    group == super::hook::GROUP
        && matches!(
            kind,
            "ValidatingWebhookConfiguration"
                | "MutatingWebhookConfiguration"
                | "ValidatingAdmissionPolicy"
                | "ValidatingAdmissionPolicyBinding"
                | "MutatingAdmissionPolicy"
                | "MutatingAdmissionPolicyBinding"
        )
}

/// The form of the type in which rules ask for it: its own, or with `matchPolicy: Equivalent` another served
/// version of it. None where they don't ask for it.
pub(crate) fn form(
    world: &World,
    rules: &Value,
    equivalent: bool,
    about: &Attributes<'_>,
    kind: &Kind,
) -> Option<Resource> {
    let rules = || rules.as_array().into_iter().flatten();
    if rules().any(|rule| matches(rule, about, &about.resource)) {
        return Some(about.resource.clone());
    }
    if !equivalent {
        return None;
    }
    let others = equivalents(world, kind);
    rules().find_map(|rule| {
        let mut others = others.iter().filter(|other| **other != about.resource);
        others.find(|other| matches(rule, about, other)).cloned()
    })
}

/// All served forms of a type.
fn equivalents(world: &World, kind: &Kind) -> Vec<Resource> {
    let form = |group: &str, version: &str, resource: &str| Resource {
        group: group.to_owned(),
        version: version.to_owned(),
        resource: resource.to_owned(),
    };
    if let Some(custom) = world.customs.get(&kind.storage) {
        let rows = custom.versions.iter().map(|version| &version.row);
        return rows.map(|row| form(&row.group, &row.version, &row.resource)).collect();
    }
    let rows = facts::resources(world.release);
    rows.filter(|row| facts::storage(&row.group, &row.resource) == kind.storage)
        .map(|row| form(&row.group, &row.version, &row.resource))
        .collect()
}

fn matches(rule: &Value, about: &Attributes<'_>, resource: &Resource) -> bool {
    let has = |field: &str, wanted: &str| {
        let mut items = rule[field].as_array().into_iter().flatten();
        items.any(|item| item == "*" || item == wanted)
    };
    let everywhere = resource.is_namespaces() || about.namespace.is_empty();
    let scope = match rule["scope"].as_str() {
        Some("Namespaced") => !everywhere,
        Some("Cluster") => everywhere,
        _ => true,
    };
    let named = || {
        let mut items = rule["resources"].as_array().into_iter().flatten();
        items.any(|item| {
            let item = item.as_str().unwrap_or("");
            let (plural, subresource) = item.split_once('/').unwrap_or((item, ""));
            (plural == "*" || plural == resource.resource)
                && (subresource == "*" || subresource == about.subresource)
        })
    };
    // Rules of policies may name objects; those of webhooks have no such field.
    let names = rule["resourceNames"].as_array().filter(|names| !names.is_empty());
    names.is_none_or(|names| names.iter().any(|name| *name == *about.name))
        && scope
        && has("operations", about.operation)
        && has("apiGroups", &resource.group)
        && has("apiVersions", &resource.version)
        && named()
}

/// A selector that selects something in particular.
fn selective(selector: &Value) -> Option<Labels> {
    let text = if selector.is_object() { selector_text(selector) } else { String::new() };
    Labels::parse(&text).ok().filter(|labels| !labels.is_empty())
}

/// Whether the request's namespace is selected. Errors: 404 if there is none.
fn in_selected_namespace(
    world: &World,
    selector: &Value,
    about: &Attributes<'_>,
    object: Option<&Value>,
) -> Result<bool, Refusal> {
    if about.namespace.is_empty() && about.resource.resource != "namespaces" {
        return Ok(true);
    }
    let Some(labels) = selective(selector) else { return Ok(true) };
    if about.resource.resource == "namespaces"
        && about.subresource.is_empty()
        && about.operation != "DELETE"
        && let Some(object) = object
    {
        return Ok(labels.matches(object));
    }
    match namespace(world, &about.namespace) {
        Some(namespace) => Ok(labels.matches(namespace)),
        None => Err(Refusal::not_found(&namespaces(), &about.namespace)),
    }
}

/// The object of a namespace.
pub(crate) fn namespace<'a>(world: &'a World, name: &str) -> Option<&'a Value> {
    world.store.get(&trace::ObjectKey::new(namespaces(), "", name)).map(|found| &**found)
}

/// Whether the namespace and the object of a request are selected by `namespaceSelector` and `objectSelector`. None:
/// they are not. Errors, which count only where all else matches: 404 if there is no such namespace.
pub(crate) fn is_selected(
    world: &World,
    selectors: &Value,
    about: &Attributes<'_>,
    object: Option<&Value>,
) -> Option<Result<(), Refusal>> {
    let inside = in_selected_namespace(world, &selectors["namespaceSelector"], about, object);
    let selected = is_selected_object(&selectors["objectSelector"], object, about.old);
    match inside {
        Ok(false) => None,
        _ if !selected => None,
        inside => Some(inside.map(drop)),
    }
}

/// Whether the object is selected, as it is or as it was.
fn is_selected_object(selector: &Value, object: Option<&Value>, old: Option<&Value>) -> bool {
    let Some(labels) = selective(selector) else { return true };
    [object, old].into_iter().flatten().any(|object| labels.matches(object))
}
