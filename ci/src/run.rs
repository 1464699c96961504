//! Runs commands, streams what they say, and remembers what failed.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use anyhow::Context;

use crate::{
    count::{Counter, Counts},
    watched,
};

/// How long a run may take where `CI=true`. What is under way then is killed, what was to come is not begun, and all of
/// it counts as failed: a machine that is taken away in mid-run would say nothing at all.
const LIMIT: Duration = Duration::from_secs(80 * 60);

/// Carries counts and failures from stage to stage.
#[derive(Debug)]
pub struct Runner {
    /// The repository's root: every command starts there.
    pub root: PathBuf,
    /// Where the release binaries are: this program is one of them.
    pub binaries: PathBuf,
    /// `CI=true`: what is missing fails instead of being skipped.
    pub in_ci: bool,
    /// All of it so far.
    pub counts: Counts,
    failed: Vec<String>,
    /// What the failed tests said.
    failures: Vec<String>,
    skipped: Vec<String>,
    start: Instant,
    /// For this crate's own tests, whose output is read by a runner too.
    silent: bool,
}

/// What a command's outcome is counted as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CountedAs {
    /// One check, by its exit code.
    OneCheck,
    /// As many as its `test result:` lines say.
    Tests,
    /// Nothing unless it fails: a preparation.
    Preparation,
}

impl Runner {
    /// A runner that has run nothing.
    ///
    /// # Errors
    /// When this program does not know where it is.
    pub fn new() -> anyhow::Result<Runner> {
        let root =
            Path::new(env!("CARGO_MANIFEST_DIR")).parent().context("ci has a parent folder")?;
        let own = std::env::current_exe().context("cannot tell where this program is")?;
        let binaries = own.parent().context("a program is in a folder")?;
        Ok(Runner {
            root: root.to_owned(),
            binaries: binaries.to_owned(),
            in_ci: std::env::var("CI").is_ok_and(|value| value == "true"),
            counts: Counts::default(),
            failed: Vec::new(),
            failures: Vec::new(),
            skipped: Vec::new(),
            start: Instant::now(),
            silent: false,
        })
    }

