//! Who reads what: the SDKs, and the ways in which each of them can read.

use std::path::Path;

use foxwedge_core::Format;
use serde_json::{Value, json};

use super::{
    Scene,
    fixture::{Fixture, Kind},
};
use crate::judges::Question;

/// The language of an SDK.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Language {
    Python,
    TypeScript,
}

impl Language {
    pub(super) const ALL: [Language; 2] = [Language::Python, Language::TypeScript];

    pub(super) fn name(self) -> &'static str {
        match self {
            Language::Python => "Python",
            Language::TypeScript => "TypeScript",
        }
    }

    /// The package that reads a format.
    pub(super) fn package(self, wire: Format) -> Option<&'static str> {
        match (self, wire) {
            (_, Format::OpenaiChat | Format::OpenaiResponses) => Some("openai"),
            (Language::Python, Format::Anthropic) => Some("anthropic"),
            (Language::TypeScript, Format::Anthropic) => Some("@anthropic-ai/sdk"),
            (Language::Python, Format::Gemini) => Some("google-genai"),
            (Language::TypeScript, Format::Gemini) => Some("@google/genai"),
            (Language::Python, Format::Bedrock) => Some("botocore"),
            (Language::TypeScript, Format::Bedrock) => None,
        }
    }
}

/// How an SDK reads.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Way {
    /// What arrives is taken as it comes.
    Plain,
    /// What arrives must also fit the SDK's own types.
    Strict,
    /// The SDK puts the pieces together itself.
    Helper,
}

impl Way {
    const ALL: [Way; 3] = [Way::Plain, Way::Strict, Way::Helper];

    pub(super) fn name(self) -> &'static str {
        match self {
            Way::Plain => "plain",
            Way::Strict => "strict",
            Way::Helper => "helper",
        }
    }
}

/// How many bytes of a stream arrive at a time; 0 is all at once. Seven bytes part every line, and
/// many a character.
const PIECES: [usize; 2] = [0, 7];

/// One reading of one document.
pub(super) struct Job<'s> {
    pub(super) fixture: &'s Fixture,
    pub(super) target: Format,
    pub(super) path: &'s Path,
    pub(super) language: Language,
    pub(super) way: Way,
    pub(super) piece: usize,
}

impl Job<'_> {
    /// Whether the document is the fixture itself.
    pub(super) fn is_source(&self) -> bool {
        self.target == self.fixture.wire
    }
}

impl Question for Job<'_> {
    fn line(&self) -> Value {
        json!({
            "format": self.target.name(),
            "kind": self.fixture.kind.name(),
            "path": self.path,
            "reader": self.way.name(),
            "piece": self.piece,
        })
    }

    fn told(&self) -> String {
        format!(
            "{} {} {} {} {} ({})",
            self.target.name(),
            self.fixture.kind.name(),
            self.path.display(),
            self.way.name(),
            self.piece,
            self.language.name()
        )
    }
}

/// All readings of a document in a language.
pub(super) fn jobs(scene: &Scene, language: Language) -> Vec<Job<'_>> {
    let Scene { fixture, target, path } = scene;
    let (Ok(path), Some(_)) = (path, language.package(*target)) else { return Vec::new() };
    let pieces = if fixture.kind == Kind::Stream { &PIECES[..] } else { &PIECES[..1] };
    let ways = Way::ALL.into_iter().filter(|way| reads(language, *target, *way, fixture));
    ways.flat_map(|way| {
        let job = move |&piece| Job { fixture, target: *target, path, language, way, piece };
        pieces.iter().map(job)
    })
    .collect()
}

/// Whether an SDK can read something in that way: not what its maker left out.
fn reads(language: Language, target: Format, way: Way, fixture: &Fixture) -> bool {
    // Types do not allow, and some helpers refuse, what is not known yet. Streamed free-text calls
    // of Chat are known to neither, though OpenAI sends them.
    let is_source = target == fixture.wire;
    let beyond = is_source && fixture.what == "unknown-events"
        || target == Format::OpenaiChat
            && fixture.kind == Kind::Stream
            && fixture.what == "custom-call";
    let checks_types = language == Language::Python && target != Format::Gemini;
    let has_helper = match (target, fixture.kind) {
        (Format::Bedrock, _) | (Format::OpenaiChat, Kind::Response) => false,
        (Format::OpenaiChat, Kind::Stream)
        | (Format::OpenaiResponses | Format::Anthropic | Format::Gemini, _) => true,
    };
    match way {
        // Strict is plain, and more.
        Way::Plain => beyond || !checks_types,
        Way::Strict => checks_types && !beyond,
        Way::Helper => has_helper && !beyond,
    }
}
