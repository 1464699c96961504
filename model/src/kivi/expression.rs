//! Numbers that intents compute from a deployment: `specReplicas - 1`.
//!
//! Sums and differences of products of whole numbers and names, as far as Kivi's configurations go: `spec` or
//! `specReplicas`, `min` or `minReplicas`, `max` or `maxReplicas`; with `d[did].` before them or not.

use super::description::Deployment;

/// A number that is computed from a deployment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expression(String);

/// What names stand for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
struct Names {
    spec: i64,
    min: i64,
    max: i64,
}

impl Names {
    fn get(self, name: &str) -> Option<i64> {
        match name {
            "spec" | "specReplicas" => Some(self.spec),
            "min" | "minReplicas" => Some(self.min),
            "max" | "maxReplicas" => Some(self.max),
            number => number.parse().ok(),
        }
    }
}

impl Expression {
    /// An expression.
    ///
    /// # Errors
    /// The part that is neither a number nor a name.
    pub fn parse(text: &str) -> Result<Expression, String> {
        value(text, Names::default()).map(|_| Expression(text.to_owned()))
    }

    /// Its value for a deployment; without an autoscaler, bounds are what the spec says. Less than nothing is nothing.
    pub fn pods(&self, of: &Deployment) -> u32 {
        let (min, max) = of.bounds().unwrap_or((of.replicas, of.replicas));
        let names = Names { spec: of.replicas.into(), min: min.into(), max: max.into() };
        let value = value(&self.0, names).expect("it was read");
        u32::try_from(value.max(0)).unwrap_or(u32::MAX)
    }
}

fn value(text: &str, names: Names) -> Result<i64, String> {
    let mut sum = 0_i64;
    for (sign, product) in terms(text) {
        let mut value = sign;
        for factor in product.split('*') {
            let factor = factor.trim();
            let name = factor.rsplit('.').next().unwrap_or(factor).trim();
            let found = names.get(name).ok_or_else(|| factor.to_owned())?;
            value = value.saturating_mul(found);
        }
        sum = sum.saturating_add(value);
    }
    Ok(sum)
}

/// Products with their signs.
fn terms(text: &str) -> Vec<(i64, &str)> {
    let mut all = Vec::new();
    let (mut from, mut sign) = (0, 1);
    let signs = text.char_indices().filter(|(_, letter)| matches!(letter, '+' | '-'));
    for (at, letter) in signs {
        // A sign at the start belongs to what follows.
        if !text[from..at].trim().is_empty() {
            all.push((sign, &text[from..at]));
            sign = 1;
        }
        sign *= if letter == '-' { -1 } else { 1 };
        from = at + 1;
    }
    all.push((sign, &text[from..]));
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn expressions_have_values() {
        let names = Names { spec: 5, min: 2, max: 9 };
        let check = |text: &str, expect: Result<i64, &str>| {
            assert_eq!(value(text, names), expect.map_err(str::to_owned), "{text}");
        };
        check("3", Ok(3));
        check("specReplicas - 1", Ok(4));
        check("d[did].specReplicas-1", Ok(4));
        check("2*min + max - spec", Ok(8));
        check("-1 + spec", Ok(4));
        check("spec - many", Err("many"));
        check("", Err(""));
    }
}
