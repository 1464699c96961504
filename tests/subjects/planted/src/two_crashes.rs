//! An Order gets one ConfigMap, with a name that the server chooses. Shows after two crashes only.
//!
//! The controller keeps a journal: it marks the Order with an annotation, creates the ConfigMap,
//! notes its name in the status, and takes the mark off. Who finds the mark after a crash looks for
//! what was created, instead of creating it again. That is right after every single crash.
//!
//! The bug is inside the recovery: it takes the mark off *before* it notes the name. A second crash
//! between these two writes leaves a ConfigMap of which neither mark nor status knows.
//!
//! Schedule: crash after the controller's create of the ConfigMap, or after the mark that comes
//! before it; restart; crash after the new incarnation's update of the Order that takes the mark off;
//! restart. Result: two ConfigMaps, one of them leaked.
//!
//! Fixed: the recovery writes in the same order as the normal path, so the mark outlives everything
//! that it stands for.

use std::sync::Arc;

use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{Api, ListParams, PostParams};
use kube::{Client, CustomResource, Resource, ResourceExt, Result};
use serde::{Deserialize, Serialize};

use crate::controller::{child, serve};

const MARK: &str = "planted.trommel.dev/in-progress";

/// What the user orders.
#[derive(CustomResource, Clone, Debug, Serialize, Deserialize)]
#[kube(group = "planted.trommel.dev", version = "v1", kind = "Order", namespaced)]
#[kube(status = "OrderStatus", schema = "disabled")]
pub struct OrderSpec {
    item: String,
}

/// What was made for it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct OrderStatus {
    #[serde(skip_serializing_if = "Option::is_none")]
    product: Option<String>,
}

struct Context {
    client: Client,
    fixed: bool,
}

/// Runs the controller until it is killed.
pub async fn run(client: Client, fixed: bool) {
    let context = Context { client: client.clone(), fixed };
    serve(client, reconcile, context).await;
}

async fn reconcile(order: Arc<Order>, context: Arc<Context>) -> Result<()> {
    let namespace = order.namespace().unwrap_or_default();
    let orders: Api<Order> = Api::namespaced(context.client.clone(), &namespace);
    let products: Api<ConfigMap> = Api::namespaced(context.client.clone(), &namespace);
    let Some(order) = orders.get_opt(&order.name_any()).await? else { return Ok(()) };

    let noted = order.status.as_ref().is_some_and(|status| status.product.is_some());
    let marked = order.annotations().contains_key(MARK);
    match (noted, marked) {
        (true, false) => Ok(()),
        (true, true) => unmark(&orders, order).await.map(drop),
        (false, false) => {
            let order = mark(&orders, order).await?;
            let product = create(&products, &order).await?;
            let order = note(&orders, order, product).await?;
            unmark(&orders, order).await.map(drop)
        }
        (false, true) => {
            eprintln!("order {}: somebody was interrupted here", order.name_any());
            let product = match find(&products, &order).await? {
                Some(product) => product,
                None => create(&products, &order).await?,
            };
            if context.fixed {
                let order = note(&orders, order, product).await?;
                unmark(&orders, order).await.map(drop)
            } else {
                let order = unmark(&orders, order).await?;
                note(&orders, order, product).await.map(drop)
            }
        }
    }
}

async fn mark(orders: &Api<Order>, mut order: Order) -> Result<Order> {
    order.annotations_mut().insert(MARK.into(), "true".into());
    orders.replace(&order.name_any(), &PostParams::default(), &order).await
}

async fn unmark(orders: &Api<Order>, mut order: Order) -> Result<Order> {
    order.annotations_mut().remove(MARK);
    orders.replace(&order.name_any(), &PostParams::default(), &order).await
}

async fn create(products: &Api<ConfigMap>, order: &Order) -> Result<String> {
    let mut product = child(order, "", ("item", &order.spec.item));
    product.metadata.name = None;
    product.metadata.generate_name = Some("product-".into());
    products.create(&PostParams::default(), &product).await.map(|made| made.name_any())
}

/// The ConfigMap that an earlier incarnation made for `order`, asked of the server.
async fn find(products: &Api<ConfigMap>, order: &Order) -> Result<Option<String>> {
    let all = products.list(&ListParams::default()).await?;
    let ours = |product: &&ConfigMap| {
        product.owner_references().iter().any(|owner| Some(&owner.uid) == order.meta().uid.as_ref())
    };
    Ok(all.iter().find(ours).map(|product| product.name_any()))
}

async fn note(orders: &Api<Order>, mut order: Order, product: String) -> Result<Order> {
    order.status = Some(OrderStatus { product: Some(product) });
    orders.replace_status(&order.name_any(), &PostParams::default(), &order).await
}
