//! In a container with Docker's default profile, and in one that forbids `ptrace` besides: everything runs, with less
//! around it, and says so. `doctor` says the same.

use std::process::Command;

use trommel_tests::{
    house::House,
    product::{Ended, binary},
};

use crate::campaigns;

const DOCKER: &str = "unshare,setns,mount,umount2";

fn confined(house: &House, calls: &str, arguments: &[&str]) -> Ended {
    let mut command = Command::new("python3");
    command.arg(house.path("confined.py")).arg(calls).arg(binary()).args(arguments);
    command.current_dir(&house.root);
    Ended::of(command)
}

fn check(test: &str, calls: &str, says: &[&str]) {
    if cfg!(not(target_arch = "x86_64")) {
        return; // the filter knows system calls by their numbers
    }
    let house = crate::house(test);
    house.write("confined.py", include_str!("confined.py"));
    house.write("campaign.yaml", campaigns::SOUND);
    let ended = confined(&house, calls, &["run", "campaign.yaml", "--quiet", "--out", "out"]);
    for part in says {
        assert!(ended.expect(4).stderr.contains(part), "no {part:?} in {ended}");
    }
    let doctor = confined(&house, calls, &["doctor"]);
    for part in ["no  namespaces", "ok  thread accounting", "Trommel runs without them"] {
        assert!(doctor.expect(0).stdout.contains(part), "no {part:?} in {doctor}");
    }
}

#[test]
fn without_namespaces() {
    check("confined", DOCKER, &["isolation is off"]);
}

#[test]
fn without_namespaces_and_ptrace() {
    let calls = format!("{DOCKER},ptrace");
    check("confined-untraced", &calls, &["isolation is off", "time is real"]);
}
