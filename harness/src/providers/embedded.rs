//! A trial's fork of the embedded world, live in this process.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, OnceLock},
    time::Instant,
};

use cluster::{Clock, Server, SuffixOrder, World};
use trace::{Answer, Call, Event, Flight, Recorder, history::Sink};

use crate::{
    campaign::setup::Setup,
    providers::user_listener::UserListener,
    trial::{Start, TrialSpec, history_file},
};

/// A live fork.
pub struct Live {
    /// It.
    pub server: Server,
    recorder: Recorder,
    user_listener: Option<UserListener>,
}

impl Live {
    /// Forks the start of the trial, with name suffixes of its repeat, and puts it to work.
    pub fn open(
        setup: &Setup,
        first: &World,
        spec: &TrialSpec,
        folder: &Path,
    ) -> anyhow::Result<(Live, Recorder)> {
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
        Ok((Live { server, recorder: recorder.clone(), user_listener: None }, recorder))
    }

    /// A write changed the store if the store recorded a commit for it that is no heartbeat: those are not counted
    /// where moments are found.
    pub fn change_detector(&self) -> super::ChangeDetector {
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
    pub fn user_kubeconfig(&mut self, setup: &Setup, folder: &Path) -> anyhow::Result<PathBuf> {
        UserListener::once(&mut self.user_listener, &self.server.service(), setup, folder)
    }

    /// What is under way between programs of the workload and the world.
    pub fn user_flight(&self) -> Flight {
        UserListener::flight(self.user_listener.as_ref())
    }
}

/// A server whose commits are recorded, stamped with its world's clock.
fn recorded(world: World, sink: Option<Box<Sink>>) -> (Server, Recorder) {
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

/// The world's objects in key order, without Leases and Events.
pub fn without_bookkeeping(world: &World) -> Vec<Arc<serde_json::Value>> {
    let objects = world.objects().filter(|(key, _)| !key.resource.is_bookkeeping());
    objects.map(|(_, object)| object.clone()).collect()
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
