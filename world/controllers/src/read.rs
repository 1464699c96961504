//! From JSON to what controllers see. What is absent or of a wrong type reads as its zero, as in Go.

use std::sync::Arc;

use serde_json::Value;
use trace::{ObjectKey, Revision, Time};

use crate::{
    account_token::{Account, TokenSecret},
    autoscaler::{Autoscaler, ExternalMetric, MetricValue, PodMetrics},
    cluster_role::ClusterRole,
    cron_job::CronJob,
    daemon_set::DaemonSet,
    data::Keys,
    deployment::Deployment,
    descheduler::{self, PolicyMap},
    disruption::Budget,
    history::Revision as PastTemplate,
    job::Job,
    namespace::{Condition, Namespace},
    object::{Body, Labels, Meta, Owner, Text},
    pod::Pod,
    quota::Quota,
    replica_set::ReplicaSet,
    root_ca::RootCa,
    scheduler::Node,
    services::{Service, Slice, endpoints::Endpoints},
    signing_request::SigningRequest,
    stateful_set::StatefulSet,
    token_cleaner::Tracking,
    volumes::{Claim, Class, Volume},
};

/// A field of an object as text; empty if absent.
pub(crate) fn text(object: &Value, field: &str) -> Text {
    object.get(field).and_then(Value::as_str).unwrap_or("").into()
}

/// A time.
pub(crate) fn time(object: &Value, field: &str) -> Option<Time> {
    Time::parse_rfc3339(object.get(field)?.as_str()?)
}

/// A list.
pub(crate) fn list<'a>(object: &'a Value, field: &str) -> impl Iterator<Item = &'a Value> {
    object.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// A map of texts.
pub(crate) fn labels(object: &Value, field: &str) -> Labels {
    let map = object.get(field).and_then(Value::as_object);
    let entries = map.into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.as_str().into(), value.as_str()?.into()))).collect()
}

/// A number; 0 if absent.
pub(crate) fn number(object: &Value, field: &str) -> i64 {
    object.get(field).and_then(Value::as_i64).unwrap_or(0)
}

pub(crate) fn flag(object: &Value, field: &str) -> bool {
    object.get(field).and_then(Value::as_bool).unwrap_or(false)
}

pub(crate) fn meta(object: &Value) -> Meta {
    let meta = &object["metadata"];
    Meta {
        uid: text(meta, "uid"),
        revision: Revision::parse(&text(meta, "resourceVersion")).unwrap_or_default(),
        generation: meta.get("generation").and_then(Value::as_i64).unwrap_or(0),
        created: time(meta, "creationTimestamp").unwrap_or_default(),
        deleted: time(meta, "deletionTimestamp"),
        grace_seconds: meta.get("deletionGracePeriodSeconds").and_then(Value::as_i64),
        finalizers: list(meta, "finalizers").filter_map(Value::as_str).map(Text::from).collect(),
        owners: list(meta, "ownerReferences").map(owner).collect(),
        labels: labels(meta, "labels"),
        annotations: labels(meta, "annotations"),
    }
}

fn owner(reference: &Value) -> Owner {
    Owner {
        api_version: text(reference, "apiVersion"),
        kind: text(reference, "kind"),
        name: text(reference, "name"),
        uid: text(reference, "uid"),
        controller: flag(reference, "controller"),
        blocks: flag(reference, "blockOwnerDeletion"),
    }
}

