//! Liveness: a property is violated if some fair run never does what it asks.
//!
//! A run without end stays, from some point on, in a set of states that are all reached from each other: a component
//! of the graph. So a violation is a component, inside the part of the graph that is wrong for the property, with a
//! fair run through all of it (Lichtenstein and Pnueli 1985; strong fairness by taking states away: Emerson and Lei
//! 1987). Fairness is judged in the component of the wrong part, never in a larger one around it: an edge or a state
//! outside is not on the run. Whether a class is possible is judged in the full graph.
//!
//! A run may also stop for ever in a state where no fair class is possible: such a state has a loop of its own, which
//! is no step.

use crate::{Fairness, Property, System, properties::Asks, search::graph::Graph};

/// The classes of fairness, one bit each.
#[derive(Debug, Clone, Copy, Default)]
pub struct Classes {
    /// Those that are taken if they stay possible.
    pub weak: u64,
    /// Those that are taken if they become possible again and again.
    pub strong: u64,
}

impl Classes {
    /// The classes of `fairness` in order.
    pub fn of<S: System>(fairness: &[Fairness<'_, S>]) -> Classes {
        fairness.iter().enumerate().fold(Classes::default(), |classes, (bit, class)| {
            match class.strong {
                true => Classes { strong: classes.strong | 1 << bit, ..classes },
                false => Classes { weak: classes.weak | 1 << bit, ..classes },
            }
        })
    }

    /// All of them.
    pub fn all(self) -> u64 {
        self.weak | self.strong
    }
}

/// A violation: how to come to a component, and the component.
#[derive(Debug, PartialEq, Eq)]
pub struct Violation {
    /// A state from which on the run stays in the wrong part, if coming there by the shortest way is not enough.
    pub cause: Option<u32>,
    /// A state that must be on the cycle.
    pub through: u32,
    /// The states that the cycle may use, sorted.
    pub component: Vec<u32>,
    /// The states that the way from the cause to the cycle may use, sorted; none without a cause.
    pub part: Vec<u32>,
}

/// The violation of the `nth` liveness property in `graph`, if there is one.
pub fn violation<S: System>(
    graph: &Graph,
    classes: Classes,
    property: &Property<'_, S>,
    nth: usize,
) -> Option<Violation> {
    let one = |node: u32| graph.truths[node as usize] >> (2 * nth) & 1 == 1;
    let other = |node: u32| graph.truths[node as usize] >> (2 * nth + 1) & 1 == 1;
    let nodes = 0..graph.nodes() as u32;
    let fair =
        |part: Vec<u32>, bad: &dyn Fn(u32) -> bool| fair_component(graph, classes, part, bad);
    match property.asks {
        Asks::EventuallyAlways(_) => fair(nodes.collect(), &|node| !one(node)).map(without_cause),
        Asks::AlwaysEventually(_) => {
            let part = nodes.filter(|node| !one(*node)).collect();
            fair(part, &|_| true).map(without_cause)
        }
        Asks::LeadsTo(..) => {
            let causes: Vec<u32> = nodes.filter(|node| one(*node) && !other(*node)).collect();
            let part = reached_in(graph, &causes, &|node| !other(node));
            let (through, component) = fair(part.clone(), &|_| true)?;
            let cause = cause_of(graph, &causes, &part, through);
            Some(Violation { cause: Some(cause), through, component, part })
        }
        _ => None,
    }
}

fn without_cause((through, component): (u32, Vec<u32>)) -> Violation {
    Violation { cause: None, through, component, part: Vec::new() }
}

/// The fair component inside `part` with the least `bad` state.
fn fair_component(
    graph: &Graph,
    classes: Classes,
    part: Vec<u32>,
    bad: &dyn Fn(u32) -> bool,
) -> Option<(u32, Vec<u32>)> {
    let mut best: Option<(u32, Vec<u32>)> = None;
    let mut parts = vec![part];
    let mut components = Components::new(graph);
    while let Some(part) = parts.pop() {
        for mut component in components.of(&part) {
            component.sort_unstable();
            let Some(through) = component.iter().copied().find(|node| bad(*node)) else { continue };
            if best.as_ref().is_some_and(|(known, _)| *known <= through) {
                continue;
            }
            match fairness_of(graph, classes, &component) {
                Judged::Fair => best = Some((through, component)),
                Judged::Unfair => {}
                Judged::FairWithout(possible) => {
                    component.retain(|node| graph.enabled[*node as usize] & possible == 0);
                    parts.push(component);
                }
            }
        }
    }
    best
}

enum Judged {
    Fair,
    Unfair,
    /// Only without the states in which one of these is possible.
    FairWithout(u64),
}

/// Whether there is a fair run without end through all of a sorted component.
fn fairness_of(graph: &Graph, classes: Classes, component: &[u32]) -> Judged {
    let (mut taken, mut possible, mut always, mut edges) = (0, 0, u64::MAX, false);
    for node in component {
        possible |= graph.enabled[*node as usize];
        always &= graph.enabled[*node as usize];
        for edge in graph.edges(*node) {
            if component.binary_search(&graph.targets[edge]).is_ok() {
                taken |= graph.classes[edge];
                edges = true;
            }
        }
    }
    let may_stop = component.len() == 1 && possible & classes.all() == 0;
    let put_off = possible & classes.strong & !taken;
    if !edges && !may_stop || always & classes.weak & !taken != 0 {
        Judged::Unfair
    } else if put_off != 0 {
        Judged::FairWithout(put_off)
    } else {
        Judged::Fair
    }
}

/// The states of the part `inside` that are reached within it from `from`, sorted.
fn reached_in(graph: &Graph, from: &[u32], inside: &dyn Fn(u32) -> bool) -> Vec<u32> {
    let mut reached = vec![false; graph.nodes()];
    let mut queue: Vec<u32> = from.to_vec();
    queue.iter().for_each(|node| reached[*node as usize] = true);
    while let Some(node) = queue.pop() {
        for edge in graph.edges(node) {
            let target = graph.targets[edge];
            let known = reached.get_mut(target as usize);
            if let Some(known) = known.filter(|known| !**known && inside(target)) {
                *known = true;
                queue.push(target);
            }
        }
    }
    (0..graph.nodes() as u32).filter(|node| reached[*node as usize]).collect()
}

/// The least of the sorted `causes` from which `node` is reached inside the sorted `part`.
fn cause_of(graph: &Graph, causes: &[u32], part: &[u32], node: u32) -> u32 {
    let mut before = vec![Vec::new(); part.len()];
    for (from, source) in part.iter().enumerate() {
        for edge in graph.edges(*source) {
            if let Ok(to) = part.binary_search(&graph.targets[edge]) {
                before[to].push(from);
            }
        }
    }
    let start = part.binary_search(&node).expect("the node is in the part");
    let (mut reaching, mut queue) = (vec![false; part.len()], vec![start]);
    reaching[start] = true;
    while let Some(to) = queue.pop() {
        for from in &before[to] {
            if !std::mem::replace(&mut reaching[*from], true) {
                queue.push(*from);
            }
        }
    }
    let is_cause = |at: &usize| reaching[*at] && causes.binary_search(&part[*at]).is_ok();
    let found = (0..part.len()).find(is_cause);
    part[found.expect("the part was reached from one of the causes")]
}

/// Strongly connected components of parts of a graph (Tarjan 1972, without recursion).
struct Components<'g> {
    graph: &'g Graph,
    /// Which part a node is in; components of other parts are not looked at.
    part_of: Vec<u32>,
    part: u32,
    /// The order of discovery, from 1; 0 for not yet.
    order: Vec<u32>,
    /// The earliest in order that is reached and whose component is not complete.
    low: Vec<u32>,
}

