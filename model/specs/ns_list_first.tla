----------------------------- MODULE ns_list_first -----------------------------
(* The controller of ns, which lists the Foos of its Bar before it creates    *)
(* one. A live list sees all of them. A list from a cache (Cached = TRUE) may *)
(* lack those that were created last.                                         *)
EXTENDS TLC, Integers, Sequences

CONSTANT Cached

(* --algorithm ns_list_first
variables
  fooObjs = <<>>,
  barObj = [name |-> "foo", created |-> FALSE],
  listed = 0;

define
  LimitedFooObjs == Len(fooObjs) <= 1
end define;

begin
  Start:
    while ~barObj.created do
      either
        ListObjects:
          with seen \in (IF Cached THEN 0 ELSE Len(fooObjs)) .. Len(fooObjs) do
            listed := seen;
          end with;
        CreateObject:
          if listed = 0 then
            fooObjs := Append(fooObjs, [generateName |-> barObj.name \o "-"]);
          end if;
          listed := 0;
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
VARIABLES pc, fooObjs, barObj, listed

(* define statement *)
LimitedFooObjs == Len(fooObjs) <= 1


vars == << pc, fooObjs, barObj, listed >>

Init == (* Global variables *)
        /\ fooObjs = <<>>
        /\ barObj = [name |-> "foo", created |-> FALSE]
        /\ listed = 0
        /\ pc = "Start"

Start == /\ pc = "Start"
         /\ IF ~barObj.created
               THEN /\ \/ /\ pc' = "ListObjects"
                       \/ /\ pc' = "RebootDuringCreation"
               ELSE /\ Assert(Len(fooObjs) = 1, 
                              "Failure of assertion at line 44, column 5.")
                    /\ pc' = "Done"
         /\ UNCHANGED << fooObjs, barObj, listed >>

ListObjects == /\ pc = "ListObjects"
               /\ \E seen \in (IF Cached THEN 0 ELSE Len(fooObjs)) .. Len(fooObjs):
                    listed' = seen
               /\ pc' = "CreateObject"
               /\ UNCHANGED << fooObjs, barObj >>

CreateObject == /\ pc = "CreateObject"
                /\ IF listed = 0
                      THEN /\ fooObjs' = Append(fooObjs, [generateName |-> barObj.name \o "-"])
                      ELSE /\ TRUE
                           /\ UNCHANGED fooObjs
                /\ listed' = 0
                /\ \/ /\ pc' = "MarkCreated"
                   \/ /\ pc' = "RebootDuringMarkingCreation"
                /\ UNCHANGED barObj

MarkCreated == /\ pc = "MarkCreated"
               /\ barObj' = [barObj EXCEPT !.created = TRUE]
               /\ pc' = "Start"
               /\ UNCHANGED << fooObjs, listed >>

RebootDuringMarkingCreation == /\ pc = "RebootDuringMarkingCreation"
                               /\ TRUE
                               /\ pc' = "Start"
                               /\ UNCHANGED << fooObjs, barObj, listed >>

RebootDuringCreation == /\ pc = "RebootDuringCreation"
                        /\ TRUE
                        /\ pc' = "Start"
                        /\ UNCHANGED << fooObjs, barObj, listed >>

(* Allow infinite stuttering to prevent deadlock on termination. *)
Terminating == pc = "Done" /\ UNCHANGED vars

Next == Start \/ ListObjects \/ CreateObject \/ MarkCreated
           \/ RebootDuringMarkingCreation \/ RebootDuringCreation
           \/ Terminating

Spec == Init /\ [][Next]_vars

Termination == <>(pc = "Done")

\* END TRANSLATION
================================================================================
