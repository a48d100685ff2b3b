//! Approval of calls by the user of the client.

use std::sync::{Arc, OnceLock};

use foxwedge_agent_loop::tool_loop::{ToolApprovalRequest, ToolApprover, ToolDecision};
use foxwedge_run::{RawJson, encode::AcpRevision};
use foxwedge_tools::{ToolFuture, ToolWorkspace};
use serde_json::{Value, json};
use tokio::task::spawn_blocking;

use super::{content::diff_content, wire::AcpWriter};
use crate::{allow_rules::AllowRule, approval::AllowedTools};
use foxwedge_local::runs::draw::call_subject;

/// Asks the client.
pub(super) struct AcpApprover {
    pub(super) revision: AcpRevision,
    pub(super) writer: AcpWriter,
    pub(super) allowed: AllowedTools,
    pub(super) workspace: ToolWorkspace,
    /// The session, once it has a name.
    pub(super) session: Arc<OnceLock<String>>,
}

impl ToolApprover for AcpApprover {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        self.allowed.needs_approval(request)
    }

    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            if !self.allowed.needs_approval(&request) {
                return ToolDecision::Allow;
            }
            let (tool, input) = (request.tool.name.to_string(), request.input.clone());
            let rule = AllowRule::for_call(&tool, &input);
            let params = self.params(&request, &rule).await;
            let response = self.writer.request("session/request_permission", params).await;
            let outcome = response.as_ref().and_then(|response| response.get("outcome"));
            let selected = |outcome: &Value| {
                let is_selected = outcome.get("outcome")? == "selected";
                outcome.get("optionId")?.as_str().filter(|_| is_selected).map(str::to_owned)
            };
            match outcome.and_then(selected).as_deref() {
                Some("allow") => ToolDecision::Allow,
                Some("always") => {
                    // A rule that cannot be kept still holds until the end.
                    let _ = self.allowed.rules.keep(rule);
                    ToolDecision::Allow
                }
                Some(_) | None => ToolDecision::Deny(None),
            }
        })
    }
}

impl AcpApprover {
    async fn params(&self, request: &ToolApprovalRequest<'_>, rule: &AllowRule) -> Value {
        let (tool, input) = (request.tool.name.to_string(), request.input.clone());
        let subject = call_subject(None, RawJson::parse(&input.to_string()).as_ref());
        let title = format!("{tool} {subject}").trim_end().to_owned();
        let workspace = self.workspace.clone();
        let preview = spawn_blocking(move || workspace.preview(&tool, &input)).await;
        let diff = preview
            .ok()
            .flatten()
            .map(|change| diff_content(self.revision, self.workspace.root(), &change));
        let mut call = json!({ "toolCallId": request.call, "title": title });
        if let Some(diff) = diff {
            call["content"] = json!([diff]);
        }
        let options = json!([
            { "optionId": "allow", "name": "Allow", "kind": "allow_once" },
            {
                "optionId": "always",
                "name": format!("Always allow {rule} in this folder"),
                "kind": "allow_always",
            },
            { "optionId": "deny", "name": "Deny", "kind": "reject_once" },
        ]);
        let session = self.session.get().cloned().unwrap_or_default();
        match self.revision {
            AcpRevision::V1 => {
                json!({ "sessionId": session, "toolCall": call, "options": options })
            }
            AcpRevision::V2 => json!({
                "sessionId": session,
                "title": title,
                "subject": { "type": "tool_call", "toolCall": call },
                "options": options,
            }),
        }
    }
}
