//! One campaign at a time on a cluster, and a list of what the next one has to clean up if this one dies.
//!
//! Both are a Lease (`default/trommel-campaign`): it names its holder, who renews it, and an annotation names all objects
//! that clients of the campaign are about to create, before each request goes on. A holder on this machine that no longer
//! runs is dead at once, any other one when its Lease was not renewed for its duration (KEP-589: leader election by
//! Leases).

use std::{
    collections::BTreeSet,
    sync::{Arc, mpsc},
    time::Duration,
};

use http::{Request, header};
use http_body_util::BodyExt;
use proxy::{Body, Codec, Target};
use serde_json::{Value, json};
use trace::Time;

use super::access::{self, Access};
use crate::{
    exit::{Exit, Expected},
    providers::{client_files::real_now, codec::ClusterCodec, holder},
};

const COLLECTION: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases";
const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/trommel-campaign";
/// The annotation with the names of what is made: one line each.
const MADE: &str = "trommel.dev/made";
/// How long a Lease counts that nobody renews.
const LASTS: Duration = Duration::from_secs(40);
const RENEWED_EVERY: Duration = Duration::from_secs(10);

/// The Lease while it is held. The last one that goes ends its renewal.
#[derive(Clone)]
pub struct Lock(Arc<Held>);

struct Held {
    access: Access,
    uid: String,
    announced: tokio::sync::Mutex<BTreeSet<String>>,
    /// Ends the thread that renews, when it is dropped.
    _renewing: mpsc::Sender<()>,
}

/// What a campaign left that died.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Left {
    /// Who it was.
    pub holder: String,
    /// Since when it ran, by the cluster's clock: what is older is not its own.
    pub since: Time,
    /// What it made.
    pub made: BTreeSet<Entry>,
}

/// Objects that a client was about to create.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Path of the collection.
    pub collection: String,
    /// The name, or the beginning of names.
    pub name: String,
    /// Where the server was to draw the rest of the name: the field manager of the client, by which its objects are told
    /// from others of such names.
    pub generated: Option<String>,
}

impl Entry {
    fn parse(line: &str) -> Option<Entry> {
        let (place, manager) = match line.split_once('*') {
            Some((place, manager)) => (place, Some(manager.to_owned())),
            None => (line, None),
        };
        let (collection, name) = place.rsplit_once('/')?;
        Some(Entry { collection: collection.to_owned(), name: name.to_owned(), generated: manager })
    }

    fn line(&self) -> String {
        let generated = self.generated.as_ref().map(|manager| format!("*{manager}"));
        format!("{}/{}{}", self.collection, self.name, generated.unwrap_or_default())
    }
}

/// Takes the lock. What a dead holder left is to be cleaned up before anything is made.
///
/// # Errors
/// Another campaign holds it: exit 75.
pub async fn take(access: &Access) -> anyhow::Result<(Lock, Option<Left>)> {
    let upstream = &access.upstream()?;
    let (status, lease) = access::request(upstream, "GET", PATH).await?;
    let left = match status.as_u16() {
        404 => None,
        200 => Some(left_by_dead(&lease)?),
        _ => {
            return Err(access::unavailable(&format!(
                "GET {PATH}: {status}: {}",
                lease["message"]
            )));
        }
    };
    let announced: BTreeSet<String> =
        left.iter().flat_map(|left| left.made.iter().map(Entry::line)).collect();
    let (method, path) = if left.is_some() { ("PUT", PATH) } else { ("POST", COLLECTION) };
    let body = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
        "metadata": {
            "name": "trommel-campaign", "namespace": "default",
            "resourceVersion": lease["metadata"]["resourceVersion"],
            "annotations": {MADE: lines(&announced)},
        },
        "spec": {
            "holderIdentity": holder::own(), "leaseDurationSeconds": LASTS.as_secs(),
            "acquireTime": real_now().rfc3339_micro(), "renewTime": real_now().rfc3339_micro(),
        },
    });
    let (status, lease) = access::send(upstream, method, path, "application/json", &body).await?;
    if !status.is_success() {
        let message =
            format!("its Lease default/trommel-campaign can't be taken: {}", lease["message"]);
        return Err(access::unavailable(&message));
    }
    let uid = super::uid(&lease).unwrap_or_default();
    let held = Held {
        access: access.clone(),
        uid: uid.clone(),
        announced: tokio::sync::Mutex::new(announced),
        _renewing: renewing(uid, access.clone()),
    };
    Ok((Lock(Arc::new(held)), left))
}

impl Lock {
    /// Names what a request is about to create, before it goes on.
    pub async fn announce(
        &self,
        target: &Target,
        request: Request<Body>,
    ) -> Result<Request<Body>, proxy::Error> {
        let applies = request.method() == http::Method::PATCH
            && media(&request).starts_with("application/apply-patch");
        if !applies && request.method() != http::Method::POST {
            return Ok(request);
        }
        let media = media(&request).to_owned();
        let (head, body) = request.into_parts();
        let bytes = body.collect().await?.to_bytes();
        let path = head.uri.path().trim_end_matches('/');
        let entry = match target.name.as_str() {
            "" => {
                let object = ClusterCodec.decode(&media, &bytes).unwrap_or(Value::Null);
                let text = |field: &str| object["metadata"][field].as_str().map(str::to_owned);
                let (name, prefix) = (text("name"), text("generateName"));
                let generated = name.is_none().then(|| manager(&head));
                let name = name.or(prefix).unwrap_or_default();
                Entry { collection: path.to_owned(), name, generated }
            }
            name => {
                let collection = path.trim_end_matches(name).trim_end_matches('/').to_owned();
                Entry { collection, name: name.to_owned(), generated: None }
            }
        };
        if !entry.name.is_empty() {
            self.write_down(entry.line()).await?;
        }
        Ok(Request::from_parts(head, super::made::whole(bytes)))
    }

