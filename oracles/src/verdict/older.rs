//! Fingerprints as older versions made them, for replay files that are kept in repositories.
//!
//! They named the oracle, often the families of the plan, and every difference instead of one. Those of losses of objects
//! with generated names can't be made again: the evidence has real names.

use trace::fold_key;

use super::{Evidence, Fingerprint, Oracle, Verdict};
use crate::baseline::fold_path;

impl Verdict {
    /// Its ids in older versions, for a plan of these families (sorted, joined with `+`).
    pub fn older_ids(&self, families: &str) -> [String; 2] {
        let plain = Fingerprint::new(self.oracle, self.differences());
        let mut parts = plain.0.clone();
        parts.insert(1, format!("family {families}"));
        [plain.id(), Fingerprint(parts).id()]
    }

    fn differences(&self) -> Vec<String> {
        let each = |of: &dyn Fn(&Evidence) -> Option<String>| -> Vec<String> {
            self.evidence.iter().filter_map(of).collect()
        };
        match self.oracle {
            Oracle::EndState => {
                let counts = each(&|evidence| match evidence {
                    Evidence::Count { objects, references, trial, .. } => {
                        let kind = if trial > references { "extra" } else { "missing" };
                        Some(format!("{kind} {objects}"))
                    }
                    _ => None,
                });
                let fields = each(&|evidence| match evidence {
                    Evidence::Field { object, path, .. } => {
                        Some(format!("field {} {}", fold_key(object), fold_path(path)))
                    }
                    _ => None,
                });
                if counts.is_empty() { fields } else { counts }
            }
            Oracle::ObjectLives => each(&|evidence| match evidence {
                Evidence::Deleted { object, recreated, .. } => {
                    let kind = if *recreated { "recreated" } else { "deleted" };
                    Some(format!("{kind} {object}"))
                }
                _ => None,
            }),
            Oracle::Workload => each(&|evidence| match evidence {
                Evidence::Step { cursor, .. } => {
                    Some(format!("failed operation {}", cursor.operation))
                }
                _ => None,
            }),
            _ => self.fingerprint.0.iter().skip(1).cloned().collect(),
        }
    }
}
