//! Scripts of the workload live in this machine's time, and wait for controllers that live in the world's.

use serde_json::json;
use trace::{Event, History, StepState, Time};
use trommel_tests::{
    Need, needs,
    played::{Played, config_map, play},
    product::binary,
};

/// Records from the start of the operation with this number to its end.
fn during(history: &History, operation: u32) -> &[trace::Record] {
    let is = |event: &Event, wanted: &dyn Fn(&StepState, u32) -> bool| match event {
        Event::Step(step) => wanted(&step.state, step.cursor.operation),
        _ => false,
    };
    let place = |wanted: &dyn Fn(&StepState, u32) -> bool| {
        history.records.iter().position(|record| is(&record.event, wanted)).expect("a step")
    };
    let began = place(&|state, at| *state == StepState::Started && at == operation);
    let ended = place(&|state, at| *state == StepState::Done && at == operation + 1);
    &history.records[began..=ended]
}

fn rust_timers(test: &str, mode: &str, script: &str) -> Played {
    let program = binary().with_file_name("rust-timers");
    let script = json!({"script": {"timeout": "300s", "content": script}});
    play(test, &[program.to_str().unwrap(), mode], &json!([config_map("one"), script]))
}

/// The controller acts 250 s after it was asked, and the script looks three times a second.
#[test]
fn time_passes_while_a_script_waits() {
    if !needs(&[Need::Kubectl]) {
        return;
    }
    let script = "until kubectl get configmap late >/dev/null 2>&1; do sleep 0.3; done";
    let run = rust_timers("script-waits", "late", script);
    let records = during(&run.history, 1);
    let (began, ended): (Time, Time) = (records[0].at, records[records.len() - 1].at);
    let passed = ended.since(began).as_secs_f64();
    assert!((249.0..300.0).contains(&passed), "{passed} s: {}", run.told);
}

/// The controller lists anew every minute; the script does nothing but count.
#[test]
fn no_time_passes_while_a_script_works() {
    let script = "number=0; while [ $number -lt 300000 ]; do number=$((number+1)); done";
    let run = rust_timers("script-works", "relist", script);
    let jumps = during(&run.history, 1)
        .iter()
        .filter(|record| matches!(record.event, Event::Clock { .. }))
        .count();
    assert_eq!(jumps, 0, "{}", run.told);
}
