//! By whom an endpoint is best used (`k8s.io/endpointslice/trafficdist`, Kubernetes 1.36): hints by the Service's
//! `trafficDistribution`. Where the older annotation `service.kubernetes.io/topology-mode: Auto` asks for shares of
//! zones ([`super::shares`]), that does not count, and where there are no shares to be had there are no hints.

use serde_json::{Value, json};

use super::Endpoint;
use crate::{
    object::{Labels, Text},
    read,
};

/// The annotation that asks for shares of zones, by its older name and its newer one.
const TOPOLOGY: [&str; 2] =
    ["service.kubernetes.io/topology-aware-hints", "service.kubernetes.io/topology-mode"];

/// An endpoint's `hints`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Hints {
    /// `forZones`: names.
    pub zones: Vec<Text>,
    /// `forNodes`: names.
    pub nodes: Vec<Text>,
}

/// Whether a Service asks for shares of zones (`hintsEnabled`).
pub(super) fn by_shares(annotations: &Labels) -> bool {
    let mode = TOPOLOGY.iter().find_map(|name| annotations.get(*name));
    mode.is_some_and(|mode| matches!(&**mode, "Auto" | "auto"))
}

impl Hints {
    /// Of an endpoint that is meant for one zone.
    pub(super) fn of_zone(zone: Text) -> Hints {
        Hints { zones: vec![zone], nodes: vec![] }
    }

    pub(super) fn read(endpoint: &Value) -> Option<Hints> {
        let hints = endpoint.get("hints").filter(|hints| hints.is_object())?;
        let names = |field: &str| -> Vec<Text> {
            read::list(hints, field).map(|one| read::text(one, "name")).collect()
        };
        Some(Hints { zones: names("forZones"), nodes: names("forNodes") })
    }

    pub(super) fn write(&self) -> Value {
        let mut hints = json!({});
        for (field, names) in [("forZones", &self.zones), ("forNodes", &self.nodes)] {
            if !names.is_empty() {
                hints[field] = names.iter().map(|name| json!({"name": name})).collect();
            }
        }
        hints
    }
}

/// Which hints the endpoints of a Service get.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Distribution {
    /// None.
    Anywhere,
    /// Their own zones.
    SameZone,
    /// Their own zones and nodes.
    SameNode,
}

impl Distribution {
    /// What a Service asks for (`validTrafficDistribution`).
    pub(super) fn of(asked: &str, annotations: &Labels) -> Distribution {
        if by_shares(annotations) {
            return Distribution::Anywhere;
        }
        match asked {
            "PreferClose" | "PreferSameZone" => Distribution::SameZone,
            "PreferSameNode" => Distribution::SameNode,
            _ => Distribution::Anywhere,
        }
    }

    /// What an endpoint that is ready is to have.
    fn wanted(self, endpoint: &Endpoint) -> Option<Hints> {
        let nodes = match self {
            Distribution::Anywhere => return None,
            Distribution::SameZone => None,
            Distribution::SameNode => endpoint.node.clone(),
        };
        let hints = Hints {
            zones: endpoint.zone.clone().into_iter().collect(),
            nodes: nodes.into_iter().collect(),
        };
        (hints != Hints::default()).then_some(hints)
    }

    fn is_wrong(self, endpoint: &Endpoint) -> bool {
        let [ready, ..] = endpoint.conditions;
        match self {
            Distribution::Anywhere => endpoint.hints.is_some(),
            // Empty hints are as good as none.
            _ => {
                let wanted = self.wanted(endpoint).unwrap_or_default();
                ready && endpoint.hints.clone().unwrap_or_default() != wanted
            }
        }
    }

    /// Whether a slice that needs no change otherwise does for its hints.
    pub(super) fn are_wrong(self, endpoints: &[Endpoint]) -> bool {
        endpoints.iter().any(|endpoint| self.is_wrong(endpoint))
    }

    /// Sets the hints of a slice that is going to be written. What is not ready keeps its own, unless there are to be none.
    pub(super) fn set(self, endpoints: &mut [Endpoint]) {
        for endpoint in endpoints {
            let [ready, ..] = endpoint.conditions;
            if ready || self == Distribution::Anywhere {
                endpoint.hints = self.wanted(endpoint);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{
        Distribution::{Anywhere, SameNode, SameZone},
        *,
    };

    #[test]
    fn a_service_asks_for_it() {
        let check = |asked: &str, annotation: Option<(&str, &str)>, expect: Distribution| {
            let annotations: Labels =
                annotation.into_iter().map(|(name, value)| (name.into(), value.into())).collect();
            assert_eq!(Distribution::of(asked, &annotations), expect, "{asked} {annotation:?}");
        };
        check("", None, Distribution::Anywhere);
        check("PreferClose", None, Distribution::SameZone);
        check("PreferSameZone", None, Distribution::SameZone);
        check("PreferSameNode", None, Distribution::SameNode);
        check("PreferSomething", None, Distribution::Anywhere);
        check("PreferClose", Some((TOPOLOGY[1], "Auto")), Distribution::Anywhere);
        check("PreferClose", Some((TOPOLOGY[0], "auto")), Distribution::Anywhere);
        check("PreferClose", Some((TOPOLOGY[1], "Disabled")), Distribution::SameZone);
    }

    /// Cases of `trafficdist_test.go`.
    #[test]
    fn what_is_ready_gets_hints() {
        let endpoint = |ready: bool, zone: Option<&str>, hint: Option<&str>| Endpoint {
            conditions: [ready, ready, false],
            node: Some("n".into()),
            zone: zone.map(Text::from),
            hints: hint.map(|zone| Hints { zones: vec![zone.into()], nodes: vec![] }),
            ..Endpoint::default()
        };
        let check = |of: Distribution, given: Endpoint, wrong: bool, expect: &str| {
            let mut endpoints = [given];
            assert_eq!(of.are_wrong(&endpoints), wrong, "{of:?} {endpoints:?}");
            of.set(&mut endpoints);
            let hints = endpoints[0].hints.as_ref().map_or(Value::Null, Hints::write);
            assert_eq!(hints, serde_json::from_str::<Value>(expect).expect("JSON"));
        };
        let zone = r#"{"forZones":[{"name":"a"}]}"#;
        let both = r#"{"forZones":[{"name":"a"}],"forNodes":[{"name":"n"}]}"#;
        check(SameZone, endpoint(true, Some("a"), None), true, zone);
        check(SameZone, endpoint(true, Some("a"), Some("a")), false, zone);
        check(SameZone, endpoint(true, Some("a"), Some("b")), true, zone);
        check(SameZone, endpoint(true, None, Some("b")), true, "null");
        check(SameZone, endpoint(true, None, None), false, "null");
        check(SameZone, endpoint(false, Some("a"), None), false, "null");
        check(SameZone, endpoint(false, Some("a"), Some("a")), false, zone);
        check(SameNode, endpoint(true, Some("a"), Some("a")), true, both);
        check(SameNode, endpoint(true, None, None), true, r#"{"forNodes":[{"name":"n"}]}"#);
        check(Anywhere, endpoint(true, Some("a"), Some("a")), true, "null");
        check(Anywhere, endpoint(false, Some("a"), Some("a")), true, "null");
        check(Anywhere, endpoint(true, Some("a"), None), false, "null");
    }
}
