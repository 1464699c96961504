//! A project as kubebuilder scaffolds it, from `trommel init` to a judged campaign (tests/foreign/scaffold.sh).

use crate::{
    report::CountedAs,
    run::{Runner, works},
};

const SCRIPT: &str = "tests/foreign/scaffold.sh";

/// Below the repository; ignored by git.
const PROJECT: &str = "target/tests/scaffold";

/// One check, with the binaries that are built; its campaign must be clean and complete. Only if its name contains this.
pub fn judged(runner: &mut Runner, only: &str) {
    if !"scaffold".contains(only) {
        return;
    }
    let name = "a fresh kubebuilder project";
    if !works(&["go", "version"]) {
        runner.skip(name, "go is not on this machine");
        return;
    }
    let trommel = runner.binaries.join("trommel").display().to_string();
    let project = runner.root.join(PROJECT).display().to_string();
    runner.run(name, &[SCRIPT, &trommel, &project], CountedAs::OneCheck);
}
