//! A fork anywhere comes to the end that the original came to.
//!
//! Scenarios are those that are drawn for the comparison with the real controllers (`generated.rs`). After each of
//! their steps the world is forked at every revision that the controllers made on the way to rest, and each fork is
//! left to itself until the original's time:
//!
//! - as it is: the objects are the same to the byte, and so is what is still to be done;
//! - with other names to come, that sort the other way: the same state in comparison form;
//! - with controllers that were started anew and have looked at nothing yet, as after a restart of
//!   kube-controller-manager: the same state in comparison form, or the one that such a restart at the end leads to;
//! - with turns drawn among all that could be next (`Server::take_turn`): the same.
//!
//! Forks right after the user's step, with other names or turns, also come there in the same way (`sequences.rs`), which
//! shows that chance is not told there. Where there is nothing but owners, the way depends on turns (`ends.rs`).
//!
//! Controllers that start where a pod without grace was marked, and the request that removes it is half done, would find
//! what no server leaves behind: a restart is not played there.
//!
//! There are two ends of a restart because of what upstream does not notice, and so ours does not: a taint that changes
//! whether a pod of a DaemonSet should be where it is and may stay (its status says so at its next sync only), and a
//! pod that has ended and was still ready (Endpoints have it until something else happens). Controllers that start look
//! at everything.
//!
//! No real controller is needed.

use cluster::{Server, SuffixOrder, World};
use serde_json::Value;
use trace::{Context, Identity, Revision, identity};

use crate::{
    arm::{Arm, Embedded},
    form, generated, play,
    scenario::Scenario,
    sequences,
    verdict::script,
    watched::{self, TYPES},
};

/// How many scenarios are forked.
const SCENARIOS: u64 = 45;

/// What is other in a fork.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Variant {
    Nothing,
    Names,
    Restarted,
    Order,
}

const VARIANTS: [Variant; 4] =
    [Variant::Nothing, Variant::Names, Variant::Restarted, Variant::Order];

impl Variant {
    fn fork(self, mut world: World, seed: u64) -> Embedded {
        match self {
            Variant::Nothing | Variant::Order => {}
            Variant::Names => world.reseed(seed, SuffixOrder::Descending),
            Variant::Restarted => return Embedded::restarted(world),
        }
        let fork = Embedded(Server::new(world, None));
        if self == Variant::Order {
            disorder(&fork.0, seed);
        }
        fork
    }
}

/// Takes turns by lot until the controllers have nothing to do at once.
fn disorder(server: &Server, mut seed: u64) {
    loop {
        let mut turns = server.turns();
        if turns.is_empty() {
            return;
        }
        let drawn = trommel_tests::drawn(&mut seed, turns.len() as u64);
        let turn = turns.swap_remove(drawn as usize);
        assert!(server.take_turn(&turn), "it was offered");
    }
}

/// Every object as it is stored, and what is to be done.
fn bytes(embedded: &Embedded) -> Vec<String> {
    let world = embedded.0.world();
    let objects = world.objects().map(|(key, object)| format!("{key} {object}"));
    objects.chain([world.pending().to_string()]).collect()
}

fn identity_of(embedded: &Embedded) -> Identity {
    let world = embedded.0.world();
    let context = Context {
        now: world.now(),
        generated_names: world.generated_names().collect(),
        extra: world.pending(),
        ..Context::default()
    };
    identity(world.objects(), &context)
}

/// What the forks of a scenario showed.
#[derive(Default)]
struct Shown {
    forks: usize,
    different: Vec<String>,
}

