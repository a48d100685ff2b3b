//! `/v1/models` and `/v1beta/models`: the configured models, in the format of the client's provider.

use crate::{ApiError, api_request::decode_path_segment, config::GatewayConfig};
use foxwedge_core::Format;
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    error,
    response_body::{HttpReply, JSON, ResponseBody},
};

/// The list, or the one model named behind `/v1/models/`.
///
/// # Errors
/// If no route matches the model.
pub(crate) fn reply(
    config: &GatewayConfig,
    path: &str,
    format: Format,
) -> Result<HttpReply, ApiError> {
    let name = path.strip_prefix("/v1/models/").or_else(|| path.strip_prefix("/v1beta/models/"));
    let body = match name {
        None | Some("") => model_list(&config.models(), format),
        // A model that only matches a pattern is available, too.
        Some(name) => {
            let name = decode_path_segment(name);
            config.route(&name).ok_or_else(error::model_not_found)?;
            model_json(&name, format)
        }
    };
    Ok(ResponseBody::reply(StatusCode::OK, JSON, body.to_string()))
}

fn model_list(names: &[&str], format: Format) -> Value {
    let data: Vec<_> = names.iter().map(|name| model_json(name, format)).collect();
    match format {
        Format::Anthropic => json!({
            "data": data,
            "has_more": false,
            "first_id": names.first(),
            "last_id": names.last(),
        }),
        Format::Gemini => json!({ "models": data }),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Bedrock
        | Format::GeminiInteractions => {
            json!({ "object": "list", "data": data })
        }
    }
}

fn model_json(name: &str, format: Format) -> Value {
    match format {
        Format::Anthropic => json!({
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "1970-01-01T00:00:00Z",
        }),
        Format::Gemini => json!({
            "name": format!("models/{name}"),
            "displayName": name,
            "supportedGenerationMethods":
                ["generateContent", "streamGenerateContent", "countTokens"],
        }),
        Format::OpenaiChat
        | Format::OpenaiResponses
        | Format::Bedrock
        | Format::GeminiInteractions => {
            json!({ "id": name, "object": "model", "created": 0, "owned_by": "foxwedge" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_in_the_format_of_each_provider() {
        assert_eq!(
            model_list(&["a", "b"], Format::OpenaiChat),
            json!({"object": "list", "data": [
                {"id": "a", "object": "model", "created": 0, "owned_by": "foxwedge"},
                {"id": "b", "object": "model", "created": 0, "owned_by": "foxwedge"},
            ]})
        );
        assert_eq!(
            model_list(&["a"], Format::Anthropic),
            json!({"data": [{
                "type": "model", "id": "a", "display_name": "a",
                "created_at": "1970-01-01T00:00:00Z",
            }], "has_more": false, "first_id": "a", "last_id": "a"})
        );
        let listed = model_list(&["a"], Format::Gemini);
        assert_eq!(listed["models"][0]["name"], "models/a");
        assert_eq!(
            model_list(&[], Format::Anthropic),
            json!({"data": [], "has_more": false, "first_id": null, "last_id": null})
        );
    }
}
