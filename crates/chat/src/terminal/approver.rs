//! Approval of tool calls by the user: sends requests to the terminal and waits for the decision.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_agent_loop::tool_loop::{self, ToolApprovalRequest, ToolDecision};
use foxwedge_tools::ToolFuture;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Decides which calls need approval.
type ApprovalPredicate = dyn Fn(&ToolApprovalRequest<'_>) -> bool + Send + Sync;

/// Asks the user at the terminal.
pub(crate) struct TerminalApprover {
    rule: Box<ApprovalPredicate>,
    questions: mpsc::UnboundedSender<TerminalApprovalRequest>,
    always: Arc<Mutex<BTreeSet<String>>>,
}

/// The terminal's end of the channel.
pub(crate) struct TerminalApprovalInbox {
    pub(super) questions: mpsc::UnboundedReceiver<TerminalApprovalRequest>,
    always: Arc<Mutex<BTreeSet<String>>>,
}

/// A call that waits for a decision.
pub(super) struct TerminalApprovalRequest {
    /// The id of the call.
    pub(super) call: String,
    /// The tool.
    pub(super) tool: String,
    /// The arguments.
    pub(super) input: Value,
    pub(super) reply: oneshot::Sender<ToolDecision>,
}

/// Creates an approver and the terminal's end of it. `rule` decides which calls need approval.
pub(crate) fn approver(
    rule: impl Fn(&ToolApprovalRequest<'_>) -> bool + Send + Sync + 'static,
) -> (Arc<TerminalApprover>, TerminalApprovalInbox) {
    let (sender, questions) = mpsc::unbounded_channel();
    let always = Arc::default();
    let approver =
        TerminalApprover { rule: Box::new(rule), questions: sender, always: Arc::clone(&always) };
    (Arc::new(approver), TerminalApprovalInbox { questions, always })
}

impl TerminalApprovalInbox {
    /// Allows a tool for the rest of the session.
    pub(super) fn allow(&self, tool: &str) {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).insert(tool.to_owned());
    }
}

impl TerminalApprover {
    fn is_allowed(&self, tool: &str) -> bool {
        self.always.lock().unwrap_or_else(PoisonError::into_inner).contains(tool)
    }
}

impl tool_loop::ToolApprover for TerminalApprover {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        !self.is_allowed(&request.tool.name) && (self.rule)(request)
    }

    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            // The tool may have been allowed while this call waited for its turn.
            if self.is_allowed(&request.tool.name) {
                return ToolDecision::Allow;
            }
            let (reply, decided) = oneshot::channel();
            let question = TerminalApprovalRequest {
                call: request.call.to_owned(),
                tool: request.tool.name.to_string(),
                input: request.input.clone(),
                reply,
            };
            let deny_unattended =
                || ToolDecision::Deny(Some("no user is available to approve it".to_owned()));
            match self.questions.send(question) {
                Ok(()) => decided.await.unwrap_or_else(|_| deny_unattended()),
                Err(_) => deny_unattended(),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use foxwedge_agent_loop::tool_loop::ToolApprover as _;
    use foxwedge_tools::{ToolEffect, ToolSpec};
    use std::time::Duration;

    fn spec() -> ToolSpec {
        ToolSpec {
            name: "run".into(),
            description: "".into(),
            schema: Value::Null,
            effect: ToolEffect::Writes,
            limit: Duration::from_secs(1),
        }
    }

    #[tokio::test]
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]
    async fn always_allowed_tool_needs_no_approval() {
        let (approver, mut questions) = approver(|_| true);
        let tool = spec();
        let request = ToolApprovalRequest { call: "1", tool: &tool, input: &Value::Null };
        assert!(approver.needs_approval(&request));
        let (decision, ()) = tokio::join!(approver.decide(request), async {
            let question = questions.questions.recv().await.unwrap();
            assert_eq!((question.call.as_str(), question.tool.as_str()), ("1", "run"));
            questions.allow(&question.tool);
            question.reply.send(ToolDecision::Deny(None)).unwrap();
        });
        assert_eq!(decision, ToolDecision::Deny(None));
        assert!(!approver.needs_approval(&request));
        assert_eq!(approver.decide(request).await, ToolDecision::Allow);
    }

    #[tokio::test]
    async fn closed_terminal_denies() {
        let (approver, questions) = approver(|_| true);
        drop(questions);
        let tool = spec();
        let request = ToolApprovalRequest { call: "1", tool: &tool, input: &Value::Null };
        let decision = approver.decide(request).await;
        let reason = "no user is available to approve it".to_owned();
        assert_eq!(decision, ToolDecision::Deny(Some(reason)));
    }
}
