//! Plain steps by which a person can see a finding with kubectl, a cluster and two terminals.

mod lagging;
mod runs;

pub use self::{
    lagging::{Behind, Unseen},
    runs::{Deployed, Runs},
};
use super::model::{ObjectChange, ObjectDiff};

/// What the steps are made from. Texts are shown as they are.
#[derive(Debug, Clone, Default)]
pub struct ByHand<'a> {
    /// Files and folders to apply first, as `kubectl apply -f` takes them.
    pub manifests: &'a [String],
    /// How the controller is run.
    pub runs: Runs,
    /// How many replicas of it run.
    pub replicas: u32,
    /// The only one of them that is killed, from 0; none: all are.
    pub killed: Option<u32>,
    /// The user's steps before the crash, each as a person would name it.
    pub before: &'a [String],
    /// When to kill it: `right after its create of foos.example.com/default foo-… (revision 12)`.
    pub moment: &'a str,
    /// The resource whose change announces that moment, for `kubectl get --watch`.
    pub watched: Option<&'a str>,
    /// That moment is a long one: all has settled.
    pub at_rest: bool,
    /// When to start it again: `at once`, `when all is quiet`, `after the user's next step`.
    pub restart: &'a str,
    /// The caches that it meets then, if they are behind.
    pub behind: Option<Behind<'a>>,
    /// What it is kept from seeing; then it is not killed.
    pub unseen: Option<Unseen<'a>>,
    /// The user's steps that are left.
    pub after: &'a [String],
    /// The step after these that fails, with why: nothing comes after it.
    pub fails: Option<(&'a str, &'a str)>,
    /// What it writes after that and should not, each as a sentence says it: `updates configmaps/default/a (.data.x)`.
    pub writes: &'a [String],
    /// What to look at in the end.
    pub diff: &'a [ObjectDiff],
}

/// The steps, in Markdown.
pub fn steps(facts: &ByHand<'_>) -> Vec<String> {
    let mut steps = facts.runs.cluster();
    if !facts.manifests.is_empty() {
        let apply = runs::apply(facts.manifests);
        steps.push(format!("Apply what the controller needs: `{apply}`"));
    }
    if let Some(resource) = facts.watched {
        let watch = format!("`kubectl get {resource} --all-namespaces --watch`");
        steps.push(format!("In a second terminal, watch for the moment: {watch}"));
    }
    let every = match facts.replicas {
        0 | 1 => "the controller".to_owned(),
        replicas => format!("{replicas} replicas of the controller, one after another"),
    };
    let (killed, which) = match (facts.replicas, facts.killed) {
        (0 | 1, _) => ("the controller".to_owned(), ""),
        (replicas, None) => (format!("all {replicas} replicas of the controller"), ""),
        (_, Some(replica)) => {
            (format!("replica {replica}"), " (counted from 0 in the order of starts)")
        }
    };
    steps.push(facts.runs.start(&every));
    steps.extend(facts.before.iter().map(|step| by_user(step)));
    match (facts.unseen, facts.behind) {
        (Some(unseen), _) => steps.extend(lagging::kept_from_seeing(facts, unseen)),
        (None, behind) => {
            steps.push(kill(facts, &format!("{killed}{which}")));
            steps.extend(restart(facts, behind, &killed));
        }
    }
    steps.extend(facts.after.iter().map(|step| by_user(step)));
    match facts.fails {
        Some((step, why)) => {
            steps.push(format!("{} Look: it fails here: {why}", sentence(&by_user(step))));
        }
        None => {
            let writes =
                |write: &String| format!("Look: it must write nothing now, but it {write}.");
            steps.extend(facts.writes.iter().map(writes));
            steps.extend(facts.diff.iter().map(look));
        }
    }
    if facts.unseen.is_some() || facts.behind.is_some() {
        steps.push(lagging::surer());
    }
    steps
}

