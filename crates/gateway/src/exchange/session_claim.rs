//! Finds the session of a request, on this node or among others.

use foxwedge_core::{Format, Profile};
use foxwedge_formats::{outline_options, read, text};
use foxwedge_upstream::UpstreamTransport;

use super::{
    EngineShared, agent, identity::RequestIdentity, prepare::RoutedRequest,
    references::reference_ids,
};
use crate::{
    ApiError, ApiErrorKind, GatewayRequest, RequestSummary,
    active_config::ResponseStorage,
    node_forward::NODE_HEADER,
    session::{SessionMatch, SessionQuery, SessionSelector, content_key},
};

/// How many unknown responses and items of a request are looked up among the other nodes.
const MAX_LOOKED_UP: usize = 100;

/// The entries in which other nodes say that they have the responses and items that a request refers
/// to. Without those that are known here, and empty if the upstream has them.
pub(super) fn unknown_references(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &Result<RoutedRequest, ApiError>,
) -> Vec<String> {
    if request.endpoint.format() != Format::OpenaiResponses {
        return Vec::new();
    }
    let ids = match prepared {
        Ok(prepared) => match engine.config.get().response_storage(&prepared.route.upstream.name) {
            ResponseStorage::Stored => return Vec::new(),
            ResponseStorage::Unknown | ResponseStorage::NotStored => prepared.references.clone(),
        },
        Err(error) if matches!(error.code, "previous_response_not_found" | "item_not_found") => {
            let options = outline_options(Profile::for_format(Format::OpenaiResponses));
            let source = text(&request.body).ok();
            let reading = source.and_then(|it| read(it, Format::OpenaiResponses, options).ok());
            reading.map(|reading| reference_ids(&reading)).unwrap_or_default()
        }
        Err(_) => Vec::new(),
    };
    let owner = &request.caller.owner;
    let unknown = ids.iter().filter(|id| !engine.response_items.has(owner, id));
    unknown.take(MAX_LOOKED_UP).map(|id| content_key(owner, id)).collect()
}

/// The address of the node that has what a request refers to, if the request may be forwarded.
pub(super) async fn content_node(
    engine: &EngineShared,
    request: &GatewayRequest,
    references: &[String],
) -> Option<String> {
    let cluster = engine.cluster.as_ref()?;
    if references.is_empty() || request.headers.contains_key(NODE_HEADER) {
        return None;
    }
    cluster.content_node(references).await
}

/// Lets the node at an address answer.
pub(super) fn other_node_error(address: String, summary: &mut RequestSummary) -> ApiError {
    summary.forward_to = Some(address);
    let message = "another node has the reply, the agent or the earlier response of this request";
    ApiError::new(ApiErrorKind::Unavailable, "other_node", message)
}

/// Takes the session of a request. `references`: the entries of what the request refers to and this
/// node does not have.
pub(super) async fn claim_session(
    engine: &EngineShared,
    request: &GatewayRequest,
    prepared: &RoutedRequest,
    references: &[String],
) -> SessionMatch {
    loop {
        let waiting_agent = match &prepared.route.upstream.transport {
            UpstreamTransport::Agent => agent::find_waiting_agent(engine, request, prepared),
            UpstreamTransport::Network(_) | UpstreamTransport::Scripted => None,
        };
        let RequestIdentity { selector, scope, fingerprint, retry_mark, origin } =
            &prepared.identity;
        let selector = match &waiting_agent {
            Some(agent) => SessionSelector::SessionId(&agent.session),
            None => selector.borrowed(),
        };
        let query = SessionQuery {
            owner: &request.caller.owner,
            selector,
            chain: &prepared.chain,
            traits: prepared.traits,
            scope: *scope,
            fingerprint: *fingerprint,
            retry_mark: *retry_mark,
            origin: *origin,
        };
        let claimed = match &engine.cluster {
            None => engine.sessions.claim(query).await,
            Some(cluster) => {
                let may_forward = !request.headers.contains_key(NODE_HEADER);
                match cluster.claim(query, may_forward, references).await {
                    Ok(claimed) => claimed,
                    // Without the store, a node knows only its own conversations. What becomes of them
                    // is published once it answers again.
                    Err(_) => engine.sessions.claim(query).await,
                }
            }
        };
        // The request that had the session before may have sent other results. Then the agent
        // belongs to another conversation, and is not found a second time.
        if let (Some(agent), SessionMatch::Acquired(_)) = (&waiting_agent, &claimed)
            && !agent::is_agent_of(agent, request, prepared)
        {
            continue;
        }
        return claimed;
    }
}
