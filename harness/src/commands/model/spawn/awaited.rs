//! What a controller has to have seen before it looks again: its own writes.
//!
//! A controller that decides by caches which do not show its last write makes pods twice. Upstream has expectations for
//! that in some controllers, an "assumed" pod in the scheduler, and since Kubernetes 1.36 stores of the revisions that
//! were written (`pkg/controller/util/consistency`, KEP-5647: revisions of a type can be compared). Here it is one rule for
//! all: **a controller begins with a key only when the watch of each type that it wrote to has reached the revision of the
//! write.** That waits for the whole controller, not for the key: the scheduler places a pod by where it put the others.
//! Each controller works on one key at a time, so it waits for one round of watch events between two reconciles: some
//! milliseconds.
//!
//! Where the answer carries no revision, the effect itself is waited for. Where nobody knows whether a write was carried
//! out (no answer, or a 5xx), its type is listed anew first.

use controllers::{Body, Object, object::Text};
use trace::{GroupResource, ObjectKey, Revision};

use super::cache::Cache;

/// One thing that is to be seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Awaited {
    /// A revision of a type.
    Reached(GroupResource, Revision),
    /// That the object of this uid is gone.
    Gone(ObjectKey, Text),
    /// That an object is gone, or on its way.
    Leaving(ObjectKey),
    /// That the pod of this uid has a node, or is gone.
    Bound(ObjectKey, Text),
    /// All that there is of a type at this moment.
    Newest(GroupResource),
}

impl Awaited {
    /// Whether it is seen. What is not watched is nothing to wait for.
    pub fn is_seen(&self, cache: &Cache) -> bool {
        let holds = |key: &ObjectKey, holds: &dyn Fn(&Object) -> bool| {
            cache.reached(&key.resource).is_none() || cache.view.get(key).is_none_or(holds)
        };
        match self {
            Awaited::Reached(resource, revision) => {
                cache.reached(resource).is_none_or(|reached| reached >= *revision)
            }
            Awaited::Gone(key, uid) => holds(key, &|object| object.meta.uid != *uid),
            Awaited::Leaving(key) => holds(key, &|object| object.meta.is_deleted()),
            Awaited::Bound(key, uid) => {
                let bound = |body: &Body| matches!(body, Body::Pod(pod) if !pod.node.is_empty());
                holds(key, &|object| object.meta.uid != *uid || bound(&object.body))
            }
            Awaited::Newest(_) => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn effects_are_seen_when_the_watch_tells_of_them() {
        let pods = GroupResource::new("", "pods");
        let key = ObjectKey::new(pods.clone(), "ns", "a");
        let mut cache = Cache::default();
        let check = |cache: &Cache, expect: [bool; 4]| {
            let uid: Text = "1".into();
            let of = [
                Awaited::Reached(pods.clone(), Revision(3)),
                Awaited::Bound(key.clone(), uid.clone()),
                Awaited::Leaving(key.clone()),
                Awaited::Gone(key.clone(), uid),
            ];
            assert_eq!(of.map(|one| one.is_seen(cache)), expect);
        };
        let pod = |at: &str, more: Value, node: &str| {
            let mut pod = json!({
                "metadata": {"namespace": "ns", "name": "a", "uid": "1", "resourceVersion": at},
                "spec": {"nodeName": node},
            });
            if !more.is_null() {
                pod["metadata"]["deletionTimestamp"] = more;
            }
            pod
        };
        check(&cache, [true; 4]); // not watched
        cache.change(&key, pod("2", Value::Null, ""));
        check(&cache, [false; 4]);
        cache.change(&key, pod("3", Value::Null, "n"));
        check(&cache, [true, true, false, false]);
        cache.change(&key, pod("4", json!("2026-01-01T00:00:00Z"), "n"));
        check(&cache, [true, true, true, false]);
        cache.remove(&key, &pod("5", Value::Null, "n"));
        check(&cache, [true; 4]);
    }
}
