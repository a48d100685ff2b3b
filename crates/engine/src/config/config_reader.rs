//! Reads one setting after the other over all layers, remembers who set it, and collects what is
//! wrong instead of stopping at it.

use std::{path::PathBuf, sync::Arc};

use super::{
    ConfigIssue, ConfigIssueSeverity, SettingOrigin,
    document::{TomlTable, TomlValue},
    environment::{ConfigEnvironment, ConfigFlags},
    nearest::nearest,
    values::{ConfigValue, quote},
};

/// One part of a configuration, as `[limits]` or one `[[upstream]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigSection {
    /// Its header as a file has it; empty for what stands before all headers.
    pub header: String,
    /// Its settings, in reading order.
    pub settings: Vec<ConfigSetting>,
}

/// One value, and who set it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ConfigSetting {
    /// Its key.
    pub key: String,
    /// Its value, as a file says it; `"[secret]"` for one.
    pub value: String,
    /// Who set it.
    pub origin: SettingOrigin,
    /// Whether it is what it would be if nobody had set it.
    pub is_default: bool,
}

/// A value and who set it.
#[derive(Clone, Debug)]
pub(super) struct SettingValue<T> {
    pub(super) value: T,
    pub(super) origin: SettingOrigin,
}

/// Where everything is read and written down.
pub(super) struct ConfigReader<'w> {
    pub(super) environment: &'w dyn ConfigEnvironment,
    pub(super) flags: &'w ConfigFlags,
    /// The folder of the file.
    pub(super) folder: Option<PathBuf>,
    /// The first place where a secret stands in the file itself.
    pub(super) inline_secret: Option<SettingOrigin>,
    pub(super) issues: Vec<ConfigIssue>,
    pub(super) sections: Vec<ConfigSection>,
}

/// A part that is being read.
pub(super) struct SectionReader<'d> {
    /// What stands before its keys in complaints, as `limits`.
    pub(super) name: String,
    pub(super) section: ConfigSection,
    table: Option<TomlTable<'d>>,
    known_keys: Vec<&'static str>,
}

