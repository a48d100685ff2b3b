//! The fields of a request beside its messages, as far as a proxy needs them.

use std::borrow::Cow;

use foxwedge_core::{Format, Span};

use crate::outline::{UniqueFields, read_non_empty};
use foxwedge_json::{
    FieldChange, JsonScanner, JsonShape, ScanResult, field_text, field_value, patched_text,
};

/// The request fields around the message list. Borrows from the document; copies only strings with
/// escapes.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct RequestEnvelope<'a> {
    /// Span of the model's name: the JSON string with its quotes, so that it can be replaced.
    /// `None` if it is missing or not a string.
    pub model: Option<Span>,
    /// Whether the response is streamed.
    pub stream: Option<bool>,
    /// Chat: whether a stream ends with its token usage.
    pub include_usage: Option<bool>,
    /// Responses and Interactions: the stored response that this request continues.
    pub previous_response: Option<Cow<'a, str>>,
    /// Responses: the stored conversation that this request belongs to. Empty if the field has an
    /// unknown shape.
    pub conversation: Option<Cow<'a, str>>,
    /// Responses: the request names a stored prompt.
    pub prompt: bool,
    /// Anthropic: the request continues a thread of messages stored on the server.
    pub thread: bool,
    /// Gemini: the beginning of the conversation is cached on the server.
    pub cached_content: bool,
    /// Whether the provider stores the response.
    pub store: Option<bool>,
    /// Responses: whether the response is generated in the background.
    pub background: Option<bool>,
    /// The client's key for the prompt cache.
    pub cache_key: Option<Cow<'a, str>>,
    /// The end user, as the client identifies it.
    pub user: Option<Cow<'a, str>>,
    /// Maximum number of output tokens.
    pub max_output: Option<u64>,
    /// Whether the model may make parallel tool calls.
    pub parallel: Option<bool>,
    /// Chat: number of requested choices.
    pub choices: Option<u64>,
    /// A field that would choose the server or its credentials. Clients must not set one.
    pub routing_field: Option<&'static str>,
    /// Whether the request declares tools.
    pub tools: bool,
    /// Span of the instructions that stand beside the messages.
    pub instructions: Option<Span>,
    /// Responses, Gemini and Interactions: span of the input that replaces the message list: a string
    /// with its quotes, or one piece of content.
    pub input: Option<Span>,
}

