//! The keys of `cluster.kind`.

use std::path::PathBuf;

use serde::{Deserialize, Serialize};

/// A kind cluster of this machine.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct KindSpec {
    /// Its name, as `kind get clusters` has it.
    #[serde(default = "KindSpec::usual_name")]
    pub name: String,
    /// Images that are loaded into its nodes: archives, relative to the campaign's folder, or names of Docker's images.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub images: Vec<String>,
    /// How to create it, if there is none of this name. Without it, the cluster must be there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub create: Option<CreateSpec>,
}

/// How to create a kind cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, rename_all = "camelCase", deny_unknown_fields)]
pub struct CreateSpec {
    /// The image of its nodes, as in `kind create cluster --image`; default: that of kind.
    pub node_image: Option<String>,
    /// Nodes of the control plane; default: 1.
    pub control_planes: Option<usize>,
    /// Other nodes; default: 0.
    pub workers: Option<usize>,
    /// A configuration file of kind, relative to the campaign's folder, instead of both counts.
    pub config: Option<PathBuf>,
    /// Leaves the cluster at the end of the campaign, for the next one.
    pub keep: bool,
}

/// Nodes of a created cluster: a machine that holds more of them is none that kind is made for.
const NODES_AT_MOST: usize = 30;
/// Longer names make names of nodes that are too long for hostnames (kind, `clusterNameMax`).
const NAME_AT_MOST: usize = 50;

impl KindSpec {
    /// The cluster of this name, or of the usual one, as it is.
    pub fn named(name: Option<&str>) -> KindSpec {
        let name = name.map_or_else(KindSpec::usual_name, str::to_owned);
        KindSpec { name, images: vec![], create: None }
    }

    fn usual_name() -> String {
        "kind".to_owned()
    }

    /// # Errors
    /// The key that is wrong, and what is wrong with it.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        let Some(create) = &self.create else { return Ok(()) };
        // kind, `pkg/internal/apis/config/validate.go`.
        let valid = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '.' | '-');
        if self.name.is_empty() || self.name.len() > NAME_AT_MOST || !self.name.chars().all(valid) {
            let what = format!(
                "{:?} can't be the name of a kind cluster: 1 to {NAME_AT_MOST} of a-z, 0-9, \".\" and \"-\"",
                self.name
            );
            return Err(("name", what));
        }
        create.check()
    }
}

impl CreateSpec {
    /// How many nodes of the control plane there are, and how many others, unless a file says so.
    pub fn counts(&self) -> (usize, usize) {
        (self.control_planes.unwrap_or(1), self.workers.unwrap_or(0))
    }

    fn check(&self) -> Result<(), (&'static str, String)> {
        if self.config.is_some() && (self.control_planes.is_some() || self.workers.is_some()) {
            let what = "the file says which nodes there are: leave controlPlanes and workers out";
            return Err(("create.config", what.to_owned()));
        }
        match self.counts() {
            (0, _) => Err(("create.controlPlanes", "a cluster needs at least 1".to_owned())),
            (planes, workers) if planes.saturating_add(workers) > NODES_AT_MOST => {
                Err(("create.workers", format!("at most {NODES_AT_MOST} nodes are created")))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Option<&str>) {
        let spec: KindSpec = serde_saphyr::from_str(text).unwrap();
        match (spec.check(), expect) {
            (Ok(()), None) => {}
            (Err((key, what)), Some(part)) => {
                let said = format!("{key}: {what}");
                assert!(said.contains(part), "{said}");
            }
            (found, expect) => panic!("{text}: {found:?}, not {expect:?}"),
        }
    }

    #[test]
    fn what_can_be_created() {
        check("name: Any_Name", None);
        check("create: {}", None);
        check("create: {nodeImage: 'kindest/node:v1.36.3', controlPlanes: 3, workers: 2}", None);
        check("create: {config: kind.yaml, keep: true}", None);
        check("name: a_b\ncreate: {}", Some("name: \"a_b\" can't be"));
        check("name: ''\ncreate: {}", Some("name: \"\" can't be"));
        check("create: {controlPlanes: 0}", Some("create.controlPlanes: a cluster needs"));
        check("create: {workers: 30}", Some("create.workers: at most 30"));
        check("create: {config: kind.yaml, workers: 1}", Some("leave controlPlanes"));
    }
}
