//! Acting as somebody else (`k8s.io/apiserver/pkg/endpoints/filters/impersonation`).
//!
//! The permissions are those of old: the verb `impersonate` on users, groups, serviceaccounts, uids and
//! userextras. The constrained ones of KEP-5284 (`impersonate:user-info`) are not granted by anything here, but
//! whoever holds none of the old ones is refused in the words of a server that asked for those first.

use super::{ANONYMOUS, AUTHENTICATED, UNAUTHENTICATED, User, account_groups, refusal};
use crate::{
    rbac::{self, Attributes, Decision},
    route::percent_decode,
    server::request::Request,
    status::Refusal,
    world::World,
};

const EXTRA: &str = "impersonate-extra-";
const ACCOUNT: &str = "system:serviceaccount:";

/// Whom a request wants to be taken for. Errors: 400 if it does not name the user.
pub(super) fn wanted(request: &Request) -> Result<Option<User>, Refusal> {
    let mut user = User {
        name: request.header("impersonate-user").to_owned(),
        uid: request.header("impersonate-uid").to_owned(),
        groups: request.header_lines("impersonate-group").map(str::to_owned).collect(),
        ..User::default()
    };
    for (name, value) in request.headers_below(EXTRA) {
        let key = percent_decode(name).to_lowercase();
        user.extra.entry(key).or_default().push(value.to_owned());
    }
    if user.name.is_empty() {
        if user == User::default() {
            return Ok(None);
        }
        let shown = shown(&user);
        let text = format!("requested {shown} without impersonating a user name");
        return Err(Refusal::bad_request(text));
    }
    if user.groups.is_empty()
        && let Some((namespace, _)) = account(&user.name)
    {
        user.groups = account_groups(namespace);
    }
    Ok(Some(user))
}

/// Namespace and name of a ServiceAccount's user name.
fn account(name: &str) -> Option<(&str, &str)> {
    name.strip_prefix(ACCOUNT)?.split_once(':')
}

/// As Go prints a `user.DefaultInfo` with `%#v`.
fn shown(user: &User) -> String {
    let list = |items: &[String]| {
        let items: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
        format!("[]string{{{}}}", items.join(", "))
    };
    let groups = match &user.groups[..] {
        [] => "[]string(nil)".to_owned(),
        groups => list(groups),
    };
    let extra = match user.extra.is_empty() {
        true => "map[string][]string(nil)".to_owned(),
        false => {
            let pairs = user.extra.iter();
            let pairs: Vec<String> =
                pairs.map(|(key, values)| format!("{key:?}:{}", list(values))).collect();
            format!("map[string][]string{{{}}}", pairs.join(", "))
        }
    };
    format!(
        "&user.DefaultInfo{{Name:{:?}, UID:{:?}, Groups:{groups}, Extra:{extra}}}",
        user.name, user.uid
    )
}

/// Whether `user` may be taken for `other`, to do what `request` asks for. Errors: 403.
pub(super) fn check(
    world: &World,
    user: &User,
    other: &User,
    request: &Attributes,
) -> Result<(), Refusal> {
    let allowed = |asked: &Attributes| match rbac::decide(world, user, asked) {
        Decision::Allowed(_) => Ok(()),
        Decision::NoOpinion(why) => Err(refusal(user, asked, &why)),
    };
    let (asked, mode) = match account(&other.name) {
        Some((namespace, name)) => (ask("", "serviceaccounts", namespace, name), "serviceaccount"),
        None => (ask("", "users", "", &other.name), "user-info"),
    };
    if let Err(refused) = allowed(&asked) {
        if impersonates_of_old(world, user) {
            return Err(refused);
        }
        let verb = format!("impersonate-on:{mode}:{}", request.verb);
        let constrained = Attributes { verb, ..request.clone() };
        return Err(refusal(user, &constrained, ""));
    }
    let group = "authentication.k8s.io";
    // The groups that a ServiceAccount is in anyway need no permission of their own.
    let implied = account(&other.name).map(|(namespace, _)| account_groups(namespace));
    if implied.as_ref() != Some(&other.groups) {
        other.groups.iter().try_for_each(|name| allowed(&ask("", "groups", "", name)))?;
    }
    for (key, values) in &other.extra {
        for value in values {
            let mut asked = ask(group, "userextras", "", value);
            asked.subresource.clone_from(key);
            allowed(&asked)?;
        }
    }
    match other.uid.as_str() {
        "" => Ok(()),
        uid => allowed(&ask(group, "uids", "", uid)),
    }
}

/// Whether somebody may impersonate anyone by the old permissions. The real server asks first what it last allowed
/// to the same user, and words its refusal by that.
fn impersonates_of_old(world: &World, user: &User) -> bool {
    let (rules, _) = rbac::rules_for(world, user, "");
    rules.iter().any(|rule| rule.verbs.iter().any(|verb| verb == "impersonate" || verb == "*"))
}

fn ask(group: &str, resource: &str, namespace: &str, name: &str) -> Attributes {
    Attributes {
        verb: "impersonate".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        ..Attributes::default()
    }
}

/// The group that everyone is in who is somebody, and the one of those who are not.
pub(super) fn complete(mut user: User) -> User {
    let has = |name: &str| user.groups.iter().any(|group| group == name);
    if has(AUTHENTICATED) || has(UNAUTHENTICATED) {
        return user;
    }
    let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
    user.groups.push(group.to_owned());
    user
}
