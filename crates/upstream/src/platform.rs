//! Clouds that serve the models of other providers: their paths, what they change in a request, and
//! how their keys are sent.

pub(crate) mod access_token;
pub(crate) mod aws_signature;

use bytes::Bytes;
use foxwedge_core::Format;
use foxwedge_formats::{change_fields, text};
use http::{HeaderName, header};

use crate::request_path::{UpstreamOperation, escape_segment, gemini_method};

/// A cloud between us and the provider of a model.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum CloudPlatform {
    /// Azure OpenAI.
    Azure {
        /// The version of the API with a path for each deployment; `None` for the newer one, whose
        /// paths are those of OpenAI.
        api_version: Option<Box<str>>,
    },
    /// Google Vertex AI, with the models of Google, Anthropic and others.
    Vertex,
    /// Amazon Bedrock.
    Bedrock,
}

/// What a request asks of a model.
#[derive(Clone, Copy)]
pub(crate) struct ModelCall<'a> {
    pub(crate) operation: UpstreamOperation,
    pub(crate) format: Format,
    /// The upstream's name of the model.
    pub(crate) model: &'a str,
    pub(crate) stream: bool,
}

impl CloudPlatform {
    /// The only format in which the platform serves a model, if the model decides that.
    pub fn format_of_model(&self, model: &str) -> Option<Format> {
        match self {
            CloudPlatform::Vertex if model.starts_with("claude") => Some(Format::Anthropic),
            CloudPlatform::Vertex if model.starts_with("gemini") => Some(Format::Gemini),
            CloudPlatform::Vertex => Some(Format::OpenaiChat),
            CloudPlatform::Azure { .. } | CloudPlatform::Bedrock => None,
        }
    }

    /// The path of a request, if it is not that of the provider.
    pub(crate) fn request_path(&self, version: &str, call: ModelCall<'_>) -> Option<String> {
        let ModelCall { operation, format, model, stream } = call;
        match (self, format) {
            (CloudPlatform::Azure { api_version: Some(date) }, Format::OpenaiChat) => {
                let model = escape_segment(model);
                Some(format!("{version}/deployments/{model}/chat/completions?api-version={date}"))
            }
            (CloudPlatform::Azure { api_version: Some(date) }, _) => {
                Some(format!("{version}/responses?api-version={date}"))
            }
            (CloudPlatform::Vertex, Format::Anthropic) => {
                let model = match operation {
                    UpstreamOperation::Generate => vertex_model(model),
                    UpstreamOperation::CountTokens => "count-tokens".to_owned(),
                };
                let method = if stream { "streamRawPredict" } else { "rawPredict" };
                Some(format!("{version}/publishers/anthropic/models/{model}:{method}"))
            }
            (CloudPlatform::Vertex, Format::Gemini) => {
                let model = vertex_model(model);
                let method = gemini_method(operation, stream);
                Some(format!("{version}/publishers/google/models/{model}:{method}"))
            }
            (CloudPlatform::Vertex, _) => {
                Some(format!("{version}/endpoints/openapi/chat/completions"))
            }
            (CloudPlatform::Azure { api_version: None } | CloudPlatform::Bedrock, _) => None,
        }
    }

    /// Whether it has the endpoints beside chats of a provider's API.
    pub fn forwards(&self, format: Format) -> bool {
        match self {
            CloudPlatform::Azure { .. } => {
                matches!(format, Format::OpenaiChat | Format::OpenaiResponses)
            }
            CloudPlatform::Vertex => format == Format::Gemini,
            CloudPlatform::Bedrock => false,
        }
    }

    /// The path of a request that is forwarded as it is.
    pub(crate) fn forwarded_path(&self, version: &str, path: &str, model: Option<&str>) -> String {
        match (self, model) {
            (CloudPlatform::Azure { api_version: Some(date) }, Some(model)) => {
                let model = escape_segment(model);
                format!("{version}/deployments/{model}{path}?api-version={date}")
            }
            (CloudPlatform::Azure { api_version: Some(date) }, None) => {
                format!("{version}{path}?api-version={date}")
            }
            (CloudPlatform::Vertex, _) => format!("{version}/publishers/google{path}"),
            (CloudPlatform::Azure { api_version: None } | CloudPlatform::Bedrock, _) => {
                format!("{version}{path}")
            }
        }
    }

    /// The body as the platform expects it: where the path names the model, the body must not.
    pub(crate) fn platform_body(&self, call: ModelCall<'_>, body: Bytes) -> Bytes {
        const VERTEX_VERSION: (&str, &str) = ("anthropic_version", "\"vertex-2023-10-16\"");
        let (removed, set): (&[&str], &[(&str, &str)]) = match (self, call.format) {
            (CloudPlatform::Bedrock, Format::Bedrock) => (&["modelId"], &[]),
            (CloudPlatform::Vertex, Format::Anthropic) => match call.operation {
                UpstreamOperation::Generate => (&["model"], &[VERTEX_VERSION]),
                UpstreamOperation::CountTokens => (&[], &[VERTEX_VERSION]),
            },
            (CloudPlatform::Vertex, Format::Gemini)
                if call.operation == UpstreamOperation::CountTokens =>
            {
                (&["model"], &[])
            }
            (CloudPlatform::Azure { .. } | CloudPlatform::Vertex | CloudPlatform::Bedrock, _) => {
                return body;
            }
        };
        match text(&body) {
            Ok(source) => change_fields(source, removed, set).into(),
            Err(_) => body,
        }
    }

    /// The header for a key or a token, and its value.
    pub(crate) fn key_header(&self, secret: &str) -> (HeaderName, String) {
        match self {
            CloudPlatform::Azure { .. } if !is_web_token(secret) => {
                (HeaderName::from_static("api-key"), secret.to_owned())
            }
            CloudPlatform::Vertex if is_google_api_key(secret) => {
                (HeaderName::from_static("x-goog-api-key"), secret.to_owned())
            }
            CloudPlatform::Azure { .. } | CloudPlatform::Vertex | CloudPlatform::Bedrock => {
                (header::AUTHORIZATION, format!("Bearer {secret}"))
            }
        }
    }
}

/// The address of Vertex AI for a location.
pub fn vertex_url(location: &str) -> String {
    match location {
        "global" => "https://aiplatform.googleapis.com".to_owned(),
        // Names for several locations have hosts of their own.
        "us" | "eu" => format!("https://aiplatform.{location}.rep.googleapis.com"),
        _ => format!("https://{location}-aiplatform.googleapis.com"),
    }
}

/// The address of Bedrock for a region.
pub fn bedrock_url(region: &str) -> String {
    let domain = if region.starts_with("cn-") { "amazonaws.com.cn" } else { "amazonaws.com" };
    format!("https://bedrock-runtime.{region}.{domain}")
}

/// A model as a segment of a path. Versions stand behind `@`, which a path may contain.
fn vertex_model(model: &str) -> String {
    let model = model.rsplit_once("/models/").map_or(model, |(_, name)| name);
    let model = model.strip_prefix("models/").unwrap_or(model);
    escape_segment(model).replace("%40", "@")
}

/// Whether a secret is a signed token of Entra and not a key.
fn is_web_token(secret: &str) -> bool {
    secret.starts_with("eyJ") && secret.matches('.').count() == 2
}

/// Whether a secret is an API key of Google and not an access token.
fn is_google_api_key(secret: &str) -> bool {
    secret.starts_with("AIza") || secret.starts_with("AQ.")
}

#[cfg(test)]
mod tests;
