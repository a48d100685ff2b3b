//! Argument values and their parsers.

use anstream::ColorChoice;
use clap::{
    ValueEnum,
    builder::{PossibleValue, PossibleValuesParser, TypedValueParser},
};
use foxwedge_chat::{ChatApi, ReplyFormat};
use foxwedge_core::{
    Format, OrphanPolicy, PlaceholderLanguage, Profile, TailPolicy, UnansweredPolicy,
};
use foxwedge_formats::AiSdkList;
pub(crate) use foxwedge_local::input_format::InputFormat;
use foxwedge_run::encode::UiFormat;
use foxwedge_sessions::SessionAgent;
use foxwedge_tokens::CountingMethod;

use super::ConversionTarget;

/// Output format for findings.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum OutputFormat {
    /// Each finding with a drawing of the messages it concerns
    Full,
    /// One line per finding
    Concise,
    /// One JSON document
    Json,
    /// One JSON object per line
    JsonLines,
    /// GitHub Actions annotations
    Github,
    /// GitLab code quality report
    Gitlab,
    /// JUnit XML, for other CI servers
    Junit,
    /// SARIF 2.1.0
    Sarif,
    /// A table for an issue or a comment
    Markdown,
}

impl OutputFormat {
    /// The value on the command line.
    pub(crate) fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }

    /// Whether the format is for people, so that colors, diffs and notes may be added.
    pub(crate) fn is_for_people(self) -> bool {
        match self {
            OutputFormat::Full | OutputFormat::Concise => true,
            OutputFormat::Json
            | OutputFormat::JsonLines
            | OutputFormat::Github
            | OutputFormat::Gitlab
            | OutputFormat::Junit
            | OutputFormat::Sarif
            | OutputFormat::Markdown => false,
        }
    }
}

/// Output format of a list.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ListFormat {
    /// Aligned columns
    Text,
    /// One JSON document
    Json,
}

/// Output format of a report about one conversation.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ReportFormat {
    /// Readable text
    Full,
    /// One JSON document
    Json,
}

/// A strategy for shortening a conversation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum CompactStrategy {
    /// Keeps the first message and removes a fraction of the others.
    Window,
    /// Keeps the newest messages that fit the budget.
    Budget,
    /// Truncates or clears old, large tool results.
    Elide,
    /// Removes the least important units.
    Importance,
    /// Replaces old messages with a summary.
    Summarize,
}

impl CompactStrategy {
    /// The value on the command line.
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

/// Whether a session is shown repaired.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum SessionViewMode {
    /// Repaired, as `fix` would leave it
    #[default]
    Clean,
    /// As it is in the file
    Raw,
}

/// Export format of a conversation.
#[derive(ValueEnum, Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ExportFormat {
    /// For an issue, a comment or a note
    Markdown,
    /// One self-contained page
    Html,
    /// One JSON document for programs
    Json,
}

/// A parser for values that another crate names.
fn named<T: Copy + Send + Sync + 'static>(
    values: Vec<(&'static str, T)>,
) -> impl TypedValueParser<Value = T> {
    parser(values.into_iter().map(|(name, value)| (PossibleValue::new(name), value)).collect())
}

/// The same, with a help text for each.
fn described<T: Copy + Send + Sync + 'static>(
    values: Vec<(&'static str, T, &'static str)>,
) -> impl TypedValueParser<Value = T> {
    let values = values.into_iter();
    parser(values.map(|(name, value, help)| (PossibleValue::new(name).help(help), value)).collect())
}

