//! `controllers`: of these only the descheduler has anything to be chosen.

use std::fmt::Write;

use super::{Field, InputError, Note, notes};
use crate::kivi::description::Descheduler;

/// Kivi's names of plugins that it models.
const PLUGINS: [(&str, &str); 4] = [
    ("removeDuplicates", "RemoveDuplicates"),
    ("RemoveDuplicates", "RemoveDuplicates"),
    ("removePodsViolatingTopologySpreadConstraint", "RemovePodsViolatingTopologySpreadConstraint"),
    ("RemovePodsViolatingTopologySpreadConstraint", "RemovePodsViolatingTopologySpreadConstraint"),
];

/// These run where there is something for them to do.
const OTHERS: [&str; 3] = ["scheduler", "hpa", "deployment"];

/// The descheduler, if one is to run.
pub(super) fn descheduler(
    controllers: &Field<'_>,
    found: &mut Vec<Note>,
) -> Result<Option<Descheduler>, InputError> {
    for name in OTHERS {
        controllers.get(name);
    }
    let of = controllers.get("descheduler");
    if !of.is_there() {
        return Ok(None);
    }
    let mut policy = String::from("apiVersion: descheduler/v1alpha2\nkind: DeschedulerPolicy\n");
    let limits = of.get("configs");
    for name in ["maxNoOfPodsToEvictPerNode", "maxNoOfPodsToEvictPerNamespace"] {
        if limits.get(name).is_there() {
            line(&mut policy, &format!("{name}: {}", limits.get(name).number::<u32>()?));
        }
    }
    policy.push_str("profiles:\n");
    let args = of.get("args");
    for (at, profile) in of.get("profiles").items()?.iter().enumerate() {
        let mut plugins = Vec::new();
        for name in profile.object()?.keys() {
            let plugin = profile.get(name);
            match PLUGINS.iter().find(|(kivi, _)| kivi == name) {
                Some((_, plugin)) => plugins.push(*plugin),
                None => {
                    let text = "Kivi's models have no such plugin, and pass it over; it is left out here too";
                    found.push(notes::of(&plugin, text));
                }
            }
        }
        write_profile(&mut policy, at, &plugins, &args)?;
    }
    Ok(Some(Descheduler { policy }))
}

fn line(into: &mut String, text: &str) {
    writeln!(into, "{text}").expect("a text takes all");
}

fn write_profile(
    into: &mut String,
    at: usize,
    plugins: &[&str],
    args: &Field<'_>,
) -> Result<(), InputError> {
    let soft = args.get("constraintsTopologySpread");
    let constraints = match soft.number_or::<u32>(0)? {
        0 => "DoNotSchedule",
        1 => "ScheduleAnyway",
        2 => "DoNotSchedule, ScheduleAnyway",
        _ => return Err(soft.wrong("0 (hard), 1 (soft) or 2 (both)")),
    };
    let critical = args.get("evictSystemCriticalPods").is_set()?;
    line(into, &format!("- name: profile-{}", at + 1));
    line(into, "  pluginConfig:");
    line(into, "  - name: DefaultEvictor");
    line(into, &format!("    args: {{evictSystemCriticalPods: {critical}}}"));
    for plugin in plugins {
        let args = match *plugin {
            "RemoveDuplicates" => "{}".to_owned(),
            _ => format!("{{constraints: [{constraints}]}}"),
        };
        line(into, &format!("  - name: {plugin}\n    args: {args}"));
    }
    line(into, &format!("  plugins:\n    balance:\n      enabled: [{}]", plugins.join(", ")));
    Ok(())
}
