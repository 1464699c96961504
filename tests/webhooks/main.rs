//! Controllers that serve webhooks in their own process, for admission and for conversion: the API server reaches the
//! incarnation that runs, and nobody while it is down or does not listen yet.

use trommel_tests::{
    Need,
    house::House,
    needs,
    product::{Ended, json, run},
};

const ADMISSION: &str = "tests/campaigns/own-webhook";
const CONVERSION: &str = "tests/campaigns/own-conversion";

/// Runs one of the campaigns of a folder.
fn campaign(test: &str, folder: &str, file: &str) -> Option<(House, Ended)> {
    if !needs(&[Need::Python]) {
        return None;
    }
    let house = House::new(&format!("webhooks/{test}"), &[folder, "tests/subjects/python-webhook"]);
    let campaign = format!("{folder}/{file}");
    let ended = run(&house.root, ["run", &campaign, "--quiet", "--out", "out"]);
    Some((house, ended))
}

#[test]
fn a_controller_that_writes_before_its_webhook_listens_is_found() {
    let Some((house, ended)) = campaign("as-written", ADMISSION, "campaign.yaml") else { return };
    ended.expect(100);
    let summary = json(&house.path("out/summary.json"));
    assert_eq!(summary["coverage"]["closed"], true, "{summary}");
    assert_eq!(summary["findings"][0]["confirmed"]["k"], 5, "{summary}");
    let report = std::fs::read_to_string(house.path("out/report/index.html")).expect("a report");
    assert!(report.contains("gates.planted.trommel.dev"), "the finding names the Gate");
    // In the runs to compare with it was asked, and it allowed; in the finding nobody was there to be asked.
    assert!(report.contains("dial tcp 10.96.1.0:443: connect: connection refused"), "{ended}");
}

#[test]
fn one_that_listens_first_is_not() {
    let Some((house, ended)) = campaign("fixed", ADMISSION, "fixed.yaml") else { return };
    ended.expect(0);
    let summary = json(&house.path("out/summary.json"));
    assert_eq!(summary["coverage"]["closed"], true, "{summary}");
}

#[test]
fn a_controller_that_lists_before_its_conversion_listens_is_found() {
    let Some((house, ended)) = campaign("unconverted", CONVERSION, "campaign.yaml") else { return };
    ended.expect(100);
    let summary = json(&house.path("out/summary.json"));
    assert_eq!(summary["coverage"]["closed"], true, "{summary}");
    assert_eq!(summary["findings"][0]["confirmed"]["k"], 5, "{summary}");
    let report = std::fs::read_to_string(house.path("out/report/index.html")).expect("a report");
    // In the runs to compare with it converted; in the finding nobody was there to be asked.
    assert!(report.contains("dial tcp 10.96.1.0:443: connect: connection refused"), "{ended}");
}

#[test]
fn one_that_converts_first_is_not() {
    let Some((house, ended)) = campaign("converted", CONVERSION, "fixed.yaml") else { return };
    ended.expect(0);
    let summary = json(&house.path("out/summary.json"));
    assert_eq!(summary["coverage"]["closed"], true, "{summary}");
}
