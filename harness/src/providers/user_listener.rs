//! Where programs of the workload find the cluster: script and command steps.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
};

use trace::{Actor, Flight, Recorder};

use super::{client_files, codec::ClusterCodec, guard};
use crate::campaign::setup::Setup;

/// A port for the user's programs; whoever has the campaign's token is the administrator there.
pub struct UserListener {
    proxy: proxy::Proxy,
    _serving: proxy::Serving,
    kubeconfig: PathBuf,
}

impl UserListener {
    /// Opens it the first time. The kubeconfig that leads there.
    ///
    /// # Errors
    /// No port, or a file that can't be written.
    pub fn once(
        opened: &mut Option<UserListener>,
        upstream: &proxy::Upstream,
        setup: &Setup,
        folder: &Path,
    ) -> anyhow::Result<PathBuf> {
        if let Some(listener) = opened {
            return Ok(listener.kubeconfig.clone());
        }
        let listener = std::net::TcpListener::bind("127.0.0.1:0")?;
        let port = listener.local_addr()?.port();
        let proxy = proxy::Proxy::new(
            guard::with_token(upstream.clone(), &setup.admin_token),
            Recorder::new(Arc::new(Default::default), None),
            Arc::new(ClusterCodec),
        );
        let tls = setup.certificates.server.clone();
        let client = proxy::Client { actor: Actor::User, incarnation: 0, tls };
        let _serving = proxy.serve(listener, client)?;
        let kubeconfig = folder.join("user.kubeconfig");
        client_files::write(&kubeconfig, port, setup, &setup.admin_token)?;
        *opened = Some(UserListener { proxy, _serving, kubeconfig: kubeconfig.clone() });
        Ok(kubeconfig)
    }

    /// What is under way between those programs and the cluster.
    pub fn flight(opened: Option<&UserListener>) -> Flight {
        opened.map(|listener| listener.proxy.flight()).unwrap_or_default()
    }
}
