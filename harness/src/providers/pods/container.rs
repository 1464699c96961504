//! Containers of pods, as processes of this machine: a kind node is a container of it, so all that runs in pods can be
//! seen, killed and frozen here.
//!
//! A process's control group names the uid of its pod, and its mounts name its container: the kubelet mounts a file of
//! `pods/UID/containers/NAME/` at the container's termination log.

use std::{
    fs, io,
    net::SocketAddr,
    path::{Path, PathBuf},
};

/// The first process of a container of a pod, by this machine's number; none while it does not run.
pub fn process(uid: &str, container: &str) -> Option<i32> {
    let mark = format!("/pods/{uid}/containers/{container}/");
    let of = of_pod(uid).filter(|process| read(*process, "mountinfo").contains(&mark));
    // The container's own program has not begun yet.
    let mut of: Vec<i32> =
        of.filter(|process| !read(*process, "comm").starts_with("runc:")).collect();
    of.sort_by_key(|process| started(*process));
    of.into_iter().next()
}

/// Which of these pods has a connection with this local end.
pub fn pod_with<'u>(end: SocketAddr, uids: impl Iterator<Item = &'u str>) -> Option<&'u str> {
    uids.into_iter().find(|uid| of_pod(uid).next().is_some_and(|process| has_end(process, end)))
}

/// Processes of a pod: those of all its containers, and the one that holds its namespaces.
fn of_pod(uid: &str) -> impl Iterator<Item = i32> {
    // With systemd's cgroup driver, dashes are underscores (`escapeSystemdCgroupName` of the kubelet).
    let names = [format!("pod{uid}"), format!("pod{}", uid.replace('-', "_"))];
    processes().filter(move |process| {
        let groups = read(*process, "cgroup");
        names.iter().any(|name| groups.contains(name))
    })
}

fn processes() -> impl Iterator<Item = i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// A file of a process; empty if it is gone.
fn read(process: i32, file: &str) -> String {
    fs::read_to_string(format!("/proc/{process}/{file}")).unwrap_or_default()
}

/// When it was started (proc_pid_stat(5), `starttime`, the 20th behind the name).
fn started(process: i32) -> u64 {
    let stat = read(process, "stat");
    let behind = stat.rsplit_once(')').map(|(_, rest)| rest).unwrap_or_default();
    behind.split_whitespace().nth(19).and_then(|time| time.parse().ok()).unwrap_or(u64::MAX)
}

/// Whether a socket of its network namespace has this local end (proc_pid_net(5), `tcp` and `tcp6`).
fn has_end(process: i32, end: SocketAddr) -> bool {
    let mapped = match end {
        SocketAddr::V4(end) => {
            let plain = format!("{:08X}", u32::from_ne_bytes(end.ip().octets()));
            [plain.clone(), format!("0000000000000000FFFF0000{plain}")]
        }
        SocketAddr::V6(end) => {
            let words = end.ip().octets();
            let words = words.chunks_exact(4).map(|word| {
                format!("{:08X}", u32::from_ne_bytes(word.try_into().unwrap_or_default()))
            });
            let text: String = words.collect();
            [text.clone(), text]
        }
    };
    let ends = mapped.map(|address| format!("{address}:{:04X}", end.port()));
    ["net/tcp", "net/tcp6"].iter().any(|file| {
        let text = read(process, file);
        let mut locals = text.lines().filter_map(|line| line.split_whitespace().nth(1));
        locals.any(|local| ends.iter().any(|end| end == local))
    })
}

/// Freezes all processes of a pod, those that are still to come included (cgroups(7), freezer): its kubelet starts no
/// container in it meanwhile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Freezer {
    file: PathBuf,
    frozen: &'static str,
    thawed: &'static str,
}

/// Where control groups are mounted.
const GROUPS: &str = "/sys/fs/cgroup";

impl Freezer {
    /// The one of the pod to which a process belongs.
    ///
    /// # Errors
    /// It is gone, or this machine shows no control group of it.
    pub fn of_pod(process: i32) -> io::Result<Freezer> {
        let groups = fs::read_to_string(format!("/proc/{process}/cgroup"))?;
        let freezer = freezer(&groups).filter(|freezer| freezer.file.exists());
        let none = || io::Error::other(format!("process {process} has no freezer below {GROUPS}"));
        freezer.ok_or_else(none)
    }

