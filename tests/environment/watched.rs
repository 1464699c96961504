//! What happened in a scenario's namespace, change by change, as watches tell it on both arms.
//!
//! A watch gives every revision, so nothing between two looks is lost. The real cluster is watched all the time, every
//! type by one stream for all scenarios (its watch cache forgets after a minute or so); the embedded one is asked at any
//! time, since its worlds remember all that ever happened, and so do forks of them. Revisions count writes of all types,
//! so they also put changes of different objects in order.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::JoinHandle,
};

use cluster::{Body, Upstream};
use futures::{FutureExt, executor::block_on};
use http_body_util::BodyExt;
use serde_json::Value;
use tokio::sync::oneshot;
use trace::Change;
use trommel_tests::real::Access;

use crate::arm::{Arm, Embedded, Real, request, runtime};

/// A type that is watched.
#[derive(Debug, Clone, Copy)]
pub struct Type {
    /// Its plural.
    pub of: &'static str,
    /// The path of its version.
    version: &'static str,
    /// Where a scenario's objects are.
    place: Place,
}

/// See [`Type::place`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In its namespace.
    Namespace,
    /// Nowhere, but they have its name as a label.
    Label,
    /// It is the namespace.
    Itself,
}

const fn namespaced(of: &'static str, version: &'static str) -> Type {
    Type { of, version, place: Place::Namespace }
}

/// All of them.
pub static TYPES: [Type; 12] = [
    namespaced("configmaps", "/api/v1"),
    Type { of: "namespaces", version: "/api/v1", place: Place::Itself },
    namespaced("pods", "/api/v1"),
    namespaced("replicationcontrollers", "/api/v1"),
    namespaced("persistentvolumeclaims", "/api/v1"),
    Type { of: "persistentvolumes", version: "/api/v1", place: Place::Label },
    namespaced("replicasets", "/apis/apps/v1"),
    namespaced("deployments", "/apis/apps/v1"),
    namespaced("statefulsets", "/apis/apps/v1"),
    namespaced("daemonsets", "/apis/apps/v1"),
    namespaced("jobs", "/apis/batch/v1"),
    Type {
        of: "certificatesigningrequests",
        version: "/apis/certificates.k8s.io/v1",
        place: Place::Label,
    },
];

/// Those that scenarios of owners have to do with.
pub fn of_owners() -> &'static [Type] {
    &TYPES[..2]
}

impl Type {
    fn path(self) -> String {
        format!("{}/{}", self.version, self.of)
    }

    /// Where a scenario's objects are listed.
    fn list(self, namespace: &str) -> String {
        match self.place {
            Place::Namespace => format!("{}/namespaces/{namespace}/{}", self.version, self.of),
            Place::Label => format!("{}?labelSelector=scenario%3D{namespace}", self.path()),
            Place::Itself => format!("{}?fieldSelector=metadata.name%3D{namespace}", self.path()),
        }
    }

    /// Whose object it is.
    fn scenario(self, object: &Value) -> &str {
        let metadata = &object["metadata"];
        let found = match self.place {
            Place::Namespace => &metadata["namespace"],
            Place::Label => &metadata["labels"]["scenario"],
            Place::Itself => &metadata["name"],
        };
        found.as_str().unwrap_or("")
    }
}

/// One change of an object.
#[derive(Debug, Clone)]
pub struct Happened {
    /// Which write of all it was.
    pub revision: u64,
    /// The plural of the object's type.
    pub of: &'static str,
    pub change: Change,
    /// The object after it, or as it was when it went.
    pub object: Value,
}

/// The uid of an object.
pub fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or("")
}

fn revision(object: &Value) -> u64 {
    let text = object["metadata"]["resourceVersion"].as_str();
    text.and_then(|text| text.parse().ok()).expect("a revision is a number")
}

/// What a line of a watch says; a bookmark says no more than where it is.
fn read(of: &'static str, line: &[u8]) -> Result<Happened, u64> {
    let mut event: Value = serde_json::from_slice(line).expect("a watch speaks JSON");
    let change = match event["type"].as_str() {
        Some("ADDED") => Change::Created,
        Some("MODIFIED") => Change::Updated,
        Some("DELETED") => Change::Deleted,
        Some("BOOKMARK") => return Err(revision(&event["object"])),
        _ => panic!("a watch of {of} ends with {event}"),
    };
    let mut object = event["object"].take();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        metadata.remove("managedFields"); // nobody looks at it, and much is kept
    }
    Ok(Happened { revision: revision(&object), of, change, object })
}

/// Lines out of pieces.
#[derive(Default)]
struct Lines(Vec<u8>);

