//! Makes a [`Setup`] of a campaign: everything that can be wrong with it is said before the first run.

use std::{
    path::Path,
    process::Command,
    sync::{Arc, Mutex, OnceLock},
    time::Duration,
};

use cluster::{Server, SuffixOrder, World, WorldOptions};
use stages::Stages;
use trace::{Accepted, Actor, Heartbeats, Time};
use workloads::Place;

use super::{Certificates, ClockMode, Setup};
use crate::{
    campaign::{
        model_runs::{ModelRuns, Surroundings},
        pool::Slots,
        properties::Properties,
    },
    config::{Campaign, ClockSpec, ClusterSpec, EmbeddedSpec, manifests},
    exit::{Exit, Expected},
    providers::{
        Provider,
        client_files::real_now,
        embedded::Embedded,
        kind,
        pods::Deployment,
        remote::{Remote, access::Access},
        secret,
    },
};

/// Runs the campaign's build command, if it has one. Its output goes to stderr.
///
/// # Errors
/// A build that can't be started or fails: exit 64.
pub fn build(campaign: &Campaign) -> anyhow::Result<()> {
    let Some(build) = &campaign.file.spec.subject.build else { return Ok(()) };
    let mut command = Command::new("/bin/sh");
    // What `cargo run` tells a program of its own package would make a cargo below build everything anew.
    let told = |name: &str| {
        name.starts_with("CARGO_PKG_")
            || matches!(name, "CARGO_MANIFEST_DIR" | "CARGO_MANIFEST_PATH" | "CARGO_BIN_NAME")
            || matches!(name, "CARGO_CRATE_NAME" | "CARGO_PRIMARY_PACKAGE" | "OUT_DIR")
    };
    for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_str().is_some_and(told)) {
        command.env_remove(name);
    }
    let status = command
        .args(["-c", build])
        .current_dir(&campaign.folder)
        .stdin(std::process::Stdio::null())
        .stdout(std::io::stderr())
        .status();
    match status {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(usage(format!("the controller's build failed ({status}): {build}"))),
        Err(error) => Err(usage(format!("the controller's build could not be started: {error}"))),
    }
}

/// What this machine lacks, in a line on stderr. That is no progress, so `--quiet` does not hide it.
fn tell(what: &str) {
    eprintln!("trommel: {what}");
}

fn usage(message: String) -> anyhow::Error {
    Expected::error(Exit::Usage, message)
}

