//! A request that was proven sound: the only thing that can be sent.

use bytes::Bytes;
use foxwedge_core::{CheckOptions, Format, Report};
use foxwedge_dialect::{ReadError, outline_options, read, text};

/// A request that its provider will take. Only [`Sealed::seal`] makes one.
#[derive(Clone, Debug)]
pub struct ValidRequest {
    body: Bytes,
    wire: Format,
}

/// Why a request cannot be sent.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InvalidRequestError {
    /// It cannot be read.
    #[error(transparent)]
    Unreadable(#[from] ReadError),
    /// A provider would refuse it.
    #[error("the history has {} that a provider would refuse", .0.total())]
    Invalid(Report),
}

impl ValidRequest {
    /// Proves that a provider will take a request.
    ///
    /// # Errors
    /// If it cannot be read, or with everything that is wrong with it.
    pub fn validate(
        body: Bytes,
        wire: Format,
        question: &CheckOptions,
    ) -> Result<ValidRequest, InvalidRequestError> {
        let reading = read(text(&body)?, wire, outline_options(question.profile))?;
        // The proof is about these bytes, and nobody can change them.
        reading.draft.validate(question).map_err(InvalidRequestError::Invalid)?;
        Ok(ValidRequest { body, wire })
    }

    /// The request.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Its format.
    pub fn wire(&self) -> Format {
        self.wire
    }
}
