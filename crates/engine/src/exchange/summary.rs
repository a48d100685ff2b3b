//! A history that is too long for its model, where the operator wants a summary: the model itself is
//! asked for one, in a request of its own that is guarded like any other. The same stretch of a
//! conversation is summarized once.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_dialect::{
    compact::{CompactionStage, DigestSummarizer, HistorySummarizer, SummaryRequest},
    convert,
    model::{ContentPart, ModelResponse, decode_reply},
    outline_options, read, text,
};
use http::HeaderMap;
use serde_json::json;
use tokio::runtime::Handle;
use xxhash_rust::xxh3::xxh3_128;

use super::{EngineShared, lock, prepare::RoutedRequest};
use crate::{
    ApiError, ApiErrorKind, GatewayEndpoint, GatewayRequest, RequestCaller,
    config::{ModelRoute, OverflowPolicy},
    guard::{
        ContextBudget, ContextOverflow, GuardInput, compact_request, find_overflow, guard_request,
        profile_of,
    },
    upstream::{UpstreamRequest, send_once},
};

/// The longest reply with a summary.
const MAX_REPLY_BYTES: usize = 4 << 20;
/// Summaries that are remembered.
const MAX_SUMMARIES: usize = 1_000;

/// Summaries by what they summarize.
pub(super) type SummaryCache = HashMap<u128, Arc<str>>;

/// Makes a request shorter by a summary, if its route wants that and it has to be.
pub(super) async fn fit_with_summary(
    engine: &Arc<EngineShared>,
    asked: &GatewayRequest,
    prepared: &mut RoutedRequest,
) {
    let route = prepared.route.clone();
    let (wire, model, reply) = (prepared.wire, prepared.model.clone(), prepared.max_output);
    let room = ContextBudget { route: &route, wire, model: &model, reply };
    if route.guard.overflow != OverflowPolicy::Summarize
        || !room.may_overflow(&prepared.guarded.body)
    {
        return;
    }
    let mut writer = UpstreamSummarizer {
        engine: engine.clone(),
        endpoint: asked.endpoint,
        caller: asked.caller.clone(),
        route: route.clone(),
        wire,
        model: model.clone(),
        runtime: Handle::current(),
    };
    let mut guarded = prepared.guarded.clone();
    let scales = engine.token_counters.clone();
    let work = move || {
        let room = ContextBudget { route: &writer.route.clone(), wire, model: &model, reply };
        let stages = [CompactionStage::Elide, CompactionStage::Summarize, CompactionStage::Budget];
        compact_request(&mut guarded, room, &scales, &stages, &mut writer);
        guarded
    };
    // Whoever writes summaries waits for a model: that takes a thread of its own.
    if let Ok(guarded) = tokio::task::spawn_blocking(work).await {
        prepared.guarded = guarded;
    }
}

/// What the provider would say about a request that has no room in its window: there is no use in
/// sending that.
pub(super) fn context_overflow_error(
    engine: &EngineShared,
    face: GatewayEndpoint,
    prepared: &RoutedRequest,
) -> Option<ApiError> {
    let RoutedRequest { route, wire, model, max_output: most, .. } = prepared;
    let room = ContextBudget { route, wire: *wire, model, reply: *most };
    let ContextOverflow { tokens, window } =
        find_overflow(&prepared.guarded.body, room, &engine.token_counters)?;
    let (place, words) = match face {
        GatewayEndpoint::Chat => (
            "messages",
            format!(
                "This model's maximum context length is {window} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            ),
        ),
        GatewayEndpoint::Responses => (
            "input",
            format!(
                "Your input exceeds the context window of this model: {tokens} tokens > {window}. \
                 Please adjust your input and try again."
            ),
        ),
        GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => {
            ("messages", format!("prompt is too long: {tokens} tokens > {window} maximum"))
        }
    };
    Some(ApiError::new(ApiErrorKind::InvalidRequest, "context_length_exceeded", words).at(place))
}

/// Asks the model of a route for summaries.
struct UpstreamSummarizer {
    engine: Arc<EngineShared>,
    endpoint: GatewayEndpoint,
    caller: RequestCaller,
    route: Arc<ModelRoute>,
    wire: Format,
    model: Arc<str>,
    runtime: Handle,
}

impl HistorySummarizer for UpstreamSummarizer {
    fn name(&self) -> &str {
        &self.model
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let prompt = request.prompt();
        let key = xxh3_128(prompt.as_bytes());
        if let Some(summary) = lock(&self.engine.summaries).get(&key) {
            return Ok(summary.to_string());
        }
        match self.request_summary(&prompt, request.max_tokens) {
            Some(summary) => {
                let mut summaries = lock(&self.engine.summaries);
                if summaries.len() >= MAX_SUMMARIES {
                    summaries.clear();
                }
                summaries.insert(key, summary.as_str().into());
                Ok(summary)
            }
            // A model that is in trouble does not keep anybody from working.
            None => DigestSummarizer.summarize(request),
        }
    }
}

impl UpstreamSummarizer {
    fn request_summary(&self, prompt: &str, most: u64) -> Option<String> {
        let body = self.summary_body(prompt, most)?;
        let headers = HeaderMap::new();
        let sending = UpstreamRequest {
            upstream: &self.route.upstream,
            face: self.endpoint,
            wire: self.wire,
            model: &self.model,
            stream: false,
            headers: &headers,
            caller: &self.caller,
            trace: None,
        };
        let reply = self.runtime.block_on(async {
            let reply = send_once(&self.engine.client, sending, body, 1).await.ok()?;
            let well = reply.status.is_success();
            reply.body.read_all(MAX_REPLY_BYTES).await.ok().filter(|_| well)
        })?;
        let ModelResponse::Reply(said) = decode_reply(text(&reply).ok()?, self.wire).ok()?.outcome
        else {
            return None;
        };
        let texts = said.parts.iter().filter_map(|part| match part.content() {
            ContentPart::Text(text) => Some(text.to_string()),
            _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n")).filter(|summary| !summary.trim().is_empty())
    }

    /// The request for a summary, guarded like any other.
    fn summary_body(&self, prompt: &str, most: u64) -> Option<Bytes> {
        let asked = json!({
            "model": &*self.model,
            "max_tokens": most.max(256),
            "messages": [{ "role": "user", "content": prompt }],
        });
        let asked = asked.to_string();
        let source = match self.wire {
            Format::OpenaiChat => asked,
            wire => {
                let options = convert::ConversionOptions::default();
                convert::request(&asked, Format::OpenaiChat, wire, &options).ok()?.body
            }
        };
        let body = Bytes::from(source);
        let profile = profile_of(&self.route, self.wire, self.wire);
        let reading = read(text(&body).ok()?, self.wire, outline_options(profile)).ok()?;
        let judging = GuardInput {
            body: &body,
            reading: &reading,
            from: self.wire,
            to: self.wire,
            route: &self.route,
            model: &self.model,
        };
        guard_request(judging, &self.engine.token_counters).ok().map(|guarded| guarded.body)
    }
}
