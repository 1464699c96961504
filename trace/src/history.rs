//! Everything that happened in one run, in one order.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    call::{Answer, Call},
    commit::Commit,
    heartbeat::{Heartbeats, Pulse},
    key::ObjectKey,
    process::{ProcessEvent, ProcessHappening},
    step::{Settled, StepEvent},
    time::Time,
    watch::Delivery,
    webhook::Webhook,
};

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Event {
    /// A request was received in full.
    Call(Call),
    /// A call ended.
    Answer(Answer),
    /// The store moved by one revision.
    Commit(Commit),
    /// A watch event reached a client's socket.
    Delivery(Delivery),
    /// The API server called a webhook.
    Webhook(Webhook),
    /// Something happened to a subject process.
    Process(ProcessEvent),
    /// The workload moved.
    Step(StepEvent),
    /// All was quiet over the horizon.
    Settled(Settled),
    /// The world's clock jumped to this record's time; before, it showed `from`.
    Clock {
        /// What it showed before.
        from: Time,
    },
    /// Perturbation `index` of the plan was carried out.
    Perturbed {
        /// Position in the plan's list.
        index: u32,
        /// What was done, in words.
        text: String,
    },
    /// Anything worth telling the reader that no oracle needs: a fall-back, a limit reached.
    Note {
        /// The sentence.
        text: String,
    },
}

/// An event and its place in the one order.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Record {
    /// Position, from 0, without gaps.
    pub sequence: u64,
    /// The world's time.
    pub at: Time,
    /// Microseconds of real time since the recorder was made: for timelines, never for verdicts.
    pub real_us: u64,
    /// What happened.
    pub event: Event,
}

/// All that happened in one run.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct History {
    /// In order of `sequence`.
    pub records: Vec<Record>,
}

impl History {
    /// Commits in order.
    pub fn commits(&self) -> impl Iterator<Item = &Commit> {
        self.records.iter().filter_map(|record| match &record.event {
            Event::Commit(commit) => Some(commit),
            _ => None,
        })
    }

    /// Calls in order of receipt.
    pub fn calls(&self) -> impl Iterator<Item = &Call> {
        self.records.iter().filter_map(|record| match &record.event {
            Event::Call(call) => Some(call),
            _ => None,
        })
    }

    /// Settled moments in order.
    pub fn settles(&self) -> impl Iterator<Item = &Settled> {
        self.records.iter().filter_map(|record| match &record.event {
            Event::Settled(settled) => Some(settled),
            _ => None,
        })
    }

    /// Position of the record of the last start of the subject: of the first of its replicas that was started when none
    /// ran. The beginning if there is none.
    pub fn last_start(&self) -> usize {
        let (mut running, mut last) = (BTreeSet::new(), 0);
        for (position, record) in self.records.iter().enumerate() {
            let Event::Process(process) = &record.event else { continue };
            match process.what {
                ProcessHappening::Started { .. } => {
                    running.remove(&process.actor);
                    if running.is_empty() {
                        last = position;
                    }
                    running.insert(&process.actor);
                }
                ProcessHappening::Killed | ProcessHappening::Exited { .. } => {
                    running.remove(&process.actor);
                }
                _ => {}
            }
        }
        last
    }

    /// Position of the first record after the last perturbation that was carried out; the beginning if there is none.
    pub fn after_last_perturbation(&self) -> usize {
        let perturbed = |event: &Event| matches!(event, Event::Perturbed { .. });
        let last = self.records.iter().rposition(|record| perturbed(&record.event));
        last.map_or(0, |at| at + 1)
    }

    /// The answer to a call, if it ended.
    pub fn answer(&self, call: crate::CallId) -> Option<&Answer> {
        self.records.iter().find_map(|record| match &record.event {
            Event::Answer(answer) if answer.call == call => Some(answer),
            _ => None,
        })
    }
}

/// Reads the two clocks for a [`Recorder`]: the world's time, and microseconds of real time.
/// `trace` reads no clock itself.
pub type Clocks = dyn Fn() -> (Time, u64) + Send + Sync;

/// Takes each record as it happens, for example to write it to a file.
pub type Sink = dyn FnMut(&Record) + Send;

/// Puts the events of many tasks into one order. Cloning shares it.
#[derive(Clone)]
pub struct Recorder {
    inner: Arc<Mutex<Inner>>,
    clocks: Arc<Clocks>,
}

struct Inner {
    history: History,
    sink: Option<Box<Sink>>,
    pulse: Pulse,
}

impl Recorder {
    /// Records into memory, and into `sink` where there is one.
    pub fn new(clocks: Arc<Clocks>, sink: Option<Box<Sink>>) -> Recorder {
        Recorder {
            inner: Arc::new(Mutex::new(Inner {
                history: History::default(),
                sink,
                pulse: Pulse::default(),
            })),
            clocks,
        }
    }

    /// Marks commits that are beats from now on; the store holds these objects.
    pub fn expect_heartbeats<'a>(
        &self,
        heartbeats: Heartbeats,
        objects: impl IntoIterator<Item = (&'a ObjectKey, &'a Arc<Value>)>,
    ) {
        self.lock().pulse = Pulse::new(heartbeats, objects);
    }

    /// Appends an event; returns its sequence number.
    pub fn record(&self, mut event: Event) -> u64 {
        let mut inner = self.lock();
        let (at, real_us) = (self.clocks)();
        if let Event::Commit(commit) = &mut event {
            commit.heartbeat = inner.pulse.beats(commit, at);
        }
        let sequence = inner.history.records.len() as u64;
        let record = Record { sequence, at, real_us, event };
        if let Some(sink) = &mut inner.sink {
            sink(&record);
        }
        inner.history.records.push(record);
        sequence
    }

    /// Runs `look` on what has been recorded so far, without copying it.
    pub fn with<T>(&self, look: impl FnOnce(&History) -> T) -> T {
        look(&self.lock().history)
    }

    /// Takes the history out and closes the sink; later events go to a new, empty history.
    pub fn take(&self) -> History {
        let mut inner = self.lock();
        inner.sink = None;
        std::mem::take(&mut inner.history)
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Inner> {
        // A panic while recording leaves a whole prefix behind, which is what readers rely on.
        self.inner.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}
