//! Stands between a subject and a cluster: identifies clients, decodes, records, holds.
