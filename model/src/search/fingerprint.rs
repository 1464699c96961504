//! 104 bits that stand for a state.
//!
//! Two different states with the same fingerprint would be taken for one. Among a billion states that happens by chance
//! once in 4 * 10^13 searches; with the usual 64 bits it would be once in 37. xxh3 makes 128 bits, of which the table
//! keeps 104: the other three bytes would be a fifth of its memory and buy nothing. xxh3 is taken because it hashes a
//! short input in some nanoseconds and has no state to set up; nobody chooses states in order to make it fail, so a
//! cryptographic hash would not be safer. Its seed is fixed, so a fingerprint is the same in each search.
//!
//! The bytes are gathered before they are hashed: the states of most models feed many small integers, and a call per
//! integer costs more than the hash itself.

use std::hash::{Hash, Hasher};

use xxhash_rust::xxh3::xxh3_128_with_seed;

const SEED: u64 = 0x7472_6f6d_6d65_6c00;

/// What stands for a state: 104 bits, the last 96 of which are never all 0, which marks a free slot in the table.
pub type Fingerprint = u128;

/// Makes fingerprints, with a buffer that is used again.
#[derive(Debug, Default)]
pub struct Fingerprinter {
    bytes: Gathered,
}

impl Fingerprinter {
    /// The fingerprint of what `state` feeds.
    pub fn of(&mut self, state: &impl Hash) -> Fingerprint {
        self.bytes.0.clear();
        state.hash(&mut self.bytes);
        let kept = xxh3_128_with_seed(&self.bytes.0, SEED) >> 24;
        if kept << 32 == 0 { kept | 1 } else { kept }
    }
}

#[derive(Debug, Default)]
struct Gathered(Vec<u8>);

impl Hasher for Gathered {
    fn write(&mut self, bytes: &[u8]) {
        self.0.extend_from_slice(bytes);
    }

    // Asked for by types that hash parts of themselves apart.
    fn finish(&self) -> u64 {
        xxh3_128_with_seed(&self.0, SEED) as u64
    }
}
