//! Runs commands, streams what they say, and remembers what failed.

use std::{
    path::{Path, PathBuf},
    process::{Command, ExitStatus},
    time::{Duration, Instant},
};

use anyhow::Context;

use crate::{
    count::{Counter, Counts},
    report::{CountedAs, Report},
    watched,
};

/// How long a run may take where `CI=true`, below the limit of the workflow. What is under way then is killed, what was
/// to come is not begun, and all of it counts as failed: a machine that is taken away in mid-run would say nothing at all.
const LIMIT: Duration = Duration::from_secs(50 * 60);
/// The same for `cargo ci nightly`.
const LIMIT_NIGHTLY: Duration = Duration::from_secs(5 * 3600);

/// So many tests are named as the slowest.
const SLOWEST: usize = 12;

/// Carries counts and failures from stage to stage.
#[derive(Debug)]
pub struct Runner {
    /// The repository's root: every command starts there.
    pub root: PathBuf,
    /// Where the binaries are: this program is one of them.
    pub binaries: PathBuf,
    /// `CI=true`: what is missing fails instead of being skipped.
    pub in_ci: bool,
    /// All of it so far.
    pub counts: Counts,
    reports: Vec<Report>,
    start: Instant,
    limit: Duration,
    /// For this crate's own tests, whose output is read by a runner too.
    silent: bool,
}

/// Where the lines of a check go.
#[derive(Debug)]
pub struct Output {
    kept: Option<Vec<String>>,
    silent: bool,
}

impl Output {
    /// Kept until it is printed as a whole.
    pub fn kept() -> Output {
        Output { kept: Some(Vec::new()), silent: false }
    }

    /// Takes one line.
    pub fn line(&mut self, line: &str) {
        match &mut self.kept {
            Some(lines) => lines.push(line.to_owned()),
            None if self.silent => {}
            None => println!("{line}"),
        }
    }

