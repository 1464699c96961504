//! Which objects a quota is about (`podMatchesScopeFunc`, `pvcMatchesScopeFunc`).

use serde_json::Value;
use trace::GroupResource;

use crate::{object::Text, quantity, read};

/// A scope of a quota; all of them must cover an object.
#[derive(Debug, Clone, PartialEq)]
pub struct Scope {
    name: Text,
    operator: Text,
    values: Vec<Text>,
}

/// What of an object scopes look at.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Traits {
    terminating: bool,
    best_effort: bool,
    crosses_namespaces: bool,
    priority_class: Text,
    /// Names of VolumeAttributesClasses.
    attributes: Vec<Text>,
    claim: bool,
}

impl Scope {
    /// The scopes of a stored quota.
    pub fn all(quota: &Value) -> Vec<Scope> {
        let spec = &quota["spec"];
        let plain = read::list(spec, "scopes").filter_map(Value::as_str).map(|name| Scope {
            name: name.into(),
            operator: "Exists".into(),
            values: vec![],
        });
        let selected = read::list(&spec["scopeSelector"], "matchExpressions").map(|one| Scope {
            name: read::text(one, "scopeName"),
            operator: read::text(one, "operator"),
            values: read::list(one, "values").filter_map(Value::as_str).map(Text::from).collect(),
        });
        plain.chain(selected).collect()
    }

    fn covers(&self, object: &Traits) -> bool {
        match &*self.name {
            "VolumeAttributesClass" => object.claim && self.names(&object.attributes),
            _ if object.claim => false,
            "Terminating" => object.terminating,
            "NotTerminating" => !object.terminating,
            "BestEffort" => object.best_effort,
            "NotBestEffort" => !object.best_effort,
            "PriorityClass" => {
                let class = &object.priority_class;
                self.names(if class.is_empty() { &[] } else { std::slice::from_ref(class) })
            }
            "CrossNamespacePodAffinity" => object.crosses_namespaces,
            _ => false,
        }
    }

    /// Whether one of these names, or that there is none, is what the scope asks for.
    fn names(&self, names: &[Text]) -> bool {
        let listed = |name: &Text| self.values.contains(name);
        match &*self.operator {
            "In" => names.iter().any(listed),
            "NotIn" => names.is_empty() || names.iter().any(|name| !listed(name)),
            "Exists" => !names.is_empty(),
            "DoesNotExist" => names.is_empty(),
            _ => false,
        }
    }
}

/// Whether a quota of these scopes is about an object. One without scopes is about everything, one with scopes about
/// nothing that has no traits.
pub fn covers(scopes: &[Scope], object: Option<&Traits>) -> bool {
    scopes.iter().all(|scope| object.is_some_and(|object| scope.covers(object)))
}

impl Traits {
    /// Those of an object of a type that scopes can be about.
    pub fn read(served: &GroupResource, object: &Value) -> Option<Traits> {
        match (&*served.group, &*served.resource) {
            ("", "pods") => Some(Traits::of_pod(object)),
            ("", "persistentvolumeclaims") => Some(Traits::of_claim(object)),
            _ => None,
        }
    }

    pub(crate) fn of_pod(pod: &Value) -> Traits {
        let spec = &pod["spec"];
        let class = pod["status"]["qosClass"].as_str().filter(|class| !class.is_empty());
        Traits {
            terminating: spec["activeDeadlineSeconds"].as_i64().is_some_and(|most| most >= 0),
            best_effort: class.unwrap_or_else(|| qos_class(pod)) == "BestEffort",
            crosses_namespaces: crosses_namespaces(&spec["affinity"]),
            priority_class: read::text(spec, "priorityClassName"),
            ..Traits::default()
        }
    }

    pub(crate) fn of_claim(claim: &Value) -> Traits {
        let (spec, status) = (&claim["spec"], &claim["status"]);
        let mut attributes = vec![
            read::text(spec, "volumeAttributesClassName"),
            read::text(status, "currentVolumeAttributesClassName"),
            read::text(&status["modifyVolumeStatus"], "targetVolumeAttributesClassName"),
        ];
        attributes.retain(|name| !name.is_empty());
        Traits { attributes, claim: true, ..Traits::default() }
    }
}

fn crosses_namespaces(affinity: &Value) -> bool {
    if affinity.is_null() {
        return false;
    }
    let terms = ["podAffinity", "podAntiAffinity"].into_iter().flat_map(|kind| {
        let affinity = &affinity[kind];
        let required = read::list(affinity, "requiredDuringSchedulingIgnoredDuringExecution");
        let preferred = read::list(affinity, "preferredDuringSchedulingIgnoredDuringExecution");
        required.chain(preferred.map(|term| &term["podAffinityTerm"]))
    });
    terms.into_iter().any(|term| {
        !term["namespaceSelector"].is_null() || read::list(term, "namespaces").next().is_some()
    })
}

/// `ComputePodQOS`: Guaranteed if every container limits cpu and memory and requests as much, BestEffort
/// if none requests or limits anything, Burstable otherwise.
pub fn qos_class(pod: &Value) -> &'static str {
    let lists = ["containers", "initContainers"];
    let containers: Vec<&Value> =
        lists.iter().flat_map(|list| read::list(&pod["spec"], list)).collect();
    let amount = |container: &Value, what: &str, resource: &str| {
        let value = container["resources"][what][resource].as_str()?;
        quantity::nanos_of(value).filter(|amount| *amount != 0)
    };
    let (mut any, mut guaranteed) = (false, !containers.is_empty());
    for container in containers {
        for resource in ["cpu", "memory"] {
            let (request, limit) =
                (amount(container, "requests", resource), amount(container, "limits", resource));
            any |= request.is_some() || limit.is_some();
            guaranteed &= limit.is_some() && (request.is_none() || request == limit);
        }
    }
    match (any, guaranteed) {
        (false, _) => "BestEffort",
        (true, true) => "Guaranteed",
        (true, false) => "Burstable",
    }
}
