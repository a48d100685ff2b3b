//! The language of what people read on a terminal: English, or the sentences of a catalog.
//!
//! Every sentence is written in English where it arises. A catalog has the same sentences in
//! another language, with the holes that values fill. [`localize`] is called where text for people
//! is written; data for programs never passes through it.

use std::{
    borrow::Cow,
    sync::{
        OnceLock,
        atomic::{AtomicBool, Ordering},
    },
};

mod catalog;

pub use catalog::Catalog;

static CATALOG: OnceLock<Catalog> = OnceLock::new();

static ENGLISH_ONLY: AtomicBool = AtomicBool::new(false);

/// Sets the catalog of this process. Without one, the language is English.
pub fn use_catalog(catalog: Catalog) {
    // A second catalog is ignored: the language does not change while a process runs.
    let _ = CATALOG.set(catalog);
}

fn catalog() -> Option<&'static Catalog> {
    CATALOG.get().filter(|_| !ENGLISH_ONLY.load(Ordering::Relaxed))
}

/// Whether text for people is in another language than English.
pub fn is_translated() -> bool {
    catalog().is_some()
}

/// A sentence in the language of the user. What the catalog does not have stays English.
pub fn localize<'t>(text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
    let text = text.into();
    match catalog().and_then(|catalog| catalog.translate(&text)) {
        Some(translated) => Cow::Owned(translated),
        None => text,
    }
}

/// What separates the items of a list in a sentence.
pub fn list_separator() -> &'static str {
    if is_translated() { "，" } else { ", " }
}

/// Runs `write` in English, for text that goes to programs or to other people.
pub fn in_english<T>(write: impl FnOnce() -> T) -> T {
    let before = ENGLISH_ONLY.swap(true, Ordering::Relaxed);
    let result = write();
    ENGLISH_ONLY.store(before, Ordering::Relaxed);
    result
}
