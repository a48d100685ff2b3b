//! Pairs tool calls with their results. The core pairs them on an outline of the history.

use std::collections::HashSet;

use foxwedge_core as core;

use super::{ContentPart, ModelHistory, ModelMessage, ModelRole};

/// Position of a part in a history.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct PartIndex {
    /// Index of the message.
    pub message: usize,
    /// Index of the part in it.
    pub part: usize,
}

/// The tool calls of a history and their results.
#[derive(Clone, Debug, Default)]
pub struct CallPairs {
    places: PartNumbering,
    /// The counterpart of each part.
    partners: Vec<Option<PartIndex>>,
    /// Every call has exactly one result in the next turn, and every result has its call.
    complete: bool,
}

/// Numbers the parts of a history consecutively.
#[derive(Clone, Debug, Default)]
pub(crate) struct PartNumbering {
    /// The number of each message's first part.
    firsts: Vec<usize>,
    parts: usize,
}

impl PartNumbering {
    fn of(history: &ModelHistory<'_>) -> PartNumbering {
        let mut parts = 0;
        let first = |message: &ModelMessage<'_>| {
            let first = parts;
            parts += message.parts.len();
            first
        };
        let firsts = history.messages.iter().map(first).collect();
        PartNumbering { firsts, parts }
    }

    /// The number of a part.
    pub(crate) fn number(&self, at: PartIndex) -> Option<usize> {
        Some(self.firsts.get(at.message)? + at.part)
    }

    /// The number of parts.
    pub(crate) fn len(&self) -> usize {
        self.parts
    }
}

