//! Reads one setting after the other over all layers, remembers who set it, and collects what is
//! wrong instead of stopping at it.

use std::{path::PathBuf, sync::Arc};

use super::{
    Complaint, Origin, Weight,
    document::{Found, Page},
    nearest::nearest,
    values::{Value, quoted},
    world::{Flags, World},
};

/// One part of a configuration, as `[limits]` or one `[[upstream]]`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Block {
    /// Its header as a file has it; empty for what stands before all headers.
    pub header: String,
    /// Its settings, in reading order.
    pub settings: Vec<Setting>,
}

/// One value, and who set it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Setting {
    /// Its key.
    pub key: String,
    /// Its value, as a file says it; `"[secret]"` for one.
    pub value: String,
    /// Who set it.
    pub origin: Origin,
    /// Whether it is what it would be if nobody had set it.
    pub usual: bool,
}

/// A value and who set it.
#[derive(Clone, Debug)]
pub(super) struct Set<T> {
    pub(super) value: T,
    pub(super) origin: Origin,
}

/// Where everything is read and written down.
pub(super) struct Desk<'w> {
    pub(super) world: &'w dyn World,
    pub(super) flags: &'w Flags,
    /// The folder of the file.
    pub(super) folder: Option<PathBuf>,
    /// The first place where a secret stands in the file itself.
    pub(super) plain: Option<Origin>,
    pub(super) complaints: Vec<Complaint>,
    pub(super) blocks: Vec<Block>,
}

/// A part that is being read.
pub(super) struct Part<'d> {
    /// What stands before its keys in complaints, as `limits`.
    pub(super) name: String,
    pub(super) block: Block,
    page: Option<Page<'d>>,
    known: Vec<&'static str>,
}

