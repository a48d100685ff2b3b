//! Endpoints of providers that are forwarded as they are: embeddings, moderations, audio, images,
//! files, batches, stored responses. Nothing is checked, converted, repaired, retried or recorded.

use std::{
    borrow::Cow,
    ops::Range,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_upstream::{
    UpstreamConfig, UpstreamKey, UpstreamTransport,
    http::IncomingBody,
    send::{ForwardedRequest, response_headers, send_forwarded},
};
use http::{HeaderMap, Response, header::CONTENT_ENCODING, request::Parts};
use serde_json::{Value, value::RawValue};

use crate::{
    ApiError, ApiErrorKind, BodyError, GatewayBody, GatewayEngine, HttpReply, RequestSummary,
    access::Principal,
    api_error::shorten_name,
    body::BodyStream,
    config::{GatewayConfig, ModelRoute, TokenScope},
    error,
    exchange::{
        OWN_RESPONSE_PREFIX, item_not_found, previous_response_not_found, unreachable_error,
    },
    response_body::ResponseBody,
};

/// Paths whose requests name a model.
const MODEL_PATHS: [&str; 5] =
    ["/v1/embeddings", "/v1/moderations", "/v1/completions", "/v1/audio", "/v1/images"];

/// Paths of what a provider stores for the owner of a key.
const STORAGE_PATHS: [&str; 4] =
    ["/v1/files", "/v1/uploads", "/v1/batches", "/v1/messages/batches"];

/// Methods of Gemini's models that are not endpoints of the gateway.
const GEMINI_METHODS: [&str; 4] =
    ["embedContent", "batchEmbedContents", "predict", "predictLongRunning"];

/// Methods of a stored response.
const RESPONSE_METHODS: [&str; 2] = ["cancel", "input_items"];

/// Maximum size of an error.
const MAX_ERROR_BYTES: usize = 1 << 20;

/// Whether a path is forwarded.
pub(crate) fn is_forwarded(path: &str) -> bool {
    gemini_method(path).is_some() || response_id(path).is_some() || is_known(path)
}

/// The id of a path of stored responses. `input_tokens` and `compact` stand in its place.
fn response_id(path: &str) -> Option<&str> {
    let rest = path.strip_prefix("/v1/responses/")?;
    let (id, method) = rest.split_once('/').map_or((rest, None), |(id, it)| (id, Some(it)));
    let is_plain = !id.is_empty() && !id.contains('%') && id != ".." && id != ".";
    let is_known = method.is_none_or(|method| RESPONSE_METHODS.contains(&method));
    (is_plain && is_known).then_some(id)
}

/// The model and the method of a path of Gemini that is forwarded.
fn gemini_method(path: &str) -> Option<(&str, &str)> {
    let (before, method) = path.rsplit_once(':')?;
    let model = ["/v1beta/models/", "/v1/models/"].iter().find_map(|it| before.strip_prefix(it))?;
    let is_plain = !model.is_empty() && !model.contains(['/', '%']) && model != "..";
    (is_plain && GEMINI_METHODS.contains(&method)).then_some((model, method))
}

fn is_known(path: &str) -> bool {
    names_model(path) || STORAGE_PATHS.iter().any(|known| is_under(path, known))
}

/// Whether a path is one of OpenAI's whose requests name a model.
fn names_model(path: &str) -> bool {
    MODEL_PATHS.iter().any(|known| is_under(path, known))
}

fn is_under(path: &str, known: &str) -> bool {
    let is_plain = !path.contains("//") && !path.split('/').any(|part| part == ".." || part == ".");
    let rest = path.strip_prefix(known).filter(|_| is_plain);
    rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// Sends a request to the upstream of its model, or to the first one that has the path.
///
/// # Errors
/// If no upstream has the path, or it cannot be reached.
pub(crate) async fn forward(
    engine: &GatewayEngine,
    parts: &Parts,
    body: Bytes,
    principal: &Principal,
    summary: &mut RequestSummary,
) -> Result<HttpReply, ApiError> {
    let (config, client) = engine.config_and_client();
    let path = parts.uri.path();
    let format = path_format(path, &parts.headers);
    if response_id(path).is_some_and(|id| id.starts_with(OWN_RESPONSE_PREFIX)) {
        return Err(response_not_stored());
    }
    if format == Format::OpenaiResponses && !principal.caller.is_admin {
        let owner = &principal.caller.owner;
        check_response_owner(path, &body, |id| engine.is_foreign_response(owner, id))?;
    }
    let model = find_model(&parts.headers, &body);
    let mut upstream_path = Cow::Borrowed(path.strip_prefix("/v1").unwrap_or(path));
    let (upstream, upstream_model, body) = match (gemini_method(path), &model) {
        (Some((model, method)), _) => {
            summary.model = Some(model.into());
            let route = config.route(model).ok_or_else(error::model_not_found)?;
            let name = route.upstream_model.as_deref().unwrap_or(model);
            upstream_path = format!("/models/{name}:{method}").into();
            (route.upstream.clone(), Some(name.to_owned()), body.clone())
        }
        (None, Some(model)) => {
            summary.model = Some(model.name.as_ref().into());
            let route = config.route(&model.name).ok_or_else(error::model_not_found)?;
            let name = route.upstream_model.as_deref().unwrap_or(&model.name);
            (route.upstream.clone(), Some(name.to_owned()), renamed_body(&body, model, &route))
        }
        (None, None) => {
            let owner = &principal.caller.owner;
            let creator = response_id(path).and_then(|id| engine.response_upstream(owner, id));
            let upstream = default_upstream(&config, format, creator.as_deref())
                .ok_or_else(|| no_endpoint(format))?;
            (upstream, None, body.clone())
        }
    };
    summary.upstream = Some(upstream.name.clone());
    if !supports(&upstream, format) {
        return Err(no_endpoint(format));
    }
    check_storage(path, &upstream, principal)?;
    let request = ForwardedRequest {
        upstream: &upstream,
        method: parts.method.clone(),
        path: &upstream_path,
        query: parts.uri.query(),
        format,
        // Paths of responses name no model, on no platform.
        model: upstream_model.as_deref().filter(|_| format != Format::OpenaiResponses),
        headers: &parts.headers,
        client_key: principal.caller.client_key.as_ref(),
    };
    let reply = send_forwarded(&client, request, body).await;
    let metrics = engine.metrics();
    metrics.count_upstream(&upstream.name, reply.as_ref().ok().map(|reply| reply.status));
    let reply = reply.map_err(|error| unreachable_error(&error))?;
    let body = if reply.status.as_u16() < 400 {
        GatewayBody::streaming(ForwardedBody(reply.body))
    } else {
        let error = reply.body.read_all(MAX_ERROR_BYTES).await;
        GatewayBody::full(redact_error(
            error.map_err(|error| unreachable_error(&error))?,
            &upstream,
        ))
    };
    let mut response = Response::new(ResponseBody::from(body));
    *response.status_mut() = reply.status;
    *response.headers_mut() = response_headers(&reply.headers, false);
    // The body passes as it is, so its encoding is that of the upstream.
    for encoding in reply.headers.get_all(CONTENT_ENCODING) {
        response.headers_mut().append(CONTENT_ENCODING, encoding.clone());
    }
    Ok(response)
}

/// An error without the keys that it repeats. Compressed errors pass as they are.
fn redact_error(body: Bytes, upstream: &UpstreamConfig) -> Bytes {
    match String::from_utf8(body.to_vec()) {
        Ok(text) => upstream.redact_secrets(text).into(),
        Err(_) => body,
    }
}

/// The body of an upstream's reply, unchanged.
struct ForwardedBody(IncomingBody);

impl BodyStream for ForwardedBody {
    fn poll_next(&mut self, context: &mut Context<'_>) -> Poll<Option<Result<Bytes, BodyError>>> {
        self.0.poll_next(context).map_err(|error| BodyError(error.to_string()))
    }
}

/// The API that a path belongs to. Files and batches exist in several.
fn path_format(path: &str, headers: &HeaderMap) -> Format {
    if gemini_method(path).is_some() {
        return Format::Gemini;
    }
    if response_id(path).is_some() {
        return Format::OpenaiResponses;
    }
    if path.starts_with("/v1/messages/") {
        return Format::Anthropic;
    }
    if names_model(path) {
        return Format::OpenaiChat;
    }
    error::client_format(path, headers)
}

fn supports(upstream: &UpstreamConfig, format: Format) -> bool {
    let formats = &upstream.formats;
    let is_openai =
        || formats.iter().any(|it| matches!(it, Format::OpenaiChat | Format::OpenaiResponses));
    let platform = upstream.platform.as_ref();
    matches!(upstream.transport, UpstreamTransport::Network(_))
        && platform.is_none_or(|platform| platform.forwards(format))
        && (formats.contains(&format) || (format == Format::OpenaiChat && is_openai()))
}

/// The upstream for requests that name no model: the one that created the response, else the first
/// one of the API.
fn default_upstream(
    config: &GatewayConfig,
    format: Format,
    creator: Option<&str>,
) -> Option<Arc<UpstreamConfig>> {
    let mut upstreams = config.upstreams.iter().filter(|upstream| supports(upstream, format));
    let created = upstreams.clone().find(|upstream| creator == Some(&*upstream.name));
    created.or_else(|| upstreams.next()).cloned()
}

/// Files and batches belong to a key, and owners of tokens share the key of the configuration. So
/// only its operator may use them, or a client with its own key.
fn check_storage(
    path: &str,
    upstream: &UpstreamConfig,
    principal: &Principal,
) -> Result<(), ApiError> {
    let is_storage = STORAGE_PATHS.iter().any(|known| is_under(path, known));
    let is_own = matches!(upstream.key, UpstreamKey::FromCaller);
    if !is_storage || is_own || principal.scope == TokenScope::Admin {
        return Ok(());
    }
    let message = "files and batches of the upstream are shared: they need a token with the scope \
                   `admin`, or an upstream with `key = \"caller\"`";
    Err(ApiError::new(ApiErrorKind::Permission, "shared_storage", message))
}

/// Refuses what an upstream stores for another owner, as if it did not exist: the key of the
/// configuration has access to all of it. `is_foreign`: whether an id belongs to another owner.
fn check_response_owner(
    path: &str,
    body: &[u8],
    is_foreign: impl Fn(&str) -> bool,
) -> Result<(), ApiError> {
    if let Some(id) = response_id(path).filter(|id| is_foreign(id)) {
        return Err(response_not_found(id));
    }
    let Ok(body) = serde_json::from_slice::<Value>(body) else { return Ok(()) };
    if let Some(id) = body["previous_response_id"].as_str().filter(|id| is_foreign(id)) {
        return Err(previous_response_not_found(id));
    }
    let items = body["input"].as_array().into_iter().flatten();
    let mut references = items.filter(|item| item["type"] == "item_reference");
    match references.find_map(|item| item["id"].as_str().filter(|id| is_foreign(id))) {
        Some(id) => Err(item_not_found(id)),
        None => Ok(()),
    }
}

/// The error for a response of another owner: that for one that does not exist.
fn response_not_found(id: &str) -> ApiError {
    let message = format!("Response with id '{}' not found.", shorten_name(id));
    ApiError::new(ApiErrorKind::NotFound, "response_not_found", message).at("response_id")
}

fn no_endpoint(format: Format) -> ApiError {
    let message = match format {
        Format::OpenaiResponses => {
            "no upstream has this endpoint: it needs an upstream with `openai-responses` in its \
             `formats`, of the model if the request names one"
        }
        Format::OpenaiChat
        | Format::Anthropic
        | Format::Gemini
        | Format::GeminiInteractions
        | Format::Bedrock => "no upstream has this endpoint",
    };
    ApiError::new(ApiErrorKind::NotFound, "no_endpoint", message)
}

/// The error for a response that an upstream of another API has made.
fn response_not_stored() -> ApiError {
    let message = "this response is not stored: its model has an upstream of another API; send its \
                   id as `previous_response_id`, or the whole conversation as `input`";
    ApiError::new(ApiErrorKind::NotFound, "response_not_stored", message).at("response_id")
}

/// A model that a body names: its name, and where it is written.
struct BodyModel<'a> {
    name: Cow<'a, str>,
    span: Range<usize>,
    is_json: bool,
}

fn find_model<'a>(headers: &HeaderMap, body: &'a [u8]) -> Option<BodyModel<'a>> {
    let content_type = headers.get(http::header::CONTENT_TYPE);
    let content_type = content_type.and_then(|value| value.to_str().ok()).unwrap_or_default();
    if content_type.to_ascii_lowercase().starts_with("multipart/form-data") {
        return find_form_model(content_type, body);
    }
    #[derive(serde::Deserialize)]
    struct ModelField<'a> {
        #[serde(borrow)]
        model: Option<&'a RawValue>,
    }
    let field: ModelField<'a> = serde_json::from_slice(body).ok()?;
    let text = field.model?.get();
    let name = Cow::Owned(serde_json::from_str(text).ok()?);
    let start = text.as_ptr() as usize - body.as_ptr() as usize;
    Some(BodyModel { name, span: start..start + text.len(), is_json: true })
}

