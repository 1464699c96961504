//! Who sends a request, and whether they may.
//!
//! A request is somebody's by the client certificate of its connection ([`x509`]), or by its `Authorization` header: a
//! token of a ServiceAccount ([`token`]), or the administrator's. Requests from within this process carry none and are
//! the administrator's too; a subject without one is `system:anonymous`. `Impersonate-*` headers are obeyed. Everyone may do everything unless the
//! world enforces RBAC ([`crate::rbac`]); then every path is asked about, as `k8s.io/apiserver` does, before
//! anything else is looked at.
//!
//! What signs tokens is in `auth/key.rs`; the key is published by `discovery/openid.rs`; how clients are asked for
//! certificates is the crate `proxy`'s (`proxy/src/tls/asking.rs`). What expressions see of permissions is
//! `cel/authorizer.rs`.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use trace::{Actor, Verb};

use crate::{
    rbac::{self, Attributes, Decision},
    route::{self, Target},
    server::request::Request,
    status::Refusal,
    verbs::selector::Fields,
    world::World,
};

mod impersonate;
pub(crate) mod key;
pub(crate) mod token;
pub(crate) mod x509;

/// The token of the administrator (group `system:masters`), if the world was given no other.
pub const ADMIN_TOKEN: &str = "trommel";

/// What is told to everybody (`system:public-info-viewer`).
const OPEN: [&str; 4] = ["/healthz", "/livez", "/readyz", "/version"];

/// The group whose members may do everything, RBAC or not.
const MASTERS: &str = "system:masters";
const AUTHENTICATED: &str = "system:authenticated";
const UNAUTHENTICATED: &str = "system:unauthenticated";
const ANONYMOUS: &str = "system:anonymous";

/// Under which name a user's `extra` says by what they are known (`user.CredentialIDKey`).
const CREDENTIAL: &str = "authentication.kubernetes.io/credential-id";

/// Whether requests are refused for want of permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Authorization {
    /// Everyone may do everything.
    #[default]
    AlwaysAllow,
    /// What roles and bindings say.
    Rbac,
}

/// Who somebody is (`user.Info`).
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct User {
    pub(crate) name: String,
    pub(crate) uid: String,
    pub(crate) groups: Vec<String>,
    pub(crate) extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// The administrator.
    pub(crate) fn admin() -> User {
        let groups = vec![MASTERS.to_owned(), AUTHENTICATED.to_owned()];
        User { name: "admin".to_owned(), groups, ..User::default() }
    }

    fn anonymous() -> User {
        let groups = vec![UNAUTHENTICATED.to_owned()];
        User { name: ANONYMOUS.to_owned(), groups, ..User::default() }
    }

    /// A ServiceAccount as users are named.
    fn account(namespace: &str, name: &str, uid: &str) -> User {
        let mut user = User::named_account(namespace, name);
        user.uid = uid.to_owned();
        user.groups.push(AUTHENTICATED.to_owned());
        user
    }

    /// A ServiceAccount of which nothing is known but its name: nobody has authenticated it
    /// (`ServiceAccountInfo.UserInfo`).
    pub(crate) fn named_account(namespace: &str, name: &str) -> User {
        let groups = account_groups(namespace);
        let name = format!("system:serviceaccount:{namespace}:{name}");
        User { name, groups, ..User::default() }
    }

    /// Whether RBAC does not apply to them.
    pub(crate) fn is_master(&self) -> bool {
        self.groups.iter().any(|group| group == MASTERS)
    }

    /// As a `UserInfo` (authentication.k8s.io/v1).
    pub(crate) fn info(&self) -> Value {
        let mut info = json!({"username": self.name});
        if !self.uid.is_empty() {
            info["uid"] = json!(self.uid);
        }
        if !self.groups.is_empty() {
            info["groups"] = json!(self.groups);
        }
        if !self.extra.is_empty() {
            info["extra"] = json!(self.extra);
        }
        info
    }
}

/// The groups that a namespace's ServiceAccounts are in.
fn account_groups(namespace: &str) -> Vec<String> {
    vec!["system:serviceaccounts".to_owned(), format!("system:serviceaccounts:{namespace}")]
}

