//! Bar and Foo as Rust types. The CRDs are in `../crds`; they are written by hand.

use kube::{CustomResource, Resource};
use serde::{Deserialize, Serialize};

/// What the user asks for.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.trommel.dev", version = "v1", kind = "Bar", namespaced)]
#[kube(status = "BarStatus", schema = "disabled")]
pub struct BarSpec {
    /// What the Foo is to hold.
    pub text: String,
}

/// What the controller made of it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct BarStatus {
    /// The Foo made for this Bar.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub obj_ref: Option<ObjRef>,
}

/// An object of the same namespace, by name.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ObjRef {
    /// Its `metadata.name`.
    pub name: String,
}

/// What is made for each Bar.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "example.trommel.dev", version = "v1", kind = "Foo", namespaced)]
#[kube(schema = "disabled")]
pub struct FooSpec {
    /// The Bar's text.
    pub text: String,
}

/// The Foo that `bar` asks for, owned by it and still without a name.
pub fn foo_for(bar: &Bar) -> Foo {
    let mut foo = Foo::new("", FooSpec { text: bar.spec.text.clone() });
    foo.metadata.name = None;
    foo.metadata.owner_references = bar.controller_owner_ref(&()).map(|owner| vec![owner]);
    foo
}
