//! Counting what ended, each pod once (`trackJobStatusAndRemoveFinalizers`): noted in the status, let go, added up.

use std::collections::BTreeSet;

use super::{Indexes, JobCondition, Sync, policy};
use crate::{calls::Stop, object::Text};

/// At most so many pods are noted at a time (`MaxUncountedPods`).
const NOTED: usize = 500;

impl Sync<'_, '_, '_> {
    /// `news`: whether the status has to be written in any case.
    pub(super) fn track(&mut self, mut news: bool) -> Result<(), Stop> {
        if self.job.indexed {
            self.pods.sort_by_key(|pod| pod.index.unwrap_or(-1));
        }
        let tracked = self.pods.iter().filter(|pod| pod.tracked);
        let mut tracked: BTreeSet<Text> = tracked.map(|pod| pod.uid().clone()).collect();
        news |= self.add_up(&tracked);
        let mut new_indexes = Vec::new();
        let (gone, noted, full) = self.note(&mut new_indexes);
        news |= noted;
        news |= self.tell_indexes(new_indexes);
        news |= self.tell_target();
        let mut revision = self.meta.revision;
        if news {
            self.write_status(&mut revision)?;
        }
        for at in gone {
            self.let_go(at)?;
            let uid = self.pods[at].uid().clone();
            tracked.remove(&uid);
        }
        let mut news = self.add_up(&tracked);
        if !full && self.enact() {
            news = true;
        }
        if news {
            self.write_status(&mut revision)?;
        }
        Ok(())
    }

    /// Adds up what was noted and let go (`cleanUncountedPodsWithoutFinalizers`). Whether there was any.
    fn add_up(&mut self, tracked: &BTreeSet<Text>) -> bool {
        let status = &mut self.status;
        let before = (status.uncounted_succeeded.len(), status.uncounted_failed.len());
        status.uncounted_succeeded.retain(|uid| tracked.contains(uid));
        status.uncounted_failed.retain(|uid| tracked.contains(uid));
        let after = (status.uncounted_succeeded.len(), status.uncounted_failed.len());
        status.succeeded += (before.0 - after.0) as i64;
        status.failed += (before.1 - after.1) as i64;
        before != after
    }

    /// Notes what ended. Which pods can be let go, whether anything was noted, and whether there is more to note.
    fn note(&mut self, indexes: &mut Vec<i64>) -> (Vec<usize>, bool, bool) {
        let (mut gone, mut news) = (Vec::new(), false);
        let kept = self.kept_for_index();
        let over = self.finished.as_ref().is_some_and(|end| *end.kind != *"SuccessCriteriaMet");
        for (at, pod) in self.pods.iter().enumerate() {
            let failed = self.job.counts_as_failed(pod);
            if !pod.tracked || !self.can_let_go(at, failed, &kept) {
                continue;
            }
            gone.push(at);
            let uid = pod.uid();
            if pod.has_succeeded() && !self.uncounted.1.contains(uid) {
                if self.job.indexed {
                    let new = pod
                        .index
                        .filter(|index| self.job.has_place(pod) && !self.before.has(*index));
                    news |= new.is_some();
                    indexes.extend(new);
                } else if !self.uncounted.0.contains(uid) {
                    news = true;
                    branch!(JobNotesSuccess);
                    self.status.uncounted_succeeded.push(uid.clone());
                }
            } else if (failed || over)
                && !self.uncounted.1.contains(uid)
                && self.job.has_place(pod)
                && policy::judge(self.job, pod).1
            {
                news = true;
                branch!(JobNotesFailure);
                self.status.uncounted_failed.push(uid.clone());
            }
            let noted = self.status.uncounted_succeeded.len() + self.status.uncounted_failed.len();
            if indexes.len() + noted >= NOTED {
                return (gone, news, true);
            }
        }
        (gone, news, false)
    }

    /// `canRemoveFinalizer`.
    fn can_let_go(
        &self,
        at: usize,
        failed: bool,
        kept: &std::collections::BTreeMap<i64, usize>,
    ) -> bool {
        let pod = &self.pods[at];
        if self.meta.is_deleted() || self.finished.is_some() || pod.has_succeeded() {
            return true;
        }
        let waits = pod.index.is_some_and(|index| kept.get(&index) == Some(&at));
        failed && !waits
    }

    fn tell_indexes(&mut self, new: Vec<i64>) -> bool {
        if !self.job.indexed {
            return false;
        }
        self.done = self.done.and(&new.into_iter().collect::<Indexes>());
        let completed: Text = self.done.to_string().into();
        let failed: Option<Text> = self.lost.as_ref().map(|lost| lost.to_string().into());
        let status = &mut self.status;
        let news = completed != status.completed_indexes || failed != status.failed_indexes;
        status.succeeded = self.done.count();
        status.completed_indexes = completed;
        status.failed_indexes = failed;
        news
    }

    /// Says that the Job is about to end, before its last pods are let go; then what it will end as.
    fn tell_target(&mut self) -> bool {
        let Some(end) = self.finished.clone() else { return false };
        let (kind, news) = match &*end.kind {
            "FailureTarget" => ("Failed", true),
            "SuccessCriteriaMet" => ("Complete", self.status.holds("SuccessCriteriaMet").is_none()),
            _ => return false,
        };
        self.finished = Some(JobCondition { since: self.now, kind: kind.into(), ..end.clone() });
        if news {
            self.status.conditions.push(end);
        }
        news
    }

    /// Ends the Job, if nothing of it is left to count or to wait for.
    fn enact(&mut self) -> bool {
        let Some(end) = self.finished.clone() else { return false };
        let status = &mut self.status;
        let left = status.uncounted_succeeded.len() + status.uncounted_failed.len();
        if left > 0 || self.terminating > 0 {
            branch!(JobEndWaits);
            return false;
        }
        status.ensure(&end.kind, "True", &end.reason, &end.message, self.now);
        if *end.kind == *"Complete" {
            branch!(JobCompletes);
            status.completion = Some(end.since);
        }
        true
    }
}
