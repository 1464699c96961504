//! Takes what a campaign made out of a cluster again, and nothing else.

use std::{collections::BTreeSet, time::Duration};

use serde_json::{Value, json};
use trace::{ObjectKey, Time};

use super::{
    access::{self, Type},
    made::Made,
};

/// How long, and at which pace, it is looked whether all is gone: namespaces and pods take their time to end.
const PATIENCE: Duration = Duration::from_secs(120);
const PACE: Duration = Duration::from_millis(50);

/// What is taken out.
pub struct Reset<'r> {
    pub upstream: &'r proxy::Upstream,
    pub types: &'r [Type],
    pub made: &'r Made,
    /// Uids of what stays between trials: manifests, and with them what follows from those of the subject's pods.
    pub keep: Option<&'r BTreeSet<String>>,
    /// What is older stays, too.
    pub since: Time,
}

/// An object that is to go.
struct Doomed<'r> {
    of: &'r Type,
    key: ObjectKey,
    path: String,
    object: std::sync::Arc<Value>,
}

impl Reset<'_> {
    /// Deletes all that is the campaign's own, finalizers and all, and returns when it is gone.
    ///
    /// # Errors
    /// The cluster does not answer, or something makes the objects again.
    pub async fn carry_out(&self) -> anyhow::Result<()> {
        self.delete_objects().await?;
        // Last: whoever still lived would have made its Lease again.
        for path in self.made.bookkeeping() {
            access::request(self.upstream, "DELETE", &path).await?;
        }
        Ok(())
    }

    async fn delete_objects(&self) -> anyhow::Result<()> {
        let (mut pace, mut first) = (tokio::time::interval(PACE), true);
        let began = tokio::time::Instant::now();
        loop {
            pace.tick().await;
            let doomed = self.doomed().await?;
            let Some(one) = doomed.first() else { return Ok(()) };
            if began.elapsed() > PATIENCE {
                let message = format!(
                    "{} (and {} more) can't be deleted: something keeps it, or makes it again",
                    one.key,
                    doomed.len() - 1
                );
                return Err(access::unavailable(&message));
            }
            let only_namespaces = doomed.iter().all(Doomed::is_namespace);
            for one in &doomed {
                self.delete(one, first, only_namespaces).await?;
            }
            first = false;
        }
    }

    async fn doomed(&self) -> anyhow::Result<Vec<Doomed<'_>>> {
        let lists = self.types.iter().map(|of| async move {
            let found = access::list(self.upstream, of).await?.unwrap_or_default();
            anyhow::Ok(found.into_iter().map(move |found| (of, found)))
        });
        let lists = futures::future::try_join_all(lists).await?;
        let all: Vec<_> = lists.into_iter().flatten().collect();
        all.iter().for_each(|(_, (key, object))| self.made.saw(key, object));
        let all = all.into_iter().filter(|(of, _)| of.deletable);
        let doomed = all.filter_map(|(of, (key, object))| {
            let metadata = &object["metadata"];
            let kept = self.keep.is_some_and(|keep| {
                let named = metadata["uid"].as_str().is_some_and(|uid| keep.contains(uid));
                named || self.made.is_apart(&key, &object)
            });
            let born = metadata["creationTimestamp"].as_str().and_then(Time::parse_rfc3339);
            let older = born.is_some_and(|born| born < self.since);
            if kept || older || !self.made.is_own(&key, &object) {
                return None;
            }
            let path = access::object_path(of, &object)?;
            Some(Doomed { of, key, path, object })
        });
        Ok(doomed.collect())
    }

    async fn delete(
        &self,
        one: &Doomed<'_>,
        first: bool,
        only_namespaces: bool,
    ) -> anyhow::Result<()> {
        let metadata = &one.object["metadata"];
        let ends = metadata["deletionTimestamp"].is_string();
        let has_finalizers = metadata["finalizers"].as_array().is_some_and(|list| !list.is_empty());
        if has_finalizers && !first {
            access::merge(self.upstream, &one.path, &json!({"metadata": {"finalizers": null}}))
                .await?;
        }
        if one.is_namespace() && ends {
            // Nobody does it where no controllers run (namespaces, `spec.finalizers`).
            if only_namespaces {
                let body = json!({
                    "apiVersion": one.of.api_version, "kind": one.of.kind,
                    "metadata": {"name": one.key.name, "resourceVersion": metadata["resourceVersion"]},
                    "spec": {"finalizers": []},
                });
                let path = format!("{}/finalize", one.path);
                access::send(self.upstream, "PUT", &path, "application/json", &body).await?;
            }
            return Ok(());
        }
        let path = format!("{}?gracePeriodSeconds=0", one.path);
        // Not another one of that name that somebody makes meanwhile.
        let only = json!({
            "apiVersion": "v1", "kind": "DeleteOptions",
            "preconditions": {"uid": metadata["uid"]}, "propagationPolicy": "Background",
        });
        access::send(self.upstream, "DELETE", &path, "application/json", &only).await?;
        Ok(())
    }
}

impl Doomed<'_> {
    fn is_namespace(&self) -> bool {
        self.of.path == "/api/v1/namespaces"
    }
}
