//! What is declared about a section and a key of the configuration.

use super::ConfigFlags;

/// One section: a table of the file, or one table of a list.
#[derive(Clone, Default)]
pub(super) struct SectionTable {
    /// Its name; empty for the settings before the first header.
    pub(super) name: &'static str,
    pub(super) former_name: &'static str,
    pub(super) header: String,
    pub(super) rows: Vec<SettingRow>,
}

/// One key of a section. Empty texts and lists mean that there is none.
#[derive(Clone, Default)]
#[cfg_attr(not(test), expect(dead_code, reason = "the manual is rendered by a test"))]
pub(super) struct SettingRow {
    pub(super) key: &'static str,
    /// One line for the manual.
    pub(super) doc: &'static str,
    /// The default or an example, as TOML.
    pub(super) value: String,
    /// Whether there is no default: the manual shows the example as a comment.
    pub(super) is_unset: bool,
    /// The allowed words.
    pub(super) words: Vec<&'static str>,
    /// Whether zero is allowed.
    pub(super) may_be_zero: bool,
    /// The smallest and the largest allowed value.
    pub(super) min: &'static str,
    pub(super) max: &'static str,
    /// Smaller values are probably mistakes.
    pub(super) warn_below: &'static str,
    /// The variables that set it; the first has the highest priority.
    pub(super) variables: &'static [&'static str],
    /// The flag that sets it.
    pub(super) flag: Option<SettingFlag>,
    /// The key in earlier versions.
    pub(super) former: &'static str,
    /// The words in earlier versions, and their new spelling.
    pub(super) former_words: &'static [(&'static str, &'static str)],
    /// The variable in earlier versions.
    pub(super) former_variable: &'static str,
    /// The flag in earlier versions.
    pub(super) former_flag: Option<SettingFlag>,
}

impl SettingRow {
    /// The new spelling of a former word.
    pub(super) fn new_word(&self, word: &str) -> Option<&'static str> {
        self.former_words.iter().find(|(former, _)| *former == word).map(|(_, new)| *new)
    }
}

/// The name of a flag, and its value.
pub(super) type SettingFlag = (&'static str, fn(&ConfigFlags) -> &Option<String>);
