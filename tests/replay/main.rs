//! Replay files: what a finding leaves in a user's repository must work there, and say so when it can't.

use std::path::PathBuf;

use serde_json::{Value, json};
use trommel_tests::{
    house::House,
    product::{Ended, command, run, yaml},
};

const FOLDER: &str = "examples/bar-foo";

/// A repository in which Trommel has found bar-foo's bug, and the finding's replay file.
fn found(test: &str) -> (House, PathBuf) {
    found_in(test, "", &format!("{FOLDER}/campaign.yaml"))
}

/// The same by a user who stands in this folder.
fn found_in(test: &str, below: &str, campaign: &str) -> (House, PathBuf) {
    let house = House::new(&format!("replay/{test}"), &[FOLDER]);
    let out = house.path("run");
    run(&house.path(below), ["run", campaign, "--quiet", "--out", text(&out)]).expect(100);
    let findings: Vec<PathBuf> = std::fs::read_dir(house.path("run/findings"))
        .expect("a run has a folder for findings")
        .map(|entry| entry.expect("a folder can be listed").path().join("replay.yaml"))
        .collect();
    let [file] = &findings[..] else { panic!("one finding, not {findings:?}") };
    let file = file.clone();
    (house, file)
}

fn replay(house: &House, below: &str, arguments: &[&str]) -> Ended {
    let folder = house.path(below);
    let always = ["replay", "--quiet", "--out", "replayed"];
    run(&folder, always.into_iter().chain(arguments.iter().copied()))
}

fn text(path: &std::path::Path) -> &str {
    path.to_str().expect("paths of tests are text")
}

#[test]
fn it_reproduces_every_time() {
    let (house, file) = found("reproduces");
    let ended = replay(&house, "", &[text(&file)]);
    assert!(ended.expect(100).stdout.contains("reproduced 5 of 5"), "{ended}");
}

#[test]
fn against_the_fixed_controller_it_is_gone() {
    let (house, file) = found("gone");
    let fixed = format!("{FOLDER}/fixed.yaml");
    let ended = replay(&house, "", &[text(&file), "--campaign", &fixed]);
    assert!(ended.expect(0).stdout.contains("gone"), "{ended}");
}

#[test]
fn another_command_takes_the_place_of_the_controller() {
    let (house, file) = found("command");
    let command = ["--command", "target/debug/bar-foo"];
    replay(&house, "", &[&[text(&file)], &command[..]].concat()).expect(100);
    std::fs::remove_dir_all(house.path("replayed")).expect("the run folder can be removed");
    let ended = replay(&house, "", &[&[text(&file)], &command[..], &["--fixed"]].concat());
    assert!(ended.expect(0).stdout.contains("gone"), "{ended}");
}

#[test]
fn a_flag_behind_the_command_is_told() {
    let (house, file) = found("behind-command");
    let command = [text(&file), "--command", "target/debug/bar-foo", "--quiet"];
    let ended = replay(&house, "", &command);
    assert!(ended.stderr.contains("--quiet stands behind --command"), "{ended}");
}

/// The user stands outside of the campaign's repository, and the run folder is there.
#[test]
fn the_command_that_is_proposed_works_where_it_is_proposed() {
    let house = House::new("replay/proposed", &[FOLDER]);
    let away = House::new("replay/proposed-away", &[]);
    for house in [&house, &away] {
        house.write(".git/HEAD", "");
    }
    let campaign = house.path(FOLDER).join("campaign.yaml");
    for folder in [&house.root, &house.path(FOLDER), &away.root] {
        let ended = run(folder, ["run", text(&campaign), "--quiet"]);
        let next = ended.expect(100).stdout.lines().find_map(|line| line.strip_prefix("next:"));
        let next = next.expect("a finding has a next step").trim();
        let words = next.strip_prefix("trommel ").expect("it is a command of Trommel");
        run(folder, words.split(' ').chain(["--quiet"])).expect(100);
    }
}

