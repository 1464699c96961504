//! The processes of a trial: the subject's replicas, and the kube-controller-manager if there is one.
//!
//! Replicas are started one after another, each when all before are quiet, as a rollout does. All pass one gate: while it
//! is closed for one of them, the others wait too. Each has its own account of what is under way, because in namespaces
//! of their own their connections have the same ports.

use std::collections::VecDeque;

use subject::{Process, Watched};
use trace::Flight;

use super::{Trial, controller_manager::Manager, incarnation::Incarnation, output::Output};
use crate::providers::{LiveCluster, webhooks::SubjectCaller};

/// See the module's documentation.
pub(super) struct Members {
    /// By replica: its running start, if it runs.
    replicas: Vec<Option<Incarnation>>,
    /// Replicas that are to be started, each when all is quiet.
    to_start: VecDeque<usize>,
    pub manager: Option<Manager>,
}

/// One of those that are waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Member {
    /// A replica of the subject, from 0.
    Replica(usize),
    /// The kube-controller-manager.
    Manager,
}

impl Members {
    /// So many replicas, none of which runs.
    pub fn down(replicas: u32) -> Members {
        let replicas = (0..replicas).map(|_| None).collect();
        Members { replicas, to_start: VecDeque::new(), manager: None }
    }

    /// Whether no replica runs.
    pub fn subject_is_down(&self) -> bool {
        self.replicas.iter().all(Option::is_none)
    }

    /// Whether each replica runs, or will without further ado.
    pub fn subject_is_complete(&self) -> bool {
        self.missing().next().is_none()
    }

    /// Whether nothing at all runs.
    pub fn nobody_runs(&self) -> bool {
        self.subject_is_down() && self.manager.is_none()
    }

    /// Replicas that neither run nor are to be started.
    fn missing(&self) -> impl Iterator<Item = usize> {
        let down = self.replicas.iter().enumerate().filter(|(_, replica)| replica.is_none());
        down.map(|(replica, _)| replica).filter(|replica| !self.to_start.contains(replica))
    }

    /// Every replica that does not run is to be started.
    pub fn complete(&mut self) {
        let missing: Vec<usize> = self.missing().collect();
        self.to_start.extend(missing);
    }

    /// The next replica to start, if one is to be.
    pub fn next_to_start(&mut self) -> Option<usize> {
        self.to_start.pop_front()
    }

    /// A replica runs now.
    pub fn started(&mut self, replica: usize, incarnation: Incarnation) {
        self.replicas[replica] = Some(incarnation);
    }

    /// Takes out a replica, to end it; it is no longer to be started either.
    pub fn take(&mut self, replica: usize) -> Option<Incarnation> {
        self.to_start.retain(|waiting| *waiting != replica);
        self.replicas.get_mut(replica)?.take()
    }

    /// How many replicas there are, whether they run or not.
    pub fn replicas(&self) -> usize {
        self.replicas.len()
    }

    /// A replica's running start.
    pub fn replica(&self, replica: usize) -> Option<&Incarnation> {
        self.replicas.get(replica)?.as_ref()
    }

    /// The replicas that run.
    pub fn running(&mut self) -> impl Iterator<Item = &mut Incarnation> {
        self.replicas.iter_mut().flatten()
    }

    /// Who runs: the subject first.
    pub fn who(&self) -> Vec<Member> {
        let replicas = self.replicas.iter().enumerate().filter(|(_, replica)| replica.is_some());
        let manager = self.manager.iter().map(|_| Member::Manager);
        replicas.map(|(replica, _)| Member::Replica(replica)).chain(manager).collect()
    }

    /// All that run, to be waited for, in the order of [`Members::who`].
    pub fn watched<'a>(
        &'a mut self,
        cluster: &'a dyn LiveCluster,
        hooks: Option<&'a SubjectCaller>,
    ) -> Vec<Watched<'a>> {
        let mut watched = Vec::new();
        for Incarnation { process, serving, output, .. } in self.replicas.iter_mut().flatten() {
            let flight = move || between(serving, cluster, output, hooks);
            watched.push(Watched::new(process, flight));
        }
        watched.extend(self.manager.as_mut().map(Manager::watched));
        watched
    }

    /// All that run.
    pub fn processes(&mut self) -> impl Iterator<Item = &mut Process> {
        let replicas = self.replicas.iter_mut().flatten().map(|replica| &mut replica.process);
        replicas.chain(self.manager.iter_mut().map(|manager| &mut manager.process))
    }
}

impl Trial<'_> {
    /// Grows with everything that moves between programs and us, and in a cluster that acts by itself.
    pub(super) fn activity(&self) -> u64 {
        let manager = self.members.manager.as_ref();
        let manager = manager.map_or(0, |manager| manager.flight().activity);
        let hooks = self.hooks.as_ref().map_or(0, SubjectCaller::activity);
        // What the cluster's own controllers do, where the proxy does not see it.
        let observed = match self.cluster.acts_by_itself() {
            true => self.recorder.with(|history| history.records.len() as u64),
            false => 0,
        };
        self.proxy.flight().activity + manager + hooks + observed
    }

    /// Why the subject is not quiet, for messages.
    pub(super) fn why_busy(&mut self) -> String {
        let Trial { members, cluster, hooks, .. } = self;
        let mut why = Vec::new();
        for Incarnation { process, serving, output, .. } in members.running() {
            let flight = between(serving, &**cluster, output, hooks.as_ref());
            match process.look(&flight) {
                subject::Look::Busy(busy) | subject::Look::Unknown(busy) => {
                    why.push(busy.explained());
                }
                subject::Look::Quiet { .. } => {}
            }
        }
        match (members.subject_is_down(), why.is_empty()) {
            (true, _) => String::new(),
            (false, true) => "it was quiet when asked again".to_owned(),
            (false, false) => why.join("; "),
        }
    }
}

/// All that is under way between a replica and us.
fn between(
    serving: &proxy::Serving,
    cluster: &dyn LiveCluster,
    output: &Output,
    hooks: Option<&SubjectCaller>,
) -> Flight {
    let mut flight = serving.flight();
    if let Some(hooks) = hooks {
        flight.activity += hooks.activity();
        // Each of them may be what one request waits for.
        let waiting = hooks.outstanding().len();
        if waiting > 0 && flight.calls.len() <= waiting {
            flight.calls.clear();
        }
    }
    flight.undelivered += cluster.undelivered();
    flight.unread_output = output.unread();
    flight
}
