//! A block that waits until those before it are whole.

use super::arguments::Arguments;
use super::owned::owned_piece;
use crate::stream::event::{Opened, Piece};

/// A block that waits.
pub(super) struct Held {
    /// The reader's number.
    pub(super) source: u32,
    pub(super) kind: Opened<'static>,
    /// What was said in it so far.
    pub(super) said: Vec<Kept>,
    /// Its end has come.
    pub(super) whole: bool,
    pub(super) arguments: Option<Arguments>,
    bytes: usize,
}

/// A piece that waits.
pub(super) enum Kept {
    /// Text in its JSON spelling, all that came in a row. Halves of a character that came in two
    /// pieces meet again here.
    Text(String),
    /// Anything else.
    Other(Piece<'static>),
}

impl Held {
    pub(super) fn new(source: u32, kind: Opened<'static>, arguments: Option<Arguments>) -> Held {
        let words = match &kind {
            Opened::Text | Opened::Refusal | Opened::Reasoning => 0,
            Opened::Redacted(data) => data.len(),
            Opened::Call { id, name, family: _, signature } => {
                let both = id.iter().chain(signature);
                name.len() + both.map(|words| words.len()).sum::<usize>()
            }
        };
        let bytes = size_of::<Held>() + words;
        Held { source, kind, said: Vec::new(), whole: false, arguments, bytes }
    }

    /// What it takes to keep it.
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn take(&mut self, piece: &Piece<'_>) {
        let Piece::Text(words) = piece else {
            let piece = owned_piece(piece);
            self.bytes += size_of::<Kept>() + length(&piece);
            return self.said.push(Kept::Other(piece));
        };
        if !matches!(self.said.last(), Some(Kept::Text(_))) {
            self.said.push(Kept::Text(String::new()));
            self.bytes += size_of::<Kept>();
        }
        let Some(Kept::Text(raw)) = self.said.last_mut() else { return };
        let before = raw.len();
        words.write_inside(raw);
        let added = raw.get(before..).unwrap_or("");
        self.bytes += added.len();
        if let Some(arguments) = &mut self.arguments {
            arguments.take(added);
        }
    }
}

fn length(piece: &Piece<'_>) -> usize {
    match piece {
        Piece::Text(words) | Piece::Signature(words) | Piece::Encrypted(words) => words.len(),
        Piece::Citation(citation) => {
            let words = [&citation.url, &citation.title, &citation.quote];
            words.into_iter().flatten().map(|words| words.len()).sum()
        }
    }
}
