//! Names that the world gives: uids and `generateName` suffixes.
//!
//! Everything comes from a seed and counters, so a fork that does the same gets the same names. Suffixes
//! move in one direction: list order follows creation order (ascending) or its reverse (descending), and a
//! plan that wants the other order says so with [`Names::reseed`]. Names issued after a reseed lie beyond
//! all names issued before it, on the side that the new order points to.
//!
//! Simplification: a real server draws suffixes at random. Who could notice: a controller that relies on
//! generated names having *no* order; it still sees both orders in two runs.

use std::sync::Arc;

use rpds::VectorSync;

/// Upstream's alphabet for generated names (`k8s.io/apimachinery/pkg/util/rand`), in ASCII order.
const ALPHABET: &[u8; 27] = b"2456789bcdfghjklmnpqrstvwxz";

/// Length of a suffix in characters (`maxNameLength` in `apiserver/pkg/storage/names`).
const SUFFIX_LENGTH: usize = 5;

/// How many suffixes there are.
const SPACE: u64 = 27u64.pow(SUFFIX_LENGTH as u32);

/// Longest base that a suffix is appended to; longer ones are cut, as upstream does.
const BASE_LENGTH: usize = 63 - SUFFIX_LENGTH;

/// Which way suffixes go as the counter grows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum SuffixOrder {
    /// Later names sort after earlier ones.
    #[default]
    Ascending,
    /// Later names sort before earlier ones.
    Descending,
}

/// The generator. Cloning it is cheap and gives a generator that continues alike.
#[derive(Debug, Clone)]
pub struct Names {
    seed: u64,
    order: SuffixOrder,
    uids: u64,
    /// Suffixes in `lowest..next` have been issued or passed over.
    lowest: u64,
    next: u64,
    issued: VectorSync<Arc<str>>,
    pod_ips: u64,
    cluster_ips: u32,
    ports: u16,
}

impl Names {
    /// A generator whose start point depends on `seed`.
    pub fn new(seed: u64, order: SuffixOrder) -> Names {
        // The middle half of the space, so that both directions have room for millions of names.
        let start = SPACE / 4 + word(b"suffix", seed, 0) % (SPACE / 2);
        Names {
            seed,
            order,
            uids: 0,
            lowest: start,
            next: start,
            issued: VectorSync::new_sync(),
            pod_ips: 0,
            cluster_ips: 0,
            ports: 0,
        }
    }

    /// From now on other uids, and suffixes in `order` with another gap to those before.
    pub fn reseed(&mut self, seed: u64, order: SuffixOrder) {
        self.seed = seed;
        self.order = order;
        let gap = word(b"gap", seed, self.uids) % 4096;
        match order {
            SuffixOrder::Ascending => self.next = (self.next + gap).min(SPACE - 1),
            SuffixOrder::Descending => self.lowest = self.lowest.saturating_sub(gap),
        }
    }

    /// A fresh uid in the shape of a version 4 UUID.
    pub fn uid(&mut self) -> String {
        let digest = digest(b"uid", self.seed, self.uids);
        self.uids += 1;
        shape_v4(&digest)
    }

    /// A fresh address of a pod, out of 10.128.0.0/10.
    pub fn pod_ip(&mut self) -> std::net::Ipv4Addr {
        self.pod_ips += 1;
        let index = u32::try_from(self.pod_ips % (1 << 22)).unwrap_or(0);
        std::net::Ipv4Addr::from((10 << 24 | 128 << 16) + index)
    }

    /// An identifier that is no part of the world, in the same shape (`audit-id` of the n-th answer).
    pub fn opaque(purpose: &[u8], n: u64) -> String {
        shape_v4(&digest(purpose, 0, n))
    }

    /// A cluster IP out of 10.96.0.0/12; the next call gives another one. Whether a user took it already is
    /// the caller's affair.
    pub fn cluster_ip(&mut self) -> std::net::Ipv4Addr {
        /// Upstream keeps the first addresses of the range for services that name theirs.
        const FIRST: u32 = 256;
        const SIZE: u32 = 1 << 20;
        let index = FIRST + self.cluster_ips % (SIZE - 2 * FIRST);
        self.cluster_ips += 1;
        std::net::Ipv4Addr::from((10 << 24 | 96 << 16) + index)
    }

    /// A node port out of 30000 to 32767, in the same way.
    pub fn node_port(&mut self) -> u16 {
        const FIRST: u16 = 30000;
        const SIZE: u16 = 2768;
        /// The lower part of the range is for services that name theirs.
        const STATIC: u16 = 86;
        let port = FIRST + STATIC + self.ports % (SIZE - STATIC);
        self.ports = (self.ports + 1) % (SIZE - STATIC);
        port
    }

