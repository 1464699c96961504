//! What must not appear, where, and why. Each exception is a row with its reason.

use crate::{
    Problem, assert_none,
    source::{File, files},
};

/// Something that must not appear in the code (comments, strings and unit tests aside) of some crates.
struct Absence {
    /// What: each is searched as a whole token.
    tokens: &'static [&'static str],
    /// Where it is allowed: path prefixes, each with its reason.
    except: &'static [(&'static str, &'static str)],
    /// Where the rule holds: path prefixes; empty for everywhere.
    only_in: &'static [&'static str],
    /// Whether integration tests and a crate's own examples are held to it too.
    in_tests: bool,
    /// Why it must not appear.
    because: &'static str,
}

const PURE: &[&str] = &["trace/", "plans/", "world/controllers/", "world/stages/", "oracles/"];

const ABSENCES: &[Absence] = &[
    Absence {
        tokens: &[
            "thread::sleep",
            "time::sleep",
            "time::{sleep",
            "sleep_until",
            "sleep_ms",
            "time::interval",
        ],
        except: &[
            (
                "harness/src/providers/remote/",
                "a real cluster announces nothing about itself: asked until it is as wanted, with a limit",
            ),
            (
                "harness/src/providers/pods/",
                "a container announces nothing about its start: looked for, with a limit",
            ),
            (
                "harness/src/trial/output.rs",
                "a container's log announces nothing about what is added: read at a pace",
            ),
            (
                "harness/src/commands/kubelet_only/",
                "a cluster that does not answer announces nothing: asked again, at a pace",
            ),
            (
                "harness/src/commands/model/spawn/",
                "a cluster that does not answer announces nothing: asked again, at a pace",
            ),
            (
                "harness/src/trial/programs.rs",
                "a program of the workload announces nothing about itself: looked at, at a pace",
            ),
            (
                "harness/src/trial/quiet.rs",
                "a real timer of the subject where time is not virtual, and the pace of the hot-loop limit",
            ),
            (
                "tests/environment/arm.rs",
                "the real controllers announce nothing: asked until they are where ours are, with a limit",
            ),
            (
                "tests/kubelet/arm.rs",
                "the clusters run in real time and announce nothing: asked until they are as expected, with a limit",
            ),
            (
                "proxy/src/accepting.rs",
                "nothing announces that a descriptor got free: accepting is tried again, at a pace",
            ),
            ("tests/subjects/", "a subject under test may sleep: that is what it is there for"),
            ("examples/", "a subject may sleep"),
        ],
        only_in: &[],
        in_tests: true,
        because: "no sleep decides anything: wait for the event itself",
    },
    Absence {
        tokens: &["println!(", "print!(", "eprintln!(", "eprint!(", "dbg!("],
        except: &[
            ("harness/", "the rim talks to people"),
            ("ci/", "the rim talks to people"),
            ("examples/", "subjects log"),
        ],
        only_in: &[],
        in_tests: false,
        because: "only the rim prints: return it, record it, or trace it",
    },
    Absence {
        tokens: &["env::var(", "env::var_os(", "env::vars(", "env::vars_os(", "env::args("],
        except: &[
            ("harness/", "the rim reads the environment"),
            ("ci/", "the rim reads the environment"),
            ("examples/", "subjects are configured by the environment"),
        ],
        only_in: &[],
        in_tests: false,
        because: "only the rim reads the environment: take it as an argument",
    },
    Absence {
        tokens: &[
            "SystemTime::now(",
            "Instant::now(",
            "Timestamp::now(",
            "async fn",
            "fs::",
            "thread::",
        ],
        except: &[],
        only_in: PURE,
        in_tests: false,
        because: "this crate is pure: no clock, no IO, no waiting",
    },
    Absence {
        tokens: &["SystemTime::now(", "Timestamp::now("],
        except: &[],
        only_in: &["world/cluster/", "proxy/"],
        in_tests: false,
        because: "time comes from the clock of the world",
    },
    Absence {
        tokens: &["ClusterSpec::", "embedded::", "Remote"],
        except: &[],
        only_in: &[
            "harness/src/campaign/explore",
            "harness/src/campaign/families",
            "harness/src/campaign/settled_restart",
            "harness/src/trial",
        ],
        in_tests: false,
        because: "families and trials ask a cluster for an ability, not for its kind: `harness/src/providers.rs`",
    },
    Absence {
        tokens: &["todo!(", "unimplemented!("],
        except: &[],
        only_in: &[],
        in_tests: true,
        because: "a stub is not done",
    },
    Absence {
        tokens: &["unsafe {", "unsafe fn", "unsafe impl", "unsafe extern"],
        except: &[(
            "subject/src/sys",
            "processes, clocks and descriptors are the system's; essay in the module",
        )],
        only_in: &[],
        in_tests: true,
        because: "unsafe stands in listed modules only",
    },
    Absence {
        tokens: &["#[ignore"],
        except: &[],
        only_in: &[],
        in_tests: true,
        because: "no test is switched off: assert the wrong behaviour and say so, or say what is missing",
    },
];