impl<'a> RequestEnvelope<'a> {
    /// The name of the model. `source` is the document that this envelope was read from.
    pub fn model_name(&self, source: &'a str) -> Option<Cow<'a, str>> {
        let mut scan = JsonScanner::within(source, self.model?);
        scan.string().ok()?.non_empty_text(source)
    }

    /// Responses: whether the conversation, or its beginning, is stored on the server. Such a request
    /// needs no input.
    pub(crate) fn has_stored_input(&self) -> bool {
        self.prompt || self.conversation.is_some() || self.previous_response.is_some()
    }

    /// Whether earlier messages are stored on the server and not in the request.
    pub fn is_stateful(&self) -> bool {
        self.previous_response.is_some() || self.conversation.is_some() || self.thread
    }

    /// Reads one field of a request other than its message list. Values of a wrong type are
    /// ignored; the provider will reject them.
    pub(crate) fn read_field(
        &mut self,
        scan: &mut JsonScanner<'a>,
        format: Format,
        unique: &mut UniqueFields,
        key: &[u8],
    ) -> ScanResult<()> {
        let source = scan.source();
        unique.check_known(scan, &UNIQUE_KEYS, key)?;
        match key {
            b"model" | b"modelId" => {
                let shape = scan.shape()?;
                let value = scan.skip()?;
                self.model = (shape == JsonShape::String && value.len() > 2).then_some(value);
            }
            b"stream" => self.stream = read_flag(scan)?,
            b"stream_options" => {
                let value = scan.skip()?;
                self.include_usage =
                    field_source(source, value, "include_usage").and_then(parse_bool);
            }
            b"previous_response_id" | b"previous_interaction_id" => {
                self.previous_response = read_non_empty(scan, source)?;
            }
            b"conversation" => self.conversation = read_conversation(scan)?,
            b"prompt" if format == Format::OpenaiResponses => {
                self.prompt = scan.shape()? != JsonShape::Null;
                scan.skip()?;
            }
            b"thread" => {
                let value = scan.skip()?;
                self.thread = field_text(source, value, "type").as_deref() == Some("continue");
            }
            b"cachedContent" | b"cached_content" if format == Format::Gemini => {
                self.cached_content = read_non_empty(scan, source)?.is_some();
            }
            b"store" => self.store = read_flag(scan)?,
            b"background" => self.background = read_flag(scan)?,
            b"prompt_cache_key" => self.cache_key = read_non_empty(scan, source)?,
            b"user" => {
                let user = read_non_empty(scan, source)?;
                self.user = user.or(self.user.take());
            }
            b"safety_identifier" => {
                let user = read_non_empty(scan, source)?;
                self.user = self.user.take().or(user);
            }
            b"metadata" => {
                let value = scan.skip()?;
                if format == Format::Anthropic {
                    self.user =
                        field_text(source, value, "user_id").filter(|user| !user.is_empty());
                }
            }
            b"max_tokens" | b"max_completion_tokens" | b"max_output_tokens" => {
                let limit = scan.skip()?.of(source).parse().ok();
                // If both names are set, the newer one counts.
                self.max_output = match key {
                    b"max_tokens" => self.max_output.or(limit),
                    _ => limit.or(self.max_output),
                };
            }
            b"generationConfig" | b"generation_config" | b"inferenceConfig" => {
                let value = scan.skip()?;
                let names = ["maxOutputTokens", "max_output_tokens", "maxTokens"];
                let limit = names.iter().find_map(|name| field_source(source, value, name));
                self.max_output = limit.and_then(|limit| limit.parse().ok());
            }
            b"parallel_tool_calls" => self.parallel = read_flag(scan)?,
            b"tool_choice" => {
                let value = scan.skip()?;
                if format == Format::Anthropic {
                    let disabled = field_source(source, value, "disable_parallel_tool_use")
                        .and_then(parse_bool);
                    self.parallel = disabled.map(|disabled| !disabled);
                }
            }
            b"tools" | b"toolConfig" => {
                let value = scan.skip()?;
                self.tools = !matches!(value.of(source), "null" | "[]" | "{}");
            }
            b"system" | b"instructions" | b"system_instruction" | b"systemInstruction" => {
                self.instructions = Some(scan.skip()?);
            }
            b"n" => self.choices = scan.skip()?.of(source).parse().ok(),
            _ => {
                scan.skip()?;
                self.routing_field = self.routing_field.or_else(|| foreign_key(key));
            }
        }
        Ok(())
    }
}

/// The key of the message list in a request.
pub(crate) fn list_key(format: Format) -> &'static str {
    match format {
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => "messages",
        Format::OpenaiResponses | Format::GeminiInteractions => "input",
        Format::Gemini => "contents",
    }
}

/// Whether a value of this shape may replace the message list.
pub(crate) fn is_single_input(format: Format, shape: JsonShape) -> bool {
    match format {
        Format::OpenaiResponses | Format::Gemini => shape == JsonShape::String,
        Format::GeminiInteractions => matches!(shape, JsonShape::String | JsonShape::Object),
        Format::OpenaiChat | Format::Anthropic | Format::Bedrock => false,
    }
}

/// Reads the fields around a message list, with or without a list.
pub(crate) fn scan_envelope<'a>(
    scan: &mut JsonScanner<'a>,
    format: Format,
) -> ScanResult<RequestEnvelope<'a>> {
    let mut envelope = RequestEnvelope::default();
    let mut unique = UniqueFields::default();
    if scan.shape()? != JsonShape::Object {
        return scan.fail("a request is not an object");
    }
    scan.object(|scan, key, _| {
        if key == list_key(format).as_bytes() {
            unique.check(scan, LIST_BIT, key)?;
            let shape = scan.shape()?;
            let value = scan.skip()?;
            envelope.input = is_single_input(format, shape).then_some(value);
            return Ok(());
        }
        envelope.read_field(scan, format, &mut unique, key)
    })?;
    scan.end()?;
    Ok(envelope)
}

/// The request with some of its fields removed and others set to JSON values. Everything else keeps
/// its bytes.
pub fn change_fields(source: &str, removed: &[&str], set: &[(&str, &str)]) -> String {
    let start = source.len() - source.trim_ascii_start().len();
    let object = Span { start: start as u32, end: source.trim_ascii_end().len() as u32 };
    let removed = removed.iter().map(|key| (*key, FieldChange::Remove));
    let set = set.iter().map(|(key, value)| (*key, FieldChange::Text((*value).to_owned())));
    patched_text(source, object, removed.chain(set).collect())
}

/// The bit of the message list in [`UniqueFields`], beside the bits of [`UNIQUE_KEYS`].
pub(crate) const LIST_BIT: u32 = 31;

