//! What a campaign has to say, as plain values: the one input of every rendering.
//!
//! The rest of the harness fills a [`Report`]; the renderings (`summary.json`, the HTML page, `explain.md`,
//! the terminal) only read it. So a rendering can be tested with made-up values, and a stored report can be
//! rendered again. Texts are for people and may change; the fields of [`Summary`] are a contract
//! (docs/stability.md).

use std::collections::BTreeMap;

use oracles::Severity;
use plans::Family;
use serde::{Deserialize, Serialize};

/// One campaign's result.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Report {
    /// The campaign's name, from its file.
    pub campaign: String,
    /// The result in one sentence, without trailing line end.
    pub result: String,
    /// The exit code that goes with it (docs/exit-codes.md).
    pub exit: u8,
    /// Real seconds from the first reference run to this report; building the subject is not counted.
    pub seconds: f64,
    /// The undisturbed runs.
    pub references: References,
    /// The plans.
    pub plans: Plans,
    /// The same by family.
    #[serde(default)]
    pub families: BTreeMap<String, FamilyPlans>,
    /// How much of the reachable was reached.
    pub coverage: Coverage,
    /// How soon a trial was violated, whether or not that was confirmed.
    #[serde(default)]
    pub first_violated: Option<Found>,
    /// How soon a finding was confirmed.
    #[serde(default)]
    pub first_finding: Option<Found>,
    /// Confirmed findings, the simplest plan first.
    pub findings: Vec<Finding>,
    /// The same of what was wrong for a while, and is right in the end.
    #[serde(default)]
    pub transient: Vec<Finding>,
    /// What was suspected and is no finding, in the order in which it was met.
    #[serde(default)]
    pub suspicions: Vec<Suspicion>,
    /// Violated trials of the exploration: the sum of those of all findings and suspicions.
    #[serde(default)]
    pub violated_trials: u64,
    /// What the controller was refused for want of permission (`create pods in namespace default`), each once.
    #[serde(default)]
    pub missing_permissions: Vec<String>,
    /// What was not well although nothing was disturbed.
    #[serde(default)]
    pub undisturbed: oracles::Examination,
    /// Why no trial can show anything, if so.
    #[serde(default)]
    pub proves_nothing: Option<String>,
    /// Kinds of disturbances that nothing of the campaign tried.
    #[serde(default)]
    pub never_tried: Vec<String>,
    /// What was not explored, a sentence each, beyond what the counters of `coverage` and `plans` say.
    pub not_explored: Vec<String>,
    /// Anything else that the reader should know: fall-backs, limits reached, what `unknown` plans lacked.
    pub notes: Vec<String>,
}

/// What the undisturbed runs said.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct References {
    /// How many there were.
    pub runs: u32,
    /// How many of them agree with the baseline outside the masks.
    pub agree: u32,
    /// Leaf values that differed between them, and are therefore not judged.
    pub masks: Vec<Mask>,
}

/// One masked leaf value.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Mask {
    /// Which one: object, then path.
    pub path: String,
    /// The values seen, by run.
    pub values: Vec<String>,
}

/// Counts of plans, each counted once however often it was tried, by the worst of its trials. `run = held + violated +
/// unknown`; `enumerated = pruned + run + left`, and those that are not possible. Confirmations are not counted.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Plans {
    /// Thought of.
    pub enumerated: u64,
    /// Left out because provably covered by another plan, by rule.
    pub pruned: BTreeMap<String, u64>,
    /// Carried out.
    pub run: u64,
    /// No oracle objected.
    pub held: u64,
    /// At least one oracle objected.
    pub violated: u64,
    /// Proved nothing: the trigger never fired, the subject never acted, or it never settled.
    pub unknown: u64,
    /// How often any was tried: most are tried in two orders of generated names.
    pub trials: u64,
    /// Not carried out: the budget ended, or another world of its class was explored.
    pub left: u64,
}

impl Plans {
    /// These and those of one family.
    #[must_use]
    pub fn with(mut self, family: &FamilyPlans) -> Plans {
        for (rule, count) in &family.pruned {
            *self.pruned.entry(rule.clone()).or_default() += count;
        }
        self.enumerated += family.enumerated;
        self.run += family.run;
        self.held += family.held;
        self.violated += family.violated;
        self.unknown += family.unknown;
        self.trials += family.trials;
        self.left += family.left;
        self
    }

    /// All pruned plans together.
    pub fn pruned_total(&self) -> u64 {
        self.pruned.values().sum()
    }
}

