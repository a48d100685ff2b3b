//! The language of what people read on a terminal: English, or the sentences of a catalog.
//!
//! Every sentence is written in English where it arises. A catalog has the same sentences in
//! another language, with the holes that values fill. [`localize`] is called where text for people
//! is written; data for programs never passes through it. Readers of the console choose their own
//! language: [`ReaderLanguage`].

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

/// Makes the Chinese catalog, when the first reader asks for it.
static READER_CATALOG: OnceLock<fn() -> Catalog> = OnceLock::new();

/// Sets the catalog of this process. Without one, the language is English.
pub fn use_catalog(catalog: Catalog) {
    // A second catalog is ignored: the language does not change while a process runs.
    let _ = CATALOG.set(catalog);
}

/// Offers readers the sentences of this program in Chinese.
pub fn offer_chinese(make: fn() -> Catalog) {
    // As above: it does not change while a process runs.
    let _ = READER_CATALOG.set(make);
}

/// The language of somebody who reads what this process sends, whatever its own language is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReaderLanguage {
    /// English.
    English,
    /// Chinese.
    Chinese,
}

impl ReaderLanguage {
    /// The language of a tag such as `zh-CN`, or of the first one in a list.
    pub fn parse(tag: &str) -> ReaderLanguage {
        match tag.trim_start().get(..2) {
            Some(start) if start.eq_ignore_ascii_case("zh") => ReaderLanguage::Chinese,
            _ => ReaderLanguage::English,
        }
    }

    /// A sentence in this language. What the catalog does not have stays English.
    pub fn localize<'t>(self, text: impl Into<Cow<'t, str>>) -> Cow<'t, str> {
        static CHINESE: OnceLock<Option<Catalog>> = OnceLock::new();
        let text = text.into();
        let translated = match self {
            ReaderLanguage::English => None,
            ReaderLanguage::Chinese => {
                let catalog = CHINESE.get_or_init(|| READER_CATALOG.get().map(|make| make()));
                catalog.as_ref().and_then(|catalog| catalog.translate(&text))
            }
        };
        translated.map_or(text, Cow::Owned)
    }
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

#[cfg(test)]
mod tests {
    use super::ReaderLanguage;

    #[test]
    fn a_reader_gets_the_first_language_of_a_list() {
        let table = [
            ("zh-CN,zh;q=0.9,en;q=0.8", ReaderLanguage::Chinese),
            (" ZH", ReaderLanguage::Chinese),
            ("en-US,zh;q=0.5", ReaderLanguage::English),
            ("", ReaderLanguage::English),
            ("é", ReaderLanguage::English),
        ];
        for (tags, expected) in table {
            assert_eq!(ReaderLanguage::parse(tags), expected, "{tags}");
        }
        // Without a catalog, everything stays English.
        assert_eq!(ReaderLanguage::Chinese.localize("no such session"), "no such session");
    }
}
