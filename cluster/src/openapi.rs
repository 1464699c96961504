//! The OpenAPI documents that clients ask for: v3 by group-version, v2 as one document; built-in types
//! from the data of this crate, custom resources generated.

pub(crate) mod documents;