/// What became of the plans of one family: [`Plans`] of those whose last perturbation is of it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct FamilyPlans {
    /// Thought of.
    pub enumerated: u64,
    /// Left out because provably covered by another plan, by rule.
    pub pruned: BTreeMap<String, u64>,
    /// Carried out.
    pub run: u64,
    /// No oracle objected.
    pub held: u64,
    /// At least one oracle objected.
    pub violated: u64,
    /// Proved nothing.
    pub unknown: u64,
    /// Of the unknown ones, those whose crash point was not reached.
    pub never_fired: u64,
    /// How often any was tried: most are tried in two orders of generated names.
    pub trials: u64,
    /// Not carried out: the budget ended, or another world of its class was explored.
    pub left: u64,
    /// Why plans can't be carried out with this controller or this workload, with how many.
    pub unavailable: BTreeMap<String, u64>,
    /// Why a type can't be shown to this controller in that way, whatever the plan.
    pub not_for: Vec<String>,
}

/// How much of the reachable was reached.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Coverage {
    /// Different worlds seen.
    pub worlds: u64,
    /// Worlds left to explore.
    pub frontier: u64,
    /// Every schedule of restarts of every length was covered, as far as they are asked for and except behind findings, at
    /// the level that `level` names; and that is `scale` at least, or what the campaign asks for if that is coarser.
    pub closed: bool,
    /// The finest level at which nothing is left: `exact`, `age`, `scale`, `shape` or `none`.
    pub level: String,
    /// Each level, coarse ones first.
    pub levels: Vec<LevelCoverage>,
    /// Worlds not expanded because a finding lies before them.
    pub behind_findings: u64,
    /// Worlds whose repeats wrote differently.
    pub nondeterministic: u64,
    /// Revisions of Leases and Events, which are no places to crash.
    pub bookkeeping: u64,
}

/// How soon something was found.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Found {
    /// Trials by then; undisturbed runs and those that confirm are not counted.
    pub trials: u64,
    /// Real seconds since the first undisturbed run began.
    pub seconds: f64,
}

/// How much was explored at one level of telling worlds apart (docs/campaign.md, *precision*).
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LevelCoverage {
    /// `shape`, `scale`, `age` or `exact`.
    pub level: String,
    /// Classes of worlds met; at `exact` worlds.
    pub classes: u64,
    /// Those of which a world was explored.
    pub explored: u64,
    /// Worlds explored although one of their class had been.
    pub audited: u64,
    /// Those of them that wrote otherwise: their classes were split.
    pub disagreed: u64,
}

/// A confirmed, minimised, explained violation.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Finding {
    /// Stable name: also the folder below `findings/`. Letters, digits, `-`, `_` and `.` only.
    pub id: String,
    /// One sentence.
    pub title: String,
    /// Perturbation family, for example `intermediate-state`.
    pub family: String,
    /// The oracle that objected.
    pub oracle: String,
    /// How often its replay reproduced it.
    pub confirmed: Confirmed,
    /// What its plan came to on other clusters.
    #[serde(default)]
    pub confirmed_on: Vec<ConfirmedOn>,
    /// Trials of the exploration that showed it, by the family of their plan; those of `also` included.
    #[serde(default)]
    pub trials: BTreeMap<String, u64>,
    /// What else the same wrong write led to.
    #[serde(default)]
    pub also: Vec<Also>,
    /// The replay file, relative to the run folder.
    pub replay: String,
    /// The command that reproduces it.
    pub replay_command: String,
    /// Why it is wrong.
    pub explanation: Explanation,
    /// Of a property that does not hold: the steps up to where that shows, and what follows for ever, a line each.
    #[serde(default)]
    pub path: Vec<String>,
    /// What happened around the perturbation, in one order.
    pub timeline: Vec<Entry>,
    /// How the end state differs from the baseline's.
    pub diff: Vec<ObjectDiff>,
    /// How a person can see it without Trommel, a step each: Markdown, commands in code fences or backticks.
    pub kubectl_steps: Vec<String>,
    /// The replay file's text.
    pub replay_text: String,
}

/// What the plan of a finding came to on another cluster.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ConfirmedOn {
    /// Which cluster, with its version, and how the subject ran there.
    pub cluster: String,
    /// Reproduced so often.
    pub k: u32,
    /// Of so many; 0: it could not be tried.
    pub n: u32,
    /// Why not always.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

impl ConfirmedOn {
    /// For people: `kind dev v1.36.3 (pod): 3 of 3`.
    pub fn sentence(&self) -> String {
        let ConfirmedOn { cluster, k, n, why } = self;
        let count = if *n == 0 { "not tried".to_owned() } else { format!("{k} of {n}") };
        let why = why.as_ref().map(|why| format!(", {why}")).unwrap_or_default();
        format!("{cluster}: {count}{why}")
    }
}

