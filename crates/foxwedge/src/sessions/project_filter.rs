//! Selects sessions by their project folder.

use std::path::{Path, PathBuf};

/// Selects sessions by their project folder.
pub(crate) struct ProjectFilter {
    path: PathBuf,
    slug: String,
}

impl ProjectFilter {
    pub(crate) fn new(path: &Path) -> ProjectFilter {
        let path = std::fs::canonicalize(path)
            .or_else(|_| std::path::absolute(path))
            .unwrap_or_else(|_| path.to_owned());
        ProjectFilter { slug: slug(&path.to_string_lossy()), path }
    }

    /// Whether the project folder of a session is this folder or inside it. Some agents record only
    /// a name derived from the path.
    pub(crate) fn contains(&self, folder: Option<&str>) -> bool {
        let Some(folder) = folder else { return false };
        Path::new(folder).starts_with(&self.path)
            || !Path::new(folder).is_absolute() && slug(folder) == self.slug
    }
}

/// The letters and digits of a path, joined by `-`, as agents derive names from it.
fn slug(path: &str) -> String {
    let words = path.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_ascii_lowercase).collect::<Vec<_>>().join("-")
}
