//! Shows that the campaign moves: a bar on a terminal, elsewhere a line every ten seconds and on each finding.
//!
//! Everything goes to stderr. Events come in over a channel, so that many trial threads may tell; one thread
//! renders. That thread wakes up by the channel or by its own ten-second deadline, and nothing waits for it: a
//! slow terminal never slows a trial. Real time is used for the rate and the deadline only.
//!
//! The lines are made by [`Lines`] and the bar's texts by [`State`], both plain functions of events and times.

use std::{
    io::{IsTerminal, Write},
    sync::mpsc::{self, RecvTimeoutError},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use oracles::VerdictValue;

use crate::report::plain;

/// Without a terminal, a line comes at least this often.
const LINE_EVERY: Duration = Duration::from_secs(10);

/// How to show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Show {
    /// Nothing at all (`--quiet`).
    Nothing,
    /// Lines, for logs.
    Lines,
    /// A bar that is redrawn; `color` as NO_COLOR asks.
    Bar {
        /// Whether escape sequences for colours may be used.
        color: bool,
    },
}

impl Show {
    /// What fits this process's stderr: `--quiet` wins, then whether it is a terminal that can redraw.
    /// A non-empty NO_COLOR takes the colours away, not the bar.
    pub fn detect(quiet: bool) -> Show {
        let set = |name| std::env::var_os(name).filter(|value| !value.is_empty());
        let dumb = set("TERM").is_none_or(|term| term == "dumb");
        Show::choose(quiet, std::io::stderr().is_terminal() && !dumb, set("NO_COLOR").is_some())
    }

    fn choose(quiet: bool, terminal: bool, no_color: bool) -> Show {
        match (quiet, terminal) {
            (true, _) => Show::Nothing,
            (false, false) => Show::Lines,
            (false, true) => Show::Bar { color: !no_color },
        }
    }
}

/// What the campaign tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// A stage begins: `references`, `exploring`, `confirming`, … Counts start again at zero.
    Phase {
        /// Its name.
        name: String,
        /// How many plans or runs it has, where that is known; it may grow.
        total: Option<u64>,
    },
    /// There is more (or less) to do than thought.
    Total(u64),
    /// One plan or run is done.
    Done {
        /// What it came to; none of one that is not judged.
        verdict: Option<VerdictValue>,
    },
    /// A finding.
    Finding {
        /// Its one-sentence title.
        title: String,
    },
    /// What was not well although nothing was disturbed, a sentence each.
    Examined(Vec<String>),
    /// Anything worth a line of its own: a warning, a fall-back.
    Note(String),
}

/// The campaign's mouthpiece. Clones share it; dropping the last one ends the display.
#[derive(Debug, Clone)]
pub struct Progress {
    events: mpsc::Sender<Event>,
    thread: std::sync::Arc<Thread>,
}

#[derive(Debug)]
struct Thread(std::sync::Mutex<Option<JoinHandle<()>>>);

impl Progress {
    /// Starts the display.
    pub fn start(show: Show) -> Progress {
        let (events, inbox) = mpsc::channel();
        let display = std::thread::Builder::new().name("progress".to_owned());
        // Without a thread there is no display, which is no reason to stop a campaign.
        let handle = display.spawn(move || display_until_closed(show, &inbox)).ok();
        Progress { events, thread: std::sync::Arc::new(Thread(std::sync::Mutex::new(handle))) }
    }

    /// Tells an event. Never blocks, never fails.
    pub fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Takes the display away and waits until it is gone, so that what is printed next stands by itself.
    pub fn finish(self) {
        let Progress { events, thread } = self;
        drop(events);
        // While another clone lives the channel is open: its owner ends the display.
        if std::sync::Arc::strong_count(&thread) > 1 {
            return;
        }
        let mut handle = thread.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if let Some(handle) = handle.take() {
            let _ = handle.join();
        }
    }
}

fn display_until_closed(show: Show, inbox: &mpsc::Receiver<Event>) {
    match show {
        Show::Nothing => while inbox.recv().is_ok() {},
        Show::Lines => lines_until_closed(inbox),
        Show::Bar { color } => bar_until_closed(color, inbox),
    }
}