/// Another violation that a finding explains.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Also {
    /// Its fingerprint's id.
    pub id: String,
    /// One sentence.
    pub title: String,
}

/// What violated trials seemed to show, and is not confirmed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Suspicion {
    /// Its fingerprint's id.
    pub id: String,
    /// One sentence.
    pub title: String,
    /// How far confirming came.
    pub state: String,
    /// The plan that came furthest.
    pub plan: String,
    /// Trials of the exploration that showed it, by the family of their plan.
    pub trials: BTreeMap<String, u64>,
    /// Whether it would last.
    #[serde(default)]
    pub severity: Severity,
    /// The oracle that objected.
    #[serde(default)]
    pub oracle: String,
    /// The history of a trial that showed it, relative to the run folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<String>,
    /// The replay file of its plan, relative to the run folder.
    #[serde(default)]
    pub replay: String,
    /// The command that carries its plan out again.
    #[serde(default)]
    pub replay_command: String,
    /// The replay file's text.
    #[serde(default)]
    pub replay_text: String,
}

/// Reproduced `k` times of `n`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Confirmed {
    /// Reproduced.
    pub k: u32,
    /// Tried.
    pub n: u32,
}

/// *Let* … *Then* … *because* …: the premises, what follows, and why that must not be.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Explanation {
    /// The perturbation and the moment, each a clause.
    #[serde(rename = "let")]
    pub given: Vec<String>,
    /// What the controller saw beside what was true, when it made the write in question, a sentence each.
    #[serde(default)]
    pub saw: Vec<String>,
    /// What came out.
    pub then: String,
    /// Which expectation that breaks, and where the expectation is from; also why the fault is legal.
    pub because: String,
    /// Of each fault that takes certain servers or clients: which, and what happens there.
    #[serde(default)]
    pub legal_on: Vec<LegalOn>,
}

/// On which servers a fault is legal.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct LegalOn {
    /// Versions and feature gates of servers and client.
    pub servers: String,
    /// What happens there, a clause each, in order.
    pub steps: Vec<String>,
}

impl From<plans::LegalOn> for LegalOn {
    fn from(plans::LegalOn { servers, steps }: plans::LegalOn) -> LegalOn {
        LegalOn { servers, steps }
    }
}

/// One line of a timeline.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Entry {
    /// Position in the history.
    pub sequence: u64,
    /// Real time since the trial began, and the world's once its clock was moved: `12.5 ms · +60.000 s`.
    pub at: String,
    /// Who: `subject/0#1` (replica, incarnation), `user`, `trommel`, `store`.
    pub who: String,
    /// What kind of thing.
    pub kind: EntryKind,
    /// The line.
    pub text: String,
    /// More, where there is more: a body as YAML. Empty otherwise.
    pub detail: String,
}

/// What kind of thing a timeline line tells.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum EntryKind {
    /// A request.
    Call,
    /// Its answer.
    Answer,
    /// The store moved.
    Commit,
    /// A watch event reached a client.
    Delivery,
    /// A process was started, killed, or ended by itself.
    Process,
    /// A line that the subject wrote.
    Log,
    /// The workload moved, or all settled.
    Step,
    /// The perturbation: drawn as the mark that the eye looks for.
    Perturbation,
    /// Anything else.
    #[default]
    Note,
}

impl EntryKind {
    /// All kinds, in the order in which a reader can switch them on and off.
    pub const ALL: [EntryKind; 9] = {
        use EntryKind::*;
        [Perturbation, Process, Step, Call, Answer, Commit, Delivery, Log, Note]
    };

    /// One lowercase word.
    pub fn word(self) -> &'static str {
        match self {
            EntryKind::Call => "call",
            EntryKind::Answer => "answer",
            EntryKind::Commit => "commit",
            EntryKind::Delivery => "delivery",
            EntryKind::Process => "process",
            EntryKind::Log => "log",
            EntryKind::Step => "step",
            EntryKind::Perturbation => "perturbed",
            EntryKind::Note => "note",
        }
    }
}

/// How one object differs between the baseline's end state and the trial's.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ObjectDiff {
    /// `foos.example.com/default/foo-1`.
    pub object: String,
    /// Where it exists.
    pub change: ObjectChange,
    /// YAML lines, each begun by ` ` (both), `-` (baseline only) or `+` (trial only).
    pub lines: Vec<String>,
}

