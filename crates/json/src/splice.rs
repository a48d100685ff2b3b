//! Assembles a changed document from parts of the input and new text.

use crate::{Span, lone_surrogates};

mod patch;

pub use patch::{FieldChange, FieldChanges, patched_text, write_patched};

/// A part of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum OutputChunk {
    /// Bytes of the input, unchanged.
    Copy(Span),
    /// Bytes of the input inside one string, with lone surrogates replaced by `\ufffd`.
    CopyRepaired(Span),
    /// New JSON text.
    Text(String),
}

impl OutputChunk {
    /// The text of the chunk, in one or more slices. `source` must be the input of the writer.
    pub fn pieces<'c>(&'c self, source: &'c str) -> impl Iterator<Item = &'c str> {
        let (text, repair) = match self {
            OutputChunk::Copy(span) => (span.of(source), false),
            OutputChunk::CopyRepaired(span) => (span.of(source), true),
            OutputChunk::Text(text) => (text.as_str(), false),
        };
        replace_surrogates(text, repair)
    }
}

/// The raw inside of a JSON string in slices. If `repair` is set, every escape of a lone surrogate
/// becomes `\ufffd`. Some slices may be empty.
pub fn replace_surrogates(text: &str, repair: bool) -> impl Iterator<Item = &str> {
    let mut surrogates = repair.then(|| lone_surrogates(text));
    let mut at = 0;
    let mut replace_next = false;
    std::iter::from_fn(move || {
        if std::mem::take(&mut replace_next) {
            return Some("\\ufffd");
        }
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let Some(surrogate) = surrogates.as_mut().and_then(Iterator::next) else {
            at = text.len();
            return Some(rest);
        };
        let before = text.get(at..surrogate.start).unwrap_or("");
        (at, replace_next) = (surrogate.end, true);
        Some(before)
    })
}

/// New JSON text that stands in for a part of the input wherever that part is copied.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TextReplacement {
    /// The part of the input.
    pub span: Span,
    /// New text before what is kept.
    pub before: &'static str,
    /// What is kept of the input: it lies in `span`.
    pub kept: Span,
    /// New text after what is kept.
    pub after: &'static str,
}

/// Writes a document from parts of the input and new text.
///
/// The writer either collects chunks or passes slices to a sink at once. It joins copies of
/// adjacent parts of the input, and replaces lone surrogates in what it copies.
pub struct SpliceWriter<'a> {
    /// The input that spans refer to.
    pub source: &'a str,
    /// Where the input has lone surrogates, in order: see `JsonScanner::lone_surrogates`.
    surrogates: &'a [Span],
    /// What is replaced in copies, in order.
    replacements: &'a [TextReplacement],
    output: SpliceOutput<'a>,
}

enum SpliceOutput<'a> {
    /// Collects chunks.
    Chunks(Vec<OutputChunk>),
    /// Passes slices on. The span is the last copy: it is held back, because it may still grow.
    Sink(Span, &'a mut dyn FnMut(&str)),
}

