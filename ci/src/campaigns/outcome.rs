//! What the repeats of a campaign gave, as a table.

use std::collections::BTreeSet;

use super::expect::Given;
use crate::table;

/// All runs of one campaign.
#[derive(Debug, Default)]
pub struct Outcome {
    /// The campaign file.
    pub campaign: String,
    /// In order.
    pub runs: Vec<Given>,
    /// Every run that was not as expected, with what was wrong.
    pub deviations: Vec<String>,
}

impl Outcome {
    fn row(&self) -> Vec<String> {
        let ids: BTreeSet<&str> = self.runs.iter().flat_map(|run| run.ids()).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let worlds = || self.runs.iter().map(|run| run.worlds);
        let worlds = match (worlds().min(), worlds().max()) {
            (Some(least), Some(most)) if least == most => least.to_string(),
            (Some(least), Some(most)) => format!("{least} to {most}"),
            _ => String::new(),
        };
        let unknown: u64 = self.runs.iter().map(|run| run.unknown).sum();
        let spread = table::Spread::of(self.runs.iter().map(|run| run.seconds));
        let [least, middle, most] = spread.shown(2);
        vec![
            self.campaign.clone(),
            self.runs.len().to_string(),
            if ids.is_empty() { "none".to_owned() } else { ids.join(", ") },
            self.deviations.len().to_string(),
            unknown.to_string(),
            worlds,
            least,
            middle,
            most,
        ]
    }
}

/// One row a campaign, in Markdown; seconds are lowest, middle, highest.
pub fn table(outcomes: &[Outcome]) -> String {
    let head = [
        "campaign",
        "runs",
        "findings",
        "deviations",
        "unknown",
        "worlds",
        "s min",
        "s median",
        "s max",
    ];
    table::markdown(&head, &outcomes.iter().map(Outcome::row).collect::<Vec<_>>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaigns::expect::GivenFinding;

    #[test]
    fn a_row_says_what_varies() {
        let run = |worlds, seconds, id: &str| {
            let mut finding = GivenFinding::default();
            finding.id = id.to_owned();
            let mut given = Given::default();
            (given.worlds, given.seconds, given.findings) = (worlds, seconds, vec![finding]);
            given
        };
        let runs = vec![run(6, 1.0, "b"), run(7, 3.0, "a"), run(6, 1.5, "b")];
        let outcome =
            Outcome { campaign: "c".to_owned(), runs, deviations: vec!["run 2: x".to_owned()] };
        let expect = ["c", "3", "a, b", "1", "0", "6 to 7", "1.00", "1.50", "3.00"];
        assert_eq!(outcome.row(), expect);
        let clean = Outcome { runs: vec![Given::default()], ..Outcome::default() };
        assert_eq!(clean.row()[2..6], ["none", "0", "0", "0"]);
    }
}
