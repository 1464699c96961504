//! The verdict of a run that was to be the run of a model. Who compares them stands outside: oracles know no models.

use super::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue};

/// The first place at which controller and model part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parted {
    /// In which way: `inconsistent state`, `missing action`, `unexpected action`.
    pub how: &'static str,
    /// The action of the model there.
    pub action: String,
    /// The variable, or the request; no drawn names and no values.
    pub about: String,
    /// All of it in words.
    pub text: String,
}

impl Verdict {
    /// What a model says of a run.
    pub fn of_model(parted: Result<Option<Parted>, String>) -> Verdict {
        let Parted { how, action, about, text } = match parted {
            Ok(None) => return Verdict::held(Oracle::Model, "the run is one of the model's"),
            Err(why) => return Verdict::unknown(Oracle::Model, why),
            Ok(Some(parted)) => parted,
        };
        Verdict {
            oracle: Oracle::Model,
            value: VerdictValue::Violated,
            title: format!("model disagrees: {text}"),
            evidence: vec![Evidence::Reason { text }],
            fingerprint: Fingerprint::new(Oracle::Model, [format!("{how} {action} {about}")]),
        }
    }
}
