//! From old pods to new ones (`rolling.go`, `recreate.go`).

use super::{Set, Work, active, all, available_of, replicas_of};
use crate::{
    calls::{Reconciled, Stop},
    object::Body,
    view::View,
};

impl Work<'_, '_> {
    /// `rolloutRolling`.
    pub(super) fn rollout_rolling(&mut self, sets: &mut [Set]) -> Reconciled {
        let (new, old) = self.sets_and_revision(sets, true)?;
        let Some(new) = new else { return Ok(None) };
        let sets = all(&old, Some(&new));
        if self.reconcile_new(&new, &old)? || self.reconcile_old(&new, &active(&old), &sets)? {
            return self.sync_rollout_status(&sets, Some(&new));
        }
        if self.is_complete(&self.spec.status) {
            self.cleanup(&old)?;
        }
        self.sync_rollout_status(&sets, Some(&new))
    }

    /// `reconcileNewReplicaSet`.
    fn reconcile_new(&mut self, new: &Set, old: &[Set]) -> Result<bool, Stop> {
        let wanted = match new.replicas().cmp(&self.spec.replicas) {
            std::cmp::Ordering::Equal => return Ok(false),
            std::cmp::Ordering::Greater => {
                branch!(DeploymentShrinksNew);
                self.spec.replicas
            }
            std::cmp::Ordering::Less => self.new_replicas(replicas_of(old), new.replicas()),
        };
        Ok(self.scale_set(new, wanted, false)?.0)
    }

    /// `reconcileOldReplicaSets`.
    fn reconcile_old(&mut self, new: &Set, old: &[Set], sets: &[Set]) -> Result<bool, Stop> {
        if replicas_of(old) == 0 {
            return Ok(false);
        }
        let least = self.spec.replicas - self.spec.max_unavailable();
        let starting = new.replicas() - new.set().status.available;
        let most = replicas_of(sets) - least - starting;
        if most <= 0 {
            return Ok(false);
        }
        let mut old = old.to_vec();
        old.sort_by_key(Set::age);
        let Some(cleaned) = self.clean_up_unhealthy(&mut old, most)? else { return Ok(false) };
        let scaled = self.scale_down_old(&old, available_of(&all(&old, Some(new))) - least)?;
        Ok(cleaned + scaled > 0)
    }

    /// `cleanupUnhealthyReplicas`: how many. None: the status of a set lags behind its size, and tells nothing.
    fn clean_up_unhealthy(&mut self, old: &mut [Set], most: i64) -> Result<Option<i64>, Stop> {
        let mut total = 0;
        for set in old {
            let unhealthy = set.replicas() - set.set().status.available;
            if total >= most {
                break;
            }
            if set.replicas() == 0 || unhealthy == 0 {
                continue;
            }
            if unhealthy < 0 {
                branch!(DeploymentSeesOldStatus);
                return Ok(None);
            }
            branch!(DeploymentDropsUnhealthy);
            let count = unhealthy.min(most - total);
            *set = self.scale_set(set, set.replicas() - count, false)?.1;
            total += count;
        }
        Ok(Some(total))
    }

    /// `scaleDownOldReplicaSetsForRollingUpdate`: how many.
    fn scale_down_old(&mut self, old: &[Set], most: i64) -> Result<i64, Stop> {
        let mut total = 0;
        for set in old {
            if total >= most {
                break;
            }
            let count = set.replicas().min(most - total);
            if count > 0 {
                branch!(DeploymentShrinksOld);
                self.scale_set(set, set.replicas() - count, false)?;
                total += count;
            }
        }
        Ok(total)
    }

    /// `rolloutRecreate`.
    pub(super) fn rollout_recreate(&mut self, view: &View, claimed: &mut [Set]) -> Reconciled {
        let (new, mut old) = self.sets_and_revision(claimed, false)?;
        let sets = all(&old, new.as_ref());
        let mut scaled = false;
        for set in old.iter_mut().filter(|set| set.replicas() > 0) {
            *set = self.scale_set(set, 0, false)?.1;
            scaled = true;
        }
        if scaled || old_pods_run(view, new.as_ref(), &old, claimed) {
            branch!(DeploymentRecreateWaits);
            return self.sync_rollout_status(&sets, new.as_ref());
        }
        let (new, old) = match new {
            Some(new) => (Some(new), old),
            None => {
                branch!(DeploymentRecreates);
                self.sets_and_revision(claimed, true)?
            }
        };
        let Some(new) = new else { return Ok(None) };
        self.scale_set(&new, self.spec.replicas, false)?;
        if self.is_complete(&self.spec.status) {
            self.cleanup(&old)?;
        }
        self.sync_rollout_status(&all(&old, Some(&new)), Some(&new))
    }
}

/// `oldPodsRunning`: whether any pod of another ReplicaSet than the new one has not ended.
fn old_pods_run(view: &View, new: Option<&Set>, old: &[Set], claimed: &[Set]) -> bool {
    let counted = old.iter().any(|set| set.set().status.replicas > 0);
    let others = claimed.iter().filter(|set| new.is_none_or(|new| new.key != set.key));
    let runs = |set: &Set| {
        view.dependents(&set.meta().uid).any(|(_, object)| {
            let ours = object.meta.controller().is_some_and(|owner| owner.uid == set.meta().uid);
            ours && matches!(&object.body, Body::Pod(pod) if !pod.has_ended())
        })
    };
    counted || others.into_iter().any(runs)
}
