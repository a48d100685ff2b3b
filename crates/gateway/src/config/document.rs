//! A TOML file with line numbers.
//!
//! The tables are walked by hand and not with serde's derive: a derive stops at the first error and
//! loses the line numbers, and operators need all errors with their lines at once.

use std::{ops::Range, sync::Arc};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::SettingOrigin;

/// A parsed file.
pub(super) struct ConfigDocument<'t> {
    path: Arc<str>,
    text: &'t str,
    root: Spanned<DeTable<'t>>,
}

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct TomlTable<'d> {
    path: &'d Arc<str>,
    text: &'d str,
    table: &'d DeTable<'d>,
    start: usize,
}

/// A value of a table.
#[derive(Clone, Copy)]
pub(super) struct TomlValue<'d> {
    table: TomlTable<'d>,
    value: &'d Spanned<DeValue<'d>>,
}

/// A syntax error, with its line.
pub(super) struct TomlError {
    pub(super) origin: SettingOrigin,
    pub(super) message: String,
    pub(super) help: String,
}

impl<'t> ConfigDocument<'t> {
    /// Parses a file. Errors do not quote the line: it may contain a key.
    pub(super) fn parse(
        path: Arc<str>,
        text: &'t str,
    ) -> Result<ConfigDocument<'t>, Vec<TomlError>> {
        let (root, errors) = DeTable::parse_recoverable(text);
        if errors.is_empty() {
            return Ok(ConfigDocument { path, text, root });
        }
        let toml_error = |error: &toml::de::Error| TomlError {
            origin: origin(&path, text, error.span().map_or(0, |span| span.start)),
            message: error.message().lines().next().unwrap_or_default().to_owned(),
            help: match error.span().and_then(|span| unquoted_key(text, span.start)) {
                Some(key) => format!("put text in quotes: `{key} = \"…\"`"),
                None => "the file must be valid TOML".to_owned(),
            },
        };
        Err(errors.iter().map(toml_error).collect())
    }

    /// The top-level table.
    pub(super) fn root(&self) -> TomlTable<'_> {
        TomlTable { path: &self.path, text: self.text, table: self.root.get_ref(), start: 0 }
    }
}

impl<'d> TomlTable<'d> {
    /// Where the table starts.
    pub(super) fn origin(&self) -> SettingOrigin {
        origin(self.path, self.text, self.start)
    }

    /// The value of a key.
    pub(super) fn get(&self, key: &str) -> Option<TomlValue<'d>> {
        let value = self.table.get(key)?;
        Some(TomlValue { table: *self, value })
    }

    /// Every key and its origin.
    pub(super) fn keys(&self) -> impl Iterator<Item = (&'d str, SettingOrigin)> + use<'d> {
        let table = *self;
        table.table.keys().map(move |key| {
            let Range { start, .. } = key.span();
            (key.get_ref().as_ref(), origin(table.path, table.text, start))
        })
    }
}

impl<'d> TomlValue<'d> {
    /// Where the value is.
    pub(super) fn origin(&self) -> SettingOrigin {
        origin(self.table.path, self.table.text, self.value.span().start)
    }

    /// The type of the value, for error messages.
    pub(super) fn kind_name(&self) -> &'static str {
        match self.value.get_ref() {
            DeValue::String(_) => "a string",
            DeValue::Integer(_) => "a number",
            DeValue::Float(_) => "a number with a fraction",
            DeValue::Boolean(_) => "a boolean",
            DeValue::Datetime(_) => "a date",
            DeValue::Array(_) => "a list",
            DeValue::Table(_) => "a table",
        }
    }

    /// A string, an integer or a boolean, as text.
    pub(super) fn scalar(&self) -> Option<String> {
        match self.value.get_ref() {
            DeValue::String(text) => Some(text.to_string()),
            DeValue::Boolean(value) => Some(value.to_string()),
            DeValue::Integer(number) => {
                let number = i64::from_str_radix(number.as_str(), number.radix()).ok()?;
                Some(number.to_string())
            }
            DeValue::Float(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
                None
            }
        }
    }

    /// The values of an array.
    pub(super) fn list(&self) -> Option<Vec<TomlValue<'d>>> {
        let DeValue::Array(values) = self.value.get_ref() else { return None };
        Some(values.iter().map(|value| TomlValue { table: self.table, value }).collect())
    }

    /// The table.
    pub(super) fn table(&self) -> Option<TomlTable<'d>> {
        let DeValue::Table(table) = self.value.get_ref() else { return None };
        Some(TomlTable { table, start: self.value.span().start, ..self.table })
    }
}

/// The key of the line at a byte, if a text without quotes may be its value.
fn unquoted_key(text: &str, at: usize) -> Option<&str> {
    let start = text.get(..at)?.rfind('\n').map_or(0, |end| end + 1);
    let (key, value) = text.get(start..)?.lines().next()?.split_once('=')?;
    let key = key.trim();
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_unquoted = !value.trim_start().starts_with(['"', '\'', '[', '{']);
    (!key.is_empty() && key.chars().all(is_key) && is_unquoted && at > start).then_some(key)
}

fn origin(path: &Arc<str>, text: &str, at: usize) -> SettingOrigin {
    let before = text.as_bytes().get(..at).unwrap_or_default();
    let line = 1 + before.iter().filter(|byte| **byte == b'\n').count();
    SettingOrigin::File { path: Arc::clone(path), line }
}
