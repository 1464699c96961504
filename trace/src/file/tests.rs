//! Round trips, crashes of the writer, foreign files, stored samples.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::{
    Actor, Answer, Body, Call, CallId, Change, Commit, ConnectionId, Cursor, Delivery,
    DeliveryKind, Event, Fate, ObjectKey, ProcessEvent, ProcessHappening, Revision, Settled,
    StepEvent, StepState, Time, Verb,
};

fn records(events: Vec<Event>) -> History {
    let record = |(at, event)| Record {
        sequence: at as u64,
        at: Time(1_767_225_600_000_000_000 + at as i64),
        real_us: 7 * at as u64,
        event,
    };
    History { records: events.into_iter().enumerate().map(record).collect() }
}

/// One of each kind of event. The stored samples hold exactly this.
fn sample() -> History {
    let key: ObjectKey = "foos.example.com/default/foo-1".parse().unwrap();
    let object = Arc::new(json!({"kind": "Foo", "metadata": {"name": "foo-1"}}));
    let call = Call {
        id: CallId(1),
        actor: Actor::Subject(0),
        incarnation: 1,
        connection: ConnectionId(2),
        verb: Verb::Create,
        resource: Some(key.resource.clone()),
        version: "v1".into(),
        namespace: "default".into(),
        name: String::new(),
        subresource: "status".into(),
        method: "POST".into(),
        uri: "/apis/example.com/v1/namespaces/default/foos?x=ü".into(),
        content_type: "application/json".into(),
        user_agent: "test".into(),
        body: Body::Json(object.clone()),
        raw: None,
    };
    let answer = Answer {
        call: CallId(1),
        fate: Fate::Lost,
        status: 201,
        revision: Some(Revision(5)),
        body: Body::Opaque { content_type: "text/plain".into(), length: 3 },
        injected: false,
    };
    let commit = Commit {
        revision: Revision(5),
        change: Change::Created,
        key,
        object: object.clone(),
        actor: Actor::Environment("gc".into()),
        call: Some(CallId(1)),
        heartbeat: false,
    };
    let delivery = Delivery {
        watch: CallId(9),
        index: 3,
        kind: DeliveryKind::Added,
        revision: Some(Revision(5)),
        object_name: "default/foo-1".into(),
        object: Some(object.clone()),
    };
    let process =
        |what| Event::Process(ProcessEvent { actor: Actor::Subject(0), incarnation: 0, what });
    let step = |state| {
        Event::Step(StepEvent {
            cursor: Cursor { operation: 1, document: 2 },
            title: "step 1".into(),
            state,
        })
    };
    records(vec![
        process(ProcessHappening::Started { command: vec!["a".into(), "b c".into()], pid: 7 }),
        Event::Call(call),
        Event::Answer(answer),
        Event::Commit(commit),
        Event::Delivery(delivery),
        process(ProcessHappening::Line { text: "line \u{1b}[0m".into() }),
        process(ProcessHappening::Frozen),
        process(ProcessHappening::Thawed),
        process(ProcessHappening::Killed),
        process(ProcessHappening::Exited { code: None, signal: Some(9) }),
        step(StepState::Started),
        step(StepState::Done),
        step(StepState::Failed { message: "no".into(), unmet: None }),
        Event::Clock { from: Time(5) },
        Event::Perturbed { index: 0, text: "killed".into() },
        Event::Note { text: "noted".into() },
        Event::Settled(Settled {
            cursor: Cursor { operation: 2, document: 0 },
            end: true,
            revision: Revision(5),
            pending: vec!["a timer".into()],
            state: vec![object],
        }),
    ])
}

fn header() -> Header {
    Header::new("trommel 0.1.0", json!({"plan": "p1"}))
}

fn written(history: &History, batch: usize) -> Vec<u8> {
    let mut writer = Writer::new(Vec::new(), &header(), batch).unwrap();
    history.records.iter().for_each(|record| writer.write(record).unwrap());
    writer.finish().unwrap()
}

/// Bytes that `operating system` has seen, while the writer lives on.
#[derive(Clone, Default)]
struct Disk(Arc<std::sync::Mutex<Vec<u8>>>);