/// What was found is there after the first kill, but not all of the plan happened: it shows nothing.
#[test]
fn a_plan_that_half_happened_proves_nothing() {
    let (house, file) = found("half");
    let whole = yaml(&file);
    let check = |name: &str, second: Value, says: &[&str]| {
        let mut more = whole.clone();
        more["plan"].as_array_mut().expect("a plan is a list").push(second);
        house.write(name, &more.to_string());
        let ended = replay(&house, "", &[name]);
        std::fs::remove_dir_all(house.path("replayed")).expect("the run folder can be removed");
        for part in ["unknown: in 5 of 5 runs", "not all of the plan happened: "].iter().chain(says)
        {
            assert!(ended.expect(2).stdout.contains(part), "no {part:?} in {ended}");
        }
    };
    let mut never = whole["plan"][0].clone();
    never["crash"]["at"]["committed"]["occurrence"] = json!(99);
    check(
        "never.yaml",
        never,
        &["the crash point was not reached: killed after the 99th create of foos"],
    );
    let foo = |change: &str| {
        let resource = "foos.example.trommel.dev";
        let change = json!({"change": change, "resource": resource, "namespace": "default", "name": "foo-*"});
        json!({"change": change, "occurrence": 1})
    };
    let from = json!({"delivery": {"event": foo("created")}});
    let endless =
        json!({"unobservedState": {"from": from, "until": foo("deleted"), "release": "burst"}});
    let says = [
        "the second event comes only after",
        "2 objects foos.example.trommel.dev/default/foo-* of Bar bar",
    ];
    check("endless.yaml", endless, &says);
}

#[test]
fn plans_that_can_not_happen_are_refused_with_their_place() {
    let (house, file) = found("contradicting");
    let whole = yaml(&file);
    let text = std::fs::read_to_string(&file).expect("a replay file is text");
    let line = 2 + text.lines().position(|line| line == "plan:").expect("a file has a plan");
    let first = whole["plan"][0].clone();
    let step = |operation: u32, document: u32| json!({"step": {"cursor": {"operation": operation, "document": document}}});
    let crash = |at: Value| json!({"crash": {"at": at}});
    let write = json!({"by": "replicaset-controller", "change": "created", "resource": "pods", "namespace": "default",
        "name": "web-*"});
    let with = |key: &str, value: Value| {
        let mut crash = first.clone();
        crash["crash"][key] = value;
        crash
    };
    let plans = [
        ("after0", json!([with("restart", json!({"afterUserStep": 0}))]), "counts from 1"),
        ("after99", json!([with("restart", json!({"afterUserStep": 99}))]), "99 steps of the user"),
        ("op99", json!([crash(step(99, 0))]), "never stands at 99.0"),
        ("doc7", json!([crash(step(0, 7))]), "never stands at document 7"),
        ("backwards", json!([crash(step(1, 0)), crash(step(0, 0))]), "lies before"),
        ("settled", json!([crash(json!("settled")), first]), "nothing comes after all has settled"),
        ("empty", json!([]), "it is empty"),
        ("member", json!([with("member", json!(1))]), "settings.replicas is 1"),
        (
            "environment",
            json!([crash(json!({"environment": {"write": write, "occurrence": 1}}))]),
            "environment: none",
        ),
    ];
    for (name, plan, says) in plans {
        let mut wrong = whole.clone();
        wrong["plan"] = plan;
        let name = format!("{name}.yaml");
        house.write(&name, &wrong.to_string());
        let ended = replay(&house, "", &[&name]);
        for part in [&format!("{name}:1:"), "plan: ", says] {
            assert!(ended.expect(64).stderr.contains(part), "no {part:?} in {ended}");
        }
    }
    // As people write it.
    let (before, after) = text.split_once("restart: immediately\n").expect("a restart");
    house.write("lines.yaml", &format!("{before}restart: {{afterUserStep: 0}}\n{after}"));
    let ended = replay(&house, "", &["lines.yaml"]);
    let place = format!("lines.yaml:{line}:3: plan: perturbation 1 (intermediate-state): ");
    assert!(ended.expect(64).stderr.contains(&place), "no {place:?} in {ended}");
}

