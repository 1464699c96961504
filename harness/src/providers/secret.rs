//! Tokens that nobody else knows, and files that nobody else reads.

use std::{
    fs::{File, Permissions},
    io::{self, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::Path,
};

/// Bytes of randomness in a token.
const BYTES: usize = 32;

/// The kernel's randomness.
///
/// # Errors
/// The kernel gives none.
pub fn bytes<const N: usize>() -> io::Result<[u8; N]> {
    let mut bytes = [0; N];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(bytes)
}

/// A new token, of the kernel's randomness, in hexadecimal.
///
/// # Errors
/// The kernel gives none.
pub fn token() -> io::Result<String> {
    Ok(blake3::hash(&bytes::<BYTES>()?).to_hex()[..32].to_owned())
}

/// Writes a file that only its owner can read, also if it was there before.
pub fn write(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut file =
        File::options().write(true).create(true).truncate(true).mode(0o600).open(path)?;
    file.set_permissions(Permissions::from_mode(0o600))?;
    file.write_all(content)
}
