//! kwok's format (`pkg/apis/v1alpha1/stage_types.go`), as it is written. Keys that it does not have are errors.
//!
//! A text that is a program (jq, a template) knows where it stands, for errors that are found later than by reading.
//!
//! Not here: CEL expressions, `apply` steps, impersonation, types other than Pod and Node, and heartbeats of nodes'
//! conditions that let a world settle.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_saphyr::{Location, Spanned};

/// A document.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StageFile {
    /// `kwok.x-k8s.io/v1alpha1`.
    pub api_version: Spanned<String>,
    /// `Stage`.
    pub kind: Spanned<String>,
    /// Its name.
    pub metadata: Metadata,
    /// All the rest.
    pub spec: Spanned<StageSpec>,
    /// What kwok writes into Stages that are objects of a cluster.
    #[serde(default)]
    pub status: serde::de::IgnoredAny,
}

/// Names the stage. What else objects may have there says nothing about it.
#[derive(Debug, Clone, Deserialize)]
pub struct Metadata {
    /// For messages.
    pub name: String,
}

/// What a stage is.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StageSpec {
    /// Which type of objects.
    pub resource_ref: ResourceRef,
    /// Which of them.
    pub selector: Option<Selector>,
    /// Its share of the times when several stages match.
    #[serde(default)]
    pub weight: i64,
    /// The same, from the object.
    pub weight_from: Option<ExpressionFrom>,
    /// How long after the object came to match.
    pub delay: Option<Delay>,
    /// What is done.
    pub next: Option<Next>,
    /// What is done, step by step; instead of `next`.
    #[serde(default)]
    pub steps: Vec<Step>,
    /// The next stage does not wait until the API server has told of this one. It never waits here.
    #[serde(default)]
    pub immediate_next_stage: bool,
}

/// A type of objects.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ResourceRef {
    /// Default: `v1`.
    #[serde(default = "core")]
    pub api_group: Spanned<String>,
    /// `Pod` or `Node`.
    pub kind: Spanned<String>,
}

fn core() -> Spanned<String> {
    Spanned::new("v1".to_owned(), Location::UNKNOWN, Location::UNKNOWN)
}

/// Which objects; all of it must hold.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Selector {
    /// Labels that they have.
    #[serde(default)]
    pub match_labels: BTreeMap<String, String>,
    /// Annotations that they have.
    #[serde(default)]
    pub match_annotations: BTreeMap<String, String>,
    /// What else holds of them.
    #[serde(default)]
    pub match_expressions: Vec<MatchExpression>,
}

/// Something that holds of an object: `jq`, or the older form of the same at this level.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MatchExpression {
    /// Not supported.
    pub cel: Option<Spanned<serde::de::IgnoredAny>>,
    /// The newer form.
    pub jq: Option<Requirement>,
    /// See [`Requirement::key`].
    pub key: Option<Spanned<String>>,
    /// See [`Requirement::operator`].
    pub operator: Option<Spanned<String>>,
    /// See [`Requirement::values`].
    #[serde(default)]
    pub values: Vec<String>,
}

/// A query and what it has to find.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Requirement {
    /// A jq program.
    pub key: Spanned<String>,
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`.
    pub operator: Spanned<String>,
    /// For the first two.
    #[serde(default)]
    pub values: Vec<String>,
}

/// A value out of the object: `jq`, or the older form of the same at this level.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ExpressionFrom {
    /// Not supported.
    pub cel: Option<Spanned<serde::de::IgnoredAny>>,
    /// The newer form.
    pub jq: Option<Expression>,
    /// A jq program.
    pub expression_from: Option<Spanned<String>>,
}

/// A jq program.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expression {
    /// It.
    pub expression: Spanned<String>,
}

/// How long a stage waits.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Delay {
    /// At least.
    pub duration_milliseconds: Option<i64>,
    /// The same, from the object: a time, or a duration.
    pub duration_from: Option<ExpressionFrom>,
    /// Less than; where it is not more than the former, exactly.
    pub jitter_duration_milliseconds: Option<i64>,
    /// The same, from the object.
    pub jitter_duration_from: Option<ExpressionFrom>,
}

/// What is done, in this order: event, finalizers, patches, deletion.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Next {
    /// An event that is sent.
    pub event: Option<EventSpec>,
    /// Finalizers that come or go.
    pub finalizers: Option<Finalizers>,
    /// The object is deleted, without grace.
    #[serde(default)]
    pub delete: bool,
    /// Patches of the object.
    #[serde(default)]
    pub patches: Vec<PatchSpec>,
    /// A patch of its status; where there are `patches`, kwok does not look at it.
    pub status_template: Option<Spanned<String>>,
    /// Which subresource that is; default: `status`.
    pub status_subresource: Option<String>,
    /// Not supported.
    pub status_patch_as: Option<Spanned<serde::de::IgnoredAny>>,
}

/// One thing that is done.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Step {
    /// A patch of the object.
    pub patch: Option<PatchSpec>,
    /// An event that is sent.
    pub event: Option<EventSpec>,
    /// Finalizers that come or go.
    pub finalizers: Option<Finalizers>,
    /// The object is deleted, without grace.
    #[serde(default)]
    pub delete: bool,
    /// Not supported.
    pub apply: Option<Spanned<serde::de::IgnoredAny>>,
}

/// A patch of the object.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PatchSpec {
    /// Of which subresource.
    #[serde(default)]
    pub subresource: String,
    /// Under which key what the template makes is put.
    #[serde(default)]
    pub root: String,
    /// Makes YAML.
    pub template: Spanned<String>,
    /// `json`, `merge` or `strategic`; default: `strategic`.
    #[serde(rename = "type")]
    pub kind: Option<Spanned<String>>,
    /// Not supported.
    pub impersonation: Option<Spanned<serde::de::IgnoredAny>>,
}

/// Finalizers that come or go.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finalizers {
    /// These come.
    #[serde(default)]
    pub add: Vec<Finalizer>,
    /// These go.
    #[serde(default)]
    pub remove: Vec<Finalizer>,
    /// All go, before any come.
    #[serde(default)]
    pub empty: bool,
}

/// A finalizer.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Finalizer {
    /// Its name.
    pub value: String,
}

/// An event.
#[derive(Debug, Clone, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EventSpec {
    /// `Normal` or `Warning`.
    #[serde(rename = "type", default)]
    pub kind: String,
    /// One word.
    #[serde(default)]
    pub reason: String,
    /// For people.
    #[serde(default)]
    pub message: String,
}
