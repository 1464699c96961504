//! The campaign file: what is tested, on what, doing what, and how far.

use std::{
    collections::BTreeMap,
    num::NonZeroU32,
    path::{Path, PathBuf},
    time::Duration,
};

use plans::Family;
use serde::{Deserialize, Serialize};
use trace::Level;

use crate::exit::{Exit, Expected};

mod access;
mod answers;
mod choice;
mod embedded;
mod kind;
pub mod manifests;
mod names;
mod paces;
pub mod reading;
pub mod repository;
mod stage_files;

pub use access::{AccountName, AuthorizationSpec, Located};
pub use answers::read_answers;
pub use choice::ClusterChoice;
pub use embedded::{EmbeddedSpec, Environment, PodSecurity};
pub use kind::{CreateSpec, KindSpec};
pub use names::check_name;
pub use paces::PaceSpec;
pub use stage_files::{StageFile, read_stages};

/// A campaign file (`apiVersion: trommel.dev/v1alpha1`, `kind: Campaign`).
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CampaignFile {
    /// `trommel.dev/v1alpha1`.
    pub api_version: String,
    /// `Campaign`.
    pub kind: String,
    /// Its name.
    pub metadata: Metadata,
    /// All the rest.
    pub spec: Spec,
}

/// Names the campaign.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Metadata {
    /// Used in reports and as the name of a folder: see [`check_name`].
    pub name: String,
}

/// What the campaign does.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Spec {
    /// The controller under test.
    pub subject: SubjectSpec,
    /// Files and folders applied before the subject starts: CRDs, RBAC, rendered charts.
    #[serde(default)]
    pub manifests: Vec<PathBuf>,
    /// What serves the API.
    #[serde(default)]
    pub cluster: ClusterSpec,
    /// The user's side.
    pub workload: WorkloadSpec,
    /// Which perturbations; default: all that exist.
    #[serde(default = "all_families")]
    pub families: Vec<Family>,
    /// At most this many perturbations in one plan; default: no bound (until the frontier is empty).
    #[serde(default)]
    pub depth: Option<NonZeroU32>,
    /// When the world counts as settled.
    #[serde(default)]
    pub settle: SettleSpec,
    /// The level at which exploring may end: `shape`, `scale`, `age` or `exact` (default), see [`Level`]. Coarser ones come first.
    #[serde(default)]
    pub precision: Level,
    /// Runs of models that the controller is led along, before anything else is tried.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<ScheduleSpec>,
    /// Files of properties that the worlds of all trials are to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<PathBuf>,
    /// What is left out by guess.
    #[serde(default)]
    pub heuristics: HeuristicsSpec,
    /// When to stop before all is explored.
    #[serde(default)]
    pub budget: BudgetSpec,
    /// Clusters on which the plan of each finding is carried out, too: `kind`, `kind=NAME`, `kubeconfig=PATH`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirm_on: Vec<ClusterChoice>,
    /// Paths at which reference runs may differ in more than a value, for example
    /// `pods/default/* .status.conditions`.
    #[serde(default)]
    pub accept: Vec<String>,
    /// Fields by which the controller says that it lives, for example
    /// `configmaps/default/lock .metadata.annotations["example.com/renewed"]`: see [`trace::heartbeat`].
    #[serde(default)]
    pub heartbeats: Vec<String>,
    /// Settings that `-P NAME` puts over the ones above.
    #[serde(default)]
    pub profiles: BTreeMap<String, Profile>,
}

/// Runs of a model, and what its actions are.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ScheduleSpec {
    /// A trace, a state graph, or a TLA+ module with its `.cfg` beside it.
    pub trace: PathBuf,
    /// What actions and variables are in the cluster.
    pub binding: PathBuf,
}

impl Spec {
    /// Whether the subject runs in pods.
    pub fn runs_in_pods(&self) -> bool {
        self.subject.deployment.is_some() && matches!(self.cluster, ClusterSpec::Kind(_))
    }
}

/// Replicas of a subject that can run side by side.
pub const REPLICAS_AT_MOST: u32 = 9;

fn all_families() -> Vec<Family> {
    Family::ALL.to_vec()
}

