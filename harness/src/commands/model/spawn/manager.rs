//! Watches, caches and workers put together, on one thread.
//!
//! One worker a controller, which takes its keys one after the other; the workers run side by side. Nothing acts before
//! every type was listed once, as upstream's controllers wait for their caches.

use std::{
    cell::RefCell,
    collections::{BTreeMap, BTreeSet},
    convert::Infallible,
    rc::Rc,
};

use controllers::Controller;
use serde_json::Value;
use tokio::{
    sync::{Notify, mpsc, watch},
    task::JoinSet,
};
use trace::{GroupResource, ObjectKey, Time};

use super::{
    api::Api,
    cache::Seen,
    reads::{Reads, readers, reads},
    state::State,
    types::{Type, Types},
    watches::{Heard, News, Watch},
    worker,
};
use crate::exit::{Exit, Expected};

/// Tells the time.
pub type Clock = Box<dyn Fn() -> Time>;

/// What all workers share.
pub struct Manager {
    /// The API server.
    pub api: Api,
    /// What is known.
    pub state: RefCell<State>,
    /// Tells a worker that a key may be due.
    pub work: BTreeMap<Controller, Notify>,
    /// Tells that the caches moved.
    pub moved: watch::Sender<()>,
    /// The time.
    pub now: Clock,
    controllers: BTreeSet<Controller>,
    watches: RefCell<BTreeMap<GroupResource, Watch>>,
    tell: mpsc::UnboundedSender<Heard>,
    told: RefCell<BTreeSet<String>>,
}

impl Manager {
    /// Runs controllers until something ends that should not. `root_ca` is the certificate of the API server. `ready` is called when all caches are filled. Within a
    /// `LocalSet` only.
    ///
    /// # Errors
    /// The server does not answer at the beginning, or does not let a type be listed that somebody reads.
    pub async fn run(
        api: Api,
        types: Types,
        controllers: BTreeSet<Controller>,
        (root_ca, now): (&str, Clock),
        ready: impl FnOnce(usize),
    ) -> anyhow::Result<Infallible> {
        let (tell, mut heard) = mpsc::unbounded_channel();
        let manager = Rc::new(Manager {
            api,
            state: RefCell::new(State::new(types, controllers.iter().copied(), root_ca)),
            work: controllers.iter().map(|of| (*of, Notify::new())).collect(),
            moved: watch::Sender::new(()),
            now,
            controllers,
            watches: RefCell::default(),
            tell,
            told: RefCell::default(),
        });
        manager.fill(&mut heard).await?;
        ready(manager.watches.borrow().len());
        let mut workers = JoinSet::new();
        for controller in &manager.controllers {
            workers.spawn_local(worker::work(manager.clone(), *controller));
        }
        loop {
            tokio::select! {
                Some(news) = heard.recv() => manager.hear(news),
                Some(ended) = workers.join_next() => match ended? {},
            }
        }
    }

    fn reads(&self, of: &Type) -> bool {
        of.watches && self.controllers.iter().any(|controller| reads(*controller).has(&of.resource))
    }

    /// Waits until every type that is read was listed, and puts all objects on the queues.
    async fn fill(&self, heard: &mut mpsc::UnboundedReceiver<Heard>) -> anyhow::Result<()> {
        let types = self.state.borrow().types.clone();
        types.iter().filter(|of| self.reads(of)).for_each(|of| self.watch(of));
        let is_filled = || {
            let (state, watches) = (self.state.borrow(), self.watches.borrow());
            watches.keys().all(|of| state.cache.reached(of).is_some())
        };
        while !is_filled() {
            let Some((resource, news)) = heard.recv().await else { break };
            if let News::Refused(code, why) = &news {
                return Err(self.refused(&resource, *code, why));
            }
            self.take_in(&resource, news);
        }
        let all = self.state.borrow().cache.all();
        all.iter().for_each(|seen| self.queue(seen));
        Ok(())
    }

