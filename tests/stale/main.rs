//! Restarts in front of old caches: which clients meet one, how they come to it, and what findings say of the servers on
//! which that is legal.

use std::path::PathBuf;

use trace::{Call, Event, History, Verb};
use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{json, run, yaml},
};

/// A finding's folder, in a run that has one.
fn finding(house: &House, run: &str) -> PathBuf {
    let mut folders = std::fs::read_dir(house.path(run).join("findings")).expect("findings");
    folders.next().expect("a finding").expect("a folder can be listed").path()
}

/// A campaign of the corpus, with this cluster, restricted to this family: its house, and the folder of its finding.
fn found(name: &str, test: &str, embedded: &str) -> (House, PathBuf) {
    let folder = format!("tests/corpus/{name}");
    let house = House::new(&format!("stale/{test}"), &["tests/corpus/operators", &folder]);
    let campaign = format!("{folder}/campaign.yaml");
    let text = std::fs::read_to_string(house.path(&campaign)).expect("the campaign is there");
    let cluster = "embedded: {environment: none}";
    assert!(text.contains(cluster), "{text}");
    house.write(&campaign, &text.replace(cluster, embedded));
    let families = ["--families", "stale-state"];
    let ended =
        run(&house.root, ["run", &campaign, "--quiet", "--out", "out"].into_iter().chain(families));
    ended.expect(100);
    let folder = finding(&house, "out");
    (house, folder)
}

fn history(finding: &std::path::Path) -> History {
    let file = std::fs::File::open(finding.join("history.jsonl.zst")).expect("a history");
    trace::file::read(file).expect("a history that can be read").history
}

/// What the controller asked first of Databases after its last start, each with the status that came.
fn first_asked(history: &History) -> Vec<(String, u16)> {
    let records = &history.records[history.last_start()..];
    let asks = |call: &&Call| {
        let databases = call.resource.as_ref().is_some_and(|of| *of.resource == *"databases");
        databases && call.actor.is_subject() && matches!(call.verb, Verb::List | Verb::Watch)
    };
    let calls = records.iter().filter_map(|record| match &record.event {
        Event::Call(call) => Some(call),
        _ => None,
    });
    let told = |call: &Call| {
        let answer = history.records.iter().find_map(|record| match &record.event {
            Event::Answer(answer) if answer.call == call.id => Some(answer.status),
            _ => None,
        });
        let what = match call.uri.contains("sendInitialEvents=true") {
            true => "streamed list".to_owned(),
            false if call.uri.contains("resourceVersion=0") => format!("{} from 0", call.verb),
            false => call.verb.to_string(),
        };
        (what, answer.unwrap_or_default())
    };
    calls.filter(asks).map(told).take(2).collect()
}

/// What a finding says in each of its texts; replays it.
fn says(house: &House, finding: &std::path::Path, parts: &[&str]) {
    let text = |file: &str| std::fs::read_to_string(finding.join(file)).expect("text");
    let page = std::fs::read_to_string(house.path("out/report/index.html")).expect("a page");
    let replay = yaml(&finding.join("replay.yaml"));
    let legality = replay["legality"].to_string();
    let explained = text("explain.md");
    assert!(explained.contains("- *Legal on:* "), "{explained}");
    assert!(explained.contains("What follows is legal on: "), "{explained}");
    for part in parts {
        assert!(explained.contains(part), "no {part:?} in {explained}");
        assert!(page.contains(part), "no {part:?} on the page");
        assert!(legality.contains(part), "no {part:?} in {legality}");
    }
    let file = finding.join("replay.yaml");
    let file = file.to_str().expect("paths of tests are text");
    run(&house.root, ["replay", file, "--quiet", "-k", "1", "--out", "replayed"]).expect(100);
}

#[test]
fn a_client_that_streams_its_lists_falls_back_after_a_503() {
    if !needs(&[Need::Go]) {
        return;
    }
    let (house, finding) = found("ui-toggle", "unavailable", "embedded: {environment: none}");
    let asked = first_asked(&history(&finding));
    assert_eq!(asked, [("streamed list".into(), 503), ("list from 0".into(), 200)]);
    says(&house, &finding, &["Kubernetes 1.32, 1.34 and later", "503 without Retry-After"]);
}

#[test]
fn a_release_without_watch_list_refuses_the_stream() {
    if !needs(&[Need::Go]) {
        return;
    }
    let embedded = "embedded: {environment: none, kubernetes: \"1.33\"}";
    let (house, finding) = found("ui-toggle", "refused", embedded);
    let asked = first_asked(&history(&finding));
    assert_eq!(asked, [("streamed list".into(), 422), ("list from 0".into(), 200)]);
    says(&house, &finding, &["Kubernetes 1.19 to 1.31 and 1.33", "422: WatchList is off"]);
}

#[test]
fn a_client_that_lists_from_a_cache_needs_nothing() {
    if !needs(&[Need::Go]) {
        return;
    }
    let (house, finding) = found("tls-toggle", "listed", "embedded: {environment: none}");
    let asked = first_asked(&history(&finding));
    assert_eq!(asked.first(), Some(&("list from 0".into(), 200)), "{asked:?}");
    says(&house, &finding, &["every version of Kubernetes", "begins with a list of databases"]);
}

/// kube-rs asks for streamed lists with `resourceVersion=0`: a summary of a campaign with a client of it on this cluster.
fn streamed_from_any_state(test: &str, cluster: &str) -> serde_json::Value {
    let folder = "tests/campaigns/impatient";
    let house = House::new(&format!("stale/{test}"), &[folder]);
    let campaign = format!("{folder}/campaign.yaml");
    let text = std::fs::read_to_string(house.path(&campaign)).expect("the campaign is there");
    let (listed, streamed) = ("debug/planted, impatient]", "debug/planted, streamed]");
    let embedded = "embedded: {environment: none}";
    assert!(text.contains(listed) && text.contains(embedded), "{text}");
    house.write(&campaign, &text.replace(listed, streamed).replace(embedded, cluster));
    run(&house.root, ["run", &campaign, "--quiet", "--out", "out"]);
    json(&house.path("out/summary.json"))
}

#[test]
fn a_client_that_streams_any_state_is_behind() {
    let summary = streamed_from_any_state("streamed", "embedded: {environment: none}");
    let family = &summary["families"]["stale-state"];
    assert!(family["run"].as_u64() > Some(0), "{family}");
    assert!(!family["notFor"].to_string().contains("configmaps"), "{family}");
    assert_eq!(
        (&summary["plans"]["unknown"], &family["left"]),
        (&0.into(), &0.into()),
        "{summary}"
    );
}

/// It asks for the stream again and again.
#[test]
fn a_client_that_waits_for_the_stream_is_never_behind() {
    let cluster = "embedded: {environment: none, kubernetes: \"1.33\"}";
    let summary = streamed_from_any_state("waiting", cluster);
    let family = &summary["families"]["stale-state"];
    let why =
        "the first list of configmaps is streamed, and no list with resourceVersion=0 follows";
    assert!(family["notFor"].to_string().contains(why), "{family}");
    assert_eq!((&family["run"], &family["left"]), (&0.into(), &0.into()), "{family}");
}
