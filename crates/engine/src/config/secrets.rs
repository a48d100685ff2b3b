//! Keys and tokens: written plainly, named as a variable, or kept in a file of their own.
//!
//! What is wrong with one is told without a letter of it.

use std::path::{Path, PathBuf};

use super::{
    FileExposure, SettingOrigin,
    config_reader::{ConfigReader, SectionReader, display_path},
    environment,
    values::quote,
};
use crate::SecretText;

/// What stands for a secret wherever a configuration is shown.
pub(super) const REDACTED_SECRET: &str = "\"[secret]\"";

/// The most bytes of a secret.
const MAX_SECRET_BYTES: usize = 8 << 10;

/// Two keys that say the same thing: `key` and `key_file`.
pub(super) struct SecretSource {
    pub(super) plain: Option<(String, SettingOrigin)>,
    pub(super) file: Option<(String, SettingOrigin)>,
    pub(super) names: (&'static str, &'static str),
}

impl SecretSource {
    /// Both, as a part of the file has them.
    pub(super) fn of(
        desk: &mut ConfigReader<'_>,
        part: &mut SectionReader<'_>,
        names: (&'static str, &'static str),
    ) -> SecretSource {
        SecretSource {
            plain: desk.read_text(part, names.0),
            file: desk.read_text(part, names.1),
            names,
        }
    }

    /// Whether neither is there.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_none() && self.file.is_none()
    }

    /// The secret, whichever way it is given. `None` if there is none, or none that can be used.
    pub(super) fn read(
        self,
        desk: &mut ConfigReader<'_>,
        part: &mut SectionReader<'_>,
    ) -> Option<SecretText> {
        let (key, key_file) = self.names;
        match (self.plain, self.file) {
            (None, None) => None,
            (Some(_), Some((_, origin))) => {
                let message = format!("`{key}` is given, too");
                desk.report_error(&origin, part.full_key(key_file), message, "keep one of the two");
                None
            }
            (Some((text, origin)), None) => {
                let Some(name) = text.strip_prefix("env:") else {
                    part.add_setting(key, REDACTED_SECRET.to_owned(), &origin);
                    desk.inline_secret.get_or_insert_with(|| origin.clone());
                    return check_secret(desk, &origin, &part.full_key(key), &text);
                };
                read_secret_variable(desk, part, key, name, &origin)
            }
            (None, Some((path, origin))) => {
                part.add_setting(key_file, quote(&path), &origin);
                let path = desk.resolve_path(Path::new(&path));
                read_secret_file(desk, &path, &origin, &part.full_key(key_file))
            }
        }
    }
}

/// The secret in a variable that the file names.
pub(super) fn read_secret_variable(
    desk: &mut ConfigReader<'_>,
    part: &mut SectionReader<'_>,
    key: &'static str,
    name: &str,
    origin: &SettingOrigin,
) -> Option<SecretText> {
    let from = SettingOrigin::Variable(name.into());
    part.add_setting(key, REDACTED_SECRET.to_owned(), &from);
    match desk.read_variable(name) {
        Some((text, _)) => check_secret(desk, &from, &part.full_key(key), &text),
        None => {
            let message = format!("the variable {name} is not set");
            desk.report_error(origin, part.full_key(key), message, format!("`export {name}=…`"));
            None
        }
    }
}

/// The secret in a file of its own.
pub(super) fn read_secret_file(
    desk: &mut ConfigReader<'_>,
    path: &Path,
    origin: &SettingOrigin,
    key: &str,
) -> Option<SecretText> {
    match desk.environment.file(path) {
        Ok(found) => {
            warn_if_exposed(desk, path, origin, key, found.exposure);
            check_secret(desk, origin, key, found.text.trim())
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", display_path(path));
            desk.report_error(
                origin,
                key,
                message,
                "it is a file with the secret and nothing else",
            );
            None
        }
    }
}

/// A secret that can be sent. Nothing is no secret: whoever forgot to fill it in should hear so.
pub(super) fn check_secret(
    desk: &mut ConfigReader<'_>,
    origin: &SettingOrigin,
    key: &str,
    text: &str,
) -> Option<SecretText> {
    let message = match text {
        text if text.trim().is_empty() => "the secret is empty",
        text if text.len() > MAX_SECRET_BYTES => "the secret is too long",
        text if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "the secret holds a space or a sign that cannot be sent"
        }
        text => return Some(SecretText::new(text)),
    };
    desk.report_error(origin, key, message, "");
    None
}

fn warn_if_exposed(
    desk: &mut ConfigReader<'_>,
    path: &Path,
    origin: &SettingOrigin,
    key: &str,
    exposure: FileExposure,
) {
    let shown = display_path(path);
    let help = format!("`chmod 600 {shown}`");
    match exposure {
        FileExposure::Private => {}
        FileExposure::Readable => {
            desk.report_warning(origin, key, format!("others may read `{shown}`"), help);
        }
        FileExposure::Writable => {
            desk.report_warning(origin, key, format!("others may change `{shown}`"), help);
        }
    }
}

impl ConfigReader<'_> {
    /// A path of the file: `~` is the user's folder, and what is not absolute lies beside the file.
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