    async fn write_down(&self, line: String) -> Result<(), proxy::Error> {
        let mut announced = self.0.announced.lock().await;
        if !announced.insert(line) {
            return Ok(());
        }
        let made = lines(&announced);
        let patch = json!({"metadata": {"uid": self.0.uid, "annotations": {MADE: made}}});
        let (status, answer) = access::merge(&self.0.access.upstream()?, PATH, &patch).await?;
        match status.is_success() {
            true => Ok(()),
            false => {
                Err(format!("the Lease default/trommel-campaign is lost: {}", answer["message"])
                    .into())
            }
        }
    }

    /// Gives the lock back, once all is removed that the campaign made.
    pub async fn release(&self) -> anyhow::Result<()> {
        access::request(&self.0.access.upstream()?, "DELETE", PATH).await?;
        Ok(())
    }
}

fn media(request: &Request<Body>) -> &str {
    let media = request.headers().get(header::CONTENT_TYPE);
    media.and_then(|value| value.to_str().ok()).unwrap_or_default()
}

/// The field manager of a request: given, or the program of its user agent (`prefixFromUserAgent` in k8s.io/apiserver).
fn manager(head: &http::request::Parts) -> String {
    let given = proxy::request::parameters(&head.uri.to_string(), "fieldManager");
    let agent = head.headers.get(header::USER_AGENT).and_then(|value| value.to_str().ok());
    let program = agent.unwrap_or_default().split('/').next().unwrap_or_default();
    given.into_iter().next().unwrap_or_else(|| program.to_owned())
}

/// As the annotation has them.
fn lines(announced: &BTreeSet<String>) -> String {
    announced.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
}

/// Renews until its sender is dropped. A thread of its own, because trials come and go with their runtimes.
fn renewing(uid: String, access: Access) -> mpsc::Sender<()> {
    let (ends, ended) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else {
            return;
        };
        while ended.recv_timeout(RENEWED_EVERY) == Err(mpsc::RecvTimeoutError::Timeout) {
            let renewed = json!({"metadata": {"uid": uid}, "spec": {"renewTime": real_now().rfc3339_micro()}});
            let done = runtime
                .block_on(async { access::merge(&access.upstream()?, PATH, &renewed).await });
            if let Err(error) = done {
                tracing::warn!("the campaign's Lease was not renewed: {error:#}");
            }
        }
    });
    ends
}

/// What the holder of a Lease left, if it is dead.
fn left_by_dead(lease: &Value) -> anyhow::Result<Left> {
    let spec = &lease["spec"];
    let holder = spec["holderIdentity"].as_str().unwrap_or_default().to_owned();
    let time = |value: &Value| value.as_str().and_then(Time::parse_rfc3339).unwrap_or_default();
    let lives = holder::runs(&holder).unwrap_or_else(|| {
        let seconds = spec["leaseDurationSeconds"].as_u64().unwrap_or(0);
        time(&spec["renewTime"]).plus(Duration::from_secs(seconds)) > real_now()
    });
    if lives {
        let message = format!(
            "the cluster: another campaign runs on it ({holder}). Wait for its end. If there is none: kubectl delete lease \
             --namespace default trommel-campaign"
        );
        return Err(Expected::error(Exit::Environment, message));
    }
    let made = lease["metadata"]["annotations"][MADE].as_str().unwrap_or_default();
    let made = made.lines().filter_map(Entry::parse).collect();
    Ok(Left { holder, since: time(&lease["metadata"]["creationTimestamp"]), made })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_are_read_as_they_are_written() {
        for line in ["/api/v1/namespaces/default/pods/a", "/api/v1/namespaces/web-*kubectl"] {
            assert_eq!(Entry::parse(line).unwrap().line(), line);
        }
        assert_eq!(Entry::parse("nothing"), None);
    }

    fn lease(holder: &str, renewed: Time) -> Value {
        json!({
            "metadata": {
                "creationTimestamp": "2026-01-01T00:00:00Z",
                "annotations": {MADE: "/api/v1/namespaces/a\n/api/v1/namespaces/default/pods/b-*manager"},
            },
            "spec": {
                "holderIdentity": holder, "leaseDurationSeconds": 40, "renewTime": renewed.rfc3339_micro(),
            },
        })
    }

    #[test]
    fn only_dead_holders_leave_something() {
        let old = Time::parse_rfc3339("2026-01-01T00:00:00Z").unwrap();
        let left = left_by_dead(&lease("other/1/1", old)).unwrap();
        let entry = |collection: &str, name: &str, generated: Option<&str>| Entry {
            collection: collection.to_owned(),
            name: name.to_owned(),
            generated: generated.map(str::to_owned),
        };
        let made = [
            entry("/api/v1/namespaces", "a", None),
            entry("/api/v1/namespaces/default/pods", "b-", Some("manager")),
        ];
        assert_eq!(left, Left { holder: "other/1/1".into(), since: old, made: made.into() });
        let error = left_by_dead(&lease("other/1/1", real_now())).unwrap_err().to_string();
        assert!(error.contains("another campaign runs on it (other/1/1)"), "{error}");
        // A process of this machine is looked at, however fresh its Lease is: this one began none before.
        assert!(left_by_dead(&lease(&holder::own(), real_now())).is_ok());
    }
}
