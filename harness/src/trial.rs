//! One trial: the only place where cluster, proxy, subject and workload meet.
//!
//! A trial runs on one thread with one current-thread runtime. It starts on a world (a fork, or the
//! campaign's first world), with the controller down; starts the controller; plays the workload from its
//! cursor; carries out the plan's remaining perturbations when their moments come; and ends when the
//! workload has been played and all has settled.
//!
//! Trials run side by side on several threads and share nothing but the `Setup`. The loop is: wait until quiet
//! (nothing under way, every byte read, no thread ran between two scans), then do the next of: the workload's next
//! document, a jump of all clocks to the subject's next timer, a perturbation, the end. All that happens goes through
//! one `trace::Recorder` into one history, in one order.
//!
//! Who takes part stands in `trial/members.rs`: the subject's replicas, and a kube-controller-manager if there is one.
//!
//! How each family's perturbations are carried out stands in `trial/perturbation/`.

pub(crate) mod clocks;
mod commits;
mod controller_manager;
pub mod cpu_time;
mod delivery_order;
mod held_deliveries;
pub mod history_file;
pub(crate) mod incarnation;
mod leases;
mod legality;
mod members;
mod observed_write;
pub(crate) mod output;
mod patience;
mod perturbation;
pub mod phases;
mod pod;
mod programs;
pub(crate) mod quiet;
mod restarted;
mod spec;
mod steps;
mod trigger;
mod webhook_calls;

use std::{
    collections::{BTreeSet, VecDeque},
    path::PathBuf,
    sync::{Arc, OnceLock},
    time::{Duration, Instant},
};

use plans::{
    Crash, Family, Moment, Perturbation, Plan, Restart, StartPoint, moment::MomentCounter,
};
use trace::{Cursor, Event, Recorder, Revision, Time};

use crate::{
    campaign::{
        disk,
        settle::Waits,
        setup::{ClockMode, Setup},
    },
    config::Deliveries,
    providers::{self, LiveCluster, webhooks::SubjectCaller},
};
use clocks::Following;
use commits::Commits;
use controller_manager::Manager;
use delivery_order::InTurn;
pub use incarnation::NOT_SEEN_THROUGH;
use members::{Member, Members};
use observed_write::ObservedWrite;
use patience::Patience;
use perturbation::{Caches, Stands};
use phases::{Phases, Watch};
use restarted::Restarted;
pub use spec::{Fork, RunEnd, Start, TrialRun, TrialSpec};
use trigger::Armed;

/// Why a trial can't go on.
pub(crate) struct Stop(RunEnd);

type Going<T> = Result<T, Stop>;

impl Stop {
    fn broken(error: impl std::fmt::Display) -> Stop {
        Stop(RunEnd::Broken(error.to_string()))
    }
}

/// A trial while it runs.
pub(crate) struct Trial<'setup> {
    setup: &'setup Setup,
    cluster: Box<dyn LiveCluster>,
    following: Following<Member>,
    user: workloads::Client,
    recorder: Recorder,
    proxy: proxy::Proxy,
    members: Members,
    /// Calls its webhooks; none on a remote cluster, which calls them itself.
    hooks: Option<SubjectCaller>,
    folder: PathBuf,
    waits: Waits,
    until: Option<Instant>,
    /// Incarnations started so far.
    started: u32,
    /// The last start, if it was not the first.
    restarted: Option<Restarted>,
    /// Times that the subject ended by itself.
    exits: u32,
    cursor: Cursor,
    /// When the operation at the cursor began; none if it has not.
    began: Option<Time>,
    /// Perturbations not yet carried out, with the position of the first in the plan.
    todo: VecDeque<Perturbation>,
    carried_out: u32,
    armed: Option<Armed>,
    /// What of those carried out lasts.
    standing: Vec<Stands>,
    /// How long those may last that have begun.
    patience: Option<Patience>,
    /// Why one of them did not come to what was planned.
    not_possible: Option<String>,
    /// What was decided of passings for the rest of the trial.
    deciding: Vec<proxy::Deciding>,
    /// How far the watch caches are behind that the subject is served from.
    caches: Caches,
    /// What the next start of the subject meets.
    meets: Option<(Perturbation, Option<Revision>)>,
    /// The world's revision at the beginning.
    first_revision: Revision,
    /// Every object then.
    before: Arc<Vec<(trace::ObjectKey, Arc<serde_json::Value>)>>,
    /// What comes to the subject, if one at a time.
    in_turn: Option<InTurn>,
    /// Documents that the user still sends before the subject is started again.
    down_for: u32,
    /// Counts writes of built-in controllers up to the one after which the subject is killed.
    awaited_write: Option<MomentCounter>,
    /// The same where they are only observed.
    observed_write: Option<ObservedWrite>,
    /// Whether the environment comes to rest before it is.
    rest_first: bool,
    /// A step that failed and was allowed to.
    failed_on: Option<String>,
    /// When something last disturbed the world: a start, a step.
    disturbed_at: Time,
    /// The store's changes so far.
    commits: Commits,
    watch: Watch,
    subject_cpu: Duration,
    /// Connections that this process had refused before.
    refused: u64,
}

