---------------------------------- MODULE ns ----------------------------------
(* The controller of a Bar, which is to create one Foo for it.               *)
(*                                                                           *)
(* The Foo gets a generated name, and the Bar's status is written after it.  *)
(* A controller that is restarted between the two creates a second Foo.      *)
EXTENDS TLC, Integers, Sequences

(* --algorithm ns
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
          fooObjs := Append(fooObjs, [generateName |-> barObj.name \o "-"]);
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
                              "Failure of assertion at line 35, column 5.")
                    /\ pc' = "Done"
         /\ UNCHANGED << fooObjs, barObj >>

CreateObject == /\ pc = "CreateObject"
                /\ fooObjs' = Append(fooObjs, [generateName |-> barObj.name \o "-"])
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
===============================================================================
