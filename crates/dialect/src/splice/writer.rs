//! Collects the pieces of a repaired document.

use foxwedge_core::{Span, lone_surrogates};

/// A piece of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum OutputChunk {
    /// Bytes of the input.
    Copy(Span),
    /// Bytes of the input inside one string, in which half characters are replaced.
    CopyRepaired(Span),
    /// Words of our own.
    Text(String),
}

impl OutputChunk {
    /// What it says, in pieces.
    pub(crate) fn pieces<'c>(&'c self, source: &'c str) -> impl Iterator<Item = &'c str> {
        let (text, mended) = match self {
            OutputChunk::Copy(span) => (span.of(source), false),
            OutputChunk::CopyRepaired(span) => (span.of(source), true),
            OutputChunk::Text(text) => (text.as_str(), false),
        };
        replace_surrogates(text, mended)
    }
}

/// A text in pieces, with its half characters replaced if that is wanted.
pub(crate) fn replace_surrogates(text: &str, mended: bool) -> impl Iterator<Item = &str> {
    let mut halves = mended.then(|| lone_surrogates(text));
    let mut at = 0;
    let mut half = false;
    std::iter::from_fn(move || {
        if std::mem::take(&mut half) {
            return Some("\\ufffd");
        }
        let rest = text.get(at..).filter(|rest| !rest.is_empty())?;
        let Some(found) = halves.as_mut().and_then(Iterator::next) else {
            at = text.len();
            return Some(rest);
        };
        let before = text.get(at..found.start).unwrap_or("");
        (at, half) = (found.end, true);
        Some(before)
    })
}

/// Collects pieces, or hands them on at once; neighbouring ones are joined, half characters are
/// replaced on the way.
pub(crate) struct SpliceWriter<'a> {
    pub(crate) source: &'a str,
    surrogates: &'a [Span],
    output: SpliceOutput<'a>,
}

enum SpliceOutput<'a> {
    /// Pieces are kept.
    Chunks(Vec<OutputChunk>),
    /// Pieces are handed on; the last one may still grow.
    Sink(Span, &'a mut dyn FnMut(&str)),
}

impl<'a> SpliceWriter<'a> {
    pub(crate) fn new(source: &'a str, surrogates: &'a [Span]) -> SpliceWriter<'a> {
        SpliceWriter { source, surrogates, output: SpliceOutput::Chunks(Vec::new()) }
    }

    /// A writer that keeps nothing.
    pub(crate) fn to_sink(
        source: &'a str,
        surrogates: &'a [Span],
        sink: &'a mut dyn FnMut(&str),
    ) -> SpliceWriter<'a> {
        SpliceWriter { source, surrogates, output: SpliceOutput::Sink(Span::NOWHERE, sink) }
    }

    /// A writer of the same input, for a part that is placed later.
    pub(crate) fn inner(&self) -> SpliceWriter<'a> {
        SpliceWriter::new(self.source, self.surrogates)
    }

    /// Copies a piece of the input.
    pub(crate) fn copy(&mut self, span: Span) {
        let mut start = span.start;
        let first = self.surrogates.partition_point(|halves| halves.end <= span.start);
        for halves in self.surrogates.iter().skip(first) {
            if halves.start >= span.end {
                break;
            }
            let inside = Span { start: halves.start.max(start), end: halves.end.min(span.end) };
            self.copy_plain(Span { start, end: inside.start });
            self.push(OutputChunk::CopyRepaired(inside));
            start = inside.end;
        }
        self.copy_plain(Span { start, end: span.end });
    }

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

    /// Adds words of our own, already spelled as JSON.
    pub(crate) fn text(&mut self, text: &str) {
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

    /// Adds pieces collected elsewhere.
    pub(crate) fn append(&mut self, chunks: Vec<OutputChunk>) {
        for chunk in chunks {
            match chunk {
                OutputChunk::Copy(span) => self.copy_plain(span),
                OutputChunk::CopyRepaired(_) => self.push(chunk),
                OutputChunk::Text(text) => self.text(&text),
            }
        }
    }

    /// Hands on what was held back; returns the pieces if they were kept.
    pub(crate) fn finish(self) -> Vec<OutputChunk> {
        match self.output {
            SpliceOutput::Chunks(chunks) => chunks,
            SpliceOutput::Sink(mut last, sink) => {
                flush_copy(self.source, &mut last, sink);
                Vec::new()
            }
        }
    }
}

/// Hands on what was held back, because it might have grown.
fn flush_copy(source: &str, last: &mut Span, sink: &mut dyn FnMut(&str)) {
    let text = std::mem::take(last).of(source);
    if !text.is_empty() {
        sink(text);
    }
}