/// Fields that a request may have only once: readers disagree on which duplicate counts.
const UNIQUE_KEYS: [&[u8]; 23] = [
    b"model",
    b"modelId",
    b"previous_response_id",
    b"previous_interaction_id",
    b"conversation",
    b"thread",
    b"thinking",
    b"store",
    b"toolConfig",
    b"stream",
    b"stream_options",
    b"background",
    b"prompt_cache_key",
    b"user",
    b"safety_identifier",
    b"metadata",
    b"max_tokens",
    b"max_completion_tokens",
    b"max_output_tokens",
    b"generationConfig",
    b"parallel_tool_calls",
    b"tool_choice",
    b"n",
];

/// Fields with which some proxies let a client choose the server or the credentials.
const FOREIGN_KEYS: [&str; 20] = [
    "api_base",
    "base_url",
    "api_key",
    "custom_llm_provider",
    "litellm_params",
    "litellm_credential_name",
    "user_config",
    "model_list",
    "custom_host",
    "azure_endpoint",
    "azure_ad_token",
    "aws_access_key_id",
    "aws_secret_access_key",
    "aws_session_token",
    "aws_profile_name",
    "aws_role_name",
    "aws_bedrock_runtime_endpoint",
    "aws_sts_endpoint",
    "aws_web_identity_token",
    "vertex_credentials",
];

fn foreign_key(key: &[u8]) -> Option<&'static str> {
    FOREIGN_KEYS.into_iter().find(|foreign| foreign.as_bytes() == key)
}

/// Reads the stored conversation: its id, or an object with the id.
fn read_conversation<'a>(scan: &mut JsonScanner<'a>) -> ScanResult<Option<Cow<'a, str>>> {
    let source = scan.source();
    Ok(match scan.shape()? {
        JsonShape::Null => scan.skip().map(|_| None)?,
        JsonShape::String => Some(scan.string()?.text(source)),
        JsonShape::Object => {
            let value = scan.skip()?;
            Some(field_text(source, value, "id").unwrap_or_default())
        }
        JsonShape::Array | JsonShape::Number | JsonShape::Bool => {
            scan.skip().map(|_| Some("".into()))?
        }
    })
}

fn read_flag(scan: &mut JsonScanner<'_>) -> ScanResult<Option<bool>> {
    let source = scan.source();
    Ok(parse_bool(scan.skip()?.of(source)))
}