impl Write for Disk {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn every_record_handed_over_survives_a_crash() {
    for batch in [1, 3] {
        let (disk, history) = (Disk::default(), sample());
        let mut writer = Writer::new(disk.clone(), &header(), batch).unwrap();
        for (at, record) in history.records.iter().enumerate() {
            writer.write(record).unwrap();
            let seen = disk.0.lock().unwrap().clone();
            let stored = read(&seen[..]).unwrap();
            let safe = (at + 1) / batch * batch;
            assert_eq!(stored.history.records, history.records[..safe], "batch {batch}, {at}");
            assert_eq!(stored.truncated.unwrap().records, safe as u64);
        }
    }
}

#[test]
fn a_file_cut_anywhere_gives_a_prefix() {
    let history = sample();
    let bytes = written(&history, 2);
    let mut most = 0;
    for end in 0..bytes.len() {
        match read(&bytes[..end]) {
            Ok(stored) => {
                let count = stored.history.records.len();
                assert_eq!(stored.history.records, history.records[..count]);
                // The footer may be complete while the frame's own end is not.
                if let Some(truncated) = stored.truncated {
                    assert_eq!(truncated.records, count as u64);
                }
                assert!(count >= most, "a longer file has no fewer records");
                most = count;
            }
            Err(error) => assert_eq!(most, 0, "{error}"),
        }
    }
    assert_eq!(read(&bytes[..]).unwrap().truncated, None);
}

#[test]
fn damage_is_no_record() {
    let bytes = written(&sample(), 1);
    let mut damaged = 0;
    for at in 0..bytes.len() {
        let mut bytes = bytes.clone();
        bytes[at] ^= 0x55;
        // Whatever comes out, it is no panic; a changed byte inside a literal may read as another text.
        if let Ok(stored) = read(&bytes[..]) {
            damaged += usize::from(stored.truncated.is_some());
        }
    }
    assert!(damaged > 0);
}

#[test]
fn foreign_files_are_named() {
    let zip = |text: &str| zstd::encode_all(text.as_bytes(), 0).unwrap();
    let check = |bytes: &[u8], expect: &str| {
        let error = read(bytes).expect_err(expect);
        assert!(error.to_string().contains(expect), "{error} / {expect}");
    };
    check(b"", "not a history file: the end of the file");
    check(b"{\"format\":\"trommel.dev/history\"}\n", "undecodable bytes");
    check(&zip("hello\n"), "its first line is no JSON");
    check(&zip("{\"format\":\"other\",\"version\":1}\n"), "does not name trommel.dev/history");
    check(
        &zip("{\"format\":\"trommel.dev/history\",\"version\":2,\"madeBy\":\"trommel 9.0.0\"}\n"),
        "format version 2, but this program reads versions up to 1: made by trommel 9.0.0",
    );
    check(&zip("{\"format\":\"trommel.dev/history\",\"version\":1}\n"), "its header is damaged");
    check(
        &zip("{\"format\":\"trommel.dev/history\",\"version\":1,\"madeBy\":\"x\"}"),
        "half a line",
    );
}

#[test]
fn gaps_end_a_history() {
    let mut history = sample();
    history.records.remove(3);
    let stored = read(&written(&history, 1)[..]).unwrap();
    assert_eq!(stored.history.records.len(), 3);
    assert_eq!(stored.truncated.unwrap().reason, "record 4 where record 3 should be");
}

/// Each format version's sample, as its writer wrote it. Add a line with each version; never rewrite one.
const SAMPLES: [(u32, &[u8]); 1] = [(1, include_bytes!("../../samples/history-1.jsonl.zst"))];

#[test]
fn every_version_ever_written_is_read() {
    assert_eq!(SAMPLES.map(|(version, _)| version).to_vec(), (1..=VERSION).collect::<Vec<_>>());
    for (version, bytes) in SAMPLES {
        let stored = read(bytes).unwrap();
        assert_eq!(stored.header.version, version);
        assert_eq!(stored.header.about, header().about);
        assert_eq!(stored.truncated, None);
        assert_eq!(stored.history, sample(), "version {version}");
    }
}

/// What this code writes is what the stored sample of its version holds, line for line: a changed field is
/// a new version.
#[test]
fn the_written_lines_are_those_of_this_version() {
    let lines = |bytes: &[u8]| String::from_utf8(zstd::decode_all(bytes).unwrap()).unwrap();
    let (_, stored) = SAMPLES[VERSION as usize - 1];
    assert_eq!(lines(&written(&sample(), 1)), lines(stored));
}

proptest! {
    #[test]
    fn round_trip(texts in proptest::collection::vec(".*", 0..20), batch in 1..5_usize) {
        let events = texts.into_iter().map(|text| Event::Note { text }).collect();
        let history = records(events);
        let stored = read(&written(&history, batch)[..]).unwrap();
        prop_assert_eq!(&stored.history, &history);
        prop_assert_eq!(stored.truncated, None);
        let mut whole = Vec::new();
        write(&mut whole, &header(), &history).unwrap();
        prop_assert_eq!(read(&whole[..]).unwrap().history, history);
    }
}
