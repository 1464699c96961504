//! How long things take: one look, start to quiet, start to kill. `cargo run --release --example
//! measure -- PROGRAM ARGS…` The program should talk to nobody, or to http://127.0.0.1:18080 where
//! an echoing server listens.
#![allow(clippy::print_stdout)]

#[path = "../tests/machine/server.rs"]
#[allow(dead_code)]
mod server;

use std::time::{Duration, Instant};

use server::{Server, on_one_thread};
use subject::{Isolation, Launch, Started, Watched};

const ROUNDS: usize = 30;
const LOOKS: usize = 1000;
const JUMPS: usize = 100;

fn main() {
    let command: Vec<String> = std::env::args().skip(1).collect();
    let launch = Launch {
        command,
        dir: "/".into(),
        env: std::env::vars().collect(),
        isolation: Isolation::Namespaces,
        clock: subject::Pace::Virtual { ahead: 0 },
        port: 18080,
        service_account: None,
        determinism: Default::default(),
    };
    let (mut start, mut still, mut kill, mut look, mut jump) =
        (vec![], vec![], vec![], vec![], vec![]);
    let mut passed = Duration::ZERO;
    for _ in 0..ROUNDS {
        on_one_thread(async {
            let begin = Instant::now();
            let Started { mut process, listener, output: _output, .. } =
                subject::start(&launch).expect("it starts");
            start.push(begin.elapsed());
            let server = Server::serve(listener);
            let flight = || server.flight();
            subject::quiet(&mut [Watched::new(&mut process, flight)])
                .await
                .expect("it becomes quiet");
            still.push(begin.elapsed());
            for _ in 0..LOOKS {
                let flight = flight();
                let begin = Instant::now();
                std::hint::black_box(process.look(&flight));
                look.push(begin.elapsed());
            }
            // From timer to timer, for programs that have one after the other.
            for _ in 0..JUMPS {
                let begin = Instant::now();
                let Ok(found) = subject::quiet(&mut [Watched::new(&mut process, flight)]).await
                else {
                    break;
                };
                let Some(deadline) = found.deadline else { break };
                process.advance(deadline).expect("its clock moves");
                jump.push(begin.elapsed());
                passed += deadline;
            }
            let begin = Instant::now();
            process.kill();
            kill.push(begin.elapsed());
        });
    }
    for (name, times) in [
        ("start", start),
        ("start to quiet", still),
        ("one look", look),
        ("quiet and jump", jump),
        ("kill", kill),
    ] {
        report(name, times);
    }
    println!("{:>15}: {:.0} s", "passed virtually", passed.as_secs_f64());
}

fn report(name: &str, mut times: Vec<Duration>) {
    times.sort();
    let at = |share: f64| {
        times.get(((times.len() as f64 - 1.0) * share) as usize).copied().unwrap_or_default()
    };
    println!("{name:>15}: median {:?}, 99 % {:?}, {} times", at(0.5), at(0.99), times.len());
}