impl Setup {
    /// Reads and checks everything that the campaign names. `folder` is that of the run.
    ///
    /// # Errors
    /// Anything wrong with it, located, as [`Expected`].
    pub fn prepare(mut campaign: Campaign, folder: &Path, workers: usize) -> anyhow::Result<Setup> {
        let scratch = folder.join("trials");
        let in_pods = InPods::read(&campaign)?;
        if let Some(in_pods) = &in_pods {
            // As its author deploys it.
            campaign.file.spec.subject.replicas = in_pods.deployment.replicas;
        }
        let spec = &campaign.file.spec;
        if let (Some(context), false) =
            (&campaign.allowed_context, matches!(spec.cluster, ClusterSpec::Kubeconfig(_)))
        {
            return Err(usage(format!(
                "--allow-context {context}: {} has no spec.cluster.kubeconfig, so it uses no context",
                campaign.path.display()
            )));
        }
        let path_variable = std::env::var("PATH").unwrap_or_else(|_| "/usr/bin:/bin".to_owned());
        let hint = match &spec.subject.build {
            Some(build) => format!("the build ({build}) did not make it"),
            None => "build it first, or give spec.subject.build".to_owned(),
        };
        let wrong =
            |key: &str, what: String| usage(format!("{}: {key}: {what}", campaign.path.display()));
        let find = |key: &str, command: Vec<String>, hint: &str| {
            resolve(&campaign, &path_variable, command, hint).map_err(|what| wrong(key, what))
        };
        let command = match &in_pods {
            Some(_) => vec![],
            None if spec.subject.command.is_empty() => {
                let what =
                    "there is none: a Deployment runs on kind clusters only (--cluster kind=NAME)";
                return Err(wrong("spec.subject.command", what.to_owned()));
            }
            None => find("spec.subject.command", spec.subject.command.clone(), &hint)?,
        };
        let manager = match &spec.cluster {
            ClusterSpec::Embedded(embedded) => embedded.controller_manager(),
            ClusterSpec::Kubeconfig(_) | ClusterSpec::Kind(_) => None,
        };
        let hint = "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-controller-manager is one; name its file";
        let key = "spec.cluster.embedded.controllerManager";
        let manager = manager.map(|command| find(key, command, hint)).transpose()?;
        let named = |key: &str, path: &Path| {
            let path = campaign.resolve(path);
            match path.exists() {
                true => Ok(path),
                false => Err(wrong(key, format!("there is no {}", path.display()))),
            }
        };
        let workload_file = named("spec.workload.file", &spec.workload.file)?;
        let workload = campaign.workload().map_err(|error| usage(error.to_string()))?;
        if workload.skip {
            let message = format!("{} says `skip: true`", workload_file.display());
            return Err(Expected::error(Exit::Nothing, message));
        }
        let workload_text = std::fs::read_to_string(&workload_file)?;
        let properties = Properties::load(&campaign)?;
        let (mut manifests, mut places) = (Vec::new(), Vec::new());
        let pod = spec.subject.pod.iter().map(|pod| ("spec.subject.pod.manifest", &pod.manifest));
        let applied = spec.manifests.iter().map(|path| ("spec.manifests", path));
        for (key, path) in applied.chain(pod) {
            let read = manifests::load(&named(key, path)?);
            let read = read.map_err(|error| usage(error.to_string()))?;
            for manifest in read {
                manifests.push(manifest.object);
                places.push(manifest.place);
            }
        }
        let there = Surroundings { workload: &workload, manifests: &manifests };
        let model_runs = ModelRuns::load(&campaign, &there)?;
        let capabilities = subject::probe();
        let isolation = capabilities.isolation();
        if isolation == subject::Isolation::None && spec.subject.replicas > 1 && in_pods.is_none() {
            return Err(Expected::error(
                Exit::Usage,
                format!(
                    "{}: spec.subject.replicas: replicas listen on the same ports, so they need network namespaces of \
                     their own, which this machine refuses; see `trommel doctor`",
                    campaign.path.display()
                ),
            ));
        }
        let embedded = matches!(spec.cluster, ClusterSpec::Embedded(_));
        if let Err(why) = &capabilities.namespaces.result {
            let without = capabilities.namespaces.without;
            tell(&format!("isolation is off: {why}. So {without}; see `trommel doctor`"));
        }
        if spec.subject.clock == ClockSpec::Virtual && !embedded {
            let message = "spec.subject.clock: virtual time needs the embedded cluster";
            return Err(usage(format!("{}: {message}", campaign.path.display())));
        }
        if let (ClockSpec::Virtual, Err(why)) = (spec.subject.clock, &capabilities.jump.result) {
            let fix = capabilities.jump.fix;
            let message =
                format!("spec.subject.clock: virtual time is not possible here: {why}; {fix}");
            return Err(Expected::error(Exit::Environment, message));
        }
        let clock = match spec.subject.clock {
            ClockSpec::Auto | ClockSpec::Virtual if embedded && capabilities.jump.works() => {
                ClockMode::Virtual
            }
            ClockSpec::Real if embedded && capabilities.jump.works() => ClockMode::Real,
            _ => ClockMode::Untouched,
        };
        if let (ClockSpec::Auto, true, Err(why)) =
            (spec.subject.clock, embedded, &capabilities.jump.result)
        {
            tell(&format!("time is real: {why}; see `trommel doctor`"));
        }
        let certificates = certificates(spec.subject.transport == crate::config::Transport::Tls)?;
        let admin_token = secret::token()?;
        let mut token = admin_token.clone();
        let mut kind = None;
        let ground: Box<dyn Provider> = match &spec.cluster {
            ClusterSpec::Embedded(embedded) => {
                let (stages, root_ca) = (campaign.stages()?, &certificates.authority_pem);
                let world = first_world((&manifests, &places), embedded, clock, root_ca, stages)?;
                let world = with_admin_token(world, &admin_token);
                if let Some(account) = spec.subject.service_account.as_ref().map(|at| &at.value) {
                    let minted = world.account_token(&account.namespace, &account.name, TOKEN_LIFE);
                    token = match (minted, campaign.no_account()) {
                        (None, Some(error)) => return Err(error),
                        (minted, _) => minted.unwrap_or_default(),
                    };
                }
                Box::new(Embedded(world))
            }
            ClusterSpec::Kubeconfig(kubeconfig) => {
                let path = campaign.resolve(&kubeconfig.path);
                let (context, allowed) = (&kubeconfig.context, &campaign.allowed_context);
                let access = Access::read(&path, context.as_deref(), allowed.as_deref())?;
                Box::new(Remote::connect(access, &manifests, None)?)
            }
            ClusterSpec::Kind(spec) => {
                let (deployment, of_pods) = in_pods.map(InPods::parts).unzip();
                let (access, pods, held) = kind::Held::open(spec, &campaign, deployment, folder)?;
                let held = kind.insert(held);
                let connected = Remote::connect(access, &manifests, pods.zip(of_pods));
                let mut remote = held.explain(connected)?;
                if held.goes() {
                    remote.leave_all();
                }
                Box::new(remote)
            }
        };
        let heartbeats = heartbeats(&campaign)?;
        let apart = ground.runs_side_by_side() && isolation != subject::Isolation::None;
        let workers = if apart { workers } else { 1 };
        Ok(Setup {
            campaign,
            workload,
            workload_text,
            model_runs,
            properties,
            manifests,
            ground,
            kind,
            admin_token,
            token,
            command,
            manager,
            path_variable,
            certificates,
            isolation,
            heartbeats,
            drawn_names: OnceLock::new(),
            lease: OnceLock::new(),
            clock,
            scratch,
            workers,
            slots: Slots::new(workers),
            keep_files: false,
            keeps_graph: false,
            kept: Mutex::default(),
        })
    }
}

