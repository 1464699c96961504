//! What becomes of what a controller has to tell (`events_cache_test.go`).

use trace::Revision;

use super::*;

const NOW: Time = Time(1_767_225_600_000_000_000);

fn after(seconds: u64) -> Time {
    NOW.plus(Duration::from_secs(seconds))
}

fn told(message: &str) -> Note {
    Note {
        key: "replicasets.apps/default/web".parse().expect("a key"),
        uid: "u".into(),
        revision: Revision(7),
        is_warning: false,
        reason: "SuccessfulCreate".into(),
        message: message.to_owned(),
        action: "",
    }
}

fn tell(recorder: &mut Recorder, message: &str, now: Time) {
    let instant = now.0.unsigned_abs() + recorder.waiting.len() as u64;
    let kind = ("ReplicaSet", "apps/v1");
    recorder.note(Controller::ReplicaSet, &told(message), kind, (now, instant));
}

/// Of each write whether it changes what is there, count and message.
fn written(recorder: &Recorder) -> Vec<(bool, u64, String)> {
    let one = |write: &Write| {
        let message = write.event["message"].as_str().expect("a text").to_owned();
        (write.change.is_some(), write.event["count"].as_u64().expect("a number"), message)
    };
    recorder.waiting.iter().map(one).collect()
}

#[test]
fn the_same_words_count() {
    let mut recorder = Recorder::default();
    tell(&mut recorder, "a", NOW);
    tell(&mut recorder, "b", NOW);
    tell(&mut recorder, "a", after(1));
    let text = |text: &str| text.to_owned();
    assert_eq!(
        written(&recorder),
        [(false, 1, text("a")), (false, 1, text("b")), (true, 2, text("a"))]
    );
    let [first, other, again] = [0, 1, 2].map(|at: usize| &recorder.waiting[at]);
    assert_eq!(first.key, again.key);
    assert_ne!(first.key, other.key);
    assert_eq!(again.event["firstTimestamp"], json!(NOW.rfc3339()));
    assert_eq!(again.event["lastTimestamp"], json!(after(1).rfc3339()));
}

#[test]
fn many_of_a_kind_are_told_together() {
    let mut recorder = Recorder::default();
    for number in 0..12 {
        tell(&mut recorder, &format!("{number:02}"), NOW);
    }
    let last = |at: usize| written(&recorder)[at].clone();
    assert_eq!(last(8), (false, 1, "08".to_owned()));
    assert_eq!(last(9), (false, 1, "(combined from similar events): 09".to_owned()));
    assert_eq!(last(11), (true, 3, "(combined from similar events): 11".to_owned()));
    // Ten minutes later they are forgotten.
    tell(&mut recorder, "new", after(601));
    assert_eq!(written(&recorder)[12], (false, 1, "new".to_owned()));
}

#[test]
fn who_says_too_much_is_not_heard() {
    let mut recorder = Recorder::default();
    for _ in 0..30 {
        tell(&mut recorder, "a", NOW);
    }
    assert_eq!(recorder.waiting.len(), 25);
    tell(&mut recorder, "a", after(299));
    assert_eq!(recorder.waiting.len(), 25);
    tell(&mut recorder, "a", after(300));
    assert_eq!(recorder.waiting.len(), 26);
    // It is counted, whether it is heard or not.
    assert_eq!(written(&recorder)[25].1, 32);
    recorder.forget(&"other".into());
    assert_eq!(recorder.told.size(), 1);
    recorder.forget(&"u".into());
    assert_eq!(recorder.told.size(), 0);
}