fn lines_until_closed(inbox: &mpsc::Receiver<Event>) {
    let start = Instant::now();
    let mut lines = Lines::default();
    loop {
        let wait = lines.due().saturating_sub(start.elapsed());
        let told = match inbox.recv_timeout(wait) {
            Ok(event) => lines.on(event, start.elapsed()),
            Err(RecvTimeoutError::Timeout) => lines.tick(start.elapsed()),
            Err(RecvTimeoutError::Disconnected) => return,
        };
        if let Some(line) = told {
            let _ = writeln!(std::io::stderr().lock(), "{line}");
        }
    }
}

fn bar_until_closed(color: bool, inbox: &mpsc::Receiver<Event>) {
    let start = Instant::now();
    let mut state = State::default();
    let bar = ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr());
    bar.enable_steady_tick(Duration::from_millis(120));
    while let Ok(event) = inbox.recv() {
        if let Some(line) = state.on(&event, start.elapsed()) {
            bar.println(line);
        }
        if let Event::Phase { .. } = event {
            bar.set_style(style(color, state.total.is_some()));
        }
        if let Some(total) = state.total {
            bar.set_length(total);
        }
        bar.set_position(state.done);
        bar.set_prefix(state.phase.clone());
        bar.set_message(state.counts(start.elapsed()));
    }
    bar.finish_and_clear();
}

fn style(color: bool, total_known: bool) -> ProgressStyle {
    let template = match (total_known, color) {
        (true, true) => "{spinner} {prefix:.bold} [{bar:24.cyan/dim}] {pos}/{len} · {msg}",
        (true, false) => "{spinner} {prefix} [{bar:24}] {pos}/{len} · {msg}",
        (false, true) => "{spinner} {prefix:.bold} {pos} · {msg}",
        (false, false) => "{spinner} {prefix} {pos} · {msg}",
    };
    ProgressStyle::with_template(template)
        .unwrap_or_else(|_| ProgressStyle::default_bar())
        .progress_chars("█▌·")
}

/// The counts of the current phase, and findings over all phases.
#[derive(Debug, Default)]
struct State {
    phase: String,
    phase_began: Duration,
    done: u64,
    total: Option<u64>,
    findings: u64,
    unknown: u64,
    violated: u64,
}

impl State {
    /// Counts an event; the line to print at once, for those that deserve one.
    fn on(&mut self, event: &Event, now: Duration) -> Option<String> {
        match event {
            Event::Phase { name, total } => {
                let findings = self.findings;
                *self =
                    State { phase: name.clone(), phase_began: now, findings, ..State::default() };
                self.total = *total;
                None
            }
            Event::Total(total) => {
                self.total = Some(*total);
                None
            }
            Event::Done { verdict } => {
                self.done += 1;
                self.unknown += u64::from(*verdict == Some(VerdictValue::Unknown));
                self.violated += u64::from(*verdict == Some(VerdictValue::Violated));
                None
            }
            Event::Finding { title } => {
                self.findings += 1;
                let (number, after) = (self.findings, now.as_secs());
                Some(format!("finding {number} after {after} s: {}", plain::text(title)))
            }
            Event::Examined(sentences) => examined(sentences),
            Event::Note(text) => Some(format!("note: {}", plain::text(text))),
        }
    }

    /// `2 findings, 7 violated, 0 unknown, 31.4/s`. Violated trials become findings when they are confirmed.
    fn counts(&self, now: Duration) -> String {
        let seconds = now.saturating_sub(self.phase_began).as_secs_f64();
        let plural = if self.findings == 1 { "" } else { "s" };
        let mut text = format!("{} finding{plural}, ", self.findings);
        if self.violated > 0 {
            text += &format!("{} violated, ", self.violated);
        }
        text += &format!("{} unknown", self.unknown);
        // A rate over less than a tenth of a second is noise.
        if self.done > 0 && seconds > 0.1 {
            text += &format!(", {:.1}/s", self.done as f64 / seconds);
        }
        text
    }
}

/// Sentences about the undisturbed runs that are shown; all of them are in the report.
const EXAMINED_MAX: usize = 8;

