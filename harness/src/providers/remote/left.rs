//! Cleans up after a campaign that died.

use proxy::Target;
use serde_json::Value;
use trace::{ObjectKey, Time};

use super::{
    super::pods,
    access,
    lock::{Entry, Left},
    made::Made,
    reset::Reset,
    uid,
};

/// Removes what it was about to make, as far as it did, and what follows from that.
///
/// # Errors
/// The cluster does not answer, or something keeps the objects.
pub async fn clean_up(upstream: &proxy::Upstream, left: &Left) -> anyhow::Result<()> {
    let (made, mut names) = (Made::default(), vec![]);
    for entry in &left.made {
        for (key, object) in of(upstream, entry, left.since).await? {
            let path = format!("{}/{}", entry.collection, key.name);
            made.adopt(&key, &uid(&object).unwrap_or_default(), path);
            names.push(key.to_string());
        }
    }
    eprintln!(
        "trommel: the campaign of {} ended without cleaning up: what was made since {} is removed: {}",
        left.holder,
        left.since.rfc3339(),
        listed(&names)
    );
    // A frozen pod can't end.
    let (_, mut all) = access::request(upstream, "GET", "/api/v1/pods").await?;
    pods::thaw(&all["items"].as_array_mut().map(std::mem::take).unwrap_or_default())?;
    // Objects first: with a definition all objects of its type go, whosever they are.
    let types = access::types(upstream).await?;
    Reset { upstream, types: &types, made: &made, keep: None, since: left.since }.carry_out().await
}

/// The first of them, and how many more there are.
fn listed(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let first = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    match names.len() {
        0 => "nothing is left".to_owned(),
        n if n <= SHOWN => first,
        n => format!("{first}, and {} more, with what follows from them", n - SHOWN),
    }
}

/// The objects of an entry that are not older than the campaign.
async fn of(
    upstream: &proxy::Upstream,
    entry: &Entry,
    since: Time,
) -> anyhow::Result<Vec<(ObjectKey, Value)>> {
    let target = Target::parse("GET", &entry.collection, None);
    let Some(resource) = target.resource else { return Ok(vec![]) };
    let path = match entry.generated {
        None => format!("{}/{}", entry.collection, entry.name),
        Some(_) => entry.collection.clone(),
    };
    let (status, mut found) = access::request(upstream, "GET", &path).await?;
    if !status.is_success() {
        return Ok(vec![]);
    }
    let found = match found["items"].as_array_mut() {
        Some(items) => std::mem::take(items),
        None => vec![found],
    };
    let own = found.into_iter().filter(|object| is_of(object, entry, since));
    let key = |object: &Value| {
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        ObjectKey::new(resource.clone(), &target.namespace, name)
    };
    Ok(own.map(|object| (key(&object), object)).collect())
}

fn is_of(object: &Value, entry: &Entry, since: Time) -> bool {
    let metadata = &object["metadata"];
    let born = metadata["creationTimestamp"].as_str().and_then(Time::parse_rfc3339);
    if born.is_none_or(|born| born < since) {
        return false;
    }
    let Some(manager) = &entry.generated else { return true };
    let mut managers = metadata["managedFields"].as_array().into_iter().flatten();
    metadata["name"].as_str().is_some_and(|name| name.starts_with(&entry.name))
        && managers.any(|fields| fields["manager"] == **manager)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn older_objects_and_those_of_others_are_left() {
        let since = Time::parse_rfc3339("2026-01-01T00:00:05Z").unwrap();
        let object = |second: u32, manager: &str| {
            json!({"metadata": {
                "name": "web-abcde", "creationTimestamp": format!("2026-01-01T00:00:0{second}Z"),
                "managedFields": [{"manager": manager}],
            }})
        };
        let entry = |name: &str, generated: Option<&str>| Entry {
            collection: "/api/v1/namespaces/default/pods".to_owned(),
            name: name.to_owned(),
            generated: generated.map(str::to_owned),
        };
        let named = entry("web-abcde", None);
        assert!(is_of(&object(5, "any"), &named, since));
        assert!(!is_of(&object(4, "any"), &named, since));
        let drawn = entry("web-", Some("manager"));
        assert!(is_of(&object(5, "manager"), &drawn, since));
        assert!(!is_of(&object(5, "kubectl"), &drawn, since));
        assert!(!is_of(&object(5, "manager"), &entry("other-", Some("manager")), since));
    }
}
