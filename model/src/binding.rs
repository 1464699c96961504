//! What the actions and variables of a model are in a real cluster.

use std::collections::BTreeMap;

use plans::moment::{ChangeMatch, RequestMatch};
use serde::{Deserialize, Serialize};

/// A binding: the model's side by name, the cluster's by what can be seen at the API.
///
/// After Mocket (EuroSys'23, §4): actions of the model are bound to requests, variables to what the store holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Binding {
    /// What each action is, by its name in the model.
    pub actions: BTreeMap<String, Bound>,
    /// What variables are, each as an expression in CEL over `objects`, the cluster's objects in the order of their
    /// creation. A key may go on into the variable: `barObj.created`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub variables: BTreeMap<String, String>,
    /// Writes of the controller that the model leaves out. Reads, Leases and Events are left out always.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub free: Vec<RequestMatch>,
}

/// What an action of a model is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub enum Bound {
    /// Nothing that can be seen at the API.
    Internal,
    /// A write of the controller.
    Request(RequestMatch),
    /// The controller dies when it sends such a request, which reaches nobody, and is started again at once.
    CrashBefore(RequestMatch),
    /// The controller dies when such a request was carried out, before it hears of it, and is started again at once.
    CrashAfter(RequestMatch),
    /// A watch tells the controller of such a change.
    Sees(ChangeMatch),
    /// The last write of this step of the workload, from 1.
    User(u32),
}

impl Binding {
    /// The action that a write of the controller is: the first by name that is bound to such requests.
    pub fn action_of(&self, call: &trace::Call) -> Option<&str> {
        let mut actions = self.actions.iter();
        let found = actions
            .find(|(_, bound)| matches!(bound, Bound::Request(request) if request.matches(call)));
        found.map(|(name, _)| name.as_str())
    }

    /// Whether the model says nothing of this call.
    pub fn is_free(&self, call: &trace::Call) -> bool {
        !call.is_write()
            || call.resource.as_ref().is_none_or(trace::GroupResource::is_bookkeeping)
            || self.free.iter().any(|request| request.matches(call))
    }
}
