//! A draft proven valid.

use crate::{
    check::{CheckOptions, check},
    draft::Draft,
    pairing::{CallPairing, pair_calls},
    report::Report,
};

/// A history proven valid for a profile. Only [`Draft::validate`] builds one, so a function that
/// takes a `Transcript` need not check again.
#[derive(Clone, Debug)]
pub struct Transcript<'a> {
    draft: Draft<'a>,
    pairing: CallPairing,
}

impl<'a> Transcript<'a> {
    /// The validated draft.
    pub fn draft(&self) -> &Draft<'a> {
        &self.draft
    }

    /// Every call with its answer.
    pub fn pairing(&self) -> &CallPairing {
        &self.pairing
    }
}

impl<'a> Draft<'a> {
    /// Proves the draft valid for a profile, or reports what is wrong with it.
    ///
    /// # Errors
    /// The report, if there is any finding.
    pub fn validate(self, options: &CheckOptions) -> Result<Transcript<'a>, Report> {
        let report = check(&self, options);
        if !report.is_clean() {
            return Err(report);
        }
        let pairing = pair_calls(&self);
        Ok(Transcript { draft: self, pairing })
    }
}
