//! Matches tool results with their calls.
//!
//! A literal implementation of the rules: for every result, in order, it searches all calls again.

use super::reading::{DocumentReading, OracleBlockKind, OracleLayout, OracleRole, field, id, text};
use super::{
    call_groups::{CallGroup, groups},
    items, steps,
};
use crate::dialect::TestFormat;

/// Calls and results with their matches.
pub(super) struct CallMatching<'a> {
    pub(super) groups: Vec<CallGroup>,
    pub(super) calls: Vec<MatchedCall<'a>>,
    pub(super) answers: Vec<MatchedResult<'a>>,
}

/// A client call in an assistant message.
pub(super) struct MatchedCall<'a> {
    pub(super) position: (usize, usize),
    pub(super) group: usize,
    pub(super) id: Option<&'a str>,
    pub(super) family: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) answered: bool,
}

/// A client tool result, at any position.
pub(super) struct MatchedResult<'a> {
    pub(super) position: (usize, usize),
    pub(super) id: Option<&'a str>,
    pub(super) family: &'a str,
    pub(super) name: Option<&'a str>,
    pub(super) fate: MatchOutcome,
}

/// How a result was matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MatchOutcome {
    /// The result of this call.
    Of(usize),
    /// The call already has a result.
    Duplicate,
    /// There is no such call.
    Orphan,
}

/// What joins a call and a result where ids are optional.
#[derive(Clone, Copy)]
enum LooseMatch {
    Id,
    Name,
    Order,
}

impl<'a> CallMatching<'a> {
    /// Matches every result of the document.
    pub(super) fn new(reading: &DocumentReading<'a>) -> Self {
        let groups = groups(reading);
        let calls = calls(reading, &groups);
        let mut matching = Self { groups, calls, answers: answers(reading) };
        let gemini = reading.format == TestFormat::Gemini;
        // Where ids are optional: by equal ids, then by equal names, then by order.
        if gemini {
            for how in [LooseMatch::Id, LooseMatch::Name, LooseMatch::Order] {
                for index in 0..matching.answers.len() {
                    let open = matching.answers[index].fate == MatchOutcome::Orphan;
                    if let Some(call) = matching.at_home(index, how).filter(|_| open) {
                        matching.settle(index, MatchOutcome::Of(call));
                    }
                }
            }
        }
        // A number is no id, but it says what belongs together.
        for index in 0..matching.answers.len() {
            if let Some(call) = matching.by_number(reading, index).filter(|_| !gemini) {
                matching.settle(index, MatchOutcome::Of(call));
            }
        }
        // Where a result of a chat has no id, the tool that it names says it.
        for index in 0..matching.answers.len() {
            let answer = &matching.answers[index];
            let nameless = answer.id.is_none() && answer.name.is_some();
            let open = nameless && answer.fate == MatchOutcome::Orphan;
            let home = matching.home(answer).filter(|_| open && reading.format == TestFormat::Chat);
            let call = matching.calls.iter().position(|call| {
                !call.answered && Some(call.group) == home && call.name == answer.name
            });
            if let Some(call) = call {
                matching.settle(index, MatchOutcome::Of(call));
            }
        }
        for index in 0..matching.answers.len() {
            if matching.answers[index].fate == MatchOutcome::Orphan {
                let fate = matching.look_back(index, gemini);
                matching.settle(index, fate);
            }
        }
        for index in 0..matching.answers.len() {
            if matching.answers[index].fate == MatchOutcome::Orphan {
                let fate = matching.look_ahead(reading, index);
                matching.settle(index, fate);
            }
        }
        matching.nearest(reading);
        matching.the_only_ones();
        matching.searches();
        matching.confused_types(reading);
        matching.part_turns(reading);
        matching
    }

