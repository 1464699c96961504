//! One time for all: what a controller reads on its own clock agrees with the API server's stamps, and with what an
//! earlier start of it has noted.

use serde_json::json;
use trommel_tests::{
    played::{config_map, play, sleep},
    product::binary,
};

fn program() -> String {
    binary().with_file_name("rust-timers").display().to_string()
}

#[test]
fn an_object_is_not_older_than_its_author_believes() {
    let steps = json!([config_map("one"), sleep("11m")]);
    let played = play("minutes", &[&program(), "minutes"], &steps);
    let found = (played.moments("minute").len(), played.moments("early").len());
    assert!(found.0 >= 10 && found.1 == 0, "{found:?}\n{}", played.lines());
}

/// The second argument is how many milliseconds it works where it is optimised; as it is built for tests it takes several
/// times as long, and with so much work time has to pass for it. Far below what ends a trial.
fn restarted(test: &str, work: &str) {
    let restart = json!({"restart": {}});
    let steps = json!([config_map("one"), restart, restart, restart, config_map("two")]);
    let played = play(test, &[&program(), "stamps", work], &steps);
    assert_eq!(played.moments("noted").len(), 4, "{}", played.lines());
    assert!(played.moments("back").is_empty(), "{}", played.lines());
    assert!(played.moments("older").is_empty(), "{}", played.lines());
}

#[test]
fn time_goes_on_after_a_restart() {
    restarted("stamps", "0");
}

#[test]
fn time_goes_on_after_long_work() {
    restarted("stamps-work", "1000");
}
