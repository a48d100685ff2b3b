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

/// What joins a call and an answer where ids are optional.
#[derive(Clone, Copy)]
enum Loose {
    Id,
    Name,
    Order,
}

impl<'a> Matching<'a> {
    /// Matches every answer of the document.
    pub(super) fn new(reading: &Reading<'a>) -> Self {
        let groups = groups(reading);
        let calls = calls(reading, &groups);
        let mut matching = Self { groups, calls, answers: answers(reading) };
        let gemini = reading.dialect == Dialect::Gemini;
        // Where ids are optional: equal ids first, then equal names, then the order alone.
        if gemini {
            for how in [Loose::Id, Loose::Name, Loose::Order] {
                for index in 0..matching.answers.len() {
                    let open = matching.answers[index].fate == Fate::Orphan;
                    if let Some(call) = matching.at_home(index, how).filter(|_| open) {
                        matching.settle(index, Fate::Of(call));
                    }
                }
            }
        }
        for index in 0..matching.answers.len() {
            if matching.answers[index].fate == Fate::Orphan {
                let fate = matching.look_back(index, gemini);
                matching.settle(index, fate);
            }
        }
        for index in 0..matching.answers.len() {
            if matching.answers[index].fate == Fate::Orphan {
                let fate = matching.look_ahead(reading, index);
                matching.settle(index, fate);
            }
        }
        matching.nearest();
        matching.the_only_ones();
        matching.searches();
        matching.part_turns(reading);
        matching
    }

