//! On which nodes a pod may run: `nodeSelector` and the required node affinity
//! (`component-helpers/scheduling/corev1/nodeaffinity`).

use std::collections::BTreeSet;

use serde_json::Value;

use crate::{
    object::{Labels, Text},
    read,
    selector::Expression,
};

/// `spec.affinity.nodeAffinity.requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms`: one suffices.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct NodeAffinity(Vec<Term>);

/// A term of a node selector.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Term {
    /// `matchExpressions`, on labels.
    labels: Vec<Expression>,
    /// `matchFields`; `metadata.name` is the only field there is.
    fields: Vec<Expression>,
}

impl NodeAffinity {
    /// None where the pod's spec requires nothing.
    pub(crate) fn read(spec: &Value) -> Option<NodeAffinity> {
        let node = &spec["affinity"]["nodeAffinity"];
        node.get("requiredDuringSchedulingIgnoredDuringExecution").map(NodeAffinity::of)
    }

    /// A NodeSelector.
    pub(crate) fn of(selector: &Value) -> NodeAffinity {
        NodeAffinity(read::list(selector, "nodeSelectorTerms").map(Term::read).collect())
    }

    /// Whether it allows a node. An empty term allows none.
    pub(crate) fn allows(&self, name: &Text, labels: &Labels) -> bool {
        self.0.iter().any(|term| term.allows(name, labels))
    }

    /// The nodes that it names; none where one of its terms names none (NodeAffinity, PreFilter).
    pub(crate) fn names(&self) -> Option<BTreeSet<Text>> {
        let mut all = BTreeSet::new();
        for term in &self.0 {
            let by_name =
                |one: &&Expression| &*one.key == "metadata.name" && &*one.operator == "In";
            let mut lists = term.fields.iter().filter(by_name).map(|one| &one.values);
            let first = lists.next()?;
            let rest: Vec<&Vec<Text>> = lists.collect();
            let in_all = |name: &&Text| rest.iter().all(|list| list.contains(name));
            all.extend(first.iter().filter(in_all).cloned());
        }
        (!self.0.is_empty()).then_some(all)
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

impl Term {
    pub(crate) fn read(term: &Value) -> Term {
        let expressions =
            |field: &str| read::list(term, field).map(crate::selector::expression).collect();
        Term { labels: expressions("matchExpressions"), fields: expressions("matchFields") }
    }

    /// Whether it allows a node. An empty term allows none.
    pub(crate) fn allows(&self, name: &Text, labels: &Labels) -> bool {
        let named = Labels::from([("metadata.name".into(), name.clone())]);
        !(self.labels.is_empty() && self.fields.is_empty())
            && self.labels.iter().all(|expression| matches(expression, labels))
            && self.fields.iter().all(|expression| matches(expression, &named))
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
