//! The addresses of a Service and their families (`ValidateServiceClusterIPsRelatedFields`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::{
    address,
    check::{Check, list, text},
};
use crate::schema::FieldError;

const FAMILIES: [&str; 2] = ["IPv4", "IPv6"];
const POLICIES: [&str; 3] = ["PreferDualStack", "RequireDualStack", "SingleStack"];

/// The texts of a list.
pub(super) fn texts<'a>(spec: &'a Value, field: &str) -> Vec<&'a str> {
    list(spec, field).iter().filter_map(Value::as_str).collect()
}

/// `isHeadlessService`
pub(super) fn is_headless(spec: &Value) -> bool {
    texts(spec, "clusterIPs") == ["None"]
}

/// What the allocator of addresses asks before it gives any.
pub(in crate::validation) fn errors(old: Option<&Value>, spec: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    related(&mut Check::new(&mut errors), old, spec);
    errors
}

pub(super) fn related(check: &mut Check<'_>, old: Option<&Value>, spec: &Value) {
    const AT: &str = "spec.clusterIPs";
    if text(spec, "type") == "ExternalName" {
        return;
    }
    let (all, addresses) = (&spec["clusterIPs"], texts(spec, "clusterIPs"));
    match (text(spec, "clusterIP"), addresses.first()) {
        ("", Some(_)) => {
            check.invalid(AT, all, "must be empty when `clusterIP` is not specified");
        }
        ("", None) => {}
        (_, None) => check.required(AT, ""),
        (first, Some(listed)) if first != *listed => {
            check.invalid(AT, all, "first value must match `clusterIP`");
        }
        _ => {}
    }
    families(check, spec);
    let known = texts(old.map_or(&Value::Null, |old| &old["spec"]), "clusterIPs");
    let mut valid = true;
    for (index, ip) in addresses.iter().enumerate() {
        if index == 0 && *ip == "None" {
            if addresses.len() > 1 {
                valid = false;
                check.invalid(AT, all, "'None' must be the first and only value");
            }
        } else {
            valid &= address::ip(check, &format!("{AT}[{index}]"), ip, &known);
        }
    }
    if addresses.len() > 2 {
        check.invalid(AT, all, "may only hold up to 2 values");
    }
    if !valid {
        return;
    }
    let is_ipv4 = |ip: &&str| address::parsed(ip).map(|ip| ip.is_ipv4());
    let found: BTreeSet<Option<bool>> = addresses.iter().map(is_ipv4).collect();
    if addresses.len() > 1 && (addresses.len() != 2 || found.len() != 2) {
        check.invalid(AT, all, "may specify no more than one IP for each IP family");
    }
    if is_headless(spec) {
        return;
    }
    for (index, (ip, family)) in addresses.iter().zip(texts(spec, "ipFamilies")).enumerate() {
        let wrong = match family {
            "IPv4" => is_ipv4(ip) == Some(false),
            "IPv6" => is_ipv4(ip) != Some(false),
            _ => false,
        };
        if wrong {
            let why = format!("expected an {family} value as indicated by `ipFamilies[{index}]`");
            check.invalid(&format!("{AT}[{index}]"), &json!(ip), &why);
        }
    }
}

fn families(check: &mut Check<'_>, spec: &Value) {
    let mut seen = BTreeSet::new();
    for (index, family) in texts(spec, "ipFamilies").into_iter().enumerate() {
        let field = format!("spec.ipFamilies[{index}]");
        if !FAMILIES.contains(&family) {
            check.one_of_in_order(&field, &json!(family), &FAMILIES);
        }
        if !seen.insert(family) {
            check.duplicate(&field, &json!(family));
        }
    }
    let policy = &spec["ipFamilyPolicy"];
    if policy.as_str().is_some_and(|own| !POLICIES.contains(&own)) {
        check.one_of_in_order("spec.ipFamilyPolicy", policy, &POLICIES);
    }
}

/// Addresses stay; a second one may come and go (`ValidateServiceUpdate`).
pub(in crate::validation) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    let (before, after) = (&old["spec"], &new["spec"]);
    let kind = |spec| text(spec, "type");
    if kind(before) != "ExternalName" && kind(after) != "ExternalName" {
        if !(is_headless(before) && is_headless(after)) {
            stays(check, before, after, "clusterIPs", "clusterIP");
        }
        if !is_headless(before) && !is_headless(after) {
            stays(check, before, after, "ipFamilies", "ipFamily");
        }
    }
    let balanced = |spec| kind(spec) == "LoadBalancer";
    if balanced(before) && balanced(after) {
        let class = |spec: &Value| spec["loadBalancerClass"].clone();
        if class(before) != class(after) {
            check.invalid("spec.loadBalancerClass", &class(after), "may not change once set");
        }
        let local = |spec| text(spec, "externalTrafficPolicy") == "Local";
        let port = |spec: &Value| spec["healthCheckNodePort"].as_i64().unwrap_or(0);
        if local(before) && local(after) && port(before) != port(after) {
            check.forbidden("spec.healthCheckNodePort", "field is immutable");
        }
    }
}

