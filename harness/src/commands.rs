//! The words of the command line beside `run`, a file each.

pub mod bench_bare;
pub mod doctor;
pub mod envtest;
pub mod init;
pub mod kubelet_only;
pub mod model;
pub mod play;
pub mod replay;
pub mod serve;
pub mod show;
