//! What there is, what may be done, and the pages of the rules.

use foxwedge_core::rules;
use foxwedge_engine::{
    Fault, Kind,
    config::{Content, Scope},
};
use serde_json::{Value, json};

use super::{ask, json as reply, watch};
use crate::{Reply, routes::Call, serve::App};

/// `GET /v1/console`.
pub(super) fn about(app: &App, call: &Call<'_>) -> Reply {
    let scope = match call.visitor.scope {
        Scope::User => "user",
        Scope::Admin => "admin",
    };
    let content = match app.config.record.content {
        Content::Left => "left",
        Content::Kept => "kept",
    };
    let agents = app.console.machine.as_ref().map(|machine| machine.agents()).unwrap_or_default();
    let rules: Vec<Value> = rules::ALL.iter().map(|rule| line(rule)).collect();
    reply(&json!({
        "version": env!("CARGO_PKG_VERSION"),
        "started": app.console.started,
        "scope": scope,
        "owner": &*call.visitor.caller.owner,
        "files": ask::files(app, call),
        "content": content,
        "agents": agents,
        "rules": rules,
        "limits": { "feed": watch::MOST, "minutes": watch::MINUTES },
    }))
}

/// `GET /v1/console/rules/{code}`.
pub(super) fn rule(code: &str) -> Result<Reply, Fault> {
    let none = || Fault::new(Kind::NotFound, "rule_not_found", "no such rule");
    let rule = rules::find(code).ok_or_else(none)?;
    let mut value = line(rule);
    value["page"] = json!(rule.explain);
    Ok(reply(&value))
}

fn line(rule: &rules::Rule) -> Value {
    json!({ "code": rule.label(), "name": rule.name, "summary": rule.summary })
}