impl<'a> SpliceWriter<'a> {
    /// A writer that collects chunks. `surrogates` are the spans of the input in which lone
    /// surrogates are replaced, in order: see [`JsonScanner::lone_surrogates`]. If it is empty,
    /// every byte is copied unchanged.
    ///
    /// [`JsonScanner::lone_surrogates`]: crate::JsonScanner::lone_surrogates
    pub fn new(source: &'a str, surrogates: &'a [Span]) -> SpliceWriter<'a> {
        let output = SpliceOutput::Chunks(Vec::new());
        SpliceWriter { source, surrogates, replacements: &[], output }
    }

    /// A writer that passes its output to `sink` and collects nothing. Call
    /// [`SpliceWriter::finish`] to write the last part.
    pub fn to_sink(
        source: &'a str,
        surrogates: &'a [Span],
        sink: &'a mut dyn FnMut(&str),
    ) -> SpliceWriter<'a> {
        let output = SpliceOutput::Sink(Span::NOWHERE, sink);
        SpliceWriter { source, surrogates, replacements: &[], output }
    }

    /// The writer with replacements, in the order of their places: wherever one lies completely in
    /// a copy, its text is written instead.
    #[must_use]
    pub fn replacing(mut self, replacements: &'a [TextReplacement]) -> SpliceWriter<'a> {
        self.replacements = replacements;
        self
    }

    /// A writer for the same input that collects chunks. [`SpliceWriter::append`] adds them to the
    /// output later.
    pub fn inner(&self) -> SpliceWriter<'a> {
        SpliceWriter::new(self.source, self.surrogates).replacing(self.replacements)
    }

    /// Copies a part of the input.
    pub fn copy(&mut self, span: Span) {
        let mut start = span.start;
        let first = self.replacements.partition_point(|it| it.span.start < span.start);
        for replacement in self.replacements.iter().skip(first) {
            if replacement.span.end > span.end {
                break;
            }
            self.copy_repaired(Span { start, end: replacement.span.start });
            self.text(replacement.before);
            self.copy_repaired(replacement.kept);
            self.text(replacement.after);
            start = replacement.span.end;
        }
        self.copy_repaired(Span { start, end: span.end });
    }

    /// Copies a part of the input in which nothing but lone surrogates is replaced.
    fn copy_repaired(&mut self, span: Span) {
        let mut start = span.start;
        let first = self.surrogates.partition_point(|range| range.end <= span.start);
        for range in self.surrogates.iter().skip(first) {
            if range.start >= span.end {
                break;
            }
            let inside = Span { start: range.start.max(start), end: range.end.min(span.end) };
            self.copy_plain(Span { start, end: inside.start });
            self.push(OutputChunk::CopyRepaired(inside));
            start = inside.end;
        }
        self.copy_plain(Span { start, end: span.end });
    }

    /// Copies a part of the input that has no lone surrogates.
    fn copy_plain(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        let last = match &mut self.output {
            SpliceOutput::Chunks(chunks) => match chunks.last_mut() {
                Some(OutputChunk::Copy(last)) => Some(last),
                _ => None,
            },
            SpliceOutput::Sink(last, _) => Some(last).filter(|last| !last.is_empty()),
        };
        match last.filter(|last| last.end == span.start) {
            Some(last) => last.end = span.end,
            None => self.push(OutputChunk::Copy(span)),
        }
    }

    /// Adds new text. It must already be JSON: the writer does not escape it.
    pub fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match &mut self.output {
            SpliceOutput::Chunks(chunks) => match chunks.last_mut() {
                Some(OutputChunk::Text(last)) => last.push_str(text),
                _ => chunks.push(OutputChunk::Text(text.to_owned())),
            },
            SpliceOutput::Sink(last, sink) => {
                flush_copy(self.source, last, *sink);
                sink(text);
            }
        }
    }

    fn push(&mut self, chunk: OutputChunk) {
        match &mut self.output {
            SpliceOutput::Chunks(chunks) => chunks.push(chunk),
            SpliceOutput::Sink(last, sink) => {
                flush_copy(self.source, last, *sink);
                match chunk {
                    OutputChunk::Copy(span) => *last = span,
                    OutputChunk::CopyRepaired(_) | OutputChunk::Text(_) => {
                        chunk.pieces(self.source).for_each(sink)
                    }
                }
            }
        }
    }

    /// Adds chunks that another writer collected for the same input.
    pub fn append(&mut self, chunks: Vec<OutputChunk>) {
        for chunk in chunks {
            match chunk {
                OutputChunk::Copy(span) => self.copy_plain(span),
                OutputChunk::CopyRepaired(_) => self.push(chunk),
                OutputChunk::Text(text) => self.text(&text),
            }
        }
    }

    /// Ends the output. Returns the collected chunks; none if the writer has a sink.
    pub fn finish(self) -> Vec<OutputChunk> {
        match self.output {
            SpliceOutput::Chunks(chunks) => chunks,
            SpliceOutput::Sink(mut last, sink) => {
                flush_copy(self.source, &mut last, sink);
                Vec::new()
            }
        }
    }
}

/// Passes on the last copy, which was held back because it might have grown.
fn flush_copy(source: &str, last: &mut Span, sink: &mut dyn FnMut(&str)) {
    let text = std::mem::take(last).of(source);
    if !text.is_empty() {
        sink(text);
    }
}