/// `validateUpgradeDowngradeClusterIPs`, `validateUpgradeDowngradeIPFamilies`
fn stays(check: &mut Check<'_>, before: &Value, after: &Value, list: &str, noun: &str) {
    const CHANGED: &str = "may not change once set";
    let (old, new, all) = (texts(before, list), texts(after, list), &after[list]);
    let at = |index: usize| format!("spec.{list}[{index}]");
    if old.len() == new.len() {
        let changed = old.iter().zip(&new).enumerate().filter(|(_, (old, new))| old != new);
        for (index, _) in changed {
            let index = if noun == "clusterIP" { index } else { 0 };
            check.invalid(&at(index), all, CHANGED);
        }
        return;
    }
    // Of families upstream looks at the addresses, and shows them.
    let addresses = &after["clusterIPs"];
    let shown = if noun == "clusterIP" { all } else { addresses };
    if old.len() > new.len() && texts(after, "clusterIPs").is_empty() {
        check.invalid(&at(0), all, &format!("primary {noun} can not be unset"));
    }
    if old.first().zip(new.first()).is_some_and(|(old, new)| old != new) {
        check.invalid(&at(0), shown, CHANGED);
    }
    let policy = &after["ipFamilyPolicy"];
    if old.len() > new.len() && new.len() == 1 && policy != "SingleStack" {
        let why = format!("must be set to 'SingleStack' when releasing the secondary {noun}");
        check.invalid("spec.ipFamilyPolicy", policy, &why);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(errors: Vec<FieldError>) -> Vec<String> {
        errors.iter().map(|error| format!("{}: {}", error.field, error.detail)).collect()
    }

    #[test]
    fn addresses_agree_with_each_other() {
        let check = |spec: Value, expect: &[&str]| {
            assert_eq!(told(errors(None, &spec)), expect, "{spec}");
        };
        check(
            json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv4"]}),
            &[],
        );
        check(json!({"clusterIP": "None", "clusterIPs": ["None"]}), &[]);
        check(json!({"clusterIP": "10.0.0.1"}), &["spec.clusterIPs: "]);
        check(
            json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1", "10.0.0.2"]}),
            &["spec.clusterIPs: may specify no more than one IP for each IP family"],
        );
        check(
            json!({"clusterIP": "x", "clusterIPs": ["x"], "ipFamilies": ["IPv6", "IPv6"]}),
            &[
                "spec.ipFamilies[1]: ",
                "spec.clusterIPs[0]: must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)",
            ],
        );
        check(
            json!({"clusterIP": "10.0.0.1", "clusterIPs": ["10.0.0.1"], "ipFamilies": ["IPv6"]}),
            &["spec.clusterIPs[0]: expected an IPv6 value as indicated by `ipFamilies[0]`"],
        );
    }

    #[test]
    fn the_first_address_stays() {
        let service = |ips: Value| json!({"spec": {"type": "ClusterIP", "clusterIPs": ips}});
        let check = |old: Value, new: Value, expect: &[&str]| {
            let mut errors = Vec::new();
            update(&mut Check::new(&mut errors), &service(old), &service(new));
            assert_eq!(told(errors), expect);
        };
        check(json!(["10.0.0.1"]), json!(["10.0.0.1"]), &[]);
        check(json!(["10.0.0.1"]), json!(["10.0.0.1", "2001:db8::1"]), &[]);
        check(
            json!(["10.0.0.1"]),
            json!(["None"]),
            &["spec.clusterIPs[0]: may not change once set"],
        );
        check(
            json!(["10.0.0.1"]),
            json!([]),
            &["spec.clusterIPs[0]: primary clusterIP can not be unset"],
        );
        check(
            json!(["10.0.0.1", "2001:db8::1"]),
            json!(["10.0.0.1"]),
            &[
                "spec.ipFamilyPolicy: must be set to 'SingleStack' when releasing the secondary clusterIP",
            ],
        );
        check(json!(["None"]), json!(["None"]), &[]);
    }
}
