//! The schedule model in words, for the author of the controller.

use std::{collections::BTreeMap, fmt::Write as _, ops::Range};

use plans::{
    FirstRead, Schedule,
    schedule::{Delivered, Reading, Written},
};
use trace::Verb;

/// Deliveries that are named one by one before a write or a reconcile; of more the number is told.
const DELIVERIES_MAX: usize = 12;

/// All of it. `runs` is how many histories it was learnt from.
pub fn text(schedule: &Schedule, runs: usize) -> String {
    let mut out = match runs {
        1 => "learnt from 1 run\n".to_owned(),
        _ => format!("learnt from {runs} undisturbed runs: reads of all, all else of the first\n"),
    };
    reads(&mut out, schedule);
    changes(&mut out, schedule);
    writes(&mut out, schedule);
    reconciles(&mut out, schedule);
    cancellations(&mut out, schedule);
    out
}

fn head(out: &mut String, title: &str, lines: usize) {
    let none = if lines == 0 { ": none" } else { "" };
    let _ = writeln!(out, "\n{title}{none}");
}

fn reads(out: &mut String, schedule: &Schedule) {
    let gets = schedule.reads.iter().filter(|read| read.call.verb == Verb::Get);
    let mut by_name: BTreeMap<String, usize> = BTreeMap::new();
    for get in gets {
        *by_name.entry(get.call.to_string()).or_default() += 1;
    }
    head(out, "READS by type, and by name", schedule.types.len() + by_name.len());
    let types = schedule.types.iter().map(|(resource, reading)| (resource.to_string(), reading));
    let types: Vec<(String, &Reading)> = types.collect();
    let width = types.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, reading) in types {
        let first = match reading.first {
            Some(FirstRead::Consistent) => "first list is the present state",
            Some(FirstRead::Streamed) => "first list is streamed, or may be old",
            Some(FirstRead::Any) => "first list may be old",
            None => "no first list",
        };
        let watched = if reading.watched { "watched" } else { "not watched" };
        let scopes: Vec<String> = reading.scopes.iter().map(ToString::to_string).collect();
        let _ = writeln!(out, "  {name:width$}  {first}, {watched}: {}", scopes.join("; "));
    }
    for (get, count) in by_name {
        let _ = writeln!(out, "  {count} × {get}");
    }
}

fn changes(out: &mut String, schedule: &Schedule) {
    let title =
        "CHANGES, with the workload's position (*: the controller can tell before from after)";
    head(out, title, schedule.changes.len());
    for (index, change) in schedule.changes.iter().enumerate() {
        let mark = if change.apart { '*' } else { ' ' };
        let id = format!("c{index}");
        let _ = writeln!(out, "{mark} {id:>5} {:>5}  {}", change.cursor.to_string(), change.what);
    }
}

fn writes(out: &mut String, schedule: &Schedule) {
    head(out, "WRITES, and what came before each (causal order)", schedule.writes.len());
    let mut told = 0..0;
    for (index, write) in schedule.writes.iter().enumerate() {
        let changes = list("c", &write.changes);
        let _ = writeln!(out, "  {:>5} {}, making {changes}", format!("w{index}"), write.call);
        // Only what is new since the write before: the rest came before that as well.
        let new = match write.known.start == told.start && told.end <= write.known.end {
            true => told.end..write.known.end,
            false => write.known.clone(),
        };
        let _ = writeln!(out, "          {}", known(schedule, write, new));
        told = write.known.clone();
        if !write.concurrent.is_empty() {
            let others = list("w", &write.concurrent);
            let _ = writeln!(out, "          under way together with {others}");
        }
    }
}

fn known(schedule: &Schedule, write: &Written, new: Range<usize>) -> String {
    match (new.is_empty(), write.known.is_empty()) {
        (true, true) => "no event had been delivered".to_owned(),
        (true, false) => "no further event had been delivered".to_owned(),
        (false, _) => format!("delivered: {}", deliveries(schedule, new)),
    }
}

fn reconciles(out: &mut String, schedule: &Schedule) {
    let title = "RECONCILES, inferred from the traffic: nothing is left out because of them";
    head(out, title, schedule.reconciles.len());
    for reconcile in &schedule.reconciles {
        let told = match reconcile.told.is_empty() {
            true => "after no event".to_owned(),
            false => format!("after {}", deliveries(schedule, reconcile.told.clone())),
        };
        let reads = match reconcile.reads.len() {
            0 => None,
            1 => Some("1 read".to_owned()),
            more => Some(format!("{more} reads")),
        };
        let writes = Some(list("w", &reconcile.writes)).filter(|writes| !writes.is_empty());
        let did: Vec<String> = reads.into_iter().chain(writes).collect();
        let _ = writeln!(out, "  {told}: {}", did.join(", "));
    }
}

fn cancellations(out: &mut String, schedule: &Schedule) {
    let title = "CANCELLED: what was true between the two may never be seen";
    head(out, title, schedule.cancellations.len());
    for pair in &schedule.cancellations {
        let what = |index: usize| {
            let change = schedule.changes.get(index);
            let what = change.map(|change| change.what.to_string()).unwrap_or_default();
            format!("c{index} {what}")
        };
        let between = match pair.between {
            0 => String::new(),
            more => format!(" ({more} in between)"),
        };
        let _ = writeln!(out, "  {}\n      by {}{between}", what(pair.earlier), what(pair.later));
    }
}

/// `ADDED pods/default/a (c3), …`.
fn deliveries(schedule: &Schedule, range: Range<usize>) -> String {
    let all = schedule.deliveries.get(range).unwrap_or_default();
    let mut named: Vec<String> = all.iter().take(DELIVERIES_MAX).map(delivery).collect();
    if all.len() > DELIVERIES_MAX {
        named.push(format!("and {} more", all.len() - DELIVERIES_MAX));
    }
    named.join(", ")
}

fn delivery(delivery: &Delivered) -> String {
    let kind = format!("{:?}", delivery.kind).to_uppercase();
    let change = delivery.change.map(|change| format!(" (c{change})")).unwrap_or_default();
    format!("{kind} {}/{}{change}", delivery.resource, delivery.object)
}

fn list(prefix: &str, indexes: &[usize]) -> String {
    let named: Vec<String> = indexes.iter().map(|index| format!("{prefix}{index}")).collect();
    named.join(", ")
}
