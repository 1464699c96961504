//! CSIDrivers (`ValidateCSIDriver`). What has a default is not asked for.

use serde_json::{Value, json};

use super::check::{Check, list, text};

const GROUP_POLICIES: [&str; 3] = ["File", "None", "ReadWriteOnceWithFSType"];
const LIFECYCLES: [&str; 2] = ["Persistent", "Ephemeral"];
const UPDATE_PERIOD_LEAST_SECONDS: i64 = 10;
const TOKEN_LEAST_SECONDS: i64 = 10 * 60;
const TOKEN_MOST_SECONDS: i64 = 1 << 32;

pub(super) fn driver(check: &mut Check<'_>, spec: &Value) {
    let policy = &spec["fsGroupPolicy"];
    if policy.as_str().is_some_and(|policy| !GROUP_POLICIES.contains(&policy)) {
        check.one_of_in_order("spec.fsGroupPolicy", policy, &GROUP_POLICIES);
    }
    let lifecycle = |mode: &&Value| !LIFECYCLES.contains(&mode.as_str().unwrap_or(""));
    for mode in list(spec, "volumeLifecycleModes").iter().filter(lifecycle) {
        check.not_supported("spec.volumeLifecycleModes", mode, &LIFECYCLES);
    }
    let period = &spec["nodeAllocatableUpdatePeriodSeconds"];
    if period.as_i64().is_some_and(|seconds| seconds < UPDATE_PERIOD_LEAST_SECONDS) {
        let detail = "must be greater than or equal to 10 seconds";
        check.invalid("spec.nodeAllocatableUpdatePeriodSeconds", period, detail);
    }
    token_requests(check, list(spec, "tokenRequests"));
    if spec["serviceAccountTokenInSecrets"].is_boolean() && list(spec, "tokenRequests").is_empty() {
        let field = "spec.serviceAccountTokenInSecrets";
        let detail = "serviceAccountTokenInSecrets is set but no tokenRequests are specified";
        check.invalid(field, &spec["serviceAccountTokenInSecrets"], detail);
    }
}

/// Each for another audience; an audience may be left out once.
fn token_requests(check: &mut Check<'_>, requests: &[Value]) {
    for (index, request) in requests.iter().enumerate() {
        let at = format!("spec.tokenRequests[{index}]");
        let audience = text(request, "audience");
        if requests[..index].iter().any(|earlier| text(earlier, "audience") == audience) {
            check.duplicate(&format!("{at}.audience"), &json!(audience));
            continue;
        }
        let Some(seconds) = request["expirationSeconds"].as_i64() else { continue };
        let detail = match seconds {
            _ if seconds < TOKEN_LEAST_SECONDS => "may not specify a duration less than 10 minutes",
            _ if seconds > TOKEN_MOST_SECONDS => {
                "may not specify a duration larger than 2^32 seconds"
            }
            _ => continue,
        };
        check.invalid(&format!("{at}.expirationSeconds"), &request["expirationSeconds"], detail);
    }
}

/// Whether volumes are attached, and how long they live, stays. Upstream's path of the first is misspelt.
pub(super) fn update(check: &mut Check<'_>, old: &Value, new: &Value) {
    check.unchanged("spec.attachedRequired", &old["attachRequired"], &new["attachRequired"]);
    let modes = "volumeLifecycleModes";
    check.unchanged("spec.volumeLifecycleModes", &old[modes], &new[modes]);
}
