//! The models that can be asked for, as lists of either provider.

use foxwedge_core::Wire;
use foxwedge_engine::{Fault, config::Config};
use http::StatusCode;
use serde_json::{Value, json};

use crate::{
    error,
    outgoing::{JSON, Outgoing, Reply},
};

/// The list, or one of them: what stands behind `/v1/models/`.
///
/// # Errors
/// If no route leads to that one.
pub(crate) fn reply(config: &Config, path: &str, wire: Wire) -> Result<Reply, Fault> {
    let body = match path.strip_prefix("/v1/models/") {
        None | Some("") => list(&config.models(), wire),
        // One that a pattern leads to can be asked for, too.
        Some(name) => {
            config.route(name).ok_or_else(error::no_model)?;
            one(name, wire)
        }
    };
    Ok(Outgoing::reply(StatusCode::OK, JSON, body.to_string()))
}

fn list(names: &[&str], wire: Wire) -> Value {
    let data: Vec<_> = names.iter().map(|name| one(name, wire)).collect();
    match wire {
        Wire::Anthropic => json!({
            "data": data,
            "has_more": false,
            "first_id": names.first(),
            "last_id": names.last(),
        }),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini | Wire::Bedrock => {
            json!({ "object": "list", "data": data })
        }
    }
}

fn one(name: &str, wire: Wire) -> Value {
    match wire {
        Wire::Anthropic => json!({
            "type": "model",
            "id": name,
            "display_name": name,
            "created_at": "1970-01-01T00:00:00Z",
        }),
        Wire::OpenaiChat | Wire::OpenaiResponses | Wire::Gemini | Wire::Bedrock => {
            json!({ "id": name, "object": "model", "created": 0, "owned_by": "foxwedge" })
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn models_are_listed_as_each_provider_lists_them() {
        assert_eq!(
            list(&["a", "b"], Wire::OpenaiChat),
            json!({"object": "list", "data": [
                {"id": "a", "object": "model", "created": 0, "owned_by": "foxwedge"},
                {"id": "b", "object": "model", "created": 0, "owned_by": "foxwedge"},
            ]})
        );
        assert_eq!(
            list(&["a"], Wire::Anthropic),
            json!({"data": [{
                "type": "model", "id": "a", "display_name": "a",
                "created_at": "1970-01-01T00:00:00Z",
            }], "has_more": false, "first_id": "a", "last_id": "a"})
        );
        assert_eq!(
            list(&[], Wire::Anthropic),
            json!({"data": [], "has_more": false, "first_id": null, "last_id": null})
        );
    }
}
