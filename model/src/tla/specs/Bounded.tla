------------------------------ MODULE Bounded -------------------------------
(* A counter without an end, with what keeps its states finite.              *)
EXTENDS Integers
VARIABLES count, noise
vars == <<count, noise>>
Init == count = 0 /\ noise \in {0, 1}
Up == count' = count + 1 /\ noise' = 1 - noise
Down == count > 0 /\ count' = count - 1 /\ UNCHANGED noise
Next == Up \/ Down
Small == count <= 3
View == count
IsNat == count \in Nat
NotFour == count # 4
=============================================================================
