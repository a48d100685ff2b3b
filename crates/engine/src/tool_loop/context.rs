//! What a model is sent: the conversation, the instructions and the tools, in the model's format,
//! sound, and proven to be.

use foxwedge_core::{EditLog, Policy, Question, RuleSet, Span, Wire};
use foxwedge_dialect::{
    ReadError,
    canon::{
        Bit, History, Part, Renamed, Request, Said, Setting, Settings, Speaker, Takes, Tool, Words,
        decode_turn,
    },
    convert::{self, Converted, Options},
    read, want,
};
use foxwedge_tools::Toolbox;

use super::{LoopError, entry::Entry};
use crate::model::{ModelAbout, SealError, Sealed};

/// What goes into a request.
#[derive(Clone, Copy)]
pub(super) struct Context<'a> {
    pub(super) about: &'a ModelAbout,
    pub(super) instructions: &'a str,
    pub(super) tools: &'a Toolbox,
    /// Tools that are offered, at most: those that were added first.
    pub(super) most_tools: usize,
    /// Tokens of the reply.
    pub(super) reply: u64,
}

/// A request, and what was repaired in it.
pub(super) struct Composed {
    pub(super) body: String,
    pub(super) edits: EditLog,
    /// Names of tools that the model knows under another name.
    pub(super) names: Vec<Renamed>,
}

impl Context<'_> {
    /// Whose rules, and what a repair may do.
    pub(super) fn question(&self) -> Question {
        let profile = self.about.profile;
        Question { profile, rules: RuleSet::of(profile), policy: Policy::default() }
    }

    /// The request for a conversation.
    pub(super) fn compose(&self, entries: &[Entry]) -> Result<Composed, LoopError> {
        self.compose_as(
            entries,
            self.about.wire,
            Options { profile: Some(self.about.profile), ..Options::default() },
        )
    }

    /// The same in any format.
    pub(super) fn compose_as(
        &self,
        entries: &[Entry],
        wire: Wire,
        options: Options,
    ) -> Result<Composed, LoopError> {
        let mut messages = Vec::with_capacity(entries.len() + 1);
        if !self.instructions.is_empty() {
            let text = Part::new(Bit::Text(Words::from(self.instructions)));
            messages.push(Said::new(Speaker::System, vec![text]));
        }
        for entry in entries {
            messages.extend(decode_turn(&entry.body, entry.wire).map_err(untold)?);
        }
        let most = self.reply.to_string();
        let settings = self.settings(&most, wire);
        let request = Request { settings, history: History { messages }, object: true };
        let converted = convert::compose(request, wire, &options).map_err(untold)?;
        let Converted { body, behind: edits, names, .. } = converted;
        Ok(Composed { body, edits, names })
    }

    fn settings<'s>(&'s self, most: &'s str, wire: Wire) -> Settings<'s> {
        let tools = self.tools.first(self.most_tools).map(|tool| {
            let about = tool.about();
            Tool {
                name: Words::from(&*about.name),
                description: Some(Words::from(&*about.description)),
                takes: Takes::Object(Some(Words::from(about.schema.to_string()))),
                strict: None,
                cache: None,
                others: Vec::new(),
                raw: None,
            }
        });
        // Nothing lies on a provider's server, so what a model reasoned has to come to us.
        let others = match wire {
            Wire::OpenaiResponses => [("store", "false"), ("include", ENCRYPTED)]
                .map(|(key, value)| Setting { wire, within: "", key: key.into(), value })
                .to_vec(),
            Wire::OpenaiChat => vec![Setting {
                wire,
                within: "",
                key: "stream_options".into(),
                value: r#"{"include_usage":true}"#,
            }],
            Wire::Anthropic | Wire::Gemini | Wire::Bedrock => Vec::new(),
        };
        Settings {
            model: Some(Words::from(&*self.about.name)),
            tools: tools.collect(),
            most: Some(most),
            stream: Some(true),
            others,
            ..Settings::default()
        }
    }

    /// Proves a request sound.
    pub(super) fn seal(&self, body: String) -> Result<Sealed, SealError> {
        Sealed::seal(body.into(), self.about.wire, &self.question())
    }

    /// The messages of a request, without the instructions that stand before them.
    pub(super) fn messages(&self, body: &str) -> Result<Vec<(Wire, String)>, LoopError> {
        let wire = self.about.wire;
        let reading = read(body, wire, want(self.about.profile)).map_err(untold)?;
        let spans = reading.draft.messages.iter().map(|message| message.span);
        let text = |span: Span| span.of(body).to_owned();
        let mut messages: Vec<(Wire, String)> = spans.map(|span| (wire, text(span))).collect();
        let ours = !self.instructions.is_empty()
            && messages.first().is_some_and(|(_, first)| is_instruction(first, wire));
        if ours {
            messages.remove(0);
        }
        Ok(messages)
    }
}

/// What brings the reasoning of a model back to us.
const ENCRYPTED: &str = r#"["reasoning.encrypted_content"]"#;

fn is_instruction(message: &str, wire: Wire) -> bool {
    let said = decode_turn(message, wire).ok().and_then(|turn| turn.into_iter().next());
    said.is_some_and(|said| matches!(said.role, Speaker::System | Speaker::Developer))
}

/// What a person said in a message; `None` if it is no prompt.
pub(super) fn prompt(entry: &Entry) -> Option<String> {
    let turn = decode_turn(&entry.body, entry.wire).ok()?;
    let mut text = String::new();
    for said in &turn {
        for part in said.parts.iter().filter(|_| said.role == Speaker::User) {
            match part.bit() {
                Bit::Text(words) => text.push_str(words),
                Bit::Answer(_) => return None,
                Bit::Media(_) | Bit::Reasoning(_) | Bit::Call(_) | Bit::Other(_) => {}
            }
        }
    }
    turn.iter().all(|said| said.role == Speaker::User).then_some(text).filter(|it| !it.is_empty())
}

/// Whether the model is to speak next.
pub(super) fn is_open(entries: &[Entry]) -> bool {
    let last = entries.last().and_then(|entry| decode_turn(&entry.body, entry.wire).ok());
    last.is_some_and(|turn| turn.iter().any(|said| said.role == Speaker::User))
}

/// The ids of the calls in a message.
pub(super) fn calls(body: &str, wire: Wire) -> Option<Vec<String>> {
    let turn = decode_turn(body, wire).ok()?;
    let parts = turn.iter().flat_map(|said| &said.parts);
    let calls = parts.filter_map(|part| match part.bit() {
        Bit::Call(call) => Some(call.id.as_deref().map(str::to_owned)),
        Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Answer(_) | Bit::Other(_) => None,
    });
    calls.collect()
}

fn untold(error: ReadError) -> LoopError {
    LoopError::Untold(error.to_string())
}
