------------------------------- MODULE Outer --------------------------------
(* Two instances of a module.                                                *)
EXTENDS Naturals, Sequences
VARIABLES there, back
There == INSTANCE Channel WITH queue <- there, Size <- 2
Back(Size) == INSTANCE Channel WITH queue <- back
Init == there = <<>> /\ back = <<>>
Ask == There!Send("ask") /\ UNCHANGED back
Answer == There!Receive /\ Back(1)!Send("answer")
Done == Back(1)!Receive /\ UNCHANGED there
Next == Ask \/ Answer \/ Done
Spec == Init /\ [][Next]_<<there, back>>
Small == Len(there) + Len(back) <= 3
Smaller == Len(there) + Len(back) <= 2
=============================================================================
