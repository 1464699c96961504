//! What a campaign must give, and what it gave (tests/campaigns/README.md explains the words).

use std::collections::BTreeMap;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::minimal::{self, Minimal};

/// Which campaign file of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Variant {
    /// `campaign.yaml`: the controller with its bug.
    AsWritten,
    /// `fixed.yaml`: its fixed twin.
    Fixed,
    /// `in-turn.yaml`: what comes to the controller with its bug comes one at a time.
    InTurn,
}

impl Variant {
    /// Its file name.
    pub fn file(self) -> &'static str {
        match self {
            Variant::AsWritten => "campaign.yaml",
            Variant::Fixed => "fixed.yaml",
            Variant::InTurn => "in-turn.yaml",
        }
    }
}

/// What one campaign file must give.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    exit: i32,
    /// At this level.
    closed: bool,
    /// The finest one where nothing else is said: merging must hide nothing in campaigns of our own.
    #[serde(default)]
    level: Level,
    findings: usize,
    /// What was wrong for a while and is right in the end, where it matters.
    transient: Option<usize>,
    /// How many findings are of which family, where it matters.
    families: Option<BTreeMap<String, usize>>,
    unknown: u64,
    /// How many worlds the exploration met, where it matters that it met them.
    worlds: Option<u64>,
    /// The minimal plan of one of the findings.
    minimal: Option<Minimal>,
    /// Skipped (in CI: failed) where one of these is missing.
    #[serde(default)]
    pub needs: Vec<Need>,
}

/// How closely a campaign that is closed tells worlds apart (`coverage.level` of its summary).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// No level is closed.
    None,
    /// The coarsest.
    Shape,
    /// What a campaign is to reach.
    Scale,
    /// As that, with ages.
    Age,
    /// The finest.
    #[default]
    Exact,
}

/// What a campaign may need beyond Rust.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Need {
    /// `go`.
    Go,
    /// `python3` with `venv`.
    Python,
    /// Maven, and a JDK of version 21 at least.
    Java,
    /// The real API server.
    Judge,
}

/// What a campaign gave.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Given {
    exit: i32,
    /// The finest level that is closed.
    closed: Level,
    /// Trials that proved nothing.
    pub unknown: u64,
    /// Met by the exploration.
    pub worlds: u64,
    /// From the first reference run to the report.
    pub seconds: f64,
    /// In the order of the summary.
    pub findings: Vec<GivenFinding>,
    /// How many were wrong for a while and right in the end.
    pub transient: usize,
    /// Violated trials, and those of them that belong to a finding or suspicion.
    violated: (u64, u64),
    workload: Value,
}

/// One finding of a campaign.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct GivenFinding {
    /// Its id.
    pub id: String,
    title: String,
    family: String,
    always: bool,
    plan: Value,
}

impl Given {
    /// Reads a summary; `replay` gives the text of a replay file by its path in the summary.
    ///
    /// # Errors
    /// A summary without the keys of docs/stability.md, or a replay file that can't be read.
    pub fn read(
        summary: &Value,
        exit: i32,
        workload: Value,
        replay: impl Fn(&str) -> anyhow::Result<String>,
    ) -> anyhow::Result<Given> {
        let coverage = &summary["coverage"];
        let closed = coverage["closed"].as_bool().context("coverage.closed is missing")?;
        let level = Level::deserialize(&coverage["level"]).context("coverage.level")?;
        let closed = if closed { level } else { Level::None };
        let unknown = summary["plans"]["unknown"].as_u64().context("plans.unknown is missing")?;
        let worlds =
            summary["coverage"]["worlds"].as_u64().context("coverage.worlds is missing")?;
        let seconds = summary["seconds"].as_f64().context("seconds is missing")?;
        let mut findings = Vec::new();
        for finding in summary["findings"].as_array().context("findings is missing")? {
            let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
            let (k, n) = (&finding["confirmed"]["k"], &finding["confirmed"]["n"]);
            let path = text("replay");
            let file: Value =
                serde_saphyr::from_str(&replay(&path)?).with_context(|| path.clone())?;
            findings.push(GivenFinding {
                id: text("id"),
                title: text("title"),
                family: text("family"),
                always: k == n && k.as_u64() > Some(0),
                plan: file["plan"].clone(),
            });
        }
        let violated = violated(summary)?;
        let transient = summary["transient"].as_array().map_or(0, Vec::len);
        Ok(Given {
            exit,
            closed,
            unknown,
            worlds,
            seconds,
            findings,
            transient,
            violated,
            workload,
        })
    }
}

/// How many trials were violated, and how many of them belong to a finding or a suspicion.
fn violated(summary: &Value) -> anyhow::Result<(u64, u64)> {
    let all = summary["violatedTrials"].as_u64().context("violatedTrials is missing")?;
    let cases = ["findings", "suspicions"].map(|key| summary[key].as_array());
    // What is right in the end is no violated trial.
    let cases =
        cases.into_iter().flatten().flatten().filter(|case| case["severity"] != "transient");
    let trials = cases.filter_map(|case| case["trials"].as_object()).flat_map(|of| of.values());
    Ok((all, trials.filter_map(Value::as_u64).sum()))
}

impl Given {
    /// What the findings are called.
    pub fn ids(&self) -> Vec<&str> {
        self.findings.iter().map(|finding| finding.id.as_str()).collect()
    }
}

/// `2 of stale-state and 1 of unobserved-state`.
fn listed(families: &BTreeMap<String, usize>) -> String {
    let each = families.iter().map(|(family, count)| format!("{count} of {family}"));
    each.collect::<Vec<_>>().join(" and ")
}