fn restart(facts: &ByHand<'_>, behind: Option<Behind<'_>>, killed: &str) -> Vec<String> {
    match behind {
        Some(behind) => lagging::restart_behind(facts, behind, killed),
        None => vec![facts.runs.start_again(killed, facts.restart)],
    }
}

fn kill(facts: &ByHand<'_>, killed: &str) -> String {
    let kill = facts.runs.signal("9");
    match facts.at_rest {
        true => format!("Wait until nothing happens any more, then kill {killed} with {kill}."),
        false => format!(
            "Kill {killed} with {kill} {}. The moment is short: a breakpoint there, or `kill -STOP` \
             first, makes it certain.",
            facts.moment
        ),
    }
}

/// A person can't measure quiet, but can wait.
fn by_user(step: &str) -> String {
    match step.trim_end().ends_with(": settle") {
        true => "Wait until nothing happens any more.".to_owned(),
        false => format!("As the user: {step}"),
    }
}

/// With a full stop.
fn sentence(text: &str) -> String {
    format!("{}.", text.trim_end_matches('.'))
}

fn look(diff: &ObjectDiff) -> String {
    let command = get(&diff.object);
    match diff.change {
        ObjectChange::Extra => format!("Look: `{command}` shows an object that should not exist."),
        ObjectChange::Missing => format!("Look: `{command}` finds nothing, but it should exist."),
        ObjectChange::Changed => format!("Look: `{command}` differs from an undisturbed run."),
    }
}

/// `foos.example.com/default/foo-1` as a kubectl command. The last part may be no real name (a canonical
/// one, for generated names): then all objects of the kind are listed.
fn get(object: &str) -> String {
    let parts: Vec<&str> = object.split('/').collect();
    let real = |name: &str| {
        !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || "-.:".contains(c))
    };
    match parts[..] {
        [resource, name] if real(name) => format!("kubectl get {resource} {name} -o yaml"),
        [resource, namespace, name] if real(namespace) && real(name) => {
            format!("kubectl get {resource} --namespace {namespace} {name} -o yaml")
        }
        [resource, namespace, _] if real(namespace) => {
            format!("kubectl get {resource} --namespace {namespace} -o yaml")
        }
        [resource, ..] => format!("kubectl get {resource} --all-namespaces -o yaml"),
        [] => "kubectl get".to_owned(),
    }
}

