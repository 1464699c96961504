//! What a controller asks of the API server: one write, or one list, in terms of what controllers see.
//!
//! Whoever runs a controller turns these into calls; what a request does not name stays as it is stored.

use trace::{GroupResource, ObjectKey, Revision};

use crate::{namespace::Condition, object::Text};

/// `propagationPolicy`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// Dependents are let go first.
    Orphan,
    /// The object goes at once, its dependents later.
    Background,
    /// Blocking dependents go first.
    Foreground,
}

/// One request.
#[derive(Debug, Clone, PartialEq)]
pub enum Request {
    /// DELETE of one object.
    Delete {
        /// Which.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// Precondition: its revision.
        revision: Option<Revision>,
        /// What becomes of its dependents; none: as the type's default.
        propagation: Option<Propagation>,
        /// `gracePeriodSeconds`, in seconds; none: as the object says.
        grace_seconds: Option<i64>,
    },
    /// DELETE of all objects of a type in a namespace.
    DeleteCollection {
        /// The type.
        resource: GroupResource,
        /// The namespace.
        namespace: Text,
        /// What becomes of their dependents.
        propagation: Propagation,
    },
    /// LIST of a type in a namespace; answered with [`crate::Response::Listed`].
    List {
        /// The type.
        resource: GroupResource,
        /// The namespace.
        namespace: Text,
    },
    /// PATCH that removes owner references.
    RemoveOwners {
        /// From which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
        /// Uids of the owners.
        owners: Vec<Text>,
    },
    /// PATCH that makes every owner reference of an object non-blocking.
    UnblockOwners {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its uid.
        uid: Text,
    },
    /// PATCH that sets the finalizers of an object.
    SetFinalizers {
        /// Of which object.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// All that are to stay.
        finalizers: Vec<Text>,
    },
    /// PUT of a namespace's status.
    NamespaceStatus {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `status.phase`.
        phase: Text,
        /// `status.conditions`, all of them.
        conditions: Vec<Condition>,
    },
    /// PUT of a namespace's `finalize` subresource.
    NamespaceFinalize {
        /// Which.
        key: ObjectKey,
        /// Precondition: its revision.
        revision: Revision,
        /// `spec.finalizers` that are to stay.
        finalizers: Vec<Text>,
    },
}