    /// Prints what was kept, below a head, without the lines of others in between.
    pub fn print(self, name: &str, took: Duration) {
        use std::io::Write as _;
        let mut text = format!("\n=== {name}, {:.0} s\n", took.as_secs_f64());
        self.kept.unwrap_or_default().iter().for_each(|line| text.extend([line, "\n"]));
        // Nobody may be reading any more; the exit code says the rest.
        drop(std::io::stdout().lock().write_all(text.as_bytes()));
    }
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
            reports: Vec::new(),
            start: Instant::now(),
            limit: LIMIT,
            silent: false,
        })
    }

    /// Lets all of it take a night.
    pub fn all_night(&mut self) {
        self.limit = LIMIT_NIGHTLY;
    }

    /// Runs one command, streaming its output. Whether it succeeded.
    pub fn run(&mut self, name: &str, command: &[&str], counted: CountedAs) -> bool {
        self.begin(&format!("{name}: {}", command.join(" ")));
        let report = self.report(name, command, counted, &mut self.stream());
        self.take(report)
    }

    /// Runs one command, for [`crate::jobs`].
    pub fn report(
        &self,
        name: &str,
        command: &[&str],
        counted: CountedAs,
        output: &mut Output,
    ) -> Report {
        let mut process = self.command(command.first().copied().unwrap_or_default());
        process.args(command.iter().skip(1));
        self.execute(name, process, counted, output)
    }

    /// Runs one command that was put together elsewhere.
    pub fn execute(
        &self,
        name: &str,
        command: Command,
        counted: CountedAs,
        output: &mut Output,
    ) -> Report {
        let (began, mut counter) = (Instant::now(), Counter::default());
        let ended = watched::run(command, self.deadline(), |line| {
            output.line(line);
            counter.line(line, began.elapsed());
        });
        let problem = match ended.and_then(watched::Ended::status) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(status.to_string()),
            Err(error) if counter.under_way().is_empty() => Some(format!("{error:#}")),
            Err(error) => Some(format!("{error:#}; under way: {}", counter.under_way().join(", "))),
        };
        Report::of_command(name, began.elapsed(), problem, counted, counter)
    }

    /// Counts a check that ended. Whether it succeeded.
    pub fn take(&mut self, report: Report) -> bool {
        self.counts.add(report.counts);
        let succeeded = report.failed.is_none();
        self.reports.push(report);
        succeeded
    }

    /// Counts checks that ended.
    pub fn take_all(&mut self, reports: Vec<Report>) {
        for report in reports {
            self.take(report);
        }
    }

    /// Says what comes now.
    pub fn begin(&self, what: &str) {
        self.say(&format!("\n=== {what}"));
    }

    /// Reads what a command prints.
    ///
    /// # Errors
    /// When it can't be started or waited for.
    pub fn read(
        &self,
        program: &str,
        arguments: &[&str],
        line: impl FnMut(&str),
    ) -> anyhow::Result<ExitStatus> {
        let mut command = self.command(program);
        command.args(arguments);
        watched::run(command, self.deadline(), line)?.status()
    }

    /// A command that starts at the root.
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.program(program));
        // What `cargo ci` was told of its own package would make a cargo below build half of all anew: build scripts
        // watch the variable.
        let told =
            |name: &str| name.starts_with("CARGO_PKG_") || name.starts_with("CARGO_MANIFEST_");
        for (name, _) in std::env::vars().filter(|(name, _)| told(name)) {
            command.env_remove(name);
        }
        command.current_dir(&self.root);
        command
    }

    /// Lines are printed as they come.
    pub fn stream(&self) -> Output {
        Output { kept: None, silent: self.silent }
    }

    /// When whatever is under way gets killed.
    pub fn deadline(&self) -> Option<Instant> {
        self.in_ci.then(|| self.start + self.limit)
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
        self.take(Report::of_check(name, Duration::ZERO, Some(why.to_owned())));
    }

    /// Counts one check that can't run here. With `CI=true` that is a failure.
    pub fn skip(&mut self, name: &str, why: &str) {
        self.say(&format!("skipped {name}: {why}"));
        let report = self.skipped(name, why);
        self.take(report);
    }

    /// What a check counts as that can't run here.
    pub fn skipped(&self, name: &str, why: &str) -> Report {
        if self.in_ci {
            let why = format!("{why}, and CI=true allows no skipping");
            return Report::of_check(name, Duration::ZERO, Some(why));
        }
        let counts = Counts { skipped: 1, ..Counts::default() };
        let skipped = vec![format!("{name}: {why}")];
        Report { name: name.to_owned(), counts, skipped, ..Report::default() }
    }

    /// Notes for how long a stage took that counts nothing itself.
    pub fn took(&mut self, name: &str, since: Instant) {
        self.take(Report { name: name.to_owned(), took: since.elapsed(), ..Report::default() });
    }

    /// Says for how long what ran; repeats what failed tests said, for whoever sees only the end of a long log; names
    /// what was skipped and what failed; then the closing line. Whether nothing failed.
    pub fn close(&self) -> bool {
        self.times().iter().for_each(|line| self.say(line));
        let reports = || self.reports.iter();
        reports().flat_map(|report| &report.failures).for_each(|line| self.say(line));
        reports()
            .flat_map(|report| &report.skipped)
            .for_each(|skipped| self.say(&format!("skipped: {skipped}")));
        for report in reports() {
            if let Some(why) = &report.failed {
                self.say(&format!("failed: {} ({why})", report.name));
            }
        }
        self.say(&format!("took {} s", self.start.elapsed().as_secs()));
        self.say(&self.counts.to_string());
        self.counts.failed == 0
    }

    /// What took a second or longer, in the order of its end, and the slowest tests.
    fn times(&self) -> Vec<String> {
        let row = |name: &str, took: Duration| format!("{:>6.1} s  {name}", took.as_secs_f64());
        let mut lines = vec![String::new()];
        let long = self.reports.iter().filter(|report| report.took.as_secs() > 0);
        lines.extend(long.map(|report| row(&report.name, report.took)));
        let mut tests: Vec<_> = self.reports.iter().flat_map(|report| &report.tests).collect();
        tests.sort_by_key(|test| std::cmp::Reverse(test.took));
        lines.push("the slowest tests:".to_owned());
        lines.extend(tests.iter().take(SLOWEST).map(|test| row(&test.name, test.took)));
        lines
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
