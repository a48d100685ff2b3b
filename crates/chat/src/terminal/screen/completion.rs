//! Completion of commands and of mentioned files.

use super::TerminalScreen;

/// Maximum number of files that are offered.
pub(in crate::terminal) const MAX_OFFERED_FILES: usize = 8;

impl TerminalScreen {
    /// Completes the typed command or file to the longest common prefix of all matches.
    pub(super) fn complete(&mut self) {
        if let Some(typed) = self.mention().map(str::to_owned) {
            self.complete_file(&typed);
            return;
        }
        let found = self.completions();
        let Some(common) = common_prefix(found.iter().map(String::as_str)) else { return };
        let text = if found.len() == 1 { format!("{common} ") } else { common };
        self.editor.set(&text);
    }

    fn complete_file(&mut self, typed: &str) {
        let found = self.matching_files();
        let starting: Vec<&str> =
            found.iter().copied().filter(|file| file.starts_with(typed)).collect();
        let word = match (common_prefix(starting.iter().copied()), found.first()) {
            (Some(common), _) if common.len() > typed.len() && starting.len() > 1 => {
                format!("@{common}")
            }
            (_, Some(first)) => format!("@{first} "),
            (_, None) => return,
        };
        self.editor.replace_word(&word);
    }

    /// What is typed after an `@` before the cursor.
    pub(in crate::terminal) fn mention(&self) -> Option<&str> {
        self.editor.word_before().strip_prefix('@')
    }

    /// The files for what is typed after an `@`: those that start with it, then those that have it in
    /// their name.
    pub(in crate::terminal) fn matching_files(&self) -> Vec<&str> {
        let Some(typed) = self.mention() else { return Vec::new() };
        let lower = typed.to_lowercase();
        let starts = self.files.iter().filter(|file| file.starts_with(typed));
        let others = self
            .files
            .iter()
            .filter(|file| !file.starts_with(typed) && file.to_lowercase().contains(&lower));
        starts.chain(others).map(String::as_str).take(100).collect()
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

fn common_prefix<'a>(mut names: impl Iterator<Item = &'a str>) -> Option<String> {
    let first = names.next()?;
    let common = names.fold(first, |common, name| {
        let same = common.chars().zip(name.chars()).take_while(|(a, b)| a == b);
        let bytes: usize = same.map(|(c, _)| c.len_utf8()).sum();
        common.get(..bytes).unwrap_or_default()
    });
    Some(common.to_owned())
}
