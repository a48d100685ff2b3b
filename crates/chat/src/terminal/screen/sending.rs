//! What happens to a text that is sent: it runs, waits in the queue, or is handled by the screen.

use super::{ScreenAction, ScreenWork, THOUGHTS_COMMAND, TerminalScreen};

impl TerminalScreen {
    /// Sends a text, which is shown in another form if it holds long pastes.
    pub(super) fn submit(&mut self, text: String, shown: &str) -> Vec<ScreenAction> {
        let trimmed = match text.trim() {
            "?" => "/help",
            trimmed => trimmed,
        };
        if trimmed == THOUGHTS_COMMAND {
            self.toggle_thoughts(self.typed_at);
            return Vec::new();
        }
        match self.work {
            ScreenWork::Busy { .. } => {
                self.queue.push(text);
                vec![ScreenAction::SaveQueue(self.queue.clone())]
            }
            ScreenWork::Idle => {
                self.echo_prompt(shown);
                match is_command(trimmed) {
                    true => vec![ScreenAction::Command(trimmed.to_owned())],
                    // Two slashes at the start of a prompt stand for one.
                    false => {
                        let unescaped =
                            trimmed.strip_prefix('/').filter(|rest| rest.starts_with('/'));
                        let text = unescaped.map(str::to_owned).unwrap_or(text);
                        vec![ScreenAction::Send(text)]
                    }
                }
            }
        }
    }

    /// Sends the first queued prompt. It leaves the queue when its run starts.
    pub(super) fn send_queued(&mut self) -> Vec<ScreenAction> {
        let Some(text) = self.queue.first().cloned() else { return Vec::new() };
        self.sending = true;
        let actions = self.submit(text.clone(), &text);
        if actions.is_empty() {
            // The terminal handled it itself.
            self.sending = false;
            self.queue.remove(0);
            return vec![ScreenAction::SaveQueue(self.queue.clone())];
        }
        actions
    }

    /// The queued prompts without the one that is being sent.
    pub(in crate::terminal) fn queued_prompts(&self) -> &[String] {
        self.queue.get(usize::from(self.sending)..).unwrap_or_default()
    }
}

/// Whether a line is a command of ours, or one for the shell. A path is not: `/etc/hosts is odd` is a
/// prompt.
fn is_command(line: &str) -> bool {
    if line.strip_prefix('!').is_some_and(|command| !command.trim().is_empty()) {
        return true;
    }
    let word = line.split_whitespace().next().unwrap_or_default();
    word.strip_prefix('/').is_some_and(|name| !name.is_empty() && !name.contains('/'))
}
