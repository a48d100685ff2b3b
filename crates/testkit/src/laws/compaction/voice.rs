//! Summarizers that behave well or badly.

use foxwedge_formats::compact::{DigestSummarizer, HistorySummarizer, SummaryRequest};

/// How a summarizer behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummarizerKind {
    /// The built-in digest.
    Digest,
    /// Returns a short text that is hard to put into JSON.
    Garbage,
    /// Returns only white space.
    Empty,
    /// Returns more than it was given, with this many bytes.
    Longer(usize),
    /// Returns an error.
    Fails,
}

/// A summarizer that counts its calls.
#[derive(Clone, Copy, Debug)]
pub struct CountingSummarizer {
    /// How it behaves.
    pub voice: SummarizerKind,
    /// Number of calls.
    pub times: usize,
}

impl SummarizerKind {
    /// Whether its summaries can never be used.
    pub fn is_useless(self) -> bool {
        matches!(self, SummarizerKind::Empty | SummarizerKind::Longer(_) | SummarizerKind::Fails)
    }

    /// A summarizer of this kind.
    pub fn listening(self) -> CountingSummarizer {
        CountingSummarizer { voice: self, times: 0 }
    }
}

impl HistorySummarizer for CountingSummarizer {
    fn name(&self) -> &str {
        "a test"
    }

    fn summarize(&mut self, request: &SummaryRequest<'_>) -> Result<String, String> {
        self.times += 1;
        match self.voice {
            SummarizerKind::Digest => DigestSummarizer.summarize(request),
            SummarizerKind::Garbage => {
                Ok("\u{0}\"}]},{\"role\":\"tool\"} \\ud83d \u{7f}🦊 <|end|>".to_owned())
            }
            SummarizerKind::Empty => Ok(" \n\t".to_owned()),
            SummarizerKind::Longer(bytes) => Ok("more ".repeat(bytes / 5 + 1)),
            SummarizerKind::Fails => Err("nobody is there".to_owned()),
        }
    }
}
