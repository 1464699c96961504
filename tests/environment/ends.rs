//! All ends that controllers may come to where upstream's depends on chance.
//!
//! # The garbage collector
//!
//! Upstream's has twenty workers. Where an object has several owners that own each other, and one of them is deleted,
//! it depends on them which of its references the object loses: a worker that looks at the object before another one
//! has deleted its second owner takes the first reference away, one that looks later deletes the object. Ours looks at
//! one after the other, and so comes to one of these ends. Here every order is played: any key that waits may be
//! looked at next, and any reconcile that has looked may write next (`Server::take_turn`).
//!
//! What is left out: that one worker reads several owners one after the other while others write, and that a worker
//! hears late of what happened. An end that only these lead to is still reported as a difference.
//!
//! # DaemonSets
//!
//! A rolling update goes through the nodes in the order of a Go map. Here every order of them is played, the same one
//! for all of a step (`Server::order_maps`).
//!
//! # Changes at once
//!
//! Where the user changes two things one after the other, the real controllers have done any part of what the first one
//! leads to when the second one comes. Here the second one comes before each of the requests that the first one leads
//! to. What is left out: that several controllers are each in the middle of something.
//!
//! Two worlds are two ends where they differ, or where their objects went through other changes (`sequences.rs`).

use std::collections::BTreeSet;

use cluster::{REQUESTS_WITHOUT_REST, Server, Step as Acting, Turn, World};
use controllers::Request;
use serde_json::{Value, json};
use trace::{Context, Identity, ObjectKey, Revision, identity};

use crate::{
    arm::{Embedded, REST},
    play,
    scenario::{Scenario, Step},
    sequences,
    watched::{self, TYPES, Type},
};

/// Whose turns are taken in any order.
const COLLECTOR: &str = "garbage-collector-controller";

/// Worlds that are looked at, at most. Where there are more, some ends are not found, and a real one that came to such
/// an end counts as different.
const WORLDS: usize = 4_000;

/// Where the embedded controllers may come to rest.
pub struct Ends {
    /// The first is the usual one.
    pub worlds: Vec<Embedded>,
    /// Whether all ways to them were looked at: else the real one may come to one of them in a way that is not here.
    pub in_every_way: bool,
}

/// Where the embedded controllers may come to rest after a step of this scenario.
pub fn all(scenario: &Scenario, from: &Embedded) -> Ends {
    if scenario.is_of_owners() {
        return of_collector(&scenario.name, from);
    }
    let nodes = if scenario.is_of_daemons() { nodes(from) } else { 1 };
    let orders: usize = (1..=nodes).product();
    let ends = (0..orders).map(|order| {
        let end = from.fork();
        end.0.order_maps(order);
        end.rest();
        end.0.order_maps(0);
        end
    });
    let ends: Vec<Embedded> = ends.collect();
    Ends { worlds: distinct(&scenario.name, ends), in_every_way: true }
}

/// The worlds that differ, or that came about in another way.
pub fn distinct(namespace: &str, mut worlds: Vec<Embedded>) -> Vec<Embedded> {
    if worlds.len() > 1 {
        let mut known = BTreeSet::new();
        let way = |world: &Embedded| sequences::of(&watched::in_embedded(world, &TYPES, namespace));
        worlds.retain(|world| known.insert((told(&world.0), way(world).to_string())));
    }
    worlds
}

/// The worlds in which the last of several changes at once may come: those before it come one after the other.
pub fn between(namespace: &str, from: Embedded, before: &[Step]) -> Vec<Embedded> {
    before.iter().fold(vec![from], |worlds, step| {
        let moments = worlds.into_iter().flat_map(|world| {
            play(&world, namespace, step);
            moments(&world)
        });
        moments.collect()
    })
}

/// The world as it is, and after each request that the controllers send until they are at rest.
fn moments(from: &Embedded) -> Vec<Embedded> {
    let (going, mut known) = (from.fork(), BTreeSet::from([told(&from.0)]));
    let mut moments = vec![from.fork()];
    // As many as they may send at all: what does not come to rest is told where they are let run.
    for _ in 0..REQUESTS_WITHOUT_REST {
        match going.0.step_environment() {
            Acting::Quiet => break,
            Acting::Calls(pending) => panic!("no scenario has webhooks: {pending:?}"),
            Acting::Acted(_) if known.insert(told(&going.0)) => moments.push(going.fork()),
            Acting::Acted(_) => {}
        }
    }
    moments
}

