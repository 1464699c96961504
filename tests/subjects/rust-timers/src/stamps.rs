//! Two controllers that compare their own clock with the API server's stamps, as schedules and conditions do.

use std::{collections::BTreeMap, time::Duration};

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::{
    Api, Client,
    api::{ObjectMeta, PostParams},
};

use super::say;

const MINUTE: i64 = 60;

fn config_map(name: &str, data: BTreeMap<String, String>) -> ConfigMap {
    let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
    ConfigMap { metadata, data: Some(data), ..ConfigMap::default() }
}

/// Seconds since 1970 at which the API server has made it.
fn made(object: &ConfigMap) -> i64 {
    object.metadata.creation_timestamp.as_ref().map_or(0, |time| time.0.as_second())
}

/// An object at each full minute, while something else ticks. `early at …`: one that the API server has stamped with a
/// time before the minute.
pub async fn minutes(client: Client) -> anyhow::Result<()> {
    tokio::spawn(async {
        let mut ticks = tokio::time::interval(Duration::from_millis(500));
        loop {
            ticks.tick().await;
        }
    });
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    for number in 0.. {
        let due = (Timestamp::now().as_second() / MINUTE + 1) * MINUTE;
        let due = Timestamp::from_second(due)?;
        while Timestamp::now() < due {
            let left = due.duration_since(Timestamp::now());
            tokio::time::sleep(left.try_into().unwrap_or_default()).await;
        }
        let job = config_map(&format!("job-{number}"), BTreeMap::new());
        let job = config_maps.create(&PostParams::default(), &job).await?;
        say(if made(&job) < due.as_second() { "early" } else { "minute" });
    }
    Ok(())
}

/// Works for so long, and then notes its own time in an object. `back at …`: what an earlier start has noted is yet to
/// come. `older at …`: the API server's stamp of the object is a second or more behind.
pub async fn stamps(client: Client, work: Duration) -> anyhow::Result<()> {
    let config_maps: Api<ConfigMap> = Api::default_namespaced(client);
    let before = config_maps.get_opt("noted").await?;
    let noted = before.as_ref().and_then(|before| before.data.as_ref()?.get("at"));
    if noted.and_then(|noted| noted.parse().ok()).is_some_and(|noted| Timestamp::now() < noted) {
        say("back");
        let told = config_map("the-clock-went-back", BTreeMap::new());
        drop(config_maps.create(&PostParams::default(), &told).await);
    }
    for round in 0..rounds(work) {
        std::hint::black_box(round);
    }
    let now = Timestamp::now();
    let data = BTreeMap::from([("at".to_owned(), now.to_string())]);
    if before.is_none() {
        let made =
            made(&config_maps.create(&PostParams::default(), &config_map("noted", data)).await?);
        say(if made + 1 < now.as_second() { "older" } else { "noted" });
    } else {
        say("noted");
    }
    std::future::pending().await
}

/// How many rounds of nothing take about so long: by its own clock nearly no time passes while it works.
fn rounds(work: Duration) -> u64 {
    work.as_millis() as u64 * 1_000_000
}
