//! `authorizer` (`k8s.io/apiserver/pkg/cel/library/authz.go`): expressions ask whether whoever sent a request, or a
//! ServiceAccount, may do something. What answers is what answers requests: everyone may do everything, or RBAC.
//!
//! Neither of the two looks at selectors, so `fieldSelector` and `labelSelector` change no answer, and neither fails,
//! so no decision is `errored`. Two such values are compared by what they are; upstream has no such comparison, and
//! its error decides. Who could notice: an expression that compares `authorizer` with something.

use std::sync::Arc;

use kube_cel::cel::{
    Context, ExecutionError, ResolveResult, Value as Cel, extractors::This, objects::Opaque,
};

use crate::{
    auth::User,
    rbac::{self, Attributes, Decision},
    verbs::{label_problem, subdomain_problem},
    world::World,
};

/// The type of `authorizer`, and of `authorizer.requestResource`.
pub(super) const TYPE: &str = "kubernetes.authorization.Authorizer";
pub(super) const RESOURCE_TYPE: &str = "kubernetes.authorization.ResourceCheck";

/// Methods of a check of a resource that say more of what is asked about.
const REFINED: [&str; 5] = ["subresource", "namespace", "name", "fieldSelector", "labelSelector"];

/// Somebody who is asked about, in a world as it is.
#[derive(Debug, Clone)]
pub(crate) struct Asker {
    world: Arc<World>,
    user: Arc<User>,
}

impl PartialEq for Asker {
    fn eq(&self, other: &Asker) -> bool {
        Arc::ptr_eq(&self.world, &other.world) && self.user == other.user
    }
}

impl Eq for Asker {}

impl Asker {
    pub(crate) fn new(world: World, user: User) -> Asker {
        Asker { world: Arc::new(world), user: Arc::new(user) }
    }

    /// The value of `authorizer`.
    pub(super) fn value(&self) -> Cel {
        Check::Authorizer(self.clone()).value()
    }

    /// The value of `authorizer.requestResource`, a check of `asked`.
    pub(super) fn resource(&self, asked: Attributes) -> Cel {
        Check::Resource(self.clone(), asked).value()
    }
}

/// Values that have methods and nothing else.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Check {
    Authorizer(Asker),
    Path(Asker, String),
    Group(Asker, String),
    Resource(Asker, Attributes),
    Decision(Decision),
}

impl Opaque for Check {
    fn runtime_type_name(&self) -> &str {
        match self {
            Check::Authorizer(_) => TYPE,
            Check::Path(..) => "kubernetes.authorization.PathCheck",
            Check::Group(..) => "kubernetes.authorization.GroupCheck",
            Check::Resource(..) => RESOURCE_TYPE,
            Check::Decision(_) => "kubernetes.authorization.Decision",
        }
    }
}

impl Check {
    fn value(self) -> Cel {
        Cel::Opaque(Arc::new(self))
    }

    fn of(value: &Cel) -> Option<&Check> {
        match value {
            Cel::Opaque(opaque) => opaque.downcast_ref(),
            _ => None,
        }
    }
}

/// Adds the methods.
pub(super) fn register(context: &mut Context<'static>) {
    context.add_function("path", path);
    context.add_function("group", group);
    context.add_function("serviceAccount", service_account);
    context.add_function("resource", resource);
    for field in REFINED {
        context.add_function(
            field,
            move |This(of): This<Cel>, text: Arc<String>| -> ResolveResult {
                refined(&of, field, &text)
            },
        );
    }
    context.add_function("check", check);
    context.add_function("allowed", allowed);
    context.add_function("reason", reason);
    context.add_function("errored", errored);
    context.add_function("error", error);
}

fn refused(function: &str, why: &str) -> ResolveResult {
    Err(ExecutionError::function_error(function, why))
}

fn path(This(of): This<Cel>, path: Arc<String>) -> ResolveResult {
    let Some(Check::Authorizer(asker)) = Check::of(&of) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    match path.trim() {
        "" => refused("path", "path must not be empty"),
        _ => Ok(Check::Path(asker.clone(), (*path).clone()).value()),
    }
}

