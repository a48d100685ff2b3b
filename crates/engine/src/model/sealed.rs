//! A request that was proven sound: the only thing that can be sent.

use bytes::Bytes;
use foxwedge_core::{Question, Report, Wire};
use foxwedge_dialect::{ReadError, read, text, want};

/// A request that its provider will take. Only [`Sealed::seal`] makes one.
#[derive(Clone, Debug)]
pub struct Sealed {
    body: Bytes,
    wire: Wire,
}

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SealError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// A provider would refuse it.
    #[error("the history has {} that a provider would refuse", .0.total())]
    Unsound(Report),
}

impl Sealed {
    /// Proves that a provider will take a request.
    ///
    /// # Errors
    /// If it cannot be read, or with everything that is wrong with it.
    pub fn seal(body: Bytes, wire: Wire, question: &Question) -> Result<Sealed, SealError> {
        let reading = read(text(&body)?, wire, want(question.profile))?;
        // The proof is about these bytes, and nobody can change them.
        reading.draft.seal(question).map_err(SealError::Unsound)?;
        Ok(Sealed { body, wire })
    }

    /// The request.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Its format.
    pub fn wire(&self) -> Wire {
        self.wire
    }
}
