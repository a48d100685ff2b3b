//! A draft proven sound.

use crate::{
    check::{CheckOptions, check},
    draft::Draft,
    pairing::{CallPairing, pair_calls},
    report::Report,
};

/// What a provider will accept. Only [`Draft::seal`] builds one, so a function that takes a
/// `Transcript` need not check again.
#[derive(Clone, Debug)]
pub struct Transcript<'a> {
    draft: Draft<'a>,
    pairing: CallPairing,
}

impl<'a> Transcript<'a> {
    /// The outline it was proven on.
    pub fn draft(&self) -> &Draft<'a> {
        &self.draft
    }

    /// Every call with its answer.
    pub fn pairing(&self) -> &CallPairing {
        &self.pairing
    }
}

impl<'a> Draft<'a> {
    /// Proves the draft sound for a profile, or says what is wrong with it.
    ///
    /// # Errors
    /// The report, if there is any finding.
    pub fn validate(self, question: &CheckOptions) -> Result<Transcript<'a>, Report> {
        let report = check(&self, question);
        if !report.is_clean() {
            return Err(report);
        }
        let pairing = pair_calls(&self);
        Ok(Transcript { draft: self, pairing })
    }
}
