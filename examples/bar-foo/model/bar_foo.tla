-------------------------------- MODULE bar_foo --------------------------------
(* The controller of a Bar, which is to create one Foo for it, and to write the *)
(* Foo's name into the Bar's status.                                            *)
(*                                                                              *)
(* It may die twice: before it creates the Foo, and between the two writes.     *)
EXTENDS Integers, Sequences

CONSTANTS
  Fixed,   \* The Foo's name follows from the Bar's, so that a second create finds it.
  Reboots  \* How often the controller may die.

VARIABLES pc, fooObjs, barObj, reboots

vars == << pc, fooObjs, barObj, reboots >>

Init ==
  /\ pc = "Start"
  /\ fooObjs = << >>
  /\ barObj = [created |-> FALSE]
  /\ reboots = 0

Start ==
  /\ pc = "Start"
  /\ ~barObj.created
  /\ \/ pc' = "CreateObject"
     \/ reboots < Reboots /\ pc' = "RebootDuringCreation"
  /\ UNCHANGED << fooObjs, barObj, reboots >>

CreateObject ==
  /\ pc = "CreateObject"
  /\ fooObjs' = IF Fixed /\ Len(fooObjs) = 1 THEN fooObjs ELSE Append(fooObjs, "Foo")
  /\ \/ pc' = "MarkCreated"
     \/ reboots < Reboots /\ pc' = "RebootDuringMarkingCreation"
  /\ UNCHANGED << barObj, reboots >>

MarkCreated ==
  /\ pc = "MarkCreated"
  /\ barObj' = [created |-> TRUE]
  /\ pc' = "Done"
  /\ UNCHANGED << fooObjs, reboots >>

RebootDuringCreation ==
  /\ pc = "RebootDuringCreation"
  /\ reboots' = reboots + 1
  /\ pc' = "Start"
  /\ UNCHANGED << fooObjs, barObj >>

RebootDuringMarkingCreation ==
  /\ pc = "RebootDuringMarkingCreation"
  /\ reboots' = reboots + 1
  /\ pc' = "Start"
  /\ UNCHANGED << fooObjs, barObj >>

Terminating == pc = "Done" /\ UNCHANGED vars

Next ==
  \/ Start
  \/ CreateObject
  \/ MarkCreated
  \/ RebootDuringCreation
  \/ RebootDuringMarkingCreation
  \/ Terminating

Spec == Init /\ [][Next]_vars /\ WF_vars(Next)

AtMostOneFoo == Len(fooObjs) <= 1

(* Once it dies no more, the Bar has its Foo and keeps it. *)
ESR == <>[](barObj.created /\ Len(fooObjs) = 1)
================================================================================
