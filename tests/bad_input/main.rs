//! What can be wrong with a campaign, with the controller, and with the machine: each ends with the exit code
//! that docs/exit-codes.md gives it, and with a message that says where to look and what to do.

mod campaigns;
mod confined;
mod controllers;
mod descriptors;
mod disk;
mod unlucky;

use trommel_tests::{house::House, product::run};

/// A campaign file with a part replaced.
struct Case {
    name: &'static str,
    /// What is replaced in [`campaigns::SOUND`] …
    from: &'static str,
    /// … by what.
    to: &'static str,
    exit: i32,
    /// What the message must contain.
    says: &'static [&'static str],
}

/// A folder in which [`campaigns::SOUND`] works.
fn house(test: &str) -> House {
    let house = House::new(&format!("bad-input/{test}"), &["examples/bar-foo"]);
    house.write("workload.yaml", campaigns::WORKLOAD);
    house.write("crd.yaml", campaigns::WRONG_CRD);
    house.write("account.yaml", campaigns::ACCOUNT);
    house.write("asserting.yaml", campaigns::ASSERTING);
    house.write("misspelt.yaml", &campaigns::WORKLOAD.replace("settle: {}", "setle: {}"));
    for (name, script) in controllers::SCRIPTS {
        house.write(name, &format!("{}{script}", controllers::CONNECT));
    }
    house
}

fn check(test: &str, cases: &[Case]) {
    let house = house(test);
    for case in cases {
        assert!(campaigns::SOUND.contains(case.from), "{}: nothing is replaced", case.name);
        let file = format!("{}.yaml", case.name);
        house.write(&file, &campaigns::SOUND.replace(case.from, case.to));
        let out = format!("out/{}", case.name);
        let ended = run(&house.root, ["run", &file, "--quiet", "--out", &out]);
        assert_eq!(ended.code, Some(case.exit), "{}: {ended}", case.name);
        for part in case.says {
            assert!(ended.stderr.contains(part), "{}: no {part:?} in {ended}", case.name);
        }
    }
}

#[test]
fn the_sound_campaign_runs_and_proves_nothing() {
    check(
        "sound",
        &[Case { name: "sound", from: "name: sound", to: "name: sound", exit: 4, says: &[] }],
    );
}

#[test]
fn wrong_files_are_refused_with_the_place() {
    check("files", campaigns::CASES);
}

#[test]
fn controllers_that_misbehave_undisturbed_are_told_so() {
    check("controllers", controllers::CASES);
}

#[test]
fn wrong_command_lines_are_usage() {
    let house = house("usage");
    house.write("campaign.yaml", campaigns::SOUND);
    house.write("file", "");
    let check = |arguments: &[&str], exit: i32, says: &[&str]| {
        let ended = run(&house.root, arguments.iter().copied());
        assert_eq!(ended.code, Some(exit), "{arguments:?}: {ended}");
        for part in says {
            assert!(ended.stderr.contains(part), "{arguments:?}: no {part:?} in {ended}");
        }
        assert!(!ended.stderr.contains('\u{1b}'), "colours on a pipe: {ended}");
    };
    check(&["run", "campaign.yaml", "--workers", "0"], 64, &["--workers", "0"]);
    check(&["replay", "campaign.yaml"], 64, &["this is a campaign", "trommel run campaign.yaml"]);
    check(&["run", "workload.yaml"], 64, &["this is a workload"]);
    check(&["run", "missing.yaml"], 64, &["missing.yaml", "No such file"]);
    check(&["run", "campaign.yaml", "--bogus"], 64, &["--bogus", "Usage"]);
    check(&["play", "campaign.yaml", "--workers", "0"], 64, &["--workers", "0"]);
    check(&["walk"], 64, &["walk", "Usage"]);
    check(&["run", "campaign.yaml", "-P", "nightly"], 64, &["campaign.yaml", "nightly"]);
    check(&["run", "campaign.yaml", "--out", "file/run"], 75, &["file/run", "--out"]);
    check(&["run", "campaign.yaml", "--out", "file"], 75, &["cannot write file", "--out"]);
    check(&["run", "campaign.yaml", "--quiet", "--out", "taken"], 4, &[]);
    check(&["run", "campaign.yaml", "--out", "taken"], 64, &["taken holds another run", "--out"]);
    check(
        &["run", "campaign.yaml", "--out", "."],
        64,
        &[". holds ", "which is of no run", "--out"],
    );
    // What a run leaves that did not end is in nobody's way.
    std::fs::remove_file(house.path("taken/summary.json")).expect("a run writes it");
    check(&["run", "campaign.yaml", "--quiet", "--out", "taken"], 4, &[]);
}
