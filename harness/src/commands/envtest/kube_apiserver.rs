//! The stand-in for kube-apiserver: the embedded API server by itself, as kube-apiserver's flags ask for it.
//!
//! Without credentials a client is `system:anonymous`; with a client certificate, or the token of a ServiceAccount, it is
//! who that says; RBAC is in force unless the flags say otherwise. No controllers run, as with envtest's own server. It
//! listens on loopback only: the token of Trommel's administrator is known to everyone.

mod admission;
mod known;
mod own;

use std::{
    net::{IpAddr, Ipv4Addr, TcpListener},
    path::{Path, PathBuf},
    sync::Arc,
};

use cluster::{Server, World};
use proxy::tls::{Authority, Pair};
use tokio::signal::unix::{SignalKind, signal};
use trace::Actor;

use super::{about, flags::Given};
use crate::{
    commands::serve,
    config::{AuthorizationSpec, EmbeddedSpec, Environment, Located},
    exit::{Exit, Expected},
    providers::{client_files::real_now, listener, secret, webhooks},
    stdout,
};

/// Where the real one puts its certificates.
const CERT_DIR: &str = "/var/run/kubernetes";
const SECURE_PORT: u16 = 6443;
/// Who uses it is one process, test and controller alike: all of it is the subject.
const CLIENT: Actor = Actor::Subject(0);

/// Serves until SIGTERM or SIGINT.
pub fn run(arguments: &[String]) -> anyhow::Result<Exit> {
    let given = Given::read(arguments, known::is_switch).map_err(usage)?;
    if given.names().any(|name| ["help", "h"].contains(&name)) {
        stdout::write(&(about("kube-apiserver") + &known::help()));
        return Ok(Exit::Clean);
    }
    if given.one("version").is_some_and(|asked| asked != "false") {
        stdout::write("Kubernetes v1.36.3\n");
        return Ok(Exit::Clean);
    }
    let settings = Settings::read(&given)?;
    let pair = settings.pair()?;
    let (world, clients) = settings.world(&pair)?;
    let tls = proxy::tls::asking_server_config(&pair, &clients)?;
    eprint!("{}", about("kube-apiserver"));
    settings.told.iter().for_each(|told| eprintln!("kube-apiserver: {told}"));
    let server = Server::new(world, None);
    server.call_webhooks_by(webhooks::loopback());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(answer(&settings, &server, (&clients, tls)))?;
    Ok(Exit::Clean)
}

fn usage(message: String) -> anyhow::Error {
    Expected::error(Exit::Usage, format!("kube-apiserver: {message}"))
}

/// What the flags ask for.
struct Settings {
    address: IpAddr,
    port: u16,
    /// Where certificate and key are; made if they are not there, unless they were named.
    certificate: PathBuf,
    key: PathBuf,
    named: bool,
    client_authority: Option<PathBuf>,
    /// Where the addresses of Services begin.
    services: Ipv4Addr,
    authorization: AuthorizationSpec,
    plugins: admission::Plugins,
    /// What to say of flags that have no effect.
    told: Vec<String>,
}

impl Settings {
    fn read(given: &Given) -> anyhow::Result<Settings> {
        let told = known::check(given).map_err(usage)?;
        let address: IpAddr = match given.one("bind-address") {
            None => Ipv4Addr::LOCALHOST.into(),
            Some(text) => {
                text.parse().map_err(|_| usage(format!("--bind-address={text}: no address")))?
            }
        };
        if !address.is_loopback() {
            let why =
                "only loopback is served: whoever reaches this server can be its administrator";
            return Err(usage(format!("--bind-address={address}: {why}")));
        }
        let port: u16 = match given.one("secure-port") {
            None => SECURE_PORT,
            Some(text) => {
                text.parse().map_err(|_| usage(format!("--secure-port={text}: no port")))?
            }
        };
        let folder = PathBuf::from(given.one("cert-dir").unwrap_or(CERT_DIR));
        let named =
            given.one("tls-cert-file").is_some() || given.one("tls-private-key-file").is_some();
        let file = |flag, name| given.one(flag).map_or_else(|| folder.join(name), PathBuf::from);
        let plugins =
            [given.list("enable-admission-plugins"), given.list("disable-admission-plugins")];
        Ok(Settings {
            address,
            port,
            certificate: file("tls-cert-file", "apiserver.crt"),
            key: file("tls-private-key-file", "apiserver.key"),
            named,
            client_authority: given.one("client-ca-file").map(PathBuf::from),
            services: own::services(&given.list("service-cluster-ip-range")).map_err(usage)?,
            authorization: authorization(&given.list("authorization-mode")).map_err(usage)?,
            plugins: admission::Plugins::read(&plugins[0], &plugins[1]).map_err(usage)?,
            told,
        })
    }

