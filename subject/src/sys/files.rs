//! What lies at a path.

use std::{ffi::CString, io, mem};

use super::checked;

/// The kind of a file (`S_IFMT` of its mode), from what the kernel knows already: a file system that is a program is not
/// asked, which the standard library's `metadata` does.
pub fn kind(path: &str) -> io::Result<libc::mode_t> {
    let path = CString::new(path)?;
    // SAFETY: an all-zero statx is valid; the kernel fills it.
    let mut found: libc::statx = unsafe { mem::zeroed() };
    // SAFETY: a NUL-terminated path and a live local.
    checked(unsafe {
        libc::statx(
            libc::AT_FDCWD,
            path.as_ptr(),
            libc::AT_STATX_DONT_SYNC,
            libc::STATX_TYPE,
            &mut found,
        )
    })?;
    Ok(libc::mode_t::from(found.stx_mode) & libc::S_IFMT)
}
