//! Weights and jitter without dice.

/// Numbers that depend on a text and on how many were drawn before.
#[derive(Debug, Clone)]
pub struct Chance {
    of: String,
    drawn: u32,
}

impl Chance {
    /// The numbers that belong to `of`.
    pub fn new(of: String) -> Chance {
        Chance { of, drawn: 0 }
    }

    /// The next number, below `end`; 0 where that is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        let mut hasher = blake3::Hasher::new();
        hasher.update(&self.drawn.to_le_bytes()).update(self.of.as_bytes());
        self.drawn += 1;
        let mut word = [0; 8];
        word.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(word).checked_rem(end).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_text_draws_the_same() {
        let draw = |of: &str| {
            let mut chance = Chance::new(of.to_owned());
            [0; 8].map(|_| chance.below(100))
        };
        assert_eq!(draw("a"), draw("a"));
        assert_ne!(draw("a"), draw("b"));
        assert!(draw("a").iter().any(|n| *n != draw("a")[0]));
        assert_eq!(Chance::new(String::new()).below(0), 0);
    }
}