/// What was not well, in lines: before anything is explored, so that one who sees it can stop and mend it.
fn examined(sentences: &[String]) -> Option<String> {
    let mut lines: Vec<String> = sentences
        .iter()
        .take(EXAMINED_MAX)
        .map(|sentence| format!("undisturbed: {}", plain::text(sentence)))
        .collect();
    let left = sentences.len().saturating_sub(EXAMINED_MAX);
    lines.extend(
        (left > 0).then(|| format!("undisturbed: and {left} more, which the report names")),
    );
    (!lines.is_empty()).then(|| lines.join("\n"))
}

/// Lines for logs: one for each phase, finding and note, and one every ten seconds in between.
#[derive(Debug, Default)]
struct Lines {
    state: State,
    last: Duration,
}

impl Lines {
    /// When the next line is due if nothing else is told.
    fn due(&self) -> Duration {
        self.last + LINE_EVERY
    }

    /// A line for this event, or the regular one if it is due.
    fn on(&mut self, event: Event, now: Duration) -> Option<String> {
        let told = self.state.on(&event, now);
        if let Event::Phase { name, .. } = &event {
            self.last = now;
            return Some(format!("phase: {name}"));
        }
        told.or_else(|| self.tick(now))
    }

    /// The regular line, if it is due.
    fn tick(&mut self, now: Duration) -> Option<String> {
        if now < self.due() || self.state.phase.is_empty() {
            return None;
        }
        self.last = now;
        let State { phase, done, total, .. } = &self.state;
        let total = total.map(|total| format!("/{total}")).unwrap_or_default();
        Some(format!("{phase}: {done}{total} done, {}", self.state.counts(now)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn phase(name: &str, total: Option<u64>) -> Event {
        Event::Phase { name: name.to_owned(), total }
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_line_every_ten_seconds_and_on_each_finding() {
        let mut lines = Lines::default();
        let told: Vec<Option<String>> = vec![
            lines.on(phase("exploring", Some(40)), seconds(0)),
            lines.on(Event::Done { verdict: None }, seconds(1)),
            lines.on(Event::Done { verdict: Some(VerdictValue::Unknown) }, seconds(2)),
            lines.on(Event::Finding { title: "two Foos".to_owned() }, seconds(3)),
            lines.tick(seconds(9)),
            lines.tick(seconds(10)),
            lines.on(Event::Total(50), seconds(19)),
            lines.on(Event::Done { verdict: Some(VerdictValue::Violated) }, seconds(20)),
        ];
        let told: Vec<&str> = told.iter().flatten().map(String::as_str).collect();
        assert_eq!(
            told,
            [
                "phase: exploring",
                "finding 1 after 3 s: two Foos",
                "exploring: 2/40 done, 1 finding, 1 unknown, 0.2/s",
                "exploring: 3/50 done, 1 finding, 1 violated, 1 unknown, 0.1/s",
            ]
        );
    }

    #[test]
    fn a_phase_starts_counting_again_but_keeps_findings() {
        let mut state = State::default();
        state.on(&phase("exploring", Some(4)), seconds(0));
        state.on(&Event::Done { verdict: Some(VerdictValue::Unknown) }, seconds(1));
        state.on(&Event::Finding { title: String::new() }, seconds(1));
        state.on(&phase("confirming", None), seconds(2));
        assert_eq!((state.done, state.total, state.findings, state.unknown), (0, None, 1, 0));
    }

    #[test]
    fn what_to_show() {
        let check = |quiet, terminal, no_color, expect| {
            assert_eq!(Show::choose(quiet, terminal, no_color), expect);
        };
        check(true, true, false, Show::Nothing);
        check(false, false, false, Show::Lines);
        check(false, true, false, Show::Bar { color: true });
        check(false, true, true, Show::Bar { color: false });
    }

    #[test]
    fn many_threads_may_tell_and_finish_waits() {
        let progress = Progress::start(Show::Nothing);
        let other = progress.clone();
        std::thread::spawn(move || other.tell(Event::Done { verdict: None })).join().unwrap();
        progress.tell(Event::Note("x".to_owned()));
        progress.finish();
    }

    #[test]
    fn styles_are_valid_templates() {
        for (color, total) in [(false, false), (false, true), (true, false), (true, true)] {
            let _ = style(color, total);
        }
    }
}
