//! How a sentence and a fingerprint name an object: by what it is, never by a drawn name.

use std::fmt;

use serde_json::Value;
use trace::fold_key;

/// An object by its role. One with a fixed name is called by its key. One with a generated name is one of its
/// siblings, told apart from those of other owners: `pods/default/r-head-* of RayCluster r`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Role {
    /// Folded canonical key: `pods/default/r-head-‹*›`.
    pub key: String,
    /// Kind and folded name of its controlling owner; none where its own name says enough.
    pub owner: Option<String>,
}

impl Role {
    /// Of an object in comparison form or folded form; its key may be canonical or folded.
    pub fn of(key: &str, object: &Value) -> Role {
        let key = fold_key(key);
        let owner = is_generated(&key).then(|| owner(object)).flatten();
        Role { key, owner }
    }

    /// Of one that nothing is known of but its key.
    pub fn named(key: &str) -> Role {
        Role { key: fold_key(key), owner: None }
    }

    /// Whether several may have it.
    pub fn is_generated(&self) -> bool {
        is_generated(&self.key)
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&starred(&self.key))?;
        match &self.owner {
            Some(owner) => write!(f, " of {}", starred(owner)),
            None => Ok(()),
        }
    }
}

/// A folded text for people: `*` for generated names.
pub(crate) fn starred(folded: &str) -> String {
    folded.replace("‹*›", "*")
}

fn is_generated(key: &str) -> bool {
    key.contains("‹*›")
}

/// The owner that manages it (`metav1.GetControllerOf`), else its only owner.
fn owner(object: &Value) -> Option<String> {
    let owners = object.pointer("/metadata/ownerReferences")?.as_array()?;
    let managing = owners.iter().find(|owner| owner["controller"] == true);
    let only = || owners.first().filter(|_| owners.len() == 1);
    let owner = managing.or_else(only)?;
    let text = |field: &str| owner[field].as_str().map(fold_key);
    Some(format!("{} {}", text("kind")?, text("name")?))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn siblings_are_told_apart_by_who_manages_them() {
        let pod = |owner: &str| {
            let owner = json!({"kind": "RayCluster", "name": owner, "controller": true});
            json!({"metadata": {"ownerReferences": [owner]}})
        };
        let check = |key: &str, object: &Value, expect: &str| {
            assert_eq!(Role::of(key, object).to_string(), expect);
        };
        check("pods/default/r-‹2›", &pod("r"), "pods/default/r-* of RayCluster r");
        check("pods/default/r-‹2›", &pod("r-‹1›"), "pods/default/r-* of RayCluster r-*");
        check("pods/default/r-‹2›", &json!({}), "pods/default/r-*");
        check("pods/default/r-0", &pod("r"), "pods/default/r-0");
    }
}
