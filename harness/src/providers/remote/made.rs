//! What a campaign makes and writes in a cluster that others use, too: only that is judged, and only that is removed.
//!
//! An object is the campaign's if one of its clients created it: the user, the subject, Trommel for the manifests. So is
//! everything in a namespace of the campaign's, and what the cluster's own controllers make of its objects: what has
//! one of them as an owner, a claim of its StatefulSets, the volume of its claim, the Endpoints of its Service. Whatever
//! else appears meanwhile is somebody else's.
//!
//! Objects that were there before and that a client wrote are judged, and stay.

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use futures::future::BoxFuture;
use http::{Method, Request, Response};
use http_body_util::{BodyExt, Full};
use proxy::{Body, Codec, Target, Upstream};
use serde_json::Value;
use tower::{ServiceExt, util::BoxCloneSyncService};
use trace::{Actor, GroupResource, ObjectKey, Revision};

use super::{Keyed, lock::Lock, uid};
use crate::providers::codec::ClusterCodec;

/// Shared by all that look at one cluster.
#[derive(Clone, Default)]
pub struct Made(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    /// Objects that clients created: uid → where.
    created: BTreeMap<String, ObjectKey>,
    /// Paths of those that no list shows: Leases and Events.
    bookkeeping: BTreeSet<String>,
    /// Objects that clients wrote, were about to write, or deleted.
    written: BTreeSet<ObjectKey>,
    /// Uids of the subject's own manifests: they, and what follows from them, are not judged.
    apart: BTreeSet<String>,
    /// What is known of everything that was seen: uid → what it may follow from.
    follows: BTreeMap<String, Vec<String>>,
    /// By whom the store was brought to a revision, and who deleted what, the last time.
    writes: BTreeMap<Revision, Actor>,
    deletions: BTreeMap<ObjectKey, Actor>,
}

impl Made {
    /// The same server, with note taken of what clients do. Requests without an actor are Trommel's own.
    pub fn noting(&self, upstream: Upstream, lock: Option<Lock>) -> Upstream {
        let made = self.clone();
        BoxCloneSyncService::new(tower::service_fn(move |request: Request<Body>| {
            let (made, upstream, lock) = (made.clone(), upstream.clone(), lock.clone());
            made.pass(upstream, lock, request)
        }))
    }

    async fn pass(
        self,
        upstream: Upstream,
        lock: Option<Lock>,
        request: Request<Body>,
    ) -> Result<Response<Body>, proxy::Error> {
        let Some(write) = Write::of(&request) else { return forward(upstream, request).await };
        let request = match (&lock, write.creates()) {
            (Some(lock), true) => lock.announce(&write.target, request).await?,
            _ => request,
        };
        self.about_to(&write);
        let (head, body) = forward(upstream, request).await?.into_parts();
        if !head.status.is_success() {
            return Ok(Response::from_parts(head, body));
        }
        let bytes = body.collect().await?.to_bytes();
        let media = head.headers.get(http::header::CONTENT_TYPE);
        let media = media.and_then(|value| value.to_str().ok()).unwrap_or_default();
        let object = ClusterCodec.decode(media, &bytes).unwrap_or(Value::Null);
        self.done(&write, head.status == http::StatusCode::CREATED, &object);
        Ok(Response::from_parts(head, whole(bytes)))
    }

    fn about_to(&self, write: &Write) {
        if let Some(key) = write.key(&Value::Null) {
            self.state().written.insert(key);
        }
    }

    /// A write was answered with this object, or with something else.
    fn done(&self, write: &Write, created: bool, answer: &Value) {
        let mut state = self.state();
        let is_object = write.target.subresource.is_empty() && uid(answer).is_some();
        let key = write.key(answer);
        if let (Some(key), Some(uid), true) = (&key, uid(answer), is_object && created) {
            if key.resource.is_bookkeeping() {
                state.bookkeeping.insert(write.object_path(&key.name));
            }
            state.created.insert(uid, key.clone());
        }
        if let Some(revision) = answer["metadata"]["resourceVersion"].as_str()
            && let Some(revision) = Revision::parse(revision)
        {
            state.writes.insert(revision, write.actor.clone());
        }
        if let (true, Some(key)) = (write.method == Method::DELETE, key) {
            state.deletions.insert(key, write.actor.clone());
        }
    }

