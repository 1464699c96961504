-------------------------------- MODULE Fair --------------------------------
(* A lock that is free now and then, and one who wants it.                   *)
EXTENDS Naturals
VARIABLES free, got
vars == <<free, got>>
Init == free = TRUE /\ got = FALSE
Flip == ~got /\ free' = ~free /\ UNCHANGED got
Grab == ~got /\ free /\ got' = TRUE /\ UNCHANGED free
Next == Flip \/ Grab
Unfair == Init /\ [][Next]_vars
Weak == Unfair /\ WF_vars(Flip) /\ WF_vars(Grab)
Strong == Unfair /\ WF_vars(Flip) /\ SF_vars(Grab)
Gets == <>got
Keeps == <>[]got
Leads == free ~> got
Often == []<>(free \/ got)
Never == [][~got']_vars
=============================================================================