/// The controller under test.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SubjectSpec {
    /// A shell command that builds it, run first in the campaign's folder; not counted as campaign time.
    #[serde(default)]
    pub build: Option<String>,
    /// Program and arguments. `{kubeconfig}`, `{port}` and `{replica}` are replaced. A program with a slash is relative
    /// to the campaign's folder, one without is looked up in PATH. May be missing where it runs in pods.
    #[serde(default)]
    pub command: Vec<String>,
    /// How it runs in pods: on kind clusters it does, if this is given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<DeploymentSpec>,
    /// Environment on top of a small fixed one (PATH, HOME, KUBECONFIG).
    #[serde(default)]
    pub env: BTreeMap<String, String>,
    /// How many replicas run side by side, from 1 to [`REPLICAS_AT_MOST`]. They are started one after another, each when
    /// all before are quiet. `{replica}` in command and environment is the number of each, from 0.
    #[serde(default = "one")]
    pub replicas: u32,
    /// The Pod, Deployment or ServiceAccount that the subject expects to find of itself.
    #[serde(default)]
    pub pod: Option<PodSpec>,
    /// The ServiceAccount that it is to the API; default: the administrator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<Located<AccountName>>,
    /// How it finds the API: a kubeconfig over TLS (default), or over plain HTTP.
    #[serde(default)]
    pub transport: Transport,
    /// How its clock runs; `auto` is virtual where this machine can do it.
    #[serde(default)]
    pub clock: ClockSpec,
    /// What of its own dice is taken away from it.
    #[serde(default)]
    pub determinism: DeterminismSpec,
}

/// The subject as its users install it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeploymentSpec {
    /// Files and folders with the Deployment, and what it needs: ServiceAccount, roles, webhooks. Applied after
    /// [`Spec::manifests`], where it runs in pods only.
    pub manifests: Vec<PathBuf>,
    /// Which Deployment of theirs it is; default: the only one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Which container of its pods; default: `manager`, `controller`, or the first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub container: Option<String>,
    /// Images that are loaded into the nodes: see [`KindSpec::images`].
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
}

/// What a subject would do differently from start to start by itself, and need not.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DeterminismSpec {
    /// It sees this many processors and runs on them only. One (default): the one of its trial.
    #[serde(default = "one")]
    pub processors: u32,
    /// Memory addresses: `random` as everywhere, or `fixed`.
    #[serde(default)]
    pub addresses: Dice,
    /// Seeds of hash tables, where a runtime lets them be set (`PYTHONHASHSEED`): `random` or `fixed`.
    #[serde(default)]
    pub hash_seeds: Dice,
    /// Answers and watch events: `concurrent` as everywhere, or `inTurn`.
    #[serde(default)]
    pub deliveries: Deliveries,
}

impl Default for DeterminismSpec {
    fn default() -> DeterminismSpec {
        DeterminismSpec {
            processors: one(),
            addresses: Dice::default(),
            hash_seeds: Dice::default(),
            deliveries: Deliveries::default(),
        }
    }
}

/// Thrown at each start, or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Dice {
    /// As everywhere.
    #[default]
    Random,
    /// The same at each start.
    Fixed,
}

/// How answers and watch events come to the subject.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Deliveries {
    /// As soon as they are there, as everywhere.
    #[default]
    Concurrent,
    /// One at a time: each when the subject has done all that it does about those before.
    InTurn,
}

fn one() -> u32 {
    1
}

/// How the subject talks to the proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// HTTPS with a minted certificate, as every real cluster.
    #[default]
    Tls,
    /// Plain HTTP: for looking at the traffic with other tools.
    Http,
}

/// How the subject's clock runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ClockSpec {
    /// Virtual on the embedded cluster where this machine allows it, else untouched.
    #[default]
    Auto,
    /// Virtual, and nothing runs where that is not possible.
    Virtual,
    /// At the machine's pace. Only the date is the world's, where this machine allows it; where not, as `untouched`.
    Real,
    /// Never touched. No world can be forked then: its objects would have the wrong age.
    Untouched,
}

/// Objects that the subject expects to find of itself.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PodSpec {
    /// File with these objects.
    pub manifest: PathBuf,
}

/// What serves the API.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum ClusterSpec {
    /// The embedded API server.
    Embedded(EmbeddedSpec),
    /// Whatever a kubeconfig points to.
    Kubeconfig(KubeconfigSpec),
    /// A kind cluster of this machine.
    Kind(KindSpec),
}

impl Default for ClusterSpec {
    fn default() -> Self {
        ClusterSpec::Embedded(EmbeddedSpec::default())
    }
}

/// A cluster behind a kubeconfig.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KubeconfigSpec {
    /// The kubeconfig file, relative to the campaign's folder.
    pub path: PathBuf,
    /// Its context; default: the current one.
    #[serde(default)]
    pub context: Option<String>,
}