/// A word for a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-:@%+=,".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use plans::StaleRead;

    use super::*;

    #[test]
    fn the_whole_story() {
        let diff = [ObjectDiff {
            object: "foos.example.com/default/«foo-2»".to_owned(),
            change: ObjectChange::Extra,
            lines: Vec::new(),
        }];
        let steps = steps(&ByHand {
            manifests: &["crds/".to_owned(), "my rbac.yaml".to_owned()],
            runs: Runs::Process("./bar-foo".to_owned()),
            replicas: 1,
            killed: None,
            before: &["`kubectl apply -f bar.yaml`".to_owned()],
            moment: "right after its create of foos.example.com",
            watched: Some("foos.example.com"),
            restart: "at once",
            after: &["step 1: settle".to_owned()],
            diff: &diff,
            ..ByHand::default()
        });
        insta::assert_snapshot!(steps.join("\n"), @r"
        Take a cluster that you may break, for example `kind create cluster`. Work in the folder of the campaign file.
        Apply what the controller needs: `kubectl apply -f crds/ -f 'my rbac.yaml'`
        In a second terminal, watch for the moment: `kubectl get foos.example.com --all-namespaces --watch`
        Start the controller: `./bar-foo`
        As the user: `kubectl apply -f bar.yaml`
        Kill the controller with `kill -9` right after its create of foos.example.com. The moment is short: a breakpoint there, or `kill -STOP` first, makes it certain.
        Start the controller again at once: `./bar-foo`
        Wait until nothing happens any more.
        Look: `kubectl get foos.example.com --namespace default -o yaml` shows an object that should not exist.
        ");
    }

    #[test]
    fn it_stops_at_the_step_that_fails() {
        let diff = [ObjectDiff {
            object: "foos.example.com/default/a".to_owned(),
            change: ObjectChange::Missing,
            lines: Vec::new(),
        }];
        let steps = steps(&ByHand {
            runs: Runs::Process("./bar-foo".to_owned()),
            moment: "after its first create of foos",
            restart: "at once",
            after: &["step 1: settle".to_owned()],
            fails: Some(("step 2: assert foos/default/a", "there is none")),
            diff: &diff,
            ..ByHand::default()
        });
        insta::assert_snapshot!(steps[4..].join("\n"), @r"
        Wait until nothing happens any more.
        As the user: step 2: assert foos/default/a. Look: it fails here: there is none
        ");
    }

    #[test]
    fn a_restart_when_all_had_settled() {
        let steps = steps(&ByHand {
            runs: Runs::Process("./bar-foo".to_owned()),
            moment: "when all had settled at the end",
            at_rest: true,
            restart: "at once",
            writes: &["updates configmaps/default/a (.data.x)".to_owned()],
            ..ByHand::default()
        });
        insta::assert_snapshot!(steps[2..].join("\n"), @r"
        Wait until nothing happens any more, then kill the controller with `kill -9`.
        Start the controller again at once: `./bar-foo`
        Look: it must write nothing now, but it updates configmaps/default/a (.data.x).
        ");
    }

    #[test]
    fn a_restart_behind() {
        let check = |read: StaleRead, parts: &[&str]| {
            let caches = "the cache of foos as of the first update of foos/a";
            let behind = Behind { caches, until: "", read, servers: "Kubernetes 1.34" };
            let steps = steps(&ByHand {
                runs: Runs::Process("./bar-foo".to_owned()),
                moment: "after the first create of bars",
                restart: "at once",
                behind: Some(behind),
                ..ByHand::default()
            });
            let told = steps[2..].join("\n");
            let always = [
                "Kill the controller with `kill -9` after the first create of bars.",
                "legal on: Kubernetes 1.34.",
                "has the cache of foos as of the first update of foos/a",
                "trommel replay",
            ];
            for part in always.iter().chain(parts) {
                assert!(told.contains(part), "no {part:?} in {told}");
            }
            let refused = matches!(read, StaleRead::AfterRefusal | StaleRead::AfterUnavailable);
            assert_eq!(told.contains("sendInitialEvents"), refused, "{told}");
        };
        let second = "a kubeconfig that names the second API server: `./bar-foo`";
        for read in [StaleRead::Listed, StaleRead::Watched, StaleRead::Streamed] {
            check(read, &[second]);
        }
        check(StaleRead::AfterRefusal, &[second, "WatchList=false", "422"]);
        let balancer = "a kubeconfig that names the load balancer: `./bar-foo`";
        check(StaleRead::AfterUnavailable, &[balancer, "503", "without `Retry-After`"]);
    }

    #[test]
    fn a_state_that_is_not_seen() {
        let between = ["step 2: patch a".to_owned(), "step 2: patch a again".to_owned()];
        let unseen = Unseen {
            from: "the first update of a",
            until: "the 2nd",
            between: &between,
            relist: true,
        };
        let facts = ByHand {
            runs: Runs::Process("./bar-foo".to_owned()),
            unseen: Some(unseen),
            ..ByHand::default()
        };
        let told = steps(&facts)[2..].join("\n");
        assert!(!told.contains("kill -9"), "{told}");
        for part in [
            "Before the first update of a happens",
            "kill -STOP",
            "patch a again",
            "410",
            "kill -CONT",
        ] {
            assert!(told.contains(part), "no {part:?} in {told}");
        }
    }

    #[test]
    fn objects_as_commands() {
        let check = |object, expect| assert_eq!(get(object), expect);
        check("namespaces/a", "kubectl get namespaces a -o yaml");
        check("pods/a/b", "kubectl get pods --namespace a b -o yaml");
        check("foos/default/$1", "kubectl get foos --namespace default -o yaml");
        check("nodes/$1", "kubectl get nodes --all-namespaces -o yaml");
    }
}
