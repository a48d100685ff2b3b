//! Which answer belongs to which call: asked of the engine, on an outline of the history.

use foxwedge_core as core;

use super::{ContentPart, ModelHistory, ModelRole};

/// Where a part stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PartIndex {
    /// Index of the message.
    pub message: usize,
    /// Index of the part in it.
    pub part: usize,
}

/// The calls of a history and their answers.
#[derive(Clone, Debug, Default)]
pub struct CallPairs {
    places: PartNumbering,
    /// The partner of each part.
    partners: Vec<Option<PartIndex>>,
    /// Every call has its one answer at the next turn, and every answer its call.
    complete: bool,
}

/// Numbers the parts of a history through.
#[derive(Clone, Debug, Default)]
pub(super) struct PartNumbering {
    /// The number of each message's first part.
    firsts: Vec<usize>,
    parts: usize,
}

impl PartNumbering {
    fn of(history: &ModelHistory<'_>) -> PartNumbering {
        let mut parts = 0;
        let first = |said: &super::ModelMessage<'_>| {
            let first = parts;
            parts += said.parts.len();
            first
        };
        let firsts = history.messages.iter().map(first).collect();
        PartNumbering { firsts, parts }
    }

    /// The number of a part.
    pub(super) fn number(&self, at: PartIndex) -> Option<usize> {
        Some(self.firsts.get(at.message)? + at.part)
    }

    /// How many parts there are.
    pub(super) fn len(&self) -> usize {
        self.parts
    }
}

impl CallPairs {
    /// Matches calls and answers.
    pub fn of(history: &ModelHistory<'_>) -> CallPairs {
        let places = PartNumbering::of(history);
        // Gemini's way: calls and answers are blocks, and ids may be missing.
        let mut builder = core::DraftBuilder::new("", core::Format::Gemini);
        let mut ats = Vec::with_capacity(places.len());
        for (message, said) in history.messages.iter().enumerate() {
            for (part, one) in said.parts.iter().enumerate() {
                ats.push(PartIndex { message, part });
                builder.push_part(core::Span::NOWHERE, outline_part(one.content()));
            }
            let role = match said.role {
                ModelRole::Assistant => core::Role::Assistant,
                ModelRole::User => core::Role::User,
                ModelRole::System => core::Role::System,
                ModelRole::Developer => core::Role::Developer,
            };
            let (content, marks) = (core::ContentShape::List, core::MessageFlags::default());
            builder.push_message(role, core::Span::NOWHERE, content, marks);
        }
        let pairing = core::pair_calls(&builder.finish());
        let mut partners = vec![None; ats.len()];
        let mut homes = 0;
        for answer in &pairing.answers {
            homes += usize::from(matches!(
                answer.result_match(),
                core::ResultMatch::InPlace(_) | core::ResultMatch::Split(_)
            ));
            let call = match answer.result_match() {
                core::ResultMatch::InPlace(call)
                | core::ResultMatch::Split(call)
                | core::ResultMatch::Displaced(call) => call,
                core::ResultMatch::Misplaced(_)
                | core::ResultMatch::Early(_)
                | core::ResultMatch::Duplicate(_)
                | core::ResultMatch::Orphan => continue,
            };
            let Some(call) = pairing.calls.get(call).map(|call| call.part()) else { continue };
            if let (Some(&asked), Some(&told)) = (ats.get(call), ats.get(answer.part())) {
                partners[call] = Some(told);
                partners[answer.part()] = Some(asked);
            }
        }
        let whole = homes == pairing.answers.len() && homes == pairing.calls.len();
        CallPairs { places, partners, complete: whole && has_expected_roles(history) }
    }

    /// The answer to a call, or the call of an answer.
    pub fn partner(&self, at: PartIndex) -> Option<PartIndex> {
        self.partners.get(self.places.number(at)?).copied().flatten()
    }

    /// Whether every call has its one answer in the next turn, and every answer its call.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub(super) fn places(&self) -> &PartNumbering {
        &self.places
    }
}

/// Whether calls are the model's, and answers the user's.
fn has_expected_roles(history: &ModelHistory<'_>) -> bool {
    history.messages.iter().all(|said| {
        said.parts.iter().all(|part| match part.content() {
            ContentPart::ToolCall(_) => said.role == ModelRole::Assistant,
            ContentPart::ToolResult(_) => said.role == ModelRole::User,
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => true,
        })
    })
}

