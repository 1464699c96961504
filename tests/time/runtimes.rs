//! Each runtime's ways to wait: quiet and deadlines right (else nothing would pass or everything late), and the
//! clock that the controller reads is the world's.

use serde_json::json;
use trommel_tests::{
    Need, needs,
    played::{config_map, every, play, sleep},
    subjects,
};

/// An hour and a little, every `step` seconds.
fn check(test: &str, command: &[&str], step: f64) {
    let steps = json!([config_map("one"), sleep("61m")]);
    let count = (3660.0 / step) as usize + 1;
    play(test, command, &steps).expect("reconcile", &every(step, count));
}

#[test]
fn go_current() {
    if !needs(&[Need::Go]) {
        return;
    }
    let program = subjects::built("go-timers").join("bin/current");
    check("go-current", &[program.to_str().unwrap(), "requeue"], 300.0);
}

#[test]
fn go_two_years_old() {
    if !needs(&[Need::Go]) {
        return;
    }
    let program = subjects::built("go-timers").join("bin/old");
    check("go-old", &[program.to_str().unwrap(), "requeue"], 300.0);
}

/// A binary of the workspace, beside `trommel`.
fn rust(mode: &str, step: f64) {
    let program = trommel_tests::product::binary().with_file_name("rust-timers");
    check(&format!("rust-{mode}"), &[program.to_str().unwrap(), mode], step);
}

#[test]
fn rust_kube() {
    rust("requeue", 300.0);
}

#[test]
fn rust_thread() {
    rust("thread", 600.0);
}

/// A watch that ends because its time is up is something that happens, like a timer.
#[test]
fn the_end_of_a_watch() {
    let program = trommel_tests::product::binary().with_file_name("rust-timers");
    let steps = json!([config_map("one"), sleep("61m30s")]);
    let played = play("rust-relist", &[program.to_str().unwrap(), "relist"], &steps);
    // The last one in the minute in which it settles.
    played.expect("list", &every(60.0, 63));
}

fn python(mode: &str, step: f64) {
    if !needs(&[Need::Python]) {
        return;
    }
    let folder = subjects::built("python-bar-foo");
    let (python, script) = (folder.join(".venv/bin/python"), folder.join("timers.py"));
    let command = [python.to_str().unwrap(), script.to_str().unwrap(), mode];
    check(&format!("python-{mode}"), &command, step);
}

#[test]
fn python_kopf_timer() {
    python("kopf", 300.0);
}

#[test]
fn python_thread_in_sleep() {
    python("sleep", 600.0);
}

#[test]
fn python_thread_in_event_wait() {
    python("event", 600.0);
}

#[test]
fn java_fabric8() {
    if !needs(&[Need::Java]) {
        return;
    }
    let target = subjects::built("java-timers").join("target");
    let path = format!("{0}/classes:{0}/libraries/*", target.display());
    check("java-fabric8", &["java", "-cp", &path, "dev.trommel.tests.Timers"], 300.0);
}
