//! NetworkPolicies (`pkg/apis/networking/validation`).

use serde_json::{Value, json};

use super::{
    address::{Range, cidr},
    check::{Check, list, text},
    selector::label_selector,
};

/// Which rules there are, and where their peers stand.
const DIRECTIONS: [(&str, &str); 2] = [("ingress", "from"), ("egress", "to")];

pub(super) fn policy(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    let spec = &new["spec"];
    let known = old.map(|old| ranges(&old["spec"])).unwrap_or_default();
    label_selector(check, &spec["podSelector"], "spec.podSelector");
    for (direction, peers) in DIRECTIONS {
        for (index, rule) in list(spec, direction).iter().enumerate() {
            let at = format!("spec.{direction}[{index}]");
            for (index, port) in list(rule, "ports").iter().enumerate() {
                policy_port(check, port, &format!("{at}.ports[{index}]"));
            }
            for (index, one) in list(rule, peers).iter().enumerate() {
                peer(check, one, &format!("{at}.{peers}[{index}]"), &known);
            }
        }
    }
    policy_types(check, &spec["policyTypes"]);
}

/// All ranges of addresses that a policy names: what it has it may keep.
fn ranges(spec: &Value) -> Vec<&str> {
    let rules = |(direction, peers): (&str, &'static str)| {
        list(spec, direction).iter().flat_map(move |rule| list(rule, peers))
    };
    let blocks = DIRECTIONS.into_iter().flat_map(rules).map(|peer| &peer["ipBlock"]);
    let named = |block| {
        let excepted = list(block, "except").iter().filter_map(Value::as_str);
        std::iter::once(text(block, "cidr")).chain(excepted)
    };
    blocks.flat_map(named).collect()
}

fn policy_port(check: &mut Check<'_>, port: &Value, at: &str) {
    let known = ["TCP", "UDP", "SCTP"];
    if let Some(protocol) = port["protocol"].as_str().filter(|own| !known.contains(own)) {
        check.one_of_in_order(&format!("{at}.protocol"), &json!(protocol), &known);
    }
    let (field, last) = (format!("{at}.endPort"), &port["endPort"]);
    match &port["port"] {
        Value::Null if !last.is_null() => {
            check.invalid(&field, last, "may not be specified when `port` is not specified");
        }
        Value::Null => {}
        Value::String(_) => {
            if !last.is_null() {
                check.invalid(&field, last, "may not be specified when `port` is non-numeric");
            }
            check.port_or_name(&format!("{at}.port"), &port["port"]);
        }
        first => {
            check.port(&format!("{at}.port"), first);
            if last.as_i64().is_some_and(|last| Some(last) < first.as_i64()) {
                check.invalid(&field, first, "must be greater than or equal to `port`");
            }
            check.port(&field, last);
        }
    }
}

fn peer(check: &mut Check<'_>, peer: &Value, at: &str, known: &[&str]) {
    let mut selectors = 0;
    for field in ["podSelector", "namespaceSelector"] {
        if !peer[field].is_null() {
            selectors += 1;
            label_selector(check, &peer[field], &format!("{at}.{field}"));
        }
    }
    let block = &peer["ipBlock"];
    match (selectors, block.is_null()) {
        (0, true) => check.required(at, "must specify a peer"),
        (_, true) => {}
        (_, false) => {
            ip_block(check, block, &format!("{at}.ipBlock"), known);
            if selectors > 0 {
                check.forbidden(at, "may not specify both ipBlock and another peer");
            }
        }
    }
}

fn ip_block(check: &mut Check<'_>, block: &Value, at: &str, known: &[&str]) {
    let (field, whole) = (format!("{at}.cidr"), text(block, "cidr"));
    if whole.is_empty() {
        return check.required(&field, "");
    }
    cidr(check, &field, whole, known);
    let Some(range) = Range::parse(whole) else { return };
    for (index, except) in list(block, "except").iter().enumerate() {
        let (field, part) = (format!("{at}.except[{index}]"), except.as_str().unwrap_or(""));
        cidr(check, &field, part, known);
        if Range::parse(part).is_some_and(|part| !part.is_strictly_inside(range)) {
            check.invalid(&field, except, "must be a strict subset of `cidr`");
        }
    }
}

fn policy_types(check: &mut Check<'_>, types: &Value) {
    const AT: &str = "spec.policyTypes";
    let known = ["Ingress", "Egress"];
    let given = types.as_array().map_or(&[][..], Vec::as_slice);
    if given.len() > known.len() {
        (0..given.len()).for_each(|index| check.supported(&format!("{AT}[{index}]")));
        return check.invalid(AT, types, "may not specify more than two policyTypes");
    }
    for (index, kind) in given.iter().enumerate() {
        if !known.contains(&kind.as_str().unwrap_or("")) {
            check.one_of_in_order(&format!("{AT}[{index}]"), kind, &known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: Option<&Value>, spec: Value) -> Vec<String> {
        let mut errors = Vec::new();
        policy(&mut Check::new(&mut errors), old, &json!({"spec": spec}));
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn ports_are_numbers_or_names() {
        let ports = |ports: Value| told(None, json!({"ingress": [{"ports": ports}]}));
        assert_eq!(
            ports(json!([{"port": 80, "endPort": 90}, {"port": "http"}, {}])),
            Vec::<String>::new()
        );
        let at = |index: usize| format!("spec.ingress[0].ports[{index}]");
        assert_eq!(
            ports(
                json!([{"port": 0}, {"port": 80, "endPort": 79}, {"port": "a", "endPort": 1}, {"endPort": 1}])
            ),
            [
                format!("{}.port: Invalid value: 0: must be between 1 and 65535, inclusive", at(0)),
                format!(
                    "{}.endPort: Invalid value: 80: must be greater than or equal to `port`",
                    at(1)
                ),
                format!(
                    "{}.endPort: Invalid value: 1: may not be specified when `port` is non-numeric",
                    at(2)
                ),
                format!(
                    "{}.endPort: Invalid value: 1: may not be specified when `port` is not specified",
                    at(3)
                ),
            ]
        );
    }

    #[test]
    fn peers_are_selected_or_ranges() {
        let peers = |peers: Value| told(None, json!({"egress": [{"to": peers}]}));
        let good = json!([{"podSelector": {}, "namespaceSelector": {}},
            {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]);
        assert_eq!(peers(good), Vec::<String>::new());
        let at = |index: usize| format!("spec.egress[0].to[{index}]");
        assert_eq!(
            peers(
                json!([{}, {"ipBlock": {}}, {"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}},
                {"podSelector": {}, "ipBlock": {"cidr": "::/0"}}])
            ),
            [
                format!("{}: Required value: must specify a peer", at(0)),
                format!("{}.ipBlock.cidr: Required value", at(1)),
                format!(
                    "{}.ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`",
                    at(2)
                ),
                format!("{}: Forbidden: may not specify both ipBlock and another peer", at(3)),
            ]
        );
    }

    #[test]
    fn ranges_that_were_there_stay() {
        let spec = json!({"ingress": [{"from": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}]});
        let old = json!({ "spec": spec });
        assert_eq!(told(Some(&old), spec.clone()), Vec::<String>::new());
        assert_eq!(told(None, spec).len(), 1);
    }
}