/// A campaign may say more than the default about its cluster and its processes: so does what it leaves behind.
#[test]
fn it_runs_where_the_campaign_ran() {
    let house = House::new("replay/settings", &[FOLDER]);
    let mut campaign = yaml(&house.path(FOLDER).join("campaign.yaml"));
    campaign["spec"]["cluster"] = json!({"embedded": {"environment": "full", "nodes": 2}});
    campaign["spec"]["subject"]["determinism"] = json!({"processors": 2, "addresses": "fixed"});
    house.write(&format!("{FOLDER}/full.yaml"), &campaign.to_string());
    let file = format!("{FOLDER}/full.yaml");
    run(&house.root, ["run", &file, "--quiet", "--out", "run"]).expect(100);
    let findings = std::fs::read_dir(house.path("run/findings")).expect("findings");
    let file = findings.last().expect("a finding").expect("a folder").path().join("replay.yaml");
    let settings = &yaml(&file)["settings"];
    assert_eq!(settings["embedded"], campaign["spec"]["cluster"]["embedded"]);
    assert_eq!(settings["determinism"]["addresses"], "fixed");
    replay(&house, "", &[text(&file)]).expect(100);
    let nodes = |run: &str| {
        let file = house.path(run).join("references/0/history.jsonl.zst");
        let history = trace::file::read(std::fs::File::open(file).expect("a history"));
        let records = history.expect("a history that can be read").history.records;
        let settled = records.into_iter().filter_map(|record| match record.event {
            trace::Event::Settled(settled) => Some(settled.state),
            _ => None,
        });
        let last = settled.last().expect("it settled");
        last.iter().filter(|object| object["kind"] == "Node").count()
    };
    assert_eq!((nodes("run"), nodes("replayed")), (2, 2));
}

#[test]
fn a_moment_that_never_comes_proves_nothing() {
    let (house, file) = found("never");
    let mut replay_file = yaml(&file);
    let moment = replay_file.pointer_mut("/plan/0/crash/at/committed/occurrence");
    *moment.expect("the minimal plan is one crash after a write") = json!(99);
    house.write("never.yaml", &replay_file.to_string());
    let ended = replay(&house, "", &["never.yaml"]);
    assert!(ended.expect(2).stdout.contains("the crash point was not reached"), "{ended}");
}

#[test]
fn it_works_from_any_folder_of_its_repository() {
    let (house, file) = found("moved");
    let moved = std::fs::read_to_string(&file).expect("a replay file is text");
    std::fs::remove_dir_all(house.path("run")).expect("the run folder can be removed");
    house.write("regressions/foo.yaml", &moved);
    replay(&house, "regressions", &["foo.yaml"]).expect(100);
}

/// Found by somebody who stood in the campaign's folder, and run from another one.
#[test]
fn it_works_where_the_campaign_is_not_named_by_a_path() {
    let (house, file) = found_in("unnamed", FOLDER, "campaign.yaml");
    let moved = format!("{FOLDER}/regressions/foo.yaml");
    house.write(&moved, &std::fs::read_to_string(&file).expect("a replay file is text"));
    replay(&house, "", &[&moved]).expect(100);
}

/// Found by somebody who stood in the campaign's folder, kept and run at the root of the repository.
#[test]
fn it_works_at_the_root_of_the_repository() {
    let house = House::new("replay/root", &[FOLDER]);
    house.write(".git/HEAD", "");
    let out = house.path("run");
    run(&house.path(FOLDER), ["run", "campaign.yaml", "--quiet", "--out", text(&out)]).expect(100);
    let mut findings = std::fs::read_dir(house.path("run/findings")).expect("findings");
    let finding = findings.next().expect("a finding").expect("a folder").path();
    let found = std::fs::read_to_string(finding.join("replay.yaml")).expect("text");
    house.write("regressions/foo.yaml", &found);
    replay(&house, "", &["regressions/foo.yaml"]).expect(100);
    // Outside of the repository, by somebody who stands in it.
    let away = House::new("replay/root-away", &[]);
    away.write("foo.yaml", &found);
    replay(&house, FOLDER, &[text(&away.path("foo.yaml"))]).expect(100);
}