    /// A function output may also be the result of a search or of the local shell.
    fn searches(&mut self) {
        for index in 0..self.answers.len() {
            let answer = &self.answers[index];
            let free = matches!(answer.fate, MatchOutcome::Orphan | MatchOutcome::Duplicate);
            if answer.id.is_none() || answer.family != "function_call" || !free {
                continue;
            }
            let (id, at) = (answer.id, answer.position);
            let found = ["tool_search_call", "local_shell_call"].iter().find_map(|family| {
                let open = |call: &MatchedCall<'a>| {
                    call.family == *family && call.id == id && !call.answered
                };
                let before = self.calls.iter().rposition(|call| open(call) && call.position < at);
                before.or_else(|| self.calls.iter().position(open))
            });
            if let Some(call) = found {
                self.settle(index, MatchOutcome::Of(call));
            }
        }
    }

    /// The outputs of functions and free-text tools are written for each other, and for calls of the
    /// shell, of patches and, if they are an image, of the computer.
    fn confused_types(&mut self, reading: &DocumentReading<'a>) {
        for index in 0..self.answers.len() {
            let answer = &self.answers[index];
            let other = match answer.family {
                "function_call" => "custom_tool_call",
                "custom_tool_call" => "function_call",
                _ => continue,
            };
            if answer.id.is_none() || answer.fate != MatchOutcome::Orphan {
                continue;
            }
            let (message, block) = answer.position;
            let body = reading.messages[message].blocks[block].body;
            let image = match field(body, "output").and_then(|output| output.as_array()) {
                Some(list) => match list.as_slice() {
                    [one] => {
                        let located = id(one, "image_url").or_else(|| id(one, "file_id"));
                        text(one, "type") == Some("input_image") && located.is_some()
                    }
                    _ => false,
                },
                None => false,
            };
            let families = [other, "shell_call", "apply_patch_call", "computer_call"];
            let found = families.iter().find_map(|family| {
                self.calls.iter().rposition(|call| {
                    let same = call.family == *family && call.id == answer.id;
                    let fits = *family != "computer_call" || image;
                    same && fits && !call.answered && call.position < answer.position
                })
            });
            if let Some(call) = found {
                self.settle(index, MatchOutcome::Of(call));
            }
        }
    }

    /// If consecutive calling messages use one id several times and there are too few results, the
    /// last messages get them.
    fn nearest(&mut self, reading: &DocumentReading<'a>) {
        for later in (0..self.calls.len()).rev() {
            let free = |it: &MatchedCall<'a>| it.id.is_some() && !it.answered;
            if !free(&self.calls[later]) {
                continue;
            }
            let (call, homes) = (&self.calls[later], &self.groups[self.calls[later].group]);
            let earlier = (0..later).rev().find(|at| {
                let other = &self.calls[*at];
                let twin = other.id == call.id && other.family == call.family;
                let before = other.group == call.group && other.position.0 < call.position.0;
                let home = self.answers.iter().any(|answer| {
                    let at_home = homes.home.contains(&answer.position.0)
                        || homes.late.contains(&answer.position.0);
                    // A result that names the tool of its call stays with it.
                    let named = answer.name.is_some() && answer.name == other.name;
                    let names_decide = named && reading.format != TestFormat::Chat;
                    let stays = names_decide && answer.name != call.name;
                    answer.fate == MatchOutcome::Of(*at) && at_home && !stays
                });
                twin && before && home
            });
            let Some(earlier) = earlier else { continue };
            for answer in &mut self.answers {
                if answer.fate == MatchOutcome::Of(earlier) {
                    answer.fate = MatchOutcome::Of(later);
                }
            }
            self.calls[earlier].answered = false;
            self.calls[later].answered = true;
        }
    }

    /// Of consecutive calling messages, the first ones are turns of their own until one of them has
    /// a result after the run.
    fn part_turns(&mut self, reading: &DocumentReading<'a>) {
        if reading.layout == OracleLayout::Items {
            return;
        }
        let mut groups = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            let answered_there = |message: usize| {
                self.answers.iter().any(|answer| {
                    let at = answer.position.0;
                    let MatchOutcome::Of(call) = answer.fate else { return false };
                    let own = self.calls.get(call).is_some_and(|it| it.position.0 == message);
                    own && (group.home.contains(&at) || group.late.contains(&at))
                })
            };
            let end = group.messages.end;
            let mut rest = group.messages.clone();
            let calls = |index: usize| reading.messages[index].calls();
            while rest.len() > 1 && !answered_there(rest.start) {
                let alone = rest.start..rest.start + 1;
                if calls(rest.start) {
                    groups.push(CallGroup { messages: alone, home: 0..0, late: 0..0 });
                }
                rest.start += 1;
            }
            if rest.clone().any(calls) {
                groups.push(CallGroup { messages: rest.start..end, ..group });
            }
        }
        for call in &mut self.calls {
            let at = call.position.0;
            let own = groups.iter().position(|group| group.messages.contains(&at));
            call.group = own.unwrap_or(call.group);
        }
        self.groups = groups;
    }

    /// Whether only other calling messages separate this group from the last one.
    pub(super) fn is_last(&self, group: usize) -> bool {
        let between = self.groups.get(group..).unwrap_or(&[]);
        between.windows(2).all(|pair| pair[0].messages.end == pair[1].messages.start)
    }

    /// The call of a result.
    pub(super) fn call_of(&self, answer: &MatchedResult<'a>) -> Option<&MatchedCall<'a>> {
        match answer.fate {
            MatchOutcome::Of(call) => self.calls.get(call),
            MatchOutcome::Duplicate | MatchOutcome::Orphan => None,
        }
    }

    /// Whether both messages are in one group.
    pub(super) fn same_group(&self, one: usize, other: usize) -> bool {
        self.groups
            .iter()
            .any(|group| group.messages.contains(&one) && group.messages.contains(&other))
    }

    fn settle(&mut self, answer: usize, fate: MatchOutcome) {
        self.answers[answer].fate = fate;
        if let MatchOutcome::Of(call) = fate {
            self.calls[call].answered = true;
        }
    }

    fn home(&self, answer: &MatchedResult<'a>) -> Option<usize> {
        let at = &answer.position.0;
        self.groups.iter().position(|group| group.home.contains(at) || group.late.contains(at))
    }

    /// The first open call at home that has the same number in place of its id as a result.
    fn by_number(&self, reading: &DocumentReading<'a>, answer: usize) -> Option<usize> {
        let answer = &self.answers[answer];
        let home = self.home(answer).filter(|_| answer.id.is_none())?;
        let number = |(message, at): (usize, usize)| {
            let block = &reading.messages[message].blocks[at];
            let key = match (reading.format, block.kind) {
                (TestFormat::Bedrock, _) => "toolUseId",
                (TestFormat::Responses, _) => "call_id",
                (_, OracleBlockKind::Call) => "id",
                (TestFormat::Anthropic, _) => "tool_use_id",
                (TestFormat::Chat, _) => "tool_call_id",
                _ => "call_id",
            };
            field(block.body, key).filter(|value| value.is_number())
        };
        let wanted = number(answer.position)?;
        self.calls.iter().position(|call| {
            let open = !call.answered && call.group == home && call.id.is_none();
            open && call.family == answer.family && number(call.position) == Some(wanted)
        })
    }

    /// The first open call of the group where a result belongs, where ids are optional.
    fn at_home(&self, answer: usize, how: LooseMatch) -> Option<usize> {
        let answer = &self.answers[answer];
        let home = self.home(answer)?;
        let mut here = self.calls.iter().filter(|call| call.group == home);
        let bound = answer.id.is_some() && here.any(|call| call.id == answer.id);
        let loose = |call: &MatchedCall<'a>| !bound && (call.id.is_none() || answer.id.is_none());
        let wanted = |call: &MatchedCall<'a>| match how {
            LooseMatch::Id => call.id.is_some() && call.id == answer.id,
            LooseMatch::Name => loose(call) && call.name.is_some() && call.name == answer.name,
            LooseMatch::Order => loose(call) && (call.name.is_none() || answer.name.is_none()),
        };
        self.calls.iter().position(|call| !call.answered && call.group == home && wanted(call))
    }

    fn look_back(&self, answer: usize, gemini: bool) -> MatchOutcome {
        let answer = &self.answers[answer];
        let home = self.home(answer);
        let same_id = |call: &MatchedCall<'a>| call.id == answer.id && call.family == answer.family;
        let here =
            |call: &MatchedCall<'a>| !call.answered && Some(call.group) == home && same_id(call);
        if !gemini && let Some(call) = self.calls.iter().position(here) {
            return MatchOutcome::Of(call);
        }
        if answer.id.is_none() {
            return MatchOutcome::Orphan;
        }
        let earlier = |call: &&MatchedCall<'a>| call.position < answer.position && same_id(call);
        let Some(group) = self.calls.iter().rfind(earlier).map(|call| call.group) else {
            return MatchOutcome::Orphan;
        };
        let open = |call: &MatchedCall<'a>| !call.answered && call.group == group && earlier(&call);
        if let Some(call) = self.calls.iter().position(open) {
            return MatchOutcome::Of(call);
        }
        // Results that exceed the newest turn belong to an older one.
        let older = |call: &MatchedCall<'a>| !call.answered && earlier(&call);
        self.calls.iter().rposition(older).map_or(MatchOutcome::Duplicate, MatchOutcome::Of)
    }

    /// If there is one open call and one result where it belongs, and one of them has no id, they
    /// belong together.
    fn the_only_ones(&mut self) {
        for group in 0..self.groups.len() {
            let calls: Vec<usize> = (0..self.calls.len())
                .filter(|&at| self.calls[at].group == group && !self.calls[at].answered)
                .collect();
            let answers: Vec<usize> = (0..self.answers.len())
                .filter(|&at| {
                    let answer = &self.answers[at];
                    self.home(answer) == Some(group) && answer.fate == MatchOutcome::Orphan
                })
                .collect();
            if let ([call], [answer]) = (calls.as_slice(), answers.as_slice()) {
                let (open_call, result) = (&self.calls[*call], &self.answers[*answer]);
                let loose = open_call.id.is_none() || result.id.is_none();
                if loose && open_call.family == result.family {
                    self.settle(*answer, MatchOutcome::Of(*call));
                }
            }
        }
    }

    fn look_ahead(&self, reading: &DocumentReading<'a>, answer: usize) -> MatchOutcome {
        let answer = &self.answers[answer];
        let near = |call: &MatchedCall<'a>| {
            let runs = reading.assistant_runs();
            let start = runs.iter().find(|(start, end)| (*start..*end).contains(&call.position.0));
            let start = start.map_or(call.position.0, |(start, _)| *start);
            let between = reading.messages.iter().take(start).skip(answer.position.0 + 1);
            between.clone().all(|message| match message.role {
                OracleRole::Assistant => false,
                OracleRole::User => {
                    message.blocks.iter().all(|block| block.kind == OracleBlockKind::Answer)
                }
                OracleRole::System | OracleRole::Answer | OracleRole::Other => true,
            })
        };
        let open = |call: &MatchedCall<'a>| {
            let later = call.position > answer.position && !call.answered && near(call);
            later && call.id.is_some() && call.id == answer.id && call.family == answer.family
        };
        self.calls.iter().position(open).map_or(MatchOutcome::Orphan, MatchOutcome::Of)
    }
}

