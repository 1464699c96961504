//! Acts as the user: chainsaw suites, step by step.
