//! A history that is too long for its model, where the operator wants a summary: the model itself is
//! asked for one, in a request of its own that is guarded like any other. The same stretch of a
//! conversation is summarized once.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use foxwedge_core::Wire;
use foxwedge_dialect::{
    canon::{Bit, Outcome, decode_reply},
    compact::{Digest, Stage, Summarizer, SummaryRequest},
    convert, read, text, want,
};
use http::HeaderMap;
use serde_json::json;
use tokio::runtime::Handle;
use xxhash_rust::xxh3::xxh3_128;

use super::{Inner, lock, prepare::Prepared};
use crate::{
    Asked, Caller, Face, Fault, Kind,
    config::{Overflow, Route},
    guard::{ContextOverflow, Judging, Room, guard, overflow, profile_of, shorten},
    upstream::{Sending, send},
};

/// The longest reply with a summary.
const REPLY: usize = 4 << 20;
/// Summaries that are remembered.
const KEPT: usize = 1_000;

/// Summaries by what they summarize.
pub(super) type Summaries = HashMap<u128, Arc<str>>;

/// Makes a request shorter by a summary, if its route wants that and it has to be.
pub(super) async fn fit(engine: &Arc<Inner>, asked: &Asked, prepared: &mut Prepared) {
    let route = prepared.route.clone();
    let (wire, model, reply) = (prepared.wire, prepared.model.clone(), prepared.most);
    let room = Room { route: &route, wire, model: &model, reply };
    if route.guard.overflow != Overflow::Summarize || !room.is_doubtful(&prepared.guarded.body) {
        return;
    }
    let mut writer = Writer {
        engine: engine.clone(),
        asked_face: asked.face,
        caller: asked.caller.clone(),
        route: route.clone(),
        wire,
        model: model.clone(),
        runtime: Handle::current(),
    };
    let mut guarded = prepared.guarded.clone();
    let scales = engine.scales.clone();
    let work = move || {
        let room = Room { route: &writer.route.clone(), wire, model: &model, reply };
        let stages = [Stage::Elide, Stage::Summarize, Stage::Budget];
        shorten(&mut guarded, room, &scales, &stages, &mut writer);
        guarded
    };
    // Whoever writes summaries waits for a model: that takes a thread of its own.
    if let Ok(guarded) = tokio::task::spawn_blocking(work).await {
        prepared.guarded = guarded;
    }
}

/// What the provider would say about a request that has no room in its window: there is no use in
/// sending that.
pub(super) fn too_long(engine: &Inner, face: Face, prepared: &Prepared) -> Option<Fault> {
    let Prepared { route, wire, model, most, .. } = prepared;
    let room = Room { route, wire: *wire, model, reply: *most };
    let ContextOverflow { tokens, window } =
        overflow(&prepared.guarded.body, room, &engine.scales)?;
    let (place, words) = match face {
        Face::Chat => (
            "messages",
            format!(
                "This model's maximum context length is {window} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            ),
        ),
        Face::Responses => (
            "input",
            format!(
                "Your input exceeds the context window of this model: {tokens} tokens > {window}. \
                 Please adjust your input and try again."
            ),
        ),
        Face::Messages | Face::CountTokens => {
            ("messages", format!("prompt is too long: {tokens} tokens > {window} maximum"))
        }
    };
    Some(Fault::new(Kind::Request, "context_length_exceeded", words).at(place))
}

/// Asks the model of a route for summaries.
struct Writer {
    engine: Arc<Inner>,
    asked_face: Face,
    caller: Caller,
    route: Arc<Route>,
    wire: Wire,
    model: Arc<str>,
    runtime: Handle,
}

impl Summarizer for Writer {
    fn name(&self) -> &str {
        &self.model
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        let prompt = request.prompt();
        let key = xxh3_128(prompt.as_bytes());
        if let Some(summary) = lock(&self.engine.summaries).get(&key) {
            return Ok(summary.to_string());
        }
        match self.ask(&prompt, request.most) {
            Some(summary) => {
                let mut summaries = lock(&self.engine.summaries);
                if summaries.len() >= KEPT {
                    summaries.clear();
                }
                summaries.insert(key, summary.as_str().into());
                Ok(summary)
            }
            // A model that is in trouble does not keep anybody from working.
            None => Digest.summarize(request),
        }
    }
}

impl Writer {
    fn ask(&self, prompt: &str, most: u64) -> Option<String> {
        let body = self.request(prompt, most)?;
        let headers = HeaderMap::new();
        let sending = Sending {
            upstream: &self.route.upstream,
            face: self.asked_face,
            wire: self.wire,
            model: &self.model,
            stream: false,
            headers: &headers,
            caller: &self.caller,
            trace: None,
        };
        let reply = self.runtime.block_on(async {
            let reply = send(&self.engine.client, sending, body, 1).await.ok()?;
            let well = reply.status.is_success();
            reply.body.whole(REPLY).await.ok().filter(|_| well)
        })?;
        let Outcome::Reply(said) = decode_reply(text(&reply).ok()?, self.wire).ok()?.outcome else {
            return None;
        };
        let texts = said.parts.iter().filter_map(|part| match part.bit() {
            Bit::Text(text) => Some(text.to_string()),
            _ => None,
        });
        Some(texts.collect::<Vec<_>>().join("\n")).filter(|summary| !summary.trim().is_empty())
    }

    /// The request for a summary, guarded like any other.
    fn request(&self, prompt: &str, most: u64) -> Option<Bytes> {
        let asked = json!({
            "model": &*self.model,
            "max_tokens": most.max(256),
            "messages": [{ "role": "user", "content": prompt }],
        });
        let asked = asked.to_string();
        let source = match self.wire {
            Wire::OpenaiChat => asked,
            wire => {
                let options = convert::Options::default();
                convert::request(&asked, Wire::OpenaiChat, wire, &options).ok()?.body
            }
        };
        let body = Bytes::from(source);
        let profile = profile_of(&self.route, self.wire, self.wire);
        let reading = read(text(&body).ok()?, self.wire, want(profile)).ok()?;
        let judging = Judging {
            body: &body,
            reading: &reading,
            from: self.wire,
            to: self.wire,
            route: &self.route,
            model: &self.model,
        };
        guard(judging, &self.engine.scales).ok().map(|guarded| guarded.body)
    }
}
