//! Version, access and limits for the console, and the explanations of the rules.

use crate::{
    ApiError, ApiErrorKind,
    config::{ContentRecording, TokenScope},
    request_monitor,
};
use foxwedge_core::rules;
use foxwedge_local::language::ReaderLanguage;
use serde_json::{Value, json};

use super::{json_reply as reply, reader_language, request};
use crate::{HttpReply, api_request::ApiRequest, gateway_state::GatewayState};

/// `GET /v1/console`.
pub(super) fn about(app: &GatewayState, http_request: &ApiRequest<'_>) -> HttpReply {
    let scope = match http_request.principal.scope {
        TokenScope::User => "user",
        TokenScope::Admin => "admin",
    };
    let content = match app.engine.config().record.store_content {
        ContentRecording::Omitted => "left",
        ContentRecording::Stored => "kept",
    };
    let agents =
        app.console.local_sessions.as_ref().map(|sessions| sessions.agents()).unwrap_or_default();
    let rules: Vec<Value> = rules::ALL.iter().map(|rule| rule_json(rule)).collect();
    reply(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": app.console.started,
        "scope": scope,
        "owner": &*http_request.principal.caller.owner,
        "files": request::file_access(app, http_request),
        "content": content,
        "agents": agents,
        "rules": rules,
        "limits": { "feed": request_monitor::MAX_REQUESTS, "minutes": request_monitor::MAX_MINUTES },
    }))
}

/// `GET /v1/console/rules/{code}`.
pub(super) fn rule(code: &str, http_request: &ApiRequest<'_>) -> Result<HttpReply, ApiError> {
    let none = || ApiError::new(ApiErrorKind::NotFound, "rule_not_found", "no such rule");
    let rule = rules::find_rule(code).ok_or_else(none)?;
    let mut value = rule_json(rule);
    value["page"] = json!(rule.explain);
    if reader_language(http_request) == ReaderLanguage::Chinese
        && let (Some(chinese), Some(page)) = (rule.chinese(), rule.chinese_page())
    {
        value["summary"] = json!(chinese.summary);
        value["page"] = json!(page);
    }
    Ok(reply(&value))
}

fn rule_json(rule: &rules::Rule) -> Value {
    json!({ "code": rule.label(), "name": rule.name, "summary": rule.summary })
}
