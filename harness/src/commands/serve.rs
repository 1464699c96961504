//! `trommel serve`: the embedded API server by itself, on loopback, in real time, until it is told to end.
//!
//! With `--kubelet-only` none of it, but kubelets for another cluster ([`kubelet_only`]).
//!
//! For looking around with kubectl, and for tests of other projects that want an API server and no more. Nothing
//! is kept when it ends. History is forgotten after five minutes, as by a real server (`--etcd-compaction-interval`).

use std::{
    io,
    net::TcpListener,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use cluster::{Release, Server, SuffixOrder, Upstream, World, WorldOptions};
use proxy::tls::Authority;
use stages::Stages;
use tokio::{
    signal::unix::{SignalKind, signal},
    time::{Instant, timeout_at},
};
use tower::ServiceExt;
use trace::{Actor, Revision, Time};

use crate::{
    commands::kubelet_only,
    config::{
        AuthorizationSpec, EmbeddedSpec, Environment, Located, PaceSpec, PodSecurity, read_answers,
        read_stages,
    },
    exit::{Exit, Expected},
    providers::{
        client_files::{self, real_now},
        guard, listener, secret, webhooks,
    },
    stdout,
};

/// How long watches and exact lists can look back, at least; at most twice as long.
const HISTORY: Duration = Duration::from_secs(300);

/// How late timers of the built-in controllers, and the ends of watches, can come.
const TICK: Duration = Duration::from_millis(200);

/// `trommel serve`.
#[derive(Debug, Clone, clap::Args)]
pub struct Options {
    /// Port on 127.0.0.1; default: any that is free.
    #[arg(long, default_value_t = 0, env = "TROMMEL_SERVE_PORT")]
    port: u16,
    /// The release of Kubernetes that it says it is, from 1.16 to 1.37, whose beta versions it serves.
    #[arg(long, default_value_t, value_name = "RELEASE")]
    kubernetes: Release,
    /// Which built-in controllers run.
    #[arg(long, value_enum, default_value_t = Environment::Full)]
    environment: Environment,
    /// How many nodes there are; with `--environment full` and `kcm` only.
    #[arg(long)]
    nodes: Option<u32>,
    /// Whether permissions count. The kubeconfig is the administrator's.
    #[arg(long, value_enum, default_value_t = AuthorizationSpec::None)]
    authorization: AuthorizationSpec,
    /// Whoever shows a client certificate of an authority in this file (PEM) is who it says: its common name is the
    /// user, its organizations are the groups. So are those with certificates that the cluster's own controllers signed.
    #[arg(long)]
    client_ca_file: Option<PathBuf>,
    /// Give new pods their ServiceAccount and its token, and refuse them without the account.
    #[arg(long)]
    mount_service_accounts: bool,
    /// Whether pods are held against what their namespace's labels ask for.
    #[arg(long, value_enum, default_value_t = PodSecurity::Labels)]
    pod_security: PodSecurity,
    /// kwok Stage files by which pods and nodes live.
    #[arg(long, num_args = 1..)]
    stages: Vec<PathBuf>,
    /// A file that says what containers answer to logs, exec and attach.
    #[arg(long)]
    answers: Option<PathBuf>,
    /// Built-in controllers that never act, or late: NAME=held, NAME=30s.
    #[arg(long, num_args = 1.., value_name = "NAME=PACE", value_parser = PaceSpec::parse)]
    controllers: Vec<(String, PaceSpec)>,
    /// Run a descheduler, by the policy in the ConfigMap descheduler-policy-configmap of kube-system.
    #[arg(long)]
    descheduler: bool,
    /// Built-in controllers that take turns in this order, before all others.
    #[arg(long, num_args = 1.., value_name = "NAME")]
    order: Vec<String>,
    /// No API server: nodes and their pods, by Stage files, of the cluster to which --kubeconfig leads.
    #[arg(long, requires = "kubeconfig")]
    #[arg(conflicts_with_all = [
        "port", "kubernetes", "environment", "authorization", "client_ca_file", "mount_service_accounts", "pod_security",
        "answers", "controllers", "descheduler", "order",
    ])]
    kubelet_only: bool,
    /// Where to write the kubeconfig (default: trommel.kubeconfig), which is removed at the end; with --kubelet-only,
    /// the one to use.
    #[arg(long)]
    kubeconfig: Option<PathBuf>,
}

