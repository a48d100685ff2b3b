//! Who called, who answered, and which answer belongs to which call.
//!
//! Written as the rules are told: for every answer, in order, look through the calls again.

use std::ops::Range;

use super::items;
use super::reading::{Kind, Layout, Reading, Role, id, text};
use crate::dialect::Dialect;

/// Calls, answers and what became of them.
pub(super) struct Matching<'a> {
    pub(super) groups: Vec<Group>,
    pub(super) calls: Vec<Call<'a>>,
    pub(super) answers: Vec<Answer<'a>>,
}

/// Messages that call together.
pub(super) struct Group {
    pub(super) messages: Range<usize>,
    /// Where the answers belong.
    pub(super) home: Range<usize>,
    /// Later messages of the same run of the user.
    pub(super) late: Range<usize>,
}

/// A client call in an assistant message.
pub(super) struct Call<'a> {
    pub(super) position: (usize, usize),
    pub(super) group: usize,
    pub(super) id: Option<&'a str>,
    pub(super) family: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) answered: bool,
}

/// A client answer, wherever it stands.
pub(super) struct Answer<'a> {
    pub(super) position: (usize, usize),
    pub(super) id: Option<&'a str>,
    pub(super) family: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) fate: Fate,
}

/// What matching made of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fate {
    /// The answer of this call.
    Of(usize),
    /// The call was answered before.
    Duplicate,
    /// There is no such call.
    Orphan,
}

impl<'a> Matching<'a> {
    /// Matches every answer of the document.
    pub(super) fn new(reading: &Reading<'a>) -> Self {
        let groups = groups(reading);
        let calls = calls(reading, &groups);
        let mut matching = Self { groups, calls, answers: answers(reading) };
        let gemini = reading.dialect == Dialect::Gemini;
        for index in 0..matching.answers.len() {
            let fate = matching.look_back(index, gemini);
            matching.settle(index, fate);
        }
        for index in 0..matching.answers.len() {
            if matching.answers[index].fate == Fate::Orphan {
                let fate = matching.look_ahead(index);
                matching.settle(index, fate);
            }
        }
        matching
    }

    /// The call an answer belongs to.
    pub(super) fn call_of(&self, answer: &Answer<'a>) -> Option<&Call<'a>> {
        match answer.fate {
            Fate::Of(call) => self.calls.get(call),
            Fate::Duplicate | Fate::Orphan => None,
        }
    }

    /// True when both messages lie in one group.
    pub(super) fn same_group(&self, one: usize, other: usize) -> bool {
        self.groups
            .iter()
            .any(|group| group.messages.contains(&one) && group.messages.contains(&other))
    }

    fn settle(&mut self, answer: usize, fate: Fate) {
        self.answers[answer].fate = fate;
        if let Fate::Of(call) = fate {
            self.calls[call].answered = true;
        }
    }

    fn look_back(&self, answer: usize, gemini: bool) -> Fate {
        let answer = &self.answers[answer];
        let home = self.groups.iter().position(|group| group.home.contains(&answer.position.0));
        let first = |wanted: &dyn Fn(&Call<'a>) -> bool| {
            let open = |call: &Call<'a>| !call.answered && Some(call.group) == home;
            self.calls.iter().position(|call| open(call) && wanted(call)).map(Fate::Of)
        };
        let same_id = |call: &Call<'a>| call.id == answer.id && call.family == answer.family;

        let here = first(&same_id);
        if here.is_some() && (answer.id.is_some() || !gemini) {
            return here.unwrap_or(Fate::Orphan);
        }
        let id_is_here = answer.id.is_some()
            && self.calls.iter().any(|call| Some(call.group) == home && same_id(call));
        if gemini && !id_is_here {
            let loose = |call: &Call<'a>| call.id.is_none() || answer.id.is_none();
            let same_name =
                |call: &Call<'a>| loose(call) && call.name.is_some() && call.name == answer.name;
            if let Some(fate) = first(&same_name).or_else(|| first(&loose)) {
                return fate;
            }
        }
        if answer.id.is_none() {
            return Fate::Orphan;
        }
        let earlier = |call: &&Call<'a>| call.position < answer.position && same_id(call);
        let Some(group) = self.calls.iter().rfind(earlier).map(|call| call.group) else {
            return Fate::Orphan;
        };
        let open = |call: &Call<'a>| !call.answered && call.group == group && earlier(&call);
        self.calls.iter().position(open).map_or(Fate::Duplicate, Fate::Of)
    }

    fn look_ahead(&self, answer: usize) -> Fate {
        let answer = &self.answers[answer];
        let open = |call: &Call<'a>| {
            let later = call.position > answer.position && !call.answered;
            later && call.id.is_some() && call.id == answer.id && call.family == answer.family
        };
        self.calls.iter().position(open).map_or(Fate::Orphan, Fate::Of)
    }
}

