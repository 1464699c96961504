//! Intents as properties of a cluster.
//!
//! In mode parity they are Kivi's: a monitor counts what happened, and the intent is violated when the count is
//! reached. In mode exact what repeats for ever is a run without end that is fair, of which the cluster comes back to
//! one state again and again: monitors keep only what the last step was.

use std::sync::Arc;

use super::{check, description::Description, events, intent::Intent, options::Mode, pods};
use crate::{
    Fairness, Property,
    cluster::{Action, Cluster, State, events::Monitor},
};

mod monitors;

use monitors::{AtLeast, Balanced, Breakdowns, Changes, Evictions, Oscillation, level};

/// How often something happens that is taken to happen for ever (`LOOP_TIMES`).
const TIMES: u64 = 3;

/// How an intent is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Asks {
    /// What monitors keep never comes to this.
    Below(u64),
    /// From some point on they keep nothing.
    Settles,
    /// Without monitors.
    State,
}

/// The monitors of an intent, and how it is judged.
fn judged(of: &Description, intent: &Intent, mode: Mode) -> (Vec<Box<dyn Monitor>>, Asks) {
    let described = |deployment: usize| &of.deployments[deployment];
    let name = |deployment: usize| described(deployment).name.clone();
    let counts = mode == Mode::Parity;
    let repeats = if counts { Asks::Below(TIMES) } else { Asks::Settles };
    let one = |monitor: Box<dyn Monitor>, asks: Asks| (vec![monitor], asks);
    match intent {
        Intent::AlwaysSchedulable | Intent::ValidEnds => (vec![], Asks::State),
        Intent::NoKernelPanic => {
            let groups = (0..of.nodes.len()).step_by(Breakdowns::NODES);
            let group = |first| -> Box<dyn Monitor> { Box::new(Breakdowns { first, counts }) };
            (groups.map(group).collect(), repeats)
        }
        Intent::NoEvictionCycle { deployment } => {
            one(Box::new(Evictions { deployment: name(*deployment), counts }), repeats)
        }
        Intent::NoReplicaOscillation { deployment } if mode == Mode::Exact => {
            one(Box::new(Changes::of_replicas(name(*deployment))), Asks::Settles)
        }
        Intent::NoReplicaOscillation { deployment } => {
            let fixed = described(*deployment).replicas;
            let (min, max) = described(*deployment).bounds().unwrap_or((fixed, fixed));
            let monitor = Oscillation { deployment: name(*deployment), min, max };
            one(Box::new(monitor), Asks::Below(Oscillation::VIOLATED))
        }
        Intent::MeetMinimum { deployment } => {
            let least = described(*deployment).bounds().map(|(min, _)| min);
            let pods = least.unwrap_or(described(*deployment).replicas);
            let monitor = AtLeast { deployment: name(*deployment), pods };
            one(Box::new(monitor), Asks::Below(AtLeast::VIOLATED))
        }
        Intent::MeetExpected { deployment, expected } => {
            let pods = expected.pods(described(*deployment));
            let monitor = AtLeast { deployment: name(*deployment), pods };
            one(Box::new(monitor), Asks::Below(AtLeast::VIOLATED))
        }
        Intent::Balance { deployment, max_skew } => {
            let monitor = Balanced { deployment: name(*deployment), max_skew: *max_skew };
            one(Box::new(monitor), Asks::Below(1))
        }
        Intent::NoLoop => one(Box::new(Changes::of_all()), Asks::Settles),
    }
}

/// The monitors of intents, in their order.
pub(super) fn monitors(of: &Description, intents: &[Intent], mode: Mode) -> Vec<Box<dyn Monitor>> {
    intents.iter().flat_map(|intent| judged(of, intent, mode).0).collect()
}

/// What is asked of a cluster whose monitors are those of the same intents.
pub(super) fn properties<'c>(
    of: &Description,
    cluster: &'c Cluster,
    intents: &[Intent],
    mode: Mode,
) -> Vec<Property<'c, Cluster>> {
    let mut next = 0;
    let property = |intent: &Intent| {
        let (monitors, asks) = judged(of, intent, mode);
        let own = next..next + monitors.len();
        next = own.end;
        let kept = move |state: &State| {
            let kept = state.environment.monitors[own.clone()].iter();
            kept.map(|kept| level(*kept)).max().unwrap_or(0)
        };
        let name = check::title(of, intent);
        match (asks, mode) {
            (Asks::Below(count), _) => Property::always(name, move |state| kept(state) < count),
            (Asks::Settles, _) => Property::eventually_always(name, move |state| kept(state) == 0),
            (Asks::State, _) if *intent == Intent::ValidEnds => {
                Property::no_deadlock(name, move |state| all_run(cluster, state))
            }
            (Asks::State, Mode::Parity) => {
                Property::always(name, move |state| all_found(cluster, state))
            }
            (Asks::State, Mode::Exact) => {
                Property::eventually_always(name, move |state| all_bound(cluster, state))
            }
        }
    };
    intents.iter().map(property).collect()
}

fn all_found(cluster: &Cluster, state: &State) -> bool {
    !pods::all(&cluster.objects, state.store()).any(|found| found.is_turned_away())
}

fn all_bound(cluster: &Cluster, state: &State) -> bool {
    let mut pods = pods::all(&cluster.objects, state.store());
    pods.all(|found| !found.is_live() || !found.pod.node.is_empty())
}

fn all_run(cluster: &Cluster, state: &State) -> bool {
    let mut pods = pods::all(&cluster.objects, state.store());
    pods.all(|found| found.is_live() && found.is_running())
}

/// What does not stand still for ever while it could go on: each controller, time, and what a description says comes
/// back by itself.
pub(super) fn fairness(cluster: &Cluster) -> Vec<Fairness<'static, Cluster>> {
    let clients = cluster.setup.clients.iter().enumerate().map(|(at, client)| {
        let name: Arc<str> = client.name.clone();
        Fairness::weak(&*name, move |action: &Action| action.client() == Some(at))
    });
    let time = Fairness::weak("time", |action| matches!(action, Action::Tick { .. }));
    let events = cluster.setup.events.iter().enumerate();
    let back = events
        .filter(|(_, event)| matches!(event.name(), "recovery" | "return" | events::MEASURED));
    let back = back.map(|(at, event)| {
        Fairness::weak(event.name(), move |action: &Action| {
            matches!(action, Action::Event { event, .. } if usize::from(*event) == at)
        })
    });
    clients.chain([time]).chain(back).collect()
}