/// The user's side.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WorkloadSpec {
    /// A `Test` file, relative to the campaign's folder.
    pub file: PathBuf,
    /// The variables that its function `env` knows, and that its programs get.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// When the world counts as settled.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SettleSpec {
    /// How long the store must stay unchanged by the subject's time: `auto`, or a duration like `90s`.
    #[serde(default)]
    pub horizon: Horizon,
    /// After how long by the subject's time a store that still changes never settles: twice the horizon at least;
    /// default: a day.
    #[serde(
        default,
        rename = "atMost",
        with = "duration_text",
        skip_serializing_if = "Option::is_none"
    )]
    pub at_most: Option<Duration>,
}

/// How long the store must stay unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Horizon {
    /// Twice the longest gap before a useful write in a rehearsal of ten minutes, 60 virtual seconds at least; or 2
    /// real seconds.
    #[default]
    Auto,
    /// As given.
    For(Duration),
}

/// When to stop early.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BudgetSpec {
    /// Real time, like `10m`; default: 30 minutes.
    #[serde(default, with = "duration_text")]
    pub time: Option<Duration>,
    /// Number of trials.
    #[serde(default)]
    pub trials: Option<u64>,
}

/// What is left out by guess.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum HeuristicsSpec {
    /// Nothing: guesses only say what comes first.
    #[default]
    Order,
    /// What Sieve would leave out of stale and unobserved states ([`plans::heuristics`]). Unsound.
    Sieve,
}

/// What a profile may change.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// See [`Spec::families`].
    #[serde(default)]
    pub families: Option<Vec<Family>>,
    /// See [`Spec::depth`].
    #[serde(default)]
    pub depth: Option<NonZeroU32>,
    /// See [`Spec::heuristics`].
    #[serde(default)]
    pub heuristics: Option<HeuristicsSpec>,
    /// See [`Spec::budget`].
    #[serde(default)]
    pub budget: Option<BudgetSpec>,
    /// See [`Spec::settle`].
    #[serde(default)]
    pub settle: Option<SettleSpec>,
}

/// A campaign file that was read, and where it stands.
#[derive(Debug, Clone)]
pub struct Campaign {
    /// Its content, profile applied.
    pub file: CampaignFile,
    /// The file.
    pub path: PathBuf,
    /// The folder that its paths are relative to.
    pub folder: PathBuf,
    /// The context of a kubeconfig that the user allowed on the command line, wherever its server is.
    pub allowed_context: Option<String>,
}

impl Campaign {
    /// Reads a campaign file.
    ///
    /// # Errors
    /// Unreadable or wrong files, with file, line, column and what to do (exit 64).
    pub fn load(path: &Path, profile: Option<&str>) -> anyhow::Result<Campaign> {
        let usage = |message: String| Expected::error(Exit::Usage, message);
        let text = std::fs::read_to_string(path).map_err(|error| {
            usage(format!("cannot read the campaign {}: {error}", path.display()))
        })?;
        let mut file: CampaignFile = reading::read(&text, path, "Campaign")?;
        check_name(&file.metadata.name)
            .map_err(|what| usage(format!("{}: metadata.name: {what}", path.display())))?;
        if let Some(name) = profile {
            apply_profile(&mut file.spec, name, path)?;
        }
        check(&file.spec, path)?;
        let absolute = std::path::absolute(path)?;
        let folder = absolute.parent().unwrap_or(Path::new("/")).to_owned();
        Ok(Campaign { file, path: absolute, folder, allowed_context: None })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.file.metadata.name
    }

