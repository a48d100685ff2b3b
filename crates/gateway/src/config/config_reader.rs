//! Reads settings from all layers, remembers their origin, and collects issues instead of stopping
//! at the first.

use std::{path::PathBuf, sync::Arc};

use super::{
    ConfigIssue, ConfigIssueSeverity, SettingOrigin,
    document::{TomlTable, TomlValue},
    environment::{ConfigEnvironment, ConfigFlags},
    nearest::nearest,
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

/// A value and its origin.
#[derive(Clone, Debug)]
pub(super) struct SettingValue<T> {
    pub(super) value: T,
    pub(super) origin: SettingOrigin,
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
}

/// A section that is being read.
pub(super) struct SectionReader<'d> {
    /// The prefix of its keys in messages, such as `limits`.
    pub(super) name: String,
    pub(super) section: ConfigSection,
    table: Option<TomlTable<'d>>,
    known_keys: Vec<&'static str>,
}

impl<'w> ConfigReader<'w> {
    pub(super) fn new(
        environment: &'w dyn ConfigEnvironment,
        flags: &'w ConfigFlags,
    ) -> ConfigReader<'w> {
        ConfigReader {
            environment,
            flags,
            folder: None,
            inline_secret: None,
            issues: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Reports an issue that prevents the start.
    pub(super) fn report_error(
        &mut self,
        origin: &SettingOrigin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push_issue(
            ConfigIssueSeverity::Error,
            origin,
            key.into(),
            message.into(),
            help.into(),
        );
    }

    /// Reports an issue that does not prevent the start.
    pub(super) fn report_warning(
        &mut self,
        origin: &SettingOrigin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.push_issue(
            ConfigIssueSeverity::Warning,
            origin,
            key.into(),
            message.into(),
            help.into(),
        );
    }

    fn push_issue(
        &mut self,
        severity: ConfigIssueSeverity,
        origin: &SettingOrigin,
        key: String,
        message: String,
        help: String,
    ) {
        let help = Some(help).filter(|help| !help.is_empty());
        self.issues.push(ConfigIssue { severity, origin: origin.clone(), key, message, help });
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
                self.report_error(&origin, "", "this is no text", "set it to UTF-8");
                None
            }
        }
    }

    /// Reads a setting: its default, or the value of the file, a variable or a flag.
    pub(super) fn read_setting<T: ConfigValue>(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
        default: T,
    ) -> SettingValue<T> {
        let default_text = default.to_toml();
        let mut set = SettingValue { value: default, origin: SettingOrigin::Default };
        let full_key = section.full_key(key);
        for (text, origin) in self.read_layers(section, key) {
            match T::read(&text) {
                Some(value) => set = SettingValue { value, origin },
                None => {
                    let message = format!("{} does not fit", quote(&excerpt(&text)));
                    self.report_error(
                        &origin,
                        &full_key,
                        message,
                        format!("it is {}", T::expected()),
                    );
                }
            }
        }
        let value_text = set.value.to_toml();
        let is_default = value_text == default_text;
        section.section.settings.push(ConfigSetting {
            key: key.to_owned(),
            value: value_text,
            origin: set.origin.clone(),
            is_default,
        });
        set
    }

    /// Like `read_setting`, for a value that must not be zero.
    pub(super) fn read_positive<T: ConfigValue + PartialEq + ZeroSetting>(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
        default: T,
    ) -> SettingValue<T> {
        let set = self.read_setting(section, key, default);
        if set.value == T::ZERO_VALUE {
            self.report_error(
                &set.origin,
                section.full_key(key),
                "it has to be more than nothing",
                "",
            );
        }
        set
    }

    /// The values of the file, the variables and the flag, in order of increasing priority.
    pub(super) fn read_layers(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let mut layers: Vec<(String, SettingOrigin)> =
            self.read_text(section, key).into_iter().collect();
        let full_key = section.full_key(key);
        // The first of several names has the highest priority.
        for name in variables_for(&full_key).iter().rev() {
            layers.extend(self.read_variable(name));
        }
        if let Some((name, text)) = flag_for(self.flags, &full_key) {
            layers.push((text.to_owned(), SettingOrigin::Flag(name)));
        }
        layers
    }

    /// Reads a string, an integer or a boolean of the file, as text.
    pub(super) fn read_text(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Option<(String, SettingOrigin)> {
        let found = section.take_value(key)?;
        let text = found.scalar();
        if text.is_none() {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                section.full_key(key),
                message,
                "it is one value, as \"text\"",
            );
        }
        text.map(|text| (text, found.origin()))
    }

    /// Reads a list of texts in the file.
    pub(super) fn read_texts(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let Some(found) = section.take_value(key) else { return Vec::new() };
        let texts: Option<Vec<_>> = found.list().and_then(|list| {
            list.iter().map(|found| Some((found.scalar()?, found.origin()))).collect()
        });
        texts.unwrap_or_else(|| {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                section.full_key(key),
                message,
                "it is a list: [\"a\", \"b\"]",
            );
            Vec::new()
        })
    }

    /// Reads a list of texts in the file, or one text.
    pub(super) fn read_text_or_texts(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let one = section.take_value(key).and_then(|found| Some((found.scalar()?, found.origin())));
        match one {
            Some(one) => vec![one],
            None => self.read_texts(section, key),
        }
    }

    /// Reads a table of texts in the file.
    pub(super) fn read_pairs(
        &mut self,
        section: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, String, SettingOrigin)> {
        let Some(found) = section.take_value(key) else { return Vec::new() };
        let Some(table) = found.table() else {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                section.full_key(key),
                message,
                "it is a table: { a = \"b\" }",
            );
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, origin) in table.keys() {
            match table.get(name).and_then(|found| found.scalar()) {
                Some(text) => pairs.push((name.to_owned(), text, origin)),
                None => {
                    let full_key = format!("{}.{}", section.full_key(key), excerpt(name));
                    self.report_error(
                        &origin,
                        full_key,
                        "it is no text",
                        "write { name = \"value\" }",
                    );
                }
            }
        }
        pairs
    }

    /// Opens a table, which may be missing.
    pub(super) fn open_section<'d>(
        &mut self,
        root: &mut SectionReader<'d>,
        key: &'static str,
    ) -> SectionReader<'d> {
        let table = root.take_value(key).and_then(|found| {
            let table = found.table();
            if table.is_none() {
                let help = format!("write it as `[{key}]`");
                self.report_error(
                    &found.origin(),
                    key,
                    format!("{} does not fit", found.kind_name()),
                    help,
                );
            }
            table
        });
        SectionReader::new(key, format!("[{key}]"), table)
    }

    /// Opens all tables of a list, such as `[[upstream]]`.
    pub(super) fn open_sections<'d>(
        &mut self,
        root: &mut SectionReader<'d>,
        key: &'static str,
    ) -> Vec<SectionReader<'d>> {
        let Some(found) = root.take_value(key) else { return Vec::new() };
        let tables: Option<Vec<TomlTable<'d>>> =
            found.list().and_then(|list| list.iter().map(TomlValue::table).collect());
        let Some(tables) = tables else {
            let help = format!("write `[[{key}]]` above each of them");
            self.report_error(
                &found.origin(),
                key,
                format!("{} does not fit", found.kind_name()),
                help,
            );
            return Vec::new();
        };
        tables
            .into_iter()
            .map(|table| SectionReader::new(key, format!("[[{key}]]"), Some(table)))
            .collect()
    }

    /// Ends a section: unknown keys are errors.
    pub(super) fn close_section(&mut self, section: SectionReader<'_>) {
        for (key, origin) in section.table.iter().flat_map(TomlTable::keys) {
            if section.known_keys.contains(&key) {
                continue;
            }
            let help = match nearest(key, section.known_keys.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known here: {}", section.known_keys.join(", ")),
            };
            self.report_error(
                &origin,
                section.full_key(&excerpt(key)),
                "there is no such key",
                help,
            );
        }
        self.sections.push(section.section);
    }
}