/// Serves until SIGINT or SIGTERM. When it serves, one line on stdout says so: `export KUBECONFIG=…`.
///
/// # Errors
/// Options that do not fit together, a port that is taken, a kubeconfig that can't be written.
pub fn run(options: &Options) -> anyhow::Result<Exit> {
    let default = PathBuf::from("trommel.kubeconfig");
    let kubeconfig = options.kubeconfig.as_ref().unwrap_or(&default);
    if options.kubelet_only {
        return kubelet_only::run(kubeconfig, &options.stages, options.nodes.unwrap_or(1));
    }
    let stages = read_stages(&options.stages)?.map(Arc::new);
    let embedded = EmbeddedSpec {
        kubernetes: options.kubernetes,
        environment: options.environment,
        nodes: options.nodes,
        authorization: Located::new(options.authorization),
        mount_service_accounts: options.mount_service_accounts,
        pod_security: options.pod_security,
        controller_manager: vec![],
        stages: vec![],
        answers: options.answers.as_deref().map(read_answers).transpose()?.unwrap_or_default(),
        heartbeats: false,
        descheduler: options.descheduler,
        events: matches!(options.environment, Environment::Full | Environment::Kcm),
        controllers: options.controllers.iter().cloned().collect(),
        order: options.order.clone(),
    };
    let wrong = |(key, what)| Expected::error(Exit::Usage, format!("--{key}: {what}"));
    embedded.check().map_err(wrong)?;
    if stages.is_some() && !embedded.has_kubelets() {
        let message =
            "--stages: there are kubelets, and so stages, with --environment full or kcm only";
        return Err(Expected::error(Exit::Usage, message.to_owned()));
    }
    let authority = Authority::mint(real_now())?;
    let mut world = world(&embedded, &authority.pair().certificate, stages)?;
    let token = secret::token()?;
    world.set_admin_token(&token);
    world.ask_for_credentials();
    let clients = trust(&mut world, options.client_ca_file.as_deref())?;
    let pair = authority.server(real_now(), &[])?;
    let tls = proxy::tls::asking_server_config(&pair, &clients)?;
    let server = Server::new(world, None);
    server.call_webhooks_by(webhooks::loopback());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let access = Access { authority: &authority, tls, token: &token };
    runtime.block_on(serve(options.port, kubeconfig, &server, access))?;
    Ok(Exit::Clean)
}

/// A new cluster, as of now, whose API server is known by this certificate in PEM. Nobody can guess what it draws: uids, and
/// the key by which it signs certificates.
///
/// # Errors
/// The kernel gives no random bytes.
pub fn world(
    embedded: &EmbeddedSpec,
    root_ca: &str,
    stages: Option<Arc<Stages>>,
) -> std::io::Result<World> {
    cluster::use_authority(secret::bytes()?);
    let start = Time(real_now().seconds() * 1_000_000_000);
    let seed = u64::from_ne_bytes(secret::bytes()?);
    let mut world = World::new(WorldOptions { start, seed, suffixes: SuffixOrder::Ascending });
    embedded.set_up(&mut world, root_ca, stages);
    Ok(world)
}

/// Has the world trust the clients of the authorities in a file, if there is one. Says of which authorities clients are
/// trusted, in PEM.
///
/// # Errors
/// A file that can't be read, or that holds no certificate.
pub fn trust(world: &mut World, file: Option<&Path>) -> anyhow::Result<String> {
    let mut authorities = cluster::client_authority();
    let Some(file) = file else { return Ok(authorities) };
    let wrong = |error: &dyn std::fmt::Display| {
        Expected::error(Exit::Usage, format!("--client-ca-file {}: {error}", file.display()))
    };
    let more = std::fs::read_to_string(file).map_err(|error| wrong(&error))?;
    world.trust_clients_of(&more).map_err(|error| wrong(&error))?;
    authorities.push_str(&more);
    Ok(authorities)
}