/// Where unit tests and comments count too: the words that mark unfinished work.
const UNFINISHED: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME"), concat!("XX", "X")];

/// Folders that exist on somebody's machine only. A leading quote or space keeps `target/tmp/` legal.
const MACHINE: &[&str] = &["/home/", "/root/", "/work/", "/tmp/"];

/// Files in which a machine's path is meant.
const MACHINE_EXCEPT: &[(&str, &str)] = &[
    ("world/cluster/data/", "type facts as upstream publishes them"),
    (".gitignore", "patterns"),
    ("Cargo.lock", "generated"),
];

fn check_absence(absence: &Absence, file: &File) -> Vec<Problem> {
    let under = |prefix: &&str| file.path.starts_with(*prefix);
    let wanted = absence.only_in.is_empty() || absence.only_in.iter().any(under);
    if !file.is_rust()
        || !wanted
        || file.is_test() && !absence.in_tests
        || absence.except.iter().any(|(prefix, _)| under(prefix))
    {
        return Vec::new();
    }
    let mut problems = Vec::new();
    for (number, line) in file.code_lines() {
        if let Some(token) = absence.tokens.iter().find(|token| has_token(&line, token)) {
            let message = format!("`{token}`: {}", absence.because);
            problems.push(Problem::new(&file.path, number, message));
        }
    }
    problems
}

/// Whether the token appears and is not the end of a longer word.
fn has_token(line: &str, token: &str) -> bool {
    let ends_word = |at: usize| {
        let before = line[..at].chars().next_back();
        before.is_some_and(|c| c.is_alphanumeric() || c == '_')
    };
    line.match_indices(token).any(|(at, _)| !ends_word(at))
}

fn check_unfinished(file: &File) -> Vec<Problem> {
    let whole = |line: &str, word: &str| {
        line.split(|c: char| !c.is_alphanumeric() && c != '_').any(|token| token == word)
    };
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        if let Some(word) = UNFINISHED.iter().find(|word| whole(line, word)) {
            let message = format!("{word}: do it, or open an issue and say nothing here");
            problems.push(Problem::new(&file.path, index + 1, message));
        }
    }
    problems
}

fn check_machine(file: &File) -> Vec<Problem> {
    let excepted = MACHINE_EXCEPT.iter().any(|(prefix, _)| file.path.starts_with(prefix));
    if file.is_test() || excepted {
        return Vec::new();
    }
    let mut problems = Vec::new();
    let unit_tests = |line: &&str| file.is_rust() && line.trim() == "#[cfg(test)]";
    for (index, line) in file.text.lines().enumerate().take_while(|(_, line)| !unit_tests(line)) {
        if let Some(folder) = MACHINE.iter().find(|folder| names_folder(line, folder)) {
            let message = format!("{folder} is a path of one machine");
            problems.push(Problem::new(&file.path, index + 1, message));
        }
    }
    problems
}

/// Whether the line names that folder of the file system's root, not one inside another path.
fn names_folder(line: &str, folder: &str) -> bool {
    line.match_indices(folder).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        before.is_none_or(|c| c.is_whitespace() || "\"'`(=:,[<".contains(c))
    })
}

