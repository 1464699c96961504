//! Counterexamples of cluster models as files (`kind: Counterexample`): what there is at the start, what users do, which
//! controllers run, what is violated, and what the model's controllers wrote on the way.
//!
//! Nothing in such a file comes from the model's own form: whoever checks clusters can write one.

mod step;

use std::{collections::BTreeMap, path::Path, str::FromStr, time::Duration};

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::config::{Located, parse_duration, reading};

use step::names_an_object;
pub use step::{After, Does, Step};

use super::intent::Intent;

/// A counterexample.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Counterexample {
    /// The real programs that run, by name, as [`super::programs::NAMES`] has them.
    pub programs: Located<BTreeMap<String, ProgramSpec>>,
    /// Manifests that are applied before they start; nodes among them have kubelets.
    pub objects: Vec<Located<Value>>,
    /// When the model's run begins.
    #[serde(default)]
    pub begins: Begins,
    /// What running pods use, which makes their PodMetrics.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub usage: Vec<Usage>,
    /// What users and nodes do, in this order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<Located<Step>>,
    /// What the model says of properties.
    pub expect: Vec<Located<Expectation>>,
    /// The writes of the model's controllers since it began, in its order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub writes: Vec<Located<Write>>,
    /// When the run is over.
    #[serde(default)]
    pub limits: Limits,
}

/// When a model's run begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Begins {
    /// With the objects as they are in the file.
    #[default]
    AtOnce,
    /// When the controllers have nothing more to do with them.
    Stable,
}

/// How a real program runs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ProgramSpec {
    /// Further flags, which come last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flags: Vec<String>,
    /// Its configuration file: a DeschedulerPolicy, a KubeSchedulerConfiguration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub config: Option<Value>,
}

/// What each running pod with these labels uses.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Usage {
    /// Labels, all of which it has.
    pub pods: BTreeMap<String, String>,
    /// Of the resource `cpu`, as a quantity; all of it by its first container.
    pub cpu: String,
    /// Of the resource `memory`.
    pub memory: String,
}

impl FromStr for Usage {
    type Err = String;

    /// `app=web,cpu=300m,memory=1Gi`: other keys than the resources are labels.
    fn from_str(text: &str) -> Result<Usage, String> {
        let mut usage = Usage { pods: BTreeMap::new(), cpu: String::new(), memory: "0".to_owned() };
        for part in text.split(',') {
            let (key, value) = part.split_once('=').ok_or("expected KEY=VALUE,KEY=VALUE")?;
            match key {
                "cpu" => value.clone_into(&mut usage.cpu),
                "memory" => value.clone_into(&mut usage.memory),
                label => {
                    usage.pods.insert(label.to_owned(), value.to_owned());
                }
            }
        }
        match usage.cpu.is_empty() {
            true => Err("it needs cpu, as app=web,cpu=300m".to_owned()),
            false => Ok(usage),
        }
    }
}

/// What the model says of one property: an intent, or an expression in CEL over `objects` as in a property file.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Expectation {
    /// What reports call it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What the model found.
    #[serde(default)]
    pub model: ModelVerdict,
    /// An intent, by its name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub intent: Option<Intent>,
    /// The Deployment that it is about: `name`, or `namespace/name`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deployment: Option<String>,
    /// Of `replica_num_always_meet_exp`: how many pods are expected.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replicas: Option<i64>,
    /// Of `pod_balance_across_node`: how far apart nodes may be.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_skew: Option<i64>,
    /// It holds in each state.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// From some state on it holds for ever.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eventually: Option<String>,
    /// What is followed by what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<crate::campaign::properties::LeadsTo>,
    /// What does not come after what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_after: Option<crate::campaign::properties::NeverAfter>,
}

/// What a model says of a property.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ModelVerdict {
    /// It is violated.
    #[default]
    Violated,
    /// It holds.
    Held,
}

