//! What comes in and what goes out, between the HTTP server and the engine.

use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderMap, StatusCode};

use crate::{FindingTally, GatewayBody, GatewayEndpoint, GuardAction, SecretText};

/// A request of a client, authenticated and within the limits.
#[derive(Debug)]
pub struct GatewayRequest {
    /// The endpoint.
    pub endpoint: GatewayEndpoint,
    /// The client's headers.
    pub headers: HeaderMap,
    /// The body, unpacked.
    pub body: Bytes,
    /// Who asks.
    pub caller: RequestCaller,
    /// The id of the request, as logs and `x-request-id` say it.
    pub id: Arc<str>,
}

/// Who asks.
#[derive(Clone, Debug)]
pub struct RequestCaller {
    /// Whose sessions and runs these are: `local`, or a hash of a key. Never the key itself.
    pub owner: Arc<str>,
    /// The client's own key for the provider, if it sent one beside our token: some upstreams are
    /// asked in the client's name.
    pub client_key: Option<ClientKey>,
}

/// A client's own key.
#[derive(Clone, Debug)]
pub struct ClientKey {
    /// The key.
    pub secret: SecretText,
    /// How it came. It goes on the same way: subscriptions use another header than keys.
    pub scheme: AuthScheme,
}

/// How a key comes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AuthScheme {
    /// `authorization: Bearer …`.
    Bearer,
    /// In a header for keys.
    Key,
}

/// A reply.
#[derive(Debug)]
pub struct GatewayResponse {
    /// The status.
    pub status: StatusCode,
    /// The headers, ours among them.
    pub headers: HeaderMap,
    /// The body.
    pub body: GatewayBody,
    /// For the log.
    pub summary: RequestSummary,
}

/// What a log says of a request. No content.
#[derive(Clone, Debug, Default)]
pub struct RequestSummary {
    /// The model that was asked for.
    pub model: Option<Arc<str>>,
    /// The upstream that was asked.
    pub upstream: Option<Arc<str>>,
    /// The session.
    pub session: Option<Arc<str>>,
    /// The run.
    pub run: Option<Arc<str>>,
    /// How the session was found.
    pub match_kind: Option<&'static str>,
    /// What was done about the history.
    pub action: Option<GuardAction>,
    /// What was found in it.
    pub findings: Vec<FindingTally>,
    /// Tool results that were of no use, as a header says it: `call_1;reason=late`.
    pub ignored_results: Option<Arc<str>>,
    /// In a word, what went wrong.
    pub error_code: Option<&'static str>,
}

impl RequestSummary {
    /// Tool results of a request were of no use: why, and the ids of their calls. A result that was
    /// there before is not named: most clients repeat what they sent.
    pub(crate) fn set_ignored_results(&mut self, results: &[(&'static str, String)]) {
        const MOST: usize = 16;
        const LONGEST: usize = 64;
        let safe = |c: &char| c.is_ascii_alphanumeric() || "-_.:/|".contains(*c);
        let told = |(why, id): &(&'static str, String)| {
            let id: String = id.chars().filter(safe).take(LONGEST).collect();
            format!("{id};reason={why}")
        };
        let named = results.iter().filter(|(why, _)| *why != "duplicate");
        let list: Vec<String> = named.take(MOST).map(told).collect();
        self.ignored_results = (!list.is_empty()).then(|| list.join(", ").into());
    }
}