    fn refused(&self, resource: &GroupResource, code: u16, why: &str) -> anyhow::Error {
        let readers = readers(&self.controllers, resource);
        let message = match code {
            401 | 403 => format!(
                "the user of the kubeconfig may not list and watch {resource}, which is read by {readers}: {why}. Grant it, or \
                 leave these controllers out by --controllers"
            ),
            0 => format!("the cluster does not answer: {why}"),
            code => format!("{resource} can't be listed and watched: {code} {why}"),
        };
        Expected::error(Exit::Environment, message)
    }

    fn watch(&self, of: &Type) {
        let started = Watch::start(self.api.clone(), of.clone(), self.tell.clone());
        self.watches.borrow_mut().insert(of.resource.clone(), started);
    }

    /// Has a type listed at once.
    pub fn list_anew(&self, resource: &GroupResource) {
        if let Some(watch) = self.watches.borrow().get(resource) {
            watch.begin_anew();
        }
    }

    fn hear(&self, (resource, news): Heard) {
        if let News::Refused(code, why) = &news {
            // A type that has just come, or gone, is not served for a moment.
            if !matches!(code, 404 | 429) {
                let what =
                    if *code == 0 { why.clone() } else { format!("{resource}: {code} {why}") };
                self.tell(format!("{what}; asked again"));
            }
            return;
        }
        let seen = self.take_in(&resource, news);
        seen.iter().for_each(|seen| self.queue(seen));
        self.moved.send_replace(());
    }

    fn take_in(&self, resource: &GroupResource, news: News) -> Vec<Seen> {
        let Some(of) = self.state.borrow().types.get(resource).cloned() else { return vec![] };
        let mut seen = self.state.borrow_mut().hear(&of, news);
        if *resource.resource == *"customresourcedefinitions" {
            let crds: Vec<_> = seen.iter().map(|seen| seen.key.clone()).collect();
            for key in crds {
                seen.extend(self.define(&key));
            }
        }
        seen
    }

    /// A CustomResourceDefinition has changed: its type is watched from now on, or not any more.
    fn define(&self, crd: &ObjectKey) -> Vec<Seen> {
        let Some((plural, group)) = crd.name.split_once('.') else { return vec![] };
        let resource = GroupResource::new(group, plural);
        let mut state = self.state.borrow_mut();
        let stored: Option<Value> = state.cache.object(crd).map(|object| (**object).clone());
        let changed = match &stored {
            Some(stored) => state.types.define(stored),
            None => {
                state.types.remove(&resource);
                true
            }
        };
        if !changed {
            return vec![];
        }
        state.cache.view.kinds = state.types.kinds();
        let served = state.types.get(&resource).cloned();
        let gone = if served.is_none() { state.cache.forget(&resource) } else { vec![] };
        drop(state);
        self.watches.borrow_mut().remove(&resource);
        if let Some(of) = served.filter(|of| self.reads(of)) {
            self.watch(&of);
        }
        gone
    }

    fn queue(&self, seen: &Seen) {
        for controller in self.state.borrow_mut().queue(seen, (self.now)()) {
            self.work[&controller].notify_one();
        }
    }

    /// A type, if it is watched: others have nothing to show.
    pub fn watched(&self, resource: &GroupResource) -> Option<Type> {
        let state = self.state.borrow();
        state.cache.reached(resource)?;
        state.types.get(resource).cloned()
    }

    /// Types that a controller reads and that can't be watched: metrics are made when they are asked for.
    pub fn unwatched(&self, controller: Controller) -> Vec<Type> {
        let reads = reads(controller);
        let state = self.state.borrow();
        let unwatched = state.types.iter().filter(|of| of.lists && !of.watches);
        let named = matches!(reads, Reads::These(_));
        unwatched.filter(|of| named && reads.has(&of.resource)).cloned().collect()
    }

    /// On stderr, each once.
    pub fn tell(&self, what: String) {
        if self.told.borrow_mut().insert(what.clone()) {
            eprintln!("trommel: {what}");
        }
    }
}
