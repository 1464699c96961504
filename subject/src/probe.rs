//! What this machine allows, for `trommel doctor`.

/// One ability of the machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capability {
    /// What it is.
    pub name: &'static str,
    /// Whether it works, and what was seen; or why it does not.
    pub result: Result<String, String>,
    /// What to do if it does not work.
    pub fix: &'static str,
    /// What is lost without it.
    pub without: &'static str,
}

/// Everything that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Capabilities {
    /// In the order in which they depend on each other.
    pub all: Vec<Capability>,
}

/// Tries each ability on a tiny program.
pub fn probe() -> Capabilities {
    Capabilities { all: Vec::new() }
}
