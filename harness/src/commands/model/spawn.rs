//! `trommel model spawn`: the controllers that models are checked with, as a controller manager of a real cluster.
//!
//! They are the functions of the crate `controllers`, the same that the embedded cluster runs and the model checker
//! explores. Here watches tell them of the cluster, their requests go to its API server, and time is real.
//!
//! There is no leader election: who runs two of them gets what two managers without it do, which is what models with two
//! instances of a controller show.

mod api;
mod awaited;
mod cache;
mod chosen;
mod live;
mod manager;
mod queue;
mod reads;
mod state;
#[cfg(test)]
mod tests;
mod types;
mod watches;
mod worker;

use std::{collections::BTreeSet, path::PathBuf};

use clap::Args;
use controllers::Controller;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};

use self::{
    api::Api,
    manager::{Clock, Manager},
    types::Types,
};
use super::usage;
use crate::{
    commands::kubelet_only,
    exit::{Exit, Expected},
    providers::{
        client_files::real_now,
        remote::access::{self, Access},
    },
    stdout,
};

/// `trommel model spawn`.
#[derive(Debug, Clone, Args)]
pub struct Options {
    /// The kubeconfig of the cluster; default: ~/.kube/config.
    #[arg(long, value_name = "FILE", env = "KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// The context of the kubeconfig; default: its current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
    /// Which controllers run: `*` for those of kube-controller-manager, NAME for one more, -NAME for one less. The scheduler
    /// and kubelet run where they are named.
    #[arg(long, value_delimiter = ',', allow_hyphen_values = true, value_name = "NAME,…")]
    controllers: Vec<String>,
    /// Register this many nodes without machines. Their kubelets run the pods, as those of the embedded cluster do.
    #[arg(long, value_name = "N", default_value_t = 0)]
    nodes: u32,
}

/// Runs until SIGINT or SIGTERM. When all caches are filled, one line on stdout says so: `export KUBECONFIG=…`.
///
/// # Errors
/// A kubeconfig or list of controllers that is wrong (exit 64), a cluster that does not answer or refuses (exit 75).
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let controllers = options.controllers()?;
    let kubeconfig = options.kubeconfig()?;
    let access = Access::read_any(&kubeconfig, options.context.as_deref())?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    // Watches and workers are tasks beside it, on this thread.
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let (mut interrupt, mut terminate) =
            (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
        tokio::select! {
            _ = interrupt.recv() => Ok(Exit::Clean),
            _ = terminate.recv() => Ok(Exit::Clean),
            ended = options.live(controllers, &access, &kubeconfig) => match ended? {},
        }
    })
}

impl Options {
    fn controllers(&self) -> anyhow::Result<BTreeSet<Controller>> {
        let mut controllers = chosen::chosen(&self.controllers)
            .map_err(|why| usage(format!("--controllers: {why}")))?;
        if self.nodes > 0 {
            controllers.extend([Controller::Kubelet, Controller::NodeLease]);
        }
        Ok(controllers)
    }

    fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        let home = || Some(PathBuf::from(std::env::var_os("HOME")?).join(".kube/config"));
        let path = self.kubeconfig.clone().or_else(home);
        path.ok_or_else(|| usage("name a kubeconfig by --kubeconfig"))
    }

    async fn live(
        &self,
        controllers: BTreeSet<Controller>,
        access: &Access,
        kubeconfig: &std::path::Path,
    ) -> anyhow::Result<std::convert::Infallible> {
        let api = Api { upstream: access.upstream()? };
        let types = Types::discover(&api).await.map_err(|error| {
            let message =
                format!("{error:#}; it is {}, by {}", access.server(), kubeconfig.display());
            Expected::error(Exit::Environment, message)
        })?;
        self.refuse_company(&api, access).await?;
        for number in 0..self.nodes {
            register(&api, number).await?;
        }
        let count = controllers.len();
        let kubeconfig = std::path::absolute(kubeconfig)?;
        let about = (access.authority(), Box::new(real_now) as Clock);
        Manager::run(api, types, controllers, about, |types| {
            eprintln!(
                "trommel: {count} controllers on {}, {types} types watched, until SIGINT or SIGTERM",
                access.server()
            );
            stdout::write(&format!("export KUBECONFIG={}\n", kubeconfig.display()));
        })
        .await
    }

    /// Two managers would work against each other, unless somebody shared out the work.
    async fn refuse_company(&self, api: &Api, access: &Access) -> anyhow::Result<()> {
        if !self.controllers.is_empty() || !access::has_controllers(&api.upstream).await? {
            return Ok(());
        }
        Err(usage(format!(
            "kube-controller-manager runs on {} (its Lease was renewed lately). Take it away, or say by --controllers which \
             of its controllers don't run there",
            access.server()
        )))
    }
}

/// Makes a node without a machine, if it is not there yet: as a kubelet registers, and ready.
async fn register(api: &Api, number: u32) -> anyhow::Result<()> {
    let mut node = kubelet_only::node(number);
    let now = real_now().rfc3339();
    let condition = |(kind, status, reason, message): &(&str, &str, &str, &str)| {
        json!({
            "type": kind, "status": status, "reason": reason, "message": message,
            "lastHeartbeatTime": now, "lastTransitionTime": now,
        })
    };
    node["status"]["conditions"] = controllers::kubelet::WELL.iter().map(condition).collect();
    let json = controllers::wire::JSON;
    let sent = api.exchange("POST", "/api/v1/nodes", json, &node, "kubelet").await;
    match sent.map_err(|why| access::unavailable(&why))? {
        (201 | 409, _) => Ok(()),
        (code, answer) => {
            let message = format!("a node was refused: {code} {}", answer["message"]);
            Err(Expected::error(Exit::Environment, message))
        }
    }
}
