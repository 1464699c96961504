//! Nodes (`ValidateNode`, `ValidateNodeUpdate`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    address::{Range, cidr},
    check::{Check, list, text},
    resources, tolerations,
};

/// Upstream says taints to be in a node's metadata, and what is wrong with an update twice.
pub(super) fn node(check: &mut Check<'_>, old: Option<&Value>, new: &Value) {
    let taints = list(&new["spec"], "taints");
    for index in 0..taints.len() {
        check.supported(&format!("spec.taints[{index}].effect"));
    }
    for _ in 0..if old.is_some() { 2 } else { 1 } {
        tolerations::taints(check, taints, "metadata.taints");
        for part in ["capacity", "allocatable"] {
            let amounts = new["status"][part].as_object().into_iter().flatten();
            for (name, amount) in amounts {
                resources::amount(check, &format!("status.{part}.{name}"), name, amount);
            }
        }
    }
    pod_ranges(check, &new["spec"]["podCIDRs"]);
}

fn pod_ranges(check: &mut Check<'_>, all: &Value) {
    const AT: &str = "spec.podCIDRs";
    let texts: Vec<&str> = all.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    for (index, text) in texts.iter().enumerate() {
        cidr(check, &format!("{AT}[{index}]"), text, &[]);
    }
    let families: Option<Vec<bool>> =
        texts.iter().map(|text| Range::parse(text).map(Range::is_ipv4)).collect();
    let both =
        families.is_some_and(|families| families.contains(&true) && families.contains(&false));
    let wrong = texts.iter().enumerate().find(|(_, text)| Range::parse(text).is_none());
    if let Some((index, text)) = wrong.filter(|_| texts.len() > 1) {
        let why = format!(
            "invalid PodCIDRs. failed to check with dual stack with error:invalid CIDR[{index}]: <nil> (invalid CIDR \
             address: {text})"
        );
        check.internal(AT, &why);
    }
    if texts.len() > 1 && (!both || texts.len() > 2) {
        check.invalid(AT, all, "may specify no more than one CIDR for each IP family");
    }
}

/// What a node got once it keeps.
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let mut addresses = BTreeSet::new();
    for (index, address) in list(&new["status"], "addresses").iter().enumerate() {
        let (kind, own) = (text(address, "type"), text(address, "address"));
        if !addresses.insert((kind, own)) {
            let shown = format!("{{\"Type\":{},\"Address\":{}}}", json!(kind), json!(own));
            check.duplicate_as(&format!("status.addresses[{index}]"), shown, "");
        }
    }
    let (before, after) = (list(&old["spec"], "podCIDRs"), list(&new["spec"], "podCIDRs"));
    let changed = match before.len() == after.len() {
        true => before.iter().zip(after).filter(|(before, after)| before != after).count(),
        false => usize::from(!before.is_empty()),
    };
    for _ in 0..changed {
        let detail = "node updates may not change podCIDR except from \"\" to valid";
        check.forbidden("spec.podCIDRs", detail);
    }
    let before = text(&old["spec"], "providerID");
    if !before.is_empty() && before != text(&new["spec"], "providerID") {
        let detail = "node updates may not change providerID except from \"\" to valid";
        check.forbidden("spec.providerID", detail);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(old: Option<&Value>, new: &Value) -> Vec<String> {
        let mut errors = Vec::new();
        let check = &mut Check::new(&mut errors);
        if let Some(old) = old {
            update(check, old, new);
        }
        node(check, old, new);
        errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
    }

    #[test]
    fn ranges_of_pods_are_one_of_each_family_and_stay() {
        let ranges = |all: Value| json!({"spec": {"podCIDRs": all}});
        let check = |all: Value, expect: &[&str]| {
            assert_eq!(told(None, &ranges(all.clone())), expect, "{all}");
        };
        let one = "spec.podCIDRs: may specify no more than one CIDR for each IP family";
        let none =
            "spec.podCIDRs[0]: must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)";
        check(json!(["10.1.0.0/24"]), &[]);
        check(json!(["10.1.0.0/24", "2001:db8::/64"]), &[]);
        check(json!(["10.1.0.0/24", "10.2.0.0/24"]), &[one]);
        check(json!(["x"]), &[none]);
        let stays = "spec.podCIDRs: node updates may not change podCIDR except from \"\" to valid";
        let (old, new) = (ranges(json!(["10.1.0.0/24"])), ranges(json!(["10.2.0.0/24"])));
        assert_eq!(told(Some(&old), &new), [stays]);
        assert_eq!(told(Some(&ranges(json!([]))), &new), Vec::<String>::new());
    }

    #[test]
    fn amounts_and_taints_of_an_update_are_told_twice() {
        let new =
            json!({"spec": {"taints": [{"key": "k"}]}, "status": {"capacity": {"cpu": "-1"}}});
        let once = [
            "metadata.taints[0].effect: ",
            "status.capacity.cpu: must be greater than or equal to 0",
        ];
        assert_eq!(told(None, &new), once);
        assert_eq!(told(Some(&new), &new), [once, once].concat());
    }
}
