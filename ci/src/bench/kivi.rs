//! How long Kivi's cases take here: growing to the first violation, and clean sweeps; beside Kivi's own figures.

use std::{
    process::{Command, Stdio},
    time::Instant,
};

use anyhow::{Context, ensure};

use crate::{run::Runner, table};

/// Kivi's seconds to the first violation of each case, on two cores.
const KIVI_SECONDS: [(&str, f64); 8] = [
    ("c1", 4.3),
    ("c2", 2.9),
    ("c3", 92.6),
    ("c4", 6.6),
    ("c5", 3.1),
    ("c6", 3.1),
    ("c7", 3.2),
    ("c8", 97.4),
];
/// What a set-up takes Kivi, most of it compiling what SPIN generates.
const KIVI_SECONDS_EACH: f64 = 1.5;
/// At the granularity write, a case gets so many seconds.
const WRITE_SECONDS_MAX: &str = "60";

/// What a command printed: which set-up, how many set-ups and states, and how long it took.
#[derive(Debug, PartialEq)]
struct Figures {
    verdict: String,
    set_ups: u32,
    states: u64,
    seconds: f64,
}

/// Measures and prints both tables.
///
/// # Errors
/// A case can't be checked.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let (mut growing, mut clean) = (vec![], vec![]);
    for (case, kivi) in KIVI_SECONDS {
        let drain = check(runner, &["-c", case])?;
        let write = ["-c", case, "--granularity", "write", "-to", WRITE_SECONDS_MAX];
        let write = check(runner, &write)?;
        let seconds = |of: &Figures| format!("{:.2}", of.seconds);
        growing.push(
            [case, &kivi.to_string(), &seconds(&drain), &drain.states.to_string(), &drain.verdict]
                .into_iter()
                .chain([&*seconds(&write), &write.states.to_string(), &write.verdict])
                .map(str::to_owned)
                .collect(),
        );
        let swept = check(runner, &["-c", case, "-cn"])?;
        let kivi = f64::from(swept.set_ups) * KIVI_SECONDS_EACH;
        let states = swept.states.to_string();
        clean.push(vec![
            case.to_owned(),
            swept.set_ups.to_string(),
            format!("{kivi:.0}"),
            seconds(&swept),
            states,
            swept.verdict,
        ]);
    }
    let head =
        ["to the first violation", "Kivi, s", "drain, s", "states", "", "write, s", "states", ""];
    println!("\n{}", table::markdown(&head, &growing));
    let head = ["clean, N=3", "set-ups", "Kivi, about, s", "drain, s", "states", ""];
    println!("{}", table::markdown(&head, &clean));
    runner.pass();
    Ok(())
}

fn check(runner: &Runner, arguments: &[&str]) -> anyhow::Result<Figures> {
    let began = Instant::now();
    let output = Command::new(runner.binaries.join("trommel"))
        .args(["model", "kivi"])
        .args(arguments)
        .stderr(Stdio::inherit())
        .output()
        .context("cannot start trommel")?;
    let seconds = began.elapsed().as_secs_f64();
    let status = output.status;
    ensure!(matches!(status.code(), Some(0 | 2 | 100)), "{arguments:?}: {status}");
    let said = String::from_utf8(output.stdout)?;
    read(&said, seconds).with_context(|| format!("{arguments:?} said {said}"))
}

/// `violated: …: smallest set-up <1, 3>, 3 of 36`, and `3 of 36 set-ups, 377 states (…), 0.32 s`.
fn read(said: &str, seconds: f64) -> Option<Figures> {
    let verdict = said.lines().next()?;
    let verdict = match verdict.split_once("smallest set-up ") {
        Some((_, set_up)) => set_up,
        None => verdict.split([':', ',']).next()?,
    };
    let counts = said.lines().find(|line| line.contains(" states"))?;
    let (set_ups, rest) = counts.split_once(" of ")?;
    let (_, states) = rest.split_once(" set-ups, ")?;
    Some(Figures {
        verdict: verdict.to_owned(),
        set_ups: set_ups.parse().ok()?,
        states: states.split(' ').next()?.parse().ok()?,
        seconds,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_trommel_says_is_read() {
        let check = |said: &str, verdict: &str, set_ups: u32, states: u64| {
            let verdict = verdict.to_owned();
            assert_eq!(read(said, 1.0), Some(Figures { verdict, set_ups, states, seconds: 1.0 }));
        };
        check(
            "violated: x of app: smallest set-up <1, 3>, 3 of 36\nhow: granularity drain, mode parity\n\
             3 of 36 set-ups, 377 states (140 in the smallest that violates), 0.32 s\n",
            "<1, 3>, 3 of 36",
            3,
            377,
        );
        check(
            "clean, below the confident size (6 nodes): all 36 set-ups, up to 3 nodes\nheld: x\n\
             36 of 36 set-ups, 9 states, 0.32 s\n",
            "clean",
            36,
            9,
        );
    }
}
