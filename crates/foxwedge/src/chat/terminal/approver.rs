//! Asking a person whether a call may run: a question on its way to the terminal, and its answer on
//! the way back.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
};

use foxwedge_agent_loop::tool_loop::{self, ToolApprovalRequest, ToolDecision};
use foxwedge_tools::ToolFuture;
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};

/// Which calls somebody has to be asked about.
type ApprovalPredicate = dyn Fn(&ToolApprovalRequest<'_>) -> bool + Send + Sync;

/// Asks whoever sits at the terminal.
pub(crate) struct TerminalApprover {
    rule: Box<ApprovalPredicate>,
    questions: mpsc::UnboundedSender<TerminalApprovalRequest>,
    always: Arc<Mutex<BTreeSet<String>>>,
}

/// The terminal's end of it.
pub(crate) struct TerminalApprovalInbox {
    pub(super) questions: mpsc::UnboundedReceiver<TerminalApprovalRequest>,
    always: Arc<Mutex<BTreeSet<String>>>,
}

/// One call that waits for a person.
pub(super) struct TerminalApprovalRequest {
    /// The id of the call.
    pub(super) call: String,
    /// The tool.
    pub(super) tool: String,
    /// The arguments.
    pub(super) input: Value,
    pub(super) reply: oneshot::Sender<ToolDecision>,
}

/// An approver, and what the terminal needs to answer it. The rule says which calls are asked about.
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
    /// Nobody is asked about this tool any more.
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
    fn needs_approval(&self, asking: &ToolApprovalRequest<'_>) -> bool {
        !self.is_allowed(&asking.tool.name) && (self.rule)(asking)
    }

    fn decide<'a>(&'a self, asking: ToolApprovalRequest<'a>) -> ToolFuture<'a, ToolDecision> {
        Box::pin(async move {
            // Somebody may have said so while this one waited for its turn.
            if self.is_allowed(&asking.tool.name) {
                return ToolDecision::Allow;
            }
            let (reply, decided) = oneshot::channel();
            let question = TerminalApprovalRequest {
                call: asking.call.to_owned(),
                tool: asking.tool.name.to_string(),
                input: asking.input.clone(),
                reply,
            };
            let unheard = || ToolDecision::Deny(Some("nobody is there to allow it".to_owned()));
            match self.questions.send(question) {
                Ok(()) => decided.await.unwrap_or_else(|_| unheard()),
                Err(_) => unheard(),
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

    fn about() -> ToolSpec {
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
    async fn what_is_always_allowed_is_not_asked_again() {
        let (approver, mut questions) = approver(|_| true);
        let tool = about();
        let asking = ToolApprovalRequest { call: "1", tool: &tool, input: &Value::Null };
        assert!(approver.needs_approval(&asking));
        let (decision, ()) = tokio::join!(approver.decide(asking), async {
            let question = questions.questions.recv().await.unwrap();
            assert_eq!((question.call.as_str(), question.tool.as_str()), ("1", "run"));
            questions.allow(&question.tool);
            question.reply.send(ToolDecision::Deny(None)).unwrap();
        });
        assert_eq!(decision, ToolDecision::Deny(None));
        assert!(!approver.needs_approval(&asking));
        assert_eq!(approver.decide(asking).await, ToolDecision::Allow);
    }

    #[tokio::test]
    async fn nobody_there_means_no() {
        let (approver, questions) = approver(|_| true);
        drop(questions);
        let tool = about();
        let asking = ToolApprovalRequest { call: "1", tool: &tool, input: &Value::Null };
        let decision = approver.decide(asking).await;
        assert_eq!(decision, ToolDecision::Deny(Some("nobody is there to allow it".to_owned())));
    }
}
