//! Completion of commands.

use super::TerminalScreen;

impl TerminalScreen {
    /// Completes the typed command to the longest common prefix of all matches.
    pub(super) fn complete(&mut self) {
        let found = self.completions();
        let Some(first) = found.first() else { return };
        let common = found.iter().fold(first.as_str(), |common, name| {
            let same = common.bytes().zip(name.bytes()).take_while(|(a, b)| a == b).count();
            common.get(..same).unwrap_or_default()
        });
        let text = if found.len() == 1 { format!("{common} ") } else { common.to_owned() };
        self.editor.set(&text);
    }

    /// The names of commands that start with the typed text.
    pub(super) fn completions(&self) -> Vec<String> {
        self.matching_commands().map(|(name, _)| name.clone()).collect()
    }

    /// The commands that start with the typed text, with their help.
    pub(in crate::terminal) fn matching_commands(&self) -> impl Iterator<Item = &(String, String)> {
        let typed = self.editor.text();
        let is_command = typed.starts_with('/') && !typed.contains(char::is_whitespace);
        self.commands.iter().filter(move |(name, _)| is_command && name.starts_with(typed))
    }
}
