//! Who may do what: Roles, ClusterRoles and their bindings, evaluated as upstream's RBAC authorizer does
//! (`plugin/pkg/auth/authorizer/rbac`, `pkg/registry/rbac/validation`).
//!
//! The rules of an aggregated ClusterRole are found where it is used: they are those of the roles that it
//! selects. On a real cluster the controller-manager copies them into the object; who reads `rules` of `admin`,
//! `edit` or `view` here finds none.
//!
//! Permissions are asked about where a request comes in, once (`server/answer.rs`): the built-in controllers and
//! Trommel itself don't pass there and are administrators. RBAC is off unless the campaign says otherwise, and only
//! then a world holds the 133 roles and bindings that every cluster has: they cost each identity of a world.

use std::ops::Bound;

use serde_json::Value;
use trace::{GroupResource, ObjectKey};

use crate::{
    auth::{Authorization, User},
    verbs::{selector::Labels, selector_text},
    world::{World, meta},
};

pub(crate) mod bootstrap;
pub(crate) mod escalation;
mod rule;

pub(crate) use rule::{Attributes, Rule};

pub(crate) const GROUP: &str = "rbac.authorization.k8s.io";

/// What an authorizer says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Decision {
    /// Yes, and why.
    Allowed(String),
    /// Not that it knew of; and what it could not look at.
    NoOpinion(String),
}

/// Whether `user` may do what `asked` says, in a world where permissions count or not.
pub(crate) fn authorize(world: &World, user: &User, asked: &Attributes) -> Decision {
    match world.authorization {
        Authorization::AlwaysAllow => Decision::Allowed(String::new()),
        Authorization::Rbac => decide(world, user, asked),
    }
}

/// Whether RBAC lets `user` do what `asked` says.
pub(crate) fn decide(world: &World, user: &User, asked: &Attributes) -> Decision {
    if user.is_master() {
        return Decision::Allowed(String::new());
    }
    let mut missing = Vec::new();
    for granted in grants(world, user, &asked.namespace) {
        match granted.rules {
            Ok(rules) if rules.iter().any(|rule| rule.allows(asked)) => {
                return Decision::Allowed(format!("RBAC: allowed by {}", granted.by));
            }
            Ok(_) => {}
            Err(error) => missing.push(error),
        }
    }
    Decision::NoOpinion(match missing.is_empty() {
        true => String::new(),
        false => format!("RBAC: {}", aggregate(&missing)),
    })
}

/// All rules that apply to a user in a namespace (cluster-wide ones only, if it is empty), and the errors of
/// those that can't be known.
pub(crate) fn rules_for(world: &World, user: &User, namespace: &str) -> (Vec<Rule>, Vec<String>) {
    let (mut rules, mut errors) = (Vec::new(), Vec::new());
    for granted in grants(world, user, namespace) {
        match granted.rules {
            Ok(more) => rules.extend(more),
            Err(error) => errors.push(error),
        }
    }
    (rules, errors)
}

/// Several errors as Go's `Aggregate` prints them: each once.
pub(crate) fn aggregate(errors: &[String]) -> String {
    let mut once: Vec<&str> = Vec::new();
    for error in errors {
        if !once.contains(&error.as_str()) {
            once.push(error);
        }
    }
    match &once[..] {
        [one] => (*one).to_owned(),
        many => format!("[{}]", many.join(", ")),
    }
}

/// What one binding gives.
struct Granted {
    /// The binding, for people.
    by: String,
    rules: Result<Vec<Rule>, String>,
}

fn resource(plural: &str) -> GroupResource {
    GroupResource::new(GROUP, plural)
}

