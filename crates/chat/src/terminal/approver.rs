//! Approval of tool calls by the user: sends requests to the terminal and waits for the decision.

use std::{io, sync::Arc};

use foxwedge_agent_loop::tool_loop::{self, ToolApprovalRequest, ToolDecision};
use foxwedge_tools::{FileChange, ToolFuture};
use serde_json::Value;

use crate::allow_rules::{AllowRule, AllowRules};
use tokio::{
    sync::{mpsc, oneshot},
    task::spawn_blocking,
};

/// Decides which calls need approval.
type ApprovalPredicate = dyn Fn(&ToolApprovalRequest<'_>) -> bool + Send + Sync;

/// What a call would change in a file. May block.
type ChangePreview = dyn Fn(&str, &Value) -> Option<FileChange> + Send + Sync;

/// Asks the user at the terminal.
pub(crate) struct TerminalApprover {
    rule: Box<ApprovalPredicate>,
    preview: Arc<ChangePreview>,
    questions: mpsc::UnboundedSender<TerminalApprovalRequest>,
    rules: AllowRules,
}

/// The terminal's end of the channel.
pub(crate) struct TerminalApprovalInbox {
    pub(super) questions: mpsc::UnboundedReceiver<TerminalApprovalRequest>,
    rules: AllowRules,
}

/// How long a rule holds.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RuleScope {
    /// Until the end of the program.
    Program,
    /// From now on, in this folder.
    Folder,
}

/// A call that waits for a decision.
pub(super) struct TerminalApprovalRequest {
    /// The id of the call.
    pub(super) call: String,
    /// The tool.
    pub(super) tool: String,
    /// The arguments.
    pub(super) input: Value,
    /// What it would change in a file.
    pub(super) change: Option<FileChange>,
    pub(super) reply: oneshot::Sender<ToolDecision>,
}

/// Creates an approver and the terminal's end of it. `rule` decides which calls need approval;
/// `preview` shows what one would change, and `rules` takes what the user allows.
pub(crate) fn approver(
    rules: AllowRules,
    rule: impl Fn(&ToolApprovalRequest<'_>) -> bool + Send + Sync + 'static,
    preview: impl Fn(&str, &Value) -> Option<FileChange> + Send + Sync + 'static,
) -> (Arc<TerminalApprover>, TerminalApprovalInbox) {
    let (sender, questions) = mpsc::unbounded_channel();
    let approver = TerminalApprover {
        rule: Box::new(rule),
        preview: Arc::new(preview),
        questions: sender,
        rules: rules.clone(),
    };
    (Arc::new(approver), TerminalApprovalInbox { questions, rules })
}

impl TerminalApprovalInbox {
    /// Allows what a rule allows.
    pub(super) fn allow(&self, rule: AllowRule, scope: RuleScope) -> io::Result<()> {
        match scope {
            RuleScope::Program => {
                self.rules.add(rule);
                Ok(())
            }
            RuleScope::Folder => self.rules.keep(rule),
        }
    }
}

impl tool_loop::ToolApprover for TerminalApprover {
    fn needs_approval(&self, request: &ToolApprovalRequest<'_>) -> bool {
        (self.rule)(request)
    }

    fn decide<'a>(&'a self, request: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            // It may have been allowed while this call waited for its turn.
            if self.rules.allow(&request.tool.name, request.input) {
                return ToolDecision::Allow;
            }
            let (tool, input) = (request.tool.name.to_string(), request.input.clone());
            let preview = Arc::clone(&self.preview);
            let change = spawn_blocking(move || preview(&tool, &input)).await.ok().flatten();
            let (reply, decided) = oneshot::channel();
            let question = TerminalApprovalRequest {
                call: request.call.to_owned(),
                tool: request.tool.name.to_string(),
                input: request.input.clone(),
                change,
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
    async fn an_allowed_call_asks_no_more() {
        let rules = AllowRules::default();
        let (approver, mut questions) = approver(rules, |_| true, |_, _| None);
        let (tool, input) = (spec(), serde_json::json!({"command":"git status"}));
        let request = ToolApprovalRequest { call: "1", tool: &tool, input: &input };
        assert!(approver.needs_approval(&request));
        let (decision, ()) = tokio::join!(approver.decide(request), async {
            let question = questions.questions.recv().await.unwrap();
            assert_eq!((question.call.as_str(), question.tool.as_str()), ("1", "run"));
            let rule = AllowRule::for_call("run", &question.input);
            questions.allow(rule, RuleScope::Program).unwrap();
            question.reply.send(ToolDecision::Deny(None)).unwrap();
        });
        assert_eq!(decision, ToolDecision::Deny(None));
        assert_eq!(approver.decide(request).await, ToolDecision::Allow);
    }

    #[tokio::test]
    async fn closed_terminal_denies() {
        let (approver, questions) = approver(AllowRules::default(), |_| true, |_, _| None);
        drop(questions);
        let tool = spec();
        let request = ToolApprovalRequest { call: "1", tool: &tool, input: &Value::Null };
        let decision = approver.decide(request).await;
        let reason = "no user is available to approve it".to_owned();
        assert_eq!(decision, ToolDecision::Deny(Some(reason)));
    }
}
