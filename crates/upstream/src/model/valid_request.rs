//! A validated request: the only kind that can be sent.

use bytes::Bytes;
use foxwedge_core::{CheckOptions, Format, Report};
use foxwedge_formats::{ReadError, outline_options, read, text};

/// A request that its provider accepts. Only [`ValidRequest::validate`] creates one.
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
    /// Validates a request against the rules of a provider.
    ///
    /// # Errors
    /// If it cannot be read, or has findings.
    pub fn validate(
        body: Bytes,
        wire: Format,
        options: &CheckOptions,
    ) -> Result<ValidRequest, InvalidRequestError> {
        let reading = read(text(&body)?, wire, outline_options(options.profile))?;
        // The proof holds for these bytes, which are immutable.
        reading.draft.validate(options).map_err(InvalidRequestError::Invalid)?;
        Ok(ValidRequest { body, wire })
    }

    /// The request body.
    pub fn body(&self) -> &Bytes {
        &self.body
    }

    /// Its format.
    pub fn wire(&self) -> Format {
        self.wire
    }
}
