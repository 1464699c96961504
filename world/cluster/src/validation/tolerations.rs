//! Taints of nodes, and what is tolerated of them (`pkg/apis/core/validation`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    check::{Check, text},
    selector::label_key,
};
use crate::verbs::label_value_problems;

const EFFECTS: [&str; 3] = ["NoSchedule", "PreferNoSchedule", "NoExecute"];

/// `validateNodeTaints`; what is said twice of an update is said twice here.
pub(super) fn taints(check: &mut Check<'_>, taints: &[Value], at: &str) {
    let mut seen = BTreeSet::new();
    for (index, taint) in taints.iter().enumerate() {
        let at = format!("{at}[{index}]");
        let (key, value, own) = (text(taint, "key"), text(taint, "value"), text(taint, "effect"));
        label_key(check, &format!("{at}.key"), key);
        let problems = label_value_problems(value);
        if !problems.is_empty() {
            check.invalid(&format!("{at}.value"), &json!(value), &problems.join(";"));
        }
        match own {
            "" => check.required_each_time(&format!("{at}.effect"), ""),
            own if EFFECTS.contains(&own) => {}
            own => check.not_supported(&format!("{at}.effect"), &json!(own), &EFFECTS),
        }
        if !seen.insert((own, key)) {
            let added = &taint["timeAdded"];
            let (key, value, own) = (json!(key), json!(value), json!(own));
            let shown = format!(
                "{{\"Key\":{key},\"Value\":{value},\"Effect\":{own},\"TimeAdded\":{added}}}"
            );
            check.duplicate_as(&at, shown, "taints must be unique by key and effect pair");
        }
    }
}

/// `ValidateTolerations`
pub(super) fn tolerations(check: &mut Check<'_>, tolerations: &[Value], at: &str) {
    for (index, toleration) in tolerations.iter().enumerate() {
        one(check, toleration, &format!("{at}[{index}]"));
    }
}

fn one(check: &mut Check<'_>, toleration: &Value, at: &str) {
    let (key, operator) = (text(toleration, "key"), text(toleration, "operator"));
    let (value, own) = (text(toleration, "value"), text(toleration, "effect"));
    let field = format!("{at}.operator");
    if !key.is_empty() {
        label_key(check, &format!("{at}.key"), key);
    } else if operator != "Exists" {
        let why = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        check.invalid(&field, &json!(operator), why);
    }
    if !toleration["tolerationSeconds"].is_null() && own != "NoExecute" {
        let why = "effect must be 'NoExecute' when `tolerationSeconds` is set";
        check.invalid(&format!("{at}.effect"), &json!(own), why);
    }
    match operator {
        "" | "Equal" => {
            let problems = label_value_problems(value);
            if !problems.is_empty() {
                check.invalid(&field, &json!(value), &problems.join(";"));
            }
        }
        "Exists" if value.is_empty() => {}
        "Exists" => {
            check.invalid(&field, &json!(value), "value must be empty when `operator` is 'Exists'");
        }
        // Comparing needs a feature that is off (`TaintTolerationComparisonOperators`).
        "Lt" | "Gt" => {
            check.one_of_in_order(&field, &json!(operator), &["Equal", "Exists", "Lt", "Gt"]);
        }
        _ => check.one_of_in_order(&field, &json!(operator), &["Equal", "Exists"]),
    }
    if !own.is_empty() && !EFFECTS.contains(&own) {
        check.one_of_in_order(&format!("{at}.effect"), &json!(own), &EFFECTS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::validation::check::told;

    #[test]
    fn taints_have_a_key_and_an_effect() {
        let good = json!({"key": "k", "effect": "NoSchedule"});
        let list = [good.clone(), json!({"key": "k", "effect": "NoExecute", "value": "v"})];
        assert_eq!(told(|check| taints(check, &list, "t")), Vec::<String>::new());
        let list = [
            good.clone(),
            good,
            json!({"key": "!", "value": "!", "effect": "No"}),
            json!({"key": "x"}),
        ];
        let found = told(|check| taints(check, &list, "t"));
        let fields: Vec<&str> = found.iter().filter_map(|one| one.split(": ").next()).collect();
        assert_eq!(fields, ["t[1]", "t[2].key", "t[2].value", "t[2].effect", "t[3].effect"]);
        assert_eq!(found[0], "t[1]: taints must be unique by key and effect pair");
    }

    #[test]
    fn tolerations_say_what_they_compare() {
        let told = |toleration: Value| {
            told(|check| tolerations(check, std::slice::from_ref(&toleration), "t"))
        };
        let all = json!({"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 5});
        assert_eq!(told(all), Vec::<String>::new());
        assert_eq!(told(json!({"key": "k", "value": "v"})), Vec::<String>::new());
        let fields = |toleration: Value| -> Vec<String> {
            told(toleration)
                .iter()
                .filter_map(|one| one.split(": ").next().map(str::to_owned))
                .collect()
        };
        assert_eq!(fields(json!({})), ["t[0].operator"]);
        assert_eq!(
            fields(json!({"key": "k", "operator": "Exists", "value": "v"})),
            ["t[0].operator"]
        );
        assert_eq!(fields(json!({"key": "k", "operator": "Gt", "value": "1"})), ["t[0].operator"]);
        assert_eq!(fields(json!({"key": "k", "tolerationSeconds": 5})), ["t[0].effect"]);
        assert_eq!(fields(json!({"key": "k", "effect": "No"})), ["t[0].effect"]);
    }
}
