//! The workload's operations, one at a time, each at a quiet moment.
//!
//! The user is slow: each document of the workload is sent at a quiet moment, except inside `concurrently`.
//! Interleavings of user and controller come from crashes (the user goes on while it is down), and from later
//! perturbations.

use std::time::Duration;

use trace::{Cursor, Event, StepEvent, StepState, Time, Unmet};
use workloads::{CheckError, CheckOutcome, Operation, OperationKind};

use super::{Going, RunEnd, Stop, Trial};
use crate::report::timeline::object_yaml;

impl Trial<'_> {
    /// Performs the operation at the cursor and moves the cursor past it. A failure that the author allows
    /// (`continueOnError`, clean-up) is kept for the end.
    pub(super) async fn perform(&mut self, operation: &Operation) -> Going<()> {
        match self.try_to_perform(operation).await {
            Err(Stop(RunEnd::StepFailed(why))) if operation.continue_on_error => {
                self.failed_on.get_or_insert(why);
                self.cursor = next(self.cursor);
                self.began = None;
                Ok(())
            }
            done => done,
        }
    }

    async fn try_to_perform(&mut self, operation: &Operation) -> Going<()> {
        if self.cursor.document == 0 && self.began.is_none() {
            self.step(operation, self.cursor, StepState::Started);
        }
        self.began = Some(self.began());
        match &operation.kind {
            OperationKind::Act(_) => self.act(operation).await,
            OperationKind::Check(_) => {
                if self.members.subject_is_down() {
                    self.quiet().await?;
                    if !self.holds(operation).await? {
                        self.bring_up().await?; // the user waits for what only the controller can do
                    }
                }
                self.check(operation).await?;
                self.reached(operation, next(self.cursor)).await
            }
            OperationKind::Sleep(duration) => {
                self.pass_until(self.began().plus(*duration)).await?;
                self.disturbed_at = self.cluster.now();
                self.count_down();
                self.reached(operation, next(self.cursor)).await?;
                self.start_if_due().await
            }
            OperationKind::Settle => {
                self.settle(false).await?;
                self.reached(operation, next(self.cursor)).await
            }
            OperationKind::Restart => {
                self.calm().await?;
                self.kill_subject().await;
                self.start_subject().await?;
                self.reached(operation, next(self.cursor)).await
            }
            OperationKind::Concurrently(operations) => {
                self.concurrently(operation, operations).await
            }
            OperationKind::Run(_) => self.run_command(operation).await,
        }
    }

    /// Sends the operation's documents, one at a time, each at a quiet moment.
    async fn act(&mut self, operation: &Operation) -> Going<()> {
        let documents = operation.documents();
        while self.cursor.document < documents {
            self.calm().await?;
            let after = Cursor { document: self.cursor.document + 1, ..self.cursor };
            let after = if after.document == documents { next(self.cursor) } else { after };
            if self.awaited_step() == Some(after) && !self.members.subject_is_down() {
                // The subject is to die before it sees this write.
                self.proxy.gate().close();
            }
            self.send(operation, self.cursor.document).await?;
            self.count_down();
            let done = after.operation != self.cursor.operation;
            self.reached(operation, after).await?;
            self.start_if_due().await?;
            if done {
                return Ok(());
            }
        }
        self.reached(operation, next(self.cursor)).await
    }

    /// Sends a document; again at each of the subject's timers where a refusal may pass (a webhook that is
    /// down), as long as the operation's timeout lasts.
    async fn send(&mut self, operation: &Operation, document: u32) -> Going<()> {
        let began = self.began();
        loop {
            let user = self.user.clone();
            let sent = self.attend(workloads::act(operation, document, &user)).await?;
            self.disturbed_at = self.cluster.now();
            let Err(refused) = sent else { return Ok(()) };
            let left = self.patience(operation).saturating_sub(self.cluster.now().since(began));
            let gate_closed = self.proxy.gate().is_closed();
            if !refused.may_pass || gate_closed {
                return Err(self.failed(operation, refused.to_string()));
            }
            match self.quiet().await?.deadline {
                Some(deadline) if deadline <= left && !left.is_zero() => {
                    self.pass(deadline).await?
                }
                _ => return Err(self.failed(operation, refused.to_string())),
            }
        }
    }

    /// How long the user waits for an operation. Its timeout is what an undisturbed controller needs; one that was killed
    /// may have to wait for its lease and to do its work again, and is late, not wrong. So each kill adds the time after
    /// which a world counts as settled. (Where nothing is pending, nobody waits.)
    fn patience(&self, operation: &Operation) -> Duration {
        operation.timeout + self.waits.at_a_step.horizon * self.carried_out
    }

    /// Starts the subject again when the user has done the steps that the plan gives it.
    async fn start_if_due(&mut self) -> Going<()> {
        if !self.members.subject_is_complete() && self.down_for == 0 {
            if self.rest_first {
                self.run_environment().await?;
            }
            self.start_subject().await
        } else {
            Ok(())
        }
    }

    fn count_down(&mut self) {
        self.user_stepped();
        if !self.members.subject_is_complete() {
            self.down_for = self.down_for.saturating_sub(1);
        }
    }

    /// Evaluates until it holds, or until nothing that could make it hold is pending within its budget.
    async fn check(&mut self, operation: &Operation) -> Going<()> {
        let mut began = self.began();
        loop {
            let quiet = self.quiet().await?;
            let (message, unmet, nearest) = match self.look(operation).await? {
                Ok(CheckOutcome::Holds) => return Ok(()),
                Ok(CheckOutcome::NotYet { message, unmet, nearest }) => (message, unmet, nearest),
                Err(error) => return Err(self.failed(operation, error.to_string())),
            };
            let left = self.patience(operation).saturating_sub(self.cluster.now().since(began));
            // A kubelet that nobody can look at may be late.
            let others_act = self.cluster.acts_by_itself()
                && !self.stands()
                && self.members.subject_is_complete();
            let may_come = quiet.deadline.or(others_act.then_some(left));
            match may_come {
                Some(deadline) if deadline <= left && !left.is_zero() => {
                    self.pass(deadline).await?
                }
                // The user waits for what the subject can't know yet.
                _ if self.end_standing() => began = self.cluster.now(),
                // What the replicas that go on can't do, or do too late.
                _ if !self.members.subject_is_complete() => {
                    self.bring_up().await?;
                    began = self.cluster.now();
                }
                _ => return Err(self.failed_check(operation, message, unmet, nearest.as_ref())),
            }
        }
    }

    /// Evaluates once. What it reads may have to be converted by the subject.
    async fn look(&mut self, operation: &Operation) -> Going<Result<CheckOutcome, CheckError>> {
        let user = self.user.clone();
        self.attend(workloads::check(operation, &user)).await
    }

    async fn holds(&mut self, operation: &Operation) -> Going<bool> {
        match self.look(operation).await? {
            Ok(checked) => Ok(checked == CheckOutcome::Holds),
            Err(error) => Err(self.failed(operation, error.to_string())),
        }
    }

    /// Carries out all operations at the same time.
    async fn concurrently(&mut self, whole: &Operation, operations: &[Operation]) -> Going<()> {
        self.calm().await?;
        let context = self.run_context()?;
        let user = &self.user.clone();
        let all = operations.iter().map(|operation| async {
            for document in 0..operation.documents() {
                let sent = workloads::act(operation, document, user).await;
                sent.map_err(|error| format!("{}: {error}", operation.title))?;
            }
            if let OperationKind::Run(_) = operation.kind {
                let ran = workloads::run(operation, &context).await;
                ran.map_err(|error| format!("{}: {error}", operation.title))?;
            }
            Ok(())
        });
        let all = futures::future::try_join_all(all);
        let done: Result<Vec<()>, String> =
            self.accompany(&context.programs, longest(operations), all).await?;
        self.disturbed_at = self.cluster.now();
        done.map_err(|message| self.failed(whole, message))?;
        self.count_down();
        self.reached(whole, next(self.cursor)).await?;
        self.start_if_due().await
    }

    async fn run_command(&mut self, operation: &Operation) -> Going<()> {
        self.calm().await?;
        let context = self.run_context()?;
        let program = workloads::run(operation, &context);
        let ran = self.accompany(&context.programs, operation.timeout, program).await?;
        if let Err(error) = ran {
            return Err(self.failed(operation, error.to_string()));
        }
        self.disturbed_at = self.cluster.now();
        self.reached(operation, next(self.cursor)).await
    }

    /// What programs of the workload get.
    fn run_context(&mut self) -> Going<workloads::RunContext> {
        let kubeconfig = self.cluster.user_kubeconfig(self.setup, &self.folder);
        let kubeconfig = kubeconfig.map_err(Stop::broken)?;
        let mut env = vec![
            ("PATH".to_owned(), self.setup.path_variable.clone()),
            ("HOME".to_owned(), self.folder.display().to_string()),
        ];
        env.extend(self.setup.campaign.file.spec.workload.env.clone());
        Ok(workloads::RunContext {
            kubeconfig,
            env,
            client: self.user.clone(),
            timeout: None,
            programs: Default::default(),
        })
    }

    /// When the operation at the cursor began: now, unless this trial took it up in its middle.
    pub(super) fn began(&self) -> Time {
        self.began.unwrap_or_else(|| self.cluster.now())
    }

    /// The workload is at `cursor` now.
    async fn reached(&mut self, operation: &Operation, cursor: Cursor) -> Going<()> {
        self.cursor = cursor;
        self.began = None;
        self.step(operation, cursor, StepState::Done);
        self.crash_if_step_reached().await
    }

    fn failed(&self, operation: &Operation, message: String) -> Stop {
        self.failed_check(operation, message, None, None)
    }

    /// The user is told where the step is written, and what the object was like.
    fn failed_check(
        &self,
        operation: &Operation,
        message: String,
        unmet: Option<Unmet>,
        object: Option<&serde_json::Value>,
    ) -> Stop {
        let state = StepState::Failed { message: message.clone(), unmet };
        self.step(operation, self.cursor, state);
        let mut told =
            format!("{}: {message}\nit is written at {}", operation.title, operation.place);
        if let Some(object) = object {
            told += &format!("\nthe object as it was:\n{}", object_yaml(object));
        }
        Stop(RunEnd::StepFailed(told))
    }

    fn step(&self, operation: &Operation, cursor: Cursor, state: StepState) {
        let title = operation.title.clone();
        self.recorder.record(Event::Step(StepEvent { cursor, title, state }));
    }
}

/// How long the slowest of them may take.
fn longest(operations: &[Operation]) -> Duration {
    operations.iter().map(|operation| operation.timeout).max().unwrap_or_default()
}

fn next(cursor: Cursor) -> Cursor {
    Cursor { operation: cursor.operation + 1, document: 0 }
}
