//! Keys and tokens: written in the file, read from a variable, or stored in a separate file.
//!
//! Error messages about a secret contain no part of it.

use std::path::{Path, PathBuf};

use super::{
    FileExposure, SettingOrigin,
    config_reader::{ConfigReader, SectionReader, display_path},
    environment,
    values::quote,
};
use foxwedge_upstream::SecretText;

/// The placeholder for a secret wherever a configuration is shown.
pub(super) const REDACTED_SECRET: &str = "\"[secret]\"";

/// Maximum bytes of a secret.
const MAX_SECRET_BYTES: usize = 8 << 10;

/// Two keys for the same secret, such as `key` and `key_file`.
pub(super) struct SecretSource {
    pub(super) plain: Option<(String, SettingOrigin)>,
    pub(super) file: Option<(String, SettingOrigin)>,
    pub(super) names: (&'static str, &'static str),
}

impl SecretSource {
    /// Reads both keys of a section.
    pub(super) fn of(
        reader: &mut ConfigReader<'_>,
        section: &mut SectionReader<'_>,
        names: (&'static str, &'static str),
    ) -> SecretSource {
        SecretSource {
            plain: reader.read_text(section, names.0),
            file: reader.read_text(section, names.1),
            names,
        }
    }

    /// Whether neither is set.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_none() && self.file.is_none()
    }

    /// The secret from either key. `None` if it is missing or invalid.
    pub(super) fn read(
        self,
        reader: &mut ConfigReader<'_>,
        section: &mut SectionReader<'_>,
    ) -> Option<SecretText> {
        let (key, key_file) = self.names;
        match (self.plain, self.file) {
            (None, None) => None,
            (Some(_), Some((_, origin))) => {
                let message = format!("`{key}` is also set");
                let full_key = section.full_key(key_file);
                reader.report_error(&origin, full_key, message, "keep one of the two");
                None
            }
            (Some((text, origin)), None) => {
                let Some(name) = text.strip_prefix("env:") else {
                    section.add_setting(key, REDACTED_SECRET.to_owned(), &origin);
                    reader.inline_secret.get_or_insert_with(|| origin.clone());
                    return check_secret(reader, &origin, &section.full_key(key), &text);
                };
                read_secret_variable(reader, section, key, name, &origin)
            }
            (None, Some((path, origin))) => {
                section.add_setting(key_file, quote(&path), &origin);
                let path = reader.resolve_path(Path::new(&path));
                read_secret_file(reader, &path, &origin, &section.full_key(key_file))
            }
        }
    }
}

/// Reads a secret from a variable that the file names.
pub(super) fn read_secret_variable(
    reader: &mut ConfigReader<'_>,
    section: &mut SectionReader<'_>,
    key: &'static str,
    name: &str,
    origin: &SettingOrigin,
) -> Option<SecretText> {
    let variable_origin = SettingOrigin::Variable(name.into());
    section.add_setting(key, REDACTED_SECRET.to_owned(), &variable_origin);
    match reader.read_variable(name) {
        Some((text, _)) => check_secret(reader, &variable_origin, &section.full_key(key), &text),
        None => {
            let message = format!("the variable {name} is not set");
            let help = format!("`export {name}=…`");
            reader.report_error(origin, section.full_key(key), message, help);
            None
        }
    }
}

/// Reads a secret from a file of its own.
pub(super) fn read_secret_file(
    reader: &mut ConfigReader<'_>,
    path: &Path,
    origin: &SettingOrigin,
    key: &str,
) -> Option<SecretText> {
    match reader.environment.file(path) {
        Ok(found) => {
            warn_if_exposed(reader, path, origin, key, found.exposure);
            check_secret(reader, origin, key, found.text.trim())
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", display_path(path));
            let help = "expected a file with nothing but the secret";
            reader.report_error(origin, key, message, help);
            None
        }
    }
}

/// Checks that a secret can be sent. An empty one is an error, since it was probably left out by
/// mistake.
pub(super) fn check_secret(
    reader: &mut ConfigReader<'_>,
    origin: &SettingOrigin,
    key: &str,
    text: &str,
) -> Option<SecretText> {
    let message = match text {
        text if text.trim().is_empty() => "the secret is empty",
        text if text.len() > MAX_SECRET_BYTES => "the secret is too long",
        text if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "the secret contains a space or a character that cannot be sent"
        }
        text => return Some(SecretText::new(text)),
    };
    reader.report_error(origin, key, message, "");
    None
}

pub(super) fn warn_if_exposed(
    reader: &mut ConfigReader<'_>,
    path: &Path,
    origin: &SettingOrigin,
    key: &str,
    exposure: FileExposure,
) {
    let display = display_path(path);
    let access = match exposure {
        FileExposure::Private => return,
        FileExposure::Readable => "read",
        FileExposure::Writable => "change",
    };
    let message = format!("other users can {access} `{display}`");
    reader.report_warning(origin, key, message, format!("`chmod 600 {display}`"));
}

impl ConfigReader<'_> {
    /// Resolves a path: `~` is the home folder, and relative paths start at the folder of the file.
    pub(super) fn resolve_path(&self, path: &Path) -> PathBuf {
        if let Ok(below) = path.strip_prefix("~")
            && let Some(home) = environment::home(self.environment)
        {
            return home.join(below);
        }
        match &self.folder {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }
}
