//! Images of the campaign in the nodes of a kind cluster, as `kind load` brings them there.

use std::path::Path;

use futures::{StreamExt, TryStreamExt};
use tokio::io::AsyncRead;
use tokio_util::io::StreamReader;

use super::{Kind, Node, docker::failed};

impl Kind {
    /// Brings an image to every node: an archive of this folder, or one of Docker's by its name.
    ///
    /// # Errors
    /// No such archive or image, or a node that can't read it: exit 75.
    pub async fn load(&self, image: &str, folder: &Path) -> anyhow::Result<()> {
        let archive = folder.join(image);
        let of_docker = !archive.is_file();
        if of_docker && let Err(error) = self.docker.api().inspect_image(image).await {
            let message = format!(
                "there is no image {image} to load: Docker says {error}, and {} is no archive. docker build -t {image} .",
                archive.display()
            );
            return Err(failed(&message));
        }
        for node in self.nodes.iter().filter(|node| node.is_node()) {
            if of_docker {
                let exported = self.docker.api().export_image(image).map_err(std::io::Error::other);
                self.import(node, image, StreamReader::new(exported.boxed())).await?;
            } else {
                let opened = tokio::fs::File::open(&archive).await;
                let file =
                    opened.map_err(|error| failed(&format!("{}: {error}", archive.display())))?;
                self.import(node, image, file).await?;
            }
        }
        Ok(())
    }

    /// Reads an archive into a node's containerd, for its kubelet (kind, `nodeutils.LoadImageArchive`).
    async fn import(
        &self,
        node: &Node,
        image: &str,
        archive: impl AsyncRead + Unpin,
    ) -> anyhow::Result<()> {
        let snapshotter = format!("--snapshotter={}", self.snapshotter(node).await?);
        let import = [
            "ctr",
            "--namespace=k8s.io",
            "images",
            "import",
            "--all-platforms",
            "--digests",
            &snapshotter,
            "-",
        ];
        let said = self.docker.exec(&node.name, &import, Some(archive)).await?;
        match said.code {
            0 => Ok(()),
            code => {
                let (name, why) = (&node.name, said.stderr.trim());
                Err(failed(&format!("{name} can't read the image {image} (exit {code}): {why}")))
            }
        }
    }

    /// Where containerd unpacks images (kind, `getSnapshotter`).
    async fn snapshotter(&self, node: &Node) -> anyhow::Result<String> {
        let said =
            self.docker.exec(&node.name, &["containerd", "config", "dump"], None::<&[u8]>).await?;
        Ok(named(&String::from_utf8_lossy(&said.stdout)).unwrap_or("overlayfs").to_owned())
    }
}

/// The first snapshotter that a configuration of containerd names.
fn named(config: &str) -> Option<&str> {
    let values = config.lines().filter_map(|line| {
        let (name, value) = line.split_once('=')?;
        (name.trim() == "snapshotter").then(|| value.trim().trim_matches(['"', '\'']))
    });
    values.into_iter().find(|value| !value.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_versions_of_the_configuration_name_the_snapshotter() {
        let second = "[plugins]\n    [plugins.\"io.containerd.grpc.v1.cri\".containerd]\n      snapshotter = \"native\"\n";
        assert_eq!(named(second), Some("native"));
        let third = "[plugins.'io.containerd.cri.v1.images']\n  snapshotter = 'fuse-overlayfs'\n";
        assert_eq!(named(third), Some("fuse-overlayfs"));
        assert_eq!(named("snapshotter = \"\"\n"), None);
    }
}
