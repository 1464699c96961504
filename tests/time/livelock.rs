//! A controller that never comes to rest is told so, with what it repeats, in seconds of real time.

use serde_json::json;
use trommel_tests::{
    played::{config_map, play_to_its_end},
    product::binary,
};

#[test]
fn a_controller_that_never_rests_is_shown_its_cycle() {
    let program = binary().with_file_name("rust-timers");
    let steps = json!([config_map("one"), {"settle": {}}]);
    let told = play_to_its_end("livelock", &[program.to_str().unwrap(), "restless"], &steps, 105);
    let end = told["end"].as_str().unwrap();
    assert!(end.starts_with("it never settled: the store went on changing: "), "{end}");
    let path = "/api/v1/namespaces/default/configmaps/one";
    assert!(
        end.ends_with(&format!("times in a row, every 5.000 s: GET {path}, PATCH {path}")),
        "{end}"
    );
}
