//! Kivi (Liu and others, ATC 2024): do a cluster's controllers and its configuration get along?
//!
//! Kivi translates a cluster and what is asked of it to a model for SPIN. Here it is a [`description::Description`],
//! from which a cluster of this crate's own is built: with the controllers of `world/controllers`, which do what
//! Kubernetes' own do, and are not Kivi's simpler ones. Kivi is under the MIT licence; facts of it are used, no code.
//!
//! Reading order: [`description`], [`occurrence`] (what may happen), [`intent`] (what must hold), [`manifests`] and
//! [`setup`] (the cluster), `events`, `intents`, [`check`] (one cluster), [`sweep`] (clusters that grow), [`cases`].

mod amounts;
pub mod cases;
pub mod check;
pub mod description;
mod events;
pub mod expression;
pub mod heat_map;
pub mod input;
pub mod intent;
mod intents;
pub mod manifests;
pub mod occurrence;
pub mod options;
mod pods;
pub mod setup;
pub mod simulate;
pub mod sizes;
pub mod sweep;
pub mod told;
