//! Brings a cluster back to how it was: deletes what was not there.

use std::collections::BTreeSet;

use serde_json::Value;

use super::access::{self, Type};

/// Rounds of deleting and looking again before giving up: each round strips finalizers, so objects that stay
/// longer are re-created by something that runs in the cluster.
const ROUNDS: u32 = 200;

/// Deletes every object whose uid is not in `keep`, finalizers and all, and returns when they are gone.
pub async fn to(
    upstream: &proxy::Upstream,
    types: &[Type],
    keep: &BTreeSet<String>,
) -> anyhow::Result<()> {
    for round in 0..ROUNDS {
        let mut strangers = Vec::new();
        for of in types.iter().filter(|of| of.deletable) {
            for (_, object) in access::list_all(upstream, std::slice::from_ref(of)).await? {
                if !super::uid(&object).is_some_and(|uid| keep.contains(&uid)) {
                    strangers.push((of, object));
                }
            }
        }
        if strangers.is_empty() {
            return Ok(());
        }
        for (of, object) in &strangers {
            let Some(path) = access::object_path(of, object) else { continue };
            if has_finalizers(object) && round > 0 {
                strip_finalizers(upstream, &path).await?;
            }
            access::request(upstream, "DELETE", &format!("{path}?gracePeriodSeconds=0")).await?;
        }
    }
    Err(access::unavailable("what earlier trials left can't be deleted: something re-creates it"))
}

fn has_finalizers(object: &Value) -> bool {
    object["metadata"]["finalizers"].as_array().is_some_and(|list| !list.is_empty())
}

async fn strip_finalizers(upstream: &proxy::Upstream, path: &str) -> anyhow::Result<()> {
    use http_body_util::{BodyExt, Full};
    let patch = bytes::Bytes::from_static(br#"{"metadata":{"finalizers":null}}"#);
    let request = http::Request::builder()
        .method("PATCH")
        .uri(path)
        .header(http::header::CONTENT_TYPE, "application/merge-patch+json")
        .body(Full::new(patch).map_err(|never| match never {}).boxed_unsync())?;
    let answer = tower::ServiceExt::oneshot(upstream.clone(), request).await;
    answer.map_err(|error| access::unavailable(&error.to_string()))?;
    Ok(())
}
