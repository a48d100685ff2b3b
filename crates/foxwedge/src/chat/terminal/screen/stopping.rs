//! Stopping, clearing and leaving: what Esc and Ctrl-C mean, when.

use super::{Act, Screen, TWICE, Work};
use crate::chat::terminal::ask::Stage;

impl Screen {
    pub(super) fn interrupt(&mut self, now: u64) -> Vec<Act> {
        match self.work {
            Work::Busy { presses: 2.., .. } => vec![Act::Leave(130)],
            Work::Busy { .. } => self.press(),
            Work::Idle if !self.editor.is_empty() => {
                self.editor.take();
                self.interrupted_at = Some(now);
                self.hint("cleared; the up arrow brings it back", now);
                Vec::new()
            }
            Work::Idle => match self.interrupted_at {
                Some(at) if now.saturating_sub(at) <= TWICE => vec![Act::Leave(0)],
                Some(_) | None => {
                    self.interrupted_at = Some(now);
                    self.hint("press Ctrl-D or Ctrl-C again to leave", now);
                    Vec::new()
                }
            },
        }
    }

    pub(super) fn escape(&mut self, now: u64) -> Vec<Act> {
        if let Stage::Why(aside) = &self.stage {
            let aside = aside.clone();
            self.editor.set(&aside);
            self.stage = Stage::Turned;
            return Vec::new();
        }
        match self.work {
            // More than force there is not, and nobody leaves by an Esc.
            Work::Busy { presses: 2.., .. } => Vec::new(),
            Work::Busy { .. } => self.press(),
            Work::Idle => {
                let again = self.esc_at.is_some_and(|at| now.saturating_sub(at) <= TWICE);
                self.esc_at = (!again).then_some(now);
                if !self.editor.is_empty() && again {
                    self.editor.take();
                    self.hint("cleared; the up arrow brings it back", now);
                } else if !self.editor.is_empty() {
                    self.hint("Esc again clears the input", now);
                }
                Vec::new()
            }
        }
    }

    pub(super) fn press(&mut self) -> Vec<Act> {
        if let Work::Busy { presses, .. } = &mut self.work {
            *presses += 1;
        }
        vec![Act::Press]
    }
}
