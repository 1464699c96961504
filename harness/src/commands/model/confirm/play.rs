//! Plays a counterexample: an embedded API server whose only built-in controllers are kubelets, and the real programs.
//!
//! **Time is virtual**, as in a trial: it stands still while a program works, and jumps to the next timer of any of them
//! when all are quiet. What the real programs do is not forced; only users act by the file. A user is slower than they
//! are, so a step comes at a quiet moment.
//!
//! The programs look after something ten times a second for ever (kube-controller-manager's nodes), and each jump costs
//! milliseconds. So the longer nothing was written, the longer are the jumps: timers come late by a twentieth of the
//! silence, at most by two seconds, as on a busy machine.
//!
//! A run ends when all that was asked for has come, when nothing more comes, when its time is over, or when the writes go on
//! and on: controllers that fight each other may never be quiet, so writes are counted while they come.

mod waiting;
mod watchdog;

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::{Duration, Instant},
};

use cluster::{Controller, EnvironmentOptions, Server, SuffixOrder, World, WorldOptions};
use serde_json::{Value, json};
use trace::{Actor, Commit, ObjectKey, Recorder, Time};
use workloads::Client;

use crate::{
    campaign::setup::{Certificates, certificates},
    exit::{Exit, Expected},
    providers::{client_files, embedded::recorded, secret},
    trial::clocks::Following,
};

use watchdog::write;

use super::{
    act::User,
    drain::Drain,
    file::{After, Begins, Counterexample, Does, Step},
    programs::{Running, Surroundings},
    usage::{self, MetricsServer},
};

/// A world is a day ahead of this machine: programs' clocks must never lie behind it.
const AHEAD_SECONDS: i64 = 24 * 3600;

/// Nothing was written for so long: the controllers have nothing more to do. Longer than an autoscaler's period.
const STABLE: Duration = Duration::from_secs(30);

/// What was played.
#[derive(Clone)]
pub struct Played {
    /// All objects when the run began.
    pub start: Vec<(ObjectKey, Arc<Value>)>,
    /// What was written since, with its time since then.
    pub commits: Vec<(Duration, Commit)>,
    /// How it ended.
    pub ending: Ending,
    /// How many steps of the file were done.
    pub steps: usize,
    /// How long it was, by the controllers' clock.
    pub took: Duration,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ending {
    /// All that was waited for has come.
    Enough,
    /// Nothing more came.
    Settled,
    /// Its time was over.
    TimeOver,
    /// The writes went on and on.
    Restless,
    /// It could not be played to its end: why.
    Broken(String),
}

/// A run can't go on.
enum Over {
    Ends(Ending),
    Failed(anyhow::Error),
}

impl<E: Into<anyhow::Error>> From<E> for Over {
    fn from(error: E) -> Over {
        Over::Failed(error.into())
    }
}

/// Nodes as their manifests say they are: admission takes new ones for not ready (`TaintNodesByCondition`), and the node
/// lifecycle controller would let them in one by one, while pods are placed already.
async fn untaint(client: &Client, objects: &[Value]) -> Result<(), workloads::ClientError> {
    for object in objects.iter().filter(|object| object["kind"] == "Node") {
        let nodes = client.resource("v1", "Node").await?;
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        let patch = json!({"spec": {"taints": object["spec"]["taints"]}});
        client.merge_patch(&nodes, "", (name, ""), &patch, "").await?;
    }
    Ok(())
}

struct Player<'a> {
    file: (&'a Path, &'a Counterexample),
    server: Server,
    recorder: Recorder,
    following: Following<String>,
    programs: Vec<Running>,
    metrics: MetricsServer,
    user: User,
    drain: Drain,
    until: Instant,
    /// Position of the record with which the run begins, and when that was.
    began: (usize, Time),
    /// The same of the last step.
    stepped: (usize, Time),
    /// When the next step comes, if its time is known.
    due: Time,
    /// Steps that were done.
    steps: usize,
    /// All objects when it began.
    start: Vec<(ObjectKey, Arc<Value>)>,
    /// Whether it may end, though it goes on.
    enough: &'a dyn Fn(&Played) -> bool,
}

/// Plays it, in the folder, with these programs, at most so long by this machine's clock, or until it is
/// `enough`.
///
/// # Errors
/// A program is missing, an object or step is refused (exit 64); the machine fails.
pub fn play(
    file: (&Path, &Counterexample),
    programs: &dyn Fn(&str) -> PathBuf,
    folder: &Path,
    patience: Duration,
    enough: &dyn Fn(&Played) -> bool,
) -> anyhow::Result<Played> {
    let able = subject::probe();
    for ability in [&able.namespaces, &able.jump] {
        if let Err(why) = &ability.result {
            let message =
                format!("the real programs need {}: {why}; {}", ability.name, ability.fix);
            return Err(Expected::error(Exit::Environment, message));
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let (certificates, token) = (certificates(true)?, secret::token()?);
        let mut player =
            Player::set_up(file, &certificates, &token, (Instant::now() + patience, enough))
                .await?;
        let played = player.run(programs, folder, &certificates, &token).await;
        let ending = match played {
            Ok(ending) | Err(Over::Ends(ending)) => ending,
            Err(Over::Failed(error)) => {
                player.end().await;
                return Err(error);
            }
        };
        let played = player.so_far(ending);
        player.end().await;
        Ok(played)
    })
}

