//! Which state was reached from which, two bits a state.
//!
//! States are numbered in the order in which a breadth first search finds them, so the children of a state have
//! successive numbers, and later states have later children. How many children each state has is then enough
//! (LOUDS, Jacobson 1989): a one for each child, and a zero after the last one. A parent is found by counting from the
//! beginning, a millisecond for ten million states: traces are rare.

/// The tree of a breadth first search. The initial states are the children of its root.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    words: Vec<u64>,
    bits: u64,
}

impl Tree {
    /// Adds the next state's children (or, first, the root's), which get the next numbers.
    pub fn add(&mut self, children: usize) {
        for _ in 0..children {
            self.push(true);
        }
        self.push(false);
    }

    /// The number of the state from which state number `child` was reached; none for an initial state.
    pub fn parent(&self, child: u32) -> Option<u32> {
        let mut ones = u64::from(child) + 1;
        let mut zeros = 0;
        for word in &self.words {
            let here = u64::from(word.count_ones());
            if ones > here {
                ones -= here;
                zeros += 64 - here;
                continue;
            }
            let mut word = *word;
            for _ in 1..ones {
                word &= word - 1; // clears the lowest one
            }
            zeros += u64::from(word.trailing_zeros()) - (ones - 1);
            // As many zeros as there are states (and the root) with all their children before this one.
            return zeros.checked_sub(1).map(|parent| parent as u32);
        }
        panic!("state {child} is in the tree")
    }

    /// What the tree takes, in bytes.
    pub fn bytes(&self) -> usize {
        self.words.capacity() * 8
    }

    /// The number of bits, and the bits from the lowest of the first word on.
    pub fn parts(&self) -> (u64, &[u64]) {
        (self.bits, &self.words)
    }

    /// The tree of these parts.
    pub fn from_parts(bits: u64, words: Vec<u64>) -> Tree {
        Tree { words, bits }
    }

    fn push(&mut self, bit: bool) {
        if self.bits.is_multiple_of(64) {
            self.words.push(0);
        }
        if let (true, Some(last)) = (bit, self.words.last_mut()) {
            *last |= 1 << (self.bits % 64);
        }
        self.bits += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parents_are_found_by_counting() {
        // Children per state, the root first; the rest of the states has none.
        let check = |children: &[usize]| {
            let mut tree = Tree::default();
            let mut expect = Vec::new();
            for (state, count) in children.iter().enumerate() {
                tree.add(*count);
                expect.extend(std::iter::repeat_n(state.checked_sub(1).map(|s| s as u32), *count));
            }
            let parents: Vec<_> =
                (0..expect.len()).map(|child| tree.parent(child as u32)).collect();
            assert_eq!(parents, expect, "{children:?}");
        };
        check(&[1]);
        check(&[2, 1, 0, 3]);
        check(&[1, 200, 0, 0, 1, 70]);
        check(&[63, 1, 64, 65, 0, 1]);
    }
}
