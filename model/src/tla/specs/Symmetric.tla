----------------------------- MODULE Symmetric ------------------------------
(* Processes that are alike.                                                 *)
EXTENDS FiniteSets, Naturals, TLC
CONSTANTS Procs, None
VARIABLES owner, done
vars == <<owner, done>>
Perms == Permutations(Procs)
Init == owner = None /\ done = {}
Take(p) == owner = None /\ p \notin done /\ owner' = p /\ UNCHANGED done
Leave(p) == owner = p /\ owner' = None /\ done' = done \union {p}
Next == \E p \in Procs : Take(p) \/ Leave(p)
Spec == Init /\ [][Next]_vars
Two == Cardinality(done) <= 2
OwnerIsOne == owner \in Procs \union {None}
=============================================================================
