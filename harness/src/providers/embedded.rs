//! The embedded world, and a trial's fork of it, live in this process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Instant,
};

use cluster::{Clock, Server, SuffixOrder, World};
use futures::future::{LocalBoxFuture, ready};
use trace::{Answer, Call, Event, Flight, Recorder, Revision, Time, history::Sink};

use crate::{
    campaign::setup::Setup,
    providers::{
        ChangeDetector, Keyed, LiveCluster, Opened, Provider, user_listener::UserListener,
    },
    trial::{Start, TrialSpec, history_file},
};

/// Each trial runs on its own fork of this world: manifests applied, nothing else.
pub struct Embedded(pub World);

impl Provider for Embedded {
    fn open<'a>(
        &'a self,
        setup: &'a Setup,
        spec: &'a TrialSpec,
        folder: &'a Path,
    ) -> LocalBoxFuture<'a, anyhow::Result<Opened>> {
        Box::pin(ready(Live::open(setup, &self.0, spec, folder)))
    }

    fn version(&self) -> String {
        format!("v1.{}", self.0.release().minor())
    }

    fn world(&self) -> Option<&World> {
        Some(&self.0)
    }

    fn draws_by_repeat(&self) -> bool {
        true
    }

    fn runs_side_by_side(&self) -> bool {
        true
    }

    fn streams_lists(&self) -> bool {
        plans::stale_read::has_watch_list(self.0.release().minor())
    }
}

/// A live fork.
struct Live {
    server: Server,
    recorder: Recorder,
    user_listener: Option<UserListener>,
}

impl Live {
    /// Forks the start of the trial, with name suffixes of its repeat, and puts it to work.
    fn open(
        setup: &Setup,
        first: &World,
        spec: &TrialSpec,
        folder: &Path,
    ) -> anyhow::Result<Opened> {
        let mut world = match &spec.start {
            Start::Beginning => first.clone(),
            Start::Fork(fork) => fork.world.clone(),
        };
        let order = if spec.repeat.is_multiple_of(2) {
            SuffixOrder::Ascending
        } else {
            SuffixOrder::Descending
        };
        world.reseed(spec.repeat, order);
        let file = setup.writes_history_of(spec).then(|| folder.join(history_file::NAME));
        let about = history_file::about(setup, spec);
        let sink = file.map(|file| history_file::sink(&file, about)).transpose()?;
        let (server, recorder) = recorded(world, sink);
        let live = Live { server, recorder: recorder.clone(), user_listener: None };
        Ok((Box::new(live), recorder))
    }
}

impl LiveCluster for Live {
    fn upstream_for_subject(&self) -> proxy::Upstream {
        self.server.service()
    }

    fn upstream_for_user(&self) -> workloads::Upstream {
        self.server.service()
    }

    fn now(&self) -> Time {
        self.server.now()
    }

    fn revision(&self) -> Revision {
        self.server.revision()
    }

    fn state(&self) -> Vec<Keyed> {
        let world = self.server.world();
        world.objects().map(|(key, object)| (key.clone(), object.clone())).collect()
    }

    /// Without Leases and Events.
    fn settled_state(&self) -> Vec<Arc<serde_json::Value>> {
        let world = self.server.world();
        let objects = world.objects().filter(|(key, _)| !key.resource.is_bookkeeping());
        objects.map(|(_, object)| object.clone()).collect()
    }

    /// A write changed the store if the store recorded a commit for it that is no heartbeat: those are not counted
    /// where moments are found.
    fn change_detector(&self) -> ChangeDetector {
        let recorder = self.recorder.clone();
        Box::new(move |call: &Call, _: &Answer| {
            recorder.with(|history| {
                // The commit was recorded between the call and now: look from the end.
                let recent = history.records.iter().rev();
                let since_call = recent.take_while(
                    |record| !matches!(&record.event, Event::Call(other) if other.id == call.id),
                );
                since_call.into_iter().any(|record| match &record.event {
                    Event::Commit(commit) => commit.call == Some(call.id) && !commit.heartbeat,
                    _ => false,
                })
            })
        })
    }

    /// Opens a listener for script and command steps, once.
    fn user_kubeconfig(&mut self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf> {
        UserListener::once(&mut self.user_listener, &self.server.service(), setup, folder)
    }

    fn user_flight(&self) -> Flight {
        UserListener::flight(self.user_listener.as_ref())
    }

    fn server(&self) -> Option<Server> {
        Some(self.server.clone())
    }

    fn advance_to(&self, time: Time) {
        self.server.advance_to(time);
    }

    fn next_timer(&self) -> Option<Time> {
        let ends = self.server.next_watch_end();
        self.server.next_timer().into_iter().chain(ends).min()
    }

    fn undelivered(&self) -> usize {
        self.server.undelivered()
    }
}

/// A server whose commits are recorded, stamped with its world's clock.
pub fn recorded(world: World, sink: Option<Box<Sink>>) -> (Server, Recorder) {
    let clock: Arc<OnceLock<Clock>> = Arc::default();
    let (start, began, reader) = (world.now(), Instant::now(), clock.clone());
    let clocks = move || {
        let now = reader.get().map_or(start, Clock::now);
        (now, began.elapsed().as_micros() as u64)
    };
    let recorder = Recorder::new(Arc::new(clocks), sink);
    let server = Server::new(world, Some(recorder.clone()));
    // The server holds the recorder: were it the server that the recorder holds, neither would ever be freed.
    drop(clock.set(server.clock()));
    (server, recorder)
}

#[cfg(test)]
mod tests {
    use cluster::WorldOptions;
    use serde_json::json;
    use trace::{GroupResource, ObjectKey, Time};

    use super::*;
    use crate::providers::webhooks::SubjectCaller;

    #[tokio::test]
    async fn nothing_of_a_trial_outlives_it() {
        let options = WorldOptions { start: Time(0), seed: 1, suffixes: SuffixOrder::Ascending };
        let (server, recorder) = recorded(World::new(options), None);
        let user = workloads::Client::new(server.service());
        server.call_webhooks_by(Arc::new(SubjectCaller::new(server.clock())));
        let configmaps = user.resource("v1", "ConfigMap").await.expect("it is served");
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "one"}});
        user.create(&configmaps, "default", &object, "").await.expect("created");
        let key = ObjectKey::new(GroupResource::new("", "configmaps"), "default", "one");
        let created = server.world().object(&key).map(Arc::downgrade).expect("it is there");
        drop((user, server, recorder));
        assert!(created.upgrade().is_none());
    }
}