fn nodes(of: &Embedded) -> usize {
    of.0.world().objects().filter(|(key, _)| *key.resource.resource == *"nodes").count()
}

/// With all ways to them, or, where these are too many, without.
fn of_collector(namespace: &str, from: &Embedded) -> Ends {
    let way = |server: &Server| {
        let types: &[Type] = watched::of_owners();
        sequences::of(&watched::in_embedded(&Embedded(server.clone()), types, namespace))
            .to_string()
    };
    match explored(from, &way) {
        (worlds, true) => Ends { worlds, in_every_way: true },
        _ => Ends { worlds: explored(from, &|_| String::new()).0, in_every_way: false },
    }
}

/// The ends, and whether nothing was left out. Worlds are told apart by the way to them too.
fn explored(from: &Embedded, way: &dyn Fn(&Server) -> String) -> (Vec<Embedded>, bool) {
    let until = from.0.now().plus(REST);
    let usual = from.fork();
    usual.rest_until(until);
    let mut known = BTreeSet::from([(told(&usual.0), way(&usual.0))]);
    let mut ends = vec![usual];
    let (mut open, mut seen) = (vec![from.0.world()], BTreeSet::new());
    while let Some(world) = open.pop() {
        if seen.len() == WORLDS {
            return (ends, false);
        }
        let server = Server::new(world, None);
        let turns = turns(&server);
        if !seen.insert((server.world().print(), turn_texts(&server), way(&server))) {
            continue;
        }
        if turns.is_empty() {
            match server.next_timer().filter(|due| *due < until) {
                Some(due) => {
                    server.advance_to(due);
                    open.push(server.world());
                }
                None => {
                    let end = Embedded(server.clone());
                    end.rest_until(until);
                    if known.insert((told(&end.0), way(&end.0))) {
                        ends.push(end);
                    }
                }
            }
        }
        for turn in turns {
            let next = Server::new(server.world(), None);
            assert!(next.take_turn(&turn), "it was offered");
            open.push(next.world());
        }
    }
    (ends, true)
}

/// The turns of the collector, when all other controllers are at rest.
fn turns(server: &Server) -> Vec<Turn> {
    assert!(server.hold_controller(COLLECTOR, true), "it runs");
    server.run_environment().expect("the others come to rest");
    assert!(server.hold_controller(COLLECTOR, false), "it runs");
    server.turns().into_iter().filter(|turn| turn.controller == COLLECTOR).collect()
}

/// What a world is, and what can happen next in it. Not when: what waits for a back-off is not told.
fn told(server: &Server) -> Identity {
    let world = server.world();
    let context = Context {
        now: world.now(),
        generated_names: world.generated_names().collect(),
        extra: json!(turn_texts(server)),
        ..Context::default()
    };
    identity(world.objects(), &context)
}

/// What can happen next.
fn turn_texts(server: &Server) -> Vec<String> {
    let world = server.world();
    let mut turns: Vec<String> =
        server.turns().iter().map(|turn| turn_text(&world, turn)).collect();
    turns.sort();
    turns
}

