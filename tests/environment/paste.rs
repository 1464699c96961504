//! A scenario in the form in which those by hand are kept, to be pasted into one of their lists.

use crate::scenario::{Scenario, Step};

/// Rust; `rustfmt` breaks its lines.
pub fn text(scenario: &Scenario) -> String {
    let steps = scenario.steps.iter().map(|one| format!("        {},\n", step(one)));
    let steps: String = steps.collect();
    format!("scenario(\n    {:?},\n    vec![\n{steps}    ],\n),", scenario.name)
}

/// What `json!` is given is JSON.
fn step(step: &Step) -> String {
    match step {
        Step::Create(path, object) => format!("Step::Create({path:?}, json!({object}))"),
        Step::Patch(path, patch) => format!("Step::Patch({path:?}, json!({patch}))"),
        Step::MayPatch(path, patch) => format!("Step::MayPatch({path:?}, json!({patch}))"),
        Step::Post(path, object, code) => format!("Step::Post({path:?}, json!({object}), {code})"),
        Step::PatchPods(patch) => format!("Step::PatchPods(json!({patch}))"),
        Step::PatchSlices(patch) => format!("Step::PatchSlices(json!({patch}))"),
        Step::AtOnce(parts) => {
            let parts: Vec<String> = parts.iter().map(self::step).collect();
            format!("Step::AtOnce(vec![{}])", parts.join(", "))
        }
        other => format!("Step::{other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_scenario_is_rust() {
        let steps = vec![
            Step::Create("/a", json!({"b": [1, null, "c\"d"]})),
            Step::Delete("/a", Some("Foreground")),
            Step::MayDelete("/a", None),
            Step::Ready,
            Step::End(2, 1),
            Step::ScaleSet("v1", 3),
            Step::AtOnce(vec![Step::Patch("/a", json!({"e": true})), Step::Expect("/a")]),
        ];
        let scenario = Scenario { name: "found".to_owned(), steps };
        // The same as code, so that this fails where it no longer compiles.
        let same = crate::scenario::scenario(
            "found",
            vec![
                Step::Create("/a", json!({"b":[1,null,"c\"d"]})),
                Step::Delete("/a", Some("Foreground")),
                Step::MayDelete("/a", None),
                Step::Ready,
                Step::End(2, 1),
                Step::ScaleSet("v1", 3),
                Step::AtOnce(vec![Step::Patch("/a", json!({"e":true})), Step::Expect("/a")]),
            ],
        );
        let expect = r#"scenario(
    "found",
    vec![
        Step::Create("/a", json!({"b":[1,null,"c\"d"]})),
        Step::Delete("/a", Some("Foreground")),
        Step::MayDelete("/a", None),
        Step::Ready,
        Step::End(2, 1),
        Step::ScaleSet("v1", 3),
        Step::AtOnce(vec![Step::Patch("/a", json!({"e":true})), Step::Expect("/a")]),
    ],
),"#;
        assert_eq!(text(&scenario), expect);
        assert_eq!(text(&same), expect);
    }
}
