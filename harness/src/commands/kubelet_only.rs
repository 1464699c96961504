//! `trommel serve --kubelet-only`: stages as an ordinary client of any cluster, in real time.
//!
//! It looks after nodes with the annotation `kwok.x-k8s.io/node: fake`, those that it registers itself among them, and
//! the pods that are bound to them; nodes of others are left alone. Each of its nodes holds its lease. Stages are played
//! one after the other; the types that the user's files say nothing of live by [`stages::defaults`].
//!
//! What its own write answered is what it knows from then on; what a watch tells of an older revision is late.

mod client;
mod surroundings;

use std::{
    collections::{BTreeMap, BTreeSet},
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;
use stages::{Action, Look, Schedule, stages::nodes, stages::pods};
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, timeout_at},
};
use trace::{ObjectKey, Time};

use crate::{
    config::read_stages,
    exit::{Exit, Expected},
    providers::{client_files::real_now, remote::access::Access},
    stdout,
};
use client::{Client, Heard, Sent};
use surroundings::Around;
pub use surroundings::node;

/// By which a node says that it is looked after here; kwok's own.
pub const ANNOTATION: &str = "kwok.x-k8s.io/node";
/// Half of a lease's life is left when it is renewed, or more (kubelet: a quarter of 40 s).
const RENEWED: Duration = Duration::from_secs(10);
/// First back-off of a write that the cluster was too busy for; each further time doubles it, up to 32 minutes.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Looks after a cluster until SIGINT or SIGTERM. When its nodes are there, one line on stdout says so.
///
/// # Errors
/// A kubeconfig or stage file that is wrong, a cluster that does not answer.
pub fn run(kubeconfig: &Path, stage_files: &[PathBuf], nodes: u32) -> anyhow::Result<Exit> {
    let defaults = stages::defaults::stages()?;
    let stages = read_stages(stage_files)?.unwrap_or_default().or(defaults);
    let access = Access::read_any(kubeconfig, None)?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // The watches are tasks beside it, on this thread.
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        let mut kubelet = Kubelet::new(Client::new(access.upstream()?), Schedule::new(Arc::new(stages)));
        kubelet.register(nodes).await?;
        eprintln!(
            "trommel: {nodes} nodes on {} until SIGINT or SIGTERM; then they stay, without a kubelet",
            access.server()
        );
        stdout::write(&format!("export KUBECONFIG={}\n", std::path::absolute(kubeconfig)?.display()));
        tokio::select! {
            _ = interrupt.recv() => Ok(Exit::Clean),
            _ = terminate.recv() => Ok(Exit::Clean),
            ended = kubelet.live() => Err(ended),
        }
    })
}

/// All that it knows.
struct Kubelet {
    client: Client,
    schedule: Schedule,
    /// Its nodes, and all pods, as of their newest revision.
    objects: BTreeMap<ObjectKey, Value>,
    due: BTreeSet<(Time, ObjectKey)>,
    times: BTreeMap<ObjectKey, Time>,
    /// What is left of stages whose writes are to be tried again, and how often they were.
    retries: BTreeMap<ObjectKey, (Vec<Action>, u32)>,
    /// When leases are to be renewed.
    renewal: Time,
    start: Time,
    /// How many addresses were given to pods.
    addresses: u32,
    told: BTreeSet<String>,
}

impl Kubelet {
    fn new(client: Client, schedule: Schedule) -> Kubelet {
        Kubelet {
            client,
            schedule,
            objects: BTreeMap::new(),
            due: BTreeSet::new(),
            times: BTreeMap::new(),
            retries: BTreeMap::new(),
            renewal: real_now(),
            start: real_now(),
            addresses: 0,
            told: BTreeSet::new(),
        }
    }

    /// Makes the nodes that are not there yet, as a kubelet does: with what they have, not ready.
    async fn register(&self, count: u32) -> anyhow::Result<()> {
        for number in 0..count {
            let node = surroundings::node(number);
            match self.client.send("POST", "/api/v1/nodes", "application/json", &node).await? {
                (201 | 409, _) => {}
                (code, answer) => {
                    let message = format!("a node was refused: {code} {}", answer["message"]);
                    return Err(Expected::error(Exit::Environment, message));
                }
            }
        }
        Ok(())
    }

    /// Never ends but by what can't go on.
    async fn live(&mut self) -> anyhow::Error {
        let mut heard = self.client.watch();
        loop {
            let now = real_now();
            if now >= self.renewal {
                self.renew_leases().await;
                self.renewal = real_now().plus(RENEWED);
            }
            if let Some((at, key)) = self.due.first().cloned().filter(|(at, _)| *at <= now) {
                self.due.remove(&(at, key.clone()));
                self.times.remove(&key);
                self.act(&key).await;
                continue;
            }
            let next = self.due.first().map_or(self.renewal, |(at, _)| (*at).min(self.renewal));
            let wake = Instant::now() + next.since(real_now());
            match timeout_at(wake, heard.recv()).await {
                Ok(Some(heard)) => self.hear(heard),
                Ok(None) => {
                    return Expected::error(Exit::Environment, "the watches ended".to_owned());
                }
                Err(_) => {} // something is due
            }
        }
    }

