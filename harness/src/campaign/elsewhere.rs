//! Findings on other clusters: each plan is carried out on a real one as well, as its replay file would be.
//!
//! What was found on the embedded cluster is a finding without that. On another one it shows with the server, the
//! controllers and the image that its users have.

use std::collections::BTreeMap;

use plans::Expectation;

use crate::{
    campaign::{
        confirm::{self, Findings},
        interrupt,
        progress::{Event, Progress},
        reference,
        run_folder::RunFolder,
        setup::Setup,
    },
    commands::replay::outcome::{Expected, Outcome},
    config::{Campaign, ClusterChoice, ClusterSpec},
};

/// How often each plan is carried out there.
const REPEATS: u32 = 3;

/// What a finding came to on one cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Elsewhere {
    /// Which cluster, with its version, and how the subject ran there.
    pub cluster: String,
    /// Reproduced so often, of so many.
    pub reproduced: (u32, u32),
    /// Why not always.
    pub why: Option<String>,
}

/// By finding.
pub type OfFindings = BTreeMap<String, Vec<Elsewhere>>;

/// Carries the plans of all findings out on each of these clusters. One that can't be used is told of each finding.
pub fn confirm(
    campaign: &Campaign,
    choices: &[ClusterChoice],
    findings: &Findings,
    folder: &RunFolder,
    progress: &Progress,
) -> OfFindings {
    let mut all = OfFindings::new();
    for choice in choices {
        if findings.all().next().is_none() || interrupt::asked() {
            break;
        }
        progress.tell(Event::Phase { name: format!("confirming on {choice}"), total: None });
        let on = on(campaign, choice, findings, folder, progress).unwrap_or_else(|error| {
            let failed = |found: &confirm::Finding| {
                let why = Some(format!("{error:#}"));
                let cluster = choice.to_string();
                (found.id.clone(), Elsewhere { cluster, reproduced: (0, 0), why })
            };
            findings.all().map(failed).collect()
        });
        for (id, elsewhere) in on {
            all.entry(id).or_default().push(elsewhere);
        }
    }
    all
}

fn on(
    campaign: &Campaign,
    choice: &ClusterChoice,
    findings: &Findings,
    folder: &RunFolder,
    progress: &Progress,
) -> anyhow::Result<BTreeMap<String, Elsewhere>> {
    let mut campaign = campaign.clone();
    choice.apply(&mut campaign, None);
    let below = folder.path.join("elsewhere").join(choice.to_string().replace(['/', '='], "-"));
    let folder = RunFolder::create(Some(&below), campaign.name())?;
    let setup = Setup::prepare(campaign, &folder.path, 1)?;
    let all = repeated(&setup, findings, &folder, progress);
    setup.clean_up();
    all
}

/// How often the plan of each finding shows it again, by finding.
fn repeated(
    setup: &Setup,
    findings: &Findings,
    folder: &RunFolder,
    progress: &Progress,
) -> anyhow::Result<BTreeMap<String, Elsewhere>> {
    let restarts = findings.all().any(|found| found.plan.restarts_when_settled());
    let references = reference::learn(setup, folder, progress, restarts, None)?;
    let cluster = named(setup);
    let mut all = BTreeMap::new();
    for found in findings.all() {
        let runs =
            confirm::repeated(setup, &found.plan, REPEATS, references.settle.usual(), progress);
        let id = found.verdict.fingerprint.id();
        let expected = Expected {
            plan: &found.plan,
            fingerprint: &id,
            title: &found.verdict.title,
            expect: Expectation::Finding,
        };
        let outcome = Outcome::of(setup, &expected, &runs, &references.baseline);
        let why = (!outcome.others.is_empty()).then(|| outcome.others.join("; "));
        let elsewhere =
            Elsewhere { cluster: cluster.clone(), reproduced: outcome.reproduced(), why };
        all.insert(found.id.clone(), elsewhere);
    }
    Ok(all)
}

/// A campaign's cluster, its version, and how the subject runs there.
pub fn named(setup: &Setup) -> String {
    let spec = &setup.campaign.file.spec;
    let sort = match &spec.cluster {
        ClusterSpec::Embedded(_) => "embedded".to_owned(),
        ClusterSpec::Kubeconfig(_) => "kubeconfig".to_owned(),
        ClusterSpec::Kind(kind) => format!("kind {}", kind.name),
    };
    let how = if spec.runs_in_pods() { "pod" } else { "process" };
    format!("{sort} {} ({how})", setup.ground.version())
}
