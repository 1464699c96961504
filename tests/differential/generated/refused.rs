//! Requests that a server refuses before it looks at the object, one for each reason that a client can bring about alone.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::script::Step;

/// More than a server reads of a body: 3 MiB.
const TOO_LARGE_BYTES: usize = 3 * 1024 * 1024 + 1024;

/// One of them, about a collection, an object of it and a good body for that.
pub fn refused(path: &str, item: &str, mut body: Value, which: u8) -> Step {
    let plain = |action: String| Step::new(action, None);
    let typed = |action: String, kind: &str, body: Value| Step {
        kind: kind.to_owned(),
        ..Step::new(action, Some(body))
    };
    match which % 16 {
        0 => plain(format!("GET {path}?labelSelector=a%20in%20(")),
        1 => plain(format!("GET {path}?continue=xyz")),
        2 => plain(format!("GET {path}?fieldSelector=spec.nothing%3D1")),
        3 => typed(format!("POST {path}"), "text/plain", body),
        4 => Step {
            headers: BTreeMap::from([("accept".to_owned(), "application/pdf".to_owned())]),
            ..plain(format!("GET {item}"))
        },
        5 => Step::new(format!("POST {item}"), Some(body)),
        6 => Step::new(format!("PUT {path}"), Some(body)),
        7 => typed(format!("PATCH {item}"), "application/x-yaml", json!({})),
        8 => {
            body["metadata"]["namespace"] = json!("elsewhere");
            Step::new(format!("POST {path}"), Some(body))
        }
        9 => Step::new(format!("POST {path}"), Some(json!("{"))),
        10 => plain(format!("GET {path}?resourceVersionMatch=Exact")),
        11 => plain(format!("GET {path}?resourceVersion=abc")),
        12 => {
            body["unheard"] = json!({"of": 1});
            Step::new(format!("POST {path}?fieldValidation=Strict"), Some(body))
        }
        13 => Step::new(format!("DELETE {item}"), Some(json!({"propagationPolicy": "Wrong"}))),
        14 => {
            body["metadata"]["annotations"] = json!({"long": "x".repeat(TOO_LARGE_BYTES)});
            Step::new(format!("POST {path}"), Some(body))
        }
        _ => Step::new(format!("PUT {item}?dryRun=Some"), Some(body)),
    }
}
