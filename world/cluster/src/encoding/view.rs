//! Metadata views: what `as=PartialObjectMetadata` asks for.

use serde_json::{Value, json};

/// The object's metadata as a `PartialObjectMetadata`.
pub fn metadata_view(object: &Value) -> Value {
    let metadata = object.get("metadata").cloned().unwrap_or_else(|| json!({}));
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "metadata": metadata,
    })
}

/// A list as a `PartialObjectMetadataList`.
pub fn metadata_list_view(list: &Value) -> Value {
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    json!({
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadataList",
        "metadata": list.get("metadata").cloned().unwrap_or_else(|| json!({})),
        "items": items.map(metadata_view).collect::<Vec<_>>(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::{Format, decode, encode};

    #[test]
    fn views_of_custom_resources_have_protobuf() {
        let list = json!({"kind": "FooList", "metadata": {"resourceVersion": "3"},
            "items": [{"kind": "Foo", "metadata": {"name": "a"}, "spec": {}}]});
        let view = metadata_list_view(&list);
        assert_eq!(view["items"][0]["metadata"]["name"], "a");
        let bytes = encode(&view, Format::Protobuf).unwrap();
        let back = decode(Some("application/vnd.kubernetes.protobuf"), &bytes).unwrap();
        assert_eq!(back["items"][0]["metadata"]["name"], "a");
        assert_eq!(back["metadata"]["resourceVersion"], "3");
    }
}
