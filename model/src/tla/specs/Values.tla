------------------------------- MODULE Values -------------------------------
(* Values of every form, and the operators of the standard modules on them.  *)
EXTENDS Naturals, Integers, Sequences, FiniteSets, TLC
CONSTANTS Nodes, None, Limit, Start

VARIABLES holder, log, seen

RECURSIVE Sum(_)
Sum(s) == IF s = <<>> THEN 0 ELSE Head(s) + Sum(Tail(s))

First == CHOOSE n \in 1..Limit : \A m \in 1..Limit : n <= m

Init ==
  /\ holder = [n \in Nodes |-> None]
  /\ log = <<>>
  /\ seen = [last |-> Start, all |-> {}, big |-> 2^30]

Take(n) ==
  LET step == Len(log) + First IN
  /\ holder[n] = None
  /\ step <= Limit
  /\ holder' = [holder EXCEPT ![n] = step]
  /\ log' = Append(log, step)
  /\ seen' = [seen EXCEPT !.last = n, !.all = @ \union {n}]

Give(n) ==
  /\ holder[n] # None
  /\ holder' = [m \in DOMAIN holder |-> IF m = n THEN None ELSE holder[m]]
  /\ log' = SelectSeq(log, LAMBDA step : step # holder[n])
  /\ UNCHANGED seen

Next == \E n \in Nodes : Take(n) \/ Give(n)

Spec == Init /\ [][Next]_<<holder, log, seen>>

Inv ==
  /\ seen.all \in SUBSET Nodes
  /\ Cardinality(seen.all) <= Cardinality(Nodes)
  /\ Sum(log) <= 1000000
  /\ Len(log) <= Cardinality({n \in Nodes : holder[n] # None})
  /\ CASE log = <<>> -> TRUE [] OTHER -> seen.all # {}

Default == "nobody"
Sorted == \A i \in 1..Len(log) : log[i] = i
=============================================================================