/// A file that brings the campaign that vouches for it.
#[test]
fn a_folder_of_a_stranger_vouches_for_nothing() {
    let (house, file) = found("stranger-folder");
    let (evil, _) = found("stranger-folder-evil");
    for folder in [text(&evil.path(FOLDER)), "../stranger-folder-evil/examples/bar-foo"] {
        let mut stranger = yaml(&file);
        stranger["folder"] = json!(folder);
        house.write("stranger.yaml", &stranger.to_string());
        let ended = replay(&house, "", &["stranger.yaml"]);
        assert!(ended.expect(64).stderr.contains("in folder:"), "{ended}");
        replay(&house, "", &["stranger.yaml", "--yes"]).expect(100);
    }
}

/// A file that runs something else than the campaign beside it.
#[test]
fn what_a_stranger_wrote_is_not_run_unasked() {
    let (house, file) = found("stranger");
    let script = house.path("owned.sh");
    house.write("owned.sh", "touch owned; exec sleep infinity\n");
    let mut stranger = yaml(&file);
    stranger["subject"]["command"] = json!(["/bin/sh", text(&script)]);
    stranger["subject"]["build"] = json!("touch built\u{1b}[2J");
    house.write("stranger.yaml", &stranger.to_string());
    let folder = house.root.clone();
    for ci in ["true", ""] {
        let mut command = command(&folder, ["replay", "stranger.yaml", "--out", "replayed"]);
        command.env("CI", ci);
        let ended = Ended::of(command);
        for part in ["build:      touch built␛[2J", "controller: /bin/sh", "owned.sh", "--yes"] {
            assert!(ended.expect(64).stderr.contains(part), "no {part:?} in {ended}");
        }
    }
    assert!(!house.path(FOLDER).join("owned").exists(), "it was run");
    let wanted = replay(&house, "", &["stranger.yaml", "--yes"]);
    assert!(house.path(FOLDER).join("owned").exists(), "it was not run: {wanted}");
}

/// Not only the controller: what the workload runs, also where only the controller is another.
#[test]
fn what_the_workload_of_a_stranger_runs_is_not_run_unasked() {
    let (house, file) = found("stranger-workload");
    let mut stranger = yaml(&file);
    let workload = stranger["workload"].as_str().expect("a workload").to_owned();
    let (before, after) = workload.split_once("      try:\n").expect("a workload has a step");
    let workload = format!(
        "{before}      try:\n        - script: {{content: 'touch {}'}}\n{after}",
        house.path("owned").display()
    );
    stranger["workload"] = json!(workload);
    house.write("stranger.yaml", &stranger.to_string());
    let ended = replay(&house, "", &["stranger.yaml"]);
    assert!(ended.expect(64).stderr.contains("workloadHash"), "a changed workload: {ended}");
    let (_, rest) = ended.stderr.split_once("its hash is ").expect("the hash is said");
    stranger["workloadHash"] = json!(rest.split(',').next());
    house.write("stranger.yaml", &stranger.to_string());
    for flags in [
        &[][..],
        &["--campaign", "examples/bar-foo/campaign.yaml"],
        &["--command", "target/debug/bar-foo"],
    ] {
        let ended = replay(&house, "", &[&["stranger.yaml"], flags].concat());
        assert!(ended.expect(64).stderr.contains("workload:   "), "{flags:?}: {ended}");
    }
    assert!(!house.path("owned").exists(), "it was run");
}