    /// Calls an object its own that a dead campaign made, and that is found at this path.
    pub fn adopt(&self, key: &ObjectKey, uid: &str, path: String) {
        let mut state = self.state();
        if key.resource.is_bookkeeping() {
            state.bookkeeping.insert(path);
        }
        state.created.insert(uid.to_owned(), key.clone());
        if let Some(name) = named(key) {
            state.follows.entry(name).or_default().push(uid.to_owned());
        }
    }

    /// Takes note of an object, whosever it is.
    pub fn saw(&self, key: &ObjectKey, object: &Value) {
        let Some(uid) = uid(object) else { return };
        let causes = causes(key, object);
        let mut state = self.state();
        let known = state.follows.entry(uid).or_default();
        for cause in causes {
            if !known.contains(&cause) {
                known.push(cause);
            }
        }
        // Names lead to uids: what follows from a Service or a StatefulSet says no more than its name.
        if let Some(name) = named(key) {
            let uid = self::uid(object).unwrap_or_default();
            state.follows.entry(name).or_default().push(uid);
        }
    }

    /// Whether a client wrote it, or was about to.
    fn wrote(&self, key: &ObjectKey) -> bool {
        self.state().written.contains(key)
    }

    /// Whether it is the campaign's own. It must have been [seen](Made::saw).
    pub fn is_own(&self, key: &ObjectKey, object: &Value) -> bool {
        let state = self.state();
        let own = uid(object).is_some_and(|uid| state.is_own(&uid));
        own || state.own_namespace(key).is_some()
    }

    /// Whether the campaign is about it: it is its own, or the user or the subject wrote it.
    pub fn concerns(&self, key: &ObjectKey, object: &Value) -> bool {
        self.wrote(key) || (self.is_own(key, object) && !self.is_apart(key, object))
    }

    /// Uids of all objects that clients created.
    pub fn created(&self) -> BTreeSet<String> {
        self.state().created.keys().cloned().collect()
    }

    /// What was created since then is the subject's own: its Deployment, its rights.
    pub fn set_apart(&self, before: &BTreeSet<String>) {
        let mut state = self.state();
        let State { created, apart, .. } = &mut *state;
        apart.extend(created.keys().filter(|uid| !before.contains(*uid)).cloned());
    }

    /// Whether it is one of the subject's manifests, or the cluster made it of one: a pod of its Deployment.
    pub fn is_apart(&self, key: &ObjectKey, object: &Value) -> bool {
        let state = self.state();
        let Some(uid) = uid(object) else { return false };
        if !state.apart.contains(&uid) && state.created.contains_key(&uid) {
            return false;
        }
        let namespace = state.own_namespace(key);
        let in_namespace = namespace.is_some_and(|uid| state.apart.contains(uid));
        in_namespace || state.follows_from(&uid, |uid| state.apart.contains(uid))
    }

    /// Those that the campaign is about.
    pub fn concerned(&self, objects: Vec<Keyed>) -> Vec<Keyed> {
        objects.iter().for_each(|(key, object)| self.saw(key, object));
        objects.into_iter().filter(|(key, object)| self.concerns(key, object)).collect()
    }

    /// Paths of its own objects that no list shows.
    pub fn bookkeeping(&self) -> Vec<String> {
        self.state().bookkeeping.iter().cloned().collect()
    }

    /// Whose write led to this revision, as far as that went through here.
    pub fn writer(&self, revision: Revision) -> Option<Actor> {
        self.state().writes.get(&revision).cloned()
    }

    /// Who deleted it, the last time.
    pub fn deleter(&self, key: &ObjectKey) -> Option<Actor> {
        self.state().deletions.get(key).cloned()
    }

