//! Rolling updates of DaemonSets (`rollingUpdate`). Nodes come by name, unless another order is asked for
//! ([`crate::View::order`]); upstream takes them in any.

use super::{
    Rolling, Work,
    nodes_pods::{Member, Wanted},
};
use crate::object::Text;

/// The living pods of a node: of the new template, of an older one. None if there are several of one.
type Pair<'v> = Option<(Option<Member<'v>>, Option<Member<'v>>)>;

impl<'v> Work<'v, '_, '_> {
    /// What the update makes and deletes next.
    pub(super) fn roll(&self, rolling: &Rolling) -> Wanted<'v> {
        let desired = self.nodes.values().filter(|(starts, _)| *starts).count() as i64;
        let mut unavailable = rolling.unavailable.of(desired, true);
        let surge = rolling.surge.of(desired, true);
        if desired > 0 && unavailable == 0 && surge == 0 {
            unavailable = 1;
        }
        match surge {
            0 => (vec![], self.replace(unavailable)),
            _ => self.surge(surge, desired),
        }
    }

    fn pair(&self, node: &str) -> Pair<'v> {
        let (mut new, mut old) = (None, None);
        for pod in self.on(node).filter(|pod| !pod.object.meta.is_deleted()) {
            let place = if self.is_updated(pod) { &mut new } else { &mut old };
            if place.replace(pod.clone()).is_some() {
                return None;
            }
        }
        Some((new, old))
    }

    /// Nodes with pods, and nodes that should have one.
    fn concerned(&self) -> Vec<Text> {
        let starts = self.nodes.iter().filter(|(_, (starts, _))| *starts).map(|(name, _)| name);
        let with_pods = self.pods.keys().filter(|node| self.on(node).next().is_some());
        let mut all: Vec<Text> = starts.chain(with_pods).cloned().collect();
        all.sort();
        all.dedup();
        self.view.in_order(all)
    }

    /// Old pods go first, as many as may be unavailable.
    fn replace(&self, most: i64) -> Vec<Member<'v>> {
        let mut unavailable = 0;
        let (mut gone, mut candidates) = (Vec::new(), Vec::new());
        for node in self.concerned() {
            match self.pair(&node) {
                Some((Some(new), None)) => {
                    unavailable += i64::from(!self.is_available(&new));
                }
                Some((None, Some(old))) if !self.is_available(&old) => {
                    branch!(DaemonDropsUnavailable);
                    gone.push(old);
                    unavailable += 1;
                }
                Some((None, Some(_))) if unavailable >= most => {
                    branch!(DaemonUpdateWaits);
                }
                Some((None, Some(old))) => {
                    branch!(DaemonUpdates);
                    candidates.push(old);
                }
                _ => unavailable += 1,
            }
        }
        let room = usize::try_from(most - unavailable).unwrap_or(0);
        gone.extend(candidates.into_iter().take(room));
        gone
    }

    /// New pods come first, so many beside the old ones.
    fn surge(&self, most: i64, desired: i64) -> Wanted<'v> {
        let (mut surging, mut available) = (0, 0);
        let (mut gone, mut leaving) = (Vec::new(), Vec::new());
        let (mut first, mut candidates) = (Vec::new(), Vec::new());
        for node in self.concerned() {
            let Some((new, old)) = self.pair(&node) else {
                surging += 1;
                continue;
            };
            let counted = old.as_ref().or(new.as_ref());
            available += i64::from(counted.is_some_and(|pod| self.is_available(pod)));
            let starts = self.nodes.get(&node).is_some_and(|(starts, _)| *starts);
            match (new, old) {
                (_, None) => {}
                (Some(new), Some(_)) if !self.is_available(&new) => surging += 1,
                (Some(_), Some(old)) => gone.push(old),
                (None, Some(old)) if !self.is_available(&old) => match starts {
                    true => first.push(node),
                    false => gone.push(old),
                },
                (None, Some(old)) if !starts => leaving.push(old),
                (None, Some(_)) if surging >= most => {}
                (None, Some(_)) => {
                    branch!(DaemonSurges);
                    candidates.push(node);
                }
            }
        }
        let spare = usize::try_from(available - desired).unwrap_or(0);
        gone.extend(leaving.into_iter().take(spare));
        let room = usize::try_from(most - surging).unwrap_or(0);
        first.extend(candidates.into_iter().take(room));
        (first, gone)
    }
}
