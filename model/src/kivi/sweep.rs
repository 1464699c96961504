//! Clusters that grow, until one violates its intents.
//!
//! The threads are spread over the clusters: most have few states, so one alone would not keep them busy.

use std::{
    num::NonZeroUsize,
    sync::{
        PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::{
    check::{self, CheckError, Checked},
    description::Description,
    options::Options,
    sizes::Size,
};
use crate::search::parallel::in_order;

/// What came of one cluster.
#[derive(Debug)]
pub struct Swept {
    /// Its place among all, from 1.
    pub index: usize,
    /// How large it is.
    pub size: Size,
    /// Verdicts.
    pub checked: Checked,
}

/// What came of a sweep.
#[derive(Debug)]
pub struct Sweep {
    /// Those that were checked, in order; without `all_violations` none behind the first violation.
    pub swept: Vec<Swept>,
    /// How many sizes there are.
    pub sizes: usize,
}

impl Sweep {
    /// The smallest violation.
    pub fn first_violation(&self) -> Option<&Swept> {
        self.swept.iter().find(|one| one.checked.violation().is_some())
    }

    /// Whether all sizes were seen, and all is well in all of them: clean within the confident size.
    pub fn is_clean(&self) -> bool {
        self.swept.len() == self.sizes && self.swept.iter().all(|one| one.checked.is_clean())
    }
}

/// Checks clusters of these sizes, as `describe` makes them.
///
/// # Errors
/// The first, of a cluster that can't be checked.
pub fn sweep(
    sizes: &[Size],
    describe: impl Fn(&Size) -> Description + Sync,
    options: &Options,
    deadline: Option<&(dyn Fn() -> bool + Sync)>,
) -> Result<Sweep, CheckError> {
    let first = AtomicUsize::new(usize::MAX);
    let broken = RwLock::new(None);
    let swept = in_order(options.threads, sizes.len(), |at| {
        let is_over = deadline.is_some_and(|is_up| is_up());
        if is_over || first.load(Ordering::Relaxed) < at {
            return None;
        }
        let of = describe(&sizes[at]);
        let intents = check::asked(&of, options);
        match check::check(&of, &intents, options, NonZeroUsize::MIN, deadline) {
            Ok(checked) => {
                if checked.violation().is_some() && !options.all_violations {
                    first.fetch_min(at, Ordering::Relaxed);
                }
                Some(Swept { index: at + 1, size: sizes[at].clone(), checked })
            }
            Err(error) => {
                first.fetch_min(at, Ordering::Relaxed);
                broken.write().unwrap_or_else(PoisonError::into_inner).get_or_insert(error);
                None
            }
        }
    });
    if let Some(error) = broken.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let last = first.into_inner();
    let swept = swept.into_iter().flatten().filter(|one| one.index <= last.saturating_add(1));
    Ok(Sweep { swept: swept.collect(), sizes: sizes.len() })
}