fn calls<'a>(reading: &DocumentReading<'a>, groups: &[CallGroup]) -> Vec<MatchedCall<'a>> {
    let mut calls = Vec::new();
    for (index, message) in reading.messages.iter().enumerate() {
        let Some(group) = groups.iter().position(|group| group.messages.contains(&index)) else {
            continue;
        };
        for (at, block) in message.blocks.iter().enumerate() {
            if block.kind != OracleBlockKind::Call || !block.paired {
                continue;
            }
            let body = block.body;
            let (id, name) = match reading.format {
                TestFormat::Chat => {
                    (id(body, "id"), super::chat_call(body).1.and_then(|it| text(it, "name")))
                }
                TestFormat::Anthropic => (id(body, "id"), text(body, "name")),
                // An empty name counts as missing.
                TestFormat::Gemini => (id(body, "id"), id(body, "name")),
                TestFormat::Bedrock => (id(body, "toolUseId"), text(body, "name")),
                TestFormat::Responses => (items::call_id(body), text(body, "name")),
                TestFormat::Interactions => (steps::call_id(body), id(body, "name")),
            };
            let family = match reading.format {
                TestFormat::Responses => items::family(body),
                TestFormat::Interactions => "function_call",
                _ => "",
            };
            calls.push(MatchedCall {
                position: (index, at),
                group,
                id,
                family,
                name,
                answered: false,
            });
        }
    }
    calls
}

