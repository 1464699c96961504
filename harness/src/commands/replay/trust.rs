//! Whether what a replay file runs is known here. The file of a stranger is a program of a stranger: it names a build, a
//! controller and what the workload runs. Where a campaign beside it names the same, running the one is no more than
//! running the other. Where not, the user is shown what would run, and asked.

use std::{
    collections::BTreeMap,
    io::{BufRead, IsTerminal, Write},
};

use plans::Replay;
use serde_json::json;
use workloads::Workload;

use crate::{
    cli::ReplayArgs,
    config::{Campaign, ClusterSpec},
    exit::{Exit, Expected},
    report::plain,
};

/// What a campaign runs besides its workload.
#[derive(PartialEq)]
struct Programs<'a> {
    build: Option<&'a str>,
    command: &'a [String],
    /// As JSON: the images and manifests that run in pods.
    deployment: Option<String>,
    env: &'a BTreeMap<String, String>,
    manager: Option<Vec<String>>,
}

impl Programs<'_> {
    fn of(campaign: &Campaign) -> Programs<'_> {
        let subject = &campaign.file.spec.subject;
        Programs {
            build: subject.build.as_deref(),
            command: &subject.command,
            deployment: subject.deployment.as_ref().map(|deployment| json!(deployment).to_string()),
            env: &subject.env,
            manager: match &campaign.file.spec.cluster {
                ClusterSpec::Embedded(embedded) => embedded.controller_manager(),
                ClusterSpec::Kubeconfig(_) | ClusterSpec::Kind(_) => None,
            },
        }
    }

    fn lines(&self, args: &ReplayArgs) -> Vec<String> {
        let mut lines = Vec::new();
        // What the command line names is the user's own.
        if args.command.is_empty() {
            lines.extend(self.build.map(|build| format!("build:      {build}")));
            lines.push(format!("controller: {}", self.command.join(" ")));
            lines.extend(self.deployment.iter().map(|pods| format!("deployment: {pods}")));
        }
        // Those of the file can make any program run another one (`LD_PRELOAD`).
        lines.extend(self.env.iter().map(|(name, value)| format!("variable:   {name}={value}")));
        lines.extend(
            self.manager.iter().map(|manager| format!("manager:    {}", manager.join(" "))),
        );
        lines
    }
}

/// Makes sure that the user wants what the file runs. `campaign` is what is going to be run, `known` are the campaigns
/// beside the file.
///
/// # Errors
/// It is not wanted, or nobody can be asked: exit 64, with what would run.
pub fn check(
    args: &ReplayArgs,
    replay: &Replay,
    campaign: &Campaign,
    known: &[Campaign],
    workload: &Workload,
) -> anyhow::Result<()> {
    if args.yes {
        return Ok(());
    }
    let mut lines = Vec::new();
    let own = Programs::of(campaign);
    // A campaign that was named is the user's own.
    if args.campaign.is_none()
        && !known.iter().any(|known| covers(&Programs::of(known), &own, args))
    {
        if args.command.is_empty() {
            lines.push(format!("in folder:  {}", campaign.folder.display()));
        }
        lines.extend(own.lines(args));
    }
    let same = |known: &Campaign| known.workload().is_ok_and(|it| it.hash() == workload.hash());
    if !known.iter().any(same) {
        let env = replay.workload_env.iter().map(|(name, value)| format!("{name}={value}"));
        let programs = workload.programs();
        // Variables matter to those who run something.
        let env = env.filter(|_| !programs.is_empty());
        lines.extend(env.chain(programs.iter().cloned()).map(|run| format!("workload:   {run}")));
    }
    if lines.is_empty() {
        return Ok(());
    }
    ask(args, replay, &lines)
}

/// Whether a known campaign runs all that this one does.
fn covers(known: &Programs<'_>, own: &Programs<'_>, args: &ReplayArgs) -> bool {
    match args.command.is_empty() {
        true => known == own,
        false => {
            (own.env.is_empty() || known.env == own.env)
                && (own.manager.is_none() || known.manager == own.manager)
        }
    }
}

fn ask(args: &ReplayArgs, replay: &Replay, lines: &[String]) -> anyhow::Result<()> {
    let file = args.file.display();
    let shown: String =
        lines.iter().map(|line| format!("  {}\n", line.replace('\n', "\n    "))).collect();
    let text = format!(
        "{file} runs programs that no campaign {} beside it runs:\n{shown}",
        replay.campaign
    );
    let text = plain::text(&text);
    let in_ci =
        std::env::var("CI").is_ok_and(|value| !matches!(value.as_str(), "" | "0" | "false"));
    if in_ci || !std::io::stdin().is_terminal() {
        let message = format!("{text}check them; to allow them: --yes");
        return Err(Expected::error(Exit::Usage, message));
    }
    eprint!("{text}Run them? [y/N] ");
    std::io::stderr().flush()?;
    let mut answer = String::new();
    std::io::stdin().lock().read_line(&mut answer)?;
    match answer.trim() {
        "y" | "Y" | "yes" => Ok(()),
        _ => Err(Expected::error(Exit::Usage, "nothing was run")),
    }
}
