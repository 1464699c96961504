//! `intents.json`, and the intents of a uniform JSON.

use super::{File, InputError, Note, document::Document, field::Field};
use crate::kivi::{description::Description, expression::Expression, intent::Intent};

/// Reads `intents.json` into a description. Whether a node is found is asked always.
pub(super) fn of_file(
    file: &File<'_>,
    into: &mut Description,
    notes: &mut Vec<Note>,
) -> Result<(), InputError> {
    let document = Document::read(file)?;
    let root = document.root();
    into.intents.push(Intent::AlwaysSchedulable);
    let list = if root.value.is_object() { root.get("intents") } else { root };
    read(&list, into, notes)?;
    document.unread(&[], notes);
    Ok(())
}

/// Reads a list of intents into a description.
pub(super) fn read(
    list: &Field<'_>,
    into: &mut Description,
    notes: &mut Vec<Note>,
) -> Result<(), InputError> {
    for item in list.items()? {
        if item.value.is_string() {
            let text = "an expression of SPIN is not read; Kivi's intents by name are";
            notes.push(super::notes::of(&item, text));
            continue;
        }
        let run = item.get("run");
        if run.is_there() && !run.is_set()? {
            notes.push(super::notes::of(&run, "the intent is not to run, and is left out"));
            continue;
        }
        // SPIN's way to say that something is no flaw.
        item.get("flag");
        let intent = intent(&item, into)?;
        if !into.intents.contains(&intent) {
            into.intents.push(intent);
        }
    }
    Ok(())
}

fn intent(item: &Field<'_>, of: &Description) -> Result<Intent, InputError> {
    let name = item.get("name");
    let names = || format!("one of {}", Intent::names().collect::<Vec<_>>().join(", "));
    let known = Intent::known(name.text()?).ok_or_else(|| name.wrong(names()))?;
    let para = item.get("para");
    let deployment = || deployment(&para, of);
    Ok(match known {
        "no_kernel_panic" => Intent::NoKernelPanic,
        "no_oscillation_replica_num" => Intent::NoReplicaOscillation { deployment: deployment()? },
        "replica_num_always_meet_min" => Intent::MeetMinimum { deployment: deployment()? },
        "replica_num_always_meet_exp" => {
            let expected = expected(&para.any(&["expReplicas", "expected"]))?;
            Intent::MeetExpected { deployment: deployment()?, expected }
        }
        "no_oscillation_eviction" => Intent::NoEvictionCycle { deployment: deployment()? },
        "pod_balance_across_node" => {
            let max_skew = para.get("maxSkew").number()?;
            Intent::Balance { deployment: deployment()?, max_skew }
        }
        "loop" => Intent::NoLoop,
        "valid_end_state" => Intent::ValidEnds,
        _ => Intent::AlwaysSchedulable,
    })
}

/// Which deployment is meant: its number, from 1, or its name. Where there is one only, it need not be said.
pub(super) fn deployment(para: &Field<'_>, of: &Description) -> Result<usize, InputError> {
    let said = match para.value {
        serde_json::Value::Object(_) => {
            para.any(&["did", "targetDeployment", "deployment", "name"])
        }
        _ => para.clone(),
    };
    let all = of.deployments.len();
    let expected = || {
        let names: Vec<&str> = of.deployments.iter().map(|one| &*one.name).collect();
        format!("the number of a deployment from 1 to {all}, or its name: {}", names.join(", "))
    };
    if !said.is_there() && all == 1 {
        return Ok(0);
    }
    let by_name = said.value.as_str();
    let by_name = by_name.and_then(|name| of.deployments.iter().position(|one| one.name == name));
    let by_number = || said.number::<usize>().ok().filter(|number| (1..=all).contains(number));
    by_name.or_else(|| by_number().map(|number| number - 1)).ok_or_else(|| said.wrong(expected()))
}

fn expected(field: &Field<'_>) -> Result<Expression, InputError> {
    let wanted = "a whole number, or an expression of specReplicas, minReplicas and maxReplicas";
    let text = match field.value {
        serde_json::Value::String(text) => text.clone(),
        serde_json::Value::Number(number) => number.to_string(),
        _ => return Err(field.wrong(wanted)),
    };
    Expression::parse(&text).map_err(|_| field.wrong(wanted))
}