/// Forks a scenario at every revision after each of its steps.
fn fork_everywhere(scenario: &Scenario) -> Shown {
    let original = Embedded::new();
    original.make_namespace(&scenario.name);
    original.rest();
    let more = form::more(scenario);
    let mut shown = Shown::default();
    for (number, step) in scenario.steps.iter().enumerate() {
        play(&original, &scenario.name, step);
        let from = original.0.revision();
        original.rest();
        let state = |of: &Embedded| form::of(of, &scenario.name, &more);
        let restarted = Embedded::restarted(original.0.world());
        restarted.rest_until(original.0.now());
        let (end, restarted) = (state(&original), without_message(state(&restarted)));
        for revision in (from.0..=original.0.revision().0).map(Revision) {
            let world = original.at(revision);
            // No server rests there, and nobody else ends what it has begun.
            if is_amid_a_request(&world) {
                continue;
            }
            for variant in VARIANTS {
                let fork = variant.fork(world.clone(), revision.0);
                fork.rest_until(original.0.now());
                shown.forks += 1;
                let found = match variant {
                    Variant::Nothing => difference_in_bytes(&original, &fork),
                    Variant::Names | Variant::Order => {
                        let found = state(&fork);
                        (found != end).then(|| form::difference(&end, &found))
                    }
                    Variant::Restarted => {
                        let found = without_message(state(&fork));
                        let end = without_message(end.clone());
                        (found != end && found != restarted).then(|| form::difference(&end, &found))
                    }
                };
                let found = found.or_else(|| {
                    let is_first = revision == from && !scenario.is_of_owners();
                    let is_alike = matches!(variant, Variant::Names | Variant::Order);
                    let is_asked = is_first && is_alike;
                    if is_asked { other_way(scenario, &original, &fork) } else { None }
                });
                if let Some(found) = found {
                    let title = script(scenario, number);
                    shown.different.push(format!("{title}\n  {variant:?} {revision}\n{found}"));
                }
            }
        }
    }
    shown
}

/// Whether a pod without grace is marked and still there.
fn is_amid_a_request(world: &World) -> bool {
    world.objects().any(|(key, object)| {
        *key.resource.resource == *"pods"
            && object["metadata"]["deletionGracePeriodSeconds"] == 0
            && object["metadata"]["finalizers"].is_null()
    })
}

/// Without the names of ReplicaSets in what Deployments say of their progress. Where controllers start between the
/// creation of a ReplicaSet and the status that tells of it, and there are no pods, upstream's find the rollout complete
/// and leave the words about the one before (`isCompleteDeployment` of `syncRolloutStatus`).
fn without_message(mut state: Value) -> Value {
    for deployment in state["deployments"].as_array_mut().into_iter().flatten() {
        let said = deployment.pointer_mut("/status/conditions/Progressing/2");
        if let Some(said) = said.filter(|said| said.as_str().is_some_and(has_progressed)) {
            *said = "it has progressed".into();
        }
    }
    state
}

fn has_progressed(message: &str) -> bool {
    message.ends_with("has successfully progressed.")
}

/// Orders and names of controllers' making change nothing about what is told of the way (`sequences.rs`).
fn other_way(scenario: &Scenario, original: &Embedded, fork: &Embedded) -> Option<String> {
    let way = |of: &Embedded| sequences::of(&watched::in_embedded(of, &TYPES, &scenario.name));
    let (expect, found) = (way(original), way(fork));
    (expect != found).then(|| format!("  on the way\n{}", form::difference(&expect, &found)))
}

fn difference_in_bytes(original: &Embedded, fork: &Embedded) -> Option<String> {
    assert_eq!(
        identity_of(original) == identity_of(fork),
        bytes(original) == bytes(fork),
        "identity tells the same as bytes"
    );
    let (expect, found) = (bytes(original), bytes(fork));
    let other = |at: &usize| expect.get(*at) != found.get(*at);
    let at = (0..expect.len().max(found.len())).find(other)?;
    Some(format!("    original {:?}\n    fork     {:?}", expect.get(at), found.get(at)))
}

#[test]
fn a_fork_anywhere_comes_to_the_same_end() {
    // For a long run: so many, from that one.
    let number =
        |name: &str, default| std::env::var(name).map_or(default, |n| n.parse().expect("a number"));
    let first = number("TROMMEL_FIRST", 0);
    let count = number("TROMMEL_FORKED", SCENARIOS);
    let (mut forks, mut different) = (0, Vec::new());
    for seed in first..first + count {
        let shown = fork_everywhere(&generated::scenario(seed));
        forks += shown.forks;
        different.extend(shown.different);
    }
    println!("{forks} forks of {count} scenarios, {} came to another end", different.len());
    assert!(forks as u64 > count * 40, "{forks} forks are too few to show anything");
    assert!(different.is_empty(), "{}", different.join("\n"));
}
