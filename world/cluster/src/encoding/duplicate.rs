//! Fields that stand twice in a JSON body. `serde_json` keeps the last, as Go does; strict field
//! validation names them.

use std::{collections::BTreeSet, fmt};

use serde::de::{DeserializeSeed, Deserializer, IgnoredAny, MapAccess, SeqAccess, Visitor};

/// Paths of fields that stand more than once, in order of appearance: for the message
/// `duplicate field "spec.replicas"`. Empty for bytes that are no JSON.
pub fn duplicate_fields(json: &[u8]) -> Vec<String> {
    let mut found = Vec::new();
    let mut de = serde_json::Deserializer::from_slice(json);
    let walk = Walk { path: String::new(), found: &mut found };
    match walk.deserialize(&mut de) {
        Ok(()) => found,
        Err(_) => Vec::new(),
    }
}

struct Walk<'a> {
    path: String,
    found: &'a mut Vec<String>,
}

impl<'de> DeserializeSeed<'de> for Walk<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, de: D) -> Result<(), D::Error> {
        de.deserialize_any(self)
    }
}

macro_rules! ignore {
    ($($name:ident: $type:ty),*) => {
        $(fn $name<E>(self, _: $type) -> Result<(), E> { Ok(()) })*
    };
}

impl<'de> Visitor<'de> for Walk<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("any JSON")
    }

    ignore!(visit_bool: bool, visit_i64: i64, visit_u64: u64, visit_f64: f64, visit_str: &str);

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        let mut index = 0;
        loop {
            let path = format!("{}[{index}]", self.path);
            if items.next_element_seed(Walk { path, found: self.found })?.is_none() {
                return Ok(());
            }
            index += 1;
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        let mut seen = BTreeSet::new();
        while let Some(name) = fields.next_key::<String>()? {
            let dot = if self.path.is_empty() { "" } else { "." };
            let path = format!("{}{dot}{name}", self.path);
            if seen.insert(name) {
                fields.next_value_seed(Walk { path, found: self.found })?;
            } else {
                fields.next_value::<IgnoredAny>()?;
                self.found.push(path);
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duplicates_are_named_by_path() {
        let check = |json: &str, expect: &[&str]| {
            assert_eq!(duplicate_fields(json.as_bytes()), expect);
        };
        check(r#"{"a": 1, "b": {"c": [1, {"d": null, "d": "x"}]}, "a": 2}"#, &["b.c[1].d", "a"]);
        check(r#"{"a": {"b": true}, "c": {"b": 1.5}}"#, &[]);
        check("{", &[]);
    }
}