impl<'w> Desk<'w> {
    pub(super) fn new(world: &'w dyn World, flags: &'w Flags) -> Desk<'w> {
        Desk { world, flags, folder: None, plain: None, complaints: Vec::new(), blocks: Vec::new() }
    }

    /// Something that stands in the way.
    pub(super) fn refuse(
        &mut self,
        origin: &Origin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.complain(Weight::Error, origin, key.into(), message.into(), help.into());
    }

    /// Something that somebody should know.
    pub(super) fn warn(
        &mut self,
        origin: &Origin,
        key: impl Into<String>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) {
        self.complain(Weight::Warning, origin, key.into(), message.into(), help.into());
    }

    fn complain(
        &mut self,
        weight: Weight,
        origin: &Origin,
        key: String,
        message: String,
        help: String,
    ) {
        let help = Some(help).filter(|help| !help.is_empty());
        self.complaints.push(Complaint { weight, origin: origin.clone(), key, message, help });
    }

    /// A value, or what the variable holds that it names (`env:NAME`); `None` if that is not set.
    pub(super) fn resolved(&mut self, text: String, origin: &Origin, full: &str) -> Option<String> {
        let Some(variable) = text.strip_prefix("env:") else { return Some(text) };
        let found = self.variable(variable).map(|(text, _)| text);
        if found.is_none() {
            let message = format!("the variable {variable} is not set");
            self.refuse(origin, full, message, format!("`export {variable}=…`"));
        }
        found
    }

    /// A variable that is set to something. One that is no text is refused.
    pub(super) fn variable(&mut self, name: &str) -> Option<(String, Origin)> {
        let value = self.world.variable(name).filter(|value| !value.is_empty())?;
        let origin = Origin::Variable(name.into());
        match value.into_string() {
            Ok(text) => Some((text, origin)),
            Err(_) => {
                self.refuse(&origin, "", "this is no text", "set it to UTF-8");
                None
            }
        }
    }

    /// A setting: its default, or what the file, a variable or a flag says.
    pub(super) fn set<T: Value>(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
        default: T,
    ) -> Set<T> {
        let usual = default.shown();
        let mut set = Set { value: default, origin: Origin::Default };
        let full = part.full(key);
        for (text, origin) in self.layers(part, key) {
            match T::read(&text) {
                Some(value) => set = Set { value, origin },
                None => {
                    let message = format!("{} does not fit", quoted(&cut(&text)));
                    self.refuse(&origin, &full, message, format!("it is {}", T::wanted()));
                }
            }
        }
        let shown = set.value.shown();
        let usual = shown == usual;
        part.block.settings.push(Setting {
            key: key.to_owned(),
            value: shown,
            origin: set.origin.clone(),
            usual,
        });
        set
    }

    /// The same, for a setting that may not be nothing.
    pub(super) fn positive<T: Value + PartialEq + Nothing>(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
        default: T,
    ) -> Set<T> {
        let set = self.set(part, key, default);
        if set.value == T::NOTHING {
            self.refuse(&set.origin, part.full(key), "it has to be more than nothing", "");
        }
        set
    }

    /// What the file, the variables and the flag say, the weakest first.
    pub(super) fn layers(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
    ) -> Vec<(String, Origin)> {
        let mut all: Vec<(String, Origin)> = self.text(part, key).into_iter().collect();
        let full = part.full(key);
        // The first of several names is the strongest.
        for name in variables(&full).iter().rev() {
            all.extend(self.variable(name));
        }
        if let Some((name, text)) = flag(self.flags, &full) {
            all.push((text.to_owned(), Origin::Flag(name)));
        }
        all
    }

    /// A text of the file, a whole number, or true and false, as text.
    pub(super) fn text(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
    ) -> Option<(String, Origin)> {
        let found = part.take(key)?;
        let text = found.scalar();
        if text.is_none() {
            let message = format!("{} does not fit", found.kind());
            self.refuse(&found.origin(), part.full(key), message, "it is one value, as \"text\"");
        }
        text.map(|text| (text, found.origin()))
    }

    /// A list of texts in the file.
    pub(super) fn texts(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
    ) -> Vec<(String, Origin)> {
        let Some(found) = part.take(key) else { return Vec::new() };
        let texts: Option<Vec<_>> = found.list().and_then(|list| {
            list.iter().map(|found| Some((found.scalar()?, found.origin()))).collect()
        });
        texts.unwrap_or_else(|| {
            let message = format!("{} does not fit", found.kind());
            self.refuse(&found.origin(), part.full(key), message, "it is a list: [\"a\", \"b\"]");
            Vec::new()
        })
    }

    /// A list of texts in the file, or one text.
    pub(super) fn text_or_texts(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
    ) -> Vec<(String, Origin)> {
        let one = part.take(key).and_then(|found| Some((found.scalar()?, found.origin())));
        match one {
            Some(one) => vec![one],
            None => self.texts(part, key),
        }
    }

    /// A table of texts in the file.
    pub(super) fn pairs(
        &mut self,
        part: &mut Part<'_>,
        key: &'static str,
    ) -> Vec<(String, String, Origin)> {
        let Some(found) = part.take(key) else { return Vec::new() };
        let Some(page) = found.table() else {
            let message = format!("{} does not fit", found.kind());
            self.refuse(&found.origin(), part.full(key), message, "it is a table: { a = \"b\" }");
            return Vec::new();
        };
        let mut pairs = Vec::new();
        for (name, origin) in page.keys() {
            match page.get(name).and_then(|found| found.scalar()) {
                Some(text) => pairs.push((name.to_owned(), text, origin)),
                None => {
                    let full = format!("{}.{}", part.full(key), cut(name));
                    self.refuse(&origin, full, "it is no text", "write { name = \"value\" }");
                }
            }
        }
        pairs
    }

    /// A table, whether it is there or not.
    pub(super) fn table<'d>(&mut self, root: &mut Part<'d>, key: &'static str) -> Part<'d> {
        let page = root.take(key).and_then(|found| {
            let page = found.table();
            if page.is_none() {
                let help = format!("write it as `[{key}]`");
                self.refuse(&found.origin(), key, format!("{} does not fit", found.kind()), help);
            }
            page
        });
        Part::new(key, format!("[{key}]"), page)
    }

    /// All tables of a list, as `[[upstream]]`.
    pub(super) fn tables<'d>(&mut self, root: &mut Part<'d>, key: &'static str) -> Vec<Part<'d>> {
        let Some(found) = root.take(key) else { return Vec::new() };
        let pages: Option<Vec<Page<'d>>> =
            found.list().and_then(|list| list.iter().map(Found::table).collect());
        let Some(pages) = pages else {
            let help = format!("write `[[{key}]]` above each of them");
            self.refuse(&found.origin(), key, format!("{} does not fit", found.kind()), help);
            return Vec::new();
        };
        pages.into_iter().map(|page| Part::new(key, format!("[[{key}]]"), Some(page))).collect()
    }

    /// Ends a part: keys that nobody asked for are told.
    pub(super) fn close(&mut self, part: Part<'_>) {
        for (key, origin) in part.page.iter().flat_map(Page::keys) {
            if part.known.contains(&key) {
                continue;
            }
            let help = match nearest(key, part.known.iter().copied()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => format!("known here: {}", part.known.join(", ")),
            };
            self.refuse(&origin, part.full(&cut(key)), "there is no such key", help);
        }
        self.blocks.push(part.block);
    }
}

