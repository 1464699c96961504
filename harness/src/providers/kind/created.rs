//! A cluster that the campaign made: who made it can be read from its containers, so that the next campaign can tell one
//! that was left from one that is in use.
//!
//! kind can't label its containers, but it can mount something into them. `/dev/null` is on every machine, and the path
//! that it is mounted at says who made the node ([`Note`]). It is there from the first moment, also in a node that has
//! stopped.

mod kind_file;
mod kubeadm;
mod program;
mod steps;

use std::{collections::HashMap, path::Path};

use bollard::query_parameters::RemoveContainerOptionsBuilder;
use serde_json::Value;

use super::{ADMIN, Docker, Node, docker::failed, logs};
use crate::{
    campaign::interrupt,
    config::{Campaign, CreateSpec},
    providers::holder,
};

/// Where notes are mounted. What follows is `campaign` or `kept`, and the holder.
const NOTES: &str = "/kind/trommel/";
/// Seconds until every node of a new cluster is ready.
const READY_WITHIN: u32 = 300;

/// What a node says of who made it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Note {
    holder: String,
    /// It was to be left.
    kept: bool,
}

impl Note {
    /// Of this process.
    fn own(kept: bool) -> Note {
        Note { holder: holder::own(), kept }
    }

    /// The path that it is mounted at.
    fn path(&self) -> String {
        let until = if self.kept { "kept" } else { "campaign" };
        format!("{NOTES}{until}/{}", self.holder)
    }

    /// The note that is mounted there, if it is one.
    pub fn parse(path: &str) -> Option<Note> {
        let (until, holder) = path.strip_prefix(NOTES)?.split_once('/')?;
        Some(Note { holder: holder.to_owned(), kept: until == "kept" })
    }
}

/// A cluster that goes with the campaign, unless it is to be kept.
pub struct Created {
    name: String,
    /// What its nodes say.
    note: Note,
    keep: bool,
}

/// What a new cluster is made of.
struct Order<'a> {
    docker: &'a Docker,
    name: &'a str,
    create: &'a CreateSpec,
    campaign: &'a Campaign,
    note: Note,
}

impl Created {
    /// Creates the cluster, unless there is one of its name that somebody uses. One that a campaign left is deleted first.
    /// `clusters` are all that there are; what is left of others is named. If it fails, the nodes' logs are in this folder,
    /// and nothing else is left.
    ///
    /// # Errors
    /// Docker, kind or a node fails, or the cluster is another campaign's: exit 75. A configuration file that can't be read:
    /// exit 64.
    pub async fn unless_there(
        docker: &Docker,
        (name, create): (&str, &CreateSpec),
        campaign: &Campaign,
        mut clusters: HashMap<String, Vec<Node>>,
        logs_folder: &Path,
    ) -> anyhow::Result<Option<Created>> {
        let there = clusters.remove(name);
        name_those_left(&clusters);
        if let Some(nodes) = there {
            match state(name, &nodes).map_err(|why| failed(&why))? {
                State::InUse => return Ok(None),
                State::Left => {
                    eprintln!(
                        "trommel: a campaign that died left the kind cluster {name}: it is deleted"
                    );
                    delete(docker, name, &nodes).await?;
                }
            }
        }
        let order = Order { docker, name, create, campaign, note: Note::own(create.keep) };
        // From here on what was made goes with it.
        let mut created = Created { name: name.to_owned(), note: order.note.clone(), keep: false };
        let done = order.carry_out().await;
        // Who interrupts in a terminal interrupts kind as well.
        interrupt::check("the creation of the kind cluster")?;
        if let Err(error) = done {
            logs::export(docker, &super::nodes_of(docker, name).await?, logs_folder).await;
            return Err(error);
        }
        created.keep = create.keep;
        Ok(Some(created))
    }

    /// Whether it goes with the campaign.
    pub fn goes(&self) -> bool {
        !self.keep
    }
}

impl Order<'_> {
    async fn carry_out(&self) -> anyhow::Result<()> {
        let (name, image) = (self.name, self.create.node_image.as_deref());
        let kind = program::find();
        let file = match kind {
            Some(_) => kind_file::read(self.create, self.campaign)?,
            None => steps::check(self.create).map(|()| Value::Null)?,
        };
        if let Some(image) = image {
            self.docker.ensure_image(image).await?;
        }
        let shown = image.unwrap_or("kind's node image");
        eprintln!("trommel: creating the kind cluster {name} ({shown})");
        match kind {
            Some(kind) => {
                let file = kind_file::complete(file, self.create, &self.note.path());
                kind.create(self.docker, name, image, &file)?;
            }
            None => self.carry_out_by_steps(image.unwrap_or_default()).await?,
        }
        self.wait_until_ready().await
    }

    /// Waits for all nodes, not only for those of the control plane as kind does.
    async fn wait_until_ready(&self) -> anyhow::Result<()> {
        let nodes = super::nodes_of(self.docker, self.name).await?;
        let Some(first) = super::first_plane(&nodes) else {
            return Err(failed(&format!(
                "the new kind cluster {} has no control plane",
                self.name
            )));
        };
        let (kubeconfig, within) =
            (format!("--kubeconfig={ADMIN}"), format!("--timeout={READY_WITHIN}s"));
        let wait =
            ["kubectl", &kubeconfig, "wait", "--for=condition=Ready", "nodes", "--all", &within];
        let said = self.docker.exec(&first.name, &wait, None::<&[u8]>).await?;
        match said.code {
            0 => Ok(()),
            _ => Err(failed(&format!(
                "the nodes of the new kind cluster {} are not ready: {}",
                self.name,
                said.stderr.trim()
            ))),
        }
    }
}

