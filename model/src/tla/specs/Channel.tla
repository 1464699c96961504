------------------------------ MODULE Channel -------------------------------
(* A channel that holds at most Size messages.                               *)
EXTENDS Sequences, Naturals
CONSTANT Size
VARIABLE queue
Empty == queue = <<>>
Send(m) == Len(queue) < Size /\ queue' = Append(queue, m)
Receive == ~Empty /\ queue' = Tail(queue)
=============================================================================
