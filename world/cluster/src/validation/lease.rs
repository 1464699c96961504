//! Leases (`ValidateLeaseSpec`).

use serde_json::Value;

use super::check::{Check, text};
use crate::verbs::qualified_name_problems;

/// The only strategy of Kubernetes itself.
const STRATEGY: &str = "OldestEmulationVersion";

pub(super) fn spec(check: &mut Check<'_>, spec: &Value) {
    let seconds = &spec["leaseDurationSeconds"];
    if seconds.as_i64().is_some_and(|seconds| seconds <= 0) {
        check.invalid("spec.leaseDurationSeconds", seconds, "must be greater than 0");
    }
    check.not_negative("spec.leaseTransitions", &spec["leaseTransitions"]);
    if let Some(strategy) = spec["strategy"].as_str() {
        self::strategy(check, strategy);
    }
    if !text(spec, "preferredHolder").is_empty() && text(spec, "strategy").is_empty() {
        let detail = "may only be specified if `strategy` is defined";
        check.forbidden("spec.preferredHolder", detail);
    }
}

/// A name of Kubernetes' own, or one with a domain.
fn strategy(check: &mut Check<'_>, strategy: &str) {
    // Upstream names the field twice.
    const AT: &str = "spec.strategy.strategy";
    let value = Value::from(strategy);
    if !strategy.contains('/') {
        if strategy != STRATEGY {
            check.not_supported(AT, &value, &[STRATEGY]);
        }
        return;
    }
    for why in qualified_name_problems(strategy) {
        check.invalid(AT, &value, &why);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_lease_lasts_and_knows_its_strategy() {
        let told = |lease: Value| -> Vec<String> {
            let mut errors = Vec::new();
            spec(&mut Check::new(&mut errors), &lease);
            errors.iter().map(ToString::to_string).collect()
        };
        let good = json!({"leaseDurationSeconds": 1, "strategy": "a.io/b"});
        assert_eq!(told(good), Vec::<String>::new());
        assert_eq!(
            told(json!({"leaseDurationSeconds": 0, "leaseTransitions": -1, "strategy": "Mine"})),
            [
                "spec.leaseDurationSeconds: Invalid value: 0: must be greater than 0",
                "spec.leaseTransitions: Invalid value: -1: must be greater than or equal to 0",
                "spec.strategy.strategy: Unsupported value: \"Mine\": supported values: \"OldestEmulationVersion\"",
            ]
        );
    }
}