/// Runs one trial to its end.
pub fn run(setup: &Setup, spec: TrialSpec) -> TrialRun {
    let _slot = setup.slots.take();
    let processors = setup.campaign.file.spec.subject.determinism.processors;
    let _pinned = (processors == 1).then(subject::Pinned::new);
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    match runtime {
        Ok(runtime) => runtime.block_on(run_here(setup, spec)),
        Err(error) => broken(spec, error.to_string()),
    }
}

fn broken(spec: TrialSpec, why: String) -> TrialRun {
    TrialRun {
        spec,
        before: Arc::default(),
        started_at: Default::default(),
        history: Arc::default(),
        drawn_names: BTreeSet::new(),
        end: RunEnd::Broken(why),
        left_undone: None,
        server: None,
        real: Default::default(),
        phases: Phases::default(),
        subject_cpu: Default::default(),
        folder: PathBuf::new(),
        course: OnceLock::new(),
    }
}

async fn run_here(setup: &Setup, spec: TrialSpec) -> TrialRun {
    let began = Instant::now();
    let mut trial = match Trial::set_up(setup, &spec).await {
        Ok(trial) => trial,
        Err(error) => {
            disk::noted(spec.folder.as_deref().unwrap_or(&setup.scratch), &error);
            return broken(spec, format!("{error:#}"));
        }
    };
    let before = trial.before.clone();
    let now = trial.cluster.now();
    let started_at = StartPoint {
        revision: trial.cluster.revision(),
        time: now,
        cursor: trial.cursor,
        begun: trial.began.map(|began| now.since(began)),
    };
    let played = trial.play().await;
    let end = match (trial.refusal(), played) {
        (Some(why), _) => RunEnd::Broken(why),
        (None, Ok(())) => RunEnd::Completed,
        (None, Err(Stop(end))) => end,
    };
    if end != RunEnd::Completed {
        trial.recorder.record(Event::Note { text: format!("the trial ended early: {end:?}") });
    }
    let left_undone = trial.left_undone();
    let server = trial.cluster.server();
    trial.cluster.caught_up().await;
    let recorder = trial.recorder.clone();
    let folder = trial.folder.clone();
    let phases = trial.watch.over();
    let subject_cpu = trial.shut_down().await;
    let mut history = recorder.take();
    setup.ground.attribute(&mut history);
    let mut run = TrialRun {
        spec,
        before,
        started_at,
        history: Arc::new(history),
        drawn_names: BTreeSet::new(),
        end,
        left_undone,
        server,
        real: began.elapsed(),
        phases,
        subject_cpu,
        folder,
        course: OnceLock::new(),
    };
    if let Some(drawn) = setup.drawn_names.get() {
        run.tell_drawn_names(drawn);
    }
    legality::look_at(setup, &mut run);
    run
}

