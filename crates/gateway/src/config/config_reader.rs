//! Reads settings from all layers, remembers their origin, and collects issues instead of stopping
//! at the first.

use std::{path::PathBuf, sync::Arc};

use foxwedge_core::{Format, nearest_name};

use super::{
    ConfigIssue, ConfigIssueSeverity, SettingOrigin,
    document::{TomlTable, TomlValue},
    environment::{ConfigEnvironment, ConfigFlags},
    setting_row::{SectionTable, SettingRow},
    values::{ConfigValue, quote},
};

/// One section of a configuration, such as `[limits]` or one `[[upstream]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigSection {
    /// The header as in a file; empty for the settings before the first header.
    pub header: String,
    /// Its settings, in reading order.
    pub settings: Vec<ConfigSetting>,
}

/// One value and its origin.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigSetting {
    /// Its key.
    pub key: String,
    /// The value as in a file; `"[secret]"` for a secret.
    pub value: String,
    /// The origin.
    pub origin: SettingOrigin,
    /// Whether the value equals the default.
    pub is_default: bool,
}

/// Reads a configuration, and collects its sections and issues.
pub(super) struct ConfigReader<'w> {
    pub(super) environment: &'w dyn ConfigEnvironment,
    pub(super) flags: &'w ConfigFlags,
    /// The folder of the file.
    pub(super) folder: Option<PathBuf>,
    /// The first secret that is written in the file itself.
    pub(super) inline_secret: Option<SettingOrigin>,
    pub(super) issues: Vec<ConfigIssue>,
    pub(super) sections: Vec<ConfigSection>,
    /// What is declared about all sections.
    section_tables: Vec<SectionTable>,
}

/// A section that is being read.
pub(super) struct SectionReader<'d> {
    /// The prefix of its keys in messages, such as `limits`.
    pub(super) name: String,
    pub(super) section: ConfigSection,
    /// Its keys.
    pub(super) rows: Vec<SettingRow>,
    table: Option<TomlTable<'d>>,
}

