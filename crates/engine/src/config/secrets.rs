//! Keys and tokens: written plainly, named as a variable, or kept in a file of their own.
//!
//! What is wrong with one is told without a letter of it.

use std::path::{Path, PathBuf};

use super::{
    Exposure, Origin,
    desk::{Desk, Part, told},
    values::quoted,
    world,
};
use crate::Secret;

/// What stands for a secret wherever a configuration is shown.
pub(super) const HIDDEN: &str = "\"[secret]\"";

/// The most bytes of a secret.
const MOST: usize = 8 << 10;

/// Two keys that say the same thing: `key` and `key_file`.
pub(super) struct Ways {
    pub(super) plain: Option<(String, Origin)>,
    pub(super) file: Option<(String, Origin)>,
    pub(super) names: (&'static str, &'static str),
}

impl Ways {
    /// Both, as a part of the file has them.
    pub(super) fn of(
        desk: &mut Desk<'_>,
        part: &mut Part<'_>,
        names: (&'static str, &'static str),
    ) -> Ways {
        Ways { plain: desk.text(part, names.0), file: desk.text(part, names.1), names }
    }

    /// Whether neither is there.
    pub(super) fn is_empty(&self) -> bool {
        self.plain.is_none() && self.file.is_none()
    }

    /// The secret, whichever way it is given. `None` if there is none, or none that can be used.
    pub(super) fn read(self, desk: &mut Desk<'_>, part: &mut Part<'_>) -> Option<Secret> {
        let (key, key_file) = self.names;
        match (self.plain, self.file) {
            (None, None) => None,
            (Some(_), Some((_, origin))) => {
                let message = format!("`{key}` is given, too");
                desk.refuse(&origin, part.full(key_file), message, "keep one of the two");
                None
            }
            (Some((text, origin)), None) => {
                let Some(name) = text.strip_prefix("env:") else {
                    part.note(key, HIDDEN.to_owned(), &origin);
                    desk.plain.get_or_insert_with(|| origin.clone());
                    return usable(desk, &origin, &part.full(key), &text);
                };
                variable(desk, part, key, name, &origin)
            }
            (None, Some((path, origin))) => {
                part.note(key_file, quoted(&path), &origin);
                let path = desk.path(Path::new(&path));
                from_file(desk, &path, &origin, &part.full(key_file))
            }
        }
    }
}

/// The secret in a variable that the file names.
pub(super) fn variable(
    desk: &mut Desk<'_>,
    part: &mut Part<'_>,
    key: &'static str,
    name: &str,
    origin: &Origin,
) -> Option<Secret> {
    let from = Origin::Variable(name.into());
    part.note(key, HIDDEN.to_owned(), &from);
    match desk.variable(name) {
        Some((text, _)) => usable(desk, &from, &part.full(key), &text),
        None => {
            let message = format!("the variable {name} is not set");
            desk.refuse(origin, part.full(key), message, format!("`export {name}=…`"));
            None
        }
    }
}

/// The secret in a file of its own.
pub(super) fn from_file(
    desk: &mut Desk<'_>,
    path: &Path,
    origin: &Origin,
    key: &str,
) -> Option<Secret> {
    match desk.world.file(path) {
        Ok(found) => {
            watch(desk, path, origin, key, found.exposure);
            usable(desk, origin, key, found.text.trim())
        }
        Err(error) => {
            let message = format!("`{}` cannot be read: {error}", told(path));
            desk.refuse(origin, key, message, "it is a file with the secret and nothing else");
            None
        }
    }
}

/// A secret that can be sent. Nothing is no secret: whoever forgot to fill it in should hear so.
pub(super) fn usable(
    desk: &mut Desk<'_>,
    origin: &Origin,
    key: &str,
    text: &str,
) -> Option<Secret> {
    let message = match text {
        text if text.trim().is_empty() => "the secret is empty",
        text if text.len() > MOST => "the secret is too long",
        text if !text.bytes().all(|byte| byte.is_ascii_graphic()) => {
            "the secret holds a space or a sign that cannot be sent"
        }
        text => return Some(Secret::new(text)),
    };
    desk.refuse(origin, key, message, "");
    None
}

fn watch(desk: &mut Desk<'_>, path: &Path, origin: &Origin, key: &str, exposure: Exposure) {
    let shown = told(path);
    let help = format!("`chmod 600 {shown}`");
    match exposure {
        Exposure::Private => {}
        Exposure::Readable => {
            desk.warn(origin, key, format!("others may read `{shown}`"), help);
        }
        Exposure::Writable => {
            desk.warn(origin, key, format!("others may change `{shown}`"), help);
        }
    }
}

impl Desk<'_> {
    /// A path of the file: `~` is the user's folder, and what is not absolute lies beside the file.
    pub(super) fn path(&self, path: &Path) -> PathBuf {
        if let Ok(below) = path.strip_prefix("~")
            && let Some(home) = world::home(self.world)
        {
            return home.join(below);
        }
        match &self.folder {
            Some(folder) => folder.join(path),
            None => path.to_owned(),
        }
    }
}
