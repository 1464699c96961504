//! Who holds something beyond this process: machine, boot and process, so that this machine can tell whether it still
//! runs.

/// This process.
pub fn own() -> String {
    format!("{}/{}", here(), std::process::id())
}

/// Whether this holder runs; none if it is of another machine.
pub fn runs(holder: &str) -> Option<bool> {
    let (machine, process) = holder.rsplit_once('/')?;
    let (host, _boot) = machine.rsplit_once('/')?;
    match machine == here() {
        true => Some(is_trommel(process)),
        false => (host == self::host()).then_some(false),
    }
}

/// This machine since it was started.
fn here() -> String {
    let boot = read("/proc/sys/kernel/random/boot_id");
    format!("{}/{}", host(), boot.split('-').next().unwrap_or_default())
}

fn host() -> String {
    read("/proc/sys/kernel/hostname")
}

fn read(path: &str) -> String {
    std::fs::read_to_string(path).unwrap_or_default().trim().to_owned()
}

/// Whether another process of this number runs Trommel: somebody else may have got the number since.
fn is_trommel(process: &str) -> bool {
    let name = |process: &str| std::fs::read_to_string(format!("/proc/{process}/comm")).ok();
    name(process).is_some()
        && name(process) == name("self")
        && *process != std::process::id().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holders_of_this_machine_are_looked_at() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        let gone = format!("{}/{}", here(), child.id());
        child.wait().unwrap();
        assert_eq!(runs(&gone), Some(false));
        assert_eq!(runs(&format!("{}/00000000/1", host())), Some(false), "before this boot");
        assert_eq!(runs("elsewhere/00000000/1"), None);
        assert_eq!(runs("nobody"), None);
    }
}
