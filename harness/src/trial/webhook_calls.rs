//! Waiting while the subject's webhooks are asked: the API server waits for the subject, and so whoever sent a request
//! waits too.
//!
//! Such a moment is not quiet. But if the subject sleeps and has not answered, then nothing happens until time passes:
//! until its next timer, or until the webhook's `timeoutSeconds` are over by the world's clock.

use std::time::Duration;

use super::{
    Going, Trial,
    quiet::{Limits, Waited},
};

/// So many quiet looks in a row, with nothing having moved in between, show that a webhook's answer is not just on its
/// way through this process.
const LOOKS: u32 = 3;

/// Quiet looks so far.
#[derive(Debug, Default)]
pub(super) struct Looks {
    in_a_row: u32,
    /// What had moved at the last one.
    activity: u64,
}

impl Trial<'_> {
    /// Waits for something that may need the subject's webhooks to answer.
    pub(super) async fn attend<T>(&mut self, work: impl Future<Output = T>) -> Going<T> {
        let Some(hooks) = self.hooks.clone() else { return Ok(work.await) };
        let mut work = std::pin::pin!(work);
        let mut looks = Looks::default();
        let mut limits = Limits::new(self);
        loop {
            if !self.asks() {
                tokio::select! {
                    biased;
                    done = &mut work => return Ok(done),
                    () = hooks.asked() => {}
                }
            }
            let waited = tokio::select! {
                biased;
                done = &mut work => return Ok(done),
                waited = self.wait(&mut limits) => waited,
            };
            match waited {
                // Boxed: what a crash does may wait for webhooks too.
                Waited::Stopped => {
                    Box::pin(self.crash()).await?;
                    limits = Limits::new(self);
                }
                Waited::Exceeded(why) => self.at_the_limit(&mut limits, &why)?,
                Waited::Quiet(Err(why)) => self.not_quiet(why).await?,
                Waited::Quiet(Ok(quiet)) => {
                    self.following.catch_up();
                    if self.next_in_turn() {
                        continue;
                    }
                    self.look_again(&mut looks, quiet.deadline).await?;
                }
            }
        }
    }

    /// Whether webhooks of the subject have been asked and have not answered.
    pub(super) fn asks(&self) -> bool {
        self.hooks.as_ref().is_some_and(|hooks| !hooks.outstanding().is_empty())
    }

    /// After a look that found all asleep: lets time pass, if several in a row have found that.
    pub(super) async fn look_again(
        &mut self,
        looks: &mut Looks,
        deadline: Option<Duration>,
    ) -> Going<()> {
        let activity = self.activity();
        looks.in_a_row = if looks.activity == activity { looks.in_a_row + 1 } else { 0 };
        looks.activity = activity;
        if looks.in_a_row == LOOKS {
            self.outwait(deadline).await?;
            *looks = Looks::default();
        }
        // What was answered has its way through this process before the next look.
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Lets time pass until the subject's next timer, or until a webhook is given up.
    async fn outwait(&mut self, deadline: Option<Duration>) -> Going<()> {
        let Some(hooks) = self.hooks.clone() else { return Ok(()) };
        let timeout = hooks.next_timeout().map(|until| until.since(self.cluster.now()));
        if timeout.is_none() {
            return Ok(());
        }
        if let Some(next) = deadline.into_iter().chain(timeout).min() {
            self.pass(next).await?;
        }
        hooks.give_up_due();
        Ok(())
    }
}