/// Variables reach the user's own program, too.
#[test]
fn variables_of_a_stranger_are_not_set_unasked() {
    let (house, file) = found("stranger-variables");
    let mut stranger = yaml(&file);
    stranger["subject"]["env"] = json!({"LD_PRELOAD": "owned.so"});
    house.write("stranger.yaml", &stranger.to_string());
    let command = ["stranger.yaml", "--command", "target/debug/bar-foo"];
    let ended = replay(&house, "", &command);
    assert!(ended.expect(64).stderr.contains("variable:   LD_PRELOAD=owned.so"), "{ended}");
    stranger["subject"]["env"] = json!({});
    house.write("stranger.yaml", &stranger.to_string());
    replay(&house, "", &command).expect(100);
}

#[test]
fn a_program_that_is_older_than_its_sources_is_told() {
    let (house, file) = found("stale");
    std::fs::create_dir(house.path(".git")).expect("a folder can be made");
    let mut replay_file = yaml(&file);
    replay_file["subject"]["build"] = json!("make bar-foo");
    house.write("stale.yaml", &replay_file.to_string());
    std::fs::copy(house.path("target/debug/bar-foo"), house.path("manager")).expect("a copy");
    let command = ["stale.yaml", "--command", "./manager"];
    let ended = replay(&house, "", &command);
    assert!(!ended.expect(100).stderr.contains("older than"), "{ended}");
    std::fs::remove_dir_all(house.path("replayed")).expect("the run folder can be removed");
    house.write("src/main.rs", "");
    let ended = replay(&house, "", &command);
    for part in ["is older than src/main.rs", "make bar-foo"] {
        assert!(ended.expect(100).stderr.contains(part), "no {part:?} in {ended}");
    }
}

#[test]
fn away_from_its_repository_it_says_what_it_needs() {
    let (house, file) = found("away");
    let mut replay_file = yaml(&file);
    replay_file["folder"] = json!("examples/gone");
    house.write("away.yaml", &replay_file.to_string());
    let ended = replay(&house, "", &["away.yaml"]);
    let looked = house.path("examples/gone");
    for needed in ["away.yaml", "examples/gone", "--campaign", text(&looked)] {
        assert!(ended.expect(64).stderr.contains(needed), "{needed}: {ended}");
    }
}

#[test]
fn damaged_files_are_refused_with_their_names() {
    let (house, file) = found("damaged");
    let whole = yaml(&file);
    let without = |key: &str| {
        let mut less = whole.clone();
        less.as_object_mut().expect("a replay file is an object").remove(key);
        less
    };
    let with = |key: &str, value: Value| {
        let mut more = whole.clone();
        more[key] = value;
        more
    };
    let damaged = [
        ("cut.yaml", whole.to_string()[..200].to_owned()),
        ("no-plan.yaml", without("plan").to_string()),
        ("no-command.yaml", with("subject", json!({})).to_string()),
        ("unknown-key.yaml", with("speed", json!(1)).to_string()),
        ("kind.yaml", with("kind", json!("Campaign")).to_string()),
        ("version.yaml", with("apiVersion", json!("trommel.dev/v9")).to_string()),
        ("empty.yaml", String::new()),
        ("finding.yaml", with("finding", json!("x/../../y")).to_string()),
        ("campaign-name.yaml", with("campaign", json!("../x")).to_string()),
    ];
    for (name, text) in &damaged {
        house.write(name, text);
        let ended = replay(&house, "", &[name]);
        assert!(ended.expect(64).stderr.contains(name), "{name}: {ended}");
    }
    let mut second = whole.clone();
    second["plan"][0]["crash"]["member"] = json!(1);
    house.write("second.yaml", &second.to_string());
    let refused = replay(&house, "", &["second.yaml"]);
    let says = "it kills replica 1, counted from 0, but settings.replicas is 1";
    assert!(refused.expect(64).stderr.contains(says), "{refused}");
    assert!(replay(&house, "", &["missing.yaml"]).expect(64).stderr.contains("missing.yaml"));
}
