//! Calls that wait for a file system. They end by themselves, soon. Most of these waits can't be interrupted and show in
//! the thread's state, but those for a file system that is a program (FUSE, virtiofs) look like any other sleep.

use std::{fs::File, os::unix::fs::FileExt};

use crate::sys::files::kind;

/// Whether a call waits for a file system.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum OfFiles {
    No,
    /// It takes a path, lists a folder, or is about an open file.
    Yes,
    /// If what lies at the path at this address does, seen from this folder.
    Path(i32, u64),
    /// If this descriptor is that of a file on a disk.
    Descriptor(i32),
}

impl OfFiles {
    /// By the call's number and arguments.
    pub fn of(number: i64, arguments: &[u64; 6]) -> OfFiles {
        match number as libc::c_long {
            libc::SYS_fstat
            | libc::SYS_close
            | libc::SYS_lseek
            | libc::SYS_newfstatat
            | libc::SYS_statx
            | libc::SYS_getdents64
            | libc::SYS_readlinkat
            | libc::SYS_faccessat
            | libc::SYS_faccessat2
            | libc::SYS_mkdirat
            | libc::SYS_unlinkat
            | libc::SYS_renameat2
            | libc::SYS_linkat
            | libc::SYS_symlinkat
            | libc::SYS_utimensat
            | libc::SYS_fchmod
            | libc::SYS_fchmodat
            | libc::SYS_fchown
            | libc::SYS_fchownat
            | libc::SYS_getxattr
            | libc::SYS_lgetxattr
            | libc::SYS_fgetxattr
            | libc::SYS_listxattr
            | libc::SYS_llistxattr
            | libc::SYS_flistxattr
            | libc::SYS_chdir
            | libc::SYS_fsync
            | libc::SYS_fdatasync
            | libc::SYS_truncate
            | libc::SYS_ftruncate
            | libc::SYS_fallocate
            | libc::SYS_copy_file_range
            | libc::SYS_statfs
            | libc::SYS_fstatfs => OfFiles::Yes,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_stat
            | libc::SYS_lstat
            | libc::SYS_access
            | libc::SYS_readlink
            | libc::SYS_mkdir
            | libc::SYS_rmdir
            | libc::SYS_unlink
            | libc::SYS_rename
            | libc::SYS_chmod
            | libc::SYS_chown => OfFiles::Yes,
            #[cfg(target_arch = "x86_64")]
            libc::SYS_open => OfFiles::Path(libc::AT_FDCWD, arguments[0]),
            libc::SYS_openat => OfFiles::Path(arguments[0] as i32, arguments[1]),
            libc::SYS_read
            | libc::SYS_write
            | libc::SYS_ioctl
            | libc::SYS_pread64
            | libc::SYS_pwrite64
            | libc::SYS_readv
            | libc::SYS_writev
            | libc::SYS_preadv
            | libc::SYS_pwritev => OfFiles::Descriptor(arguments[0] as i32),
            _ => OfFiles::No,
        }
    }

    /// Whether a thread of this process that is in the call waits for a file system.
    pub fn waits(self, process: i32, memory: &File) -> bool {
        match self {
            OfFiles::No => false,
            OfFiles::Yes => true,
            // One end of a pipe with a name waits for the other.
            OfFiles::Path(from, at) => path(process, memory, from, at).is_none_or(|path| {
                !kind(&path).is_ok_and(|kind| matches!(kind, libc::S_IFIFO | libc::S_IFCHR))
            }),
            OfFiles::Descriptor(number) => kind(&format!("/proc/{process}/fd/{number}"))
                .is_ok_and(|kind| matches!(kind, libc::S_IFREG | libc::S_IFDIR)),
        }
    }
}

/// The path that stands at an address of a process, as we see it; none for what can't be read.
fn path(process: i32, memory: &File, from: i32, address: u64) -> Option<String> {
    let mut bytes = [0; 256];
    let read = memory.read_at(&mut bytes, address).ok()?;
    let end = bytes[..read].iter().position(|byte| *byte == 0)?;
    let path = std::str::from_utf8(&bytes[..end]).ok()?;
    let base = match from {
        _ if path.starts_with('/') => "root".to_owned(),
        libc::AT_FDCWD => "cwd".to_owned(),
        folder => format!("fd/{folder}"),
    };
    Some(format!("/proc/{process}/{base}/{path}"))
}
