//! A disk that fills up in the middle: the run folder is on a small file system of its own, in a mount namespace
//! that ends with the run.

use std::{fs, process::Command};

use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, binary, command},
};

/// Runs the campaign on a disk of that many KiB, then copies what is there.
const SCRIPT: &str = r#"
mount -t tmpfs -o "size=$2k" tmpfs disk || exit 99
"$1" run examples/bar-foo/campaign.yaml --quiet --keep --out disk/run
code=$?
cp -r disk/run "left-$2"
exit $code
"#;

fn check(test: &str, kib: &str, references: bool) {
    if !needs(&[Need::Mounts]) {
        return;
    }
    let house = House::new(&format!("bad-input/disk-{test}"), &["examples/bar-foo"]);
    fs::create_dir(house.path("disk")).expect("a folder can be made");
    let mut command = Command::new("unshare");
    command
        .args(["--user", "--map-root-user", "--mount", "sh", "-c", SCRIPT, "sh"])
        .arg(binary())
        .arg(kib)
        .current_dir(&house.root);
    let ended = Ended::of(command);
    ended.expect(75);
    for part in ["disk/run", "No space left on device"] {
        assert!(ended.stderr.contains(part), "no {part:?} in {ended}");
    }
    let left = house.path(&format!("left-{kib}"));
    assert_eq!(left.join("baseline.json").exists(), references, "full at the wrong time: {ended}");
    assert!(!left.join("summary.json").exists(), "no summary of half a campaign");
    let mut records = 0;
    for reference in fs::read_dir(left.join("references")).expect("references").flatten() {
        let Ok(file) = fs::read(reference.path().join("history.jsonl.zst")) else { continue };
        match trace::file::read(&file[..]) {
            Ok(stored) => records += stored.history.records.len(),
            Err(error) => assert!(file.is_empty(), "{}: {error}", reference.path().display()),
        }
    }
    assert!(records > 0, "what was recorded before can be read");
}

#[test]
fn full_during_the_references() {
    check("references", "64", false);
}

/// In between it may be full at the last moment only: what was found before does not count, because a controller whose
/// disk is full may do anything.
#[test]
fn full_at_any_time() {
    if !needs(&[Need::Mounts]) {
        return;
    }
    let house = House::new("bad-input/disk-any", &["examples/bar-foo"]);
    fs::create_dir(house.path("disk")).expect("a folder can be made");
    let mut full = 0;
    for kib in (140..400).step_by(20) {
        let mut command = Command::new("unshare");
        let script = SCRIPT.replace(" --keep", "");
        command
            .args(["--user", "--map-root-user", "--mount", "sh", "-c", &script, "sh"])
            .arg(binary())
            .arg(kib.to_string())
            .current_dir(&house.root);
        let ended = Ended::of(command);
        assert!(!ended.stdout.contains("No finding"), "{kib} KiB: {ended}");
        if ended.code != Some(100) {
            ended.expect(75);
            full += 1;
            assert!(ended.stderr.contains("No space left on device"), "{kib} KiB: {ended}");
        }
    }
    assert!(full > 2, "it was never full: this shows nothing");
}

#[test]
fn full_during_the_trials() {
    check("trials", "240", true);
}

/// What was to be printed is lost.
#[test]
fn a_result_that_can_not_be_printed_is_told() {
    let house = House::new("bad-input/stdout", &[]);
    let mut doctor = command(&house.root, ["doctor"]);
    doctor.stdout(std::fs::File::options().write(true).open("/dev/full").expect("a full device"));
    let ended = doctor.stderr(std::process::Stdio::piped()).spawn().expect("it starts");
    let ended = ended.wait_with_output().expect("it ends");
    let said = String::from_utf8_lossy(&ended.stderr).into_owned();
    assert!(said.contains("stdout can't be written"), "{said}");
    assert_eq!(ended.status.code(), Some(75), "{said}");
}
