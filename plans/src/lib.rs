//! What to do to a run: perturbations, triggers, legality, enumeration, replay files.