impl Lines {
    /// Those that end in this piece.
    fn ended_by(&mut self, piece: &[u8]) -> Vec<Vec<u8>> {
        let mut ended = Vec::new();
        for byte in piece {
            match byte {
                b'\n' => ended.push(std::mem::take(&mut self.0)),
                other => self.0.push(*other),
            }
        }
        ended.retain(|line| !line.is_empty());
        ended
    }
}

/// What happened there in the embedded cluster, from its beginning on.
pub fn in_embedded(embedded: &Embedded, types: &[Type], namespace: &str) -> Vec<Arc<Happened>> {
    let all = types.iter().flat_map(|one| {
        // A world begins at revision 1, and forgets nothing.
        let path = format!("{}?watch=1&resourceVersion=1", one.path());
        let answer = block_on(request(embedded.0.service(), "GET", &path, None));
        let found = all_there_is(answer.into_body(), one.of);
        found.into_iter().filter(move |event| one.scenario(&event.object) == namespace)
    });
    let mut all: Vec<Arc<Happened>> = all.map(Arc::new).collect();
    all.sort_by_key(|event| event.revision);
    all
}

/// What a watch has to say without waiting.
fn all_there_is(mut body: Body, of: &'static str) -> Vec<Happened> {
    let (mut lines, mut found) = (Lines::default(), Vec::new());
    while let Some(Some(Ok(frame))) = body.frame().now_or_never() {
        if let Ok(piece) = frame.into_data() {
            found.extend(lines.ended_by(&piece).iter().filter_map(|line| read(of, line).ok()));
        }
    }
    found
}

/// Scenario → what happened there.
type Log = BTreeMap<String, Vec<Arc<Happened>>>;

/// Watches of the real cluster; they end when this is dropped.
pub struct Watched {
    log: Arc<Mutex<Log>>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Watched {
    /// Returns when everything that happens from now on will be told.
    pub fn start(access: &Access) -> Watched {
        let (runtime, upstream) = (runtime(), access.upstream());
        let from: Vec<u64> =
            TYPES.iter().map(|one| runtime.block_on(now(*one, upstream.clone()))).collect();
        let (stop, stopped) = oneshot::channel::<()>();
        let log = Arc::<Mutex<Log>>::default();
        let kept = log.clone();
        let thread = std::thread::spawn(move || {
            let watches = TYPES.iter().zip(from);
            let watches = watches.map(|(one, from)| follow(*one, upstream.clone(), from, &kept));
            let watches = futures::future::join_all(watches);
            runtime.block_on(async {
                tokio::select! {
                    _ = watches => {}
                    _ = stopped => {}
                }
            });
        });
        Watched { log, stop: Some(stop), thread: Some(thread) }
    }

    /// What happened in a scenario, as far as it was told.
    fn told(&self, namespace: &str) -> Vec<Arc<Happened>> {
        let mut told = lock(&self.log).get(namespace).cloned().unwrap_or_default();
        told.sort_by_key(|event| event.revision); // streams come side by side
        told
    }

    /// What happened in a scenario until now; nothing while the watches have not yet told all of it.
    pub fn until_now(&self, real: &Real, namespace: &str) -> Option<Vec<Arc<Happened>>> {
        let lists: Vec<String> = TYPES.iter().map(|one| one.list(namespace)).collect();
        let lists = real.get_all(&lists);
        let told = self.told(namespace);
        tells_of(&told, &lists).then_some(told)
    }

    /// Forgets a scenario that is over.
    pub fn forget(&self, namespace: &str) {
        lock(&self.log).remove(namespace);
    }
}

impl Drop for Watched {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // Where it has failed, it has said so.
            drop(thread.join());
        }
    }
}

/// The log, even where a thread failed while it had it: entries are whole.
fn lock(log: &Mutex<Log>) -> MutexGuard<'_, Log> {
    log.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The newest revision of a type.
async fn now(one: Type, upstream: Upstream) -> u64 {
    let answer = request(upstream, "GET", &format!("{}?limit=1", one.path()), None).await;
    let bytes = answer.into_body().collect().await.expect("a body").to_bytes();
    revision(&serde_json::from_slice(&bytes).expect("a list is JSON"))
}

