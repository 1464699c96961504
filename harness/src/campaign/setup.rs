//! What every trial of a campaign shares: the workload, the world before the subject starts, certificates,
//! and how the subject is run.

mod prepare;

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex, OnceLock, PoisonError},
    time::Duration,
};

use trace::{DrawnNames, Heartbeats};
use workloads::Workload;

use crate::{
    campaign::{model_runs::ModelRuns, pool::Slots, properties::Properties},
    config::{Campaign, Transport},
    exit::Exit,
    providers::{Provider, kind},
    trial::{TrialRun, TrialSpec},
};

pub use prepare::{build, certificates};

/// Prepared once, read by all trials: nothing that a campaign learns on its way is in here.
pub struct Setup {
    /// The campaign.
    pub campaign: Campaign,
    /// The user's side.
    pub workload: Workload,
    /// The text of its file.
    pub workload_text: String,
    /// Runs of models that the subject is led along.
    pub model_runs: ModelRuns,
    /// What the worlds of trials are to have.
    pub properties: Properties,
    /// Objects applied before the subject starts.
    pub manifests: Vec<serde_json::Value>,
    /// Where trials run.
    pub ground: Box<dyn Provider>,
    /// The kind cluster that this is, if it is one. It goes after the ground.
    pub kind: Option<kind::Held>,
    /// The administrator's on the embedded cluster: another in each run.
    pub admin_token: String,
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
    /// Fields that are written only to say that the subject lives.
    pub heartbeats: Heartbeats,
    /// Names that the subject draws by itself; known once undisturbed runs were compared.
    pub drawn_names: OnceLock<DrawnNames>,
    /// How long the subject's lease lasts, if undisturbed runs elect a leader; set with the names.
    pub lease: OnceLock<Option<Duration>>,
    /// Whether subjects run on virtual time.
    pub clock: ClockMode,
    /// Where trials keep their files.
    pub scratch: PathBuf,
    /// How many trials run side by side.
    pub workers: usize,
    /// Their places: whoever runs one takes one.
    pub slots: Slots,
    /// Keep the files of every trial.
    pub keep_files: bool,
    /// Collect the fork graph.
    pub keeps_graph: bool,
    /// How many violated trials were kept, by fingerprint.
    pub kept: Mutex<BTreeMap<String, u32>>,
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

impl Setup {
    /// Whether a trial's history is written while it runs: nobody reads those of an exploration unless they are asked for.
    pub fn writes_history_of(&self, spec: &TrialSpec) -> bool {
        spec.folder.is_some() || self.keep_files
    }

    /// Removes the files of a trial that nobody will want to read: a finding keeps its history of its own.
    pub fn forget(&self, run: &TrialRun) {
        if !self.keep_files && run.folder.starts_with(&self.scratch) {
            drop(std::fs::remove_dir_all(&run.folder));
        }
    }

    /// Whether the files of another violated trial with this fingerprint are kept: those of the first ones.
    pub fn keeps_another(&self, fingerprint: &str) -> bool {
        const KEPT: u32 = 3;
        let mut kept = self.kept.lock().unwrap_or_else(PoisonError::into_inner);
        let count = kept.entry(fingerprint.to_owned()).or_default();
        *count += 1;
        *count <= KEPT
    }

    /// How the campaign ended, with the reason if it is the cluster's.
    ///
    /// # Errors
    /// See [`kind::Held::explain`].
    pub fn explain(&self, ended: anyhow::Result<Exit>) -> anyhow::Result<Exit> {
        match &self.kind {
            Some(kind) => kind.explain(ended),
            None => ended,
        }
    }

    /// Removes what trials left that nobody needs.
    pub fn clean_up(&self) {
        if !self.keep_files {
            // Trials without a finding removed their own folders; an empty one is left.
            drop(std::fs::remove_dir(&self.scratch));
        }
    }

    /// Whether the subject elects a leader, as far as undisturbed runs show.
    pub fn elects_leader(&self) -> bool {
        self.lease().is_some()
    }

    /// How long its lease lasts then.
    pub fn lease(&self) -> Option<Duration> {
        self.lease.get().copied().flatten()
    }

    /// Whether the subject talks TLS.
    pub fn tls(&self) -> bool {
        self.campaign.file.spec.subject.transport == Transport::Tls
    }
}