impl Drop for Created {
    fn drop(&mut self) {
        if self.keep {
            eprintln!("trommel: the kind cluster {} is kept", self.name);
            return;
        }
        let (name, note) = (self.name.clone(), self.note.clone());
        // The thread that drops it may be one of a runtime.
        let deleted = std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
            runtime.block_on(async {
                let docker = Docker::connect().await?;
                let nodes = super::nodes_of(&docker, &name).await?;
                let own = |node: &Node| node.note.as_ref() == Some(&note);
                match nodes.iter().all(|node| own(node) || !node.is_node()) {
                    true => delete(&docker, &name, &nodes).await,
                    false => Err(failed("somebody else made it meanwhile")),
                }
            })
        });
        let deleted = deleted.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let Err(error) = deleted {
            eprintln!("trommel: the kind cluster {} is not deleted: {error:#}", self.name);
        }
    }
}

/// A cluster that is there already.
#[derive(Debug, PartialEq, Eq)]
enum State {
    /// Somebody's, or kept for us.
    InUse,
    /// Of a campaign that died.
    Left,
}

/// Errors: another campaign made it, which runs or may run.
fn state(name: &str, nodes: &[Node]) -> Result<State, String> {
    let Some(note) = nodes.iter().find_map(|node| node.note.as_ref()).filter(|note| !note.kept)
    else {
        return Ok(State::InUse);
    };
    let holder = &note.holder;
    match holder::runs(holder) {
        Some(false) => Ok(State::Left),
        Some(true) => Err(format!(
            "another campaign ({holder}) made the cluster {name} for itself, and runs. Wait for its end, or give this one \
             another name"
        )),
        None => Err(format!(
            "a campaign of another machine ({holder}) made the cluster {name} for itself, and may run. If it does not: {}",
            by_hand(nodes)
        )),
    }
}

fn name_those_left(clusters: &HashMap<String, Vec<Node>>) {
    for (name, nodes) in clusters {
        if state(name, nodes) == Ok(State::Left) {
            eprintln!(
                "trommel: a campaign that died left the kind cluster {name}. To delete it: {}",
                by_hand(nodes)
            );
        }
    }
}

/// The command that deletes a cluster, with or without kind.
pub fn by_hand(nodes: &[Node]) -> String {
    let names: Vec<&str> = nodes.iter().map(|node| &*node.name).collect();
    format!("docker rm --force --volumes {}", names.join(" "))
}

/// Removes containers and their volumes, as `kind delete cluster` does, and the network that was made without kind.
async fn delete(docker: &Docker, name: &str, nodes: &[Node]) -> anyhow::Result<()> {
    let mut failures = Vec::new();
    for node in nodes {
        let options = RemoveContainerOptionsBuilder::new().force(true).v(true).build();
        if let Err(error) = docker.api().remove_container(&node.name, Some(options)).await {
            failures.push(error.to_string());
        }
    }
    match failures.is_empty() {
        true => steps::remove_network(docker, name).await,
        false => Err(failed(&format!("{}. By hand: {}", failures.join("; "), by_hand(nodes)))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(name: &str, note: Option<Note>) -> Node {
        Node { name: name.to_owned(), role: "control-plane".to_owned(), runs: true, note }
    }

    #[test]
    fn notes_are_read_as_they_are_mounted() {
        for kept in [true, false] {
            let note = Note::own(kept);
            assert_eq!(Note::parse(&note.path()), Some(note));
        }
        assert_eq!(Note::parse("/lib/modules"), None);
        assert_eq!(Note::parse("/kind/trommel/"), None);
    }

    #[test]
    fn only_clusters_of_dead_campaigns_are_left() {
        let of = |holder: &str, kept| Some(Note { holder: holder.to_owned(), kept });
        let state =
            |note| state("life", &[node("life-worker", None), node("life-control-plane", note)]);
        assert_eq!(state(None), Ok(State::InUse));
        assert_eq!(state(of("elsewhere/0/1", true)), Ok(State::InUse));
        let of_another_machine = state(of("elsewhere/0/1", false)).unwrap_err();
        let by_hand = "docker rm --force --volumes life-worker life-control-plane";
        assert!(of_another_machine.ends_with(by_hand), "{of_another_machine}");
        // This process made none before, so what has its number is of one before it.
        assert_eq!(state(Some(Note::own(false))), Ok(State::Left));
    }
}
