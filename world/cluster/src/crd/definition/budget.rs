//! What the rules of a CRD may cost, each by itself and all together (`StaticEstimatedCostLimit`, `TotalCost`).

use crate::schema::{FieldError, keywords::forbidden};

/// Of one expression.
const EXPRESSION_COST_MAX: u64 = 10_000_000;
/// Of all expressions of a schema.
const TOTAL_COST_MAX: u64 = 100_000_000;
/// Those that cost less than this are not named where all together cost too much.
const NAMED_COST_MIN: u64 = TOTAL_COST_MAX / 100;
/// How many are named.
const NAMED_MAX: usize = 4;

/// What has been spent.
#[derive(Debug, Default)]
pub(super) struct Budget {
    total: u64,
    /// The most expensive first.
    expensive: Vec<(u64, String)>,
}

impl Budget {
    /// Counts an expression; an error if it costs too much by itself. `what` names its cost.
    pub(super) fn spend(&mut self, field: &str, what: &str, cost: u64) -> Option<FieldError> {
        self.total = self.total.saturating_add(cost);
        if cost >= NAMED_COST_MIN {
            self.expensive.push((cost, field.to_owned()));
            self.expensive.sort_by(|(one, _), (other, _)| other.cmp(one));
            self.expensive.truncate(NAMED_MAX);
        }
        let exceeds = cost > EXPRESSION_COST_MAX;
        exceeds.then(|| forbidden(field, exceeded(what, cost, EXPRESSION_COST_MAX)))
    }

    /// What is wrong where all together cost too much; `at` is the path of the schema.
    pub(super) fn errors(&self, at: &str) -> Vec<FieldError> {
        if self.total <= TOTAL_COST_MAX {
            return Vec::new();
        }
        let detail = "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
        let named = self.expensive.iter().map(|(_, field)| forbidden(field, detail));
        let what = "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema";
        let whole = forbidden(at, exceeded(what, self.total, TOTAL_COST_MAX));
        named.chain([whole]).collect()
    }
}

/// `getCostErrorMessage`
fn exceeded(what: &str, cost: u64, limit: u64) -> String {
    let factor = cost as f64 / limit as f64;
    let factor = if factor > 100.0 {
        "more than 100x".to_owned()
    } else if factor < 1.5 {
        format!("{factor:.6}x")
    } else {
        format!("{factor:.1}x")
    };
    format!(
        "{what} exceeds budget by factor of {factor} (try simplifying the rule, or adding maxItems, maxProperties, and \
         maxLength where arrays, maps, and strings are declared)"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_and_all_have_a_limit() {
        let mut budget = Budget::default();
        assert_eq!(budget.spend("cheap", "cost", 999_999), None);
        assert_eq!(budget.spend("fits", "cost", EXPRESSION_COST_MAX), None);
        let told = |error: Option<FieldError>| error.map(|error| error.to_string());
        let advice = "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, \
                      and strings are declared)";
        for (cost, factor) in
            [(10_000_001, "1.000000x"), (25_400_000, "2.5x"), (2_000_000_000, "more than 100x")]
        {
            let expect =
                format!("a: Forbidden: cost exceeds budget by factor of {factor} {advice}");
            assert_eq!(told(budget.spend("a", "cost", cost)), Some(expect));
        }
        let fields: Vec<String> = budget.errors("s").into_iter().map(|error| error.field).collect();
        assert_eq!(fields, ["a", "a", "a", "fits", "s"]);
        assert_eq!(Budget::default().errors("s"), Vec::new());
    }
}
