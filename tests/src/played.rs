//! A controller and a user left to themselves: `trommel play` on a small workload, and what happened when.

use std::{fs::File, path::Path};

use serde_json::{Value, json};
use trace::{Event, History, ProcessHappening, Time};

use crate::{house::House, product, root};

const SECOND: i64 = 1_000_000_000;

/// What happened in one run.
pub struct Played {
    /// All of it.
    pub history: History,
    /// What `trommel play` told of the run.
    pub told: Value,
}

/// Plays `steps` (operations of the workload language) with the controller that `command` starts.
pub fn play(test: &str, command: &[&str], steps: &Value) -> Played {
    let told = play_to_its_end(test, command, steps, 0);
    let run = root().join("target/tests/time").join(test).join("run");
    let file = run.join(told["history"].as_str().expect("a path"));
    Played { history: read(&file), told }
}

/// The same, ending with this exit code; what `trommel play` told of the run.
pub fn play_to_its_end(test: &str, command: &[&str], steps: &Value, exit: i32) -> Value {
    play_with_heartbeats(test, command, steps, &[], exit)
}

/// The same, with fields that the campaign calls heartbeats.
pub fn play_with_heartbeats(
    test: &str,
    command: &[&str],
    steps: &Value,
    heartbeats: &[&str],
    exit: i32,
) -> Value {
    let house = House::new(&format!("time/{test}"), &[]);
    let workload = json!({
        "apiVersion": "trommel.dev/v1alpha1",
        "kind": "Test",
        "metadata": {"name": "time"},
        "spec": {"steps": [{"try": steps}]},
    });
    let campaign = json!({
        "apiVersion": "trommel.dev/v1alpha1",
        "kind": "Campaign",
        "metadata": {"name": "time"},
        "spec": {
            "subject": {"command": command, "clock": "virtual"},
            "workload": {"file": "workload.yaml"},
            "heartbeats": heartbeats,
        },
    });
    house.write("workload.yaml", &workload.to_string());
    house.write("campaign.yaml", &campaign.to_string());
    let ended = product::run(&house.root, ["play", "campaign.yaml", "--out", "run"]);
    ended.expect(exit);
    let mut told: Value = serde_json::from_str(&ended.stdout).expect("trommel play prints JSON");
    told["runs"][0].take()
}

fn read(path: &Path) -> History {
    let file = File::open(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    trace::file::read(file).expect("a history").history
}

/// An `apply` of a ConfigMap.
pub fn config_map(name: &str) -> Value {
    let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}});
    json!({"apply": {"resource": object}})
}

/// Time passes: in Go's form.
pub fn sleep(duration: &str) -> Value {
    json!({"sleep": {"duration": duration}})
}

impl Played {
    /// When the controller wrote a line that begins with this word, by its own clock, with which the world's must
    /// agree. All incarnations together.
    pub fn moments(&self, word: &str) -> Vec<Time> {
        let lines = self.history.records.iter().filter_map(|record| match &record.event {
            Event::Process(event) => match &event.what {
                ProcessHappening::Line { text } => Some((record.at, text)),
                _ => None,
            },
            _ => None,
        });
        let prefix = format!("{word} at ");
        let said = lines.filter_map(|(at, text)| Some((at, text.strip_prefix(&prefix)?)));
        said.map(|(at, own)| moment(at, own)).collect()
    }

    /// Fails unless the moments of this word are the first one and then these numbers of seconds later each.
    #[track_caller]
    pub fn expect(&self, word: &str, seconds: &[f64]) {
        let moments = self.moments(word);
        let first = *moments.first().unwrap_or_else(|| panic!("no {word}: {}", self.lines()));
        let found: Vec<f64> =
            moments.iter().map(|moment| moment.since(first).as_secs_f64()).collect();
        let equal = near(&found, seconds, self.creep()) && none_is_short(&found, seconds);
        assert!(equal, "{word}\n  found {found:?}\n wanted {seconds:?}\n{}", self.told);
    }

    /// By how many seconds the controller's clock may have gone ahead of the world's: a 1024th of the real time that
    /// the run took (`subject/src/vdso.rs`), which on a busy machine is more.
    pub fn creep(&self) -> f64 {
        self.told["realSeconds"].as_f64().expect("how long the run took") / 1024.0
    }

    /// All that the controller wrote.
    pub fn lines(&self) -> String {
        let mut all = String::new();
        for record in &self.history.records {
            if let Event::Process(event) = &record.event
                && let ProcessHappening::Line { text } = &event.what
            {
                all.push_str(text);
                all.push('\n');
            }
        }
        all
    }
}

/// Whether these are the moments that are wanted, as many and each near its own, on a clock that may be ahead by so
/// much.
fn near(found: &[f64], wanted: &[f64], creep: f64) -> bool {
    // A runtime may round each of its waits up to a millisecond, and works a little in between.
    let near = |(number, (found, wanted)): (usize, (&f64, &f64))| {
        (found - wanted).abs() <= 0.01 * (1 + number) as f64 + creep
    };
    found.len() == wanted.len() && found.iter().zip(wanted).enumerate().all(near)
}

/// Whether the pauses between them are all there: late by some milliseconds says nothing, but who does not wait at all
/// where milliseconds are wanted would be near enough. A tenth, because one of a schedule may come late, and the next
/// on time.
fn none_is_short(found: &[f64], wanted: &[f64]) -> bool {
    let pauses = |moments: &[f64]| -> Vec<f64> {
        moments.windows(2).map(|pair| pair[1] - pair[0]).collect()
    };
    pauses(found).iter().zip(pauses(wanted)).all(|(found, wanted)| *found >= 0.9 * wanted)
}

/// What the controller's clock showed, which is the world's time and the thousandth part of the real time that it
/// worked.
fn moment(at: Time, own: &str) -> Time {
    let said: jiff::Timestamp = own.parse().unwrap_or_else(|error| panic!("{own}: {error}"));
    let own = Time(i64::try_from(said.as_nanosecond()).expect("a date of this century"));
    let apart = (own.0 - at.0).abs();
    assert!(apart < SECOND, "the world's clock shows {}, the controller's {said}", at.rfc3339());
    own
}

/// `0, step, 2 step, …`, so many.
pub fn every(step: f64, count: usize) -> Vec<f64> {
    (0..count).map(|number| number as f64 * step).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_back_off_without_its_first_pauses_is_none() {
        let check = |found: &[f64], expect: bool| {
            let wanted = [0.0, 0.005, 0.015, 0.035, 0.075];
            let fits = near(found, &wanted, 0.0) && none_is_short(found, &wanted);
            assert_eq!(fits, expect, "{found:?}");
        };
        check(&[0.0, 0.005, 0.015, 0.035, 0.075], true);
        check(&[0.0, 0.006, 0.017, 0.038, 0.079], true);
        check(&[0.0, 0.0, 0.0, 0.02, 0.06], false);
        check(&[0.0, 0.005, 0.015, 0.015, 0.055], false);
        check(&[0.0, 0.005, 0.015, 0.035], false);
        check(&[0.0, 0.005, 0.015, 0.035, 0.2], false);
        // A schedule of which one comes late.
        assert!(none_is_short(&[0.0, 60.008, 120.0], &[0.0, 60.0, 120.0]));
    }
}