    /// What it is known by. The real one makes a certificate where it finds none, and so does this.
    fn pair(&self) -> anyhow::Result<Pair> {
        if !self.named && !self.certificate.exists() && !self.key.exists() {
            let pair = Authority::mint(real_now())?.server(real_now(), &[])?;
            self.keep(&pair).map_err(|error| {
                let path = self.certificate.display();
                Expected::error(
                    Exit::Environment,
                    format!("kube-apiserver: cannot write {path}: {error}"),
                )
            })?;
            return Ok(pair);
        }
        Ok(Pair { certificate: text(&self.certificate)?, key: text(&self.key)? })
    }

    fn keep(&self, pair: &Pair) -> std::io::Result<()> {
        if let Some(folder) = self.certificate.parent() {
            std::fs::create_dir_all(folder)?;
        }
        std::fs::write(&self.certificate, &pair.certificate)?;
        secret::write(&self.key, pair.key.as_bytes())
    }

    /// A new cluster, and the authorities whose clients it knows.
    fn world(&self, pair: &Pair) -> anyhow::Result<(World, String)> {
        let embedded = EmbeddedSpec {
            environment: Environment::None,
            authorization: Located::new(self.authorization),
            mount_service_accounts: self.plugins.service_accounts,
            pod_security: self.plugins.pod_security,
            ..EmbeddedSpec::default()
        };
        let mut world = serve::world(&embedded, &pair.certificate, None)?;
        let clients = serve::trust(&mut world, self.client_authority.as_deref())?;
        Ok((world, clients))
    }
}

/// Errors: a file that can't be read.
fn text(path: &Path) -> anyhow::Result<String> {
    std::fs::read_to_string(path)
        .map_err(|error| usage(format!("cannot read {}: {error}", path.display())))
}

/// What `--authorization-mode` asks for; the real default is AlwaysAllow. Errors: an authorizer that is not there.
fn authorization(modes: &[&str]) -> Result<AuthorizationSpec, String> {
    match modes {
        [] | ["AlwaysAllow"] => Ok(AuthorizationSpec::None),
        // Node is for kubelets, of which there are none.
        modes if modes.iter().all(|mode| ["RBAC", "Node"].contains(mode)) => {
            Ok(AuthorizationSpec::Rbac)
        }
        modes => Err(format!(
            "--authorization-mode={}: this stand-in knows RBAC (also with Node), or AlwaysAllow alone",
            modes.join(",")
        )),
    }
}

async fn answer(
    settings: &Settings,
    server: &Server,
    (clients, tls): (&str, Arc<rustls::ServerConfig>),
) -> anyhow::Result<()> {
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    let address = (settings.address, settings.port);
    let listener = TcpListener::bind(address).map_err(|error| {
        let message =
            format!("kube-apiserver: cannot listen on {}:{}: {error}", address.0, address.1);
        Expected::error(Exit::Environment, message)
    })?;
    listener.set_nonblocking(true)?;
    let listener = tokio::net::TcpListener::from_std(listener)?;
    own::make(server, settings.services, listener.local_addr()?.port(), clients).await?;
    eprintln!("kube-apiserver: serves on https://{}", listener.local_addr()?);
    let answering = listener::serve(listener, serve::live(server), Some(tls), CLIENT);
    tokio::select! {
        _ = interrupt.recv() => Ok(()),
        _ = terminate.recv() => Ok(()),
        never = answering => match never {},
        restless = serve::live_on(server) => {
            Err(Expected::error(Exit::Environment, restless.to_string()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn authorizers_are_those_that_are_there() {
        let check =
            |modes: &[&str], expect| assert_eq!(authorization(modes).ok(), expect, "{modes:?}");
        check(&[], Some(AuthorizationSpec::None));
        check(&["AlwaysAllow"], Some(AuthorizationSpec::None));
        check(&["RBAC"], Some(AuthorizationSpec::Rbac));
        check(&["Node", "RBAC"], Some(AuthorizationSpec::Rbac));
        check(&["RBAC", "Webhook"], None);
        check(&["AlwaysDeny"], None);
        check(&["AlwaysAllow", "RBAC"], None);
    }

    #[test]
    fn only_loopback_is_served() {
        let read = |line: &str| {
            let words = [line.to_owned()];
            Settings::read(&Given::read(&words, known::is_switch).expect("a flag"))
        };
        assert!(read("--bind-address=::1").is_ok());
        let error = read("--bind-address=0.0.0.0").err().expect("refused").to_string();
        assert!(error.contains("only loopback"), "{error}");
    }
}
