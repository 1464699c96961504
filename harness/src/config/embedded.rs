//! The embedded cluster, as a campaign asks for it: `spec.cluster.embedded`.

use std::{collections::BTreeMap, sync::Arc};

use cluster::{Answer, Controller, EnvironmentOptions, Release, World};
use serde::{Deserialize, Serialize};
use stages::Stages;

use super::{
    AuthorizationSpec, Located, StageFile,
    paces::{self, PaceSpec},
};

/// What upstream supports in one cluster (kubernetes.io/docs/setup/best-practices/cluster-large).
const NODES_AT_MOST: u32 = 5000;

/// What a real kube-controller-manager does not do: the rest of `environment: kcm`.
const BESIDE_KCM: [Controller; 3] =
    [Controller::Provisioner, Controller::Scheduler, Controller::Kubelet];

/// The embedded cluster.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EmbeddedSpec {
    /// The release of Kubernetes that it says it is, whose beta versions it serves.
    #[serde(default, skip_serializing_if = "is_default")]
    pub kubernetes: Release,
    /// Which built-in controllers run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub environment: Environment,
    /// How many nodes there are from the beginning; with `environment: full` and `kcm` only, default 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nodes: Option<u32>,
    /// kwok `Stage` files by which pods and nodes live; with `environment: full` and `kcm` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Located<StageFile>>,
    /// What containers say, and how commands end in them; with `environment: full` and `kcm` only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub answers: Vec<Located<Answer>>,
    /// Whether the nodes' leases are renewed; with `environment: full` and `kcm` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub heartbeats: bool,
    /// Whether there is a descheduler, which goes by the policy in its ConfigMap.
    #[serde(default, skip_serializing_if = "is_default")]
    pub descheduler: bool,
    /// Whether the built-in controllers tell what they do, by Events; with `environment: full` and `kcm` only.
    #[serde(default, skip_serializing_if = "is_default")]
    pub events: bool,
    /// Built-in controllers that don't act at once, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub controllers: BTreeMap<String, PaceSpec>,
    /// The built-in controllers that take turns in this order, before all others.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub order: Vec<String>,
    /// Program and further flags of the kube-controller-manager of `environment: kcm`; the program as in
    /// `subject.command`, default `kube-controller-manager` in PATH.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub controller_manager: Vec<String>,
    /// Whether permissions count.
    #[serde(default, skip_serializing_if = "Located::is_default")]
    pub authorization: Located<AuthorizationSpec>,
    /// Whether new pods get their ServiceAccount and a volume with its token, and are refused without the account.
    #[serde(default, skip_serializing_if = "is_default")]
    pub mount_service_accounts: bool,
    /// Whether pods are held against what their namespace's labels ask for.
    #[serde(default, skip_serializing_if = "is_default")]
    pub pod_security: PodSecurity,
}

/// What decides whether a pod is secure enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum PodSecurity {
    /// Labels of its namespace: admission's PodSecurity, as in a real cluster.
    #[default]
    Labels,
    /// Nothing: every pod is.
    None,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

impl EmbeddedSpec {
    /// Errors: the key below `spec.cluster.embedded` that does not belong to the others, and why.
    pub fn check(&self) -> Result<(), (&'static str, String)> {
        if !self.controller_manager.is_empty() && self.environment != Environment::Kcm {
            let why = "a kube-controller-manager runs with environment: kcm only";
            return Err(("controllerManager", why.to_owned()));
        }
        if !self.stages.is_empty() && !self.has_kubelets() {
            let why = "there are kubelets, and so stages, with environment: full or kcm only";
            return Err(("stages", why.to_owned()));
        }
        if !self.answers.is_empty() && !self.has_kubelets() {
            let why = "there are kubelets, and so answers, with environment: full or kcm only";
            return Err(("answers", why.to_owned()));
        }
        if self.heartbeats && !self.has_kubelets() {
            let why = "there are nodes with environment: full or kcm only";
            return Err(("heartbeats", why.to_owned()));
        }
        if self.events && !self.has_kubelets() {
            let why = "there is nobody to tell anything but with environment: full or kcm";
            return Err(("events", why.to_owned()));
        }
        let running = self.running();
        paces::paces(&self.controllers, &running).map_err(|why| ("controllers", why))?;
        paces::order(&self.order, &running).map_err(|why| ("order", why))?;
        let Some(nodes) = self.nodes else { return Ok(()) };
        if !self.has_kubelets() {
            let why = "there are nodes with environment: full or kcm only";
            return Err(("nodes", why.to_owned()));
        }
        if nodes > NODES_AT_MOST {
            return Err(("nodes", format!("at most {NODES_AT_MOST}")));
        }
        Ok(())
    }

    /// Whether pods run.
    pub fn has_kubelets(&self) -> bool {
        matches!(self.environment, Environment::Full | Environment::Kcm)
    }

    /// The command line of the kube-controller-manager that runs beside the subject, if one does.
    pub fn controller_manager(&self) -> Option<Vec<String>> {
        let named = match &self.controller_manager[..] {
            [] => vec!["kube-controller-manager".to_owned()],
            given => given.to_vec(),
        };
        (self.environment == Environment::Kcm).then_some(named)
    }

    /// Sets a new world up, whose API server is known by this certificate in PEM: the release, the policy, and what
    /// runs. The stages are what its files say.
    pub fn set_up(&self, world: &mut World, root_ca: &str, stages: Option<Arc<Stages>>) {
        world.serve_as(self.kubernetes);
        if self.authorization.value == AuthorizationSpec::Rbac {
            world.enforce_rbac();
        }
        if self.mount_service_accounts {
            world.mount_service_accounts();
        }
        if self.pod_security == PodSecurity::None {
            world.ignore_pod_security();
        }
        world.start_environment(&EnvironmentOptions { stages, ..self.options(root_ca) });
    }

    /// The built-in controllers that there are, those among them that are held.
    fn running(&self) -> Vec<Controller> {
        let mut controllers = match self.environment {
            Environment::None => vec![],
            Environment::Minimal => Controller::MINIMAL.to_vec(),
            Environment::Full => Controller::FULL.to_vec(),
            Environment::Kcm => BESIDE_KCM.to_vec(),
        };
        controllers.extend(self.heartbeats.then_some(Controller::NodeLease));
        controllers.extend(self.descheduler.then_some(Controller::Descheduler));
        controllers
    }

    /// Names and answers are right: somebody has looked ([`EmbeddedSpec::check`], `answers::check`).
    fn options(&self, root_ca: &str) -> EnvironmentOptions {
        let controllers = self.running();
        EnvironmentOptions {
            paces: paces::paces(&self.controllers, &controllers).unwrap_or_default(),
            order: paces::order(&self.order, &controllers).unwrap_or_default(),
            nodes: if self.has_kubelets() { self.nodes.unwrap_or(1) } else { 0 },
            controllers,
            root_ca: root_ca.to_owned(),
            stages: None,
            answers: Arc::new(self.checked_answers().unwrap_or_default()),
            events: self.events,
        }
    }
}

/// Which built-in controllers run in the embedded cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "lowercase")]
pub enum Environment {
    /// None: as envtest.
    #[default]
    None,
    /// Garbage collector and namespace controller.
    Minimal,
    /// All that exist, among them Deployments, ReplicaSets, a scheduler and kubelets.
    Full,
    /// What a real kube-controller-manager leaves to others: a scheduler, kubelets, a provisioner of volumes.
    Kcm,
}
