//! The nodes of a cluster while a campaign runs on it: a node that ends takes the campaign with it.

use std::{
    collections::HashMap,
    time::{SystemTime, UNIX_EPOCH},
};

use bollard::{models::EventMessage, query_parameters::EventsOptionsBuilder};
use futures::StreamExt;
use tokio::sync::oneshot;

use super::{CLUSTER, Docker};
use crate::campaign::fault;

/// Ends with it.
pub struct Watch {
    /// Ends the thread that watches, when it is dropped.
    _ends: oneshot::Sender<()>,
}

impl Watch {
    /// Watches the cluster of this name from this second on. A node that ends is a [`fault`].
    pub fn start(name: &str) -> anyhow::Result<Watch> {
        let (ends, ended) = oneshot::channel();
        let name = name.to_owned();
        let since = SystemTime::now().duration_since(UNIX_EPOCH)?.as_secs();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let watch = async move {
            tokio::select! {
                _ = ended => {}
                why = first_end(&name, since) => fault::note(why),
            }
        };
        std::thread::Builder::new()
            .name("kind nodes".to_owned())
            .spawn(move || runtime.block_on(watch))?;
        Ok(Watch { _ends: ends })
    }
}

/// Waits until a node ends, and says which one.
async fn first_end(name: &str, since: u64) -> String {
    let lost = |why: String| {
        format!(
            "kind: Docker does not tell any more whether the nodes of the cluster {name} run: {why}"
        )
    };
    let docker = match Docker::connect().await {
        Ok(docker) => docker,
        Err(error) => return lost(error.to_string()),
    };
    let filters = HashMap::from([
        ("label".to_owned(), vec![format!("{CLUSTER}={name}")]),
        ("event".to_owned(), vec!["die".to_owned(), "pause".to_owned()]),
    ]);
    let options = EventsOptionsBuilder::new().since(&since.to_string()).filters(&filters).build();
    match docker.api().events(Some(options)).next().await {
        Some(Ok(event)) => sentence(name, &event),
        Some(Err(error)) => lost(error.to_string()),
        None => lost("its events have ended".to_owned()),
    }
}

fn sentence(name: &str, event: &EventMessage) -> String {
    let attributes = event.actor.as_ref().and_then(|actor| actor.attributes.as_ref());
    let attribute = |key: &str| attributes.and_then(|all| all.get(key));
    let node = attribute("name").map_or("", String::as_str);
    let how = match attribute("exitCode") {
        Some(code) => format!("ended (exit code {code})"),
        None => "was paused".to_owned(),
    };
    format!(
        "kind: the node {node} of the cluster {name} {how} while the campaign ran, so nothing that was found counts"
    )
}

#[cfg(test)]
mod tests {
    use bollard::models::EventActor;

    use super::*;

    fn check(attributes: &[(&str, &str)], expect: &str) {
        let attributes =
            attributes.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        let actor = EventActor { id: None, attributes: Some(attributes.collect()) };
        let event = EventMessage { actor: Some(actor), ..EventMessage::default() };
        assert_eq!(sentence("one", &event), expect);
    }

    #[test]
    fn nodes_that_end_are_named() {
        check(
            &[("name", "one-worker"), ("exitCode", "137")],
            "kind: the node one-worker of the cluster one ended (exit code 137) while the campaign ran, so nothing that was \
             found counts",
        );
        check(
            &[("name", "one-worker")],
            "kind: the node one-worker of the cluster one was paused while the campaign ran, so nothing that was found counts",
        );
    }
}