    /// Takes back which addresses and ports of services were given since `before`: nobody got them.
    pub(crate) fn give_back(&mut self, before: &Names) {
        (self.cluster_ips, self.ports) = (before.cluster_ips, before.ports);
    }

    /// A name that starts with `base` and ends in a fresh suffix.
    pub fn generate(&mut self, base: &str) -> Arc<str> {
        let value = match self.order {
            SuffixOrder::Ascending => {
                self.next = (self.next + 1) % SPACE;
                (self.next + SPACE - 1) % SPACE
            }
            SuffixOrder::Descending => {
                self.lowest = (self.lowest + SPACE - 1) % SPACE;
                self.lowest
            }
        };
        let mut end = base.len().min(BASE_LENGTH);
        while !base.is_char_boundary(end) {
            end -= 1;
        }
        let name: Arc<str> = format!("{}{}", &base[..end], suffix(value)).into();
        self.issued.push_back_mut(name.clone());
        name
    }

    /// Every generated name, in order of issue.
    pub fn issued(&self) -> impl Iterator<Item = &str> {
        self.issued.iter().map(|name| &**name)
    }
}

/// The `value`-th suffix in ASCII order.
fn suffix(mut value: u64) -> String {
    let mut letters = [0u8; SUFFIX_LENGTH];
    for letter in letters.iter_mut().rev() {
        *letter = ALPHABET[(value % 27) as usize];
        value /= 27;
    }
    letters.iter().map(|&letter| letter as char).collect()
}

fn digest(purpose: &[u8], seed: u64, n: u64) -> [u8; 32] {
    let mut hasher = blake3::Hasher::new();
    hasher.update(purpose).update(&seed.to_le_bytes()).update(&n.to_le_bytes());
    *hasher.finalize().as_bytes()
}

fn word(purpose: &[u8], seed: u64, n: u64) -> u64 {
    let digest = digest(purpose, seed, n);
    u64::from_le_bytes([
        digest[0], digest[1], digest[2], digest[3], digest[4], digest[5], digest[6], digest[7],
    ])
}

fn shape_v4(digest: &[u8; 32]) -> String {
    let mut text = String::with_capacity(36);
    for (position, byte) in digest[..16].iter().enumerate() {
        if matches!(position, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        let byte = match position {
            6 => byte & 0x0f | 0x40,
            8 => byte & 0x3f | 0x80,
            _ => *byte,
        };
        for half in [byte >> 4, byte & 15] {
            text.push(char::from(b"0123456789abcdef"[half as usize]));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_alphabet_is_sorted_and_upstreams() {
        assert!(ALPHABET.is_sorted());
        let mut upstream = *b"bcdfghjklmnpqrstvwxz2456789";
        upstream.sort_unstable();
        assert_eq!(&upstream, ALPHABET);
    }

    #[test]
    fn uids_are_shaped_like_version_four() {
        let uid = Names::new(7, SuffixOrder::Ascending).uid();
        assert_eq!(uid.len(), 36);
        assert_eq!(&uid[14..15], "4");
        assert!("89ab".contains(&uid[19..20]), "{uid}");
        assert_eq!(uid, Names::new(7, SuffixOrder::Descending).uid());
        assert_ne!(uid, Names::new(8, SuffixOrder::Ascending).uid());
    }

    #[test]
    fn long_bases_are_cut() {
        let mut names = Names::new(1, SuffixOrder::Ascending);
        assert_eq!(names.generate(&"a".repeat(80)).len(), 63);
    }

    proptest! {
        #[test]
        fn suffixes_are_monotone_across_reseeds(
            seed: u64,
            runs in prop::collection::vec((any::<u64>(), any::<bool>(), 1usize..40), 1..5),
        ) {
            let mut names = Names::new(seed, SuffixOrder::Ascending);
            let mut all: Vec<String> = vec![names.generate("x-").to_string()];
            for (seed, descending, count) in runs {
                let order = if descending { SuffixOrder::Descending } else { SuffixOrder::Ascending };
                names.reseed(seed, order);
                for _ in 0..count {
                    let name = names.generate("x-").to_string();
                    match order {
                        SuffixOrder::Ascending => prop_assert!(all.iter().all(|old| *old < name)),
                        SuffixOrder::Descending => prop_assert!(all.iter().all(|old| *old > name)),
                    }
                    all.push(name);
                }
            }
            prop_assert_eq!(names.issued().count(), all.len());
        }
    }
}
