//! The verbs: what each request does to the world. Everything here runs under the server's lock, knows the
//! type it works on ([`Kind`]) and speaks JSON values; bytes are the affair of `server::answer`.

use std::sync::Arc;

use serde_json::Value;
use trace::{ObjectKey, Verb};

use crate::{
    node, rbac,
    route::Route,
    server::{Live, request::Request},
    status::Refusal,
    store::Stored,
    webhooks::Calls,
    world::kinds::Kind,
};

mod apply;
mod body;
mod containers;
mod create;
mod delete;
mod eviction;
mod identity;
mod metadata;
pub(crate) mod object;
pub(crate) mod options;
mod patch;
mod prepare;
mod read;
mod reviews;
pub(crate) mod scope;
pub mod selector;
mod size;
mod strategy;
mod subresources;
mod token;
mod update;
mod versions;
mod warnings;

pub(crate) use metadata::{
    annotation_errors, label_errors, label_value_problems, metadata_errors, qualified_name_problems,
};
pub(crate) use strategy::{
    dns_1035_problem, is_label, label_problem, path_segment_problem, subdomain_problem,
};
pub(crate) use subresources::selector_text;

/// What a verb answers with.
pub(crate) enum Payload {
    /// An object in the version that was asked for.
    Object(Arc<Value>),
    /// Objects of the type that was asked for.
    List(List),
    /// The watch of this number.
    Watch(u64),
    /// No content.
    Nothing,
    /// A log as it is, whose stream goes on until the container ends: the number by which it is followed.
    Log(Vec<u8>, Option<u64>),
    /// What a kubelet answers.
    Node(node::Reply),
}

/// A list before encoding.
pub(crate) struct List {
    pub(crate) items: Vec<Stored>,
    pub(crate) metadata: Value,
}

/// An answer before encoding.
pub(crate) struct Outcome {
    pub(crate) code: u16,
    pub(crate) payload: Payload,
    pub(crate) warnings: Vec<String>,
}

impl Outcome {
    fn object(code: u16, object: Arc<Value>) -> Outcome {
        Outcome { code, payload: Payload::Object(object), warnings: Vec::new() }
    }
}

/// One request at work.
pub(crate) struct Work<'a> {
    pub(crate) live: &'a mut Live,
    pub(crate) request: &'a Request,
    pub(crate) route: &'a Route,
    pub(crate) kind: Kind,
    pub(crate) warnings: Vec<String>,
    /// What a strict decoder finds in the bytes themselves.
    pub(crate) strict: Vec<String>,
    /// Where the body has an empty list of which storing makes none: until then it counts as a value.
    pub(crate) emptied: Vec<String>,
    /// Where the body has an empty list or map that is not stored, and which: messages about it show it.
    pub(crate) unstored: Vec<(String, Value)>,
    /// An apply has already written down who manages what.
    pub(crate) applied: bool,
    /// The kind that a custom object says it is of, if that is another than its type's.
    pub(crate) misnamed: Option<String>,
    /// Pods are sent with labels that are none, which storing takes for none at all.
    pub(crate) bare_labels: bool,
    /// The webhooks that it meets.
    pub(crate) calls: &'a mut Calls,
}

/// Carries out one request on a type that exists. Where webhooks have to be called first, `calls` says which when this
/// returns, nothing has been done, and what is returned means nothing.
pub(crate) fn carry_out(
    live: &mut Live,
    request: &Request,
    route: &Route,
    kind: Kind,
    verb: Verb,
    calls: &mut Calls,
) -> Result<Outcome, Refusal> {
    let names = live.world.names.clone();
    let mut work = Work::new(live, request, route, kind, calls);
    work.check_served(verb)?;
    if let Some(warning) = work.kind.custom().and_then(|custom| custom.deprecation.clone()) {
        work.warnings.push(warning);
    }
    work.warnings.extend(strategy::deprecation(&work.kind).map(str::to_owned));
    work.warnings.extend(work.kind.warning(work.live.world.release));
    let outcome = work.check_options(verb).and_then(|()| work.act(verb));
    let warnings = work.warnings;
    if work.calls.is_wanting() {
        work.live.world.names.give_back(&names);
    }
    match outcome {
        Ok(mut outcome) => {
            outcome.warnings.splice(0..0, warnings);
            Ok(outcome)
        }
        // A patch of a type that no handler takes comes to none, which would warn.
        Err(refusal) if refusal.code == 415 && verb == Verb::Patch => Err(refusal),
        Err(refusal) => Err(Refusal { warnings: warnings.into(), ..refusal }),
    }
}

