//! The kubelets of single nodes, which know what they run.
//!
//! A kubelet for all nodes (`ClientSetup::node` none) goes by what is stored alone. That of one node acts on the pods bound
//! to it in what it reads, and keeps which pods run there, by name and uid: whenever it reads, it starts what is new and
//! ends what is gone, being deleted, or at its end; what it tells the API server is what the controller tells. When it
//! starts again its containers are gone, and its Node object with it (Themelios' `NodeRestart`: the node was away for
//! long enough); then the node joins again. As long as it reads of no Node it only joins.

use std::sync::Arc;

use controllers::{Body, Request, request::PodState};
use serde_json::Value;
use trace::ObjectKey;

use super::{
    history::Read,
    kinds::{KindId, node_key},
    looks::{Asked, Candidate},
    setup::{complete, key_of},
    state::{Client, Running, State},
    store::Store,
    system::{Action, Cluster},
    words,
};

/// A kubelet starts and ends pods, with nothing to tell.
#[derive(Debug, PartialEq, Eq)]
pub struct Sync {
    /// Which kubelet: its place in the setup.
    pub client: u16,
    /// What it reads.
    pub read: Read,
    /// All this, in words.
    pub told: Arc<str>,
}

impl Cluster {
    /// With which keys the kubelet of a node would begin something on a store, of all those with which one for all nodes
    /// would.
    pub(super) fn of_node(
        &self,
        node: &str,
        store: &Store,
        all: &[Arc<Candidate>],
    ) -> Vec<Arc<Candidate>> {
        if store.id(&self.objects, &node_key(node)).is_none() {
            return self.join(node).into_iter().collect();
        }
        let own = |one: &&Arc<Candidate>| match one.key.resource == KindId::NODE.resource() {
            true => *one.key.name == *node,
            false => self.bound_to(store, &one.key).is_some_and(|bound| *bound == *node),
        };
        all.iter().filter(own).cloned().collect()
    }

    fn bound_to<'s>(&'s self, store: &Store, key: &ObjectKey) -> Option<&'s str> {
        match &store.get(&self.objects, key)?.seen()?.body {
            Body::Pod(pod) => Some(&pod.node),
            _ => None,
        }
    }

    /// The node's first registration, as it was set up.
    fn join(&self, node: &str) -> Option<Arc<Candidate>> {
        let key = node_key(node);
        let of = |object: &&Value| key_of(object).is_ok_and(|found| found == key);
        let mut object = complete(&key, self.setup.objects.iter().find(of)?);
        if let Some(metadata) = object["metadata"].as_object_mut() {
            metadata.remove("uid");
        }
        let first = Asked::of(Request::Create { key: key.clone(), object: Box::new(object) });
        Some(Arc::new(Candidate { key: Arc::new(key), first }))
    }

    /// The pods that the kubelet of a node runs once it has read a store; none if it reads of no such node.
    pub(super) fn runs(&self, node: &str, store: &Store) -> Option<Vec<Running>> {
        store.id(&self.objects, &node_key(node))?;
        let pods = store.of_kind(&self.objects, KindId::POD);
        let runs = pods.filter_map(|(_, stored)| {
            let seen = stored.seen()?;
            let Body::Pod(pod) = &seen.body else { return None };
            let runs = *pod.node == *node && !seen.meta.is_deleted() && !pod.has_ended();
            runs.then(|| Running { key: stored.key.clone(), uid: (*seen.meta.uid).into() })
        });
        Some(runs.collect())
    }

    /// What a kubelet runs after it has read a store and sent a request.
    pub(super) fn runs_after(
        &self,
        node: &str,
        client: &Client,
        store: &Store,
        sent: &Request,
    ) -> Arc<[Running]> {
        let Some(mut runs) = self.runs(node, store) else { return client.runs.clone() };
        if let Request::PodPhase { key, state, .. } = sent
            && matches!(state, PodState::Ended { again: None, .. } | PodState::TooLong { .. })
        {
            runs.retain(|run| run.key != *key);
        }
        match *runs == *client.runs {
            true => client.runs.clone(),
            false => runs.into(),
        }
    }

    /// Starting and ending pods where there is nothing to tell.
    pub(super) fn sync(
        &self,
        node: &str,
        at: u16,
        client: &Client,
        (read, store): (&Read, &Store),
    ) -> Option<Action> {
        let runs = self.runs(node, store)?;
        if *runs == *client.runs {
            return None;
        }
        let differing = |verb: &str, these: &[Running], those: &[Running]| -> Vec<String> {
            let new = these.iter().filter(|run| !those.contains(run));
            new.map(|run| format!("{verb} {}", words::name(&run.key))).collect()
        };
        let what = [differing("end", &client.runs, &runs), differing("start", &runs, &client.runs)];
        let told = format!("{}: {}", self.client(at).name, what.concat().join(", ")).into();
        Some(Action::Syncs(Arc::new(Sync { client: at, read: read.clone(), told })))
    }

    /// The state after a kubelet started and ended pods.
    pub(super) fn synced(&self, state: &State, sync: &Sync) -> State {
        let at = usize::from(sync.client);
        let mut clients = state.clients.to_vec();
        let store = state.history.store(&self.objects, &sync.read);
        let client = &mut clients[at];
        if let Some(node) = &self.client(sync.client).node
            && let Some(runs) = self.runs(node, &store)
        {
            client.runs = runs.into();
        }
        client.read = self.reader(state, sync.client).after(&state.history, &sync.read);
        State { clients: clients.into(), ..state.clone() }
    }
}

#[cfg(test)]
mod tests;
