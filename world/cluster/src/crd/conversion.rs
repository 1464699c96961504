//! How objects of a custom type get from one of its versions to another (`spec.conversion`).

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::{text, texts};
use crate::{
    schema::{
        FieldError, FieldErrorKind,
        keywords::{forbidden, invalid, required},
    },
    validation::client_config,
    verbs::dns_1035_problem,
};

/// Versions of ConversionReview that this server speaks.
const REVIEWS: [&str; 2] = ["v1", "v1beta1"];

/// The webhook that converts between the versions of a custom type.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Converter {
    /// The name of the CustomResourceDefinition.
    pub(crate) name: String,
    /// `clientConfig`: where it is.
    pub(crate) config: Value,
    /// The first version of ConversionReview that it takes and we know.
    pub(crate) review: Option<&'static str>,
}

impl Converter {
    /// The webhook of a definition, if its strategy is one.
    pub(super) fn parse(crd: &Value) -> Option<Converter> {
        let conversion = crd.pointer("/spec/conversion")?;
        if text(conversion, "strategy") != "Webhook" {
            return None;
        }
        let webhook = &conversion["webhook"];
        let wanted = texts(webhook, "conversionReviewVersions");
        let mut known =
            wanted.iter().filter_map(|wanted| REVIEWS.into_iter().find(|known| known == wanted));
        Some(Converter {
            name: crate::world::meta(crd, "name").to_owned(),
            config: webhook["clientConfig"].clone(),
            review: known.next(),
        })
    }
}

/// What is wrong with `spec.conversion` (`validateCustomResourceConversion`). Paths are those of upstream's internal
/// form, which has no `webhook` in between.
pub(super) fn errors(spec: &Value) -> Vec<FieldError> {
    let conversion = &spec["conversion"];
    let mut errors = Vec::new();
    if !conversion.is_object() {
        return errors;
    }
    let at = |field: &str| format!("spec.conversion.{field}");
    let (config, versions) = ("webhookClientConfig", "conversionReviewVersions");
    let webhook = &conversion["webhook"];
    match text(conversion, "strategy") {
        "Webhook" => {
            if spec["preserveUnknownFields"] == json!(true) {
                let detail = "must be None if spec.preserveUnknownFields is true";
                errors.push(invalid(&at("strategy"), &json!("Webhook"), detail));
            }
            match &webhook["clientConfig"] {
                given @ Value::Object(_) => client_config(given, &at(config), &mut errors),
                _ => {
                    let detail = "required when strategy is set to Webhook";
                    errors.push(required(&at(config), detail));
                }
            }
            review_versions(&webhook[versions], &at(versions), &mut errors);
        }
        "None" => {
            let given = [
                (config, webhook["clientConfig"].is_object()),
                (versions, !texts(webhook, versions).is_empty()),
            ];
            for (field, _) in given.into_iter().filter(|(_, given)| *given) {
                let detail = "should not be set when strategy is not set to Webhook";
                errors.push(forbidden(&at(field), detail));
            }
        }
        "" => errors.push(FieldError::required(&at("strategy"))),
        other => {
            let detail = r#"supported values: "None", "Webhook""#;
            let kind = FieldErrorKind::NotSupported;
            errors.push(FieldError::with_value(&at("strategy"), kind, &json!(other), detail));
        }
    }
    errors
}

fn review_versions(versions: &Value, at: &str, errors: &mut Vec<FieldError>) {
    let listed = versions.as_array().map_or(&[][..], Vec::as_slice);
    if listed.is_empty() {
        return errors.push(FieldError::required(at));
    }
    let mut seen = BTreeSet::new();
    for (index, version) in listed.iter().enumerate() {
        let (name, at) = (version.as_str().unwrap_or(""), format!("{at}[{index}]"));
        if !seen.insert(name) {
            errors.push(invalid(&at, version, "duplicate version"));
        } else if let Some(why) = dns_1035_problem(name) {
            errors.push(invalid(&at, version, why));
        }
    }
    if !REVIEWS.iter().any(|known| seen.contains(known)) {
        errors.push(invalid(at, versions, "must include at least one of v1, v1beta1"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd(conversion: Value) -> Value {
        json!({"metadata": {"name": "foos.example.com"}, "spec": {"conversion": conversion}})
    }

    #[test]
    fn the_first_review_that_is_known_counts() {
        let check = |versions: Value, expect: Option<&str>| {
            let webhook = json!({
                "conversionReviewVersions": versions, "clientConfig": {"url": "https://a/"},
            });
            let parsed =
                Converter::parse(&crd(json!({"strategy": "Webhook", "webhook": webhook}))).unwrap();
            assert_eq!(parsed.review, expect);
            assert_eq!(parsed.config["url"], "https://a/");
        };
        check(json!(["v2", "v1beta1", "v1"]), Some("v1beta1"));
        check(json!(["v1", "v1beta1"]), Some("v1"));
        check(json!(["v2"]), None);
        assert_eq!(Converter::parse(&crd(json!({"strategy": "None"}))), None);
        assert_eq!(Converter::parse(&json!({"spec": {}})), None);
    }

    #[test]
    fn a_conversion_is_whole_or_refused() {
        let check = |conversion: Value, expect: &[&str]| {
            let found: Vec<String> = errors(&crd(conversion)["spec"])
                .iter()
                .map(|error| format!("{}: {}", error.field, error.body()))
                .collect();
            assert_eq!(found, expect);
        };
        let whole = |config: Value, versions: Value| {
            json!({"strategy": "Webhook", "webhook": {
                "clientConfig": config, "conversionReviewVersions": versions,
            }})
        };
        let url = || json!({"url": "https://a/b"});
        check(json!({"strategy": "None"}), &[]);
        check(whole(url(), json!(["v1"])), &[]);
        check(
            json!({"strategy": "Webhook"}),
            &[
                "spec.conversion.webhookClientConfig: Required value: required when strategy is set to Webhook",
                "spec.conversion.conversionReviewVersions: Required value",
            ],
        );
        check(
            whole(json!({}), json!(["v1", "v1", "V2"])),
            &[
                "spec.conversion.webhookClientConfig: Required value: exactly one of url or service is required",
                "spec.conversion.conversionReviewVersions[1]: Invalid value: \"v1\": duplicate version",
                "spec.conversion.conversionReviewVersions[2]: Invalid value: \"V2\": a DNS-1035 label must consist \
                 of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an \
                 alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is \
                 '[a-z]([-a-z0-9]*[a-z0-9])?')",
            ],
        );
        check(
            whole(json!({"url": "http://a/b"}), json!(["v3"])),
            &[
                "spec.conversion.webhookClientConfig.url: Invalid value: \"http\": 'https' is the only allowed URL \
                 scheme; desired format: https://host[/path]",
                "spec.conversion.conversionReviewVersions: Invalid value: [\"v3\"]: must include at least one of \
                 v1, v1beta1",
            ],
        );
        let mut none = whole(url(), json!(["v1"]));
        none["strategy"] = json!("None");
        check(
            none,
            &[
                "spec.conversion.webhookClientConfig: Forbidden: should not be set when strategy is not set to Webhook",
                "spec.conversion.conversionReviewVersions: Forbidden: should not be set when strategy is not set to \
                 Webhook",
            ],
        );
    }
}
