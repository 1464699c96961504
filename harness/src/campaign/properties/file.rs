//! Property files: what the user asks of the worlds that a controller goes through.

use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::{
    campaign::expression::Expression,
    config::{Campaign, check_name, reading},
    exit::{Exit, Expected},
};

/// What a property file (`kind: Property`) says.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct PropertiesSpec {
    properties: Vec<PropertySpec>,
}

/// A property as it is written; expressions are CEL over `objects`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PropertySpec {
    /// What reports call it.
    pub name: String,
    /// It holds in every world.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub always: Option<String>,
    /// From some world on it holds for ever: eventually stable reconciliation (Anvil, OSDI 2024).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub eventually: Option<String>,
    /// What is, or is followed by, what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub leads_to: Option<LeadsTo>,
    /// What does not come after what.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub never_after: Option<NeverAfter>,
}

/// Each world with `from` is, or is followed by, one with `to`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LeadsTo {
    /// The cause.
    pub from: String,
    /// The effect.
    pub to: String,
}

/// No world with `never` comes later than one with `after`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NeverAfter {
    /// From then on …
    pub after: String,
    /// … never this.
    pub never: String,
}

/// A property that can be judged.
#[derive(Debug)]
pub struct Property {
    /// As it is written.
    pub spec: PropertySpec,
    /// What it asks.
    pub asks: Asks,
    /// Its expressions, in the order of [`Asks::parts`].
    pub expressions: Vec<Expression>,
}

/// What a property asks of its expressions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asks {
    /// See [`PropertySpec::always`].
    Always,
    /// See [`PropertySpec::eventually`].
    Eventually,
    /// See [`LeadsTo`].
    LeadsTo,
    /// See [`NeverAfter`].
    NeverAfter,
}

impl Asks {
    /// What its expressions are called in property files.
    pub fn parts(self) -> &'static [&'static str] {
        match self {
            Asks::Always => &["always"],
            Asks::Eventually => &["eventually"],
            Asks::LeadsTo => &["leadsTo.from", "leadsTo.to"],
            Asks::NeverAfter => &["neverAfter.after", "neverAfter.never"],
        }
    }
}

impl Property {
    /// Reads its expressions.
    ///
    /// # Errors
    /// What is wrong with it, for people, with the field.
    pub fn of(spec: PropertySpec) -> Result<Property, String> {
        check_name(&spec.name).map_err(|what| format!("name: {what}"))?;
        let PropertySpec { always, eventually, leads_to, never_after, .. } = &spec;
        let one = |text: &String| vec![text.clone()];
        let asked = [
            always.as_ref().map(|text| (Asks::Always, one(text))),
            eventually.as_ref().map(|text| (Asks::Eventually, one(text))),
            leads_to.clone().map(|two| (Asks::LeadsTo, vec![two.from, two.to])),
            never_after.clone().map(|two| (Asks::NeverAfter, vec![two.after, two.never])),
        ];
        let mut asked = asked.into_iter().flatten();
        let (Some((asks, texts)), None) = (asked.next(), asked.next()) else {
            return Err(
                "it has one of always, eventually, leadsTo, neverAfter, and no more".to_owned()
            );
        };
        let read = |(text, part): (&String, &&str)| {
            Expression::read(text).map_err(|what| format!("{part}: {what}"))
        };
        let expressions = texts.iter().zip(asks.parts()).map(read).collect::<Result<_, _>>()?;
        Ok(Property { spec, asks, expressions })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.spec.name
    }
}

/// The properties of all files that the campaign names.
///
/// # Errors
/// Wrong files and expressions, and names that are there twice, with their places: exit 64.
pub fn load(campaign: &Campaign) -> anyhow::Result<Vec<Property>> {
    let mut all: Vec<Property> = Vec::new();
    for path in &campaign.file.spec.properties {
        let path = campaign.resolve(path);
        let text = std::fs::read_to_string(&path)
            .map_err(|error| usage(&path, &format!("it can't be read: {error}")))?;
        let file: PropertiesSpec = reading::spec(&text, &path, "Property")?;
        for (spec, at) in file.properties.into_iter().zip(0..) {
            let name = spec.name.clone();
            let wrong =
                |what: String| usage(&path, &format!("spec.properties[{at}] ({name}): {what}"));
            let property = Property::of(spec).map_err(wrong)?;
            if all.iter().any(|other| other.name() == name) {
                return Err(wrong("another property has this name".to_owned()));
            }
            all.push(property);
        }
    }
    Ok(all)
}

fn usage(path: &Path, what: &str) -> anyhow::Error {
    Expected::error(Exit::Usage, format!("{}: {what}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expect: Result<Asks, &str>) {
        let spec = serde_saphyr::from_str(text).expect("a property");
        let read = Property::of(spec).map(|property| property.asks);
        assert_eq!(read, expect.map_err(str::to_owned), "{text}");
    }

    #[test]
    fn a_property_asks_one_thing() {
        let one = "it has one of always, eventually, leadsTo, neverAfter, and no more";
        check("{name: a, always: 'objects.size() < 9'}", Ok(Asks::Always));
        check("{name: a, leadsTo: {from: 'true', to: 'false'}}", Ok(Asks::LeadsTo));
        check("{name: a}", Err(one));
        check("{name: a, always: 'true', eventually: 'true'}", Err(one));
    }

    #[test]
    fn wrong_expressions_are_told_with_their_field() {
        check(
            "{name: a, neverAfter: {after: 'true', never: 'foos'}}",
            Err("neverAfter.never: \"foos\" is not known here: there is \"objects\""),
        );
    }
}
