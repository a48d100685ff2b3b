//! Which answer belongs to which call: asked of the engine, on an outline of the history.

use foxwedge_core as core;

use super::{Bit, History, Speaker};

/// Where a part stands.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Hash)]
pub struct At {
    /// Index of the message.
    pub message: usize,
    /// Index of the part in it.
    pub part: usize,
}

/// The calls of a history and their answers.
#[derive(Clone, Debug, Default)]
pub struct Pairs {
    places: Places,
    /// The partner of each part.
    partners: Vec<Option<At>>,
    /// Every call has its one answer at the next turn, and every answer its call.
    whole: bool,
}

/// Numbers the parts of a history through.
#[derive(Clone, Debug, Default)]
pub(super) struct Places {
    /// The number of each message's first part.
    firsts: Vec<usize>,
    parts: usize,
}

impl Places {
    fn of(history: &History<'_>) -> Places {
        let mut parts = 0;
        let first = |said: &super::Said<'_>| {
            let first = parts;
            parts += said.parts.len();
            first
        };
        let firsts = history.messages.iter().map(first).collect();
        Places { firsts, parts }
    }

    /// The number of a part.
    pub(super) fn number(&self, at: At) -> Option<usize> {
        Some(self.firsts.get(at.message)? + at.part)
    }

    /// How many parts there are.
    pub(super) fn len(&self) -> usize {
        self.parts
    }
}

impl Pairs {
    /// Matches calls and answers.
    pub fn of(history: &History<'_>) -> Pairs {
        let places = Places::of(history);
        // Gemini's way: calls and answers are blocks, and ids may be missing.
        let mut builder = core::Builder::new("", core::Wire::Gemini);
        let mut ats = Vec::with_capacity(places.len());
        for (message, said) in history.messages.iter().enumerate() {
            for (part, one) in said.parts.iter().enumerate() {
                ats.push(At { message, part });
                builder.part(core::Span::NOWHERE, outline(one.bit()));
            }
            let role = match said.role {
                Speaker::Assistant => core::Role::Assistant,
                Speaker::User => core::Role::User,
                Speaker::System => core::Role::System,
                Speaker::Developer => core::Role::Developer,
            };
            let (content, marks) = (core::Content::List, core::Marks::default());
            builder.message(role, core::Span::NOWHERE, content, marks);
        }
        let pairing = core::pair(&builder.finish());
        let mut partners = vec![None; ats.len()];
        let mut homes = 0;
        for answer in &pairing.answers {
            homes +=
                usize::from(matches!(answer.fate(), core::Fate::Home(_) | core::Fate::Split(_)));
            let call = match answer.fate() {
                core::Fate::Home(call) | core::Fate::Split(call) | core::Fate::Apart(call) => call,
                core::Fate::Misplaced(_)
                | core::Fate::Early(_)
                | core::Fate::Duplicate(_)
                | core::Fate::Orphan => continue,
            };
            let Some(call) = pairing.calls.get(call).map(|call| call.part()) else { continue };
            if let (Some(&asked), Some(&told)) = (ats.get(call), ats.get(answer.part())) {
                partners[call] = Some(told);
                partners[answer.part()] = Some(asked);
            }
        }
        let whole = homes == pairing.answers.len() && homes == pairing.calls.len();
        Pairs { places, partners, whole: whole && is_on_its_side(history) }
    }

    /// The answer to a call, or the call of an answer.
    pub fn partner(&self, at: At) -> Option<At> {
        self.partners.get(self.places.number(at)?).copied().flatten()
    }

    /// Whether every call has its one answer in the next turn, and every answer its call.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    pub(super) fn places(&self) -> &Places {
        &self.places
    }
}

/// Whether calls are the model's, and answers the user's.
fn is_on_its_side(history: &History<'_>) -> bool {
    history.messages.iter().all(|said| {
        said.parts.iter().all(|part| match part.bit() {
            Bit::Call(_) => said.role == Speaker::Assistant,
            Bit::Answer(_) => said.role == Speaker::User,
            Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => true,
        })
    })
}

/// A part as the engine sees it.
fn outline<'a>(bit: &'a Bit<'_>) -> core::Kind<'a> {
    // Free text or JSON is no difference here: chat spells both answers alike.
    let family = |family: core::Family| match family {
        core::Family::Custom => core::Family::Function,
        other => other,
    };
    let text = |text: &'a str| std::borrow::Cow::Borrowed(text);
    match bit {
        Bit::Call(call) => core::Kind::call(core::Call {
            id: call.id.as_deref().map(text).into(),
            name: text(&call.name).into(),
            family: family(call.family),
            arguments: core::Arguments::Good,
            signed: false,
            typed: true,
        }),
        Bit::Answer(answer) => core::Kind::answer(core::Answer {
            id: answer.id.as_deref().map(text).into(),
            name: answer.name.as_deref().map(text).map(Box::new),
            family: family(answer.family),
            output: core::Output::Full,
            content: core::Span::NOWHERE,
            media: false,
        }),
        Bit::Text(_) | Bit::Media(_) | Bit::Reasoning(_) | Bit::Other(_) => core::Kind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::canon::{Answer, Call, Part, Said};
    use foxwedge_core::Family;

    /// `a` is a message of the model with its calls, `u` one of the user with its answers. A call
    /// or an answer is `id/name`, either of which may be left out.
    fn history(shape: &'static str) -> History<'static> {
        let part = |role: Speaker, word: &'static str| {
            let (id, name) = word.split_once('/').unwrap_or((word, ""));
            let some = |text: &'static str| (!text.is_empty()).then(|| text.into());
            Part::new(match role {
                Speaker::Assistant => Bit::Call(Call {
                    id: some(id),
                    name: name.into(),
                    family: Family::Function,
                    arguments: "{}".into(),
                    signature: None,
                }),
                _ => Bit::Answer(Answer {
                    id: some(id),
                    name: some(name),
                    family: Family::Function,
                    parts: Vec::new(),
                    error: false,
                }),
            })
        };
        let said = |message: &'static str| {
            let mut words = message.split_whitespace();
            let role = if words.next() == Some("a") { Speaker::Assistant } else { Speaker::User };
            Said::new(role, words.map(|word| part(role, word)).collect())
        };
        History { messages: shape.split(',').map(said).collect() }
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
            let pairs = Pairs::of(&history);
            let mut found = Vec::new();
            for (message, said) in history.messages.iter().enumerate() {
                for part in 0..said.parts.len() {
                    let at = At { message, part };
                    if let (Speaker::Assistant, Some(to)) = (said.role, pairs.partner(at)) {
                        found.push(format!("{message}.{part}-{}.{}", to.message, to.part));
                        assert_eq!(pairs.partner(to), Some(at));
                    }
                }
            }
            assert_eq!(found.join(" "), expected, "{shape}");
        }
    }
}