impl CallPairs {
    /// Pairs the calls and results of a history.
    pub fn of(history: &ModelHistory<'_>) -> CallPairs {
        let numbering = PartNumbering::of(history);
        // Gemini's outline fits any history: calls and results are blocks, and ids may be missing.
        let mut builder = core::DraftBuilder::new("", core::Format::Gemini);
        let mut positions = Vec::with_capacity(numbering.len());
        let shared = ids_of_both_families(history);
        let mut interrupted = false;
        for (message_index, message) in history.messages.iter().enumerate() {
            for (part_index, part) in message.parts.iter().enumerate() {
                positions.push(PartIndex { message: message_index, part: part_index });
                builder.push_part(core::Span::NOWHERE, outline_part(part.content(), &shared));
            }
            // A run of items is one message: other items stand between calls of one turn.
            let next = history.messages.get(message_index + 1);
            if next.is_some_and(|next| is_item_of_model(message) && is_item_of_model(next)) {
                interrupted |= holds_calls(message) && !next.is_some_and(holds_calls);
                continue;
            }
            let role = match message.role {
                ModelRole::Assistant => core::Role::Assistant,
                ModelRole::User => core::Role::User,
                ModelRole::System => core::Role::System,
                ModelRole::Developer => core::Role::Developer,
            };
            let (content, marks) = (core::ContentShape::List, core::MessageFlags::default());
            builder.push_message(role, core::Span::NOWHERE, content, marks);
        }
        let pairing = core::pair_calls(&builder.finish());
        let mut partners = vec![None; positions.len()];
        let mut in_place = 0;
        for answer in &pairing.answers {
            in_place += usize::from(matches!(
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
            if let (Some(&call_position), Some(&result_position)) =
                (positions.get(call), positions.get(answer.part()))
            {
                partners[call] = Some(result_position);
                partners[answer.part()] = Some(call_position);
            }
        }
        let all_in_place = in_place == pairing.answers.len() && in_place == pairing.calls.len();
        CallPairs {
            places: numbering,
            partners,
            complete: all_in_place && !interrupted && has_expected_roles(history),
        }
    }

    /// The result of a call, or the call of a result.
    pub fn partner(&self, at: PartIndex) -> Option<PartIndex> {
        self.partners.get(self.places.number(at)?).copied().flatten()
    }

    /// Whether every call has exactly one result in the next turn, and every result has its call.
    pub fn is_complete(&self) -> bool {
        self.complete
    }

    pub(crate) fn places(&self) -> &PartNumbering {
        &self.places
    }
}

/// Whether a message is an item that the model made, in a format whose messages are single items.
fn is_item_of_model(message: &ModelMessage<'_>) -> bool {
    let layout = message.wire().map(core::Format::layout);
    message.role == ModelRole::Assistant && layout == Some(core::MessageLayout::Items)
}

fn holds_calls(message: &ModelMessage<'_>) -> bool {
    message.parts.iter().any(|part| matches!(part.content(), ContentPart::ToolCall(_)))
}

/// Whether all calls have the assistant role, and all results the user role.
fn has_expected_roles(history: &ModelHistory<'_>) -> bool {
    history.messages.iter().all(|message| {
        message.parts.iter().all(|part| match part.content() {
            ContentPart::ToolCall(_) => message.role == ModelRole::Assistant,
            ContentPart::ToolResult(_) => message.role == ModelRole::User,
            ContentPart::Text(_)
            | ContentPart::Media(_)
            | ContentPart::Reasoning(_)
            | ContentPart::Unknown(_) => true,
        })
    })
}

/// The ids that a function call and a custom call have in common, if a result states its family:
/// then that tells which call it belongs to.
fn ids_of_both_families<'h>(history: &'h ModelHistory<'_>) -> HashSet<&'h str> {
    let parts = || history.messages.iter().flat_map(|message| &message.parts);
    let results = parts().filter_map(|part| match part.content() {
        ContentPart::ToolResult(result) if result.family == core::CallFamily::Custom => {
            result.id.as_deref()
        }
        _ => None,
    });
    let mut ids: HashSet<&str> = results.collect();
    for family in [core::CallFamily::Custom, core::CallFamily::Function] {
        if ids.is_empty() {
            break;
        }
        let calls = parts().filter_map(|part| match part.content() {
            ContentPart::ToolCall(call) if call.family == family => call.id.as_deref(),
            _ => None,
        });
        ids = calls.filter(|id| ids.contains(id)).collect();
    }
    ids
}

/// A part as the core outlines it.
fn outline_part<'a>(content: &'a ContentPart<'_>, shared: &HashSet<&str>) -> core::PartKind<'a> {
    // Chat writes results of function and custom tools alike, so they must pair.
    let family = |family: core::CallFamily, id: Option<&str>| match family {
        core::CallFamily::Custom if !id.is_some_and(|id| shared.contains(id)) => {
            core::CallFamily::Function
        }
        other => other,
    };
    let text = |text: &'a str| std::borrow::Cow::Borrowed(text);
    match content {
        ContentPart::ToolCall(call) => core::PartKind::call(core::DraftCall {
            id: call.id.as_deref().map(text).into(),
            name: text(&call.name).into(),
            family: family(call.family, call.id.as_deref()),
            arguments: core::ArgumentsShape::Valid,
            signed: false,
            typed: true,
        }),
        ContentPart::ToolResult(result) => core::PartKind::answer(core::DraftAnswer {
            id: result.id.as_deref().map(text).into(),
            name: result.name.as_deref().map(text).map(Box::new),
            family: family(result.family, result.id.as_deref()),
            output: core::AnswerShape::Full,
            content: core::Span::NOWHERE,
            media: false,
            foreign: false,
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
    use crate::conversation::{ModelPart, ToolCallPart, ToolResultPart};
    use foxwedge_core::CallFamily;

    /// `a` is an assistant message with its calls, `u` a user message with its results. A call or
    /// result is `id/name`; either may be omitted.
    fn history(shape: &'static str) -> ModelHistory<'static> {
        let part = |role: ModelRole, token: &'static str| {
            let (id, name) = token.split_once('/').unwrap_or((token, ""));
            let non_empty = |text: &'static str| (!text.is_empty()).then(|| text.into());
            ModelPart::new(match role {
                ModelRole::Assistant => ContentPart::ToolCall(ToolCallPart {
                    id: non_empty(id),
                    name: name.into(),
                    family: CallFamily::Function,
                    arguments: "{}".into(),
                    signature: None,
                }),
                _ => ContentPart::ToolResult(ToolResultPart {
                    id: non_empty(id),
                    name: non_empty(name),
                    family: CallFamily::Function,
                    parts: Vec::new(),
                    error: false,
                }),
            })
        };
        let message_of = |message: &'static str| {
            let mut tokens = message.split_whitespace();
            let role =
                if tokens.next() == Some("a") { ModelRole::Assistant } else { ModelRole::User };
            ModelMessage::new(role, tokens.map(|token| part(role, token)).collect())
        };
        ModelHistory { messages: shape.split(',').map(message_of).collect() }
    }

    #[test]
    fn results_are_paired_with_their_calls() {
        let table = [
            ("a x, u x", "0.0-1.0"),
            ("a x y, u y x", "0.0-1.1 0.1-1.0"),
            ("a x, a y, u x, u y", "0.0-2.0 1.0-3.0"),
            ("a x, u x, a x, u x", "0.0-1.0 2.0-3.0"),
            // A reused id shadows the older call; within one turn the order decides.
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
            for (message, turn) in history.messages.iter().enumerate() {
                for part in 0..turn.parts.len() {
                    let at = PartIndex { message, part };
                    if let (ModelRole::Assistant, Some(to)) = (turn.role, pairs.partner(at)) {
                        found.push(format!("{message}.{part}-{}.{}", to.message, to.part));
                        assert_eq!(pairs.partner(to), Some(at));
                    }
                }
            }
            assert_eq!(found.join(" "), expected, "{shape}");
        }
    }

    #[test]
    fn items_between_calls_of_one_turn_do_not_change_the_order_of_their_results() {
        let source = r#"[{"type":"user_input","content":"go"},
            {"type":"function_call","id":"c","name":"one","arguments":{}},
            {"type":"model_output","content":[]},
            {"type":"function_call","id":"c","name":"two","arguments":{}},
            {"type":"function_result","call_id":"c","name":"one","result":"1"},
            {"type":"function_result","call_id":"c","name":"two","result":"2"}]"#;
        let history =
            crate::model::decode(source, core::Format::GeminiInteractions).expect("a history");
        let pairs = CallPairs::of(&history);
        let at = |message| PartIndex { message, part: 0 };
        assert_eq!(pairs.partner(at(1)), Some(at(4)));
        assert_eq!(pairs.partner(at(3)), Some(at(5)));
        assert!(!pairs.is_complete(), "an item interrupts the turn");
    }
}