impl<'w> ConfigReader<'w> {
    pub(super) fn new(
        environment: &'w dyn ConfigEnvironment,
        flags: &'w ConfigFlags,
        section_tables: Vec<SectionTable>,
    ) -> ConfigReader<'w> {
        ConfigReader {
            environment,
            flags,
            folder: None,
            inline_secret: None,
            issues: Vec::new(),
            sections: Vec::new(),
            section_tables,
        }
    }

    /// What is declared about a section; for `upstream`, the one of providers.
    pub(super) fn section_table(&self, name: &str) -> SectionTable {
        let mut tables = self.section_tables.iter();
        tables.find(|section| section.name == name).cloned().unwrap_or_default()
    }

    /// The settings before the first header.
    pub(super) fn root<'d>(&self, table: Option<TomlTable<'d>>) -> SectionReader<'d> {
        SectionReader { table, ..SectionReader::of(self.section_table("")) }
    }

    /// Reports an issue that prevents the start.
    pub(super) fn report_error(
        &mut self,
        origin: &SettingOrigin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        let (key, message, origin) = (key.into(), message.into(), origin.clone());
        let help = Some(help.into()).filter(|help| !help.is_empty());
        let severity = ConfigIssueSeverity::Error;
        self.issues.push(ConfigIssue { severity, origin, key, message, help });
    }

    /// Reports an issue that does not prevent the start.
    pub(super) fn report_warning(
        &mut self,
        origin: &SettingOrigin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.report_error(origin, key, message, help);
        if let Some(issue) = self.issues.last_mut() {
            issue.severity = ConfigIssueSeverity::Warning;
        }
    }

    /// Resolves a value of the form `env:NAME`; `None` if the variable is not set.
    pub(super) fn resolve_env(
        &mut self,
        text: String,
        origin: &SettingOrigin,
        full_key: &str,
    ) -> Option<String> {
        let Some(variable) = text.strip_prefix("env:") else { return Some(text) };
        let found = self.read_variable(variable).map(|(text, _)| text);
        if found.is_none() {
            let message = format!("the variable {variable} is not set");
            self.report_error(origin, full_key, message, format!("`export {variable}=…`"));
        }
        found
    }

    /// Reads a variable that is not empty. One that is not UTF-8 is an error.
    pub(super) fn read_variable(&mut self, name: &str) -> Option<(String, SettingOrigin)> {
        let value = self.environment.variable(name).filter(|value| !value.is_empty())?;
        let origin = SettingOrigin::Variable(name.into());
        match value.into_string() {
            Ok(text) => Some((text, origin)),
            Err(_) => {
                self.report_error(&origin, "", "the value is not UTF-8", "");
                None
            }
        }
    }

    /// Reads a setting of the table: its default, or the value of the file, a variable or a flag.
    /// With `base`, a setting that the file does not override has that value.
    pub(super) fn read_setting<K: ConfigValue>(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
        default: K::Value,
        base: Option<K::Value>,
    ) -> K::Value {
        let default = match base {
            Some(base) if !section.has(key) => return base,
            Some(base) => base,
            None => default,
        };
        let default_text = K::to_toml(&default);
        let (mut value, mut origin) = (default, SettingOrigin::Default);
        for (text, from) in self.read_layers(section, key) {
            if let Some(parsed) = self.parse::<K>(section, key, &text, &from) {
                (value, origin) = (parsed, from);
            }
        }
        self.check_range::<K>(section, key, &value, &origin);
        let value_text = K::to_toml(&value);
        let is_default = value_text == default_text;
        section.add_setting(key, value_text, &origin);
        if let Some(setting) = section.section.settings.last_mut() {
            setting.is_default = is_default;
        }
        value
    }

    /// Reads a setting of the file that has no default.
    pub(super) fn read_optional<K: ConfigValue>(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Option<K::Value> {
        let (text, origin) = self.read_text(section, key)?;
        let value = self.parse::<K>(section, key, &text, &origin)?;
        section.add_setting(key, K::to_toml(&value), &origin);
        self.check_range::<K>(section, key, &value, &origin);
        Some(value)
    }

    fn check_range<K: ConfigValue>(
        &mut self,
        section: &SectionReader<'_>,
        key: &str,
        value: &K::Value,
        origin: &SettingOrigin,
    ) {
        let (Some(row), Some(found)) = (section.row(key), K::amount(value)) else { return };
        let limit = |text| K::read(text).and_then(|limit| K::amount(&limit));
        let full_key = section.full_key(key);
        if limit(row.min).is_some_and(|min| found < min) {
            self.report_error(origin, full_key, format!("must be at least {}", row.min), "");
        } else if found == 0 && !row.may_be_zero {
            self.report_error(origin, full_key, "must be more than 0", "");
        } else if limit(row.max).is_some_and(|max| found > max) {
            self.report_error(origin, full_key, format!("must be at most {}", row.max), "");
        } else if limit(row.warn_below).is_some_and(|limit| found < limit) {
            let message = format!("{found} bytes is very small: agents need {}", row.warn_below);
            self.report_warning(origin, full_key, message, "a number without a unit is bytes");
        }
    }

    fn parse<K: ConfigValue>(
        &mut self,
        section: &SectionReader<'_>,
        key: &str,
        text: &str,
        origin: &SettingOrigin,
    ) -> Option<K::Value> {
        let value = K::read(text);
        if value.is_none() {
            let new_word = section.row(key).and_then(|row| row.new_word(text));
            let (message, help) = match new_word {
                Some(word) => (format!("`{text}` is now `{word}`"), String::new()),
                None => (invalid(text), format!("expected {}", K::expected())),
            };
            self.report_error(origin, section.full_key(key), message, help);
        }
        value
    }

    /// The values of the file, the variables and the flag, in order of increasing priority.
    pub(super) fn read_layers(
        &mut self,
        section: &SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let mut layers: Vec<_> = self.read_text(section, key).into_iter().collect();
        let Some(row) = section.row(key) else { return layers };
        if let Some((text, origin)) = self.read_variable(row.former_variable) {
            let new_name = row.variables.first().copied().unwrap_or_default();
            let message = format!("this variable is now `{new_name}`");
            let help = row.new_word(&text).map(|word| format!("`{new_name}={word}`"));
            self.report_error(&origin, "", message, help.unwrap_or_default());
        }
        // The first of several names has the highest priority.
        for name in row.variables.iter().rev() {
            layers.extend(self.read_variable(name));
        }
        let Some((name, value)) = row.flag else { return layers };
        if let Some((former, former_value)) = row.former_flag
            && let Some(text) = former_value(self.flags)
        {
            let message = format!("this flag is now `{name}`");
            let help = row.new_word(text).map(|word| format!("`{name} {word}`"));
            self.report_error(&SettingOrigin::Flag(former), "", message, help.unwrap_or_default());
        }
        let text = value(self.flags).clone();
        layers.extend(text.map(|text| (text, SettingOrigin::Flag(name))));
        layers
    }

    /// Reports a value of the wrong type.
    fn report_type(&mut self, found: &TomlValue<'_>, full_key: String, expected: &str) {
        let message = format!("invalid value: {}", found.kind_name());
        self.report_error(&found.origin(), full_key, message, format!("expected {expected}"));
    }

    /// Reports that a required key is missing.
    pub(super) fn report_missing(&mut self, section: &SectionReader<'_>, key: &str, help: &str) {
        self.report_error(&section.origin(), section.full_key(key), "missing", help);
    }

    /// Reads a string, an integer or a boolean of the file, as text.
    pub(super) fn read_text(
        &mut self,
        section: &SectionReader<'_>,
        key: &'static str,
    ) -> Option<(String, SettingOrigin)> {
        let found = section.value(key)?;
        let text = found.scalar();
        if text.is_none() {
            self.report_type(&found, section.full_key(key), "one value, such as \"text\"");
        }
        text.map(|text| (text, found.origin()))
    }

    /// Reads a list of texts in the file.
    pub(super) fn read_texts(
        &mut self,
        section: &SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let Some(found) = section.value(key) else { return Vec::new() };
        let texts: Option<Vec<_>> = found.list().and_then(|list| {
            list.iter().map(|found| Some((found.scalar()?, found.origin()))).collect()
        });
        texts.unwrap_or_else(|| {
            self.report_type(&found, section.full_key(key), "a list, such as [\"a\", \"b\"]");
            Vec::new()
        })
    }

    /// Reads a list of texts in the file, or one text.
    pub(super) fn read_text_or_texts(
        &mut self,
        section: &SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let one = section.value(key).and_then(|found| Some((found.scalar()?, found.origin())));
        match one {
            Some(one) => vec![one],
            None => self.read_texts(section, key),
        }
    }

    /// Reads a table of texts in the file.
    pub(super) fn read_pairs(
        &mut self,
        section: &SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, String, SettingOrigin)> {
        let Some(found) = section.value(key) else { return Vec::new() };
        let Some(table) = found.table() else {
            self.report_type(&found, section.full_key(key), "a table, such as { a = \"b\" }");
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, origin) in table.keys() {
            let Some(value) = table.get(name) else { continue };
            match value.scalar() {
                Some(text) => pairs.push((name.to_owned(), text, origin)),
                None => {
                    let full_key = format!("{}.{}", section.full_key(key), excerpt(name));
                    self.report_type(&value, full_key, "one value, such as \"text\"");
                }
            }
        }
        pairs
    }

    /// Reads a section with nothing but the keys of the table.
    pub(super) fn read_section<'d, T>(
        &mut self,
        root: &SectionReader<'d>,
        key: &'static str,
        read: fn(&mut ConfigReader<'w>, &mut SectionReader<'d>, Option<T>) -> T,
    ) -> T {
        let mut section = self.open_section(root, key);
        let value = read(self, &mut section, None);
        self.close_section(section);
        value
    }

    /// Opens a table, which may be missing. One with the former name is read, too; `close_section`
    /// reports that name.
    pub(super) fn open_section<'d>(
        &mut self,
        root: &SectionReader<'d>,
        key: &'static str,
    ) -> SectionReader<'d> {
        let spec = self.section_table(key);
        let former = Some(spec.former_name).filter(|name| !name.is_empty());
        let found = root.value(key).or_else(|| root.value(former?));
        let table = found.and_then(|found| {
            let table = found.table();
            if table.is_none() {
                self.report_type(&found, key.to_owned(), &format!("a table: `[{key}]`"));
            }
            table
        });
        SectionReader { table, ..SectionReader::of(spec) }
    }

    /// Opens all tables of a list, such as `[[upstream]]`.
    pub(super) fn open_sections<'d>(
        &mut self,
        root: &SectionReader<'d>,
        key: &'static str,
    ) -> Vec<SectionReader<'d>> {
        let Some(found) = root.value(key) else { return Vec::new() };
        let tables: Option<Vec<TomlTable<'d>>> =
            found.list().and_then(|list| list.iter().map(TomlValue::table).collect());
        let Some(tables) = tables else {
            self.report_type(&found, key.to_owned(), &format!("`[[{key}]]` above each table"));
            return Vec::new();
        };
        let open = |table| SectionReader {
            table: Some(table),
            ..SectionReader::of(self.section_table(key))
        };
        tables.into_iter().map(open).collect()
    }

    /// Ends a section: unknown keys are errors.
    pub(super) fn close_section(&mut self, section: SectionReader<'_>) {
        let mut known: Vec<(&str, &str)> =
            section.rows.iter().map(|row| (row.key, row.former)).collect();
        if section.name.is_empty() {
            let sections = self.section_tables.iter().skip(1);
            known.extend(sections.map(|section| (section.name, section.former_name)));
            known.dedup();
        }
        for (key, origin) in section.table.iter().flat_map(TomlTable::keys) {
            // `[check]` holds flags of `foxwedge check`.
            if known.iter().any(|(name, _)| *name == key) || section.full_key(key) == "check" {
                continue;
            }
            let renamed = known.iter().find(|(_, former)| *former == key && !key.is_empty());
            if let Some((name, _)) = renamed {
                let (former, new) = (section.full_key(key), section.full_key(name));
                let text = section.value(key).and_then(|value| value.scalar());
                let word = section.row(name).and_then(|row| row.new_word(&text?));
                let help = word.map(|word| format!("`{name} = {word}`")).unwrap_or_default();
                self.report_error(&origin, "", format!("`{former}` is now `{new}`"), help);
                continue;
            }
            let names: Vec<&str> = known.iter().map(|(name, _)| *name).collect();
            let help = match nearest_name(key, names.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known keys: {}", names.join(", ")),
            };
            self.report_error(&origin, section.full_key(&excerpt(key)), "unknown key", help);
        }
        self.sections.push(section.section);
    }
}