    /// The output of a function answers a search, too.
    fn searches(&mut self) {
        for index in 0..self.answers.len() {
            let answer = &self.answers[index];
            let free = matches!(answer.fate, Fate::Orphan | Fate::Duplicate);
            if answer.id.is_none() || answer.family != "function_call" || !free {
                continue;
            }
            let (id, at) = (answer.id, answer.position);
            let open = |call: &Call<'a>| {
                call.family == "tool_search_call" && call.id == id && !call.answered
            };
            let before = self.calls.iter().rposition(|call| open(call) && call.position < at);
            if let Some(call) = before.or_else(|| self.calls.iter().position(open)) {
                self.settle(index, Fate::Of(call));
            }
        }
    }

    /// Where a row of calling messages has one id several times and too few answers, the last
    /// messages have them.
    fn nearest(&mut self) {
        for later in (0..self.calls.len()).rev() {
            let free = |it: &Call<'a>| it.id.is_some() && !it.answered;
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
                    // An answer that names the tool of its call stays with it.
                    let named = answer.name.is_some() && answer.name == other.name;
                    let stays = named && answer.name != call.name;
                    answer.fate == Fate::Of(*at) && at_home && !stays
                });
                twin && before && home
            });
            let Some(earlier) = earlier else { continue };
            for answer in &mut self.answers {
                if answer.fate == Fate::Of(earlier) {
                    answer.fate = Fate::Of(later);
                }
            }
            self.calls[earlier].answered = false;
            self.calls[later].answered = true;
        }
    }

    /// In a row of calling messages, the first ones stand for themselves until one of them has an
    /// answer behind the row.
    fn part_turns(&mut self, reading: &Reading<'a>) {
        if reading.layout == Layout::Items {
            return;
        }
        let mut groups = Vec::new();
        for group in std::mem::take(&mut self.groups) {
            let answered_there = |message: usize| {
                self.answers.iter().any(|answer| {
                    let at = answer.position.0;
                    let Fate::Of(call) = answer.fate else { return false };
                    let own = self.calls.get(call).is_some_and(|it| it.position.0 == message);
                    own && (group.home.contains(&at) || group.late.contains(&at))
                })
            };
            let end = group.messages.end;
            let mut rest = group.messages.clone();
            while rest.len() > 1 && !answered_there(rest.start) {
                let alone = rest.start..rest.start + 1;
                groups.push(Group { messages: alone, home: 0..0, late: 0..0 });
                rest.start += 1;
            }
            groups.push(Group { messages: rest.start..end, ..group });
        }
        for call in &mut self.calls {
            let at = call.position.0;
            let own = groups.iter().position(|group| group.messages.contains(&at));
            call.group = own.unwrap_or(call.group);
        }
        self.groups = groups;
    }

    /// The groups that nothing but other calling messages parts from the last one.
    pub(super) fn is_last(&self, group: usize) -> bool {
        let between = self.groups.get(group..).unwrap_or(&[]);
        between.windows(2).all(|pair| pair[0].messages.end == pair[1].messages.start)
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

    fn home(&self, answer: &Answer<'a>) -> Option<usize> {
        let at = &answer.position.0;
        self.groups.iter().position(|group| group.home.contains(at) || group.late.contains(at))
    }

    /// The first open call of the group that an answer is at home in, where ids are optional.
    fn at_home(&self, answer: usize, how: Loose) -> Option<usize> {
        let answer = &self.answers[answer];
        let home = self.home(answer)?;
        let mut here = self.calls.iter().filter(|call| call.group == home);
        let bound = answer.id.is_some() && here.any(|call| call.id == answer.id);
        let loose = |call: &Call<'a>| !bound && (call.id.is_none() || answer.id.is_none());
        let wanted = |call: &Call<'a>| match how {
            Loose::Id => call.id.is_some() && call.id == answer.id,
            Loose::Name => loose(call) && call.name.is_some() && call.name == answer.name,
            Loose::Order => loose(call) && (call.name.is_none() || answer.name.is_none()),
        };
        self.calls.iter().position(|call| !call.answered && call.group == home && wanted(call))
    }

    fn look_back(&self, answer: usize, gemini: bool) -> Fate {
        let answer = &self.answers[answer];
        let home = self.home(answer);
        let same_id = |call: &Call<'a>| call.id == answer.id && call.family == answer.family;
        let here = |call: &Call<'a>| !call.answered && Some(call.group) == home && same_id(call);
        if !gemini && let Some(call) = self.calls.iter().position(here) {
            return Fate::Of(call);
        }
        if answer.id.is_none() {
            return Fate::Orphan;
        }
        let earlier = |call: &&Call<'a>| call.position < answer.position && same_id(call);
        let Some(group) = self.calls.iter().rfind(earlier).map(|call| call.group) else {
            return Fate::Orphan;
        };
        let open = |call: &Call<'a>| !call.answered && call.group == group && earlier(&call);
        if let Some(call) = self.calls.iter().position(open) {
            return Fate::Of(call);
        }
        // What is too much for the newest turn belongs to an older one.
        let older = |call: &Call<'a>| !call.answered && earlier(&call);
        self.calls.iter().rposition(older).map_or(Fate::Duplicate, Fate::Of)
    }

    /// One open call and one answer at its home, one of them without an id: they belong together.
    fn the_only_ones(&mut self) {
        for group in 0..self.groups.len() {
            let calls: Vec<usize> = (0..self.calls.len())
                .filter(|&at| self.calls[at].group == group && !self.calls[at].answered)
                .collect();
            let answers: Vec<usize> = (0..self.answers.len())
                .filter(|&at| {
                    let answer = &self.answers[at];
                    self.home(answer) == Some(group) && answer.fate == Fate::Orphan
                })
                .collect();
            if let ([call], [answer]) = (calls.as_slice(), answers.as_slice()) {
                let (asked, told) = (&self.calls[*call], &self.answers[*answer]);
                let loose = asked.id.is_none() || told.id.is_none();
                if loose && asked.family == told.family {
                    self.settle(*answer, Fate::Of(*call));
                }
            }
        }
    }

    fn look_ahead(&self, reading: &Reading<'a>, answer: usize) -> Fate {
        let answer = &self.answers[answer];
        let near = |call: &Call<'a>| {
            let runs = reading.assistant_runs();
            let start = runs.iter().find(|(start, end)| (*start..*end).contains(&call.position.0));
            let start = start.map_or(call.position.0, |(start, _)| *start);
            let between = reading.messages.iter().take(start).skip(answer.position.0 + 1);
            between.clone().all(|message| match message.role {
                Role::Assistant => false,
                Role::User => message.blocks.iter().all(|block| block.kind == Kind::Answer),
                Role::System | Role::Answer | Role::Other => true,
            })
        };
        let open = |call: &Call<'a>| {
            let later = call.position > answer.position && !call.answered && near(call);
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
                Dialect::Anthropic => (id(body, "id"), text(body, "name")),
                // A name that says nothing is none.
                Dialect::Gemini => (id(body, "id"), id(body, "name")),
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
                Dialect::Gemini => (id(body, "id"), id(body, "name")),
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
