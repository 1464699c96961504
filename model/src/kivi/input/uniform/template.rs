//! `podTemplates[]`.

use serde_json::{Value, json};

use super::{CPU_MILLI, Field, InputError, Note, configs, notes};
use crate::kivi::{
    amounts,
    description::{Description, Labels},
    manifests::{HOSTNAME, KIVI_HOSTNAME, Pods, spread},
};

/// Ticks of Kivi's clock in a second.
const TICKS: u32 = 10;

/// The template, and what its pods use, of a deployment.
pub(super) fn read(
    of: &Field<'_>,
    deployment: &str,
    into: &Description,
    found: &mut Vec<Note>,
) -> Result<(Value, Vec<(u32, u64)>), InputError> {
    let mut labels = of.get("labels").labels()?;
    // Kivi knows pods by the number of their deployment.
    labels.insert("app".to_owned(), deployment.to_owned());
    let node = of.get("nodeName");
    let node_name = match node.value {
        Value::Null => String::new(),
        Value::String(name) => name.clone(),
        _ => match node.number::<usize>()? {
            0 => String::new(),
            number => {
                let wrong = || {
                    node.wrong(format!(
                        "the number of a node, from 1 to {}, or 0",
                        into.nodes.len()
                    ))
                };
                into.nodes.get(number - 1).ok_or_else(wrong)?.name.clone()
            }
        },
    };
    let mut pods = Pods {
        cpu_milli: configs::cpu(&of.get("cpuRequested"), CPU_MILLI)?,
        memory_bytes: configs::memory(&of.get("memRequested"))?,
        node_name,
        labels,
        ..Pods::default()
    };
    for toleration in of.get("toleration").items()? {
        pods.tolerations.push(self::toleration(&toleration)?);
    }
    for rule in listed(of, "affinityRules", "numRules")? {
        let labels = rule.get("labels").labels()?;
        match rule.get("isRequired").is_set()? {
            true => pods.required.extend(labels),
            false => pods.preferred.push((rule.get("weight").number_or(1)?, labels)),
        }
    }
    for constraint in listed(of, "topoSpreadConstraints", "numTopoSpreadConstraints")? {
        pods.spread.push(self::constraint(&constraint, &pods.labels)?);
    }
    let defaulted = of.get("topoSpreadSystemDefaulted");
    if defaulted.is_there() && !defaulted.is_set()? && pods.spread.is_empty() {
        let text = "the scheduler spreads pods without constraints by its defaults all the same";
        found.push(notes::of(&defaulted, text));
    }
    Ok((pods.template(), usage(of)?))
}

/// The items of a list, as many as another field says.
fn listed<'a>(of: &Field<'a>, list: &str, number: &str) -> Result<Vec<Field<'a>>, InputError> {
    let mut all = of.get(list).items()?;
    all.truncate(of.get(number).number_or(all.len())?);
    Ok(all)
}

/// `key=value:Effect`, or as Kubernetes writes it.
fn toleration(of: &Field<'_>) -> Result<Value, InputError> {
    if of.value.is_object() {
        return Ok(of.whole());
    }
    let taint = super::taint(of)?;
    Ok(json!({
        "key": taint.key, "operator": "Equal", "value": taint.value, "effect": taint.effect,
    }))
}

fn constraint(of: &Field<'_>, own: &Labels) -> Result<Value, InputError> {
    let is_hard = match of.get("whenUnsatisfiable").value {
        Value::String(text) => text == "DoNotSchedule",
        _ => of.get("whenUnsatisfiable").number_or::<u32>(0)? == 0,
    };
    let selected = of.get("labels").labels()?;
    let selected = if selected.is_empty() { own } else { &selected };
    let topology = of.get("topologyKey");
    // Kivi's name of the label of nodes' names.
    let topology = match topology.text()? {
        KIVI_HOSTNAME => HOSTNAME,
        "zone" => "topology.kubernetes.io/zone",
        other => other,
    };
    let mut value = spread(of.get("maxSkew").number_or(1)?, topology, is_hard, selected);
    let policy = |set: bool| if set { "Honor" } else { "Ignore" };
    let (affinity, taints) = (of.get("nodeAffinityPolicy"), of.get("nodeTaintsPolicy"));
    value["nodeAffinityPolicy"] = json!(policy(!affinity.is_there() || affinity.is_set()?));
    value["nodeTaintsPolicy"] = json!(policy(taints.is_set()?));
    let least = of.get("minDomains").number_or::<u32>(0)?;
    if least > 1 && is_hard {
        value["minDomains"] = json!(least);
    }
    Ok(value)
}

/// `curCpuRequest` from `timeCpuRequest` on.
fn usage(of: &Field<'_>) -> Result<Vec<(u32, u64)>, InputError> {
    let amounts = listed(of, "curCpuRequest", "maxCpuChange")?;
    let times = of.get("timeCpuRequest").items()?;
    let mut all = Vec::new();
    for (at, amount) in amounts.iter().enumerate() {
        let ticks = match times.get(at) {
            Some(time) => time.number::<u32>()?,
            None if at == 0 => 0,
            None => return Err(of.get("timeCpuRequest").wrong("as many as curCpuRequest")),
        };
        all.push((ticks / TICKS, configs::cpu(amount, CPU_MILLI)?));
    }
    Ok(all)
}

/// CPU and memory of requests, in thousandths and bytes.
pub(super) fn amounts(requests: &Value) -> (u64, u64) {
    let text = |name: &str| requests[name].as_str();
    (
        text("cpu").and_then(amounts::milli).unwrap_or(0),
        text("memory").and_then(amounts::bytes).unwrap_or(0),
    )
}
