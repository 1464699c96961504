//! The verdict of a property that the user wrote. Who judges it stands outside: oracles know no expressions.

use super::{Evidence, Fingerprint, Oracle, Verdict, VerdictValue};

/// A run that does not have a property.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// In which way: `always`, `leads-to, for ever`.
    pub how: &'static str,
    /// The same in words, with what came last.
    pub text: String,
    /// What happened, a step each, up to where that shows; without an end, up to where it begins anew.
    pub steps: Vec<String>,
    /// The step with which the endless part begins; as many as there are steps if nothing happens any more. None: what
    /// happened by then is enough.
    pub cycle: Option<usize>,
}

impl Verdict {
    /// What is said of a run by the property `name`.
    pub fn of_property(name: &str, judged: Result<Option<Broken>, String>) -> Verdict {
        let Broken { how, text, steps, cycle } = match judged {
            Ok(None) => return Verdict::held(Oracle::Property, format!("property {name} holds")),
            Err(why) => {
                return Verdict::unknown(Oracle::Property, format!("property {name}: {why}"));
            }
            Ok(Some(broken)) => broken,
        };
        Verdict {
            oracle: Oracle::Property,
            value: VerdictValue::Violated,
            title: format!("property {name}: {text}"),
            evidence: vec![Evidence::Path { steps, cycle }],
            fingerprint: Fingerprint::new(Oracle::Property, [format!("{name} {how}")]),
        }
    }

    /// The steps of a run that does not have a property, and where their endless part begins.
    pub fn path(&self) -> Option<(&[String], Option<usize>)> {
        self.evidence.iter().find_map(|evidence| match evidence {
            Evidence::Path { steps, cycle } => Some((&**steps, *cycle)),
            _ => None,
        })
    }
}