/// The subject's Deployment and the manifests around it, where it runs in pods.
struct InPods {
    deployment: Deployment,
    manifests: Vec<serde_json::Value>,
}

impl InPods {
    /// # Errors
    /// Missing or wrong files, no such Deployment: exit 64.
    fn read(campaign: &Campaign) -> anyhow::Result<Option<InPods>> {
        let spec = &campaign.file.spec;
        let Some(deployment) = spec.subject.deployment.as_ref().filter(|_| spec.runs_in_pods())
        else {
            return Ok(None);
        };
        let mut manifests = Vec::new();
        for path in &deployment.manifests {
            let read = manifests::load(&campaign.resolve(path));
            let read = read.map_err(|error| {
                let place =
                    format!("{}: spec.subject.deployment.manifests", campaign.path.display());
                usage(format!("{place}: {error}"))
            })?;
            manifests.extend(read.into_iter().map(|manifest| manifest.object));
        }
        let deployment = Deployment::find(campaign, deployment, &mut manifests)?;
        Ok(Some(InPods { deployment, manifests }))
    }

    fn parts(self) -> (Deployment, Vec<serde_json::Value>) {
        (self.deployment, self.manifests)
    }
}

/// The campaign's heartbeats. Errors: one that is no path, or that would hide an object as a whole.
fn heartbeats(campaign: &Campaign) -> anyhow::Result<Heartbeats> {
    let parse = |text: &String| {
        let wrong = |what: &str| {
            usage(format!("{}: spec.heartbeats: {text}: {what}", campaign.path.display()))
        };
        let field = text.parse::<Accepted>().map_err(|error| wrong(&error.to_string()))?;
        match field.path.0.is_empty() {
            true => Err(wrong(
                "name the field that beats, as in `configmaps/default/lock .data.renewed`",
            )),
            false => Ok(field),
        }
    };
    let fields: anyhow::Result<Vec<Accepted>> =
        campaign.file.spec.heartbeats.iter().map(parse).collect();
    Ok(Heartbeats::new(fields?))
}

/// Program and arguments with the program's path made absolute. Errors: what is wrong, and what to do.
fn resolve(
    campaign: &Campaign,
    path_variable: &str,
    mut command: Vec<String>,
    hint: &str,
) -> Result<Vec<String>, String> {
    let program = &command[0];
    let found = if program.contains('/') {
        Some(campaign.resolve(Path::new(program))).filter(|path| path.is_file())
    } else {
        let folders = std::env::split_paths(path_variable);
        folders.map(|folder| folder.join(program)).find(|path| path.is_file())
    };
    let found = found.ok_or_else(|| format!("there is no program {program}: {hint}"))?;
    use std::os::unix::fs::PermissionsExt;
    let mode = found.metadata().map_or(0, |metadata| metadata.permissions().mode());
    if mode & 0o111 == 0 {
        let found = found.display();
        return Err(format!("{found} can't be executed: it has no execute permission"));
    }
    command[0] = found.display().to_string();
    Ok(command)
}

/// Credentials that we mint outlive every campaign.
const TOKEN_LIFE: Duration = Duration::from_secs(20 * 365 * 24 * 3600);

const DAY_SECONDS: i64 = 24 * 3600;

/// The embedded world before the subject starts: a new cluster with the manifests applied, its environment quiet.
fn first_world(
    (manifests, places): (&[serde_json::Value], &[Place]),
    embedded: &EmbeddedSpec,
    clock: ClockMode,
    root_ca: &str,
    stages: Option<Arc<Stages>>,
) -> anyhow::Result<World> {
    // A whole second, so that the subject's clock, which runs while the world's stands still, stays within it. A
    // day ahead of this machine: a subject's clock must never lie behind the machine's, or waits with an absolute
    // deadline would be over at once.
    let ahead = if clock == ClockMode::Untouched { 0 } else { DAY_SECONDS };
    let start = Time((real_now().seconds() + ahead) * 1_000_000_000);
    let mut world = World::new(WorldOptions { start, seed: 0, suffixes: SuffixOrder::Ascending });
    embedded.set_up(&mut world, root_ca, stages);
    let server = Server::new(world, None);
    let client = workloads::Client::as_actor(server.service(), Actor::Trommel);
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    let applied = runtime.block_on(workloads::apply_manifests(&client, manifests));
    applied.map_err(|error| {
        let place = places.get(error.index).map(|place| format!("{place}: ")).unwrap_or_default();
        usage(format!("{place}the cluster refused a manifest: {error}"))
    })?;
    server.run_environment()?;
    Ok(server.world())
}

fn with_admin_token(mut world: World, token: &str) -> World {
    world.set_admin_token(token);
    world
}

/// What programs know the proxy by: new ones.
///
/// # Errors
/// They can't be made.
pub fn certificates(tls: bool) -> anyhow::Result<Certificates> {
    let authority = proxy::tls::Authority::mint(real_now())?;
    let server = match tls {
        true => {
            let pair = authority.server(real_now(), &[])?;
            Some(proxy::tls::asking_server_config(&pair, &cluster::client_authority())?)
        }
        false => None,
    };
    Ok(Certificates { authority_pem: authority.pair().certificate.clone(), server })
}
