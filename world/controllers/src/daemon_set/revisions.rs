//! The history of a DaemonSet's template (`constructHistory`, `cleanupHistory`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::Work;
use crate::{
    calls::Stop,
    history::{self, REVISION_LABEL},
    object::Text,
    request::Request,
};

/// How often the template was changed; kept by the API server (`apps.DeprecatedTemplateGeneration`).
pub(super) const GENERATION: &str = "deprecated.daemonset.template.generation";
/// The same on pods (`extensions.DaemonSetTemplateGenerationKey`).
pub(super) const GENERATION_LABEL: &str = "pod-template-generation";

fn hash_of(item: &history::Item) -> Text {
    item.1.meta.labels.get(REVISION_LABEL).cloned().unwrap_or_else(|| item.0.name.clone())
}

impl Work<'_, '_, '_> {
    /// Sees to it that the present template has a revision, the newest; sets `hash`. The other revisions.
    pub(super) fn construct_history(&mut self) -> Result<Vec<history::Item>, Stop> {
        let all = history::list(self.view, self.key, self.meta, &self.set.selector);
        history::adopt(&all, &self.owner, self.calls)?;
        let wanted = self.set.template.hash;
        let is_current = |item: &history::Item| {
            history::of(item).is_some_and(|revision| revision.template.hash == wanted)
        };
        let (mut current, old): (Vec<_>, Vec<_>) = all.into_iter().partition(is_current);
        let number = history::next_number(&old);
        let Some(newest) = current.pop() else {
            let item = self.snapshot(number)?;
            self.hash = hash_of(&item);
            return Ok(old);
        };
        self.hash = hash_of(&newest);
        for (key, double) in &current {
            self.calls.need(|| Request::delete(key.clone(), double.meta.uid.clone()))?;
        }
        if history::of(&newest).is_some_and(|revision| revision.number < number) {
            branch!(DaemonRollsBack);
            history::renumber(&newest, number, self.calls)?;
        }
        Ok(old)
    }

    /// Makes a revision. A name that is taken is counted in the status, and the key comes back.
    fn snapshot(&mut self, number: i64) -> Result<history::Item, Stop> {
        let collisions = self.set.status.collisions;
        let of = (self.key, self.meta, &self.owner);
        let hash = self.set.template.suffix(collisions);
        let names = history::Names { hash: &hash, label: REVISION_LABEL, hash_label: &hash };
        let made = history::post(self.view, of, &self.set.template, number, names, self.calls)?;
        if let Some(item) = made {
            return Ok(item);
        }
        let (key, revision) = (self.key.clone(), self.meta.revision);
        let count = json!(collisions.unwrap_or(0) + 1);
        self.calls.must(|| Request::Update {
            key,
            revision,
            subresource: "status",
            fields: vec![("/status/collisionCount", Value::clone(&count))],
        })?;
        Err(Stop::Failed("the name of the new revision is taken".to_owned()))
    }

    /// Deletes the oldest revisions beyond the limit that no pod has.
    pub(super) fn forget(&mut self, old: &[history::Item]) -> Result<(), Stop> {
        let limit = usize::try_from(self.set.history_limit).unwrap_or(0);
        let live: BTreeSet<Text> = self
            .pods
            .values()
            .flatten()
            .filter_map(|pod| pod.object.meta.labels.get(REVISION_LABEL).cloned())
            .collect();
        let dead = old.iter().filter(|item| !live.contains(&hash_of(item)));
        for (key, object) in dead.take(old.len().saturating_sub(limit)) {
            branch!(DaemonForgets);
            self.calls.need(|| Request::delete(key.clone(), object.meta.uid.clone()))?;
        }
        Ok(())
    }
}