#[test]
fn absences_hold() {
    let files = files();
    let all = |file| ABSENCES.iter().flat_map(move |absence| check_absence(absence, file));
    assert_none(files.iter().flat_map(all).collect());
}

#[test]
fn nothing_is_marked_unfinished() {
    assert_none(files().iter().flat_map(check_unfinished).collect());
}

#[test]
fn no_path_of_a_machine() {
    assert_none(files().iter().flat_map(check_machine).collect());
}

#[test]
fn exceptions_still_exist() {
    let files = files();
    let used = |prefix: &str| files.iter().any(|file| file.path.starts_with(prefix));
    let excepted = ABSENCES.iter().flat_map(|absence| absence.except).chain(MACHINE_EXCEPT);
    let stale: Vec<_> = excepted.filter(|(prefix, _)| !used(prefix)).collect();
    assert!(stale.is_empty(), "nothing there any more, so delete the row: {stale:?}");
}

#[test]
fn breaches_are_seen() {
    let check = |path: &str, code: &str, breaches: usize| {
        let file = File::sample(path, code);
        let found: Vec<Problem> =
            ABSENCES.iter().flat_map(|absence| check_absence(absence, &file)).collect();
        assert_eq!(found.len(), breaches, "{path}: {code}: {found:?}");
    };
    check("proxy/src/gate.rs", "tokio::time::sleep(Duration::ZERO).await;", 1);
    check("proxy/src/gate.rs", "use tokio::time::{sleep, timeout};", 1);
    check("proxy/tests/gate.rs", "std::thread::sleep(x);", 1);
    check("proxy/tests/gate.rs", "println!(\"x\");", 0);
    check("tests/subjects/slow/src/main.rs", "std::thread::sleep(x);", 0);
    check("workloads/src/load.rs", "self.sleep(node)", 0);
    check(
        "proxy/src/gate.rs",
        "// no thread::sleep(\n\"thread::sleep(\";\nlet x = a_thread::sleepy();",
        0,
    );
    check("proxy/src/gate.rs", "println!(\"x\");", 1);
    check("proxy/src/gate.rs", "#[cfg(test)]\nmod tests { fn f() { println!(\"x\") } }", 0);
    check("harness/src/main.rs", "println!(\"x\");", 0);
    check("world/cluster/src/store.rs", "std::env::var(\"HOME\")", 1);
    check("plans/src/plan.rs", "Instant::now()", 1);
    check("world/cluster/src/clock.rs", "SystemTime::now()", 1);
    check("harness/src/main.rs", "todo!()", 1);
    check("harness/src/trial/leases.rs", "let ClusterSpec::Kind(_) = x else { return };", 1);
    check("harness/src/config.rs", "let ClusterSpec::Kind(_) = x else { return };", 0);
    check("proxy/src/gate.rs", "unsafe { x() }", 1);
    check("proxy/src/gate.rs", "#[ignore = \"slow\"]", 1);
}

#[test]
fn unfinished_work_is_seen() {
    let check = |text: &str, breaches: usize| {
        assert_eq!(check_unfinished(&File::sample("a.md", text)).len(), breaches, "{text}");
    };
    check(concat!("// TO", "DO: later"), 1);
    check(concat!("a\nFIX", "ME(me)\n"), 1);
    check("TODOS are fine, and so is a todo list", 0);
}

#[test]
fn machine_paths_are_seen() {
    let check = |path: &str, text: &str, breaches: usize| {
        assert_eq!(check_machine(&File::sample(path, text)).len(), breaches, "{text}");
    };
    check("a.md", "cd /home/me/x", 1);
    check("a.rs", "let x = \"/tmp/x\";", 1);
    check("a.rs", "let x = \"target/tmp/x\";\n#[cfg(test)]\nlet x = \"/tmp/x\";", 0);
    check("tests/a.rs", "let x = \"/tmp/x\";", 0);
    check("a.md", "https://example.com/home/me", 0);
}