/// Watches a type for ever; a server ends each watch some time.
async fn follow(one: Type, upstream: Upstream, mut from: u64, log: &Mutex<Log>) {
    loop {
        let path = one.path();
        let path = format!("{path}?watch=1&allowWatchBookmarks=true&resourceVersion={from}");
        let answer = request(upstream.clone(), "GET", &path, None).await;
        assert!(answer.status().is_success(), "{path}: {}", answer.status());
        let (mut body, mut lines) = (answer.into_body(), Lines::default());
        while let Some(Ok(frame)) = body.frame().await {
            let Ok(piece) = frame.into_data() else { continue };
            for line in lines.ended_by(&piece) {
                from = match read(one.of, &line) {
                    Err(bookmark) => bookmark,
                    Ok(event) => keep(one, event, log),
                };
            }
        }
    }
}

/// Its revision.
fn keep(one: Type, event: Happened, log: &Mutex<Log>) -> u64 {
    let (revision, scenario) = (event.revision, one.scenario(&event.object).to_owned());
    if !scenario.is_empty() {
        lock(log).entry(scenario).or_default().push(Arc::new(event));
    }
    revision
}

/// Whether these changes lead to these lists, or further.
fn tells_of(told: &[Arc<Happened>], lists: &[Value]) -> bool {
    let mut last: BTreeMap<&str, &Happened> = BTreeMap::new();
    for event in told {
        last.insert(uid(&event.object), event);
    }
    let listed: Vec<&Value> =
        lists.iter().flat_map(|list| list["items"].as_array().into_iter().flatten()).collect();
    let newest = listed.iter().map(|object| revision(object)).max().unwrap_or(0);
    let knows = |object: &&Value| {
        last.get(uid(object)).is_some_and(|event| event.revision >= revision(object))
    };
    // Whatever is alive here and not listed came after the lists, or its end has not been told yet.
    let is_listed = |event: &&Happened| {
        event.change == Change::Deleted
            || event.revision > newest
            || listed.iter().any(|object| uid(object) == uid(&event.object))
    };
    listed.iter().all(knows) && last.values().all(is_listed)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn lines_come_in_pieces() {
        let mut lines = Lines::default();
        assert_eq!(lines.ended_by(b"a"), Vec::<Vec<u8>>::new());
        assert_eq!(lines.ended_by(b"b\n\nc\nd"), [b"ab".to_vec(), b"c".to_vec()]);
        assert_eq!(lines.ended_by(b"\n"), [b"d".to_vec()]);
    }

    #[test]
    fn a_world_tells_all_that_happened_and_so_do_its_forks() {
        let embedded = Embedded::new();
        embedded.make_namespace("n");
        embedded.make_namespace("other");
        let map = json!({"metadata": {"name": "m", "labels": {"of": "1"}}});
        embedded.must("POST", "/api/v1/namespaces/n/configmaps", Some(map.clone()));
        embedded.must("POST", "/api/v1/namespaces/other/configmaps", Some(map));
        let patch = json!({"metadata": {"labels": {"of": "2"}}});
        embedded.must("PATCH", "/api/v1/namespaces/n/configmaps/m", Some(patch));
        let fork = embedded.fork();
        fork.must("DELETE", "/api/v1/namespaces/n/configmaps/m", None);
        let told = |of: &Embedded| -> Vec<(Change, Value)> {
            let events = in_embedded(of, &TYPES, "n");
            let ours = events.iter().filter(|event| event.object["metadata"]["name"] == "m");
            ours.map(|event| (event.change, event.object["metadata"]["labels"]["of"].clone()))
                .collect()
        };
        let (first, second) = ((Change::Created, json!("1")), (Change::Updated, json!("2")));
        assert_eq!(told(&embedded), [first.clone(), second.clone()]);
        assert_eq!(told(&fork), [first, second, (Change::Deleted, json!("2"))]);
    }

    #[test]
    fn a_log_that_lags_behind_is_not_used() {
        let object = |uid: &str, revision: u64| json!({"metadata": {"uid": uid, "resourceVersion": revision.to_string()}});
        let event = |uid: &str, revision: u64, change| {
            Arc::new(Happened { revision, of: "pods", change, object: object(uid, revision) })
        };
        let lists = [json!({"items": [object("a", 5)]})];
        let check = |told: &[Arc<Happened>], expect| assert_eq!(tells_of(told, &lists), expect);
        let (old, new) = (event("a", 4, Change::Created), event("a", 5, Change::Updated));
        check(&[], false);
        check(std::slice::from_ref(&old), false);
        check(&[old.clone(), new.clone()], true);
        // One that is gone by now.
        check(&[event("b", 3, Change::Created), old.clone(), new.clone()], false);
        check(
            &[
                event("b", 3, Change::Created),
                old.clone(),
                new.clone(),
                event("b", 6, Change::Deleted),
            ],
            true,
        );
        // One that came after the list.
        check(&[old, new, event("b", 6, Change::Created)], true);
    }
}
