//! What every trial of a campaign shares: the workload, the world before the subject starts, certificates,
//! and how the subject is run.

mod prepare;

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    path::PathBuf,
    sync::Arc,
    time::Duration,
};

use cluster::World;
use plans::CrashPoint;
use serde_json::Value;
use workloads::Workload;

use trace::{
    Cursor, Heartbeats, ObjectKey, Time,
    identity::{self, Identity},
};

use crate::{
    campaign::rehearsal,
    config::{Campaign, Horizon, Transport},
    trial::TrialRun,
};

pub use prepare::build;

/// Prepared once, read by all trials.
pub struct Setup {
    /// The campaign.
    pub campaign: Campaign,
    /// The user's side.
    pub workload: Workload,
    /// The text of its file.
    pub workload_text: String,
    /// Objects applied before the subject starts.
    pub manifests: Vec<serde_json::Value>,
    /// Where trials run.
    pub ground: Ground,
    /// By which the subject is known to the API.
    pub token: String,
    /// The subject's command line, paths resolved.
    pub command: Vec<String>,
    /// The command line of the kube-controller-manager that runs beside it, if one does: program and further flags.
    pub manager: Option<Vec<String>>,
    /// The PATH that subjects get.
    pub path_variable: String,
    /// Certificates for the proxy's listener.
    pub certificates: Certificates,
    /// Whether processes get their own namespaces, and if not, why.
    pub isolation: subject::Isolation,
    /// What references taught about trials.
    pub learnt: Learnt,
    /// Fields that are written only to say that the subject lives.
    pub heartbeats: Heartbeats,
    /// Whether subjects run on virtual time.
    pub clock: ClockMode,
    /// Where trials keep their files.
    pub scratch: PathBuf,
    /// How many trials run side by side.
    pub workers: usize,
    /// Keep the files of every trial.
    pub keep_files: bool,
}

/// What references teach about how trials are run and told apart.
#[derive(Debug, Clone)]
pub struct Learnt {
    /// See [`Setup::horizon`]; none while nothing is known.
    pub horizon: Option<Duration>,
    /// Jumps of the clock after which a world counts as settled though the horizon has not passed.
    pub jumps: usize,
    /// Whether trials wait at least as long as the rehearsal did: what turned up has to hold however long one waits.
    pub patient: bool,
    /// For how long the rehearsal waited, if it ended before it should, because the subject has so many timers.
    pub cut_short: Option<Duration>,
    /// See [`oracles::Baseline::random_payloads`].
    pub random_payloads: BTreeSet<String>,
}

impl Default for Learnt {
    fn default() -> Learnt {
        Learnt {
            horizon: None,
            jumps: usize::MAX,
            patient: false,
            cut_short: None,
            random_payloads: BTreeSet::new(),
        }
    }
}

/// Where trials run.
pub enum Ground {
    /// Each on its own fork of this world: manifests applied, nothing else.
    Embedded(World),
    /// All on one cluster, one after the other, each from the beginning.
    Remote(crate::providers::kubeconfig::Remote),
}

/// How time passes for the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClockMode {
    /// Jumps to the next timer when all is quiet.
    Virtual,
    /// Passes as everywhere; only the date is the world's.
    Real,
    /// The machine's: on a fork, objects would look older than they are.
    Untouched,
}

/// The proxy's identity towards subjects.
pub struct Certificates {
    /// PEM of the authority that subjects trust.
    pub authority_pem: String,
    /// The listener's TLS configuration; none for plain HTTP.
    pub server: Option<Arc<rustls::ServerConfig>>,
}

/// Virtual time without a change after which a world counts as settled, at least (design §4).
pub const HORIZON: Duration = Duration::from_secs(60);

impl Setup {
    /// How long the store must stay unchanged until it counts as settled, by the subject's time.
    pub fn horizon(&self) -> Duration {
        match self.learnt.patient {
            true => self.explored_horizon().max(rehearsal::PATIENCE),
            false => self.explored_horizon(),
        }
    }

