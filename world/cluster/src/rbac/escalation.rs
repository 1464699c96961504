//! Nobody gives what they have not: who writes a role or a binding must hold all that it grants, or the verb
//! `escalate` on the role, `bind` on what is bound (`pkg/registry/rbac/*/policybased`).

use serde_json::{Value, json};
use trace::GroupResource;

use super::{
    Attributes, Decision, GROUP, Rule, aggregate, decide, rule::quoted, rules_for, rules_of, text,
};
use crate::{
    auth::{Authorization, User},
    status::Refusal,
    world::{World, meta},
};

/// Checks a role or binding (`resource` says which) that is about to be written in a namespace, in place of
/// `old` if there is one. Errors: 403; 404 if a binding's role is missing.
pub(crate) fn check(
    world: &World,
    user: &User,
    resource: &GroupResource,
    namespace: &str,
    old: Option<&Value>,
    new: &Value,
) -> Result<(), Refusal> {
    if world.authorization != Authorization::Rbac || &*resource.group != GROUP || user.is_master() {
        return Ok(());
    }
    if old.is_some_and(|old| only_for_the_collector(old, new)) {
        return Ok(());
    }
    let question = Question { world, user, resource, namespace, new };
    match &*resource.resource {
        "roles" | "clusterroles" => question.role(old),
        "rolebindings" | "clusterrolebindings" => question.binding(),
        _ => Ok(()),
    }
}

/// Whether nothing changes but what the garbage collector changes (`IsOnlyMutatingGCFields`).
fn only_for_the_collector(old: &Value, new: &Value) -> bool {
    let rest = |object: &Value| {
        let mut object = object.clone();
        for field in ["ownerReferences", "finalizers", "managedFields"] {
            object["metadata"].as_object_mut().map(|metadata| metadata.remove(field));
        }
        object
    };
    rest(old) == rest(new)
}

struct Question<'a> {
    world: &'a World,
    user: &'a User,
    resource: &'a GroupResource,
    namespace: &'a str,
    new: &'a Value,
}

impl Question<'_> {
    fn may(&self, verb: &str, resource: &str, name: &str) -> bool {
        let asked = Attributes {
            verb: verb.to_owned(),
            group: GROUP.to_owned(),
            resource: resource.to_owned(),
            namespace: self.namespace.to_owned(),
            name: name.to_owned(),
            ..Attributes::default()
        };
        matches!(decide(self.world, self.user, &asked), Decision::Allowed(_))
    }

    fn forbidden(&self, why: &str) -> Refusal {
        Refusal::forbidden(self.resource, meta(self.new, "name"), why)
    }

    fn role(&self, old: Option<&Value>) -> Result<(), Refusal> {
        let name = meta(self.new, "name");
        if self.may("escalate", &self.resource.resource, name) {
            return Ok(());
        }
        let rules: Vec<Rule> =
            self.new["rules"].as_array().into_iter().flatten().map(Rule::read).collect();
        self.held(&rules).map_err(|why| self.forbidden(&why))?;
        let aggregates =
            |role: &Value| role.get("aggregationRule").filter(|rule| !rule.is_null()).cloned();
        let changed = aggregates(self.new) != old.and_then(aggregates);
        if aggregates(self.new).is_some() && changed && self.held(&everything()).is_err() {
            let why = "must have cluster-admin privileges to use the aggregationRule";
            return Err(self.forbidden(why));
        }
        Ok(())
    }

    fn binding(&self) -> Result<(), Refusal> {
        let role = &self.new["roleRef"];
        let (kind, name) = (text(role, "kind"), text(role, "name"));
        let plural = if kind == "Role" { "roles" } else { "clusterroles" };
        if self.may("bind", plural, name) {
            return Ok(());
        }
        let rules = rules_of(self.world, role, self.namespace)
            .map_err(|_| Refusal::not_found(self.resource, name))?;
        self.held(&rules).map_err(|why| self.forbidden(&why))
    }

    /// Errors: what of it the user does not hold (`ConfirmNoEscalation`).
    fn held(&self, rules: &[Rule]) -> Result<(), String> {
        let (own, errors) = rules_for(self.world, self.user, self.namespace);
        let atoms = rules.iter().flat_map(Rule::atoms);
        let missing: Vec<Rule> =
            atoms.filter(|atom| !own.iter().any(|rule| rule.covers(atom))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut lines: Vec<String> = compact(missing).iter().map(Rule::compact).collect();
        lines.sort();
        lines.dedup();
        let mut text = format!(
            "user {:?} (groups={}) is attempting to grant RBAC permissions not currently held:\n{}",
            self.user.name,
            quoted(&self.user.groups),
            lines.join("\n")
        );
        if !errors.is_empty() {
            text.push_str(&format!("; resolution errors: [{}]", aggregate(&errors)));
        }
        Err(text)
    }
}

/// What only an administrator holds.
fn everything() -> [Rule; 2] {
    let resources = json!({"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]});
    let paths = json!({"verbs": ["*"], "nonResourceURLs": ["*"]});
    [Rule::read(&resources), Rule::read(&paths)]
}

/// Joins the verbs of atoms for the same resource (`CompactRules`).
fn compact(atoms: Vec<Rule>) -> Vec<Rule> {
    let mut rules: Vec<Rule> = Vec::new();
    for atom in atoms {
        let same = |rule: &&mut Rule| {
            atom.urls.is_empty()
                && (&rule.groups, &rule.resources, &rule.names)
                    == (&atom.groups, &atom.resources, &atom.names)
        };
        match rules.iter_mut().find(same) {
            Some(rule) => rule.verbs.extend(atom.verbs),
            None => rules.push(atom),
        }
    }
    rules
}