/// By what clients know the server, and it them.
struct Access<'a> {
    authority: &'a Authority,
    tls: Arc<rustls::ServerConfig>,
    token: &'a str,
}

async fn serve(
    port: u16,
    kubeconfig: &Path,
    server: &Server,
    access: Access<'_>,
) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let address = ("127.0.0.1", port);
    let listener = TcpListener::bind(address).map_err(|error| {
        let message = format!(
            "cannot listen on 127.0.0.1:{port}: {error}; leave --port out to take a free one"
        );
        Expected::error(Exit::Environment, message)
    })?;
    listener.set_nonblocking(true)?;
    let port = listener.local_addr()?.port();
    let authority = &access.authority.pair().certificate;
    let written = Kubeconfig::write(kubeconfig, port, authority, access.token)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let service = guard::by_own_name(live(server));
    let mut answering =
        tokio::spawn(listener::serve(listener, service, Some(access.tls), Actor::User));
    let release = server.world().release().git_version();
    eprintln!(
        "trommel: Kubernetes {release} API on https://127.0.0.1:{port} until SIGINT or SIGTERM; nothing is kept"
    );
    stdout::write(&format!("export KUBECONFIG={}\n", written.path.display()));
    tokio::select! {
        _ = interrupt.recv() => {}
        _ = terminate.recv() => {}
        ended = &mut answering => match ended? {},
        restless = live_on(server) => {
            return Err(Expected::error(Exit::Environment, restless.to_string()));
        }
    }
    answering.abort();
    Ok(())
}

/// The API, its clock set to the machine's before each request.
pub fn live(server: &Server) -> Upstream {
    let (server, service) = (server.clone(), server.service());
    Upstream::new(tower::service_fn(move |request| {
        server.advance_to(real_now());
        service.clone().oneshot(request)
    }))
}

/// Lets the built-in controllers act whenever something changed or a timer may be due. Ends if they don't come
/// to rest.
pub async fn live_on(server: &Server) -> cluster::Restless {
    let mut revisions = server.subscribe();
    let mut old = (real_now(), Revision(0));
    let mut told = 0;
    loop {
        let lived = server.live_until_and_call(real_now()).await;
        let rested = match lived {
            Ok(()) => server.run_environment_and_call().await,
            restless => restless,
        };
        if let Err(restless) = rested {
            return restless;
        }
        let world = server.world();
        for problem in world.stage_problems().iter().skip(told) {
            eprintln!("trommel: {problem}");
        }
        told = world.stage_problems().len();
        if real_now().since(old.0) >= HISTORY {
            server.compact(old.1);
            old = (real_now(), server.revision());
        }
        // Woken by a change, or by the clock: both mean to look again.
        drop(timeout_at(Instant::now() + TICK, revisions.changed()).await);
    }
}

/// A kubeconfig that goes when the server goes. One that is not ours is never touched.
struct Kubeconfig {
    path: PathBuf,
    text: String,
}

impl Kubeconfig {
    fn write(path: &Path, port: u16, authority: &str, token: &str) -> anyhow::Result<Kubeconfig> {
        let cannot = |error: io::Error| {
            let message =
                format!("cannot write {}: {error}; --kubeconfig names another", path.display());
            Expected::error(Exit::Environment, message)
        };
        let path = std::path::absolute(path)?;
        if path.exists() {
            let message = format!(
                "{} exists; --kubeconfig names another, or remove it if no server uses it any more",
                path.display()
            );
            return Err(Expected::error(Exit::Usage, message));
        }
        client_files::write_for(&path, port, Some(authority), token).map_err(|error| {
            // Half of it would keep the next server from being started.
            drop(std::fs::remove_file(&path));
            cannot(error)
        })?;
        let text = std::fs::read_to_string(&path).map_err(cannot)?;
        Ok(Kubeconfig { path, text })
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        // Somebody may have removed it already, or put another one in its place.
        if std::fs::read_to_string(&self.path).is_ok_and(|text| text == self.text) {
            drop(std::fs::remove_file(&self.path));
        }
    }
}