const COMPLETE: u32 = u32::MAX;

impl<'g> Components<'g> {
    fn new(graph: &'g Graph) -> Self {
        let zeros = vec![0; graph.nodes()];
        Components { graph, part_of: zeros.clone(), part: 0, order: zeros.clone(), low: zeros }
    }

    /// The components of `part`. Each call's part is inside of, or apart from, those before.
    fn of(&mut self, part: &[u32]) -> Vec<Vec<u32>> {
        self.part += 1;
        for node in part {
            self.part_of[*node as usize] = self.part;
            self.order[*node as usize] = 0;
        }
        let (mut found, mut next) = (Vec::new(), 0);
        for node in part {
            if self.order[*node as usize] == 0 {
                self.from(*node, &mut next, &mut found);
            }
        }
        found
    }

    fn from(&mut self, root: u32, next: &mut u32, found: &mut Vec<Vec<u32>>) {
        let mut open = Vec::new();
        let mut path = vec![(root, self.graph.edges(root))];
        self.enter(root, next, &mut open);
        while let Some((node, edges)) = path.last_mut() {
            let node = *node;
            let Some(edge) = edges.next() else {
                path.pop();
                self.leave(node, path.last().map(|(parent, _)| *parent), &mut open, found);
                continue;
            };
            let target = self.graph.targets[edge] as usize;
            if self.part_of.get(target) != Some(&self.part) {
                continue;
            }
            if self.order[target] == 0 {
                path.push((target as u32, self.graph.edges(target as u32)));
                self.enter(target as u32, next, &mut open);
            } else if self.low[target] != COMPLETE {
                self.low[node as usize] = self.low[node as usize].min(self.order[target]);
            }
        }
    }

    fn enter(&mut self, node: u32, next: &mut u32, open: &mut Vec<u32>) {
        *next += 1;
        self.order[node as usize] = *next;
        self.low[node as usize] = *next;
        open.push(node);
    }

    fn leave(
        &mut self,
        node: u32,
        parent: Option<u32>,
        open: &mut Vec<u32>,
        found: &mut Vec<Vec<u32>>,
    ) {
        let low = self.low[node as usize];
        if low == self.order[node as usize] {
            let from = open.iter().rposition(|other| *other == node).expect("the node is open");
            let component = open.split_off(from);
            component.iter().for_each(|node| self.low[*node as usize] = COMPLETE);
            found.push(component);
        } else if let Some(parent) = parent {
            self.low[parent as usize] = self.low[parent as usize].min(low);
        }
    }
}
