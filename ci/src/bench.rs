//! Figures, side by side, from one run on one machine. Prints them; judges nothing.
//!
//! A row is a campaign. Its figures come from its run folder (`summary.json`: `plans.run`, `seconds`;
//! `figures.json`: the median trial) and from what the kernel charged to the whole process tree. References and
//! confirmations are part of that CPU time but not of `plans.run`, so CPU per plan is an upper bound.

use std::{fs, process::Command};

use anyhow::{Context, ensure};
use serde_json::Value;

use crate::{campaigns::out_folder, run::Runner};

/// Campaigns to measure, each with how often: the middle one by time counts.
const CAMPAIGNS: &[(&str, usize)] =
    &[("examples/bar-foo/campaign.yaml", 5), ("examples/bar-foo/fixed.yaml", 5)];

/// The columns, each as wide as its cells.
const HEAD: [&str; 7] = [
    "campaign                        ",
    " plans",
    "seconds",
    "plans/s",
    "trial ms (median)",
    "subject CPU ms (median)",
    "all CPU ms/plan",
];

/// One run of one campaign.
#[derive(Debug, Clone, PartialEq)]
struct Figures {
    seconds: f64,
    plans: u64,
    /// User and system time of trommel and everything that it started and waited for.
    cpu_seconds: f64,
    /// Real time of the median trial.
    trial_seconds: f64,
    /// CPU time of the controller alone in the median trial.
    subject_cpu_seconds: f64,
}

/// Measures every campaign and prints a table.
///
/// # Errors
/// A campaign that can't be run.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let mut rows = Vec::new();
    for (campaign, repeats) in CAMPAIGNS {
        let runs =
            (0..*repeats).map(|_| measure(runner, campaign)).collect::<anyhow::Result<_>>()?;
        rows.push(row(campaign, &middle(runs).context("no runs")?));
        runner.pass();
    }
    println!("\n{cores} cores; middle of several runs");
    println!("{}", HEAD.join(" | "));
    rows.iter().for_each(|row| println!("{row}"));
    Ok(())
}

fn measure(runner: &Runner, campaign: &str) -> anyhow::Result<Figures> {
    let folder = out_folder(runner, &format!("bench-{campaign}"))?;
    let before = children_cpu_seconds()?;
    let status = Command::new(runner.binaries.join("trommel"))
        .current_dir(&runner.root)
        .args(["run", campaign, "--quiet", "--out"])
        .arg(&folder)
        .stdout(std::process::Stdio::null())
        .status()
        .context("cannot start trommel")?;
    let cpu_seconds = children_cpu_seconds()? - before;
    ensure!(matches!(status.code(), Some(0 | 100)), "{campaign}: {status}");
    let read = |name: &str| -> anyhow::Result<Value> {
        Ok(serde_json::from_str(&fs::read_to_string(folder.join(name))?)?)
    };
    let (summary, figures) = (read("summary.json")?, read("figures.json")?);
    let number = |file: &Value, key: &'static str| file[key].as_f64().context(key);
    Ok(Figures {
        seconds: number(&summary, "seconds")?,
        plans: summary["plans"]["run"].as_u64().context("plans.run")?,
        cpu_seconds,
        trial_seconds: number(&figures, "medianTrialSeconds")?,
        subject_cpu_seconds: number(&figures, "medianSubjectCpuSeconds")?,
    })
}

/// CPU time of all children that ended and were waited for, theirs included (`cutime` and `cstime` of
/// proc(5), in ticks of 10 ms). Coarse, but a campaign takes hundreds of ticks.
fn children_cpu_seconds() -> anyhow::Result<f64> {
    let stat = fs::read_to_string("/proc/self/stat").context("this machine has no /proc")?;
    parse_children_cpu(&stat).context("/proc/self/stat has another form")
}

fn parse_children_cpu(stat: &str) -> Option<f64> {
    const TICKS_PER_SECOND: f64 = 100.0;
    // The name, in parentheses, may hold anything; field 3 follows it. cutime is field 16.
    let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
    let ticks = |field: usize| fields.get(field - 3)?.parse::<f64>().ok();
    Some((ticks(16)? + ticks(17)?) / TICKS_PER_SECOND)
}

fn middle(mut runs: Vec<Figures>) -> Option<Figures> {
    runs.sort_by(|a, b| a.seconds.total_cmp(&b.seconds));
    let at = runs.len() / 2;
    runs.into_iter().nth(at)
}

fn row(campaign: &str, figures: &Figures) -> String {
    let plans = figures.plans.max(1) as f64;
    let ms = |seconds: f64| format!("{:.1}", seconds * 1000.0);
    let cells = [
        campaign.to_owned(),
        figures.plans.to_string(),
        format!("{:.2}", figures.seconds),
        format!("{:.1}", plans / figures.seconds),
        ms(figures.trial_seconds),
        ms(figures.subject_cpu_seconds),
        ms(figures.cpu_seconds / plans),
    ];
    let wide = |(head, cell): (&&str, &String)| match head.ends_with(' ') {
        true => format!("{cell:<width$}", width = head.len()),
        false => format!("{cell:>width$}", width = head.len()),
    };
    HEAD.iter().zip(&cells).map(wide).collect::<Vec<_>>().join(" | ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_of_children_is_read() {
        let stat = "1 (a) b) S 0 1 1 0 -1 4 100 200 0 0 7 8 250 50 20 0 1 0 5";
        assert_eq!(parse_children_cpu(stat), Some(3.0));
        assert_eq!(parse_children_cpu("1 (a) S 0"), None);
    }

    #[test]
    fn the_middle_run_counts() {
        let run = |seconds| Figures {
            seconds,
            plans: 10,
            cpu_seconds: 0.4,
            trial_seconds: 0.05,
            subject_cpu_seconds: 0.02,
        };
        assert_eq!(middle(vec![run(3.0), run(1.0), run(2.0)]), Some(run(2.0)));
        assert_eq!(middle(Vec::new()), None);
        let row = row("x", &run(2.0));
        let cells: Vec<&str> = row.split('|').map(str::trim).collect();
        assert_eq!(cells, ["x", "10", "2.00", "5.0", "50.0", "20.0", "40.0"]);
    }
}
