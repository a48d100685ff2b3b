//! Questions: which key is an answer, and what becomes of it.

use foxwedge_agent_loop::tool_loop::ToolDecision;

use super::{ScreenAction, TerminalScreen};
use crate::chat::terminal::{
    approval_prompt::{ApprovalPrompt, ApprovalPromptStage, QUIET_MILLIS},
    editor::EditorOutcome,
    keys::TerminalKey,
};

impl TerminalScreen {
    /// Somebody has to be asked.
    pub(in crate::chat::terminal) fn add_question(&mut self, ask: ApprovalPrompt) {
        self.asks.push_back(ask);
    }

    /// What stands on the screen has been drawn.
    pub(in crate::chat::terminal) fn on_drawn(&mut self, now: u64) {
        if self.stage == ApprovalPromptStage::New && !self.asks.is_empty() {
            self.stage = ApprovalPromptStage::Shown(now);
        }
    }

    /// Whether a key is an answer to the question.
    pub(in crate::chat::terminal) fn accepts_answer(&self, now: u64) -> bool {
        match self.stage {
            ApprovalPromptStage::New | ApprovalPromptStage::TypingReason(_) => false,
            ApprovalPromptStage::Shown(since) => {
                self.editor.is_empty()
                    && now >= since.max(self.typed_at).saturating_add(QUIET_MILLIS)
            }
            ApprovalPromptStage::Focused => true,
        }
    }

    pub(super) fn on_answer_key(&mut self, key: &TerminalKey) -> Vec<ScreenAction> {
        let Some(ask) = self.asks.front() else { return Vec::new() };
        let (decision, always) = match key {
            TerminalKey::Char('y' | 'Y') => (ToolDecision::Allow, None),
            TerminalKey::Char('a' | 'A') => (ToolDecision::Allow, Some(ask.tool.clone())),
            TerminalKey::Char('n' | 'N') => (ToolDecision::Deny(None), None),
            TerminalKey::Char('t' | 'T') => {
                self.stage = ApprovalPromptStage::TypingReason(self.editor.put_aside());
                return Vec::new();
            }
            // Somebody turned to the question, and back.
            TerminalKey::Tab => {
                self.stage = ApprovalPromptStage::Shown(self.typed_at);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.decide(decision, always)
    }

    /// Somebody types why not.
    pub(super) fn on_reason_key(&mut self, key: &TerminalKey) -> Vec<ScreenAction> {
        match self.editor.apply_key(key) {
            EditorOutcome::Handled | EditorOutcome::Ignored | EditorOutcome::Full => Vec::new(),
            EditorOutcome::Submit => {
                let why = self.editor.put_aside().trim().to_owned();
                self.decide(ToolDecision::Deny((!why.is_empty()).then_some(why)), None)
            }
        }
    }

    pub(super) fn decide(
        &mut self,
        decision: ToolDecision,
        always: Option<String>,
    ) -> Vec<ScreenAction> {
        let Some(ask) = self.asks.front().cloned() else { return Vec::new() };
        self.remove_question();
        let mut acts =
            vec![ScreenAction::Decide { number: ask.number, decision, always: always.clone() }];
        // Those that wait behind it are allowed by the same word.
        while let Some(tool) = &always
            && let Some(next) = self.asks.front().filter(|next| next.tool == *tool)
        {
            acts.push(ScreenAction::Decide {
                number: next.number,
                decision: ToolDecision::Allow,
                always: None,
            });
            self.remove_question();
        }
        acts
    }

    /// Nobody wants to know any more.
    pub(super) fn cancel_question(&mut self, call: &str) {
        if self.asks.front().is_some_and(|ask| ask.call == call) {
            self.remove_question();
        } else {
            self.asks.retain(|ask| ask.call != call);
        }
    }

    /// The first question is over. What was in the editor before stands in it again.
    pub(super) fn remove_question(&mut self) {
        self.asks.pop_front();
        if let ApprovalPromptStage::TypingReason(aside) =
            std::mem::replace(&mut self.stage, ApprovalPromptStage::New)
        {
            self.editor.take();
            self.editor.set(&aside);
        }
    }
}