impl<'d> SectionReader<'d> {
    pub(super) fn new(
        name: impl Into<String>,
        header: String,
        table: Option<TomlTable<'d>>,
    ) -> SectionReader<'d> {
        let section = ConfigSection { header, settings: Vec::new() };
        SectionReader { name: name.into(), section, table, known_keys: Vec::new() }
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
        self.table.is_some_and(|table| table.get(key).is_some())
    }

    /// Marks a key as known, for keys that are read only if they are set.
    pub(super) fn mark_known(&mut self, key: &'static str) {
        self.take_value(key);
    }

    /// Adds a setting that was read in another way.
    pub(super) fn add_setting(&mut self, key: &str, value: String, origin: &SettingOrigin) {
        let is_default = *origin == SettingOrigin::Default;
        let key = key.to_owned();
        self.section.settings.push(ConfigSetting {
            key,
            value,
            origin: origin.clone(),
            is_default,
        });
    }

    fn take_value(&mut self, key: &'static str) -> Option<TomlValue<'d>> {
        if !self.known_keys.contains(&key) {
            self.known_keys.push(key);
        }
        self.table?.get(key)
    }
}

/// A value with a zero.
pub(super) trait ZeroSetting {
    const ZERO_VALUE: Self;
}

impl ZeroSetting for usize {
    const ZERO_VALUE: usize = 0;
}

impl ZeroSetting for super::values::ByteSize {
    const ZERO_VALUE: super::values::ByteSize = super::values::ByteSize(0);
}

impl ZeroSetting for std::time::Duration {
    const ZERO_VALUE: std::time::Duration = std::time::Duration::ZERO;
}

/// The variables that set a key, by priority.
pub(super) fn variables_for(key: &str) -> &'static [&'static str] {
    match key {
        "listen" => &["FOXWEDGE_LISTEN"],
        "store" => &["FOXWEDGE_STORE"],
        "guard.mode" => &["FOXWEDGE_MODE"],
        "guard.language" => &["FOXWEDGE_LANG"],
        "record.runs" => &["FOXWEDGE_RECORD"],
        "record.content" => &["FOXWEDGE_CONTENT"],
        "telemetry.log" => &["FOXWEDGE_LOG"],
        "telemetry.otlp" => &["FOXWEDGE_OTLP", "OTEL_EXPORTER_OTLP_ENDPOINT"],
        _ => &[],
    }
}

/// The flag that sets a key, and its value.
fn flag_for<'f>(flags: &'f ConfigFlags, key: &str) -> Option<(&'static str, &'f str)> {
    let (name, value) = match key {
        "listen" => ("--listen", &flags.listen),
        "store" => ("--store", &flags.store),
        "guard.mode" => ("--mode", &flags.mode),
        "record.runs" => ("--record", &flags.record),
        "record.content" => ("--content", &flags.content),
        "telemetry.log" => ("--log", &flags.log),
        _ => return None,
    };
    Some((name, value.as_deref()?))
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
