//! Requests and responses, between the HTTP server and the engine.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::{FindingTally, GatewayBody, GatewayEndpoint, GuardAction};
use foxwedge_upstream::ClientKey;

/// A client request, authenticated and within the limits.
#[derive(Debug)]
pub struct GatewayRequest {
    /// The endpoint.
    pub endpoint: GatewayEndpoint,
    /// The model, if the path names it.
    pub path_model: Option<Arc<str>>,
    /// The client's headers.
    pub headers: HeaderMap,
    /// The body, decompressed.
    pub body: Bytes,
    /// The caller.
    pub caller: RequestCaller,
    /// The request id, as in logs and `x-request-id`.
    pub id: Arc<str>,
}

/// The caller of a request.
#[derive(Clone, Debug)]
pub struct RequestCaller {
    /// The owner of the sessions and runs: `local`, or a hash of a key. Never the key itself.
    pub owner: Arc<str>,
    /// The client's own key for the provider, if it sent one beside our token. Some upstreams are
    /// called with the client's key.
    pub client_key: Option<ClientKey>,
    /// Whether the caller may use what belongs to other owners.
    pub is_admin: bool,
}

/// The response to a client.
#[derive(Debug)]
pub struct GatewayResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers, including the gateway's own.
    pub headers: HeaderMap,
    /// The body.
    pub body: GatewayBody,
    /// The summary for the log.
    pub summary: RequestSummary,
}

/// What the log contains about a request. No content.
#[derive(Clone, Debug, Default)]
pub struct RequestSummary {
    /// The requested model.
    pub model: Option<Arc<str>>,
    /// The upstream that received the request.
    pub upstream: Option<Arc<str>>,
    /// The session.
    pub session: Option<Arc<str>>,
    /// The run.
    pub run: Option<Arc<str>>,
    /// How the session was found.
    pub match_kind: Option<&'static str>,
    /// What the guard did with the history.
    pub action: Option<GuardAction>,
    /// The findings in the history.
    pub findings: Vec<FindingTally>,
    /// Tool results that were ignored, as in the header: `call_1;reason=late`.
    pub ignored_results: Option<Arc<str>>,
    /// The error code, if the request failed.
    pub error_code: Option<&'static str>,
    /// Why the upstream could not be reached, for the log: an address or a step, never content.
    pub error_cause: Option<Box<str>>,
    /// The error code of a reply that breaks off, set while it is streamed.
    pub(crate) stream_error: Arc<OnceLock<&'static str>>,
    /// The address of the node that has to answer instead. Only between gateways on one store.
    pub forward_to: Option<String>,
}

impl RequestSummary {
    /// Sets the ignored tool results: the reason and the call id of each. Duplicates are left out,
    /// since most clients repeat the results they sent.
    pub(crate) fn set_ignored_results(&mut self, results: &[(&'static str, String)]) {
        const MAX_LISTED: usize = 16;
        const MAX_ID_LENGTH: usize = 64;
        let safe = |c: &char| c.is_ascii_alphanumeric() || "-_.:/|".contains(*c);
        let entry = |(reason, id): &(&'static str, String)| {
            let id: String = id.chars().filter(safe).take(MAX_ID_LENGTH).collect();
            format!("{id};reason={reason}")
        };
        let listed = results.iter().filter(|(reason, _)| *reason != "duplicate");
        let list: Vec<String> = listed.take(MAX_LISTED).map(entry).collect();
        self.ignored_results = (!list.is_empty()).then(|| list.join(", ").into());
    }
}
