//! Time is virtual, and exact: how often controllers of each runtime do what they do at which moments, over hours,
//! days and a month, in seconds.

mod livelock;
mod moments;
mod programs;
mod runtimes;
mod stamps;
