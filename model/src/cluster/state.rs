//! A state of a cluster: what is stored, what each client is at, and what the environment may still do.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use trace::ObjectKey;

use super::{
    api::Answer,
    history::{Cursor, History},
    looks::Asked,
    store::Store,
};

/// All that decides what can happen next.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct State {
    /// What is stored, and was.
    pub history: History,
    /// What each client is at, in the order of the setup.
    pub clients: Arc<[Client]>,
    /// What else there is.
    pub environment: Arc<Environment>,
}

impl State {
    /// What is stored.
    pub fn store(&self) -> &Store {
        self.history.head()
    }

    /// Every store that somebody knows.
    pub(super) fn known(&self) -> impl Iterator<Item = &Store> {
        let works = self.clients.iter().filter_map(|client| client.work.as_deref());
        self.history.stores().chain(works.map(|work| &work.seen))
    }
}

/// A controller that runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Client {
    /// What it read last; none when it has just started.
    pub read: Option<Cursor>,
    /// The reconcile that it is in the middle of.
    pub work: Option<Arc<Work>>,
    /// Keys that it looks at by the clock, and in how many seconds it looks at them next; those that are not here, at
    /// once.
    pub due: Arc<[(ObjectKey, u32)]>,
    /// Of the kubelet of one node: the pods that it runs, by namespace, name and uid.
    pub runs: Arc<[Running]>,
}

/// A pod that a kubelet runs.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Running {
    /// The pod.
    pub key: ObjectKey,
    /// Its uid.
    pub uid: Arc<str>,
}

/// A reconcile that is not at its end.
#[derive(Debug, Clone)]
pub struct Work {
    /// Of which key.
    pub key: Arc<ObjectKey>,
    /// What was stored when it began.
    pub seen: Store,
    /// What its requests were answered with.
    pub answers: Box<[Answer]>,
    /// Its next request: follows from the others.
    pub next: Arc<Asked>,
    /// Whether that was carried out, and the answer has not arrived.
    pub sent: Option<Answer>,
}

impl PartialEq for Work {
    fn eq(&self, other: &Work) -> bool {
        (&self.key, &self.seen, &self.answers, &self.sent)
            == (&other.key, &other.seen, &other.answers, &other.sent)
    }
}

impl Eq for Work {}

impl Hash for Work {
    fn hash<H: Hasher>(&self, state: &mut H) {
        (&self.key, &self.seen, &self.answers, &self.sent).hash(state);
    }
}

/// What the environment may still do, and what was seen of the run.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Environment {
    /// What is left of the budgets.
    pub budgets: Budgets,
    /// How far each event is, in the order of the setup.
    pub events: Box<[u64]>,
    /// What monitors keep of the run so far, in the order of the setup.
    pub monitors: Box<[u64]>,
    /// How many seconds may still pass; none if time has no end.
    pub seconds: Option<u32>,
}

/// How often something may still go wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Budgets {
    /// A controller dies between two requests of a reconcile, and starts again.
    pub crashes: u8,
    /// A controller starts again between two reconciles.
    pub restarts: u8,
    /// A request is refused with 409 though nobody else wrote.
    pub conflicts: u8,
    /// A request is carried out, and the client learns nothing of it.
    pub lost_answers: u8,
    /// A controller falls behind, where one alone may be ([`super::Setup::one_behind`]).
    pub lags: u8,
}
