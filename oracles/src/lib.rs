//! Judges a history against a baseline; pure.