    fn hear(&mut self, heard: Heard) {
        match heard {
            Heard::All(resource, objects) => {
                let there: BTreeSet<ObjectKey> =
                    objects.iter().map(|object| client::key(&resource, object)).collect();
                let known = self.objects.keys().filter(|key| key.resource == resource);
                let gone: Vec<_> = known.filter(|key| !there.contains(*key)).cloned().collect();
                gone.iter().for_each(|key| self.forget(key));
                for object in objects {
                    self.see(client::key(&resource, &object), object);
                }
            }
            Heard::Changed(resource, object) => self.see(client::key(&resource, &object), object),
            Heard::Gone(resource, object) => {
                let key = client::key(&resource, &object);
                if !self.knows_newer(&key, &object) {
                    self.forget(&key);
                }
            }
        }
    }

    fn knows_newer(&self, key: &ObjectKey, object: &Value) -> bool {
        let revision = |object: &Value| -> u64 {
            let text = object["metadata"]["resourceVersion"].as_str().unwrap_or("");
            text.parse().unwrap_or(0)
        };
        self.objects.get(key).is_some_and(|known| revision(known) > revision(object))
    }

    fn see(&mut self, key: ObjectKey, object: Value) {
        if self.knows_newer(&key, &object) {
            return;
        }
        if key.resource == nodes() {
            if object["metadata"]["annotations"][ANNOTATION] != "fake" {
                return self.forget(&key);
            }
            if !self.objects.contains_key(&key) {
                self.renewal = real_now();
                // Those that were bound to it before it came.
                let bound = |pod: &Value| pod["spec"]["nodeName"].as_str() == Some(&key.name);
                let pods = self.objects.iter().filter(|(_, pod)| bound(pod));
                for pod in pods.map(|(key, _)| key.clone()).collect::<Vec<_>>() {
                    self.set_timer(pod, real_now());
                }
            }
        }
        self.objects.insert(key.clone(), object);
        self.set_timer(key, real_now());
    }

    fn forget(&mut self, key: &ObjectKey) {
        self.objects.remove(key);
        self.retries.remove(key);
        self.schedule.forget(key);
        if let Some(at) = self.times.remove(key) {
            self.due.remove(&(at, key.clone()));
        }
    }

    fn set_timer(&mut self, key: ObjectKey, at: Time) {
        if let Some(old) = self.times.insert(key.clone(), at) {
            self.due.remove(&(old, key.clone()));
        }
        self.due.insert((at, key));
    }

    /// Does what is due for an object.
    async fn act(&mut self, key: &ObjectKey) {
        let Some(object) = self.objects.get(key).cloned() else { return };
        if key.resource == pods() {
            let node = object["spec"]["nodeName"].as_str().unwrap_or("");
            if !self.objects.contains_key(&ObjectKey::new(nodes(), "", node)) {
                return;
            }
        }
        let now = real_now();
        let who = || object["metadata"]["uid"].as_str().unwrap_or("").to_owned();
        match self.schedule.look(key, &object, now, &who) {
            Look::Wait(left) => self.set_timer(key.clone(), now.plus(left)),
            Look::Rest => {
                // Nothing new: what is left of the last stage.
                if let Some((actions, again)) = self.retries.remove(key) {
                    self.play(key, &object, actions, again).await;
                }
            }
            Look::Play(stage) => {
                self.retries.remove(key);
                let schedule = self.schedule.clone();
                let (objects, start) = (&self.objects, self.start);
                let mut around = Around { objects, now, start, addresses: &mut self.addresses };
                match schedule.stages().actions(&key.resource, stage, &object, &mut around) {
                    Ok(actions) => self.play(key, &object, actions, 0).await,
                    Err(failure) => self.tell(format!("{key}: {failure}")),
                }
            }
        }
    }

    async fn play(&mut self, key: &ObjectKey, object: &Value, actions: Vec<Action>, again: u32) {
        let mut left = actions.into_iter();
        while let Some(action) = left.next() {
            match self.client.play(key, object, &action, real_now()).await {
                Sent::Object(object) => self.see(key.clone(), object),
                Sent::Done => {}
                // Gone, or changed: what is there now gets its own turn.
                Sent::Refused(404 | 409, _) => return,
                Sent::Refused(code, message) => {
                    return self.tell(format!("{key}: a stage was refused: {code} {message}"));
                }
                Sent::Busy(why) => {
                    self.tell(format!("{key}: {why}; tried again"));
                    let after = FIRST_RETRY * 2u32.saturating_pow(again.min(11));
                    let rest = [action].into_iter().chain(left).collect();
                    self.retries.insert(key.clone(), (rest, again + 1));
                    return self.set_timer(key.clone(), real_now().plus(after));
                }
            }
        }
    }

    /// On stderr, each once.
    fn tell(&mut self, what: String) {
        if self.told.insert(what.clone()) {
            eprintln!("trommel: {what}");
        }
    }

    async fn renew_leases(&mut self) {
        let known = self.objects.iter().filter(|(key, _)| key.resource == nodes());
        let leases: Vec<Value> = known.map(|(key, node)| surroundings::lease(key, node)).collect();
        for lease in leases {
            if let Err(error) = self.client.renew(&lease).await {
                self.tell(format!("a lease was not renewed: {error:#}"));
            }
        }
    }
}
