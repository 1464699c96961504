------------------------------ MODULE Workers -------------------------------
(* PlusCal with processes, a procedure, a macro, await, with and goto.       *)
EXTENDS Naturals, Sequences, TLC
CONSTANT Workers

(* --fair algorithm workers
variables lock = "free", jobs = <<"a", "b">>, done = {};

macro acquire() begin
  await lock = "free";
  lock := self;
end macro;

procedure finish(job)
begin
  Finish:
    done := done \union {job};
    return;
end procedure;

fair process worker \in Workers
variable job = "none";
begin
  Take:
    acquire();
  Pick:
    if jobs = <<>> then
      lock := "free";
      goto Done;
    else
      job := Head(jobs);
      jobs := Tail(jobs);
      lock := "free";
    end if;
  Work:
    call finish(job);
  Again:
    goto Take;
end process;

process watcher = "watcher"
begin
  Watch:
    with one \in {"a", "b"} do
      await one \in done;
    end with;
end process;
end algorithm; *)
\* BEGIN TRANSLATION
\* Process variable job of process worker at line 22 col 10 changed to job_
CONSTANT defaultInitValue
VARIABLES pc, lock, jobs, done, stack, job, job_

vars == << pc, lock, jobs, done, stack, job, job_ >>

ProcSet == (Workers) \cup {"watcher"}

Init == (* Global variables *)
        /\ lock = "free"
        /\ jobs = <<"a", "b">>
        /\ done = {}
        (* Procedure finish *)
        /\ job = [ self \in ProcSet |-> defaultInitValue]
        (* Process worker *)
        /\ job_ = [self \in Workers |-> "none"]
        /\ stack = [self \in ProcSet |-> << >>]
        /\ pc = [self \in ProcSet |-> CASE self \in Workers -> "Take"
                                        [] self = "watcher" -> "Watch"]

Finish(self) == /\ pc[self] = "Finish"
                /\ done' = (done \union {job[self]})
                /\ pc' = [pc EXCEPT ![self] = Head(stack[self]).pc]
                /\ job' = [job EXCEPT ![self] = Head(stack[self]).job]
                /\ stack' = [stack EXCEPT ![self] = Tail(stack[self])]
                /\ UNCHANGED << lock, jobs, job_ >>

finish(self) == Finish(self)

Take(self) == /\ pc[self] = "Take"
              /\ lock = "free"
              /\ lock' = self
              /\ pc' = [pc EXCEPT ![self] = "Pick"]
              /\ UNCHANGED << jobs, done, stack, job, job_ >>

Pick(self) == /\ pc[self] = "Pick"
              /\ IF jobs = <<>>
                    THEN /\ lock' = "free"
                         /\ pc' = [pc EXCEPT ![self] = "Done"]
                         /\ UNCHANGED << jobs, job_ >>
                    ELSE /\ job_' = [job_ EXCEPT ![self] = Head(jobs)]
                         /\ jobs' = Tail(jobs)
                         /\ lock' = "free"
                         /\ pc' = [pc EXCEPT ![self] = "Work"]
              /\ UNCHANGED << done, stack, job >>

Work(self) == /\ pc[self] = "Work"
              /\ /\ job' = [job EXCEPT ![self] = job_[self]]
                 /\ stack' = [stack EXCEPT ![self] = << [ procedure |->  "finish",
                                                          pc        |->  "Again",
                                                          job       |->  job[self] ] >>
                                                      \o stack[self]]
              /\ pc' = [pc EXCEPT ![self] = "Finish"]
              /\ UNCHANGED << lock, jobs, done, job_ >>

Again(self) == /\ pc[self] = "Again"
               /\ pc' = [pc EXCEPT ![self] = "Take"]
               /\ UNCHANGED << lock, jobs, done, stack, job, job_ >>

worker(self) == Take(self) \/ Pick(self) \/ Work(self) \/ Again(self)

Watch == /\ pc["watcher"] = "Watch"
         /\ \E one \in {"a", "b"}:
              one \in done
         /\ pc' = [pc EXCEPT !["watcher"] = "Done"]
         /\ UNCHANGED << lock, jobs, done, stack, job, job_ >>

watcher == Watch

(* Allow infinite stuttering to prevent deadlock on termination. *)
Terminating == /\ \A self \in ProcSet: pc[self] = "Done"
               /\ UNCHANGED vars

Next == watcher
           \/ (\E self \in ProcSet: finish(self))
           \/ (\E self \in Workers: worker(self))
           \/ Terminating

Spec == /\ Init /\ [][Next]_vars
        /\ WF_vars(Next)
        /\ \A self \in Workers : WF_vars(worker(self)) /\ WF_vars(finish(self))

Termination == <>(\A self \in ProcSet: pc[self] = "Done")

\* END TRANSLATION

AllDone == <>(done = {"a", "b"})
=============================================================================