    /// Forgets what trials made: all of that is gone. What was made before the first trial stays known.
    pub fn forget(&self, kept: &BTreeSet<String>) {
        let mut state = self.state();
        state.created.retain(|uid, _| kept.contains(uid));
        state.follows.retain(|uid, _| kept.contains(uid));
        state.bookkeeping.clear();
        state.written.clear();
        state.writes.clear();
        state.deletions.clear();
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn is_own(&self, uid: &str) -> bool {
        self.follows_from(uid, |uid| self.created.contains_key(uid))
    }

    /// Whether it, or the first of those that it follows from that a client created, is one of these.
    fn follows_from(&self, uid: &str, is_it: impl Fn(&str) -> bool) -> bool {
        let (mut waiting, mut seen) = (vec![uid], BTreeSet::new());
        while let Some(next) = waiting.pop() {
            if is_it(next) {
                return true;
            }
            if self.created.contains_key(next) {
                continue;
            }
            if seen.insert(next) {
                waiting.extend(self.follows.get(next).into_iter().flatten().map(String::as_str));
            }
        }
        false
    }

    /// The uid of the namespace that it is in, or is, if the campaign created that.
    fn own_namespace(&self, key: &ObjectKey) -> Option<&String> {
        let is_it = |own: &ObjectKey| {
            *own.resource.resource == *"namespaces"
                && own.resource.group.is_empty()
                && (own.name == key.namespace || own == key)
        };
        self.created.iter().find(|(_, own)| is_it(own)).map(|(uid, _)| uid)
    }
}

type Answered = BoxFuture<'static, Result<Response<Body>, proxy::Error>>;

/// Boxed, because the compiler can't follow the lifetimes of boxed errors through a task.
pub(super) fn forward(upstream: Upstream, request: Request<Body>) -> Answered {
    Box::pin(upstream.oneshot(request))
}

/// A request that writes.
struct Write {
    method: Method,
    path: String,
    target: Target,
    actor: Actor,
}

impl Write {
    fn of(request: &Request<Body>) -> Option<Write> {
        let method = request.method().clone();
        let writes = [Method::POST, Method::PUT, Method::PATCH, Method::DELETE].contains(&method);
        let dry = !proxy::request::parameters(&request.uri().to_string(), "dryRun").is_empty();
        let upgrades = request.headers().contains_key(http::header::UPGRADE);
        if !writes || dry || upgrades {
            return None;
        }
        let path = request.uri().path().to_owned();
        let target = Target::parse(method.as_str(), &path, request.uri().query());
        target.resource.as_ref()?;
        let actor = request.extensions().get::<Actor>().cloned().unwrap_or(Actor::Trommel);
        Some(Write { method, path, target, actor })
    }

    /// Whether there may be an object after it that was not there before: a POST, or an apply.
    fn creates(&self) -> bool {
        self.target.subresource.is_empty() && self.method != Method::DELETE
    }

    /// Of which object; in the answer stands the name that the server gave.
    fn key(&self, answer: &Value) -> Option<ObjectKey> {
        let resource: GroupResource = self.target.resource.clone()?;
        let given = answer["metadata"]["name"].as_str();
        let name = if self.target.name.is_empty() { given? } else { &self.target.name };
        Some(ObjectKey::new(resource, &self.target.namespace, name))
    }

