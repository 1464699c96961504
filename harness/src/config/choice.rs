//! A cluster as a command line names it: `embedded`, `kind`, `kind=NAME`, `kubeconfig=PATH`.

use std::{fmt, path::PathBuf, str::FromStr, time::Duration};

use serde::{Deserialize, Serialize};

use super::{Campaign, ClockSpec, ClusterSpec, EmbeddedSpec, Horizon, KindSpec, KubeconfigSpec};

/// On which cluster plans that are known are carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum ClusterChoice {
    /// The embedded one.
    Embedded,
    /// A kind cluster of this machine; without a name, the usual one.
    Kind(Option<String>),
    /// The current context of a kubeconfig, relative to the user's folder.
    Kubeconfig(PathBuf),
}

/// Where time is real, nobody waits longer than this for a world to settle. On the embedded cluster a long horizon costs
/// nothing, so one that was learnt there says little.
const LONGEST: Duration = Duration::from_secs(10);

impl FromStr for ClusterChoice {
    type Err = String;

    fn from_str(text: &str) -> Result<ClusterChoice, String> {
        match text.split_once('=') {
            None if text == "embedded" => Ok(ClusterChoice::Embedded),
            None if text == "kind" => Ok(ClusterChoice::Kind(None)),
            Some(("kind", name)) if !name.is_empty() => {
                Ok(ClusterChoice::Kind(Some(name.to_owned())))
            }
            Some(("kubeconfig", path)) if !path.is_empty() => {
                Ok(ClusterChoice::Kubeconfig(path.into()))
            }
            _ => Err(format!(
                "{text:?} names no cluster: embedded, kind, kind=NAME or kubeconfig=PATH"
            )),
        }
    }
}

impl TryFrom<String> for ClusterChoice {
    type Error = String;

    fn try_from(text: String) -> Result<ClusterChoice, String> {
        text.parse()
    }
}

impl From<ClusterChoice> for String {
    fn from(choice: ClusterChoice) -> String {
        choice.to_string()
    }
}

impl fmt::Display for ClusterChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClusterChoice::Embedded => write!(f, "embedded"),
            ClusterChoice::Kind(None) => write!(f, "kind"),
            ClusterChoice::Kind(Some(name)) => write!(f, "kind={name}"),
            ClusterChoice::Kubeconfig(path) => write!(f, "kubeconfig={}", path.display()),
        }
    }
}

impl ClusterChoice {
    /// The campaign on this cluster. What it says of its own cluster of the same sort stays; `horizon` is its own, as its
    /// file has it.
    pub fn apply(&self, campaign: &mut Campaign, horizon: Option<Horizon>) {
        let spec = &mut campaign.file.spec;
        match (self, &mut spec.cluster) {
            (ClusterChoice::Embedded, ClusterSpec::Embedded(_))
            | (ClusterChoice::Kind(None), ClusterSpec::Kind(_)) => return,
            (ClusterChoice::Kind(Some(name)), ClusterSpec::Kind(kind)) => {
                kind.name.clone_from(name);
                return;
            }
            (ClusterChoice::Embedded, cluster) => {
                *cluster = ClusterSpec::Embedded(EmbeddedSpec::default());
                return;
            }
            (ClusterChoice::Kind(name), cluster) => {
                *cluster = ClusterSpec::Kind(KindSpec::named(name.as_deref()));
            }
            (ClusterChoice::Kubeconfig(path), cluster) => {
                // The campaign's folder is not the user's.
                let path = std::path::absolute(path).unwrap_or_else(|_| path.clone());
                *cluster = ClusterSpec::Kubeconfig(KubeconfigSpec { path, context: None });
            }
        }
        spec.subject.clock = ClockSpec::Auto;
        spec.settle.horizon = match horizon.unwrap_or(spec.settle.horizon) {
            Horizon::For(given) => Horizon::For(given.min(LONGEST)),
            Horizon::Auto => Horizon::Auto,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn choices_are_read_as_they_are_written() {
        for text in ["embedded", "kind", "kind=dev", "kubeconfig=a/b"] {
            assert_eq!(text.parse::<ClusterChoice>().unwrap().to_string(), text);
        }
        for text in ["", "minikube", "kind=", "kubeconfig="] {
            assert!(text.parse::<ClusterChoice>().is_err(), "{text}");
        }
    }
}
