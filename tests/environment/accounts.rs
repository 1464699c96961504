//! Secrets with tokens of ServiceAccounts.

use serde_json::{Value, json};

use crate::scenario::{Scenario, Step, scenario};

const ACCOUNTS: &str = "/api/v1/namespaces/NS/serviceaccounts";
const BOT: &str = "/api/v1/namespaces/NS/serviceaccounts/bot";
const SECRETS: &str = "/api/v1/namespaces/NS/secrets";
const ONE: &str = "/api/v1/namespaces/NS/secrets/one";

fn account(secrets: Value) -> Step {
    Step::Create(ACCOUNTS, json!({"metadata": {"name": "bot"}, "secrets": secrets}))
}

fn secret(name: &str, kind: &str, annotations: Value) -> Step {
    let metadata = json!({"name": name, "annotations": annotations});
    Step::Create(SECRETS, json!({"metadata": metadata, "type": kind}))
}

/// All of them.
pub fn all() -> Vec<Scenario> {
    const TOKEN: &str = "kubernetes.io/service-account-token";
    let of_bot = || json!({"kubernetes.io/service-account.name": "bot", "note": "kept"});
    let of_nobody = json!({
        "kubernetes.io/service-account.name": "bot",
        "kubernetes.io/service-account.uid": "6d3f2a54-0000-4000-8000-000000000000",
    });
    vec![
        scenario(
            "token",
            vec![
                account(json!([])),
                secret("one", TOKEN, of_bot()),
                secret("plain", "Opaque", of_bot()),
                // What is lost is filled in again.
                Step::Patch(ONE, json!({"data": {"namespace": null, "more": "bW9yZQ=="}})),
                Step::Delete(BOT, None),
            ],
        ),
        scenario(
            "token-references",
            vec![
                account(json!([{"name": "one"}, {"name": "other"}])),
                secret("one", TOKEN, of_bot()),
                Step::Delete(ONE, None),
            ],
        ),
        scenario(
            "token-of-nobody",
            vec![
                secret("early", TOKEN, of_bot()),
                account(json!([])),
                secret("stranger", TOKEN, of_nobody),
            ],
        ),
    ]
}
