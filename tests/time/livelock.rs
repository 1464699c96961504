//! A controller that never comes to rest is told so, with what it repeats, in seconds of real time.

use serde_json::json;
use trommel_tests::{
    played::{config_map, play_to_its_end, play_with_heartbeats},
    product::binary,
};

#[test]
fn a_controller_that_never_rests_is_shown_its_cycle() {
    let program = binary().with_file_name("rust-timers");
    let steps = json!([config_map("one"), {"settle": {}}]);
    let told = play_to_its_end("livelock", &[program.to_str().unwrap(), "restless"], &steps, 105);
    let end = told["end"].as_str().unwrap();
    assert!(end.starts_with("it never settled: the store went on changing: "), "{end}");
    // The end of it: what goes on and off is not said to look like a heartbeat.
    let path = "/api/v1/namespaces/default/configmaps/one";
    assert!(
        end.ends_with(&format!("times in a row, every 5.000 s: GET {path}, PATCH {path}")),
        "{end}"
    );
}

/// One that only says that it lives is told what to write into its campaign, with which it settles.
#[test]
fn a_heartbeat_is_named_and_then_left_out() {
    let program = binary().with_file_name("rust-timers");
    let command = [program.to_str().unwrap(), "beats"];
    let steps = json!([config_map("one"), {"settle": {}}]);
    let told = play_to_its_end("beats", &command, &steps, 105);
    let end = told["end"].as_str().unwrap();
    let field = r#"configmaps/default/one .metadata.annotations["example.com/renewed"]"#;
    assert!(end.ends_with(&format!("spec.heartbeats: {:?}", [field])), "{end}");
    let told = play_with_heartbeats("beats-named", &command, &steps, &[field], 0);
    let number = |of: &str| told[of].as_u64().unwrap();
    // The user's, and the first, which makes the annotation.
    assert_eq!(number("commits"), 2, "{told}");
    assert!(number("commitsWithBookkeeping") >= 10, "{told}");
}
