//! What is said of clusters: on the terminal, as counterexamples, as a page, and by the real programs.

use std::path::{Path, PathBuf};

use clap::Args;

use super::{
    cluster_page,
    clusters::Checked,
    confirm::{self, Confirmed, Programs},
    files,
};
use crate::exit::Exit;

/// What becomes of the verdicts on clusters.
#[derive(Debug, Clone, Args)]
pub(super) struct Wanted {
    /// Of clusters: write each violation into this folder as a file for `trommel model confirm`.
    #[arg(long, value_name = "DIR")]
    pub counterexamples: Option<PathBuf>,
    /// Of clusters: play each violation on the real kube-controller-manager, kube-scheduler and descheduler.
    #[arg(long)]
    pub confirm: bool,
    #[command(flatten)]
    pub programs: Programs,
}

impl Wanted {
    /// Whether anything is.
    pub fn is_any(&self) -> bool {
        self.confirm || self.counterexamples.is_some()
    }
}

/// A question to clusters of one or several sizes, answered.
pub(super) struct Answer {
    /// The occasion on which it was asked, in words; empty for a scenario, whose file says it.
    pub occasion: String,
    /// The clusters that were tried, the smallest first.
    pub tried: Vec<Tried>,
    /// What came of the first of them that violates something.
    pub violated: Option<Checked>,
}

/// A cluster that was tried.
pub(super) struct Tried {
    /// Its nodes, in words.
    pub nodes: String,
    /// The worst verdict.
    pub exit: Exit,
    /// Different states that were seen.
    pub states: u64,
}

/// A violation, with what became of it.
pub(super) struct Shown<'a> {
    pub answer: &'a Answer,
    pub checked: &'a Checked,
    /// The name of its file, without its end.
    pub name: String,
    /// Its file, or why there is none.
    pub file: Result<String, String>,
    /// What the real programs say of it, if they were asked.
    pub confirmed: Option<Confirmed>,
}

impl Answer {
    /// An answer to come.
    pub fn to(occasion: String) -> Answer {
        Answer { occasion, tried: vec![], violated: None }
    }

    /// Adds the verdict on a cluster of these nodes; whether nothing was violated. The first violation is kept.
    pub fn add(&mut self, nodes: &str, checked: Checked) -> bool {
        let (exit, states) = (checked.exit(), checked.states());
        self.tried.push(Tried { nodes: nodes.to_owned(), exit, states });
        if exit == Exit::Finding {
            self.violated.get_or_insert(checked);
        }
        exit != Exit::Finding
    }

    /// The nodes of the smallest cluster that violates something.
    pub fn nodes(&self) -> &str {
        let violated = self.tried.iter().find(|tried| tried.exit == Exit::Finding);
        violated.map_or("", |tried| &tried.nodes)
    }

    /// The worst of the verdicts.
    pub fn exit(&self) -> Exit {
        self.tried.iter().map(|tried| tried.exit).min().unwrap_or(Exit::Clean)
    }

    /// On which clusters it holds, in words.
    pub fn told(&self) -> String {
        let Some(last) = self.tried.last() else {
            return "not asked: on none of the clusters all pods come to run at first".to_owned();
        };
        let is_open = self.tried.iter().any(|tried| tried.exit == Exit::Unknown);
        let held = if is_open { "held or unknown" } else { "held" };
        let violated = self.tried.iter().position(|tried| tried.exit == Exit::Finding);
        let Some(at) = violated else {
            return match self.tried.len() {
                1 => format!("{held} on {}", last.nodes),
                count => format!("{held} on all {count} clusters, up to {}", last.nodes),
            };
        };
        let others = self.tried.iter().filter(|tried| tried.exit != Exit::Finding).count();
        let others = match (others, at + 1 == self.tried.len()) {
            (0, _) => String::new(),
            (1, true) => format!("; {held} on the one tried before"),
            (count, true) => format!("; {held} on the {count} tried before"),
            (count, false) => format!("; {held} on {count} of {} clusters", self.tried.len()),
        };
        format!("violated on {}{others}", self.tried[at].nodes)
    }
}

