//! `trommel doctor`: what works on this machine, what is lost without it, and how to get it.

use std::{env, ffi::OsStr, fmt::Write as _, os::unix::fs::PermissionsExt, path::Path};

use subject::Capability;

use crate::{
    exit::Exit,
    providers::{kind::Docker, pods},
    stdout,
};

/// A program that some feature needs.
struct Tool {
    name: &'static str,
    /// What is lost without it.
    without: &'static str,
    fix: &'static str,
}

const CONFIRM: &str =
    "`trommel model confirm` and `model check --confirm` need its path (--program)";

const TOOLS: &[Tool] = &[
    Tool {
        name: "kubectl",
        without: "workload steps that call kubectl fail",
        fix: "https://kubernetes.io/docs/tasks/tools/",
    },
    Tool {
        name: "go",
        without: "subjects and tests written in Go can't be built, nor Trommel's own tests run that need the real API server",
        fix: "https://go.dev/dl/ (1.26 or later)",
    },
    Tool {
        name: "kind",
        without: "kind clusters can still be used, and be created with one control-plane node (create.nodeImage)",
        fix: "https://kind.sigs.k8s.io/docs/user/quick-start/#installation",
    },
    Tool {
        name: "kube-controller-manager",
        without: CONFIRM,
        fix: "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-controller-manager, or tests/reference/build.sh in a clone",
    },
    Tool {
        name: "kube-scheduler",
        without: CONFIRM,
        fix: "https://dl.k8s.io/v1.36.3/bin/linux/amd64/kube-scheduler, or tests/reference/build.sh in a clone",
    },
    Tool {
        name: "descheduler",
        without: CONFIRM,
        fix: "go install sigs.k8s.io/descheduler/cmd/descheduler@v0.36.0",
    },
    Tool {
        name: "python3",
        without: "subjects and tests written in Python can't run",
        fix: "apt-get install python3 python3-venv",
    },
];

/// Prints the table. It tells, and succeeds whatever it finds.
pub fn run() -> anyhow::Result<Exit> {
    let path = env::var_os("PATH").unwrap_or_default();
    let found = subject::probe();
    // Without these quiet can't be known.
    let needed = [found.books.name, found.sockets.name];
    let row =
        |capability: &Capability| Row::of_capability(capability, needed.contains(&capability.name));
    let mut rows: Vec<Row> = found.all().into_iter().map(row).collect();
    rows.extend(TOOLS.iter().map(|tool| Row::of_tool(tool, &path)));
    rows.push(Row::of_docker());
    rows.push(Row::of_pods());
    stdout::write(&table(&rows));
    Ok(Exit::Clean)
}

/// One thing, and whether it is there.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Row {
    name: String,
    works: bool,
    /// Whether nothing runs without it.
    needed: bool,
    /// What was seen.
    seen: String,
    without: String,
    fix: String,
}

impl Row {
    fn of_capability(capability: &Capability, needed: bool) -> Row {
        let (works, seen) = match &capability.result {
            Ok(seen) => (true, seen),
            Err(reason) => (false, reason),
        };
        Row {
            name: capability.name.to_owned(),
            works,
            needed,
            seen: seen.clone(),
            without: capability.without.to_owned(),
            fix: capability.fix.to_owned(),
        }
    }

    fn of_tool(tool: &Tool, path: &OsStr) -> Row {
        let found =
            env::split_paths(path).map(|folder| folder.join(tool.name)).find(|p| is_program(p));
        Row {
            name: tool.name.to_owned(),
            works: found.is_some(),
            needed: false,
            seen: found.map_or_else(|| "not in PATH".to_owned(), |path| path.display().to_string()),
            without: tool.without.to_owned(),
            fix: tool.fix.to_owned(),
        }
    }
}

impl Row {
    fn of_docker() -> Row {
        let found = Docker::version();
        Row {
            name: "docker".to_owned(),
            works: found.is_ok(),
            needed: false,
            fix: found.as_ref().err().map_or("", |unreached| unreached.fix).to_owned(),
            seen: found
                .map_or_else(|unreached| unreached.why, |version| format!("Docker {version}")),
            without: "campaigns on kind clusters can't run; the embedded cluster needs no Docker"
                .to_owned(),
        }
    }

    fn of_pods() -> Row {
        let reason = pods::unavailable();
        Row {
            name: "pods".to_owned(),
            works: reason.is_none(),
            needed: false,
            seen: reason.unwrap_or_else(|| {
                "processes of kind's pods can be seen, killed and frozen".to_owned()
            }),
            without:
                "on kind clusters the controller runs as a process of this machine, not in its pods"
                    .to_owned(),
            fix: "run as root (sudo) on the Linux machine whose Docker runs the cluster".to_owned(),
        }
    }
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

/// A table, with two more lines below each row that does not work.
fn table(rows: &[Row]) -> String {
    let width = rows.iter().map(|row| row.name.chars().count()).max().unwrap_or(0);
    let mut out = String::new();
    for row in rows {
        let mark = if row.works { "ok" } else { "no" };
        let _ = writeln!(out, "{mark}  {:width$}  {}", row.name, row.seen);
        if !row.works {
            let indent = " ".repeat(width + 6);
            let _ = writeln!(out, "{indent}without it: {}\n{indent}fix: {}", row.without, row.fix);
        }
    }
    let missing: Vec<&Row> = rows.iter().filter(|row| !row.works).collect();
    let needed = missing.iter().filter(|row| row.needed).map(|row| &*row.name);
    let needed: Vec<&str> = needed.collect();
    let (count, all) = (missing.len(), rows.len());
    let _ = match (count, &needed[..]) {
        (0, _) => writeln!(out, "\nEverything works here."),
        (_, []) => writeln!(out, "\n{count} of {all} do not work here; Trommel runs without them."),
        (_, needed) => writeln!(
            out,
            "\n{count} of {all} do not work here; Trommel can't run without {}.",
            needed.join(" and ")
        ),
    };
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_comes_with_a_fix() {
        let good =
            Capability { name: "ptrace", result: Ok("allowed".into()), fix: "f", without: "w" };
        let bad = Capability {
            name: "namespaces",
            result: Err("operation not permitted".into()),
            fix: "sysctl kernel.unprivileged_userns_clone=1",
            without: "trials run one after the other",
        };
        let rows = |needed| [Row::of_capability(&good, true), Row::of_capability(&bad, needed)];
        insta::assert_snapshot!(table(&rows(false)), @r"
        ok  ptrace      allowed
        no  namespaces  operation not permitted
                        without it: trials run one after the other
                        fix: sysctl kernel.unprivileged_userns_clone=1

        1 of 2 do not work here; Trommel runs without them.
        ");
        let last = "1 of 2 do not work here; Trommel can't run without namespaces.\n";
        assert!(table(&rows(true)).ends_with(last), "{}", table(&rows(true)));
        assert!(table(&rows(true)[..1]).ends_with("Everything works here.\n"));
    }

    #[test]
    fn programs_are_looked_up_in_path() {
        let tool = Tool { name: "kubectl", without: "", fix: "" };
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("kubectl");
        let works = || Row::of_tool(&tool, folder.path().as_os_str()).works;
        assert!(!works());
        std::fs::write(&file, "").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(!works(), "not executable");
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
        assert!(works());
    }
}
