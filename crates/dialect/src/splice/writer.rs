//! Collects the pieces of a repaired document.

use foxwedge_core::Span;

/// A piece of the output.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Chunk {
    /// Bytes of the input.
    Copy(Span),
    /// Words of our own.
    Text(String),
}

/// Collects pieces; neighbouring ones are joined, half characters are replaced on the way.
pub(crate) struct Writer<'a> {
    pub(crate) source: &'a str,
    surrogates: &'a [Span],
    chunks: Vec<Chunk>,
}

impl<'a> Writer<'a> {
    pub(crate) fn new(source: &'a str, surrogates: &'a [Span]) -> Writer<'a> {
        Writer { source, surrogates, chunks: Vec::new() }
    }

    /// A writer of the same input, for a part that is placed later.
    pub(crate) fn inner(&self) -> Writer<'a> {
        Writer::new(self.source, self.surrogates)
    }

    /// Copies a piece of the input.
    pub(crate) fn copy(&mut self, span: Span) {
        let mut start = span.start;
        let first = self.surrogates.partition_point(|lone| lone.start < span.start);
        let broken = self.surrogates.iter().skip(first).take_while(|lone| lone.end <= span.end);
        for lone in broken {
            self.copy_plain(Span { start, end: lone.start });
            self.text("\\ufffd");
            start = lone.end;
        }
        self.copy_plain(Span { start, end: span.end });
    }

    fn copy_plain(&mut self, span: Span) {
        if span.is_empty() {
            return;
        }
        match self.chunks.last_mut() {
            Some(Chunk::Copy(last)) if last.end == span.start => last.end = span.end,
            _ => self.chunks.push(Chunk::Copy(span)),
        }
    }

    /// Adds words of our own, already spelled as JSON.
    pub(crate) fn text(&mut self, text: &str) {
        match self.chunks.last_mut() {
            Some(Chunk::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.chunks.push(Chunk::Text(text.to_owned())),
        }
    }

    /// Adds pieces collected elsewhere.
    pub(crate) fn append(&mut self, chunks: Vec<Chunk>) {
        for chunk in chunks {
            match chunk {
                Chunk::Copy(span) => self.copy_plain(span),
                Chunk::Text(text) => self.text(&text),
            }
        }
    }

    pub(crate) fn finish(self) -> Vec<Chunk> {
        self.chunks
    }
}
