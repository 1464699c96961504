//! What the worlds of a campaign are told apart by, as it learns what its controller reads.

use std::{
    collections::{BTreeSet, HashSet},
    sync::{Arc, PoisonError, RwLock},
};

use plans::{Heuristics, Plan};
use serde_json::Value;
use trace::{Footprint, GroupResource, Masks, identity::Identity};

use crate::campaign::{
    identities::{Classes, Identities},
    node::{BehindNow, Node},
    properties::Passed,
    reached::Place,
    setup::Setup,
};

/// The worlds that a campaign has met, by identity. Workers look before they work out what nobody will ask for.
#[derive(Debug, Default)]
pub struct Known(RwLock<HashSet<Identity>>);

impl Known {
    /// Whether this one was met.
    pub fn contains(&self, identity: &Identity) -> bool {
        self.0.read().unwrap_or_else(PoisonError::into_inner).contains(identity)
    }

    /// It is met.
    pub fn insert(&self, identity: Identity) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(identity);
    }

    /// How many were met.
    pub fn len(&self) -> usize {
        self.0.read().unwrap_or_else(PoisonError::into_inner).len()
    }
}

/// What worlds are told apart by, as of some moment of a campaign.
#[derive(Debug, Clone, Default)]
pub struct Lens {
    /// Grows with what the subject reads. Each change makes another version.
    pub footprint: Footprint,
    /// Of the footprint.
    pub version: u64,
    /// The worlds met so far, at any moment.
    pub known: Arc<Known>,
    /// What of Secrets does not tell worlds apart: see [`oracles::Baseline::random_payloads`].
    pub random_payloads: BTreeSet<String>,
    /// What of them does not at coarse levels: see [`oracles::Baseline::changing_payloads`].
    pub changing_payloads: BTreeSet<String>,
    /// What differs undisturbed too.
    pub masks: Masks,
    /// Types whose caches may be behind when the subject is started; none where that is not asked for.
    pub stale_types: BTreeSet<GroupResource>,
    /// Which older and unseen states are likely to matter.
    pub heuristics: Arc<Heuristics>,
    /// No others are tried.
    pub only_suggested: bool,
    /// No de-duplication: every point of every trial is its own node (a test of the tool on itself).
    pub brute_force: bool,
    /// Worlds behind violated trials are no more than counted.
    pub ends_at_violations: bool,
    /// At most this many perturbations in a plan.
    pub depth: Option<u32>,
}

impl Lens {
    /// How worlds are told apart through it.
    pub fn identities<'a>(&'a self, setup: &'a Setup) -> Identities<'a> {
        Identities {
            workload: &setup.workload,
            heartbeats: &setup.heartbeats,
            random_payloads: &self.random_payloads,
            changing_payloads: &self.changing_payloads,
            masks: &self.masks,
            drawn_names: setup.drawn_names.get(),
            footprint: &self.footprint,
            cached: &[],
            lasts: 0,
            passed: Passed::default(),
        }
    }

    /// The world at a place. Nobody asks for the classes of a world that was met before: such a node is alone in its.
    pub fn node(&self, setup: &Setup, place: Place) -> Node {
        let mut node = self.identified(setup, place);
        let met = !self.brute_force && self.known.contains(&node.identity);
        if !met && let Some(classes) = self.classes(setup, &node) {
            node.classes = classes;
        }
        node
    }

    /// The same, alone in its classes.
    pub fn identified(&self, setup: &Setup, place: Place) -> Node {
        let Place { world, cursor, begun, plan, behind, passed } = place;
        let identity = self.ask(setup, &plan, behind.as_ref(), passed, |identities| {
            let identity = identities.of(&world, cursor, begun);
            // Within the macro, which evaluates it only for those who ask.
            tracing::trace!(
                identity = %identity.short(), "{}", identities.canonical(&world, cursor, begun)
            );
            identity
        });
        let classes = Classes::alone(identity);
        Node { world: Some(world), cursor, begun, plan, behind, passed, identity, classes }
    }

    /// What this node is at coarse levels, by what is known to be read now; none where it has no world.
    pub fn classes(&self, setup: &Setup, node: &Node) -> Option<Classes> {
        let world = node.world.as_ref()?;
        Some(self.ask(setup, &node.plan, node.behind.as_ref(), node.passed, |identities| {
            identities.classes(world, node.cursor, node.begun)
        }))
    }

    /// The canonical form at `scale` behind its class, for people who wonder why two worlds differ.
    pub fn canonical_scale(&self, setup: &Setup, node: &Node) -> Option<Value> {
        let world = node.world.as_ref()?;
        Some(self.ask(setup, &node.plan, node.behind.as_ref(), node.passed, |identities| {
            identities.canonical_scale(world, node.cursor, node.begun)
        }))
    }

    /// Asks what a world is at the end of a plan, with what caches hold there that are behind, and what has passed.
    fn ask<T>(
        &self,
        setup: &Setup,
        plan: &Plan,
        behind: Option<&BehindNow>,
        passed: Passed,
        question: impl FnOnce(&Identities) -> T,
    ) -> T {
        let cached = behind.map(BehindNow::tagged).unwrap_or_default();
        let lasts = plan.lasts();
        question(&Identities { cached: &cached, lasts, passed, ..self.identities(setup) })
    }

    /// The world at a place; one that can't be taken up on a fork is reached again from the beginning.
    pub fn node_if(&self, resumable: bool, setup: &Setup, place: Place) -> Node {
        match resumable {
            true => self.node(setup, place),
            false => Node { world: None, ..self.identified(setup, place) },
        }
    }

    /// Whether a plan is deeper than wanted.
    pub fn too_deep(&self, plan: &Plan) -> bool {
        self.depth.is_some_and(|depth| plan.depth() > depth as usize)
    }
}