/// Shows answers about `title` (a file or folder) by a model that is as fine as `how` says, as it is wanted; what is
/// printed, and the exit code.
///
/// # Errors
/// A file can't be written; a real program is missing.
pub(super) fn show(
    (title, how): (&Path, &str),
    answers: &[Answer],
    wanted: &Wanted,
    report: Option<&Path>,
) -> anyhow::Result<(String, Exit)> {
    let name = title.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let mut told = String::new();
    let mut violations = Vec::new();
    for answer in answers {
        if !answer.occasion.is_empty() {
            told += &format!("{}: {}\n", answer.occasion, answer.told());
        }
        let Some(checked) = &answer.violated else { continue };
        told += &checked.told();
        let shown = violation(&name, (answer, checked), wanted, report.is_some())?;
        if let (Some(folder), Ok(text)) = (&wanted.counterexamples, &shown.file) {
            let path = folder.join(format!("{}.yaml", shown.name));
            files::put(&path, text)?;
            told += &format!("counterexample: {}\n", path.display());
        }
        if let Err(why) = &shown.file {
            told += &format!("no counterexample for the real programs: {why}\n");
        }
        if let Some(confirmed) = &shown.confirmed {
            told += &format!("on the real programs: {}", confirmed.told());
        }
        violations.push(shown);
    }
    if let Some(folder) = report {
        for shown in &violations {
            if let Ok(text) = &shown.file {
                files::put(&folder.join(format!("{}.yaml", shown.name)), text)?;
            }
        }
        let path = folder.join(super::page::FILE);
        files::put(&path, &cluster_page::render(&name, how, answers, &violations)?)?;
        told += &format!("report: {}\n", path.display());
    }
    Ok((told, answers.iter().map(Answer::exit).min().unwrap_or(Exit::Clean)))
}

fn violation<'a>(
    title: &str,
    (answer, checked): (&'a Answer, &'a Checked),
    wanted: &Wanted,
    is_reported: bool,
) -> anyhow::Result<Shown<'a>> {
    let name = slug(&format!("{title} {}", answer.occasion));
    let mut shown = Shown { answer, checked, name, file: Err(String::new()), confirmed: None };
    if !(wanted.confirm || wanted.counterexamples.is_some() || is_reported) {
        shown.file = Ok(String::new());
        return Ok(shown);
    }
    let counterexample = match checked.counterexample() {
        Ok(counterexample) => counterexample,
        Err(why) => return Ok(Shown { file: Err(why), ..shown }),
    };
    let mut comment = vec![title, &*answer.occasion, answer.nodes()];
    comment.retain(|part| !part.is_empty());
    shown.file = Ok(counterexample.written(&shown.name, &comment.join(": "))?);
    if wanted.confirm {
        let path = PathBuf::from(format!("{}.yaml", shown.name));
        shown.confirmed = Some(confirm::confirmed(&path, &counterexample, &wanted.programs)?);
    }
    Ok(shown)
}

/// Words as the name of a file.
fn slug(words: &str) -> String {
    let parts = words.split(|char: char| !char.is_ascii_alphanumeric());
    let parts: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    parts.join("-").to_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_says_how_far_it_reaches() {
        let tried = |nodes: &str, exit| Tried { nodes: nodes.to_owned(), exit, states: 1 };
        let told =
            |tried: Vec<Tried>| Answer { occasion: String::new(), tried, violated: None }.told();
        let (one, two, three) = ("1 node", "2 nodes", "3 nodes");
        let held = Exit::Clean;
        assert_eq!(told(vec![tried(one, held)]), "held on 1 node");
        assert_eq!(
            told(vec![tried(one, held), tried(two, held)]),
            "held on all 2 clusters, up to 2 nodes"
        );
        let ended = vec![tried(one, held), tried(two, Exit::Unknown), tried(three, Exit::Finding)];
        assert_eq!(told(ended), "violated on 3 nodes; held or unknown on the 2 tried before");
        assert!(told(vec![]).starts_with("not asked"));
    }

    #[test]
    fn names_of_files_are_plain() {
        assert_eq!(
            slug("shop rollout restart of Deployment a/b"),
            "shop-rollout-restart-of-deployment-a-b"
        );
    }
}