fn parse_bool(raw: &str) -> Option<bool> {
    match raw {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}

/// The raw JSON of a field. The object must have been scanned before.
fn field_source<'a>(source: &'a str, object: Span, key: &str) -> Option<&'a str> {
    field_value(source, object, key).map(|value| value.of(source))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{OutlineOptions, read, read_envelope};

    fn read_both_ways(source: &str, format: Format) -> RequestEnvelope<'_> {
        let bare = read_envelope(source, format).expect("a request");
        let reading = read(source, format, OutlineOptions::default()).expect("a request");
        assert_eq!(reading.envelope, bare, "{source}");
        assert_eq!(reading.draft.body.model, bare.model_name(source), "{source}");
        bare
    }

    #[test]
    fn reads_a_chat_envelope() {
        let source = r#"{"model": "gpt\u002d5", "stream":true,"stream_options":{"include_usage":true},
            "messages":[],"store":false,"prompt_cache_key":"k","user":"u","max_tokens":5,
            "max_completion_tokens":7,"parallel_tool_calls":false,"n":2}"#;
        let found = read_both_ways(source, Format::OpenaiChat);
        let expected = RequestEnvelope {
            model: found.model,
            stream: Some(true),
            include_usage: Some(true),
            store: Some(false),
            cache_key: Some("k".into()),
            user: Some("u".into()),
            max_output: Some(7),
            parallel: Some(false),
            choices: Some(2),
            ..RequestEnvelope::default()
        };
        assert_eq!(found, expected);
        assert_eq!(found.model.map(|span| span.of(source)), Some(r#""gpt\u002d5""#));
        assert_eq!(found.model_name(source).as_deref(), Some("gpt-5"));
        assert!(!found.is_stateful());
    }

    #[test]
    fn reads_a_responses_envelope() {
        let source = r#"{"input":"say \"hi\"","previous_response_id":"resp_1","background":true,
            "conversation":{"id":"conv_1"},"max_output_tokens":9,"safety_identifier":"s"}"#;
        let found = read_both_ways(source, Format::OpenaiResponses);
        let expected = RequestEnvelope {
            previous_response: Some("resp_1".into()),
            conversation: Some("conv_1".into()),
            background: Some(true),
            user: Some("s".into()),
            max_output: Some(9),
            input: found.input,
            ..RequestEnvelope::default()
        };
        assert_eq!(found, expected);
        assert_eq!(found.input.map(|span| span.of(source)), Some(r#""say \"hi\"""#));
        assert!(found.is_stateful());
    }

    #[test]
    fn reads_an_anthropic_envelope() {
        let source = r#"{"messages":[],"model":"claude","max_tokens":64,"stream":false,
            "metadata":{"user_id":"u"},"thread":{"type":"continue"},"system":"be brief",
            "tools":[{"name":"f"}],
            "tool_choice":{"type":"auto","disable_parallel_tool_use":true}}"#;
        let found = read_both_ways(source, Format::Anthropic);
        let expected = RequestEnvelope {
            model: found.model,
            stream: Some(false),
            thread: true,
            user: Some("u".into()),
            max_output: Some(64),
            parallel: Some(false),
            tools: true,
            instructions: found.instructions,
            ..RequestEnvelope::default()
        };
        assert_eq!(found, expected);
        let instructions = found.instructions.map(|span| span.of(source));
        assert_eq!(instructions, Some(r#""be brief""#));
    }

    #[test]
    fn reads_a_gemini_envelope() {
        let source = r#"{"contents":[],"cachedContent":"cachedContents/1",
            "generationConfig":{"maxOutputTokens":5}}"#;
        let found = read_both_ways(source, Format::Gemini);
        let expected = RequestEnvelope {
            cached_content: true,
            max_output: Some(5),
            ..RequestEnvelope::default()
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn values_of_a_wrong_type_are_ignored() {
        let table = [
            r#"{"model":null,"messages":[]}"#,
            r#"{"model":"","messages":[]}"#,
            r#"{"model":["x"],"messages":[]}"#,
            r#"{"stream":"true","stream_options":[true],"messages":[]}"#,
            r#"{"stream_options":{"include_usage":1},"store":null,"messages":[]}"#,
            r#"{"max_tokens":-1,"n":"2","user":7,"prompt_cache_key":{},"messages":[]}"#,
            r#"{"max_tokens":1e99,"metadata":"x","conversation":null,"messages":[]}"#,
            r#"{"previous_response_id":null,"parallel_tool_calls":1,"messages":[]}"#,
            "[]",
        ];
        for source in table {
            let reading =
                read(source, Format::OpenaiChat, OutlineOptions::default()).expect("a request");
            assert_eq!(reading.envelope, RequestEnvelope::default(), "{source}");
            assert!(!reading.draft.body.stateful, "{source}");
        }
        // An unknown shape still names a conversation.
        let odd = read_both_ways(r#"{"conversation":7,"messages":[]}"#, Format::OpenaiChat);
        assert_eq!(odd.conversation.as_deref(), Some(""));
    }

    #[test]
    fn fields_that_choose_the_server_are_reported() {
        for key in FOREIGN_KEYS {
            let source = format!(r#"{{"messages":[],"{key}":null}}"#);
            assert_eq!(read_both_ways(&source, Format::OpenaiChat).routing_field, Some(key));
        }
        let escaped = r#"{"messages":[],"api\u005fbase":"http://evil"}"#;
        assert_eq!(read_both_ways(escaped, Format::Anthropic).routing_field, Some("api_base"));
        let inside = r#"{"messages":[],"metadata":{"api_base":"x"}}"#;
        assert_eq!(read_both_ways(inside, Format::Anthropic).routing_field, None);
    }

    #[test]
    fn a_request_without_a_list_still_has_an_envelope() {
        let found =
            read_envelope(r#"{"model":"m","stream":true}"#, Format::Anthropic).expect("a request");
        assert_eq!((found.stream, found.model.is_some()), (Some(true), true));
        for source in ["", "[]", "7", "{\"stream\":true", "{} x"] {
            assert!(read_envelope(source, Format::Anthropic).is_err(), "{source}");
        }
    }

    #[test]
    fn duplicate_fields_are_rejected() {
        for key in UNIQUE_KEYS.map(|key| String::from_utf8_lossy(key).into_owned()) {
            let source = format!(r#"{{"messages":[],"{key}":null,"{key}":null}}"#);
            let error = read_envelope(&source, Format::OpenaiChat).expect_err("twice");
            assert!(error.to_string().contains(&key), "{error}");
            assert_eq!(
                read(&source, Format::OpenaiChat, OutlineOptions::default()).err(),
                Some(error)
            );
        }
    }
}