/// One write of a controller.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Write {
    /// Which controller, for the reader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<String>,
    /// What it does.
    pub verb: WriteVerb,
    /// Of its object.
    pub kind: String,
    /// Of its object; `default` if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub namespace: Option<String>,
    /// Of its object; `web-*` is what a generated name begins with.
    pub name: String,
    /// Tells objects apart whose names begin alike.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub object: Option<String>,
    /// Fields by their paths, such as `spec.replicas`, and what they are afterwards. A text that begins with `$` stands
    /// for one value that is the same wherever it stands, and another than those of other such texts.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub set: BTreeMap<String, Value>,
}

/// What a write does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum WriteVerb {
    /// The object is new.
    Create,
    /// Updates, patches, bindings.
    Update,
    /// Deletions and evictions, as soon as they are asked for.
    Delete,
}

/// When a run is over, even if the real programs go on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Limits {
    /// So long after the last step, by the controllers' clock.
    #[serde(default = "Limits::time")]
    pub time: Span,
    /// So long without a write after the last step: nothing more will come.
    #[serde(default = "Limits::silence")]
    pub silence: Span,
    /// So many writes since the last step: they go on for ever.
    #[serde(default = "Limits::writes")]
    pub writes: usize,
}

impl Limits {
    fn time() -> Span {
        Span(Duration::from_secs(3600))
    }

    /// Longer than an autoscaler waits before it scales down, and than a descheduler between two rounds.
    fn silence() -> Span {
        Span(Duration::from_secs(600))
    }

    fn writes() -> usize {
        500
    }
}

impl Default for Limits {
    fn default() -> Limits {
        Limits { time: Limits::time(), silence: Limits::silence(), writes: Limits::writes() }
    }
}

/// A duration as Go writes it: `5m`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span(pub Duration);

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Span, D::Error> {
        let text = String::deserialize(deserializer)?;
        parse_duration(&text).map(Span).map_err(serde::de::Error::custom)
    }
}

impl Serialize for Span {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let millis = self.0.as_millis();
        let units = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];
        let (unit, of) =
            units.into_iter().find(|(_, of)| millis.is_multiple_of(*of)).unwrap_or(("ms", 1));
        serializer.collect_str(&format_args!("{}{unit}", millis / of))
    }
}

/// `kind` of these files.
const KIND: &str = "Counterexample";

impl Counterexample {
    /// The text of a file of this name, with a comment at its head.
    ///
    /// # Errors
    /// A value has no form in YAML.
    pub fn written(&self, name: &str, comment: &str) -> anyhow::Result<String> {
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct File<'a> {
            api_version: &'static str,
            kind: &'static str,
            metadata: BTreeMap<&'static str, &'a str>,
            spec: &'a Counterexample,
        }
        let file = File {
            api_version: plans::replay::API_VERSION,
            kind: KIND,
            metadata: BTreeMap::from([("name", name)]),
            spec: self,
        };
        let comment: String = comment.lines().map(|line| format!("# {line}\n")).collect();
        Ok(comment + &serde_saphyr::to_string(&file)?)
    }

    /// Reads a file.
    ///
    /// # Errors
    /// What is wrong, with file, line and column: exit 64.
    pub fn load(path: &Path) -> anyhow::Result<Counterexample> {
        Counterexample::read(&reading::text(path)?, path)
    }

    fn read(text: &str, path: &Path) -> anyhow::Result<Counterexample> {
        let read: Counterexample = reading::spec(text, path, KIND)?;
        for name in read.programs.value.keys() {
            super::programs::check(name).map_err(|why| read.programs.error(path, &why))?;
        }
        for object in &read.objects {
            names_an_object(&object.value).map_err(|why| object.error(path, &why))?;
        }
        for step in &read.steps {
            step.value.check().map_err(|why| step.error(path, &why))?;
        }
        for expected in &read.expect {
            super::expected::Expected::read(&expected.value)
                .map_err(|why| expected.error(path, &why))?;
        }
        for write in &read.writes {
            let is_pattern = write.value.name.ends_with('*');
            if is_pattern && write.value.object.is_none() {
                let why = "several objects can have such a name: say which one by `object`";
                return Err(write.error(path, why));
            }
        }
        Ok(read)
    }
}
