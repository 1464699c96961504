//! The renderings, over made-up reports.

use super::{sample, text::Style, *};

fn page(report: &Report) -> String {
    html::page(&mask::report(report)).expect("renders")
}

#[test]
fn summary_has_exactly_the_contracts_keys() {
    insta::assert_snapshot!(summary_json(&sample::violated()).unwrap());
}

#[test]
fn terminal_ends_with_the_next_command() {
    let show =
        |report: &Report| text::terminal(report, "trommel-out/report/index.html", Style::default());
    insta::assert_snapshot!(show(&sample::violated()));
    insta::assert_snapshot!("terminal_when_clean", show(&sample::clean()));
}

#[test]
fn colours_only_where_wanted() {
    let show = |color| text::terminal(&sample::violated(), "x", Style { color });
    assert!(show(true).contains("\x1b[1;31m"));
    assert!(!show(false).contains('\x1b'));
}

#[test]
fn manifests_are_not_explained() {
    let mut finding = sample::violated().findings[0].clone();
    finding.replay_text =
        "plan: []\nmanifests:\n- kind: Namespace\n  metadata:\n    name: n\nworkload: |\n  x\n"
            .to_owned();
    let text = text::explain(&finding);
    assert!(
        text.contains("plan: []\n# manifests: in the file itself\nworkload: |\n  x\n"),
        "{text}"
    );
    assert!(!text.contains("Namespace"), "{text}");
}

#[test]
fn servers_on_which_a_finding_is_legal_are_told() {
    let mut report = sample::violated();
    let steps = vec!["it lists".to_owned(), "an old cache answers".to_owned()];
    let legal = model::LegalOn { servers: "Kubernetes 1.34".to_owned(), steps };
    report.findings[0].explanation.legal_on = vec![legal];
    let text = text::explain(&report.findings[0]);
    let lines = "- *Legal on:* Kubernetes 1.34\n  1. it lists\n  2. an old cache answers\n";
    assert!(text.contains(lines), "{text}");
    let lines = "<ol><li>it lists</li><li>an old cache answers</li></ol>";
    assert!(page(&report).contains(&format!("Kubernetes 1.34{lines}")));
}

#[test]
fn a_finding_explains_itself_as_text() {
    insta::assert_snapshot!(text::explain(&sample::violated().findings[0]));
}

#[test]
fn fences_are_longer_than_what_they_hold() {
    let explained = text::explain(&sample::violated().findings[1]);
    assert!(explained.contains("\n````yaml\n```\n"), "{explained}");
}

#[test]
fn everything_foreign_is_escaped() {
    let page = page(&sample::violated());
    for raw in ["<script>alert", "<img src", "<b>bold", "<i>", "</pre><script>"] {
        assert!(!page.contains(raw), "{raw}");
    }
    assert!(page.contains("&#60;script&#62;alert(1)"));
}

#[test]
fn the_page_fetches_nothing() {
    let page = page(&sample::violated());
    for fetching in ["http://", "https://", "src=\"", "@import", "url(", "<link"] {
        assert!(!page.contains(fetching), "{fetching}");
    }
}

#[test]
fn the_page_shows_every_part() {
    let page = page(&sample::violated());
    let parts = [
        "2 findings: a crash leaves a second Foo",
        "worlds behind findings, not explored",
        "families other than intermediate-state",
        "no virtual clock on this machine",
        "kill subject/0 after its 1st create",
        "INFO creating a Foo for bar",
        "should not exist",
        "equal world",
        "status.seen",
        "kubectl apply -f crds/",
        "kind: Replay",
        "trommel replay trommel-out/findings/a1b2c3d4/replay.yaml",
    ];
    for part in parts {
        assert!(page.contains(part), "{part}");
    }
    assert!(self::page(&sample::clean()).contains("</b> at exact: 14 worlds."));
}

#[test]
fn no_secret_reaches_any_file() {
    let folder = tempfile::tempdir().unwrap();
    write(&sample::violated(), folder.path()).unwrap();
    let files = ["summary.json", "report/index.html", "findings/evil/explain.md"];
    for file in files {
        let text = fs::read_to_string(folder.path().join(file)).unwrap();
        assert!(!text.contains("aHVudGVyMg"), "{file}");
        assert!(!text.contains("abcdefghijklmnop1234"), "{file}");
    }
    assert!(folder.path().join("findings/a1b2c3d4/explain.md").exists());
}

#[test]
fn a_finding_cant_leave_its_folder() {
    for id in ["", "..", "../x", "a/b", ".hidden"] {
        let mut report = sample::violated();
        report.findings[0].id = id.to_owned();
        let folder = tempfile::tempdir().unwrap();
        let error = write(&report, folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::InvalidInput, "{id:?}");
        assert!(!folder.path().join("summary.json").exists(), "{id:?}");
    }
}

#[test]
fn a_full_disk_is_told_with_the_path() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("report"), "a file in the way").unwrap();
    let error = write(&sample::violated(), folder.path()).unwrap_err();
    assert!(error.to_string().contains("index.html"), "{error}");
}

#[test]
fn a_stored_report_reads_back() {
    let report = sample::violated();
    let text = serde_json::to_string(&report).unwrap();
    assert_eq!(serde_json::from_str::<Report>(&text).unwrap(), report);
}

/// Writes the page where a person can look at it: `TROMMEL_PAGE=FILE cargo test -p trommel-harness page`.
#[test]
fn pages_can_be_looked_at() {
    let page = page(&sample::violated());
    if let Some(path) = std::env::var_os("TROMMEL_PAGE") {
        fs::write(path, &page).unwrap();
    }
    assert!(page.trim_end().ends_with("</html>"));
}
