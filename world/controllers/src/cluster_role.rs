//! ClusterRoles that others make up (`pkg/controller/clusterroleaggregation`, Kubernetes 1.36): a role with an
//! `aggregationRule` has the rules of all roles that it selects, and no others.

use std::sync::Arc;

use serde_json::{Value, json};
use trace::{GroupResource, ObjectKey};

use crate::{
    calls::{Calls, Reconciled},
    controller::{Affected, Change},
    object::{Body, Object},
    read,
    request::Request,
    selector::Selector,
    view::View,
};

/// A ClusterRole.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ClusterRole {
    /// `aggregationRule.clusterRoleSelectors`; none where there is no such rule.
    pub aggregates: Option<Vec<Selector>>,
    /// `rules`, as they are written.
    pub rules: Vec<Value>,
}

impl ClusterRole {
    pub(crate) fn read(object: &Value) -> ClusterRole {
        let rule = object.get("aggregationRule").filter(|rule| !rule.is_null());
        let selectors =
            |rule| read::list(rule, "clusterRoleSelectors").map(Selector::read).collect();
        ClusterRole {
            aggregates: rule.map(selectors),
            rules: read::list(object, "rules").cloned().collect(),
        }
    }
}

fn cluster_roles() -> GroupResource {
    GroupResource::new("rbac.authorization.k8s.io", "clusterroles")
}

fn role(object: &Object) -> Option<&Arc<ClusterRole>> {
    match &object.body {
        Body::ClusterRole(role) => Some(role),
        _ => None,
    }
}

pub(crate) fn reconcile(view: &View, key: &ObjectKey, calls: &mut Calls<'_>) -> Reconciled {
    let Some(own) = view.get(key).and_then(role) else { return Ok(None) };
    let Some(selectors) = &own.aggregates else { return Ok(None) };
    let mut rules: Vec<&Value> = Vec::new();
    for selector in selectors {
        let selected = view
            .list(&cluster_roles(), "")
            .filter(|(other, object)| other != key && selector.matches(&object.meta.labels));
        for rule in selected.filter_map(|(_, object)| role(object)).flat_map(|role| &role.rules) {
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    if rules.iter().copied().eq(&own.rules) {
        return Ok(None);
    }
    branch!(RoleAggregated);
    calls.must(|| {
        let mut object = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole",
            "metadata": {"name": key.name},
        });
        if !rules.is_empty() {
            object["rules"] = json!(rules);
        }
        Request::Apply { key: key.clone(), object: Box::new(object) }
    })?;
    Ok(None)
}

/// Whatever becomes of a role, all that are made up of others are looked at.
pub(crate) fn keys_affected(view: &View, change: &Change<'_>) -> Vec<Affected> {
    if change.key.resource != cluster_roles() {
        return vec![];
    }
    let made_up = |object: &Object| role(object).is_some_and(|role| role.aggregates.is_some());
    let all = view.list(&cluster_roles(), "").filter(|(_, object)| made_up(object));
    all.map(|(key, _)| Affected::now(&key)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Controller,
        fixture::{object, run, view},
    };

    fn rule(verb: &str) -> Value {
        json!({"apiGroups": [""], "resources": ["pods"], "verbs": [verb]})
    }

    fn named(name: &str, more: Value) -> (ObjectKey, Value) {
        object(&format!("clusterroles.rbac.authorization.k8s.io/{name}"), more)
    }

    #[test]
    fn a_role_gets_the_rules_of_those_that_it_selects() {
        let part = |name: &str, verbs: &[&str]| {
            let rules: Vec<Value> = verbs.iter().map(|verb| rule(verb)).collect();
            named(name, json!({"metadata": {"labels": {"to": "all"}}, "rules": rules}))
        };
        let check = |has: &[&str], parts: &[(ObjectKey, Value)], expect: Option<&[&str]>| {
            let rules: Vec<Value> = has.iter().map(|verb| rule(verb)).collect();
            let selector = json!({"matchLabels": {"to": "all"}});
            // It selects itself too, and twice.
            let all = named(
                "all",
                json!({
                    "metadata": {"labels": {"to": "all"}}, "rules": rules,
                    "aggregationRule": {"clusterRoleSelectors": [selector, selector]},
                }),
            );
            let view = view(&[std::slice::from_ref(&all), parts].concat());
            let (sent, _) = run(Controller::ClusterRoleAggregation, &view, &all.0.to_string(), &[]);
            let applied = sent.iter().map(|request| match request {
                Request::Apply { object, .. } => object.get("rules").cloned(),
                other => panic!("{other:?}"),
            });
            let expect = expect.map(|verbs| {
                (!verbs.is_empty()).then(|| verbs.iter().map(|verb| rule(verb)).collect::<Value>())
            });
            assert_eq!(applied.collect::<Vec<_>>(), expect.into_iter().collect::<Vec<_>>());
        };
        let (b, c) = (part("b", &["get", "list"]), part("c", &["list", "watch"]));
        let other = named("other", json!({"rules": [rule("delete")]}));
        let parts = [c, b, other];
        check(&["get", "list", "watch"], &parts, None);
        check(&[], &parts, Some(&["get", "list", "watch"]));
        check(&["list", "get", "watch"], &parts, Some(&["get", "list", "watch"]));
        check(&["delete"], &[], Some(&[]));
        check(&[], &[], None);
    }
}
