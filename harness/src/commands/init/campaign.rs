//! The campaign file, and the manifests that are written beside it.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
};

use serde_json::Value;

use super::{
    Options,
    go_project::{GoProject, WEBHOOKS},
    name, program, relative, text as shown,
};
use crate::exit::{Exit, Expected};

/// What the author's files say of the operator.
#[derive(Default)]
pub(super) struct Found {
    /// Built-in workloads that RBAC lets it create.
    pub workloads_made: BTreeSet<&'static str>,
    /// Whether there are any rules of RBAC.
    pub has_rules: bool,
    /// Namespaces that have to be made.
    pub namespaces: Vec<Value>,
    /// Definitions of types of other projects that it works on.
    pub other_types: Vec<Value>,
    /// The files and folders that are applied, as the author named them.
    pub applied: Vec<PathBuf>,
}

/// The folder of [`Found::other_types`], beside the campaign.
const OTHER_TYPES: &str = "other-crds";

/// The file of [`Found::namespaces`], beside the campaign.
const NAMESPACES: &str = "namespaces.yaml";

impl Found {
    /// The files beside the campaign, by name, with their text.
    pub fn files(&self) -> anyhow::Result<Vec<(PathBuf, String)>> {
        let mut files = Vec::new();
        if !self.namespaces.is_empty() {
            let all: Result<Vec<String>, _> =
                self.namespaces.iter().map(serde_saphyr::to_string).collect();
            files.push((NAMESPACES.into(), all?.join("---\n")));
        }
        for crd in &self.other_types {
            let name = crd["metadata"]["name"].as_str().unwrap_or_default();
            let file = format!("{OTHER_TYPES}/{}.yaml", name::object_name(name));
            files.push((file.into(), serde_saphyr::to_string(crd)?));
        }
        Ok(files)
    }

    /// The built-in controllers that the campaign runs, and why.
    fn environment(&self) -> (&'static str, String) {
        if !self.workloads_made.is_empty() {
            let made = Vec::from_iter(self.workloads_made.iter().copied()).join(", ");
            return (
                "full",
                format!(
                    "With the built-in controllers, the scheduler and a kubelet: RBAC lets the controller create {made}."
                ),
            );
        }
        let why = match self.has_rules {
            true => "no rule of RBAC lets the controller create pods or what makes pods",
            false => {
                "no rules of RBAC were found; if the controller makes pods or what makes pods, write `full`"
            }
        };
        ("none", format!("Without built-in controllers: {why}."))
    }

    /// As the campaign in this folder names them.
    fn manifests(&self, dir: &Path) -> anyhow::Result<Vec<String>> {
        let mut manifests = vec![];
        if !self.namespaces.is_empty() {
            manifests.push(NAMESPACES.to_owned());
        }
        for path in &self.applied {
            manifests.push(shown(&relative(dir, &std::path::absolute(path)?)));
        }
        if !self.other_types.is_empty() {
            manifests.push(format!("{OTHER_TYPES}/"));
        }
        Ok(manifests)
    }
}

/// The campaign file.
pub(super) fn text(options: &Options, found: &Found) -> anyhow::Result<String> {
    let dir = std::path::absolute(&options.dir)?;
    let mut command = program::words(&options.command);
    if command.is_empty() {
        return Err(Expected::error(
            Exit::Usage,
            "--command is empty: give the program and its arguments",
        ));
    }
    // With a slash the program is a path of this folder; in the campaign it is relative to the campaign's.
    if let Some(program) = command.first_mut().filter(|program| program.contains('/')) {
        let path = relative(&dir, &std::path::absolute(&*program)?);
        *program = if path.components().count() > 1 {
            shown(&path)
        } else {
            format!("./{}", shown(&path))
        };
    }
    let build = match program::build(&dir, &options.command) {
        Some(build) => format!("build: {build}"),
        None => "# build: make build".to_owned(),
    };
    let webhooks = GoProject::around(&dir).is_some_and(|project| project.may_turn_off_webhooks());
    let env = match webhooks {
        true => format!(
            "# Without webhooks: in a cluster their certificate comes from cert-manager.\n    env: {{{WEBHOOKS}: \"false\"}}"
        ),
        false => "# env: {LOG_LEVEL: debug}".to_owned(),
    };
    let (environment, why) = found.environment();
    Ok(CAMPAIGN
        .replace("{env}", &env)
        .replace("{name}", &name::of_project(&dir, &std::path::absolute(&options.crds)?))
        .replace("{build}", &build)
        .replace("{command}", &flow(&Value::from(command)))
        .replace("{why}", &why)
        .replace("{environment}", environment)
        .replace("{manifests}", &flow(&Value::from(found.manifests(&dir)?))))
}

const CAMPAIGN: &str = concat!(
    "# What is tested, on what, doing what. All fields: docs/campaign.md of\n# ",
    env!("CARGO_PKG_REPOSITORY"),
    ".\n",
    "\
apiVersion: trommel.dev/v1alpha1
kind: Campaign
metadata: {name: {name}}
spec:
  subject:
    # Runs first, in this folder. Not counted as campaign time.
    {build}
    # Program and arguments; it finds the cluster by KUBECONFIG. Paths are relative to this file.
    command: {command}
    {env}
  # Applied before the controller starts: CRDs, RBAC, configuration.
  manifests: {manifests}
  # {why}
  cluster: {embedded: {environment: {environment}}}
  # The user's side.
  workload: {file: workload.yaml}
  # Stop after this time, even if not everything is explored.
  budget: {time: 10m}
"
);

/// JSON is YAML, on one line.
fn flow(value: &Value) -> String {
    value.to_string()
}