    /// Runs one command, streaming its output. Whether it succeeded.
    pub fn run(&mut self, name: &str, command: &[&str], counted: CountedAs) -> bool {
        self.say(&format!("\n=== {name}: {}", command.join(" ")));
        let mut counter = Counter::default();
        let ended = self.stream(command, |line| {
            self.say(line);
            counter.line(line);
        });
        let problem = match ended {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) if counter.under_way().is_empty() => Some(format!("{error:#}")),
            Err(error) => Some(format!("{error:#}; under way: {}", counter.under_way().join(", "))),
        };
        self.count(name, problem, counted, counter)
    }

    fn count(
        &mut self,
        name: &str,
        problem: Option<String>,
        counted: CountedAs,
        counter: Counter,
    ) -> bool {
        let mut counts = Counts::default();
        if counted == CountedAs::Tests {
            counts = counter.counts();
            let skips = counter.skips.into_iter().map(|reason| format!("{name}: {reason}"));
            self.skipped.extend(skips);
            self.failures.extend(counter.failures);
        }
        match &problem {
            Some(problem) => {
                // A command can fail without a failed test: it did not build, or a test process died.
                counts.failed = counts.failed.max(1);
                self.failed.push(format!("{name} ({problem})"));
            }
            None if counted == CountedAs::OneCheck => counts.passed += 1,
            None => {}
        }
        self.counts.add(counts);
        problem.is_none()
    }

    fn stream(&self, command: &[&str], line: impl FnMut(&str)) -> anyhow::Result<ExitStatus> {
        let (program, arguments) = command.split_first().context("an empty command")?;
        let mut command = Command::new(self.program(program));
        // What `cargo ci` was told of its own package would make a cargo below build half of all anew: build scripts
        // watch the variable.
        let told =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars().filter(|(name, _)| told(name)) {
            command.env_remove(name);
        }
        command.args(arguments).current_dir(&self.root);
        watched::run(command, self.deadline(), line)?.status()
    }

    /// When whatever is under way gets killed.
    pub fn deadline(&self) -> Option<Instant> {
        self.in_ci.then(|| self.start + LIMIT)
    }

    /// The cargo that runs us, for `cargo`; anything else from PATH or the root.
    fn program(&self, name: &str) -> PathBuf {
        match name {
            "cargo" => std::env::var_os("CARGO").map_or_else(|| name.into(), PathBuf::from),
            _ if name.contains('/') => self.root.join(name),
            _ => name.into(),
        }
    }

    /// Counts one check that passed without a command of its own.
    pub fn pass(&mut self) {
        self.counts.passed += 1;
    }

    /// Counts one check that failed, and why.
    pub fn fail(&mut self, name: &str, why: &str) {
        self.say(&format!("FAILED {name}: {why}"));
        self.counts.failed += 1;
        self.failed.push(format!("{name} ({why})"));
    }

    /// Counts one check that can't run here. With `CI=true` that is a failure.
    pub fn skip(&mut self, name: &str, why: &str) {
        if self.in_ci {
            return self.fail(name, &format!("{why}, and CI=true allows no skipping"));
        }
        self.say(&format!("skipped {name}: {why}"));
        self.counts.skipped += 1;
        self.skipped.push(format!("{name}: {why}"));
    }

    /// Repeats what failed tests said, for whoever sees only the end of a long log; names what was skipped and what
    /// failed; then the closing line. Whether nothing failed.
    pub fn close(&self) -> bool {
        self.say("");
        self.failures.iter().for_each(|line| self.say(line));
        self.skipped.iter().for_each(|skipped| self.say(&format!("skipped: {skipped}")));
        self.failed.iter().for_each(|failed| self.say(&format!("failed: {failed}")));
        self.say(&format!("took {} s", self.start.elapsed().as_secs()));
        self.say(&self.counts.to_string());
        self.counts.failed == 0
    }

    fn say(&self, line: &str) {
        if !self.silent {
            println!("{line}");
        }
    }
}

/// Whether a program runs and says that all is well.
pub fn works(command: &[&str]) -> bool {
    let Some((program, arguments)) = command.split_first() else { return false };
    Command::new(program).args(arguments).output().is_ok_and(|output| output.status.success())
}

/// Of the minute before, as `uptime` shows it: what keeps the machine busy beside what is measured.
pub fn load_average() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runner(in_ci: bool) -> Runner {
        Runner { in_ci, silent: true, ..Runner::new().unwrap() }
    }

    #[test]
    fn commands_are_counted_by_what_they_are() {
        let check = |command: &[&str], counted, expect: &str| {
            let mut runner = runner(false);
            runner.run("it", command, counted);
            assert_eq!(runner.counts.to_string(), expect, "{command:?}");
        };
        use CountedAs::*;
        check(&["true"], OneCheck, "1 passed, 0 failed, 0 skipped");
        check(&["true"], Preparation, "0 passed, 0 failed, 0 skipped");
        check(&["false"], OneCheck, "0 passed, 1 failed, 0 skipped");
        check(&["false"], Preparation, "0 passed, 1 failed, 0 skipped");
        check(&["false"], Tests, "0 passed, 1 failed, 0 skipped");
        check(&["./no-such-program"], OneCheck, "0 passed, 1 failed, 0 skipped");
        let said = "test result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out";
        check(&["echo", said], Tests, "3 passed, 0 failed, 1 skipped");
        check(&["echo", said], OneCheck, "1 passed, 0 failed, 0 skipped");
    }

    #[test]
    fn ci_allows_no_skipping() {
        let check = |in_ci, expect: &str| {
            let mut runner = runner(in_ci);
            runner.skip("python", "not here");
            assert_eq!(runner.counts.to_string(), expect);
            assert_eq!(runner.close(), !in_ci);
        };
        check(false, "0 passed, 0 failed, 1 skipped");
        check(true, "0 passed, 1 failed, 0 skipped");
    }
}