impl<'a> Work<'a> {
    /// Of which nothing is done yet.
    fn new(
        live: &'a mut Live,
        request: &'a Request,
        route: &'a Route,
        kind: Kind,
        calls: &'a mut Calls,
    ) -> Work<'a> {
        Work {
            live,
            request,
            route,
            kind,
            warnings: Vec::new(),
            strict: Vec::new(),
            emptied: Vec::new(),
            unstored: Vec::new(),
            applied: false,
            misnamed: None,
            bare_labels: false,
            calls,
        }
    }
}

impl Work<'_> {
    fn act(&mut self, verb: Verb) -> Result<Outcome, Refusal> {
        match (verb, self.route.subresource.as_str()) {
            (Verb::Create, "") if !self.kind.is_stored() => self.review(),
            (Verb::Get | Verb::List, "") if !self.kind.is_stored() => self.computed(),
            (Verb::Get, "" | "status" | "ephemeralcontainers" | "resize" | "approval") => {
                self.get()
            }
            (Verb::Get, "scale") => self.get_scale(),
            (Verb::Update, "scale") => self.update_scale(),
            (Verb::Create, "binding") => self.bind(),
            (Verb::Create, "eviction") => self.evict(),
            (Verb::Create, "token") => self.token(),
            (Verb::Get, "log") => self.log(),
            (Verb::Get | Verb::Create, "exec" | "attach" | "portforward" | "proxy") => {
                self.connect()
            }
            (Verb::Patch, _) => self.patch(),
            (Verb::List, _) => self.list(),
            (Verb::Watch, _) => self.watch(),
            (Verb::Create, "") => self.create(),
            (
                Verb::Update,
                "" | "status" | "finalize" | "ephemeralcontainers" | "resize" | "approval",
            ) => self.update(),
            (Verb::Delete, "") => self.delete(),
            (Verb::DeleteCollection, _) => self.delete_collection(),
            _ => Err(Refusal::method_not_allowed()),
        }
    }

    /// What a write asks for beside its object; of a patch it depends on its form. Errors: 413, 422.
    fn check_options(&self, verb: Verb) -> Result<(), Refusal> {
        let connects =
            matches!(&*self.route.subresource, "exec" | "attach" | "portforward" | "proxy");
        let options = match verb {
            Verb::Create if !connects => "CreateOptions",
            Verb::Update => "UpdateOptions",
            _ => return Ok(()),
        };
        self.request.body()?;
        options::check_write(self.request, options, None)
    }

    fn check_served(&self, verb: Verb) -> Result<(), Refusal> {
        let row = self.kind.row();
        let verbs = match self.route.subresource.as_str() {
            "" => &row.verbs,
            name => match row.subresource(name) {
                Some(below) => &below.verbs,
                // The handler of custom types misses the object.
                None if self.kind.is_custom() => {
                    return Err(Refusal::not_found(&self.kind.served(), &self.route.name));
                }
                None => return Err(Refusal::no_such_path()),
            },
        };
        let wanted = verb.to_string();
        let named = !self.route.name.is_empty();
        let needs_name = matches!(verb, Verb::Update | Verb::Patch);
        let names_new = verb == Verb::Create && named && self.route.subresource.is_empty();
        match self.kind.is_custom() {
            // The router of custom types knows no methods, and who creates may name what he likes.
            true if needs_name && !named => {
                if verb == Verb::Patch {
                    self.patch_type()?;
                }
                return Err(Refusal::bad_request("name must be provided"));
            }
            false if names_new || (needs_name && !named) => {
                return Err(Refusal::method_not_allowed());
            }
            _ => {}
        }
        let scoped = row.namespaced
            && self.route.namespace.is_empty()
            && !matches!(verb, Verb::List | Verb::Watch);
        if scoped && !named {
            return Err(Refusal::method_not_allowed());
        }
        if scoped || (!row.namespaced && !self.route.namespace.is_empty()) {
            return Err(Refusal::no_such_path());
        }
        match verbs.contains(&wanted) {
            true => Ok(()),
            false => Err(Refusal::method_not_allowed()),
        }
    }

    /// Roles and bindings give nothing that their writer has not. Errors: 403.
    fn check_escalation(&self, old: Option<&Value>, new: &Value) -> Result<(), Refusal> {
        let (world, user) = (&self.live.world, &self.request.user);
        let resource = self.kind.served();
        rbac::escalation::check(world, user, &resource, &self.route.namespace, old, new)
    }

    /// The key of an object of this type in the namespace of the path.
    pub(crate) fn key(&self, name: &str) -> ObjectKey {
        ObjectKey::new(self.kind.storage.clone(), &self.route.namespace, name)
    }

    /// The stored object that the path names. Errors: 404.
    pub(crate) fn stored(&self) -> Result<Arc<Value>, Refusal> {
        let key = self.key(&self.route.name);
        self.live
            .world
            .store
            .get(&key)
            .cloned()
            .ok_or_else(|| Refusal::not_found(&self.kind.served(), &self.route.name))
    }
}
