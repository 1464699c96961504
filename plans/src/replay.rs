//! The replay file: reproduces one finding by itself, anywhere; kept in the author's repository.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::{perturbation::Citation, plan::Plan};

/// `apiVersion` of replay files.
pub const API_VERSION: &str = "trommel.dev/v1alpha1";

/// What running the file should show.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Expectation {
    /// The finding is there.
    #[default]
    Finding,
    /// The finding is gone: flip to this after the fix, and the file guards it.
    Clean,
}

/// The controller under test, as the campaign names it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaySubject {
    /// Builds it; run first, in the campaign's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// Program and arguments, relative to the campaign's folder.
    #[serde(default)]
    pub command: Vec<String>,
    /// How it runs in pods: `spec.subject.deployment`, its paths relative to the campaign's folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<serde_json::Value>,
    /// Extra environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
}

/// What else decides how its runs go, each as the campaign file writes it; left out where it is the default.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReplaySettings {
    /// `spec.subject.transport`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// `spec.subject.clock`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<String>,
    /// `spec.subject.serviceAccount`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub service_account: Option<String>,
    /// `spec.subject.replicas`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<u32>,
    /// `spec.settle.horizon`: what the campaign learnt or said.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub horizon: Option<String>,
    /// `spec.settle.atMost`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at_most: Option<String>,
    /// `spec.subject.determinism`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub determinism: Option<serde_json::Value>,
    /// `spec.cluster.embedded`: which built-in controllers and nodes there were.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub embedded: Option<serde_json::Value>,
    /// The cluster on which alone the controller runs: `kind=NAME`. `trommel replay --cluster` names another.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cluster: Option<String>,
    /// `spec.accept`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub accept: Vec<String>,
    /// `spec.heartbeats`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub heartbeats: Vec<String>,
}

/// A replay file, complete by value: it needs the controller and nothing else.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Replay {
    /// [`API_VERSION`].
    pub api_version: String,
    /// `Replay`.
    pub kind: String,
    /// The finding's id: stable across runs.
    pub finding: String,
    /// The finding in one sentence.
    pub title: String,
    /// What running it should show.
    #[serde(default)]
    pub expect: Expectation,
    /// The oracle that judged.
    pub oracle: String,
    /// What a violation must have to be this one, whatever family of perturbations brought it about: twelve hexadecimal
    /// digits.
    pub fingerprint: String,
    /// Clusters on which it was confirmed when the file was written.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub confirmed_on: Vec<String>,
    /// The anomalies, in order; each by what happened, so that it fires on other clusters too.
    pub plan: Plan,
    /// Runs of a model, one of which the controller was to follow, and what actions and variables are.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub schedules: Vec<serde_json::Value>,
    /// What its worlds do not have, as property files write it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub properties: Vec<serde_json::Value>,
    /// Why a real cluster may show each of them, in the same order.
    pub legality: Vec<Citation>,
    /// Name of the campaign that found it.
    pub campaign: String,
    /// The campaign's folder, relative to the folder in which Trommel was run, or to the root of its repository.
    pub folder: String,
    /// The campaign's file in that folder.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub campaign_file: Option<String>,
    /// The controller.
    pub subject: ReplaySubject,
    /// What else the campaign said of its runs.
    #[serde(default)]
    pub settings: ReplaySettings,
    /// Objects applied before it starts.
    pub manifests: Vec<serde_json::Value>,
    /// The user's side: the text of the workload file.
    pub workload: String,
    /// Files that the workload names, by their path relative to it.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload_files: BTreeMap<String, String>,
    /// The variables that the workload's function `env` knows.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub workload_env: BTreeMap<String, String>,
    /// Hash (blake3, hexadecimal) of the workload, its files and variables: a changed one is refused.
    pub workload_hash: String,
    /// The version of Trommel that wrote it.
    pub made_by: String,
}
