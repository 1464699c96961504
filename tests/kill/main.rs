//! `kill -9` of Trommel: what it wrote can be read, nothing of it goes on running, and the next run works.
//!
//! Moments are chosen by what has happened, not by time: when the campaign's history files together have grown
//! to a share of what a whole campaign writes. Three moments; `TROMMEL_KILLS` sets another number
//! (`cargo ci sweep` takes 20).

mod histories;

use std::{
    fs,
    os::unix::process::ExitStatusExt,
    path::Path,
    process::{Child, Stdio},
};

use serde_json::Value;
use trommel_tests::{
    house::House,
    kills,
    processes::{naming, outlived},
    product::{command, json, json_lines, run},
};

const FOLDER: &str = "examples/bar-foo";
const CAMPAIGN: &str = "examples/bar-foo/campaign.yaml";

fn arguments(out: &str) -> [&str; 6] {
    ["run", CAMPAIGN, "--quiet", "--keep", "--out", out]
}

#[test]
fn whenever_it_is_killed_nothing_is_lost_or_left() {
    let house = House::new("kill", &[FOLDER]);
    run(&house.root, arguments("whole")).expect(100);
    let findings = findings(&house.path("whole"));
    let whole = bytes(&house.path("whole"));
    let moments = kills();
    let (mut alive, mut lines) = (0, 0);
    for moment in 1..=moments {
        // Not up to the very end: sizes vary a little from run to run.
        let share = whole * moment / (moments + 2);
        let out = format!("killed-{moment}");
        let folder = house.path(&out);
        let mut trommel = start(&house, &out);
        while bytes(&folder) < share {
            let ended = trommel.try_wait().expect("a child can be asked");
            assert_eq!(ended, None, "{out}: it ended before its histories held {share} bytes");
            std::thread::yield_now();
        }
        let before = histories::sizes(&folder);
        // Each process of a trial knows its kubeconfig, which is in the run folder.
        let subjects = naming(&format!("KUBECONFIG={}/", folder.display()));
        alive += subjects.len();
        trommel.kill().expect("a child can be killed");
        let status = trommel.wait().expect("a child can be waited for");
        assert_eq!(status.signal(), Some(9), "{out}: killed, not ended: {status}");

        assert_eq!(outlived(subjects), [], "{out}: subjects that outlived Trommel");
        let left = naming(&folder.display().to_string());
        assert_eq!(outlived(left), [], "{out}: processes that outlived Trommel");
        histories::nothing_is_lost(&folder, &before);
        assert!(!folder.join("summary.json").exists(), "{out}: no summary of half a campaign");
        if folder.join("plans.jsonl").exists() {
            lines += json_lines(&folder.join("plans.jsonl")).len();
        }

        // Into the same folder: what lies there must not be in the way.
        run(&house.root, arguments(&out)).expect(100);
        assert_eq!(self::findings(&folder), findings, "{out}");
    }
    assert!(lines > 0, "trials were over, and plans.jsonl had none of them");
    assert!(alive > 0, "no subject ran at any of the moments: this shows nothing");
}

/// Forgets what was asked of the kernel for the case of our end, as a change of its user would make it (`setpriv`,
/// `su`, setuid programs); then works for ever.
const FORGETFUL: &str = "
import ctypes
ctypes.CDLL(None).prctl(1, 0)  # PR_SET_PDEATHSIG
print('forgotten', flush=True)
while True: pass
";

#[test]
fn a_subject_that_wants_to_outlive_it_does_not() {
    let house = House::new("kill-forgetful", &[FOLDER]);
    let arguments = ["play", CAMPAIGN, "--out", "killed", "--command", "python3", "-c", FORGETFUL];
    let mut command = command(&house.root, arguments);
    let mut trommel =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("trommel starts");
    let folder = house.path("killed");
    while !logged(&folder, "forgotten") {
        assert_eq!(trommel.try_wait().expect("a child can be asked"), None, "it ended by itself");
        std::thread::yield_now();
    }
    let subjects = naming(&format!("KUBECONFIG={}/", folder.display()));
    assert_ne!(subjects, [], "no subject runs: this shows nothing");
    trommel.kill().expect("a child can be killed");
    trommel.wait().expect("a child can be waited for");
    assert_eq!(outlived(subjects), [], "subjects that outlived Trommel");
}

/// Whether a subject has written this line.
fn logged(run: &Path, line: &str) -> bool {
    let references = fs::read_dir(run.join("references")).into_iter().flatten().flatten();
    references
        .filter_map(|run| fs::read_to_string(run.path().join("subject-0.log")).ok())
        .any(|log| log.lines().any(|found| found.contains(line)))
}

/// How much its histories hold together.
fn bytes(run: &Path) -> u64 {
    histories::sizes(run).values().sum()
}

fn start(house: &House, out: &str) -> Child {
    let mut command = command(&house.root, arguments(out));
    command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("trommel starts")
}

/// What a campaign found, without what varies: its id, its title, how often it was confirmed.
fn findings(run: &Path) -> Vec<Value> {
    let summary = json(&run.join("summary.json"));
    let findings = summary["findings"].as_array().expect("a summary has findings").iter();
    let keys = ["id", "title", "family", "oracle", "confirmed"];
    findings.map(|finding| keys.iter().map(|key| finding[*key].clone()).collect()).collect()
}