    fn object_path(&self, name: &str) -> String {
        let path = self.path.trim_end_matches('/');
        if self.target.name.is_empty() { format!("{path}/{name}") } else { path.to_owned() }
    }
}

pub(super) fn whole(bytes: Bytes) -> Body {
    Full::new(bytes).map_err(|never| match never {}).boxed_unsync()
}

/// What an object may follow from: uids of its owners and of its claim, and names that lead to uids.
fn causes(key: &ObjectKey, object: &Value) -> Vec<String> {
    let metadata = &object["metadata"];
    let owners = metadata["ownerReferences"].as_array().into_iter().flatten();
    let mut causes: Vec<String> =
        owners.filter_map(|owner| Some(owner["uid"].as_str()?.into())).collect();
    let (group, resource) = (&*key.resource.group, &*key.resource.resource);
    match (group, resource) {
        // PersistentVolumes, API reference, `spec.claimRef`.
        ("", "persistentvolumes") => {
            causes.extend(object["spec"]["claimRef"]["uid"].as_str().map(str::to_owned));
        }
        ("", "endpoints") => causes.push(name_of("services", &key.namespace, &key.name)),
        // `getPersistentVolumeClaimName` of the StatefulSet controller: template, set, ordinal.
        ("", "persistentvolumeclaims") => {
            let set =
                key.name.rsplit_once('-').filter(|(_, ordinal)| ordinal.parse::<u32>().is_ok());
            let parts = set
                .into_iter()
                .flat_map(|(rest, _)| rest.match_indices('-').map(|(at, _)| &rest[at + 1..]));
            causes.extend(parts.map(|set| name_of("statefulsets", &key.namespace, set)));
        }
        _ => {}
    }
    causes
}

/// The name by which others follow from an object.
fn named(key: &ObjectKey) -> Option<String> {
    let resource = match (&*key.resource.group, &*key.resource.resource) {
        ("", "services") => "services",
        ("apps", "statefulsets") => "statefulsets",
        _ => return None,
    };
    Some(name_of(resource, &key.namespace, &key.name))
}

fn name_of(resource: &str, namespace: &str, name: &str) -> String {
    format!("{resource}/{namespace}/{name}")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object(key: &str, id: &str, more: Value) -> Keyed {
        let key: ObjectKey = key.parse().unwrap();
        let mut object =
            json!({"metadata": {"name": key.name, "namespace": key.namespace, "uid": id}});
        for (name, value) in more.as_object().unwrap() {
            object[name] = value.clone();
        }
        (key, Arc::new(object))
    }

    fn owned(key: &str, id: &str, owner: &str) -> Keyed {
        let (key, object) = object(key, id, json!({}));
        let mut object = Arc::unwrap_or_clone(object);
        object["metadata"]["ownerReferences"] = json!([{"uid": owner}]);
        (key, Arc::new(object))
    }

    fn create(made: &Made, path: &str, (_, object): &Keyed) {
        let request = Request::builder().method("POST").uri(path);
        let mut request = request.body(whole(Bytes::new())).unwrap();
        request.extensions_mut().insert(Actor::User);
        made.done(&Write::of(&request).unwrap(), true, object);
    }

    #[test]
    fn what_follows_from_own_objects_is_own_and_nothing_else() {
        let made = Made::default();
        let set = object("statefulsets.apps/default/web", "set", json!({}));
        let space = object("namespaces//mine", "space", json!({}));
        create(&made, "/apis/apps/v1/namespaces/default/statefulsets", &set);
        create(&made, "/api/v1/namespaces", &space);
        let claim = json!({"spec": {"claimRef": {"uid": "claim"}}});
        let own = [
            set,
            space,
            owned("pods/default/web-0", "pod", "set"),
            object("persistentvolumeclaims/default/data-web-0", "claim", json!({})),
            object("persistentvolumes//pv", "volume", claim),
            object("configmaps/mine/kube-root-ca.crt", "ca", json!({})),
        ];
        let others = [
            object("statefulsets.apps/default/other", "other", json!({})),
            owned("pods/default/other-0", "other pod", "other"),
            object("persistentvolumeclaims/default/data-other-0", "other claim", json!({})),
            object("persistentvolumeclaims/elsewhere/data-web-0", "far claim", json!({})),
            object("nodes//node", "node", json!({})),
        ];
        let keys = |of: &[Keyed]| of.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        let all = own.iter().chain(&others).cloned().collect();
        assert_eq!(keys(&made.concerned(all)), keys(&own));
    }

    #[test]
    fn what_belongs_to_the_subject_itself_is_own_and_not_judged() {
        let made = Made::default();
        let wanted = object("databases.example.dev/default/db", "db", json!({}));
        create(&made, "/apis/example.dev/v1/namespaces/default/databases", &wanted);
        let of_user = made.created();
        let space = object("namespaces//operators", "space", json!({}));
        let deployment = object("deployments.apps/operators/manager", "deployment", json!({}));
        create(&made, "/api/v1/namespaces", &space);
        create(&made, "/apis/apps/v1/namespaces/operators/deployments", &deployment);
        made.set_apart(&of_user);
        // The subject's own work, though it is in its namespace.
        let state = object("configmaps/operators/state", "state", json!({}));
        create(&made, "/api/v1/namespaces/operators/configmaps", &state);
        let pod = owned("pods/operators/manager-1", "pod", "deployment");
        let root = object("configmaps/operators/kube-root-ca.crt", "root", json!({}));
        let all = [&wanted, &space, &deployment, &state, &pod, &root].map(Clone::clone);
        let judged = made.concerned(all.to_vec());
        let keys = |of: &[Keyed]| of.iter().map(|(key, _)| key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&judged), keys(&[wanted, state]));
        assert!(all.iter().all(|(key, object)| made.is_own(key, object)));
    }

    #[test]
    fn what_clients_write_is_judged_and_not_own() {
        let made = Made::default();
        let (key, config) = object("configmaps/kube-system/config", "config", json!({}));
        let path = "/api/v1/namespaces/kube-system/configmaps/config";
        let request = Request::builder().method("PATCH").uri(path).body(whole(Bytes::new()));
        made.about_to(&Write::of(&request.unwrap()).unwrap());
        assert_eq!(made.concerned(vec![(key.clone(), config.clone())]).len(), 1);
        assert!(!made.is_own(&key, &config));
        let dry = Request::builder().method("POST").uri("/api/v1/namespaces?dryRun=All");
        assert!(Write::of(&dry.body(whole(Bytes::new())).unwrap()).is_none());
    }
}