fn grants<'a>(
    world: &'a World,
    user: &'a User,
    namespace: &'a str,
) -> impl Iterator<Item = Granted> + 'a {
    let root = world.store.root();
    let everywhere = resource("clusterrolebindings");
    let bindings =
        objects(root, &everywhere, "").map(|binding| (binding, "", "ClusterRoleBinding"));
    let inside = resource("rolebindings");
    let inside = (!namespace.is_empty()).then(|| objects(root, &inside, namespace));
    let inside =
        inside.into_iter().flatten().map(move |binding| (binding, namespace, "RoleBinding"));
    bindings.collect::<Vec<_>>().into_iter().chain(inside.collect::<Vec<_>>()).filter_map(
        move |(binding, namespace, kind)| {
            let subjects = binding["subjects"].as_array().into_iter().flatten();
            let subject = subjects.into_iter().find(|subject| is(user, subject, namespace))?;
            let by = describe(kind, binding, subject, namespace);
            let rules = rules_of(world, &binding["roleRef"], namespace);
            Some(Granted { by, rules })
        },
    )
}

fn objects<'a>(
    root: &'a crate::store::Root,
    resource: &GroupResource,
    namespace: &'a str,
) -> impl Iterator<Item = &'a Value> {
    let found = root.scan(resource, namespace, Bound::Unbounded);
    found.map(|(_, object)| &**object).collect::<Vec<_>>().into_iter()
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value.get(field).and_then(Value::as_str).unwrap_or("")
}

/// Whether a subject of a binding in this namespace is this user.
fn is(user: &User, subject: &Value, namespace: &str) -> bool {
    let name = text(subject, "name");
    match text(subject, "kind") {
        "User" => user.name == name,
        "Group" => user.groups.iter().any(|group| group == name),
        "ServiceAccount" => {
            let own = text(subject, "namespace");
            let namespace = if own.is_empty() { namespace } else { own };
            !namespace.is_empty()
                && user.name == format!("system:serviceaccount:{namespace}:{name}")
        }
        _ => false,
    }
}

fn describe(kind: &str, binding: &Value, subject: &Value, namespace: &str) -> String {
    let place = |name: &str, namespace: &str| match namespace {
        "" => name.to_owned(),
        namespace => format!("{name}/{namespace}"),
    };
    let own = text(subject, "namespace");
    let of = match text(subject, "kind") {
        "ServiceAccount" => {
            place(text(subject, "name"), if own.is_empty() { namespace } else { own })
        }
        _ => text(subject, "name").to_owned(),
    };
    let role = &binding["roleRef"];
    format!(
        "{kind} {:?} of {} {:?} to {} {of:?}",
        place(meta(binding, "name"), namespace),
        text(role, "kind"),
        text(role, "name"),
        text(subject, "kind"),
    )
}

/// The rules of the role that a binding refers to. Errors: there is no such role.
pub(crate) fn rules_of(world: &World, role: &Value, namespace: &str) -> Result<Vec<Rule>, String> {
    let name = text(role, "name");
    let (kind, key) = match text(role, "kind") {
        "Role" => ("role", ObjectKey::new(resource("roles"), namespace, name)),
        "ClusterRole" => ("clusterrole", ObjectKey::new(resource("clusterroles"), "", name)),
        other => return Err(format!("unsupported role reference kind: {other:?}")),
    };
    let role = world.store.get(&key);
    let role = role.ok_or_else(|| format!("{kind}.{GROUP} {name:?} not found"))?;
    let mut rules = Vec::new();
    collect(world, role, &mut vec![], &mut rules);
    Ok(rules)
}

/// A role's own rules and, of an aggregated one, those of the roles that it selects.
fn collect<'a>(world: &'a World, role: &'a Value, seen: &mut Vec<&'a str>, rules: &mut Vec<Rule>) {
    let listed = role["rules"].as_array().into_iter().flatten();
    rules.extend(listed.map(Rule::read));
    let selectors = role.pointer("/aggregationRule/clusterRoleSelectors");
    let selectors = selectors.and_then(Value::as_array).into_iter().flatten();
    let selectors: Vec<Labels> =
        selectors.filter_map(|selector| Labels::parse(&selector_text(selector)).ok()).collect();
    if selectors.is_empty() {
        return;
    }
    seen.push(meta(role, "name"));
    for other in objects(world.store.root(), &resource("clusterroles"), "") {
        let selected = selectors.iter().any(|selector| selector.matches(other));
        if selected && !seen.contains(&meta(other, "name")) {
            collect(world, other, seen, rules);
        }
    }
}