/// A turn, with what matters of the revision that it names: whether it is still the object's.
fn turn_text(world: &World, turn: &Turn) -> String {
    let is_newest = |key: &ObjectKey, revision: Revision| {
        let found = world.object(key).map(|object| &object["metadata"]["resourceVersion"]);
        Revision(u64::from(found == Some(&Value::from(revision.to_string()))))
    };
    let mut next = turn.next.clone();
    match next.as_deref_mut() {
        Some(Request::Delete { key, revision: Some(revision), .. })
        | Some(Request::SetFinalizers { key, revision, .. }) => {
            *revision = is_newest(key, *revision)
        }
        _ => {}
    }
    format!("{} {} {next:?}", turn.controller, turn.key)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        arm::Arm,
        daemons, form,
        scenario::{change, image, map, web},
    };

    const M0: &str = "/api/v1/namespaces/NS/configmaps/m0";

    /// The owners that an object is left with.
    fn owners(end: &Embedded, name: &str) -> Vec<String> {
        let path = format!("/api/v1/namespaces/n/configmaps/{name}");
        let object = end.send("GET", &path, None).1;
        let owners = object["metadata"]["ownerReferences"].as_array().cloned().unwrap_or_default();
        owners.iter().filter_map(|owner| owner["name"].as_str().map(str::to_owned)).collect()
    }

    #[test]
    fn which_daemon_is_replaced_depends_on_the_order_of_nodes() {
        let mut steps = daemons::nodes(&["a", "b", "c"]);
        let spec = daemons::rolling(json!(0), json!(1));
        steps.extend([daemons::log(spec), Step::Bind, Step::Ready, daemons::image("v2")]);
        let scenario = Scenario { name: "n".to_owned(), steps };
        let embedded = Embedded::new();
        embedded.make_namespace("n");
        let (last, first) = scenario.steps.split_last().expect("steps");
        for step in first {
            play(&embedded, "n", step);
            embedded.rest();
        }
        assert_eq!(all(&scenario, &embedded).worlds.len(), 1, "nothing is to be done");
        play(&embedded, "n", last);
        assert_eq!(all(&scenario, &embedded).worlds.len(), 3, "the pod of any node goes first");
    }

    fn held(step: Step) -> Step {
        let Step::Create(path, mut object) = step else { panic!("it creates") };
        object["metadata"]["finalizers"] = json!(["example.com/hold"]);
        Step::Create(path, object)
    }

    #[test]
    fn a_change_meets_the_other_one_in_any_state() {
        let embedded = Embedded::new();
        embedded.make_namespace("n");
        for step in [web(2, json!({})), Step::Ready] {
            play(&embedded, "n", &step);
            embedded.rest();
        }
        let (first, second) = (image("v2"), change(json!({"paused": true})));
        let worlds = between("n", embedded, &[first]);
        assert!(
            worlds.len() > 5,
            "a new set, its pods, and what the Deployment says: {}",
            worlds.len()
        );
        let worlds: Vec<Embedded> = worlds
            .into_iter()
            .inspect(|world| {
                play(world, "n", &second);
                world.rest();
            })
            .collect();
        let worlds = distinct("n", worlds);
        let mut sets: Vec<usize> = worlds.iter().map(sets).collect();
        sets.sort_unstable();
        sets.dedup();
        assert_eq!(sets, [1, 2], "the new set may not be there yet");
        assert!(worlds.len() < 20, "most of them come to the same end: {}", worlds.len());
    }

    fn sets(world: &Embedded) -> usize {
        let list = world.send("GET", "/apis/apps/v1/namespaces/n/replicasets", None).1;
        list["items"].as_array().map_or(0, Vec::len)
    }

    #[test]
    fn which_reference_goes_depends_on_who_is_looked_at_first() {
        let embedded = Embedded::new();
        embedded.make_namespace("n");
        let steps = [
            map("m0", &[]),
            map("m1", &["m0!"]),
            held(map("m2", &["m0!", "m1!"])),
            Step::Delete(M0, Some("Foreground")),
        ];
        let (last, first) = steps.split_last().expect("steps");
        for step in first {
            play(&embedded, "n", step);
            embedded.rest();
        }
        assert_eq!(of_collector("n", &embedded).worlds.len(), 1, "nothing is to be done");
        play(&embedded, "n", last);
        let Ends { worlds: ends, in_every_way } = of_collector("n", &embedded);
        assert!(in_every_way, "they are few");
        let mut left: Vec<Vec<String>> = ends.iter().map(|end| owners(end, "m2")).collect();
        left.sort();
        left.dedup();
        assert_eq!(left, [vec!["m0".to_owned(), "m1".to_owned()], vec!["m1".to_owned()]]);
        // What no order leads to is no end.
        let forms: Vec<Value> = ends.iter().map(|end| form::of(end, "n", &[])).collect();
        let gone = Embedded::new();
        gone.make_namespace("n");
        gone.rest();
        assert!(!forms.contains(&form::of(&gone, "n", &[])));
    }
}
