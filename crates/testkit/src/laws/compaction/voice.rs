//! Summarizers, good and bad.

use foxwedge_dialect::compact::{DigestSummarizer, HistorySummarizer, SummaryRequest};

/// Who summarizes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Voice {
    /// The one that is always there.
    Digest,
    /// One that answers with something short that no JSON likes.
    Garbage,
    /// One that says nothing.
    Empty,
    /// One that says more than there was; so many bytes.
    Longer(usize),
    /// One that fails.
    Fails,
}

/// A summarizer that remembers whether it was asked.
#[derive(Clone, Copy, Debug)]
pub struct Asked {
    /// Who it is.
    pub voice: Voice,
    /// How often it was asked.
    pub times: usize,
}

impl Voice {
    /// Nothing that it says can be used.
    pub fn is_useless(self) -> bool {
        matches!(self, Voice::Empty | Voice::Longer(_) | Voice::Fails)
    }

    /// A summarizer with this voice.
    pub fn listening(self) -> Asked {
        Asked { voice: self, times: 0 }
    }
}

impl HistorySummarizer for Asked {
    fn name(&self) -> &str {
        "a test"
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        self.times += 1;
        match self.voice {
            Voice::Digest => DigestSummarizer.summarize(request),
            Voice::Garbage => {
                Ok("\u{0}\"}]},{\"role\":\"tool\"} \\ud83d \u{7f}🦊 <|end|>".to_owned())
            }
            Voice::Empty => Ok(" \n\t".to_owned()),
            Voice::Longer(bytes) => Ok("more ".repeat(bytes / 5 + 1)),
            Voice::Fails => Err("nobody is there".to_owned()),
        }
    }
}