fn answers<'a>(reading: &DocumentReading<'a>) -> Vec<MatchedResult<'a>> {
    let mut answers = Vec::new();
    for (index, message) in reading.messages.iter().enumerate() {
        for (at, block) in message.blocks.iter().enumerate() {
            if block.kind != OracleBlockKind::Answer || !block.paired {
                continue;
            }
            let body = block.body;
            let (id, name) = match reading.format {
                TestFormat::Chat => {
                    let name = text(body, "name").or_else(|| text(body, "tool_name"));
                    (id(body, "tool_call_id"), name)
                }
                TestFormat::Anthropic => (id(body, "tool_use_id"), None),
                TestFormat::Gemini => (id(body, "id"), id(body, "name")),
                TestFormat::Bedrock => (id(body, "toolUseId"), None),
                TestFormat::Responses => (items::call_id(body), None),
                TestFormat::Interactions => (steps::call_id(body), id(body, "name")),
            };
            let family = match reading.format {
                TestFormat::Responses => items::family(body),
                TestFormat::Interactions => "function_call",
                _ => "",
            };
            let id = super::foreign::result(reading.format, body).map(|(id, _)| id).or(id);
            let position = (index, at);
            answers.push(MatchedResult { position, id, family, name, fate: MatchOutcome::Orphan });
        }
    }
    answers
}