    /// What it was while worlds were explored.
    pub fn explored_horizon(&self) -> Duration {
        match (self.campaign.file.spec.settle.horizon, self.clock) {
            (Horizon::For(duration), _) => duration,
            (Horizon::Auto, ClockMode::Virtual) => self.learnt.horizon.unwrap_or(HORIZON),
            (Horizon::Auto, _) => Duration::from_secs(2),
        }
    }

    /// What a world is, up to relabelling, with the workload at a position that it reached so long ago.
    pub fn identity(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Identity {
        let names = world.generated_names().collect();
        let context = self.context(world.now(), cursor, names, begun, world.pending());
        let objects = self.without_heartbeats(world.objects());
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// The canonical world behind an identity, for people who wonder why two worlds differ.
    pub fn canonical(&self, world: &World, cursor: Cursor, begun: Option<Duration>) -> Value {
        let names = world.generated_names().collect();
        let context = self.context(world.now(), cursor, names, begun, world.pending());
        let objects = self.without_heartbeats(world.objects());
        identity::canonical_world(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// What a world is that was only observed.
    pub fn identity_of(
        &self,
        objects: &BTreeMap<ObjectKey, Arc<Value>>,
        point: &CrashPoint,
        names: &BTreeSet<&str>,
    ) -> Identity {
        let names = names.iter().copied().collect();
        let context = self.context(point.time, point.cursor, names, point.begun, Value::Null);
        let objects = self.without_heartbeats(objects);
        identity::identity(objects.iter().map(|(key, object)| (*key, &**object)), &context)
    }

    /// Objects as far as they tell worlds apart.
    fn without_heartbeats<'a>(
        &self,
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    ) -> Vec<(&'a ObjectKey, Cow<'a, Arc<Value>>)> {
        let without = |(key, object): (&'a ObjectKey, &'a Arc<Value>)| {
            let rest = self.heartbeats.without(key, object);
            (key, rest.map_or(Cow::Borrowed(object), |rest| Cow::Owned(Arc::new(rest))))
        };
        objects.into_iter().map(without).collect()
    }

    fn context<'a>(
        &'a self,
        now: Time,
        cursor: Cursor,
        generated_names: Vec<&'a str>,
        begun: Option<Duration>,
        pending: Value,
    ) -> identity::Context<'a> {
        // Ages count in whole seconds, the precision of the timestamps that the API server writes. Below that the
        // world's clock shows the phases of the subject's timers, and with them how fast this machine computed:
        // an age that differs by less is the same moment of the same schedule.
        let now = Time(now.seconds() * 1_000_000_000);
        let random_payloads = self.learnt.random_payloads.iter().map(String::as_str).collect();
        let extra = match pending {
            Value::Null => self.progress(cursor, begun),
            pending => serde_json::json!([self.progress(cursor, begun), pending]),
        };
        identity::Context { now, cursor, generated_names, random_payloads, extra }
    }

    /// What else decides how the workload goes on: for how many whole seconds its operation has been under way,
    /// and whether a program has begun that can't begin again.
    fn progress(&self, cursor: Cursor, begun: Option<Duration>) -> Value {
        let operation = self.workload.operation(cursor);
        let whole = operation.is_none_or(workloads::Operation::resumable_within);
        match begun {
            Some(begun) if begun.as_secs() > 0 || !whole => begun.as_secs().into(),
            _ => Value::Null,
        }
    }

    /// Removes the files of a trial that nobody will want to read: a finding keeps its history of its own.
    pub fn forget(&self, run: &TrialRun) {
        if !self.keep_files && run.folder.starts_with(&self.scratch) {
            drop(std::fs::remove_dir_all(&run.folder));
        }
    }

    /// Removes what trials left that nobody needs.
    pub fn clean_up(&self) {
        if let Ground::Remote(remote) = &self.ground
            && let Err(error) = remote.restore()
        {
            tracing::warn!("the cluster was not restored: {error:#}");
        }
        if !self.keep_files {
            // Trials without a finding removed their own folders; an empty one is left.
            drop(std::fs::remove_dir(&self.scratch));
        }
    }

    /// Whether the subject talks TLS.
    pub fn tls(&self) -> bool {
        self.campaign.file.spec.subject.transport == Transport::Tls
    }
}