impl<'d> Part<'d> {
    pub(super) fn new(name: impl Into<String>, header: String, page: Option<Page<'d>>) -> Part<'d> {
        let block = Block { header, settings: Vec::new() };
        Part { name: name.into(), block, page, known: Vec::new() }
    }

    /// A key with what stands before it.
    pub(super) fn full(&self, key: &str) -> String {
        if self.name.is_empty() { key.to_owned() } else { format!("{}.{key}", self.name) }
    }

    /// Where it begins.
    pub(super) fn origin(&self) -> Origin {
        self.page.map_or(Origin::Default, |page| page.origin())
    }

    /// Whether a file says so.
    pub(super) fn has(&self, key: &str) -> bool {
        self.page.is_some_and(|page| page.get(key).is_some())
    }

    /// A key that may stand here, for those that are asked for only if they are there.
    pub(super) fn knows(&mut self, key: &'static str) {
        self.take(key);
    }

    /// Writes down a setting that was read in another way.
    pub(super) fn note(&mut self, key: &str, value: String, origin: &Origin) {
        let usual = *origin == Origin::Default;
        let key = key.to_owned();
        self.block.settings.push(Setting { key, value, origin: origin.clone(), usual });
    }

    fn take(&mut self, key: &'static str) -> Option<Found<'d>> {
        if !self.known.contains(&key) {
            self.known.push(key);
        }
        self.page?.get(key)
    }
}

/// A value that is nothing.
pub(super) trait Nothing {
    const NOTHING: Self;
}

impl Nothing for usize {
    const NOTHING: usize = 0;
}

impl Nothing for super::values::Size {
    const NOTHING: super::values::Size = super::values::Size(0);
}

impl Nothing for std::time::Duration {
    const NOTHING: std::time::Duration = std::time::Duration::ZERO;
}

/// The variables that set a key, the strongest first.
pub(super) fn variables(key: &str) -> &'static [&'static str] {
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
fn flag<'f>(flags: &'f Flags, key: &str) -> Option<(&'static str, &'f str)> {
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
pub(super) fn cut(text: &str) -> String {
    match text.char_indices().nth(60) {
        Some((end, _)) => format!("{}…", text.get(..end).unwrap_or_default()),
        None => text.to_owned(),
    }
}

/// The path of a file as it is told.
pub(super) fn told(path: &std::path::Path) -> Arc<str> {
    path.to_string_lossy().into()
}