pub(crate) fn body(key: &ObjectKey, object: &Value) -> Body {
    match (&*key.resource.group, &*key.resource.resource) {
        ("", "namespaces") => Body::Namespace(Arc::new(namespace(object))),
        ("", "pods") => Body::Pod(Arc::new(Pod::read(object))),
        ("", "nodes") => Body::Node(Arc::new(Node::read(object))),
        ("apps", "replicasets") => Body::ReplicaSet(Arc::new(ReplicaSet::read(object))),
        ("apps", "deployments") => Body::Deployment(Arc::new(Deployment::read(object))),
        ("apps", "statefulsets") => Body::StatefulSet(Arc::new(StatefulSet::read(object))),
        ("batch", "jobs") => Body::Job(Arc::new(Job::read(object))),
        ("batch", "cronjobs") => Body::CronJob(Arc::new(CronJob::read(object))),
        ("apps", "daemonsets") => Body::DaemonSet(Arc::new(DaemonSet::read(object))),
        ("policy", "poddisruptionbudgets") => Body::Budget(Arc::new(Budget::read(object))),
        ("", "services") => Body::Service(Arc::new(Service::read(object))),
        ("", "endpoints") => Body::Endpoints(Arc::new(Endpoints::read(object))),
        ("discovery.k8s.io", "endpointslices") => Body::Slice(Arc::new(Slice::read(object))),
        ("", "configmaps") if *key.name == *crate::root_ca::NAME => {
            Body::RootCa(Arc::new(RootCa::read(object)))
        }
        ("", "configmaps") if *key.name == *crate::token_cleaner::TRACKING => {
            Body::Tracking(Arc::new(Tracking::read(object)))
        }
        _ if descheduler::is_policy(key) => {
            Body::DeschedulerPolicy(Arc::new(PolicyMap::read(object)))
        }
        ("", "configmaps") => Body::Data(Arc::new(Keys::read(object))),
        ("apps", "controllerrevisions") => Body::Revision(Arc::new(PastTemplate::read(object))),
        ("", "persistentvolumeclaims") => Body::Claim(Arc::new(Claim::read(object))),
        ("", "persistentvolumes") => Body::Volume(Arc::new(Volume::read(object))),
        ("storage.k8s.io", "storageclasses") => Body::Class(Arc::new(Class::read(object))),
        ("scheduling.k8s.io", "priorityclasses") => {
            Body::PriorityClass(descheduler::priority_class(object))
        }
        ("", "replicationcontrollers") => {
            Body::ReplicaSet(Arc::new(ReplicaSet::read_older(object)))
        }
        ("", "serviceaccounts") => Body::Account(Arc::new(Account::read(object))),
        ("", "secrets") => match TokenSecret::read(object) {
            Some(secret) => Body::TokenSecret(Arc::new(secret)),
            None => Body::Data(Arc::new(Keys::read(object))),
        },
        ("certificates.k8s.io", "certificatesigningrequests") => {
            Body::SigningRequest(Arc::new(SigningRequest::read(object)))
        }
        ("rbac.authorization.k8s.io", "clusterroles") => {
            Body::ClusterRole(Arc::new(ClusterRole::read(object)))
        }
        ("autoscaling", "horizontalpodautoscalers") => {
            Body::Autoscaler(Arc::new(Autoscaler::read(object)))
        }
        ("metrics.k8s.io", "pods") => Body::PodMetrics(Arc::new(PodMetrics::read(object))),
        ("external.metrics.k8s.io", _) => {
            Body::ExternalMetric(Arc::new(ExternalMetric::read(object)))
        }
        ("custom.metrics.k8s.io", "metricvalues") => {
            Body::MetricValue(Arc::new(MetricValue::read(object)))
        }
        ("", "resourcequotas") => Body::Quota(Arc::new(Quota::read(object))),
        _ => Body::Opaque,
    }
}

fn namespace(object: &Value) -> Namespace {
    let status = &object["status"];
    Namespace {
        finalizers: list(&object["spec"], "finalizers")
            .filter_map(Value::as_str)
            .map(Text::from)
            .collect(),
        phase: text(status, "phase"),
        conditions: list(status, "conditions")
            .map(|condition| Condition {
                kind: text(condition, "type"),
                status: condition["status"] == "True",
                since: time(condition, "lastTransitionTime").unwrap_or_default(),
                reason: text(condition, "reason"),
                message: text(condition, "message"),
            })
            .collect(),
    }
}