/// The field `model` of a form. Its head is small; the file beside it is not read.
fn find_form_model<'a>(content_type: &str, body: &'a [u8]) -> Option<BodyModel<'a>> {
    let boundary = content_type.split("boundary=").nth(1)?.split(';').next()?.trim_matches('"');
    let end = format!("\r\n--{boundary}");
    let field = b"name=\"model\"\r\n";
    let at = find(body, field)? + field.len();
    let start = at + find(body.get(at..)?, b"\r\n").filter(|blank| *blank == 0)? + 2;
    let length = find(body.get(start..)?, end.as_bytes()).filter(|length| *length <= 256)?;
    let name = std::str::from_utf8(body.get(start..start + length)?).ok()?;
    Some(BodyModel { name: Cow::Borrowed(name), span: start..start + length, is_json: false })
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    text.windows(part.len()).position(|window| window == part)
}

/// The body with the upstream's name of the model. Without another name it is the same buffer.
fn renamed_body(body: &Bytes, model: &BodyModel<'_>, route: &ModelRoute) -> Bytes {
    let Some(name) = &route.upstream_model else { return body.clone() };
    let name = match model.is_json {
        true => serde_json::Value::from(&**name).to_string(),
        false => name.to_string(),
    };
    let before = body.get(..model.span.start).unwrap_or_default();
    let after = body.get(model.span.end..).unwrap_or_default();
    [before, name.as_bytes(), after].concat().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_known_paths_are_forwarded() {
        for path in [
            "/v1/embeddings",
            "/v1/audio/speech",
            "/v1/images/generations",
            "/v1/files/f-1/content",
            "/v1/messages/batches/b-1/results",
            "/v1beta/models/gemini-embedding-001:embedContent",
            "/v1/models/gemini-embedding-001:batchEmbedContents",
            "/v1/responses/resp_1",
            "/v1/responses/resp_1/cancel",
            "/v1/responses/resp_1/input_items",
            "/v1/responses/input_tokens",
            "/v1/responses/compact",
        ] {
            assert!(is_forwarded(path), "{path}");
        }
        for path in [
            "/v1/embeddingsx",
            "/v1/files/../models",
            "/v1/files/./x",
            "/v1/files//x",
            "/v1/fine_tuning/jobs",
            "/v1/messages",
            "/embeddings",
            "/v1beta/models/a/b:embedContent",
            "/v1beta/models/..:embedContent",
            "/v1beta/models/g:generateContent",
            "/v1/responses",
            "/v1/responses/",
            "/v1/responses/..",
            "/v1/responses/%2e%2e",
            "/v1/responses//cancel",
            "/v1/responses/resp_1/",
            "/v1/responses/resp_1/else",
            "/v1/responses/resp_1/cancel/x",
        ] {
            assert!(!is_forwarded(path), "{path}");
        }
    }

    #[test]
    fn what_a_provider_stores_is_not_shared_between_owners() {
        let upstream = |key| {
            let url = Some("http://127.0.0.1:1/v1");
            foxwedge_upstream::single_upstream("own", Format::OpenaiChat, url, key).expect("one")
        };
        let shared = upstream(UpstreamKey::None);
        let own = upstream(UpstreamKey::FromCaller);
        let principal = |scope: TokenScope| Principal {
            caller: crate::RequestCaller {
                owner: "ann".into(),
                client_key: None,
                is_admin: scope == TokenScope::Admin,
            },
            scope,
        };
        let (user, admin) = (principal(TokenScope::User), principal(TokenScope::Admin));
        for (path, upstream, principal, is_allowed) in [
            ("/v1/files", &shared, &user, false),
            ("/v1/batches/b-1", &shared, &user, false),
            ("/v1/messages/batches", &shared, &user, false),
            ("/v1/files", &shared, &admin, true),
            ("/v1/files", &own, &user, true),
            ("/v1/embeddings", &shared, &user, true),
        ] {
            let checked = check_storage(path, upstream, principal);
            assert_eq!(checked.is_ok(), is_allowed, "{path} {:?}", principal.scope);
        }
    }

    #[test]
    fn responses_of_other_owners_were_forwarded() {
        let check = |path: &str, body: &str| {
            let found = check_response_owner(path, body.as_bytes(), |id| id.ends_with("_theirs"));
            found.map_err(|error| (error.status().as_u16(), error.code))
        };
        let unknown = Err((404, "response_not_found"));
        for (path, expected) in [
            ("/v1/responses/resp_mine", Ok(())),
            ("/v1/responses/resp_theirs", unknown),
            ("/v1/responses/resp_theirs/cancel", unknown),
            ("/v1/responses/resp_theirs/input_items", unknown),
            ("/v1/responses/compact", Ok(())),
        ] {
            assert_eq!(check(path, ""), expected, "{path}");
        }
        for (body, expected) in [
            (r#"{"previous_response_id":"resp_mine"}"#, Ok(())),
            (
                r#"{"previous_response_id":"resp_theirs"}"#,
                Err((400, "previous_response_not_found")),
            ),
            (r#"{"input":[{"type":"item_reference","id":"msg_mine"}]}"#, Ok(())),
            (
                r#"{"input":[{"role":"user"},{"type":"item_reference","id":"msg_theirs"}]}"#,
                Err((404, "item_not_found")),
            ),
            (r#"{"input":"resp_theirs"}"#, Ok(())),
        ] {
            assert_eq!(check("/v1/responses/compact", body), expected, "{body}");
        }
    }

    #[test]
    fn a_forwarded_error_shows_no_key() {
        let key = UpstreamKey::Configured(foxwedge_upstream::SecretText::new("sk-canary-1"));
        let url = Some("http://127.0.0.1:1/v1");
        let upstream = foxwedge_upstream::single_upstream("own", Format::OpenaiChat, url, key);
        let upstream = upstream.expect("one");
        for (error, expected) in [
            (&b"bad key sk-canary-1"[..], &b"bad key [secret]"[..]),
            (b"no \xff text", b"no \xff text"),
        ] {
            assert_eq!(redact_error(Bytes::from_static(error), &upstream), expected);
        }
    }

    #[test]
    fn the_model_is_found_in_json_and_in_forms() {
        let found = |content_type: &str, body: &str| {
            let headers = [(http::header::CONTENT_TYPE, content_type.parse().expect("a value"))];
            let model = find_model(&headers.into_iter().collect(), body.as_bytes())?;
            Some((model.name.into_owned(), body[model.span].to_owned()))
        };
        let pair = |name: &str, text: &str| Some((name.to_owned(), text.to_owned()));
        let json = "application/json";
        assert_eq!(found(json, r#"{"input":"x", "model": "a\/b"}"#), pair("a/b", r#""a\/b""#));
        assert_eq!(found(json, r#"{"input":{"model":"inner"}}"#), None);
        assert_eq!(found(json, r#"{"model":7}"#), None);
        assert_eq!(found(json, "no JSON"), None);
        let form = "multipart/form-data; boundary=b0";
        let body = "--b0\r\ncontent-disposition: form-data; name=\"model\"\r\n\r\nwhisper-1\r\n\
                    --b0\r\ncontent-disposition: form-data; name=\"file\"\r\n\r\nxx\r\n--b0--\r\n";
        assert_eq!(found(form, body), pair("whisper-1", "whisper-1"));
        assert_eq!(found(form, "--b0--\r\n"), None);
    }
}