impl<'w> ConfigReader<'w> {
    pub(super) fn new(
        world: &'w dyn ConfigEnvironment,
        flags: &'w ConfigFlags,
    ) -> ConfigReader<'w> {
        ConfigReader {
            environment: world,
            flags,
            folder: None,
            inline_secret: None,
            issues: Vec::new(),
            sections: Vec::new(),
        }
    }

    /// Something that stands in the way.
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

    /// Something that somebody should know.
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
        weight: ConfigIssueSeverity,
        origin: &SettingOrigin,
        key: String,
        message: String,
        help: String,
    ) {
        let help = Some(help).filter(|help| !help.is_empty());
        self.issues.push(ConfigIssue {
            severity: weight,
            origin: origin.clone(),
            key,
            message,
            help,
        });
    }

    /// A value, or what the variable holds that it names (`env:NAME`); `None` if that is not set.
    pub(super) fn resolve_env(
        &mut self,
        text: String,
        origin: &SettingOrigin,
        full: &str,
    ) -> Option<String> {
        let Some(variable) = text.strip_prefix("env:") else { return Some(text) };
        let found = self.read_variable(variable).map(|(text, _)| text);
        if found.is_none() {
            let message = format!("the variable {variable} is not set");
            self.report_error(origin, full, message, format!("`export {variable}=…`"));
        }
        found
    }

    /// A variable that is set to something. One that is no text is refused.
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

    /// A setting: its default, or what the file, a variable or a flag says.
    pub(super) fn read_setting<T: ConfigValue>(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
        default: T,
    ) -> SettingValue<T> {
        let usual = default.to_toml();
        let mut set = SettingValue { value: default, origin: SettingOrigin::Default };
        let full = part.full_key(key);
        for (text, origin) in self.read_layers(part, key) {
            match T::read(&text) {
                Some(value) => set = SettingValue { value, origin },
                None => {
                    let message = format!("{} does not fit", quote(&excerpt(&text)));
                    self.report_error(&origin, &full, message, format!("it is {}", T::expected()));
                }
            }
        }
        let shown = set.value.to_toml();
        let usual = shown == usual;
        part.section.settings.push(ConfigSetting {
            key: key.to_owned(),
            value: shown,
            origin: set.origin.clone(),
            is_default: usual,
        });
        set
    }

    /// The same, for a setting that may not be nothing.
    pub(super) fn read_positive<T: ConfigValue + PartialEq + ZeroSetting>(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
        default: T,
    ) -> SettingValue<T> {
        let set = self.read_setting(part, key, default);
        if set.value == T::ZERO_VALUE {
            self.report_error(
                &set.origin,
                part.full_key(key),
                "it has to be more than nothing",
                "",
            );
        }
        set
    }

    /// What the file, the variables and the flag say, the weakest first.
    pub(super) fn read_layers(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let mut all: Vec<(String, SettingOrigin)> = self.read_text(part, key).into_iter().collect();
        let full = part.full_key(key);
        // The first of several names is the strongest.
        for name in variables_for(&full).iter().rev() {
            all.extend(self.read_variable(name));
        }
        if let Some((name, text)) = flag_for(self.flags, &full) {
            all.push((text.to_owned(), SettingOrigin::Flag(name)));
        }
        all
    }

    /// A text of the file, a whole number, or true and false, as text.
    pub(super) fn read_text(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Option<(String, SettingOrigin)> {
        let found = part.take_value(key)?;
        let text = found.scalar();
        if text.is_none() {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                part.full_key(key),
                message,
                "it is one value, as \"text\"",
            );
        }
        text.map(|text| (text, found.origin()))
    }

    /// A list of texts in the file.
    pub(super) fn read_texts(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let Some(found) = part.take_value(key) else { return Vec::new() };
        let texts: Option<Vec<_>> = found.list().and_then(|list| {
            list.iter().map(|found| Some((found.scalar()?, found.origin()))).collect()
        });
        texts.unwrap_or_else(|| {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                part.full_key(key),
                message,
                "it is a list: [\"a\", \"b\"]",
            );
            Vec::new()
        })
    }

    /// A list of texts in the file, or one text.
    pub(super) fn read_text_or_texts(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, SettingOrigin)> {
        let one = part.take_value(key).and_then(|found| Some((found.scalar()?, found.origin())));
        match one {
            Some(one) => vec![one],
            None => self.read_texts(part, key),
        }
    }

    /// A table of texts in the file.
    pub(super) fn read_pairs(
        &mut self,
        part: &mut SectionReader<'_>,
        key: &'static str,
    ) -> Vec<(String, String, SettingOrigin)> {
        let Some(found) = part.take_value(key) else { return Vec::new() };
        let Some(page) = found.table() else {
            let message = format!("{} does not fit", found.kind_name());
            self.report_error(
                &found.origin(),
                part.full_key(key),
                message,
                "it is a table: { a = \"b\" }",
            );
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, origin) in page.keys() {
            match page.get(name).and_then(|found| found.scalar()) {
                Some(text) => pairs.push((name.to_owned(), text, origin)),
                None => {
                    let full = format!("{}.{}", part.full_key(key), excerpt(name));
                    self.report_error(&origin, full, "it is no text", "write { name = \"value\" }");
                }
            }
        }
        pairs
    }

    /// A table, whether it is there or not.
    pub(super) fn open_section<'d>(
        &mut self,
        root: &mut SectionReader<'d>,
        key: &'static str,
    ) -> SectionReader<'d> {
        let page = root.take_value(key).and_then(|found| {
            let page = found.table();
            if page.is_none() {
                let help = format!("write it as `[{key}]`");
                self.report_error(
                    &found.origin(),
                    key,
                    format!("{} does not fit", found.kind_name()),
                    help,
                );
            }
            page
        });
        SectionReader::new(key, format!("[{key}]"), page)
    }

    /// All tables of a list, as `[[upstream]]`.
    pub(super) fn open_sections<'d>(
        &mut self,
        root: &mut SectionReader<'d>,
        key: &'static str,
    ) -> Vec<SectionReader<'d>> {
        let Some(found) = root.take_value(key) else { return Vec::new() };
        let pages: Option<Vec<TomlTable<'d>>> =
            found.list().and_then(|list| list.iter().map(TomlValue::table).collect());
        let Some(pages) = pages else {
            let help = format!("write `[[{key}]]` above each of them");
            self.report_error(
                &found.origin(),
                key,
                format!("{} does not fit", found.kind_name()),
                help,
            );
            return Vec::new();
        };
        pages
            .into_iter()
            .map(|page| SectionReader::new(key, format!("[[{key}]]"), Some(page)))
            .collect()
    }

    /// Ends a part: keys that nobody asked for are told.
    pub(super) fn close_section(&mut self, part: SectionReader<'_>) {
        for (key, origin) in part.table.iter().flat_map(TomlTable::keys) {
            if part.known_keys.contains(&key) {
                continue;
            }
            let help = match nearest(key, part.known_keys.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known here: {}", part.known_keys.join(", ")),
            };
            self.report_error(&origin, part.full_key(&excerpt(key)), "there is no such key", help);
        }
        self.sections.push(part.section);
    }
}

impl<'d> SectionReader<'d> {
    pub(super) fn new(
        name: impl Into<String>,
        header: String,
        page: Option<TomlTable<'d>>,
    ) -> SectionReader<'d> {
        let block = ConfigSection { header, settings: Vec::new() };
        SectionReader { name: name.into(), section: block, table: page, known_keys: Vec::new() }
    }

    /// A key with what stands before it.
    pub(super) fn full_key(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Where it begins.
    pub(super) fn origin(&self) -> SettingOrigin {
        self.table.map_or(SettingOrigin::Default, |page| page.origin())
    }

    /// Whether a file says so.
    pub(super) fn has(&self, key: &str) -> bool {
        self.table.is_some_and(|page| page.get(key).is_some())
    }

    /// A key that may stand here, for those that are asked for only if they are there.
    pub(super) fn mark_known(&mut self, key: &'static str) {
        self.take_value(key);
    }

    /// Writes down a setting that was read in another way.
    pub(super) fn add_setting(&mut self, key: &str, value: String, origin: &SettingOrigin) {
        let usual = *origin == SettingOrigin::Default;
        let key = key.to_owned();
        self.section.settings.push(ConfigSetting {
            key,
            value,
            origin: origin.clone(),
            is_default: usual,
        });
    }

    fn take_value(&mut self, key: &'static str) -> Option<TomlValue<'d>> {
        if !self.known_keys.contains(&key) {
            self.known_keys.push(key);
        }
        self.table?.get(key)
    }
}

/// A value that is nothing.
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

/// The variables that set a key, the strongest first.
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

/// The flag that sets a key, and what it says.
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

/// The beginning of a text, for a complaint.
pub(super) fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The path of a file as it is told.
pub(super) fn display_path(path: &std::path::Path) -> Arc<str> {
    path.to_string_lossy().into()
}