    /// That of a pod of this machine which is frozen: a campaign that died left it.
    pub fn of_frozen(uid: &str) -> Option<Freezer> {
        let freezer = Freezer::of_pod(of_pod(uid).next()?).ok()?;
        freezer.is_frozen().then_some(freezer)
    }

    /// # Errors
    /// The kernel refuses.
    pub fn freeze(&self) -> io::Result<()> {
        fs::write(&self.file, self.frozen)
    }

    /// # Errors
    /// The kernel refuses. A pod that is gone is no error.
    pub fn thaw(&self) -> io::Result<()> {
        match fs::write(&self.file, self.thawed) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            done => done,
        }
    }

    fn is_frozen(&self) -> bool {
        let state = fs::read_to_string(&self.file).unwrap_or_default();
        // Version 1 says FREEZING until the last one is.
        state.trim() == self.frozen || state.trim() == "FREEZING"
    }
}

/// The freezer of the pod in which these control groups of a process are.
fn freezer(groups: &str) -> Option<Freezer> {
    let mut lines = groups.lines().filter_map(|line| {
        let (_, rest) = line.split_once(':')?;
        rest.split_once(':')
    });
    let first = lines.clone().find(|(controllers, _)| *controllers == "freezer");
    let (root, group, version) = match first {
        Some((_, group)) => (Path::new(GROUPS).join("freezer"), group, 1),
        None => {
            let (_, group) = lines.find(|(controllers, _)| controllers.is_empty())?;
            (PathBuf::from(GROUPS), group, 2)
        }
    };
    let pod = Path::new(group.trim_start_matches('/')).ancestors().find(|at| {
        let name = at.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("pod") || name.contains("-pod")
    })?;
    let folder = root.join(pod);
    Some(match version {
        1 => Freezer { file: folder.join("freezer.state"), frozen: "FROZEN", thawed: "THAWED" },
        _ => Freezer { file: folder.join("cgroup.freeze"), frozen: "1", thawed: "0" },
    })
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    #[test]
    fn the_freezer_is_that_of_the_pod() {
        let check = |groups: &str, expect: Option<&str>| {
            let file = freezer(groups).map(|freezer| freezer.file.display().to_string());
            assert_eq!(file.as_deref(), expect);
        };
        let first = "9:name=systemd:/x\n6:freezer:/docker/9f/kubelet/kubepods/besteffort/poda3-5b/ed39\n0::/\n";
        let file =
            "/sys/fs/cgroup/freezer/docker/9f/kubelet/kubepods/besteffort/poda3-5b/freezer.state";
        check(first, Some(file));
        let second = "0::/system.slice/docker-9f.scope/kubelet.slice/kubelet-kubepods.slice/\
                      kubelet-kubepods-poda3_5b.slice/cri-containerd-ed39.scope\n";
        let file = "/sys/fs/cgroup/system.slice/docker-9f.scope/kubelet.slice/kubelet-kubepods.slice/\
                    kubelet-kubepods-poda3_5b.slice/cgroup.freeze";
        check(second, Some(file));
        check("0::/user.slice/session-1.scope\n", None);
    }

    #[test]
    fn a_connection_is_found_by_its_local_end() {
        let here = std::process::id() as i32;
        for address in ["127.0.0.1:0", "[::1]:0"] {
            let Ok(listener) = TcpListener::bind(address) else { continue };
            let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
            let end = client.local_addr().unwrap();
            assert!(has_end(here, end), "{end}");
            let other = SocketAddr::new("127.0.0.9".parse().unwrap(), end.port());
            assert!(!has_end(here, other));
        }
    }

    #[test]
    fn a_process_that_is_older_comes_first() {
        let child = std::process::Command::new("true").spawn();
        let mut child = child.unwrap();
        assert!(started(std::process::id() as i32) <= started(child.id() as i32));
        child.wait().unwrap();
    }
}
