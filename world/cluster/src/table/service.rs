//! Services: addresses and ports.

use serde_json::Value;

use super::{
    builtin::{computed, number, or_none, path, wide},
    columns::{Column, age, name},
};

pub(super) fn columns() -> Vec<Column> {
    vec![
        name(),
        path("Type", "string", ".spec.type"),
        computed("Cluster-IP", "string", |service, _| {
            or_none(service.pointer("/spec/clusterIP").and_then(Value::as_str).unwrap_or(""))
        }),
        computed("External-IP", "string", |service, _| external(service)),
        computed("Port(s)", "string", |service, _| ports(service)),
        age(),
        wide(computed("Selector", "string", |service, _| {
            let selector = service.pointer("/spec/selector").and_then(Value::as_object);
            let pairs: Vec<String> = selector
                .into_iter()
                .flatten()
                .map(|(name, value)| format!("{name}={}", value.as_str().unwrap_or("")))
                .collect();
            or_none(&pairs.join(","))
        })),
    ]
}

fn external(service: &Value) -> Value {
    let texts = |at: &str| -> Vec<&str> {
        let list = service.pointer(at).and_then(Value::as_array).into_iter().flatten();
        list.filter_map(Value::as_str).collect()
    };
    match service.pointer("/spec/type").and_then(Value::as_str) {
        Some("ExternalName") => {
            or_none(service.pointer("/spec/externalName").and_then(Value::as_str).unwrap_or(""))
        }
        Some("LoadBalancer") => {
            let ingress = service.pointer("/status/loadBalancer/ingress").and_then(Value::as_array);
            let address = |entry: &Value| {
                let of = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_owned);
                of("ip").or_else(|| of("hostname"))
            };
            let mut all: Vec<String> = ingress.into_iter().flatten().filter_map(address).collect();
            all.extend(texts("/spec/externalIPs").into_iter().map(str::to_owned));
            Value::from(if all.is_empty() { "<pending>".to_owned() } else { all.join(",") })
        }
        _ => or_none(&texts("/spec/externalIPs").join(",")),
    }
}

fn ports(service: &Value) -> Value {
    let ports = service.pointer("/spec/ports").and_then(Value::as_array).into_iter().flatten();
    let shown: Vec<String> = ports
        .map(|port| {
            let protocol = port.get("protocol").and_then(Value::as_str).unwrap_or("TCP");
            match number(port, "/nodePort") {
                0 => format!("{}/{protocol}", number(port, "/port")),
                node => format!("{}:{node}/{protocol}", number(port, "/port")),
            }
        })
        .collect();
    or_none(&shown.join(","))
}