    /// A path of the campaign file, made absolute.
    pub fn resolve(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Reads the workload.
    pub fn workload(&self) -> Result<workloads::Workload, workloads::LoadError> {
        let spec = &self.file.spec.workload;
        workloads::Workload::load(&self.resolve(&spec.file), &spec.env)
    }
}

fn apply_profile(spec: &mut Spec, name: &str, path: &Path) -> anyhow::Result<()> {
    let Some(profile) = spec.profiles.get(name).cloned() else {
        let known: Vec<&str> = spec.profiles.keys().map(String::as_str).collect();
        return Err(Expected::error(
            Exit::Usage,
            format!("{}: no profile {name:?}; it has {known:?}", path.display()),
        ));
    };
    spec.families = profile.families.unwrap_or(std::mem::take(&mut spec.families));
    spec.depth = profile.depth.or(spec.depth);
    spec.heuristics = profile.heuristics.unwrap_or(spec.heuristics);
    spec.budget = profile.budget.unwrap_or(spec.budget.clone());
    spec.settle = profile.settle.unwrap_or(spec.settle.clone());
    Ok(())
}

fn check(spec: &Spec, path: &Path) -> anyhow::Result<()> {
    let wrong =
        |what: &str| Err(Expected::error(Exit::Usage, format!("{}: {what}", path.display())));
    if spec.subject.command.is_empty() && !spec.runs_in_pods() {
        return wrong(match spec.subject.deployment {
            None => "spec.subject.command is empty: give the program and its arguments",
            Some(_) => {
                "spec.subject.command is empty: give the program and its arguments. A Deployment runs on kind clusters only \
                 (cluster: {kind: {name: …}})"
            }
        });
    }
    if !(1..=REPLICAS_AT_MOST).contains(&spec.subject.replicas) {
        return wrong(&format!(
            "spec.subject.replicas: {} can't be run side by side: from 1 to {REPLICAS_AT_MOST}",
            spec.subject.replicas
        ));
    }
    if let ClusterSpec::Embedded(embedded) = &spec.cluster
        && let Err((key, what)) = embedded.check()
    {
        return wrong(&format!("spec.cluster.embedded.{key}: {what}"));
    }
    if let ClusterSpec::Kind(kind) = &spec.cluster
        && let Err((key, what)) = kind.check()
    {
        return wrong(&format!("spec.cluster.kind.{key}: {what}"));
    }
    if spec.subject.determinism.processors == 0 {
        return wrong("spec.subject.determinism.processors: it needs at least 1");
    }
    let here = std::thread::available_parallelism().map_or(u32::MAX, |count| count.get() as u32);
    if spec.subject.determinism.processors > here {
        return wrong(&format!("spec.subject.determinism.processors: this machine has {here}"));
    }
    if spec.settle.horizon == Horizon::For(Duration::ZERO) {
        return wrong(
            "spec.settle.horizon: nothing is settled after no time; say auto or a duration",
        );
    }
    if spec.families.is_empty() {
        return wrong("spec.families is empty: leave it out for all families");
    }
    answers::check(spec, path)?;
    access::check(spec, path)
}

impl Serialize for Horizon {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Horizon::Auto => serializer.serialize_str("auto"),
            Horizon::For(duration) => {
                serializer.collect_str(&format_args!("{}ms", duration.as_millis()))
            }
        }
    }
}

impl<'de> Deserialize<'de> for Horizon {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        if text == "auto" {
            return Ok(Horizon::Auto);
        }
        parse_duration(&text).map(Horizon::For).map_err(serde::de::Error::custom)
    }
}

/// Reads `1h2m3.5s`, `250ms`, `10m`: the form of Go's durations, which Kubernetes' users know.
pub fn parse_duration(text: &str) -> Result<Duration, String> {
    let wrong = || format!("{text:?} is not a duration: write it like 10m, 90s or 1h30m");
    let mut rest = text;
    let mut total = 0f64;
    while !rest.is_empty() {
        let digits = rest.find(|c: char| c.is_ascii_alphabetic()).ok_or_else(wrong)?;
        let number: f64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let unit = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        let seconds = match &rest[..unit] {
            "h" => 3600.0,
            "m" => 60.0,
            "s" => 1.0,
            "ms" => 1e-3,
            _ => return Err(wrong()),
        };
        total += number * seconds;
        rest = &rest[unit..];
    }
    if text.is_empty() || !(0.0..1e9).contains(&total) {
        return Err(wrong());
    }
    Ok(Duration::from_secs_f64(total))
}

mod duration_text {
    use super::*;

    pub fn serialize<S: serde::Serializer>(
        value: &Option<Duration>,
        s: S,
    ) -> Result<S::Ok, S::Error> {
        match value {
            Some(duration) => s.collect_str(&format_args!("{}ms", duration.as_millis())),
            None => s.serialize_none(),
        }
    }

    pub fn deserialize<'de, D: serde::Deserializer<'de>>(
        d: D,
    ) -> Result<Option<Duration>, D::Error> {
        let text = Option::<String>::deserialize(d)?;
        text.map(|text| parse_duration(&text).map_err(serde::de::Error::custom)).transpose()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_gos() {
        for (text, ms) in [("10m", 600_000), ("1h30m", 5_400_000), ("2.5s", 2_500), ("250ms", 250)]
        {
            assert_eq!(parse_duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for text in ["", "10", "s", "10x", "-5s"] {
            assert!(parse_duration(text).is_err(), "{text}");
        }
    }
}
