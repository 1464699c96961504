----------------------------- MODULE ns_fixed_name -----------------------------
(* The controller of ns, mended: the name of the Foo follows from the Bar.    *)
(*                                                                            *)
(* A second POST is answered with 409 AlreadyExists, and the controller takes *)
(* the Foo that is there for its own.                                         *)
EXTENDS TLC, Integers, Sequences

(* --algorithm ns_fixed_name
variables
  fooObjs = <<>>,
  barObj = [name |-> "foo", created |-> FALSE];

define
  LimitedFooObjs == Len(fooObjs) <= 1
end define;

begin
  Start:
    while ~barObj.created do
      either
        CreateObject:
          if fooObjs = <<>> then
            fooObjs := Append(fooObjs, [name |-> barObj.name]);
          end if;
          either
            MarkCreated:
              barObj.created := TRUE;
          or
            RebootDuringMarkingCreation:
              skip;
          end either;
      or
        RebootDuringCreation:
          skip;
      end either;
    end while;
    assert Len(fooObjs) = 1;
end algorithm; *)
\* BEGIN TRANSLATION
VARIABLES pc, fooObjs, barObj

(* define statement *)
LimitedFooObjs == Len(fooObjs) <= 1


vars == << pc, fooObjs, barObj >>

Init == (* Global variables *)
        /\ fooObjs = <<>>
        /\ barObj = [name |-> "foo", created |-> FALSE]
        /\ pc = "Start"

Start == /\ pc = "Start"
         /\ IF ~barObj.created
               THEN /\ \/ /\ pc' = "CreateObject"
                       \/ /\ pc' = "RebootDuringCreation"
               ELSE /\ Assert(Len(fooObjs) = 1, 
                              "Failure of assertion at line 37, column 5.")
                    /\ pc' = "Done"
         /\ UNCHANGED << fooObjs, barObj >>

CreateObject == /\ pc = "CreateObject"
                /\ IF fooObjs = <<>>
                      THEN /\ fooObjs' = Append(fooObjs, [name |-> barObj.name])
                      ELSE /\ TRUE
                           /\ UNCHANGED fooObjs
                /\ \/ /\ pc' = "MarkCreated"
                   \/ /\ pc' = "RebootDuringMarkingCreation"
                /\ UNCHANGED barObj

MarkCreated == /\ pc = "MarkCreated"
               /\ barObj' = [barObj EXCEPT !.created = TRUE]
               /\ pc' = "Start"
               /\ UNCHANGED fooObjs

RebootDuringMarkingCreation == /\ pc = "RebootDuringMarkingCreation"
                               /\ TRUE
                               /\ pc' = "Start"
                               /\ UNCHANGED << fooObjs, barObj >>

RebootDuringCreation == /\ pc = "RebootDuringCreation"
                        /\ TRUE
                        /\ pc' = "Start"
                        /\ UNCHANGED << fooObjs, barObj >>

(* Allow infinite stuttering to prevent deadlock on termination. *)
Terminating == pc = "Done" /\ UNCHANGED vars

Next == Start \/ CreateObject \/ MarkCreated \/ RebootDuringMarkingCreation
           \/ RebootDuringCreation
           \/ Terminating

Spec == Init /\ [][Next]_vars

Termination == <>(pc = "Done")

\* END TRANSLATION
================================================================================
