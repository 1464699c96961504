//! What happens to a campaign from outside: somebody else in its folder, signals, the end of its time, a controller that
//! says too much.

use std::{
    fs,
    process::{Child, Stdio},
};

use rustix::process::{Pid, Signal, kill_process};
use trommel_tests::{
    house::House,
    product::{Ended, command, run},
};

use crate::{campaigns, controllers};

fn house(test: &str, from: &str, to: &str) -> House {
    let house = crate::house(test);
    assert!(campaigns::SOUND.contains(from), "nothing is replaced");
    house.write("campaign.yaml", &campaigns::SOUND.replace(from, to));
    house
}

const RUN: [&str; 5] = ["run", "campaign.yaml", "--quiet", "--out", "out"];

fn start(house: &House) -> Child {
    let mut command = command(&house.root, RUN);
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("trommel starts")
}

fn ended(child: Child) -> Ended {
    child.wait_with_output().expect("a child can be waited for").into()
}

fn wait_for(house: &House, path: &str, child: &mut Child) {
    while !house.path(path).exists() {
        let over = child.try_wait().expect("a child can be asked");
        assert_eq!(over, None, "it ended before there was {path}");
        std::thread::yield_now();
    }
}

#[test]
fn two_runs_do_not_write_into_one_folder() {
    let build =
        "transport: http\n    build: 'touch building; until test -e go; do sleep 0.05; done'";
    let house = house("lock", "transport: http", build);
    let mut first = start(&house);
    wait_for(&house, "building", &mut first);
    let second = run(&house.root, RUN);
    house.write("go", "");
    let by = format!("another run (process {}) writes into", first.id());
    let first = ended(first);
    for part in [&*by, "out", "--out"] {
        assert!(second.expect(64).stderr.contains(part), "no {part:?} in {second}");
    }
    first.expect(4);
    assert!(run(&house.root, RUN).expect(64).stderr.contains("holds another run"));
}

#[test]
fn one_signal_in_the_rehearsal_ends_it() {
    let house = house("signal", "name: sound", "name: sound");
    let mut trommel = start(&house);
    wait_for(&house, "out/references/rehearsal/subject-0.log", &mut trommel);
    let process = Pid::from_child(&trommel);
    // Two at once, as `timeout` and shells send them: to the process, and to its group. Two of a kind may be one for the
    // kernel.
    for signal in [Signal::TERM, Signal::INT] {
        kill_process(process, signal).expect("a child can be signalled");
    }
    let ended = ended(trommel);
    assert!(ended.expect(5).stderr.contains("interrupted during the rehearsal"), "{ended}");
    assert!(!house.path("out/references/0").exists(), "another reference began: {ended}");
}

#[test]
fn the_budget_bounds_the_rehearsal() {
    let budget = "  budget: {time: 3s}\n  workload:";
    let house = house("budget", "  workload:", budget);
    house.write("idle.sh", &format!("{}version; while :; do :; done\n", controllers::CONNECT));
    let ended = run(&house.root, RUN);
    for part in ["the time budget was used up during the rehearsal", "spec.budget.time"] {
        assert!(ended.expect(5).stderr.contains(part), "no {part:?} in {ended}");
    }
}

/// A line of 60 MB, a million lines, and one that would clear the screen.
const LOUD: &str = "version; printf 'a\\033[2Jb\\n'; head -c 60000000 /dev/zero | tr '\\0' x; echo
seq 1000000; echo the end; exec sleep infinity\n";

#[test]
fn what_a_controller_says_is_bounded() {
    let house = house("loud", "name: sound", "name: sound");
    house.write("idle.sh", &format!("{}{LOUD}", controllers::CONNECT));
    let ended = run(&house.root, ["play", "campaign.yaml", "--out", "out"]);
    ended.expect(0);
    let log = fs::read(house.path("out/references/0/subject-0.log")).expect("a log");
    assert!(log.len() < 6 << 20, "{} bytes", log.len());
    assert!(log.starts_with(b"a\x1b[2Jb\n"), "its beginning is kept");
    assert!(log.ends_with(b"\nthe end\n"), "its end is kept");
    assert!(String::from_utf8_lossy(&log).contains("bytes were cut here"), "what is cut is said");
    let shown = run(&house.root, ["show", "out/references/0/history.jsonl.zst"]);
    let lines = &shown.expect(0).stdout;
    assert!(lines.contains("a␛[2Jb") && !lines.contains('\u{1b}'), "escape sequences in {shown}");
    assert!(lines.len() < 8 << 20, "{} bytes", lines.len());
    assert!(lines.contains("more bytes]"), "a line that was cut says so");
}

#[test]
fn messages_do_not_steer_the_terminal() {
    let house = house("steers", "[bash, idle.sh]", "[\"\\e[2Jno-program\"]");
    let ended = run(&house.root, RUN);
    assert!(ended.expect(64).stderr.contains("␛[2J"), "{ended}");
    assert!(!ended.stderr.contains('\u{1b}'), "{ended}");
}
