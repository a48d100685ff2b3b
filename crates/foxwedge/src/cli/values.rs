//! The words that stand for values.

use anstream::ColorChoice;
use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use foxwedge_core::{
    Format, OrphanPolicy, PlaceholderLanguage, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_sessions::SessionAgent;
use foxwedge_tokens::CountingMethod;

/// The format of an input.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum InputFormat {
    /// As a provider takes it.
    Wire(Format),
    /// As an agent keeps it.
    Agent(SessionAgent),
}

impl InputFormat {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            InputFormat::Wire(wire) => wire.name(),
            InputFormat::Agent(agent) => agent.name(),
        }
    }
}

/// How findings are written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputFormat {
    /// Each finding with the pair it concerns drawn
    Full,
    /// One line each
    Concise,
    /// One document
    Json,
    /// One object a line
    JsonLines,
    /// Annotations of GitHub Actions
    Github,
    /// SARIF 2.1.0
    Sarif,
    /// A table for an issue or a comment
    Markdown,
}

impl OutputFormat {
    /// As it is typed.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether people read it: it may carry colours, and diffs and notes may stand around it.
    pub(crate) fn is_for_people(self) -> bool {
        match self {
            OutputFormat::Full | OutputFormat::Concise => true,
            OutputFormat::Json
            | OutputFormat::JsonLines
            | OutputFormat::Github
            | OutputFormat::Sarif
            | OutputFormat::Markdown => false,
        }
    }
}

/// How a list is written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListFormat {
    /// Aligned columns
    Text,
    /// One document
    Json,
}

/// How a report about one conversation is written.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportFormat {
    /// For people
    Full,
    /// One document
    Json,
}

/// A way to make a conversation shorter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompactStrategy {
    /// The first message stays, a share of the others goes.
    Window,
    /// The newest that fits stays.
    Budget,
    /// Old, large answers shrink.
    Elide,
    /// What matters least goes.
    Importance,
    /// A summary takes the place of what is old.
    Summarize,
}

impl CompactStrategy {
    /// As it is typed.
    pub(crate) fn name(self) -> &'static str {
        match self {
            CompactStrategy::Window => "window",
            CompactStrategy::Budget => "budget",
            CompactStrategy::Elide => "elide",
            CompactStrategy::Importance => "importance",
            CompactStrategy::Summarize => "summarize",
        }
    }
}

/// Which history of a session is told.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SessionViewMode {
    /// Repaired: what `fix` would leave
    #[default]
    Clean,
    /// As it stands in the file
    Raw,
}

/// How a conversation is exported.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExportFormat {
    /// For an issue, a comment or a note
    Markdown,
    /// One page that needs nothing else
    Html,
    /// One document for programs
    Json,
}

/// A parser for a value that the core names.
fn named<T: Copy + Send + Sync + 'static>(
    values: Vec<(&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<&'static str> = values.iter().map(|(name, _)| *name).collect();
    PossibleValuesParser::new(names).try_map(move |name| {
        let value = values.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
        value.ok_or_else(|| format!("`{name}` is not known"))
    })
}

pub(super) fn colors() -> impl TypedValueParser<Value = ColorChoice> {
    named(vec![
        ("auto", ColorChoice::Auto),
        ("always", ColorChoice::Always),
        ("never", ColorChoice::Never),
    ])
}

pub(super) fn strategies() -> impl TypedValueParser<Value = CompactStrategy> {
    let all = [
        CompactStrategy::Window,
        CompactStrategy::Budget,
        CompactStrategy::Elide,
        CompactStrategy::Importance,
        CompactStrategy::Summarize,
    ];
    named(all.map(|strategy| (strategy.name(), strategy)).to_vec())
}

pub(super) fn countings() -> impl TypedValueParser<Value = CountingMethod> {
    named(CountingMethod::all().map(|counting| (counting.name(), counting)).collect())
}

pub(super) fn policies() -> impl TypedValueParser<Value = UnansweredPolicy> {
    let all = [UnansweredPolicy::Answer, UnansweredPolicy::DropTurn, UnansweredPolicy::DropCall];
    named(all.map(|policy| (policy.name(), policy)).to_vec())
}

pub(super) fn orphans() -> impl TypedValueParser<Value = OrphanPolicy> {
    named(vec![("quote", OrphanPolicy::Quote), ("drop", OrphanPolicy::Drop)])
}

pub(super) fn tails() -> impl TypedValueParser<Value = TailPolicy> {
    named(vec![("dead", TailPolicy::Dead), ("pending", TailPolicy::Pending)])
}

pub(super) fn languages() -> impl TypedValueParser<Value = PlaceholderLanguage> {
    named(vec![("en", PlaceholderLanguage::English), ("zh", PlaceholderLanguage::Chinese)])
}

pub(super) fn profiles() -> impl TypedValueParser<Value = Profile> {
    named(Profile::ALL.map(|profile| (profile.name(), profile)).to_vec())
}

pub(super) fn wires() -> impl TypedValueParser<Value = Format> {
    named(Format::ALL.map(|wire| (wire.name(), wire)).to_vec())
}

/// Agents by their names, and by what people call them.
pub(super) fn agents() -> impl TypedValueParser<Value = SessionAgent> {
    let also = |agent: SessionAgent| match agent {
        SessionAgent::ClaudeCode => &["claude"][..],
        SessionAgent::GeminiCli => &["gemini"],
        SessionAgent::Cline => &["roo", "kilo"],
        SessionAgent::Codex | SessionAgent::Neovate => &[],
    };
    let values =
        SessionAgent::ALL.map(|agent| PossibleValue::new(agent.name()).aliases(also(agent)));
    PossibleValuesParser::new(values).try_map(move |typed| {
        let known = |agent: &SessionAgent| agent.name() == typed || also(*agent).contains(&&*typed);
        SessionAgent::ALL.into_iter().find(known).ok_or_else(|| format!("`{typed}` is not known"))
    })
}

pub(super) fn formats() -> impl TypedValueParser<Value = InputFormat> {
    let wires = Format::ALL.into_iter().map(InputFormat::Wire);
    let agents = SessionAgent::ALL.into_iter().map(InputFormat::Agent);
    named(wires.chain(agents).map(|format| (format.name(), format)).collect())
}
