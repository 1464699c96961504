//! Which real life each of the model's is the beginning of, if one is.

use std::collections::BTreeMap;

use serde_json::Value;

use super::Life;

/// Renamings that are tried at most: lives are few, and most fit at once.
const TRIES: usize = 100_000;

/// Where the real programs part from the model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// Which of the model's writes has no counterpart, from 0.
    pub write: usize,
    /// What the real programs did instead.
    pub instead: String,
}

/// Texts of the model that stand for values of the real run.
#[derive(Debug, Clone, Default)]
pub(super) struct Names(BTreeMap<String, Value>);

impl Names {
    /// Whether the value of the model can be this real one, which it is from then on.
    pub(super) fn bind(&mut self, model: &Value, real: &Value) -> bool {
        let Some(name) = model.as_str().filter(|text| text.starts_with('$')) else {
            return model == real;
        };
        match self.0.get(name) {
            Some(bound) => bound == real,
            None if real.is_null() || self.0.values().any(|bound| bound == real) => false,
            None => {
                self.0.insert(name.to_owned(), real.clone());
                true
            }
        }
    }
}

/// Where the real lives part from the model's; none if each life of the model is the beginning of one of them, and no two
/// of the same.
///
/// # Errors
/// There are too many ways to rename them.
pub fn first_difference(model: &[Life], real: &[Life]) -> Result<Option<Difference>, String> {
    let mut search = Matching { model, real, best: None, tries: 0 };
    let mut used = vec![false; real.len()];
    if search.assign(0, &mut used, &Names::default()) {
        return Ok(None);
    }
    match search.tries < TRIES {
        true => Ok(search.best),
        false => Err(format!("writes: not one of {TRIES} renamings of objects fits")),
    }
}

struct Matching<'l> {
    model: &'l [Life],
    real: &'l [Life],
    /// The difference that shows latest.
    best: Option<Difference>,
    tries: usize,
}

impl Matching<'_> {
    /// Finds a real life for each of the model's from `at` on.
    fn assign(&mut self, at: usize, used: &mut [bool], names: &Names) -> bool {
        let Some(life) = self.model.get(at) else { return true };
        let mut closest: Option<(usize, &Life)> = None;
        let (real, mut found) = (self.real, false);
        for (candidate, one) in real.iter().enumerate() {
            if used[candidate] || one.role != life.role || self.tries >= TRIES {
                continue;
            }
            self.tries += 1;
            let mut names = names.clone();
            match life.parts_from(one, &mut names) {
                Some(write) if closest.is_none_or(|(best, _)| write > best) => {
                    closest = Some((write, one));
                }
                Some(_) => {}
                None => {
                    found = true;
                    used[candidate] = true;
                    if self.assign(at + 1, used, &names) {
                        return true;
                    }
                    used[candidate] = false;
                }
            }
        }
        if !found {
            let (write, instead) = match closest {
                Some((write, one)) => (write, format!("{}: {}", one.name, one.told())),
                None => (life.first(), "no further object of this name".to_owned()),
            };
            if self.best.as_ref().is_none_or(|best| best.write < write) {
                self.best = Some(Difference { write, instead });
            }
        }
        false
    }
}