/// Where an object exists.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ObjectChange {
    /// In both, with different content.
    #[default]
    Changed,
    /// Only in the baseline: the trial lacks it.
    Missing,
    /// Only in the trial: it should not be there.
    Extra,
}

impl ObjectChange {
    /// As the reader sees it.
    pub fn words(self) -> &'static str {
        match self {
            ObjectChange::Changed => "differs",
            ObjectChange::Missing => "missing",
            ObjectChange::Extra => "should not exist",
        }
    }
}

/// The contract's part of a [`Report`]: what `summary.json` and `-o json` hold, with exactly these keys.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Summary<'a> {
    campaign: &'a str,
    seconds: f64,
    references: &'a References,
    plans: &'a Plans,
    families: &'a BTreeMap<String, FamilyPlans>,
    coverage: &'a Coverage,
    #[serde(rename = "firstViolated", skip_serializing_if = "Option::is_none")]
    first_violated: Option<Found>,
    #[serde(rename = "firstFinding", skip_serializing_if = "Option::is_none")]
    first_finding: Option<Found>,
    undisturbed: &'a oracles::Examination,
    findings: Vec<FindingSummary<'a>>,
    transient: Vec<FindingSummary<'a>>,
    suspicions: Vec<SuspicionSummary<'a>>,
    #[serde(rename = "violatedTrials")]
    violated_trials: u64,
    #[serde(rename = "neverTried")]
    never_tried: &'a [String],
    exit: u8,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct FindingSummary<'a> {
    id: &'a str,
    title: &'a str,
    family: &'a str,
    oracle: &'a str,
    confirmed: Confirmed,
    #[serde(rename = "confirmedOn", skip_serializing_if = "<[ConfirmedOn]>::is_empty")]
    confirmed_on: &'a [ConfirmedOn],
    trials: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "<[Also]>::is_empty")]
    also: &'a [Also],
    replay: &'a str,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct SuspicionSummary<'a> {
    id: &'a str,
    title: &'a str,
    severity: Severity,
    oracle: &'a str,
    state: &'a str,
    plan: &'a str,
    trials: &'a BTreeMap<String, u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    history: Option<&'a str>,
    replay: &'a str,
}

impl Suspicion {
    fn summary(&self) -> SuspicionSummary<'_> {
        SuspicionSummary {
            id: &self.id,
            title: &self.title,
            severity: self.severity,
            oracle: &self.oracle,
            state: &self.state,
            plan: &self.plan,
            trials: &self.trials,
            history: self.history.as_deref(),
            replay: &self.replay,
        }
    }
}

/// Where plans of families are counted, those of models are called so.
pub const OF_MODELS: &str = "model-runs";

impl Report {
    /// Whether all that was asked for are runs of models.
    pub fn is_of_models(&self) -> bool {
        self.families.keys().all(|name| name == OF_MODELS) && !self.families.is_empty()
    }

    /// Whether a plan of this family was carried out.
    pub fn has_run(&self, family: Family) -> bool {
        self.families.get(family.name()).is_some_and(|plans| plans.run > 0)
    }

    /// All that was confirmed: what lasts first.
    pub fn confirmed(&self) -> impl Iterator<Item = &Finding> {
        self.findings.iter().chain(&self.transient)
    }

    /// The part that programs read.
    pub fn summary(&self) -> Summary<'_> {
        Summary {
            campaign: &self.campaign,
            seconds: self.seconds,
            references: &self.references,
            plans: &self.plans,
            families: &self.families,
            coverage: &self.coverage,
            first_violated: self.first_violated,
            first_finding: self.first_finding,
            undisturbed: &self.undisturbed,
            findings: self.findings.iter().map(Finding::summary).collect(),
            transient: self.transient.iter().map(Finding::summary).collect(),
            suspicions: self.suspicions.iter().map(Suspicion::summary).collect(),
            violated_trials: self.violated_trials,
            never_tried: &self.never_tried,
            exit: self.exit,
        }
    }
}

impl Finding {
    /// Why no object is shown to differ.
    pub fn without_difference(&self) -> &'static str {
        match self.oracle.as_str() {
            "workload" => "The run ended at the failed step, so there is no end state to compare.",
            _ => {
                "The objects are equal wherever both settled: the oracle judges how they came to be so."
            }
        }
    }

    fn summary(&self) -> FindingSummary<'_> {
        FindingSummary {
            id: &self.id,
            title: &self.title,
            family: &self.family,
            oracle: &self.oracle,
            confirmed: self.confirmed,
            confirmed_on: &self.confirmed_on,
            trials: &self.trials,
            also: &self.also,
            replay: &self.replay,
        }
    }
}
