//! Requests about a run that another node works on.

use foxwedge_store::{RunRow, RunState};

use crate::{
    HttpReply,
    api_request::ApiRequest,
    gateway_state::GatewayState,
    node_forward::{ForwardedCall, NODE_HEADER, forward_to_node},
};

/// Lets the node that works on a run answer, if that is another one and it is alive.
pub(super) async fn forward_to_owner(
    app: &GatewayState,
    request: &ApiRequest<'_>,
    row: &RunRow,
) -> Option<HttpReply> {
    let cluster = app.engine.cluster()?;
    let headers = request.client_headers.filter(|headers| !headers.contains_key(NODE_HEADER))?;
    let owner = row.lease.as_ref().filter(|_| row.state == RunState::Open)?;
    let address = cluster.address_of(&owner.owner).await?;
    let path = match request.query {
        Some(query) => format!("{}?{query}", request.path),
        None => request.path.to_owned(),
    };
    let call = ForwardedCall {
        method: request.method.clone(),
        path: &path,
        headers,
        body: request.body.clone(),
        id: request.id,
    };
    forward_to_node(cluster.client(), &address, call).await
}