impl<'a> Player<'a> {
    async fn set_up(
        file: (&'a Path, &'a Counterexample),
        certificates: &Certificates,
        token: &str,
        (until, enough): (Instant, &'a dyn Fn(&Played) -> bool),
    ) -> anyhow::Result<Player<'a>> {
        let start = Time((client_files::real_now().seconds() + AHEAD_SECONDS) * 1_000_000_000);
        let options = WorldOptions { start, seed: 0, suffixes: SuffixOrder::Ascending };
        let mut world = World::new(options);
        world.set_admin_token(token);
        world.start_environment(&EnvironmentOptions {
            controllers: vec![Controller::Kubelet, Controller::Provisioner],
            nodes: 0,
            root_ca: certificates.authority_pem.clone(),
            stages: None,
            paces: vec![],
            order: vec![],
            answers: Arc::default(),
            events: false,
        });
        let (server, recorder) = recorded(world, None);
        let (path, spec) = file;
        let objects: Vec<Value> = spec.objects.iter().map(|object| object.value.clone()).collect();
        let installer = Client::as_actor(server.service(), Actor::Trommel);
        let uses = |step: &Step| matches!(step.does(), Ok(Does::Use(_)));
        if !spec.usage.is_empty() || spec.steps.iter().any(|step| uses(&step.value)) {
            workloads::apply_manifests(&installer, &[usage::definition()]).await?;
        }
        workloads::apply_manifests(&installer, &objects).await.map_err(|error| {
            spec.objects[error.index].error(path, &format!("the API server refuses it: {error}"))
        })?;
        untaint(&installer, &objects).await?;
        let metrics = MetricsServer::new(&server, spec.usage.clone());
        let user = User::new(Client::new(server.service()), &objects);
        Ok(Player {
            file,
            following: Following::new(Some(server.clone())),
            programs: vec![],
            metrics,
            user,
            drain: Drain::new(Client::new(server.service())),
            until,
            began: (0, server.now()),
            stepped: (0, server.now()),
            due: Time(i64::MIN),
            steps: 0,
            start: vec![],
            enough,
            server,
            recorder,
        })
    }

    async fn run(
        &mut self,
        programs: &dyn Fn(&str) -> PathBuf,
        folder: &Path,
        certificates: &Certificates,
        token: &str,
    ) -> Result<Ending, Over> {
        let (_, spec) = self.file;
        self.server.run_environment()?;
        if spec.begins == Begins::AtOnce {
            self.begin();
        }
        for (name, program) in &spec.programs.value {
            let around = Surroundings {
                folder,
                certificates,
                token,
                server: &self.server,
                following: &self.following,
            };
            let running = Running::start((name, &programs(name)), program, &around)?;
            self.programs.push(running);
            self.quiet().await?;
        }
        if spec.begins == Begins::Stable {
            self.stable(STABLE).await?;
            self.begin();
        }
        for step in &spec.steps {
            if !self.drained(spec.limits.silence.0).await? {
                break;
            }
            self.wait_for(&step.value).await?;
            let does = step.value.does().map_err(anyhow::Error::msg)?;
            if let Does::Use(usage) = does {
                self.metrics.usage = usage.to_vec();
            }
            let (path, _) = self.file;
            let done = match does {
                Does::Drain(node) => self.drain.begin(node, self.server.now()).await,
                _ => self.user.act(does).await,
            };
            done.map_err(|error| step.error(path, &format!("the API server refuses it: {error}")))?;
            (self.stepped, self.steps) = (self.here(), self.steps + 1);
        }
        self.rest(spec.limits.silence.0).await
    }

    /// From here on it is the model's run.
    fn begin(&mut self) {
        (self.began, self.stepped) = (self.here(), self.here());
        let world = self.server.world();
        self.start = world.objects().map(|(key, object)| (key.clone(), object.clone())).collect();
    }

    fn here(&self) -> (usize, Time) {
        (self.recorder.with(|history| history.records.len()), self.server.now())
    }

    /// What was played so far.
    fn so_far(&self, ending: Ending) -> Played {
        let (first, began) = self.began;
        let commits = self.recorder.with(|history| {
            let records = history.records[first..].iter();
            let told = |record: &trace::Record| {
                Some((record.at.since(began), write(&record.event)?.clone()))
            };
            records.filter_map(told).collect()
        });
        let took = self.server.now().since(began);
        Played { start: self.start.clone(), commits, ending, steps: self.steps, took }
    }

    /// Ends the programs.
    async fn end(self) {
        for program in self.programs {
            program.end().await;
        }
    }
}