impl<'d> SectionReader<'d> {
    /// A section of the table, without a table of the file.
    pub(super) fn of(SectionTable { name, header, rows, .. }: SectionTable) -> SectionReader<'d> {
        let section = ConfigSection { header, settings: Vec::new() };
        SectionReader { name: name.to_owned(), section, rows, table: None }
    }

    /// Adds the formats of an upstream.
    pub(super) fn add_formats(&mut self, formats: &[Format], origin: &SettingOrigin) {
        let names: Vec<String> = formats.iter().map(Format::to_toml).collect();
        self.add_setting("formats", format!("[{}]", names.join(", ")), origin);
    }

    /// A key with the prefix of the section.
    pub(super) fn full_key(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Where the section starts.
    pub(super) fn origin(&self) -> SettingOrigin {
        self.table.map_or(SettingOrigin::Default, |table| table.origin())
    }

    /// Whether the file sets the key.
    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// The row of a key.
    pub(super) fn row(&self, key: &str) -> Option<&SettingRow> {
        self.rows.iter().find(|row| row.key == key)
    }

    /// The setting that was read for a key.
    pub(super) fn setting(&self, key: &str) -> Option<&ConfigSetting> {
        self.section.settings.iter().find(|setting| setting.key == key)
    }

    /// The origin of a setting that was read.
    pub(super) fn setting_origin(&self, key: &str) -> SettingOrigin {
        self.setting(key).map_or(SettingOrigin::Default, |setting| setting.origin.clone())
    }

    /// Adds a setting that was read in another way.
    pub(super) fn add_setting(&mut self, key: &str, value: String, origin: &SettingOrigin) {
        let (key, origin) = (key.to_owned(), origin.clone());
        let is_default = origin == SettingOrigin::Default;
        self.section.settings.push(ConfigSetting { key, value, origin, is_default });
    }

    fn value(&self, key: &str) -> Option<TomlValue<'d>> {
        self.table?.get(key)
    }
}

/// The message about a value that cannot be parsed.
pub(super) fn invalid(text: &str) -> String {
    format!("invalid value {}", quote(&excerpt(text)))
}

/// The start of a text, for messages.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The path of a file, for messages.
pub(super) fn display_path(path: &std::path::Path) -> Arc<str> {
    path.to_string_lossy().into()
}