/// Who a request is from, if they may send it. Errors: 401, 403; 400 for half an impersonation.
pub(crate) fn admit(world: &World, request: &Request, target: &Target) -> Result<User, Refusal> {
    let mut user = authenticate(world, request)?;
    let attributes = attributes(request, target);
    if let Some(other) = impersonate::wanted(request)? {
        if world.authorization == Authorization::Rbac {
            impersonate::check(world, &user, &other, &attributes)?;
        }
        user = impersonate::complete(other);
    }
    if world.authorization == Authorization::Rbac
        && let Decision::NoOpinion(why) = rbac::decide(world, &user, &attributes)
    {
        return Err(refusal(&user, &attributes, &why));
    }
    Ok(user)
}

/// A certificate that counts comes before a token; one that does not is overlooked if a token counts
/// (`kubeapiserver/authenticator.Config.New`: a union of both, and nobody is anonymous who tried to be somebody).
///
/// Errors: 401 for a certificate that does not count, or a token that is nobody's where that counts.
fn authenticate(world: &World, request: &Request) -> Result<User, Refusal> {
    let unauthorized = || Refusal::new(401, "Unauthorized", "Unauthorized");
    let strict = world.asks_for_credentials && request.author.actor == Actor::User;
    let shown = request.certificates.as_ref();
    let known = shown.map_or(Ok(None), |shown| x509::whose(world, shown));
    if let Ok(Some(user)) = known {
        return Ok(user);
    }
    let header = request.header("authorization");
    let Some(given) = header.strip_prefix("Bearer ").map(str::trim) else {
        return match known {
            Err(_) => Err(unauthorized()),
            Ok(_) if request.author.actor.is_subject() => Ok(User::anonymous()),
            Ok(_) if strict && OPEN.contains(&&*request.path) => Ok(User::anonymous()),
            Ok(_) if strict => Err(unauthorized()),
            Ok(_) => Ok(User::admin()),
        };
    };
    match whose(world, given, &[token::ISSUER.to_owned()]) {
        Ok((user, _)) => Ok(user),
        // Kubeconfigs of users' own go on working where nobody is refused.
        Err(_) if world.authorization == Authorization::AlwaysAllow && !strict => Ok(User::admin()),
        Err(_) => Err(unauthorized()),
    }
}

/// Whose a token is, and for which of the audiences that are wanted. Errors: what upstream says to one that is
/// nobody's.
pub(crate) fn whose(
    world: &World,
    given: &str,
    wanted: &[String],
) -> Result<(User, Vec<String>), String> {
    const INVALID: &str = "invalid bearer token";
    if given == &*world.admin_token {
        return Ok((User::admin(), wanted.to_vec()));
    }
    let claims = token::read(world, given).ok_or(INVALID)?;
    let common: Vec<String> =
        claims.audiences.iter().filter(|audience| wanted.contains(audience)).cloned().collect();
    if common.is_empty() {
        return Err(format!(
            "[{INVALID}, token audiences {:?} is invalid for the target audiences {wanted:?}]",
            claims.audiences
        ));
    }
    Ok((claims.user(), common))
}

/// What a request asks for (`RequestInfoFactory`).
fn attributes(request: &Request, target: &Target) -> Attributes {
    let route = match target {
        Target::Other(_) => {
            return Attributes {
                verb: request.method.as_str().to_lowercase(),
                path: request.path.clone(),
                ..Attributes::default()
            };
        }
        Target::Resource(route) => route,
    };
    let verb = route::verb(&request.method, route, request.flag("watch"));
    let mut name = route.name.clone();
    if name.is_empty() && matches!(verb, Some(Verb::List | Verb::Watch | Verb::DeleteCollection)) {
        let fields = Fields::parse(request.query("fieldSelector"), |_| None).unwrap_or_default();
        name = fields.demanded("metadata.name").unwrap_or("").to_owned();
    }
    // A namespace lies in itself.
    let own = route.resource == "namespaces" && route.group.is_empty();
    let namespace = if own { &route.name } else { &route.namespace };
    Attributes {
        verb: verb.map_or_else(|| request.method.as_str().to_lowercase(), |verb| verb.to_string()),
        group: route.group.clone(),
        resource: route.resource.clone(),
        subresource: route.subresource.clone(),
        namespace: namespace.clone(),
        name,
        path: String::new(),
    }
}

/// The refusal of a request (`responsewriters.Forbidden`).
fn refusal(user: &User, attributes: &Attributes, why: &str) -> Refusal {
    let mut text = format!("User {:?} {}", user.name, attributes.cannot());
    if !why.is_empty() {
        text.push_str(": ");
        text.push_str(why);
    }
    if !attributes.path.is_empty() {
        return Refusal::new(403, "Forbidden", format!("forbidden: {text}"));
    }
    Refusal::forbidden(&attributes.served(), &attributes.name, &text)
}
