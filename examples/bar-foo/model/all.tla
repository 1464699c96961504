--------------------------------- MODULE all ---------------------------------
(* All that the controller does, right or wrong: no invariant stops the search. *)
EXTENDS bar_foo
================================================================================
