//! On which nodes a pod may run: `nodeSelector` and the required node affinity
//! (`component-helpers/scheduling/corev1/nodeaffinity`).

use serde_json::Value;

use crate::{
    object::{Labels, Text},
    read,
    selector::Expression,
};

/// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`: one suffices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeAffinity(Vec<Term>);

#[derive(Debug, Clone, PartialEq, Default)]
struct Term {
    /// `matchExpressions`, on labels.
    labels: Vec<Expression>,
    /// `matchFields`; `metadata.name` is the only field there is.
    fields: Vec<Expression>,
}

impl NodeAffinity {
    /// None where the pod's spec requires nothing.
    pub(crate) fn read(spec: &Value) -> Option<NodeAffinity> {
        let node = &spec["affinity"]["nodeAffinity"];
        let required = node.get("requiredDuringSchedulingIgnoredDuringExecution")?;
        let expressions = |term: &Value, field: &str| {
            read::list(term, field).map(crate::selector::expression).collect()
        };
        let term = |term: &Value| Term {
            labels: expressions(term, "matchExpressions"),
            fields: expressions(term, "matchFields"),
        };
        Some(NodeAffinity(read::list(required, "nodeSelectorTerms").map(term).collect()))
    }

    /// Whether it allows a node. An empty term allows none.
    pub(crate) fn allows(&self, name: &Text, labels: &Labels) -> bool {
        let named = Labels::from([("metadata.name".into(), name.clone())]);
        self.0.iter().any(|term| {
            !(term.labels.is_empty() && term.fields.is_empty())
                && term.labels.iter().all(|expression| matches(expression, labels))
                && term.fields.iter().all(|expression| matches(expression, &named))
        })
    }

    /// The one node that it names, as for the pods of a DaemonSet (`util.GetTargetNodeName`).
    pub(crate) fn target(&self) -> Option<Text> {
        let fields = self.0.iter().flat_map(|term| &term.fields);
        let mut named = fields.filter(|one| &*one.key == "metadata.name" && &*one.operator == "In");
        named.next().and_then(|one| match &one.values[..] {
            [name] => Some(name.clone()),
            _ => None,
        })
    }
}

/// As a label selector's expression, and by number.
fn matches(expression: &Expression, labels: &Labels) -> bool {
    let number = |text: Option<&Text>| text.and_then(|text| text.parse::<i64>().ok());
    let pair = || Some((number(labels.get(&expression.key))?, number(expression.values.first())?));
    match &*expression.operator {
        "Gt" => pair().is_some_and(|(label, bound)| label > bound),
        "Lt" => pair().is_some_and(|(label, bound)| label < bound),
        _ => expression.matches(labels),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn terms_allow_nodes() {
        let check = |term: Value, expect: bool| {
            let required = json!({"nodeSelectorTerms": [term]});
            let spec = json!({"affinity": {"nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": required,
            }}});
            let labels = Labels::from([("zone".into(), "a".into()), ("size".into(), "8".into())]);
            let found = NodeAffinity::read(&spec).unwrap().allows(&"n".into(), &labels);
            assert_eq!(found, expect, "{required}");
        };
        let one = |key: &str, operator: &str, values: &[&str]| json!([{"key": key, "operator": operator, "values": values}]);
        check(json!({}), false);
        check(json!({"matchExpressions": one("zone", "In", &["a"])}), true);
        check(json!({"matchExpressions": one("zone", "NotIn", &["a"])}), false);
        check(json!({"matchExpressions": one("size", "Gt", &["7"])}), true);
        check(json!({"matchExpressions": one("size", "Lt", &["8"])}), false);
        check(json!({"matchFields": one("metadata.name", "In", &["n"])}), true);
        check(json!({"matchFields": one("metadata.name", "In", &["m"])}), false);
    }
}
