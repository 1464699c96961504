//! One webhook of a configuration, and all of them in the order in which upstream goes through them.

use std::ops::Bound;

use serde_json::Value;
use trace::GroupResource;

use crate::world::{World, meta};

pub(super) const GROUP: &str = "admissionregistration.k8s.io";

/// Which of the two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    Mutating,
    Validating,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Role::Mutating => "mutating",
            Role::Validating => "validating",
        }
    }

    fn plural(self) -> &'static str {
        match self {
            Role::Mutating => "mutatingwebhookconfigurations",
            Role::Validating => "validatingwebhookconfigurations",
        }
    }
}

/// A webhook as its configuration writes it, defaults filled in.
#[derive(Debug, Clone)]
pub(crate) struct Hook {
    /// Tells it from all others: `configuration/name/n`.
    pub(super) uid: String,
    pub(super) spec: Value,
}

impl Hook {
    /// All of a role: by the name of their configuration, then as they stand in it.
    pub(super) fn all(world: &World, role: Role) -> Vec<Hook> {
        let resource = GroupResource::new(GROUP, role.plural());
        let found = world.store.root().scan(&resource, "", Bound::Unbounded);
        let mut all = Vec::new();
        for (_, configuration) in found {
            let hooks = configuration["webhooks"].as_array().into_iter().flatten();
            all.extend(hooks.enumerate().map(|(index, spec)| Hook {
                uid: format!("{}/{index}", meta(configuration, "name")),
                spec: spec.clone(),
            }));
        }
        all
    }

    /// Whether there are any of a role.
    pub(super) fn any(world: &World, role: Role) -> bool {
        world.store.root().count(&GroupResource::new(GROUP, role.plural())) > 0
    }

    pub(super) fn text(&self, field: &str) -> &str {
        self.spec[field].as_str().unwrap_or("")
    }

    pub(super) fn name(&self) -> &str {
        self.text("name")
    }

    /// `failurePolicy: Ignore`: a call that fails counts as allowed.
    pub(super) fn ignores_failures(&self) -> bool {
        self.text("failurePolicy") == "Ignore"
    }

    pub(super) fn is_reinvocable(&self) -> bool {
        self.text("reinvocationPolicy") == "IfNeeded"
    }

    /// Whether a request that must have no effect may be told to it.
    pub(super) fn takes_dry_runs(&self) -> bool {
        matches!(self.text("sideEffects"), "None" | "NoneOnDryRun")
    }

    /// The first version of AdmissionReview that it takes and we know.
    pub(super) fn review_version(&self) -> Option<&'static str> {
        let mut versions = self.spec["admissionReviewVersions"].as_array().into_iter().flatten();
        versions.find_map(|version| ["v1", "v1beta1"].into_iter().find(|known| version == known))
    }
}
