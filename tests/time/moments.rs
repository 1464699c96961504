//! What controllers promise about time, held against histories: how many times, and at which moments exactly.

use serde_json::json;
use trace::{Change, Event, Time};
use trommel_tests::{
    Need, needs,
    played::{Played, config_map, every, play, sleep},
    subjects,
};

fn go(test: &str, mode: &str, steps: &serde_json::Value) -> Option<Played> {
    if !needs(&[Need::Go]) {
        return None;
    }
    let program = subjects::built("go-timers").join("bin/current");
    Some(play(test, &[program.to_str().unwrap(), mode], steps))
}

/// client-go's default rate limiter: 5 ms, doubled at each failure, at most 1000 s.
#[test]
fn back_off_to_a_thousand_seconds() {
    let steps = json!([config_map("one"), sleep("2h")]);
    let Some(run) = go("back-off", "back-off", &steps) else { return };
    let (mut moments, mut at, mut pause) = (vec![], 0.0, 0.005);
    while at < 7200.0 {
        moments.push(at);
        at += pause;
        pause = f64::min(pause * 2.0, 1000.0);
    }
    run.expect("reconcile", &moments);
}

/// As the CronJob controller does it: 30 days, 30 runs, each at half past two sharp.
#[test]
fn a_daily_schedule_over_thirty_days() {
    let steps = json!([config_map("schedule"), sleep("720h")]);
    let Some(run) = go("schedule", "schedule", &steps) else { return };
    run.expect("run", &every(86_400.0, 30));
    let creations = run.history.records.iter().filter_map(|record| match &record.event {
        Event::Commit(commit) if commit.key.name.starts_with("run-") => {
            assert!(matches!(commit.change, Change::Created), "{commit:?}");
            Some((record.at, commit.key.name.clone()))
        }
        _ => None,
    });
    let mut count = 0;
    for (at, name) in creations {
        // The world's clock is behind the controller's by a thousandth of the real time of its work.
        let second = Time(at.0 + 500_000_000).seconds();
        assert_eq!(second % 86_400, 2 * 3600 + 30 * 60, "{name} at {}", at.rfc3339());
        assert_eq!(*name, *format!("run-{}", second / 60));
        count += 1;
    }
    assert_eq!(count, 30);
}

/// When the lease was read by the incarnation, and when it was written.
fn lease_calls(run: &Played, incarnation: u32) -> (Vec<Time>, Vec<Time>) {
    let (mut reads, mut writes) = (vec![], vec![]);
    for record in &run.history.records {
        let Event::Call(call) = &record.event else { continue };
        if call.incarnation == incarnation && call.uri.contains("/leases") {
            if call.verb.is_write() { &mut writes } else { &mut reads }.push(record.at);
        }
    }
    (reads, writes)
}

/// A killed leader's lease runs out 15 s after its successor has first seen it, and not earlier: the successor takes
/// it at its first try after that. (The pauses between tries are random in client-go: 2 s to 4.4 s.)
#[test]
fn a_lease_is_handed_over_after_fifteen_seconds() {
    let steps = json!([config_map("one"), sleep("1m"), {"restart": {}}, sleep("1m")]);
    let Some(run) = go("hand-over", "leader", &steps) else { return };
    assert_eq!(run.moments("leading").len(), 2, "{}", run.lines());
    let (reads, writes) = lease_calls(&run, 1);
    let (seen, taken) = (reads[0], writes[0]);
    let late = |moment: &Time| moment.since(seen).as_secs_f64() > 15.0;
    let first_late = *reads.iter().find(|moment| late(moment)).expect("a try after 15 s");
    assert!(late(&taken), "taken {:?} after it was seen", taken.since(seen));
    assert!(taken.since(first_late).as_secs_f64() < 0.01 + run.creep(), "{taken:?} {first_late:?}");
    let before = reads.iter().filter(|moment| !late(moment));
    assert!(before.count() >= 4, "it looks every 2 s to 4.4 s: {reads:?}");
}

/// Ten hours and ten minutes as a leader: a resync at ten hours, work every five minutes, and the lease renewed every
/// two seconds all along.
#[test]
fn a_resync_after_ten_hours() {
    let steps = json!([config_map("one"), sleep("10h10m")]);
    let Some(run) = go("resync", "leader", &steps) else { return };
    assert_eq!((run.moments("leading").len(), run.moments("lost").len()), (1, 0));
    run.expect("reconcile", &every(300.0, 122 + 1));
    let (added, resync) = (run.moments("added"), run.moments("resync"));
    assert_eq!((added.len(), resync.len()), (1, 1));
    let passed = resync[0].since(added[0]).as_secs_f64();
    assert!((passed - 36_000.0).abs() < 0.05, "{passed}");
    let (_, writes) = lease_calls(&run, 0);
    // The first two are at once: it is made, and then renewed for the first time.
    let gaps = writes.windows(2).skip(1).map(|two| two[1].since(two[0]).as_secs_f64());
    let pause = 1.99 - run.creep()..2.02;
    let strange: Vec<f64> = gaps.filter(|gap| !pause.contains(gap)).collect();
    assert!(strange.is_empty(), "pauses between renewals: {strange:?}");
}