/// A part as the engine sees it.
fn outline_part<'a>(bit: &'a ContentPart<'_>) -> core::PartKind<'a> {
    // Free text or JSON is no difference here: chat spells both answers alike.
    let family = |family: core::CallFamily| match family {
        core::CallFamily::Custom => core::CallFamily::Function,
        other => other,
    };
    let text = |text: &'a str| std::borrow::Cow::Borrowed(text);
    match bit {
        ContentPart::ToolCall(call) => core::PartKind::call(core::DraftCall {
            id: call.id.as_deref().map(text).into(),
            name: text(&call.name).into(),
            family: family(call.family),
            arguments: core::ArgumentsShape::Valid,
            signed: false,
            typed: true,
        }),
        ContentPart::ToolResult(answer) => core::PartKind::answer(core::DraftAnswer {
            id: answer.id.as_deref().map(text).into(),
            name: answer.name.as_deref().map(text).map(Box::new),
            family: family(answer.family),
            output: core::AnswerShape::Full,
            content: core::Span::NOWHERE,
            media: false,
        }),
        ContentPart::Text(_)
        | ContentPart::Media(_)
        | ContentPart::Reasoning(_)
        | ContentPart::Unknown(_) => core::PartKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::{ModelMessage, ModelPart, ToolCallPart, ToolResultPart};
    use foxwedge_core::CallFamily;

    /// `a` is a message of the model with its calls, `u` one of the user with its answers. A call
    /// or an answer is `id/name`, either of which may be left out.
    fn history(shape: &'static str) -> ModelHistory<'static> {
        let part = |role: ModelRole, word: &'static str| {
            let (id, name) = word.split_once('/').unwrap_or((word, ""));
            let some = |text: &'static str| (!text.is_empty()).then(|| text.into());
            ModelPart::new(match role {
                ModelRole::Assistant => ContentPart::ToolCall(ToolCallPart {
                    id: some(id),
                    name: name.into(),
                    family: CallFamily::Function,
                    arguments: "{}".into(),
                    signature: None,
                }),
                _ => ContentPart::ToolResult(ToolResultPart {
                    id: some(id),
                    name: some(name),
                    family: CallFamily::Function,
                    parts: Vec::new(),
                    error: false,
                }),
            })
        };
        let said = |message: &'static str| {
            let mut words = message.split_whitespace();
            let role =
                if words.next() == Some("a") { ModelRole::Assistant } else { ModelRole::User };
            ModelMessage::new(role, words.map(|word| part(role, word)).collect())
        };
        ModelHistory { messages: shape.split(',').map(said).collect() }
    }

    #[test]
    fn answers_find_their_calls() {
        let table = [
            ("a x, u x", "0.0-1.0"),
            ("a x y, u y x", "0.0-1.1 0.1-1.0"),
            ("a x, a y, u x, u y", "0.0-2.0 1.0-3.0"),
            ("a x, u x, a x, u x", "0.0-1.0 2.0-3.0"),
            // A reused id shadows the older call; in one turn the order decides.
            ("a x, u, a x, u x", "2.0-3.0"),
            ("a x x, u x x", "0.0-1.0 0.1-1.1"),
            ("a /f /g, u /g /f", "0.0-1.1 0.1-1.0"),
            ("a /f /f, u / /", "0.0-1.0 0.1-1.1"),
            ("a x/f, u /f", "0.0-1.0"),
            ("a /f, u x/f", "0.0-1.0"),
            ("a x/f, u y/f", ""),
            ("u x, a x", ""),
        ];
        for (shape, expected) in table {
            let history = history(shape);
            let pairs = CallPairs::of(&history);
            let mut found = Vec::new();
            for (message, said) in history.messages.iter().enumerate() {
                for part in 0..said.parts.len() {
                    let at = PartIndex { message, part };
                    if let (ModelRole::Assistant, Some(to)) = (said.role, pairs.partner(at)) {
                        found.push(format!("{message}.{part}-{}.{}", to.message, to.part));
                        assert_eq!(pairs.partner(to), Some(at));
                    }
                }
            }
            assert_eq!(found.join(" "), expected, "{shape}");
        }
    }
}
