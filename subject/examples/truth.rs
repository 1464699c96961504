//! Is quiet true? `truth EVENTS PROGRAM ARGS…` pushes events, one whenever all is quiet, to a program that logs its
//! own busy periods by the machine's monotonic clock, and holds each report of quiet against that log.
//!
//! Prints JSON: how often quiet was reported before the event was handled, how long after the end of the work
//! it was reported, and how much of one core waiting takes while the program is busy for long. For these the program's
//! clock is left alone; then as many events are pushed once more as in a trial, on one processor and with a clock that is
//! moved, and only what was too early is counted. The server's answers are part of the time that is measured.
#![allow(clippy::print_stdout)]

#[path = "../tests/machine/server.rs"]
#[allow(dead_code)]
mod server;

use server::{Server, on_one_thread};
use subject::{Isolation, Launch};
use tokio::net::unix::pipe::Receiver;

fn steady() -> i64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}

/// Nanoseconds of processor time of this thread.
fn used() -> u64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split(' ').next().and_then(|word| word.parse().ok()).unwrap_or(0)
}

fn main() {
    let mut arguments = std::env::args().skip(1);
    let events: usize = arguments.next().and_then(|n| n.parse().ok()).expect("a number of events");
    let launch = |command: Vec<String>| Launch {
        command,
        dir: "/".into(),
        env: std::env::vars().collect(),
        isolation: Isolation::Namespaces,
        clock: subject::Pace::Untouched,
        port: 18080,
        service_account: None,
        determinism: Default::default(),
    };
    let mut watcher = launch(arguments.collect());
    let (too_early, reports) = push(&watcher, events);
    let late = |(reported, line): &(i64, String)| {
        let end = line.trim_end().split(' ').nth(2).and_then(|word| word.parse::<i64>().ok());
        reported - end.unwrap_or_else(|| panic!("the program said {line:?}"))
    };
    let mut late_ns: Vec<i64> = reports.iter().map(late).collect();
    watcher.clock = subject::Pace::Virtual { ahead: 86_400_000_000_000 };
    watcher.determinism.processors = Some(1);
    let (in_trials, _) = {
        let _pinned = subject::Pinned::new();
        push(&watcher, events)
    };
    late_ns.sort_unstable();
    let ms = |share: f64| late_ns[((events - 1) as f64 * share) as usize] as f64 / 1e6;
    println!(
        "{{\"events\": {events}, \"tooEarly\": {too_early}, \"tooEarlyInTrials\": {in_trials}, \"medianMs\": {:.3}, \"p99Ms\": {:.3}, \"maximumMs\": {:.3}, \"waitingPercent\": {:.2}}}",
        ms(0.5),
        ms(0.99),
        ms(1.0),
        waiting_percent(&launch(["sh", "-c", "while :; do :; done"].map(String::from).to_vec())),
    );
}

/// Pushes events: how often quiet was reported before the event was handled; and for each, when it was reported, and
/// what the program said.
fn push(watcher: &Launch, events: usize) -> (usize, Vec<(i64, String)>) {
    let (mut too_early, mut reports) = (0, Vec::with_capacity(events));
    on_one_thread(async {
        let mut started = subject::start(watcher).expect("it starts");
        let server = Server::serve(started.listener);
        let mut said =
            Said { pipe: Receiver::from_owned_fd(started.output).expect("a pipe"), text: vec![] };
        server.requested("/watch").await;
        quiet(&mut started.process, &server).await;
        for event in 0..events {
            server.push(&event.to_string());
            quiet(&mut started.process, &server).await;
            let reported = steady();
            too_early += usize::from(!said.now());
            reports.push((reported, said.line().await));
        }
    });
    (too_early, reports)
}

/// What the program writes.
struct Said {
    pipe: Receiver,
    text: Vec<u8>,
}

impl Said {
    /// Reads what is there; whether that is a whole line.
    fn now(&mut self) -> bool {
        // Readiness is noted at the wait below: an attempt without it would not look.
        let _ = self.pipe.try_read_buf(&mut self.text);
        self.text.contains(&b'\n')
    }

    async fn line(&mut self) -> String {
        while !self.now() {
            self.pipe.readable().await.expect("a pipe");
        }
        let end = self.text.iter().position(|byte| *byte == b'\n').unwrap_or_default();
        let line = self.text.drain(..=end).collect();
        String::from_utf8(line).expect("text")
    }
}

async fn quiet(process: &mut subject::Process, server: &Server) -> subject::Quiet {
    let watched = &mut [subject::Watched::new(process, || server.flight())];
    subject::quiet(watched).await.expect("it becomes quiet")
}

/// Share of one core that waiting takes beside a program that is never quiet.
fn waiting_percent(busy: &Launch) -> f64 {
    const WAIT: std::time::Duration = std::time::Duration::from_secs(2);
    on_one_thread(async {
        let mut started = subject::start(busy).expect("it starts");
        let server = Server::serve(started.listener);
        let (before, began) = (used(), steady());
        let never = quiet(&mut started.process, &server);
        let _ = tokio::time::timeout(WAIT, never).await;
        (used() - before) as f64 * 100.0 / (steady() - began) as f64
    })
}
