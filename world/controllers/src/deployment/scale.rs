//! Sizes of ReplicaSets: changed one at a time, or in proportion when a Deployment is scaled in the middle of a
//! rollout (`sync.go`).

use super::{Deployment, Set, Strategy, Work, active, all, new_set::revision_of, replicas_of};
use crate::{calls::Stop, object::Labels, request::Request};

pub(super) const DESIRED: &str = "deployment.kubernetes.io/desired-replicas";
pub(super) const MAX: &str = "deployment.kubernetes.io/max-replicas";

fn number(set: &Set, annotation: &str) -> Option<i64> {
    set.meta().annotations.get(annotation)?.parse().ok().filter(|number: &i64| *number >= 0)
}

/// For which size of the Deployment a ReplicaSet was last sized.
pub(super) fn desired(set: &Set) -> Option<i64> {
    number(set, DESIRED)
}

/// `SetReplicasAnnotations`.
pub(super) fn annotate(annotations: &mut Labels, spec: &Deployment) {
    annotations.insert(DESIRED.into(), spec.replicas.to_string().into());
    annotations.insert(MAX.into(), (spec.replicas + spec.max_surge()).to_string().into());
}

impl Work<'_, '_> {
    /// PUT of a ReplicaSet; the ReplicaSet after it.
    pub(super) fn update_set(
        &mut self,
        set: &Set,
        replicas: i64,
        min_ready_seconds: i64,
        annotations: Labels,
    ) -> Result<Set, Stop> {
        let written = self.calls.must(|| Request::UpdateReplicaSet {
            key: set.key.clone(),
            revision: set.meta().revision,
            replicas,
            min_ready_seconds,
            annotations,
        })?;
        let written = written.and_then(|object| Set::new(set.key.clone(), object));
        Ok(written.unwrap_or_else(|| set.clone()))
    }

    /// `scaleReplicaSet`: whether its size changed, and the ReplicaSet after it.
    pub(super) fn scale_set(
        &mut self,
        set: &Set,
        replicas: i64,
        force: bool,
    ) -> Result<(bool, Set), Stop> {
        let resized = set.replicas() != replicas;
        let mut annotations = set.meta().annotations.clone();
        annotate(&mut annotations, self.spec);
        if !resized && (!force || annotations == set.meta().annotations) {
            return Ok((false, set.clone()));
        }
        let seconds = set.set().min_ready_seconds;
        Ok((resized, self.update_set(set, replicas, seconds, annotations)?))
    }

    /// `scale`.
    pub(super) fn scale(&mut self, new: Option<&Set>, old: &[Set]) -> Result<(), Stop> {
        if let Some(only) = active_or_latest(new, old) {
            branch!(DeploymentScalesOne);
            return self.scale_set(&only, self.spec.replicas, false).map(drop);
        }
        let saturated = |set: &Set| {
            set.replicas() == self.spec.replicas
                && desired(set) == Some(self.spec.replicas)
                && set.set().status.available == self.spec.replicas
        };
        if new.is_some_and(saturated) {
            branch!(DeploymentScalesSaturated);
            for set in active(old) {
                self.scale_set(&set, 0, false)?;
            }
            return Ok(());
        }
        match self.spec.strategy {
            Strategy::Rolling { .. } => self.scale_in_proportion(&active(&all(old, new))),
            Strategy::Recreate => Ok(()),
        }
    }

    fn scale_in_proportion(&mut self, sets: &[Set]) -> Result<(), Stop> {
        branch!(DeploymentScalesAll);
        let mut sets = sets.to_vec();
        let allowed = match self.spec.replicas {
            0 => 0,
            replicas => replicas + self.spec.max_surge(),
        };
        let to_add = allowed - replicas_of(&sets);
        // The largest first; of equals the newer ones grow first, the older ones shrink first.
        sets.sort_by_key(Set::age);
        if to_add > 0 {
            sets.reverse();
        }
        if to_add != 0 {
            sets.sort_by_key(|set| -set.replicas());
        }
        let (mut added, mut sizes) = (0, Vec::new());
        for set in &sets {
            let proportion = self.proportion(set, to_add, added);
            sizes.push(set.replicas() + proportion);
            added += proportion;
        }
        if let Some(first) = sizes.first_mut() {
            *first = (*first + to_add - added).max(0);
        }
        for (set, size) in sets.iter().zip(sizes) {
            self.scale_set(set, size, true)?;
        }
        Ok(())
    }

    /// `GetReplicaSetProportion`.
    fn proportion(&self, set: &Set, to_add: i64, added: i64) -> i64 {
        if set.replicas() == 0 || to_add == 0 || to_add == added {
            return 0;
        }
        let (fraction, allowed) = (self.fraction(set), to_add - added);
        if to_add > 0 { fraction.min(allowed) } else { fraction.max(allowed) }
    }

    /// `getReplicaSetFraction`.
    fn fraction(&self, set: &Set) -> i64 {
        if self.spec.replicas == 0 {
            return -set.replicas();
        }
        let before = match number(set, MAX) {
            None | Some(0) => self.status.replicas,
            Some(most) => most,
        };
        if before == 0 {
            return 0;
        }
        let most = self.spec.replicas + self.spec.max_surge();
        // Halves are rounded away from zero (`integer.RoundToInt32`); all of it is positive.
        (2 * set.replicas() * most + before) / (2 * before) - set.replicas()
    }

    /// `cleanupDeployment`: no more old ReplicaSets than the history limit.
    pub(super) fn cleanup(&mut self, old: &[Set]) -> Result<(), Stop> {
        let Some(limit) = self.spec.history_limit else { return Ok(()) };
        let mut sets: Vec<&Set> = old.iter().filter(|set| !set.meta().is_deleted()).collect();
        let surplus = sets.len().saturating_sub(usize::try_from(limit).unwrap_or(0));
        sets.sort_by_key(|set| (revision_of(set), set.age()));
        for set in sets.into_iter().take(surplus) {
            let status = &set.set().status;
            let busy = status.replicas != 0 || set.replicas() != 0;
            if busy || set.meta().generation > status.observed_generation {
                branch!(DeploymentKeepsBusy);
                continue;
            }
            branch!(DeploymentForgets);
            self.calls.need(|| Request::delete(set.key.clone(), set.meta().uid.clone()))?;
        }
        Ok(())
    }
}

/// `FindActiveOrLatest`.
fn active_or_latest(new: Option<&Set>, old: &[Set]) -> Option<Set> {
    match &active(&all(old, new))[..] {
        [] => new.or(old.iter().max_by_key(|set| set.age())).cloned(),
        [only] => Some(only.clone()),
        _ => None,
    }
}
