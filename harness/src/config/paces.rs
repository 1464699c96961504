//! Built-in controllers that don't act at once, as a campaign and `trommel serve` name them.

use std::{collections::BTreeMap, time::Duration};

use cluster::{Controller, Pace};
use serde::{Deserialize, Serialize};

use super::parse_duration;

/// How a built-in controller acts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PaceSpec {
    /// Never.
    Held,
    /// So long after there was something to do, by the world's clock.
    Slow(Late),
}

/// A time like `30s`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Late(Duration);

impl TryFrom<String> for Late {
    type Error = String;

    fn try_from(text: String) -> Result<Late, String> {
        parse_duration(&text).map(Late)
    }
}

impl From<Late> for String {
    fn from(late: Late) -> String {
        format!("{}ms", late.0.as_millis())
    }
}

impl PaceSpec {
    /// `NAME=held` or `NAME=30s`, as `trommel serve` is told.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn parse(text: &str) -> Result<(String, PaceSpec), String> {
        let Some((name, pace)) = text.split_once('=') else {
            return Err(format!("{text:?}: write NAME=held, or NAME=30s"));
        };
        let pace = match pace {
            "held" => PaceSpec::Held,
            late => PaceSpec::Slow(Late(parse_duration(late)?)),
        };
        Ok((name.to_owned(), pace))
    }

    fn pace(self) -> Pace {
        match self {
            PaceSpec::Held => Pace::Held,
            PaceSpec::Slow(Late(late)) => Pace::Slow(late),
        }
    }
}

/// Which of those that run is called so.
///
/// # Errors
/// None is; the names that there are.
fn named(name: &str, running: &[Controller]) -> Result<Controller, String> {
    if let Some(known) = Controller::named(name).filter(|known| running.contains(known)) {
        return Ok(known);
    }
    let mut names: Vec<&str> = running.iter().map(|controller| controller.short_name()).collect();
    names.sort_unstable();
    let names = match &names[..] {
        [] => "none runs in this environment".to_owned(),
        names => format!("these run: {}", names.join(", ")),
    };
    Err(format!("no built-in controller {name:?} runs; {names}"))
}

/// How those act that don't act at once.
///
/// # Errors
/// A name that none has, or one that is there twice.
pub(super) fn paces(
    given: &BTreeMap<String, PaceSpec>,
    running: &[Controller],
) -> Result<Vec<(Controller, Pace)>, String> {
    let mut paces = Vec::new();
    for (name, pace) in given {
        let controller = named(name, running)?;
        if paces.iter().any(|(other, _)| *other == controller) {
            return Err(format!("{:?} is there twice", controller.short_name()));
        }
        paces.push((controller, pace.pace()));
    }
    Ok(paces)
}

/// In which order they take turns.
///
/// # Errors
/// A name that none has, or one that is there twice.
pub(super) fn order(given: &[String], running: &[Controller]) -> Result<Vec<Controller>, String> {
    let mut order = Vec::new();
    for name in given {
        let controller = named(name, running)?;
        if order.contains(&controller) {
            return Err(format!("{:?} is there twice", controller.short_name()));
        }
        order.push(controller);
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUNNING: &[Controller] = &[Controller::Deployment, Controller::GarbageCollector];

    #[test]
    fn names_are_those_that_run() {
        let check = |name: &str, expect: Result<Controller, &str>| {
            let found = order(&[name.to_owned()], RUNNING);
            let expect = expect.map(|controller| vec![controller]).map_err(str::to_owned);
            assert_eq!(found, expect, "{name}");
        };
        check("deployment", Ok(Controller::Deployment));
        check("garbage-collector-controller", Ok(Controller::GarbageCollector));
        let these = "these run: deployment, garbage-collector";
        check("job", Err(&format!("no built-in controller \"job\" runs; {these}")));
        check("none", Err(&format!("no built-in controller \"none\" runs; {these}")));
        let twice = ["deployment", "deployment-controller"].map(str::to_owned);
        assert_eq!(order(&twice, RUNNING), Err("\"deployment\" is there twice".to_owned()));
        let none = "no built-in controller \"deployment\" runs; none runs in this environment";
        assert_eq!(order(&twice, &[]), Err(none.to_owned()));
    }

    #[test]
    fn paces_as_they_are_written() {
        let slow = PaceSpec::Slow(Late(Duration::from_secs(30)));
        let yaml = "{deployment: held, garbage-collector: {slow: 30s}}";
        let given: BTreeMap<String, PaceSpec> = serde_saphyr::from_str(yaml).expect("it is right");
        let as_told = ["deployment=held", "garbage-collector=30s"].map(PaceSpec::parse);
        let as_told: Result<BTreeMap<String, PaceSpec>, String> = as_told.into_iter().collect();
        assert_eq!(Ok(&given), as_told.as_ref());
        assert_eq!(given["garbage-collector"], slow);
        let paces = paces(&given, RUNNING);
        let late = Pace::Slow(Duration::from_secs(30));
        let expect =
            vec![(Controller::Deployment, Pace::Held), (Controller::GarbageCollector, late)];
        assert_eq!(paces, Ok(expect));
        for wrong in ["deployment", "deployment=", "deployment=late"] {
            assert!(PaceSpec::parse(wrong).is_err(), "{wrong}");
        }
        let yaml = "{deployment: {slow: 30}}";
        let wrong: Result<BTreeMap<String, PaceSpec>, _> = serde_saphyr::from_str(yaml);
        assert!(wrong.is_err(), "{wrong:?}");
    }
}
