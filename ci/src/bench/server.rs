//! Figures of the embedded API server beside the real one: what `tests/examples/server.rs` measures, as tables.

use serde::Deserialize;

use crate::{
    run::{Runner, works},
    table,
};

/// Objects after which the time of a write is taken.
const SIZES: [&str; 3] = ["1000", "10000", "100000"];

/// What the example prints.
#[derive(Debug, Deserialize)]
struct Figures {
    embedded: Server,
    real: Server,
    growth: Vec<Growth>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Server {
    start_ms: f64,
    write: Cost,
    list: Cost,
    protobuf_list: Cost,
    fan_out: Cost,
    #[serde(rename = "mbOf10000Pods")]
    mb_of_10000_pods: f64,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Cost {
    cpu_us: f64,
    wall_us: f64,
}

#[derive(Debug, Deserialize)]
struct Growth {
    objects: u64,
    #[serde(flatten)]
    cost: Cost,
}

/// Measures and prints all of it.
///
/// # Errors
/// The example can't be built or run, or says something else than figures.
pub fn print(runner: &mut Runner) -> anyhow::Result<()> {
    if !works(&["tests/reference/build.sh", "--where"]) {
        runner.skip("the API server beside the real one", "the judge is not built");
        return Ok(());
    }
    let figures: Figures = super::example(runner, "server", &SIZES)?;
    println!("\n{}\n\n{}", beside(&figures), growth(&figures.growth));
    runner.pass();
    Ok(())
}

fn beside(figures: &Figures) -> String {
    let (ours, real) = (&figures.embedded, &figures.real);
    let rows: [(&str, f64, f64); 10] = [
        ("write, 32 clients: CPU of the server, µs", ours.write.cpu_us, real.write.cpu_us),
        ("write, 32 clients: wall, µs", ours.write.wall_us, real.write.wall_us),
        ("list of 5,000 pods: CPU of the server, µs", ours.list.cpu_us, real.list.cpu_us),
        ("list of 5,000 pods: wall, µs", ours.list.wall_us, real.list.wall_us),
        (
            "list of 5,000 pods in protobuf: CPU of the server, µs",
            ours.protobuf_list.cpu_us,
            real.protobuf_list.cpu_us,
        ),
        (
            "list of 5,000 pods in protobuf: wall, µs",
            ours.protobuf_list.wall_us,
            real.protobuf_list.wall_us,
        ),
        ("write to 1,000 watchers: CPU, µs", ours.fan_out.cpu_us, real.fan_out.cpu_us),
        ("write to 1,000 watchers: wall, µs", ours.fan_out.wall_us, real.fan_out.wall_us),
        ("memory of 10,000 pods, MB", ours.mb_of_10000_pods, real.mb_of_10000_pods),
        ("start, ms", ours.start_ms, real.start_ms),
    ];
    let rows = rows.map(|(name, ours, real)| {
        let cells = [format!("{ours:.1}"), format!("{real:.1}"), format!("{:.1}", real / ours)];
        [name.to_owned()].into_iter().chain(cells).collect()
    });
    table::markdown(&["API server", "embedded", "kube-apiserver, etcd", "times"], &rows)
}

fn growth(rows: &[Growth]) -> String {
    let row = |one: &Growth| {
        vec![
            one.objects.to_string(),
            format!("{:.1}", one.cost.cpu_us),
            format!("{:.1}", one.cost.wall_us),
        ]
    };
    let rows: Vec<Vec<String>> = rows.iter().map(row).collect();
    let head = ["objects, embedded", "write: CPU of the server, µs", "wall, µs"];
    table::markdown(&head, &rows)
}
