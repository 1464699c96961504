//! By whom objects and their fields were written, as `managedFields` say.

use serde_json::Value;

/// By whom an object was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Made {
    /// By built-in controllers and by nobody else.
    ByEnvironment,
    /// Its `status` was, also where nobody wrote one: the API server fills in what a new object begins with. The rest was
    /// written by others.
    StatusByEnvironment,
    ByOthers,
}

/// The field managers of built-in controllers, as Kubernetes names them.
const BUILT_IN: [&str; 4] =
    ["kube-apiserver", "kube-controller-manager", "kube-scheduler", "kubelet"];

impl Made {
    pub fn of(object: &Value) -> Made {
        let entries = entries(object);
        let built_in = |entry: &Value| BUILT_IN.contains(&entry["manager"].as_str().unwrap_or(""));
        if !entries.is_empty() && entries.iter().all(built_in) {
            return Made::ByEnvironment;
        }
        // A binding sets a pod's condition, and is in no entry (`BindingREST`): so what nobody else wrote is theirs.
        let by_others = |entry: &Value| !built_in(entry) && may_hold_status(entry);
        let of_status = |entry: &Value| entry["subresource"] == "status" && built_in(entry);
        match entries.iter().any(of_status) || is_known(object) && !entries.iter().any(by_others) {
            true => Made::StatusByEnvironment,
            false => Made::ByOthers,
        }
    }
}

/// Whether it is known who wrote which field.
pub(crate) fn is_known(object: &Value) -> bool {
    !entries(object).is_empty()
}

/// What each manager wrote of a field, given as a pointer: `/f:spec/f:nodeName`. Nothing if nobody wrote it: the API
/// server notes the fields of a request before allocators fill in theirs (`handlers/create.go`: `FieldManager` comes
/// before the storage), and none of a binding (`BindingREST`).
pub(crate) fn written<'v>(object: &'v Value, field: &str) -> impl Iterator<Item = &'v Value> {
    entries(object).iter().filter_map(move |entry| entry["fieldsV1"].pointer(field))
}

/// Whether its manager wrote fields of the status; or may have, where it is not said which fields it wrote.
fn may_hold_status(entry: &Value) -> bool {
    entry["fieldsV1"].as_object().is_none_or(|fields| fields.contains_key("f:status"))
}

fn entries(object: &Value) -> &[Value] {
    object["metadata"]["managedFields"].as_array().map_or(&[], Vec::as_slice)
}