impl<'setup> Trial<'setup> {
    async fn set_up(setup: &'setup Setup, spec: &TrialSpec) -> anyhow::Result<Trial<'setup>> {
        let (cursor, begun, behind) = match &spec.start {
            Start::Beginning => (Cursor::default(), None, None),
            Start::Fork(fork) => (fork.cursor, fork.begun, fork.behind),
        };
        let folder = match &spec.folder {
            Some(folder) => folder.clone(),
            None => setup.scratch_folder(&spec.plan, spec.repeat),
        };
        std::fs::create_dir_all(&folder)?;
        let began = Instant::now();
        let (cluster, recorder) = providers::open(setup, spec, &folder).await?;
        let watch = Watch::opened(began, spec.plan.depth() > spec.armed.len());
        let following = Following::new(cluster.server());
        let caches = Caches::default();
        let proxy = proxy::Proxy::with_options(
            caches.before(following.before(cluster.upstream_for_subject())),
            recorder.clone(),
            Arc::new(crate::providers::codec::ClusterCodec),
            proxy::Options { keep_delivered_objects: true },
        );
        let deliveries = setup.campaign.file.spec.subject.determinism.deliveries;
        let in_turn = (deliveries == Deliveries::InTurn).then(|| InTurn::new(proxy.gate()));
        let user = workloads::Client::new(cluster.upstream_for_user());
        let hooks = cluster.server().map(|server| {
            let hooks = SubjectCaller::new(server.clock());
            server.call_webhooks_by(Arc::new(hooks.clone()));
            hooks
        });
        let disturbed_at = cluster.now();
        let carried_out = (spec.plan.depth() - spec.armed.len()) as u32;
        // A fork lies behind these: they happened before everything that is recorded here.
        for (index, done) in (0..carried_out).zip(&spec.plan.perturbations) {
            recorder.record(Event::Perturbed { index, text: done.to_string() });
        }
        let last = spec.plan.perturbations[..carried_out as usize].last();
        let meets = last.map(|perturbation| (perturbation.clone(), behind));
        let (first_revision, before) = (cluster.revision(), Arc::new(cluster.state()));
        Ok(Trial {
            setup,
            cluster,
            following,
            user,
            recorder,
            proxy,
            members: Members::down(setup.campaign.file.spec.subject.replicas),
            hooks,
            folder,
            waits: spec.waits,
            until: spec.until,
            started: 0,
            restarted: None,
            exits: 0,
            cursor,
            began: begun.map(|begun| Time(disturbed_at.0 - begun.as_nanos() as i64)),
            todo: spec.armed.iter().cloned().collect(),
            carried_out,
            armed: None,
            standing: vec![],
            patience: None,
            not_possible: None,
            deciding: vec![],
            caches,
            meets,
            first_revision,
            before,
            in_turn,
            down_for: 0,
            awaited_write: None,
            observed_write: None,
            rest_first: false,
            failed_on: None,
            disturbed_at,
            commits: Commits::default(),
            watch,
            subject_cpu: Default::default(),
            refused: proxy::accepting::refused(),
        })
    }

    /// Plays the workload from the cursor, then waits for the end state.
    async fn play(&mut self) -> Going<()> {
        if self.awaited_step() == Some(self.cursor) {
            // It is to die before its first write: it may connect, and gets no further.
            self.proxy.gate().close();
        }
        self.start_manager()?;
        self.start_subject().await?;
        self.quiet().await?;
        self.crash_if_step_reached().await?;
        while let Some(operation) = self.setup.workload.operation(self.cursor) {
            self.perform(operation).await?;
        }
        self.settle(true).await?;
        while self.awaits_rest() {
            self.crash().await?;
            self.settle(true).await?;
        }
        if let Some(why) = self.failed_on.take() {
            return Err(Stop(RunEnd::StepFailed(why)));
        }
        match (self.missed(), self.not_possible.clone()) {
            (Some(missed), _) => Err(Stop(RunEnd::NeverFired(missed))),
            (None, Some(why)) => Err(Stop(RunEnd::NotPossible(why))),
            (None, None) => Ok(()),
        }
    }

    /// The first perturbation that did not happen.
    fn missed(&self) -> Option<String> {
        let missed = self.todo.front()?;
        let what = match missed.family() {
            Family::IntermediateState => "the crash point was not reached",
            _ => "the point of the perturbation was not reached",
        };
        Some(format!("{what}: {missed}"))
    }

    /// The same, or why one did not come to what was planned.
    fn left_undone(&self) -> Option<String> {
        self.missed().or_else(|| self.not_possible.clone())
    }

    /// Why a connection was refused since it began, here or in a trial beside it: descriptors are the process's.
    fn refusal(&self) -> Option<String> {
        (proxy::accepting::refused() > self.refused).then(proxy::accepting::shortage)
    }

    /// Arms the next perturbation, if the plan has one left and none is armed.
    fn arm_next(&mut self) {
        if self.armed.is_some() || self.members.subject_is_down() {
            return;
        }
        self.set_up_next();
        let Some(crash) = self.todo.front().and_then(Perturbation::crash) else { return };
        match (&crash.at, &self.members.manager) {
            (Moment::Committed { .. } | Moment::Request { .. }, _) => {
                self.armed = Some(Armed::at_call(&self.proxy, &*self.cluster, crash.clone()));
            }
            (at, Some(manager)) if Manager::writes_at(at) => {
                let (proxy, recorder) = (&self.proxy, &self.recorder);
                self.armed = Some(Armed::at_commit(proxy, &manager.proxy, recorder, crash));
            }
            (at @ Moment::Environment { .. }, _) if self.cluster.acts_by_itself() => {
                if self.observed_write.is_none() {
                    self.observed_write =
                        ObservedWrite::await_at(at, self.proxy.gate(), &self.recorder);
                }
            }
            // Once: what was seen before another start of the subject goes on counting.
            (Moment::Environment { .. }, _) => {
                let counter = || MomentCounter::new(crash.at.clone());
                self.awaited_write.get_or_insert_with(counter);
            }
            (Moment::Step { .. } | Moment::Delivery { .. } | Moment::Settled, _) => {}
        }
    }

    /// Whether the next perturbation waits for the end, at which all has settled.
    fn awaits_rest(&self) -> bool {
        let crash = self.todo.front().and_then(Perturbation::crash);
        !self.members.subject_is_down() && crash.is_some_and(|crash| crash.at == Moment::Settled)
    }

    /// The position at which the next perturbation waits, if it waits for one.
    fn awaited_step(&self) -> Option<Cursor> {
        match &self.todo.front()?.crash()?.at {
            Moment::Step { cursor, .. } => Some(*cursor),
            _ => None,
        }
    }

    /// Kills the subject if the next perturbation waits for the position just reached.
    async fn crash_if_step_reached(&mut self) -> Going<()> {
        if self.awaited_step() == Some(self.cursor) && !self.members.subject_is_down() {
            self.crash().await?;
        }
        Ok(())
    }

    /// The perturbation at the head of the plan begins.
    fn begin_next(&mut self) -> Option<Perturbation> {
        let perturbation = self.todo.pop_front()?;
        let (index, text) = (self.carried_out, perturbation.to_string());
        self.carried_out += 1;
        self.watch.disturbed();
        self.recorder.record(Event::Perturbed { index, text });
        Some(perturbation)
    }

    /// Carries out the kill at the head of the plan. The proxy's gate is closed, or all is quiet.
    async fn crash(&mut self) -> Going<()> {
        let next = self.todo.front().and_then(Perturbation::crash);
        let Some(Crash { restart, member, .. }) = next.cloned() else { return Ok(()) };
        self.armed = None;
        self.awaited_write = None;
        self.observed_write = None;
        match member {
            Some(replica) => self.kill_replica(replica as usize).await?,
            None => self.kill_subject().await,
        }
        // Whoever is started again meets an API server that is up to date, or what this perturbation says.
        self.end_standing();
        self.meets = self.begin_next().map(|perturbation| (perturbation, None));
        self.proxy.gate().open();
        if let Some(manager) = &self.members.manager {
            manager.proxy.gate().open();
        }
        match restart {
            Restart::Immediately => self.start_subject().await,
            Restart::EnvironmentQuiet => {
                self.run_environment().await?;
                self.start_subject().await
            }
            Restart::AfterUserStep(documents) => {
                self.down_for = documents;
                self.rest_first = false;
                Ok(())
            }
            Restart::QuietAfterUserStep(documents) => {
                self.down_for = documents;
                self.rest_first = true;
                Ok(())
            }
        }
    }

    /// Starts what of the subject is down: the user waits for something now, or has done enough.
    pub(super) async fn bring_up(&mut self) -> Going<()> {
        self.down_for = 0;
        match self.members.subject_is_complete() {
            true => Ok(()),
            false => self.start_subject().await,
        }
    }

    async fn shut_down(mut self) -> Duration {
        self.stop_pods().await;
        // The end of a trial is no event of its history.
        self.end_subject().await;
        self.end_manager().await;
        self.subject_cpu
    }
}

impl Setup {
    fn scratch_folder(&self, plan: &Plan, repeat: u64) -> PathBuf {
        use std::sync::atomic::{AtomicU64, Ordering};
        static NUMBER: AtomicU64 = AtomicU64::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        self.scratch.join(format!("{}-{repeat}-{number}", plan.id()))
    }

    /// Whether clocks can be moved.
    pub fn virtual_time(&self) -> bool {
        self.clock == ClockMode::Virtual
    }
}
