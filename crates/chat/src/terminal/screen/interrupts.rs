//! Stopping, clearing and leaving: what Esc and Ctrl-C do in each state.

use super::{DOUBLE_PRESS_MILLIS, ScreenAction, ScreenWork, TerminalScreen};
use crate::terminal::approval_prompt::ApprovalPromptStage;

impl TerminalScreen {
    pub(super) fn interrupt(&mut self, now: u64) -> Vec<ScreenAction> {
        match self.work {
            ScreenWork::Busy { presses: 2.., .. } => vec![ScreenAction::Leave(130)],
            ScreenWork::Busy { .. } => self.request_stop(),
            ScreenWork::Idle if !self.editor.is_empty() => {
                self.editor.take();
                self.interrupted_at = Some(now);
                self.show_hint("cleared; press Up to restore it", now);
                Vec::new()
            }
            ScreenWork::Idle => match self.interrupted_at {
                Some(at) if now.saturating_sub(at) <= DOUBLE_PRESS_MILLIS => {
                    vec![ScreenAction::Leave(0)]
                }
                Some(_) | None => {
                    self.interrupted_at = Some(now);
                    self.show_hint("press Ctrl-D or Ctrl-C again to leave", now);
                    Vec::new()
                }
            },
        }
    }

    pub(super) fn escape(&mut self, now: u64) -> Vec<ScreenAction> {
        if let ApprovalPromptStage::TypingReason(aside) = &self.stage {
            let aside = aside.clone();
            self.editor.set(&aside);
            self.stage = ApprovalPromptStage::Focused;
            return Vec::new();
        }
        match self.work {
            // Nothing is stronger than force, and Esc does not exit.
            ScreenWork::Busy { presses: 2.., .. } => Vec::new(),
            ScreenWork::Busy { .. } => self.request_stop(),
            ScreenWork::Idle => {
                let again =
                    self.esc_at.is_some_and(|at| now.saturating_sub(at) <= DOUBLE_PRESS_MILLIS);
                self.esc_at = (!again).then_some(now);
                if !self.editor.is_empty() && again {
                    self.editor.take();
                    self.show_hint("cleared; press Up to restore it", now);
                } else if !self.editor.is_empty() {
                    self.show_hint("Esc again clears the input", now);
                }
                Vec::new()
            }
        }
    }

    pub(super) fn request_stop(&mut self) -> Vec<ScreenAction> {
        if let ScreenWork::Busy { presses, .. } = &mut self.work {
            *presses += 1;
        }
        vec![ScreenAction::Interrupt]
    }
}