fn groups(reading: &Reading<'_>) -> Vec<Group> {
    let mut groups = Vec::new();
    for (start, end) in reading.assistant_runs() {
        let calls = |index: usize| reading.messages[index].calls();
        let mut first = end;
        while first > start && (reading.layout == Layout::Items || calls(first - 1)) {
            first -= 1;
        }
        for alone in (start..first).filter(|index| calls(*index)) {
            groups.push(Group { messages: alone..alone + 1, home: 0..0, late: 0..0 });
        }
        if first == end {
            continue;
        }
        let wanted = if reading.layout == Layout::Blocks { Role::User } else { Role::Answer };
        let mut last = end;
        while reading.role(last) == Some(wanted) {
            last += 1;
        }
        let home = if reading.layout == Layout::Blocks { last.min(end + 1) } else { last };
        groups.push(Group { messages: first..end, home: end..home, late: home..last });
    }
    groups
}

fn calls<'a>(reading: &Reading<'a>, groups: &[Group]) -> Vec<Call<'a>> {
    let mut calls = Vec::new();
    for (index, message) in reading.messages.iter().enumerate() {
        let Some(group) = groups.iter().position(|group| group.messages.contains(&index)) else {
            continue;
        };
        for (at, block) in message.blocks.iter().enumerate() {
            if block.kind != Kind::Call {
                continue;
            }
            let body = block.body;
            let (id, name) = match reading.dialect {
                Dialect::Chat => {
                    (id(body, "id"), super::chat_call(body).1.and_then(|it| text(it, "name")))
                }
                Dialect::Anthropic | Dialect::Gemini => (id(body, "id"), text(body, "name")),
                Dialect::Bedrock => (id(body, "toolUseId"), text(body, "name")),
                Dialect::Responses => (items::call_id(body), text(body, "name")),
            };
            let family = if reading.layout == Layout::Items { items::family(body) } else { "" };
            calls.push(Call { position: (index, at), group, id, family, name, answered: false });
        }
    }
    calls
}

fn answers<'a>(reading: &Reading<'a>) -> Vec<Answer<'a>> {
    let mut answers = Vec::new();
    for (index, message) in reading.messages.iter().enumerate() {
        for (at, block) in message.blocks.iter().enumerate() {
            if block.kind != Kind::Answer {
                continue;
            }
            let body = block.body;
            let (id, name) = match reading.dialect {
                Dialect::Chat => (id(body, "tool_call_id"), None),
                Dialect::Anthropic => (id(body, "tool_use_id"), None),
                Dialect::Gemini => (id(body, "id"), text(body, "name")),
                Dialect::Bedrock => (id(body, "toolUseId"), None),
                Dialect::Responses => (items::call_id(body), None),
            };
            let family = if reading.layout == Layout::Items { items::family(body) } else { "" };
            let position = (index, at);
            answers.push(Answer { position, id, family, name, fate: Fate::Orphan });
        }
    }
    answers
}
