//! Ingresses of `extensions/v1beta1` and `networking.k8s.io/v1beta1` (`pkg/apis/networking/v1beta1/conversion.go`):
//! a backend names its service and port side by side, and the default one is called `backend`.

use serde_json::{Map, Value, json};

pub(super) fn up(object: &mut Value) {
    rename(object, "backend", "defaultBackend", backend_up);
}

pub(super) fn down(object: &mut Value) {
    rename(object, "defaultBackend", "backend", backend_down);
}

fn rename(object: &mut Value, from: &str, to: &str, backend: fn(&mut Map<String, Value>)) {
    let Some(spec) = object.get_mut("spec").and_then(Value::as_object_mut) else { return };
    if let Some(mut default) = spec.remove(from) {
        default.as_object_mut().into_iter().for_each(backend);
        spec.insert(to.to_owned(), default);
    }
    for rule in spec.get_mut("rules").and_then(Value::as_array_mut).into_iter().flatten() {
        let paths = rule.pointer_mut("/http/paths").and_then(Value::as_array_mut);
        let backends = paths.into_iter().flatten().filter_map(|path| path.get_mut("backend"));
        backends.filter_map(Value::as_object_mut).for_each(backend);
    }
}

fn backend_up(fields: &mut Map<String, Value>) {
    let name = fields.remove("serviceName").filter(|name| name != "");
    // A port that is a text counts, even an empty one.
    let port = fields.remove("servicePort").filter(|port| !port.is_null() && *port != 0);
    if name.is_none() && port.is_none() {
        return;
    }
    let port = match port {
        None => json!({}),
        Some(Value::String(name)) if name.is_empty() => json!({}),
        Some(Value::String(name)) => json!({"name": name}),
        Some(number) => json!({"number": number}),
    };
    let service = json!({"name": name.unwrap_or_else(|| "".into()), "port": port});
    fields.insert("service".to_owned(), service);
}

fn backend_down(fields: &mut Map<String, Value>) {
    let Some(service) = fields.remove("service") else { return };
    let name = service["name"].as_str().unwrap_or("");
    if !name.is_empty() {
        fields.insert("serviceName".to_owned(), json!(name));
    }
    let port = &service["port"];
    let named = port.get("name").filter(|name| *name != "");
    let port = named.or_else(|| port.get("number")).cloned().unwrap_or_else(|| 0.into());
    fields.insert("servicePort".to_owned(), port);
}

#[cfg(test)]
mod tests {
    use super::{super::convert::check, *};

    fn object(spec: Value) -> Value {
        json!({"metadata": {"name": "i"}, "spec": spec})
    }

    #[test]
    fn backends_are_shown_as_each_version_has_them() {
        let paths = |backends: [Value; 2]| {
            let paths = backends.map(|backend| json!({"path": "/", "backend": backend}));
            json!([{"host": "h", "http": {"paths": paths}}, {"host": "without paths"}])
        };
        let resource = json!({"kind": "Bucket", "name": "b"});
        check(
            "Ingress",
            "v1beta1",
            &object(json!({
                "ingressClassName": "c",
                "backend": {"serviceName": "s", "servicePort": 80},
                "rules": paths([
                    json!({"serviceName": "t", "servicePort": "http"}),
                    json!({"resource": resource}),
                ]),
            })),
            &object(json!({
                "ingressClassName": "c",
                "defaultBackend": {"service": {"name": "s", "port": {"number": 80}}},
                "rules": paths([
                    json!({"service": {"name": "t", "port": {"name": "http"}}}),
                    json!({"resource": resource}),
                ]),
            })),
        );
        check("Ingress", "v1beta1", &object(json!({})), &object(json!({})));
    }

    #[test]
    fn a_port_of_zero_names_none() {
        let mut ingress = object(json!({"backend": {"resource": {}, "servicePort": 0}}));
        up(&mut ingress);
        assert_eq!(ingress, object(json!({"defaultBackend": {"resource": {}}})));
    }
}
