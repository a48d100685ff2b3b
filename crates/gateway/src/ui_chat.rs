//! Endpoints that chat components of user interfaces call directly: AG-UI's `HttpAgent` posts a
//! `RunAgentInput` to `/v1/ui/agui`, the AI SDK's `useChat` posts its messages to `/v1/ui/ai-sdk`.
//!
//! Each request becomes a chat completion of the gateway, with everything that such a request
//! passes, and the streamed reply becomes a stream in the format of the client. The tools belong to
//! the client: a reply with calls ends the stream, and the client sends their results.

mod agui_input;
mod ai_sdk_input;
mod chat_body;
mod reply_stream;

use bytes::Bytes;
use foxwedge_run::{
    SharedId,
    encode::{AgUiRevision, EncoderOptions, HandedOverCalls, UiFormat, headers},
};
use http::{HeaderName, HeaderValue, header, request::Parts};

use crate::{
    ApiError, HttpReply,
    api_request::{decode_path_segment, query_parameter},
    error,
    response_body::ResponseBody,
    session::conversation_name,
};
use chat_body::ChatBody;
use reply_stream::UiReplyBody;

/// The prefix of the paths.
const PATH_PREFIX: &str = "/v1/ui/";

/// The header that names the session of a request.
const SESSION_HEADER: HeaderName = HeaderName::from_static("x-session-id");

/// The format of a path.
pub(crate) fn format_of(path: &str) -> Option<UiFormat> {
    match path.strip_prefix(PATH_PREFIX)? {
        "agui" => Some(UiFormat::AgUi),
        "ai-sdk" => Some(UiFormat::AiSdk),
        _ => None,
    }
}

/// A request of a user interface, as a chat completion.
pub(crate) struct UiChatRequest {
    /// The body of the chat completion.
    pub(crate) body: Bytes,
    /// What a chat completion cannot express of the input.
    pub(crate) losses: Vec<String>,
    format: UiFormat,
    /// The client's names, or the id of the request. The gateway has its own for the reply.
    conversation: SharedId,
    run: SharedId,
    message: Option<SharedId>,
    /// The id of the request.
    request: SharedId,
    agui: AgUiRevision,
}

/// What the input of a client consists of.
struct UiChatInput {
    /// The conversation, by the client's name.
    conversation: Option<String>,
    /// The id of the run.
    run: Option<String>,
    /// The id of the message that the reply continues.
    message: Option<String>,
    body: ChatBody,
    /// What a chat completion cannot express.
    losses: Vec<String>,
}

impl UiChatRequest {
    /// Parses a body. The conversation of the client becomes the session of the request.
    ///
    /// # Errors
    /// If the body is not what the client of the format sends, or names no model.
    pub(crate) fn parse(
        format: UiFormat,
        parts: &mut Parts,
        body: &[u8],
        request_id: &str,
    ) -> Result<UiChatRequest, ApiError> {
        let query = parts.uri.query();
        let agui = match query_parameter(query, "agui_version")?.as_deref() {
            None | Some("1") => AgUiRevision::V1,
            Some("0") => AgUiRevision::V0,
            Some(_) => return Err(error::bad_parameter("agui_version", "must be 0 or 1")),
        };
        let mut input = match format {
            UiFormat::AgUi => agui_input::parse(body)?,
            UiFormat::AiSdk | UiFormat::Acp | UiFormat::Jsonl => ai_sdk_input::parse(body)?,
        };
        if let Some(model) = query_parameter(query, "model")? {
            input.body.set_model(&model);
        }
        let run: SharedId = input.run.as_deref().unwrap_or(request_id).into();
        let conversation: SharedId = input.conversation.as_deref().unwrap_or(&run).into();
        let message = input.message.as_deref().map(SharedId::from);
        if let Some(id) = input.conversation.filter(|id| !id.is_empty())
            && let Ok(value) = HeaderValue::from_str(&conversation_name(&id))
        {
            parts.headers.entry(SESSION_HEADER).or_insert(value);
        }
        parts.headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let (body, losses) = (input.body.finish()?, input.losses);
        let request = request_id.into();
        Ok(UiChatRequest { body, losses, format, conversation, run, message, request, agui })
    }

    /// Encodes a reply for the client. Errors stay as they are: clients read their status and text.
    pub(crate) fn encode(self, reply: HttpReply) -> HttpReply {
        let (mut parts, body) = reply.into_parts();
        let content_type = parts.headers.get(header::CONTENT_TYPE);
        let is_stream =
            content_type.is_some_and(|it| it.as_bytes().starts_with(b"text/event-stream"));
        if !is_stream || !parts.status.is_success() {
            return HttpReply::from_parts(parts, body);
        }
        for (name, value) in headers(self.format) {
            if *name != "connection" {
                let name = HeaderName::from_static(name);
                parts.headers.insert(name, HeaderValue::from_static(value));
            }
        }
        parts.headers.remove(header::CONTENT_LENGTH);
        let own = |name: &str| {
            let value = parts.headers.get(name).and_then(|value| value.to_str().ok());
            value.map(SharedId::from)
        };
        // A client of AG-UI expects its own ids. One of the AI SDK resumes the run later, and gets
        // the ids of the gateway then.
        let (session, run) = match self.format {
            UiFormat::AgUi => (None, None),
            UiFormat::AiSdk | UiFormat::Acp | UiFormat::Jsonl => {
                (own("x-foxwedge-session"), own("x-foxwedge-run"))
            }
        };
        let run = run.unwrap_or(self.run);
        let options = EncoderOptions {
            session: session.unwrap_or(self.conversation),
            run: Some(run.clone()),
            message: self.message,
            agui: self.agui,
            handed_over: HandedOverCalls::StayOpen,
            ..EncoderOptions::default()
        };
        let body = UiReplyBody::new(body, self.format, run, self.request, options);
        HttpReply::from_parts(parts, ResponseBody::stream(body))
    }
}

/// The id of the chat whose stream a client of the AI SDK wants to resume, as its path has it:
/// `/v1/ui/ai-sdk/{id}/stream`.
pub(crate) fn resumed_chat(path: &str) -> Option<&str> {
    let id = path.strip_prefix(PATH_PREFIX)?.strip_prefix("ai-sdk/")?.strip_suffix("/stream")?;
    (!id.is_empty()).then_some(id)
}

/// The session name of that chat. A path may have its id with percent escapes.
pub(crate) fn resumed_session_name(id: &str) -> String {
    conversation_name(&decode_path_segment(id)).into_owned()
}
