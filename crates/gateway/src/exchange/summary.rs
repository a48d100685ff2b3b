//! Summarizes a history that is too long for its model, where the route is configured for that. The
//! summary is requested from the model itself, in a separate request that is guarded like any
//! other. The same part of a conversation is summarized once.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{
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
};
use foxwedge_upstream::send::{UpstreamRequest, send_once};

/// Maximum size of a reply with a summary.
const MAX_REPLY_BYTES: usize = 4 << 20;
/// How many summaries are cached.
const MAX_SUMMARIES: usize = 1_000;

/// Summaries, by the digest of their prompt.
pub(super) type SummaryCache = HashMap<u128, Arc<str>>;

/// Compacts a request with a summary, if its route is configured for that and the request is too
/// long.
pub(super) async fn fit_with_summary(
    engine: &Arc<EngineShared>,
    request: &GatewayRequest,
    prepared: &mut RoutedRequest,
) {
    let route = prepared.route.clone();
    let (format, model, reply) = (prepared.format, prepared.model.clone(), prepared.max_output);
    let budget = ContextBudget { route: &route, format, model: &model, reply };
    if route.guard.overflow != OverflowPolicy::Summarize
        || !budget.may_overflow(&prepared.guarded.body)
    {
        return;
    }
    let mut summarizer = UpstreamSummarizer {
        engine: engine.clone(),
        endpoint: request.endpoint,
        caller: request.caller.clone(),
        route: route.clone(),
        format,
        model: model.clone(),
        runtime: Handle::current(),
    };
    let mut guarded = prepared.guarded.clone();
    let counters = engine.token_counters.clone();
    let work = move || {
        let budget =
            ContextBudget { route: &summarizer.route.clone(), format, model: &model, reply };
        let stages = [CompactionStage::Elide, CompactionStage::Summarize, CompactionStage::Budget];
        compact_request(&mut guarded, budget, &counters, &stages, &mut summarizer);
        guarded
    };
    // The summarizer blocks on a model call, so it runs on a blocking thread.
    if let Ok(guarded) = tokio::task::spawn_blocking(work).await {
        prepared.guarded = guarded;
    }
}

/// The provider's error for a request that exceeds its window. Sending such a request would be
/// pointless.
pub(super) fn context_overflow_error(
    engine: &EngineShared,
    endpoint: GatewayEndpoint,
    prepared: &RoutedRequest,
) -> Option<ApiError> {
    let RoutedRequest { route, format, model, max_output, .. } = prepared;
    let budget = ContextBudget { route, format: *format, model, reply: *max_output };
    let ContextOverflow { tokens, window } =
        find_overflow(&prepared.guarded.body, budget, &engine.token_counters)?;
    let (location, message) = match endpoint {
        GatewayEndpoint::Chat => (
            "messages",
            format!(
                "This model's maximum context length is {window} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            ),
        ),
        GatewayEndpoint::Responses | GatewayEndpoint::Interactions => (
            "input",
            format!(
                "Your input exceeds the context window of this model: {tokens} tokens > {window}. \
                 Please adjust your input and try again."
            ),
        ),
        GatewayEndpoint::GenerateContent
        | GatewayEndpoint::StreamGenerateContent
        | GatewayEndpoint::GeminiCountTokens => (
            "contents",
            format!(
                "The input token count ({tokens}) exceeds the maximum number of tokens allowed ({window})."
            ),
        ),
        GatewayEndpoint::Messages | GatewayEndpoint::CountTokens => {
            ("messages", format!("prompt is too long: {tokens} tokens > {window} maximum"))
        }
    };
    Some(
        ApiError::new(ApiErrorKind::InvalidRequest, "context_length_exceeded", message)
            .at(location),
    )
}

/// Requests summaries from the model of a route.
struct UpstreamSummarizer {
    engine: Arc<EngineShared>,
    endpoint: GatewayEndpoint,
    caller: RequestCaller,
    route: Arc<ModelRoute>,
    format: Format,
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
            // If the model fails, fall back to a digest.
            None => DigestSummarizer.summarize(request),
        }
    }
}

impl UpstreamSummarizer {
    fn request_summary(&self, prompt: &str, max_tokens: u64) -> Option<String> {
        let body = self.summary_body(prompt, max_tokens)?;
        let headers = HeaderMap::new();
        let request = UpstreamRequest {
            upstream: &self.route.upstream,
            operation: self.endpoint.operation(),
            format: self.format,
            client_format: self.endpoint.format(),
            model: &self.model,
            stream: false,
            headers: &headers,
            client_key: self.caller.client_key.as_ref(),
            trace: None,
        };
        let reply = self.runtime.block_on(async {
            let active = self.engine.config.get();
            let reply = send_once(&active.client, request, body, 1).await.ok()?;
            let is_success = reply.status.is_success();
            reply.body.read_all(MAX_REPLY_BYTES).await.ok().filter(|_| is_success)
        })?;
        let ModelResponse::Reply(reply) =
            decode_reply(text(&reply).ok()?, self.format).ok()?.outcome
        else {
            return None;
        };
        let texts = reply.parts.iter().filter_map(|part| match part.content() {
            ContentPart::Text(text) => Some(text.to_string()),
            _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n")).filter(|summary| !summary.trim().is_empty())
    }

    /// The body of a summary request, guarded like any other.
    fn summary_body(&self, prompt: &str, max_tokens: u64) -> Option<Bytes> {
        let request = json!({
            "model": &*self.model,
            "max_tokens": max_tokens.max(256),
            "messages": [{ "role": "user", "content": prompt }],
        });
        let request = request.to_string();
        let source = match self.format {
            Format::OpenaiChat => request,
            format => {
                let options = convert::ConversionOptions::default();
                convert::request(&request, Format::OpenaiChat, format, &options).ok()?.body
            }
        };
        let body = Bytes::from(source);
        let profile = profile_of(&self.route, &self.model, self.format, self.format);
        let reading = read(text(&body).ok()?, self.format, outline_options(profile)).ok()?;
        let input = GuardInput {
            body: &body,
            reading: &reading,
            from: self.format,
            to: self.format,
            route: &self.route,
            model: &self.model,
        };
        guard_request(input, &self.engine.token_counters).ok().map(|guarded| guarded.body)
    }
}