/// What differs, a sentence each.
pub fn compare(expected: &Expected, given: &Given) -> Vec<String> {
    let mut problems = Vec::new();
    let mut differ = |what: &str, expected: &dyn ToString, given: &dyn ToString| {
        let (expected, given) = (expected.to_string(), given.to_string());
        if expected != given {
            problems.push(format!("{what} is {given}, expected {expected}"));
        }
    };
    differ("exit", &expected.exit, &given.exit);
    differ("closed", &expected.closed, &(given.closed >= expected.level));
    differ("unknown", &expected.unknown, &given.unknown);
    if let Some(worlds) = &expected.worlds {
        differ("number of worlds", worlds, &given.worlds);
    }
    let (violated, told) = given.violated;
    differ("number of violated trials of findings and suspicions", &violated, &told);
    if let Some(transient) = &expected.transient {
        differ("number of transient ones", transient, &given.transient);
    }
    differ("number of findings", &expected.findings, &given.findings.len());
    if let Some(families) = &expected.families {
        let mut found: BTreeMap<String, usize> = BTreeMap::new();
        for finding in &given.findings {
            *found.entry(finding.family.clone()).or_default() += 1;
        }
        differ("findings by family", &listed(families), &listed(&found));
    }
    let unsure = given.findings.iter().filter(|finding| !finding.always);
    problems.extend(unsure.map(|finding| format!("not confirmed each time: {}", finding.title)));
    if let Some(minimal) = &expected.minimal {
        let is = |finding: &&GivenFinding| {
            finding.family == minimal.family
                && minimal::matches(minimal, &finding.plan, &given.workload)
        };
        if !given.findings.iter().any(|finding| is(&finding)) {
            let plans: Vec<String> = given.findings.iter().map(|f| f.plan.to_string()).collect();
            problems.push(format!("no finding has the minimal plan, but {}", plans.join(" and ")));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn given(occurrence: u32) -> Given {
        let summary = json!({"exit": 100, "seconds": 1.5, "coverage": {"closed": true, "level": "exact", "worlds": 6}, "plans": {"unknown": 0},
            "violatedTrials": 3, "suspicions": [{"trials": {"stale-state": 2}}], "findings": [{"id": "a", "title": "two Foos exist", "oracle": "end-state",
                "family": "intermediate-state", "trials": {"intermediate-state": 1}, "confirmed": {"k": 5, "n": 5}, "replay": "r.yaml"}]});
        let call =
            json!({"verb": "create", "resource": "foos.example.com", "namespace": "default"});
        let at = json!({"committed": {"call": call, "occurrence": occurrence}});
        let replay = json!({"plan": [{"crash": {"at": at, "restart": "immediately"}}]}).to_string();
        Given::read(&summary, 100, Value::Null, |path| {
            assert_eq!(path, "r.yaml");
            Ok(replay.clone())
        })
        .unwrap()
    }

    fn expected(yaml: &str) -> Expected {
        serde_saphyr::from_str(yaml).unwrap()
    }

    const FOUND: &str = "{exit: 100, closed: true, findings: 1, unknown: 0, minimal: {family: intermediate-state, \
        crashes: [{after: [{actor: subject, verb: create, resource: foos.example.com, occurrence: 1}], \
        restart: [immediately]}]}}";

    #[test]
    fn what_is_expected_passes() {
        assert_eq!(compare(&expected(FOUND), &given(1)), [""; 0]);
    }

    #[test]
    fn every_difference_is_seen() {
        let check = |yaml: &str, given: &Given, problems: usize| {
            let found = compare(&expected(yaml), given);
            assert_eq!(found.len(), problems, "{yaml}: {found:?}");
        };
        check(FOUND, &given(2), 1);
        check("{exit: 0, closed: true, findings: 0, unknown: 0}", &given(1), 2);
        check(FOUND, &Given { findings: Vec::new(), ..given(1) }, 2);
        check(FOUND, &Given { closed: Level::Scale, ..given(1) }, 1);
        let coarse = FOUND.replacen('{', "{level: scale, ", 1);
        check(&coarse, &Given { closed: Level::Scale, ..given(1) }, 0);
        check(&coarse, &Given { closed: Level::Shape, ..given(1) }, 1);
        check(FOUND, &Given { unknown: 1, ..given(1) }, 1);
        let counted = FOUND.replacen('{', "{worlds: 6, ", 1);
        check(&counted, &given(1), 0);
        check(&counted, &Given { worlds: 1, ..given(1) }, 1);
        check(FOUND, &Given { violated: (3, 2), ..given(1) }, 1);
        let mut unsure = given(1);
        unsure.findings[0].always = false;
        check(FOUND, &unsure, 1);
        let mut other = given(1);
        other.findings[0].family = "stale-state".to_owned();
        check(FOUND, &other, 1);
    }

    #[test]
    fn a_summary_without_its_keys_is_refused() {
        let refused =
            |summary: Value| Given::read(&summary, 0, Value::Null, |_| Ok(String::new())).is_err();
        assert!(refused(json!({})));
        let coverage = || json!({"closed": true, "level": "exact", "worlds": 6});
        assert!(refused(json!({"coverage": {"closed": true}, "plans": {"unknown": 0}})));
        assert!(refused(json!({"coverage": coverage(), "plans": {}, "findings": []})));
        assert!(refused(json!({"coverage": coverage(), "plans": {"unknown": 0}})));
    }

    #[test]
    fn unknown_words_are_errors() {
        let text = "{exit: 0, closed: true, findings: 0, unknown: 0, extra: 1}";
        assert!(serde_saphyr::from_str::<Expected>(text).is_err());
    }
}