fn group(This(of): This<Cel>, group: Arc<String>) -> ResolveResult {
    match Check::of(&of) {
        Some(Check::Authorizer(asker)) => Ok(Check::Group(asker.clone(), (*group).clone()).value()),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn service_account(
    This(of): This<Cel>,
    namespace: Arc<String>,
    name: Arc<String>,
) -> ResolveResult {
    let Some(Check::Authorizer(asker)) = Check::of(&of) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    if subdomain_problem(&name).is_some() {
        return refused("serviceAccount", "Invalid service account name");
    }
    if label_problem(&namespace).is_some() {
        return refused("serviceAccount", "Invalid service account namespace");
    }
    let user = Arc::new(User::named_account(&namespace, &name));
    Ok(Check::Authorizer(Asker { world: asker.world.clone(), user }).value())
}

fn resource(This(of): This<Cel>, resource: Arc<String>) -> ResolveResult {
    let Some(Check::Group(asker, group)) = Check::of(&of) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    if resource.trim().is_empty() {
        return refused("resource", "resource must not be empty");
    }
    let (group, resource) = (group.clone(), (*resource).clone());
    let asked = Attributes { group, resource, ..Attributes::default() };
    Ok(asker.resource(asked))
}

/// See [`REFINED`].
fn refined(of: &Cel, field: &str, text: &str) -> ResolveResult {
    let Some(Check::Resource(asker, asked)) = Check::of(of) else {
        return Err(ExecutionError::NoSuchOverload);
    };
    let mut asked = asked.clone();
    match field {
        "subresource" => asked.subresource = text.to_owned(),
        "namespace" => asked.namespace = text.to_owned(),
        "name" => asked.name = text.to_owned(),
        _ => {}
    }
    Ok(asker.resource(asked))
}

fn check(This(of): This<Cel>, verb: Arc<String>) -> ResolveResult {
    let (asker, asked) = match Check::of(&of) {
        Some(Check::Path(asker, path)) => {
            (asker, Attributes { path: path.clone(), ..Attributes::default() })
        }
        Some(Check::Resource(asker, asked)) => (asker, asked.clone()),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let asked = Attributes { verb: (*verb).clone(), ..asked };
    Ok(Check::Decision(rbac::authorize(&asker.world, &asker.user, &asked)).value())
}

fn decision(of: &Cel) -> Result<&Decision, ExecutionError> {
    match Check::of(of) {
        Some(Check::Decision(decision)) => Ok(decision),
        _ => Err(ExecutionError::NoSuchOverload),
    }
}

fn allowed(This(of): This<Cel>) -> ResolveResult {
    Ok(Cel::Bool(matches!(decision(&of)?, Decision::Allowed(_))))
}

fn reason(This(of): This<Cel>) -> ResolveResult {
    let (Decision::Allowed(why) | Decision::NoOpinion(why)) = decision(&of)?;
    Ok(Cel::String(Arc::new(why.clone())))
}

fn errored(This(of): This<Cel>) -> ResolveResult {
    decision(&of).map(|_| Cel::Bool(false))
}

fn error(This(of): This<Cel>) -> ResolveResult {
    decision(&of).map(|_| Cel::String(Arc::default()))
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};
    use trace::{GroupResource, ObjectKey, Time};

    use super::*;
    use crate::{
        Authorization, SuffixOrder, WorldOptions,
        cel::{Question, Variables},
    };

    fn put(world: &mut World, resource: &str, namespace: &str, object: Value) {
        let resource = GroupResource::new(rbac::GROUP, resource);
        let name = object["metadata"]["name"].as_str().expect("a name").to_owned();
        world.put(ObjectKey::new(resource, namespace, &name), object);
    }

    /// `jane` and the account `a/robot` may do something.
    fn world() -> World {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let mut world = World::new(options);
        world.authorization = Authorization::Rbac;
        let rules = json!([
            {"verbs": ["create"], "apiGroups": [""], "resources": ["pods", "pods/log"]},
            {"verbs": ["get"], "nonResourceURLs": ["/healthz"]},
        ]);
        put(&mut world, "clusterroles", "", json!({"metadata": {"name": "some"}, "rules": rules}));
        let role = json!({"apiGroup": rbac::GROUP, "kind": "ClusterRole", "name": "some"});
        let jane = json!([{"kind": "User", "name": "jane"}]);
        put(
            &mut world,
            "clusterrolebindings",
            "",
            json!({"metadata": {"name": "jane"}, "subjects": jane, "roleRef": role}),
        );
        let accounts = json!([{"kind": "Group", "name": "system:serviceaccounts:a"}]);
        put(
            &mut world,
            "rolebindings",
            "a",
            json!({"metadata": {"name": "all"}, "subjects": accounts, "roleRef": role}),
        );
        world
    }

    fn variables(world: World, user: &str) -> Variables {
        let user = User { name: user.to_owned(), ..User::default() };
        let resource = Attributes {
            resource: "pods".to_owned(),
            namespace: "a".to_owned(),
            name: "x".to_owned(),
            ..Attributes::default()
        };
        let mut variables = Variables::of(&json!({"object": {"verb": "create"}}));
        variables.authorize(&Asker::new(world, user), resource);
        variables
    }

    #[test]
    fn permissions_are_those_of_rbac() {
        let variables = variables(world(), "jane");
        let check = |source: &str, expect: Result<bool, &str>| {
            let held = Question::compile(source).and_then(|question| question.holds(&variables));
            assert_eq!(held, expect.map_err(str::to_owned), "{source}");
        };
        check("authorizer.group('').resource('pods').check('create').allowed()", Ok(true));
        check("authorizer.group('').resource('pods').check('delete').allowed()", Ok(false));
        check("authorizer.group('apps').resource('pods').check('create').allowed()", Ok(false));
        check(
            "authorizer.group('').resource('pods').subresource('log').namespace('b').name('x').check(object.verb)\
             .allowed()",
            Ok(true),
        );
        check(
            "authorizer.group('').resource('pods').subresource('exec').check('create').reason() == ''",
            Ok(true),
        );
        check("authorizer.path('/healthz').check('get').allowed()", Ok(true));
        check("authorizer.path('/healthz').check('post').errored()", Ok(false));
        check("authorizer.path('/x').check('get').error() == ''", Ok(true));
        check("authorizer.requestResource.check('create').allowed()", Ok(true));
        check(
            "authorizer.requestResource.subresource('status').check('create').allowed()",
            Ok(false),
        );
        check(
            "authorizer.requestResource.fieldSelector('a=').labelSelector('!').check('create').allowed()",
            Ok(true),
        );
        check(
            "authorizer.requestResource.check('create').reason() == 'RBAC: allowed by ClusterRoleBinding \"jane\" of \
             ClusterRole \"some\" to User \"jane\"'",
            Ok(true),
        );
        let robot = "authorizer.serviceAccount('a', 'robot').group('').resource('pods')";
        check(&format!("{robot}.namespace('a').check('create').allowed()"), Ok(true));
        check(&format!("{robot}.check('create').allowed()"), Ok(false));
        check("authorizer.path(' ').check('get').allowed()", Err("path must not be empty"));
        check(
            "authorizer.group('').resource('').check('get').allowed()",
            Err("resource must not be empty"),
        );
        let why = "Invalid service account name";
        check("authorizer.serviceAccount('a', 'A').path('/').check('get').allowed()", Err(why));
        let why = "Invalid service account namespace";
        check("authorizer.serviceAccount('a.b', 'a').path('/').check('get').allowed()", Err(why));
        check("dyn(object).check('get').allowed()", Err("no such overload"));
    }

    #[test]
    fn without_rbac_everyone_may() {
        let mut world = world();
        world.authorization = Authorization::AlwaysAllow;
        let variables = variables(world, "nobody");
        let source = "authorizer.group('x').resource('y').check('z').allowed() && \
                      authorizer.path('/x').check('get').reason() == ''";
        let held = Question::compile(source).and_then(|question| question.holds(&variables));
        assert_eq!(held, Ok(true));
    }

    #[test]
    fn a_policys_variables_hold_checks() {
        let mut variables = variables(world(), "jane");
        let compile = |source: &str| Question::of_policy(source, false);
        variables.compose("pods", compile("authorizer.group('').resource('pods')"));
        variables.compose("may", compile("variables.pods.check('create')"));
        let held = compile("variables.may.allowed() && !variables.pods.check('get').allowed()")
            .and_then(|question| question.holds(&variables));
        assert_eq!(held, Ok(true));
    }

    #[test]
    fn expressions_that_do_not_fit_are_refused() {
        let check = |found: Result<Question, String>, expect: &str| {
            assert_eq!(found.map(|_| ()), Err(expect.to_owned()));
        };
        check(
            Question::compile("authorizer.allowed()"),
            "ERROR: <input>:1:19: found no matching overload for 'allowed' applied to \
             'kubernetes.authorization.Authorizer.()'\n | authorizer.allowed()\n | ..................^",
        );
        check(
            Question::compile("authorizer.nothing"),
            "ERROR: <input>:1:11: unexpected failed resolution of 'kubernetes.authorization.Authorizer'\n | \
             authorizer.nothing\n | ..........^",
        );
        check(
            Question::of_message("authorizer.path('/').check('get').reason()", false),
            "ERROR: <input>:1:1: undeclared reference to 'authorizer' (in container '')\n | \
             authorizer.path('/').check('get').reason()\n | ^",
        );
        let wrong =
            Question::compile("authorizer.requestResource.check('get')").expect("it compiles");
        assert_eq!(wrong.result(), "kubernetes.authorization.Decision");
        assert!(!wrong.results_in("bool"));
    }
}
