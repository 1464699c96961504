//! Descriptions as clusters that can be explored.

use std::time::Duration;

use controllers::{Controller, Request};
use serde_json::Value;

use super::{
    description::Description,
    events,
    intent::Intent,
    intents, manifests,
    occurrence::What,
    options::{Mode, Options},
    pods,
};
use crate::{
    System,
    cluster::{
        Action, ClientSetup, Cluster, Granularity, Setup, State, api::Traces, looks::Asked,
        setup::SetupError,
    },
};

/// What is longer ago is as good as this long ago: autoscalers scale by no more than a rate in 15 s, where nothing is
/// stabilized. Of two pods, of which one has to go, only whether they are older than this is known.
const HORIZON_SECONDS: u32 = 15;
/// The same where nodes fail and the node controllers taint them: one node in 100 s where most of a zone are well.
const TAINTS_SECONDS: u32 = 120;

/// The cluster of a description, with the monitors of these intents.
///
/// # Errors
/// If two objects have one key.
pub fn cluster(
    of: &Description,
    intents: &[Intent],
    options: &Options,
) -> Result<Cluster, SetupError> {
    let objects = match of.deployments.iter().any(|one| !one.placed.is_empty()) {
        true => placed(of)?,
        false => manifests::objects(of),
    };
    Cluster::new(Setup {
        objects,
        clients: clients(of, options),
        granularity: options.granularity,
        events: events::all(of, options.mode),
        monitors: intents::monitors(of, intents, options.mode),
        horizon: Duration::from_secs(horizon_seconds(of, options.mode).into()),
        all_ties: options.all_ties,
        ..Setup::default()
    })
}

/// Who runs. The kubelets do their part at once, in both modes: how long a pod takes to start or to go is not Kivi's
/// subject.
fn clients(of: &Description, options: &Options) -> Vec<ClientSetup> {
    let mut all = vec![Controller::Deployment, Controller::ReplicaSet, Controller::Scheduler];
    if of.deployments.iter().any(|one| one.autoscaler.is_some()) {
        all.push(Controller::Autoscaler);
    }
    if of.descheduler.is_some() {
        all.push(Controller::Descheduler);
    }
    let taints = of.nodes.iter().flat_map(|node| &node.taints);
    let by_controllers = fails(of) && options.mode == Mode::Exact;
    if by_controllers {
        all.push(Controller::NodeLifecycle);
    }
    if by_controllers || taints.into_iter().any(|taint| taint.effect == "NoExecute") {
        all.push(Controller::TaintEviction);
    }
    let client = |controller| ClientSetup {
        in_order: in_order(controller, options.granularity),
        ..ClientSetup::of(controller)
    };
    let kubelet = ClientSetup { at_once: true, ..ClientSetup::of(Controller::Kubelet) };
    all.into_iter().map(client).chain([kubelet]).collect()
}

/// Kivi's controllers have queues. At finer steps those with many workers may take any of their keys.
fn in_order(controller: Controller, granularity: Granularity) -> bool {
    granularity == Granularity::Drain
        || matches!(controller, Controller::Scheduler | Controller::TaintEviction)
}

fn fails(of: &Description) -> bool {
    let fails = |what: &What| matches!(what, What::KernelPanic | What::NodeFailure { .. });
    of.occurrences.iter().any(|one| fails(&one.what))
}

fn horizon_seconds(of: &Description, mode: Mode) -> u32 {
    let steps = of.templates.iter().flat_map(|template| &template.usage);
    let windows = of.deployments.iter().filter_map(|one| window_seconds(one.autoscaler.as_ref()?));
    let longest = steps.map(|(from, _)| *from).chain(windows).max().unwrap_or(0);
    let least = if mode == Mode::Exact && fails(of) { TAINTS_SECONDS } else { HORIZON_SECONDS };
    let looked_at = if longest > 0 { longest + HORIZON_SECONDS } else { 0 };
    least.max(looked_at)
}

/// For how long an autoscaler looks back.
fn window_seconds(autoscaler: &Value) -> Option<u32> {
    let down = &autoscaler["behavior"]["scaleDown"]["stabilizationWindowSeconds"];
    let up = &autoscaler["behavior"]["scaleUp"]["stabilizationWindowSeconds"];
    let longest = [down.as_u64().unwrap_or(300), up.as_u64().unwrap_or(0)].into_iter().max()?;
    u32::try_from(longest).ok()
}

/// All objects when the pods that a description places run: made by the controllers themselves, bound as it says.
fn placed(of: &Description) -> Result<Vec<Value>, SetupError> {
    let made = rest(manifests::objects(of))?;
    let (cluster, state) = made;
    let api = cluster.api(&|_| Traces::default());
    let mut store = state.store().clone();
    for deployment in &of.deployments {
        let pods = pods::live(&cluster.objects, state.store(), &deployment.name);
        for (found, node) in pods.zip(&deployment.placed) {
            let (key, uid) = (found.stored.key.clone(), found.object.meta.uid.clone());
            let node = of.nodes[*node].name.as_str().into();
            store = api.carry_out(&store, &Asked::of(Request::Bind { key, uid, node })).0;
        }
    }
    let bound = store.values(&cluster.objects).map(|(_, value)| value.clone()).collect();
    let (cluster, state) = rest(bound)?;
    Ok(state.store().values(&cluster.objects).map(|(_, value)| value.clone()).collect())
}

/// What a cluster of these objects comes to without scheduler, autoscaler and all that may happen.
fn rest(objects: Vec<Value>) -> Result<(Cluster, State), SetupError> {
    let makers = [Controller::Deployment, Controller::ReplicaSet, Controller::Kubelet];
    let clients =
        makers.map(|controller| ClientSetup { in_order: true, ..ClientSetup::of(controller) });
    let cluster = Cluster::new(Setup {
        objects,
        clients: clients.into(),
        granularity: Granularity::Drain,
        ..Setup::default()
    })?;
    let mut state = cluster.initial().remove(0);
    loop {
        let mut actions = Vec::new();
        cluster.actions(&state, &mut actions);
        let act = actions.iter().find(|action| matches!(action, Action::Acts(_)));
        match act.and_then(|act| cluster.next(&state, act)) {
            Some(next) if next != state => state = next,
            _ => return Ok((cluster, state)),
        }
    }
}
