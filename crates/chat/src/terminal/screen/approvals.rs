//! Approval prompts: which key is an answer, and what it does.

use foxwedge_agent_loop::tool_loop::ToolDecision;

use super::{ScreenAction, ScreenBlock, TerminalScreen};
use crate::allow_rules::AllowRule;
use crate::terminal::{
    approval_prompt::{ApprovalPrompt, ApprovalPromptStage, QUIET_MILLIS},
    approver::RuleScope,
    editor::EditorOutcome,
    keys::TerminalKey,
};

impl TerminalScreen {
    /// Adds an approval prompt.
    pub(in crate::terminal) fn add_question(&mut self, prompt: ApprovalPrompt) {
        self.asks.push_back(prompt);
    }

    /// Records that the current state has been drawn.
    pub(in crate::terminal) fn on_drawn(&mut self, now: u64) {
        if self.stage == ApprovalPromptStage::New && !self.asks.is_empty() {
            self.stage = ApprovalPromptStage::Shown(now);
        }
    }

    /// Whether a key counts as an answer.
    pub(in crate::terminal) fn accepts_answer(&self, now: u64) -> bool {
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
        let Some(prompt) = self.asks.front() else { return Vec::new() };
        let (decision, always) = match key {
            TerminalKey::Char('y' | 'Y') => (ToolDecision::Allow, None),
            TerminalKey::Char('a' | 'A') => {
                (ToolDecision::Allow, Some((prompt.rule(), RuleScope::Program)))
            }
            TerminalKey::Char('p' | 'P') => {
                (ToolDecision::Allow, Some((prompt.rule(), RuleScope::Folder)))
            }
            TerminalKey::Char('n' | 'N') => (ToolDecision::Deny(None), None),
            TerminalKey::Char('t' | 'T') => {
                self.stage = ApprovalPromptStage::TypingReason(self.editor.put_aside());
                return Vec::new();
            }
            TerminalKey::Char('v' | 'V') => {
                let rows = prompt.all_rows(self.signs, self.width);
                self.push_block(ScreenBlock::Note, rows);
                return Vec::new();
            }
            // Tab again returns to the editor.
            TerminalKey::Tab => {
                self.stage = ApprovalPromptStage::Shown(self.typed_at);
                return Vec::new();
            }
            _ => return Vec::new(),
        };
        self.decide(decision, always)
    }

    /// Handles a key while the user types a reason.
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
        always: Option<(AllowRule, RuleScope)>,
    ) -> Vec<ScreenAction> {
        let Some(prompt) = self.asks.front().cloned() else { return Vec::new() };
        self.remove_question();
        let mut actions =
            vec![ScreenAction::Decide { number: prompt.number, decision, always: always.clone() }];
        // The following prompts that the rule allows are answered too.
        while let Some((rule, _)) = &always
            && let Some(next) =
                self.asks.front().filter(|next| rule.allows(&next.tool, &next.input))
        {
            actions.push(ScreenAction::Decide {
                number: next.number,
                decision: ToolDecision::Allow,
                always: None,
            });
            self.remove_question();
        }
        actions
    }

    /// Removes the prompt of a call that no longer waits.
    pub(super) fn cancel_question(&mut self, call: &str) {
        if self.asks.front().is_some_and(|prompt| prompt.call == call) {
            self.remove_question();
        } else {
            self.asks.retain(|prompt| prompt.call != call);
        }
    }

    /// Removes the first prompt and restores the text that was in the editor before.
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