fn parser<T: Copy + Send + Sync + 'static>(
    values: Vec<(PossibleValue, T)>,
) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> = values.iter().map(|(name, _)| name.clone()).collect();
    PossibleValuesParser::new(names).try_map(move |typed| {
        let value = values.iter().find(|(name, _)| name.get_name() == typed);
        value.map(|(_, value)| *value).ok_or_else(|| format!("`{typed}` is not known"))
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

/// Accepts profiles by name and by the name of the company or model.
pub(super) fn profiles() -> impl TypedValueParser<Value = Profile> {
    aliased(Profile::ALL.to_vec(), Profile::name, |profile| match profile {
        Profile::OpenaiChat => &["openai"],
        Profile::Anthropic => &["claude"],
        Profile::Gemini => &["google"],
        Profile::Bedrock => &["aws"],
        Profile::OpenaiResponses
        | Profile::GeminiInteractions
        | Profile::Mistral
        | Profile::Deepseek
        | Profile::Strict => &[],
    })
}

/// Accepts formats by name and by the name of the company or model.
pub(super) fn wires() -> impl TypedValueParser<Value = Format> {
    aliased(Format::ALL.to_vec(), Format::name, format_aliases)
}

/// Accepts what a conversation can be converted to.
pub(super) fn targets() -> impl TypedValueParser<Value = ConversionTarget> {
    let formats = Format::ALL.into_iter().map(ConversionTarget::Wire);
    let lists = AiSdkList::ALL.into_iter().map(ConversionTarget::List);
    aliased(formats.chain(lists).collect(), ConversionTarget::name, |target| match target {
        ConversionTarget::Wire(format) => format_aliases(format),
        ConversionTarget::List(_) => &[],
    })
}

fn format_aliases(format: Format) -> &'static [&'static str] {
    match format {
        Format::OpenaiChat => &["openai"],
        Format::Anthropic => &["claude"],
        Format::Gemini => &["google"],
        Format::Bedrock => &["aws"],
        Format::OpenaiResponses | Format::GeminiInteractions => &[],
    }
}

pub(super) fn chat_apis() -> impl TypedValueParser<Value = ChatApi> {
    let all = [
        (ChatApi::Openai, "OpenAI Chat Completions, supported by most servers"),
        (ChatApi::Anthropic, "Anthropic Messages"),
        (ChatApi::Gemini, "Gemini generateContent"),
        (ChatApi::Deepseek, "DeepSeek Chat Completions"),
        (ChatApi::Gateway, "A Foxwedge gateway (`foxwedge serve`)"),
        (ChatApi::Scripted, "The built-in scripted model, which needs no key"),
    ];
    described(all.map(|(api, help)| (api.name(), api, help)).to_vec())
}

pub(super) fn reply_formats() -> impl TypedValueParser<Value = ReplyFormat> {
    described(vec![
        ("text", ReplyFormat::Text, "The model's text"),
        ("json", ReplyFormat::Json, "One JSON object at the end"),
        (
            "jsonl",
            ReplyFormat::Frames(UiFormat::Jsonl),
            "Foxwedge run events, one per line, as they arrive",
        ),
        ("agui", ReplyFormat::Frames(UiFormat::AgUi), "AG-UI events"),
        ("ai-sdk", ReplyFormat::Frames(UiFormat::AiSdk), "UI message stream of the AI SDK"),
        ("acp", ReplyFormat::Frames(UiFormat::Acp), "Agent Client Protocol session updates"),
    ])
}

/// Accepts agents by name and by common aliases.
pub(super) fn agents() -> impl TypedValueParser<Value = SessionAgent> {
    aliased(SessionAgent::on_machine().collect(), SessionAgent::name, |agent| match agent {
        SessionAgent::ClaudeCode => &["claude"],
        SessionAgent::GeminiCli => &["gemini"],
        SessionAgent::Cline => &["roo", "kilo"],
        SessionAgent::CopilotCli => &["copilot"],
        SessionAgent::KimiCode => &["kimi"],
        SessionAgent::QwenCode => &["qwen"],
        SessionAgent::Opencode => &["kilo-cli"],
        SessionAgent::Codex
        | SessionAgent::Neovate
        | SessionAgent::Pi
        | SessionAgent::Crush
        | SessionAgent::Goose
        | SessionAgent::AiSdkUi
        | SessionAgent::AiSdkModel
        | SessionAgent::ReadOnly(_) => &[],
    })
}

/// A parser for values with a name and further names that the help does not list.
fn aliased<T: Copy + Send + Sync + 'static>(
    values: Vec<T>,
    name_of: fn(T) -> &'static str,
    aliases_of: fn(T) -> &'static [&'static str],
) -> impl TypedValueParser<Value = T> {
    let names: Vec<PossibleValue> = values
        .iter()
        .map(|value| PossibleValue::new(name_of(*value)).aliases(aliases_of(*value)))
        .collect();
    PossibleValuesParser::new(names).try_map(move |typed| {
        let is_named =
            |value: &&T| name_of(**value) == typed || aliases_of(**value).contains(&typed.as_str());
        values.iter().find(is_named).copied().ok_or_else(|| format!("`{typed}` is not known"))
    })
}

pub(super) fn formats() -> impl TypedValueParser<Value = InputFormat> {
    let formats = Format::ALL.into_iter().map(InputFormat::Wire);
    let agents = SessionAgent::on_machine().chain(SessionAgent::LISTS);
    // Sessions that are only read are found by what they hold.
    let agents = agents.filter(|agent| agent.read_only_reason().is_none());
    let agents = agents.map(InputFormat::Agent);
    named(formats.chain(agents).map(|format| (format.name(), format)).collect())
}
