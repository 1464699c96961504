//! Work that is cut into chunks, on several threads, with the results in the order of the chunks.

use std::{
    num::NonZeroUsize,
    sync::atomic::{AtomicUsize, Ordering},
};

/// The results of `work` for the chunks `0..chunks`.
pub fn in_order<T: Send>(
    threads: NonZeroUsize,
    chunks: usize,
    work: impl Fn(usize) -> T + Sync,
) -> Vec<T> {
    in_order_with(threads, chunks, || (), |chunk, ()| work(chunk))
}

/// The same, where each thread begins with a `scratch` of its own.
pub fn in_order_with<T: Send, Scratch>(
    threads: NonZeroUsize,
    chunks: usize,
    scratch: impl Fn() -> Scratch + Sync,
    work: impl Fn(usize, &mut Scratch) -> T + Sync,
) -> Vec<T> {
    let next = AtomicUsize::new(0);
    let take = || {
        let mut scratch = scratch();
        let mut done = Vec::new();
        loop {
            let chunk = next.fetch_add(1, Ordering::Relaxed);
            if chunk >= chunks {
                return done;
            }
            done.push((chunk, work(chunk, &mut scratch)));
        }
    };
    let others = threads.get().min(chunks).saturating_sub(1);
    let mut done = std::thread::scope(|scope| {
        let others: Vec<_> = (0..others).map(|_| scope.spawn(take)).collect();
        let mut done = take();
        for other in others {
            match other.join() {
                Ok(theirs) => done.extend(theirs),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_unstable_by_key(|(chunk, _)| *chunk);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_are_in_order() {
        for threads in 1..4 {
            let threads = NonZeroUsize::new(threads).unwrap();
            let squares = in_order(threads, 100, |chunk| chunk * chunk);
            assert_eq!(squares, (0..100).map(|chunk| chunk * chunk).collect::<Vec<_>>());
        }
    }
}
