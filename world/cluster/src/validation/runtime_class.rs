//! RuntimeClasses (`pkg/apis/node/validation`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{
    check::{Check, list, text},
    resources, tolerations,
};

pub(super) fn runtime_class(check: &mut Check<'_>, new: &Value) {
    match text(new, "handler") {
        "" => check.required("handler", ""),
        name => check.label_name("handler", name),
    }
    // Upstream takes what is added for limits.
    let limits = json!({"limits": new["overhead"]["podFixed"]});
    resources::requirements(check, &limits, "overhead");
    let scheduling = &new["scheduling"];
    check.labels("scheduling.nodeSelector", &scheduling["nodeSelector"]);
    let tolerated = list(scheduling, "tolerations");
    tolerations::tolerations(check, tolerated, "scheduling.tolerations");
    let mut seen = BTreeSet::new();
    for (index, toleration) in tolerated.iter().enumerate() {
        let fields = ["key", "operator", "value", "effect"];
        if !seen.insert(fields.map(|field| text(toleration, field))) {
            let own = fields.map(|field| json!(text(toleration, field)).to_string());
            let [key, operator, value, effect] = own;
            let seconds = &toleration["tolerationSeconds"];
            let shown = format!(
                "{{\"Key\":{key},\"Operator\":{operator},\"Value\":{value},\"Effect\":{effect},\
                 \"TolerationSeconds\":{seconds}}}"
            );
            check.duplicate_as(&format!("scheduling.tolerations[{index}]"), shown, "");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(class: Value) -> Vec<String> {
        let mut errors = Vec::new();
        runtime_class(&mut Check::new(&mut errors), &class);
        errors.iter().map(|error| error.field.clone()).collect()
    }

    #[test]
    fn a_handler_is_a_label_and_overhead_an_amount() {
        assert_eq!(told(json!({"handler": "h"})), Vec::<String>::new());
        assert_eq!(told(json!({})), ["handler"]);
        assert_eq!(told(json!({"handler": "Not_A-Name!"})), ["handler"]);
        let class = json!({"handler": "h", "overhead": {"podFixed": {"cpu": "-1"}}});
        assert_eq!(told(class), ["overhead.limits[cpu]"]);
        let same = json!({"operator": "Exists"});
        let class = json!({"handler": "h", "scheduling": {"nodeSelector": {"a": "!"}, "tolerations": [same, same]}});
        assert_eq!(told(class), ["scheduling.nodeSelector", "scheduling.tolerations[1]"]);
    }
}
