//! What a person types at kubectl, on the embedded server and on the real one: the same output.
//!
//! Outputs are compared without what no two servers share: uids, revisions, times, ages, addresses, and the
//! names of temporary files.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    process::Command,
    thread,
};

use regex::Regex;
use trommel_tests::{Need, needs, product::Ended, real::Cluster, root};

use trommel_tests::served::Served;

/// Steps whose outputs differ, and why that is accepted.
const ACCEPTED: [(&str, &str); 1] = [(
    r#"kubectl patch deployment web -p '{"spec":{"selector":{"matchLabels":{"app":"other"}}}}'"#,
    "two errors, the other way round: a reader of the message sees both",
)];

/// The steps of `kubectl.script`.
fn steps() -> Vec<String> {
    let text =
        std::fs::read_to_string(root().join("tests/serve/kubectl.script")).expect("it is there");
    let mut steps: Vec<String> = Vec::new();
    for line in text.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        match (line.strip_prefix("$ "), steps.last_mut()) {
            (Some(first), _) => steps.push(first.to_owned()),
            (None, Some(step)) => *step = format!("{step}\n{line}"),
            (None, None) => panic!("{line:?}: the first line of a step begins with \"$ \""),
        }
    }
    steps
}

/// Carries the script out; what each step said.
fn play(folder: &Path, kubeconfig: &Path, steps: &[String]) -> Vec<String> {
    std::fs::create_dir_all(folder).expect("a folder");
    let files =
        std::fs::read_to_string(root().join("tests/serve/manifests.yaml")).expect("it is there");
    let files: BTreeMap<String, String> = serde_saphyr::from_str(&files).expect("a map of texts");
    for (name, text) in files {
        std::fs::write(folder.join(name), text).expect("a file");
    }
    let own = folder.join("kubeconfig.yaml");
    std::fs::copy(kubeconfig, &own).expect("a copy: the script chooses a namespace in it");
    steps.iter().map(|step| said(folder, &own, step)).collect()
}

fn said(folder: &Path, kubeconfig: &Path, step: &str) -> String {
    let mut shell = Command::new("sh");
    shell.args(["-c", step]).current_dir(folder).env("KUBECONFIG", kubeconfig);
    // kubectl's own cache of discovery is by host and port, which both servers get by chance.
    shell
        .env("KUBECACHEDIR", folder.join("cache"))
        .env_remove("KUBE_EDITOR")
        .stdin(std::process::Stdio::null());
    let ended = Ended::of(shell);
    plain(&format!("exit {:?}\n{}{}", ended.code, ended.stdout, ended.stderr))
}

/// Without what no two servers share.
fn plain(text: &str) -> String {
    const HIDDEN: [(&str, &str); 11] = [
        (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "UID"),
        (r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?( ?[+-]\d{4}|Z)?", "TIME"),
        (r"[A-Z][a-z]{2}, \d\d [A-Z][a-z]{2} \d{4} \d\d:\d\d:\d\d [+-]\d{4}", "TIME"),
        (r"https?://[^ ]*127\.0\.0\.1:\d+", "SERVER"),
        (r"127\.0\.0\.1:\d+", "SERVER"),
        (r#"(?i)(resource ?version"?: *)"?\d+"?"#, "${1}REVISION"),
        (r"(LIVE|MERGED)-\d+", "$1"),
        (r"/[A-Za-z0-9./_-]*/(LIVE|MERGED)", "$1"),
        (r"\b10\.\d+\.\d+\.\d+\b", "ADDRESS"),
        (r"(?m)[ \t]+(<unknown>|\d+s|\d+m\d*s?)( |$)[ \t]*", " AGE$2"),
        (r"(?m)[ \t]+$", ""),
    ];
    HIDDEN.iter().fold(text.to_owned(), |text, (pattern, shown)| {
        Regex::new(pattern).expect("a pattern").replace_all(&text, *shown).into_owned()
    })
}

#[test]
fn kubectl_says_the_same_as_on_the_real_server() {
    if !needs(&[Need::Go, Need::Judge, Need::Kubectl]) {
        return;
    }
    let home = root().join("target/tests/kubectl");
    drop(std::fs::remove_dir_all(&home));
    let folder = |name: &str| -> PathBuf { home.join(name) };
    let real = Cluster::start(
        &folder("judge"),
        &["--controllers=garbage-collector-controller,namespace-controller"],
    );
    std::fs::create_dir_all(&home).expect("a folder");
    let served = Served::start(&home, &["--environment", "minimal", "--authorization", "rbac"]);
    let steps = steps();
    let (on_real, on_ours) = thread::scope(|scope| {
        let on_real = scope.spawn(|| play(&folder("real"), &real.kubeconfig, &steps));
        let on_ours = play(&folder("embedded"), &served.kubeconfig, &steps);
        (on_real.join().expect("the script is carried out"), on_ours)
    });
    let mut wrong = Vec::new();
    for ((step, real), ours) in steps.iter().zip(&on_real).zip(&on_ours) {
        let accepted = ACCEPTED.iter().any(|(accepted, _)| accepted == step);
        if (real == ours) == accepted {
            wrong.push(match accepted {
                true => format!("$ {step}\nis the same now: take it off the list"),
                false => format!("$ {step}\n-- real --\n{real}\n-- embedded --\n{ours}"),
            });
        }
    }
    std::fs::write(folder("differences.txt"), wrong.join("\n\n")).expect("a file");
    let shown = wrong.iter().take(5).cloned().collect::<Vec<_>>().join("\n\n");
    assert!(wrong.is_empty(), "{} of {} steps differ\n{shown}", wrong.len(), steps.len());
    served.end(rustix::process::Signal::TERM);
}
