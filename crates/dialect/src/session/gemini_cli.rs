//! Gemini CLI: `tmp/<project>/chats/session-<time>-<id>.jsonl`, and older `.json`.
//!
//! A message is written again, under the same id, whenever it changes: the last version counts, at
//! the place of the first. `$set` may replace all messages, `$rewindTo` takes some away. A reply
//! and the answers to its calls are one record.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use foxwedge_core::{Answer, Arguments, Call, Content, Family, Kind, Marks, Output, Role, Span};

use super::{
    about::About,
    log::{Log, Seen, said, spelled},
};
use crate::{
    gemini,
    json::{Scan, Scanner, Shape, elements, field, says},
    outline::{Once, Reader, fullness},
};

mod open_calls;
mod tell;
mod write;

pub(super) use tell::tell;
pub(super) use write::rewrite;

/// One version of a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry<'a> {
    pub(super) id: &'a str,
    /// The record it is, or lies in.
    pub(super) record: u32,
    pub(super) span: Span,
    /// Its messages among the fragments: a reply, its answers; or what the user says.
    pub(super) first: u32,
    pub(super) last: u32,
    /// Where the version lies that gave the message its place among the others, and its record.
    pub(super) home: (u32, Span),
}

/// What a record does to the messages before it.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step<'a> {
    /// They are replaced by those in the record.
    Reset,
    /// They go, from this one on.
    Rewind(&'a str),
}

/// Whether an object is a record and not something inside one.
pub(super) fn is_record(source: &str, object: Span) -> bool {
    let has = |key: &str| field(source, object, key).is_some();
    has("$set") || has("$rewindTo") || has("id") && has("timestamp") && has("content")
}

/// Reads one record.
pub(super) fn record<'a>(
    scan: &mut Scanner<'a>,
    reader: &mut Reader<'a>,
    seen: &mut Seen<'a>,
    about: &mut About<'a>,
) -> Scan<()> {
    let source = reader.source;
    let (mut set, mut list) = (None, None);
    let mut head = About::default();
    let mut version = Version::default();
    let span = scan.object(|scan, key, _| {
        match key {
            b"$rewindTo" => seen.step = spelled(scan, source)?.map(Step::Rewind),
            b"$set" => set = Some(scan.skip()?),
            b"timestamp" => seen.time = spelled(scan, source)?,
            b"model" => head.model = said(scan, source)?,
            b"sessionId" => head.id = said(scan, source)?,
            b"startTime" => head.started = said(scan, source)?,
            b"lastUpdated" => head.updated = said(scan, source)?,
            b"summary" => head.title = said(scan, source)?,
            b"messages" => list = Some(scan.skip()?),
            key if key.starts_with(b"$") => {
                let key = String::from_utf8_lossy(key).into_owned();
                return scan.trouble(format!("`{key}` records are not understood yet"));
            }
            _ => version.field(scan, reader, key)?,
        }
        Ok(())
    })?;
    about.model = head.model.or(about.model.take());
    about.id = about.id.take().or(head.id);
    about.started = about.started.take().or(head.started);
    about.updated = head.updated.or(seen.time.map(Into::into)).or(about.updated.take());
    about.title = head.title.or(about.title.take());
    seen.kind = version.kind;
    if let Some(Step::Rewind(_)) = seen.step {
        seen.kind = "$rewindTo";
    } else if let Some(id) = version.id {
        seen.link.id = Some(id);
        version.finish(id, span, reader, seen);
    } else if let Some(set) = set {
        seen.kind = "$set";
        about.title = says(source, set, "summary").or(about.title.take());
        about.updated = says(source, set, "lastUpdated").or(about.updated.take());
        if let Some(list) = field(source, set, "messages") {
            seen.step = Some(Step::Reset);
            nested(list, reader, seen)?;
        }
    } else if let Some(list) = list {
        nested(list, reader, seen)?;
    }
    Ok(())
}

/// Reads the messages of a list.
fn nested<'a>(list: Span, reader: &mut Reader<'a>, seen: &mut Seen<'a>) -> Scan<()> {
    let source = reader.source;
    let mut scan = Scanner::within(source, list);
    if scan.shape()? != Shape::Array {
        return scan.trouble("`messages` is not a list");
    }
    scan.array(|scan, _| {
        if scan.shape()? != Shape::Object {
            return scan.trouble("a message is not an object");
        }
        let mut version = Version::default();
        let span = scan.object(|scan, key, _| version.field(scan, reader, key))?;
        let id = version.id.unwrap_or_default();
        version.finish(id, span, reader, seen);
        Ok(())
    })
    .map(drop)
}

/// One version of a message while it is being read.
#[derive(Default)]
struct Version<'a> {
    once: Once,
    id: Option<&'a str>,
    kind: &'a str,
    content: Option<Span>,
    shape: Content,
    calls: Vec<Called<'a>>,
}

/// A call of a reply, with its answer.
struct Called<'a> {
    span: Span,
    id: Option<Cow<'a, str>>,
    name: Option<Cow<'a, str>>,
    result: Option<Span>,
}

impl<'a> Version<'a> {
    fn field(&mut self, scan: &mut Scanner<'a>, reader: &mut Reader<'a>, key: &[u8]) -> Scan<()> {
        let source = reader.source;
        self.once.one_of(scan, &[b"id", b"type", b"content", b"toolCalls"], key)?;
        match key {
            b"id" => self.id = spelled(scan, source)?,
            b"type" => self.kind = spelled(scan, source)?.unwrap_or_default(),
            b"content" => {
                scan.shape()?;
                let start = scan.position();
                self.shape = parts(scan, reader)?;
                self.content = Some(Span::new(start, scan.position()));
            }
            b"toolCalls" if scan.shape()? == Shape::Array => {
                scan.array(|scan, _| {
                    self.calls.push(called(scan, source)?);
                    Ok(())
                })?;
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    }

    /// Makes messages of what was read: what the user says; or a reply, and the answers to its calls.
    fn finish(self, id: &'a str, span: Span, reader: &mut Reader<'a>, seen: &mut Seen<'a>) {
        let count =
            |reader: &Reader<'_>| u32::try_from(reader.builder.messages()).unwrap_or(u32::MAX);
        let first = count(reader);
        match self.kind {
            "user" if !self.content.is_some_and(|content| is_aside(reader.source, content)) => {
                reader.builder.message(Role::User, span, self.shape, Marks::default());
            }
            "gemini" => self.reply(span, reader),
            _ => {}
        }
        let last = count(reader);
        reader.builder.abandon(last as usize);
        seen.entries.push(Entry { id, record: 0, span, first, last, home: (0, span) });
    }

    fn reply(self, span: Span, reader: &mut Reader<'a>) {
        // Calls may stand in the content, too; those are not told twice.
        let calls = reader.builder.open().iter().filter_map(|part| match &part.kind {
            Kind::Call(call) => call.id.as_deref().map(str::to_owned),
            _ => None,
        });
        let told: HashSet<String> = calls.collect();
        let mut answers = Vec::new();
        for Called { span, id, name, result } in self.calls {
            if let Some(result) = result {
                answers.push((id.clone(), name.clone(), result));
            }
            if !id.as_deref().is_some_and(|id| told.contains(id)) {
                let (family, arguments) = (Family::Function, Arguments::Good);
                let (id, name) = (id.into(), name.into());
                let call = Call { id, name, family, arguments, signed: false, typed: true };
                reader.builder.part(span, Kind::call(call));
            }
        }
        if reader.builder.open().is_empty() {
            return;
        }
        reader.builder.message(Role::Assistant, span, self.shape, Marks::default());
        if answers.is_empty() {
            return;
        }
        for (id, name, content) in answers {
            let (family, output) = (Family::Function, Output::Full);
            let (id, name) = (id.into(), name.map(Box::new));
            let answer = Answer { id, name, family, output, content, media: false };
            reader.builder.part(content, Kind::answer(answer));
        }
        reader.builder.message(Role::User, span, Content::List, Marks::default());
    }
}

fn called<'a>(scan: &mut Scanner<'a>, source: &'a str) -> Scan<Called<'a>> {
    if scan.shape()? != Shape::Object {
        return scan.trouble("a call is not an object");
    }
    let mut call = Called { span: Span::NOWHERE, id: None, name: None, result: None };
    let mut once = Once::default();
    call.span = scan.object(|scan, key, _| {
        once.one_of(scan, &[b"id", b"name", b"result"], key)?;
        match key {
            b"id" => call.id = said(scan, source)?,
            b"name" => call.name = said(scan, source)?,
            b"result" => {
                let result = scan.skip()?;
                call.result = (!matches!(result.of(source), "null" | "[]")).then_some(result);
            }
            _ => drop(scan.skip()?),
        }
        Ok(())
    })?;
    Ok(call)
}

/// What the user tells the agent and not the model: a text that is alone, however it is spelled.
fn is_aside(source: &str, content: Span) -> bool {
    const OWN: [&str; 4] = ["/", "?", "<session_context>", "<hook_context>"];
    let one = match content.of(source).as_bytes().first() {
        Some(b'[') => match elements(source, content).as_slice() {
            [one] => *one,
            _ => return false,
        },
        _ => content,
    };
    let text = match one.of(source).as_bytes().first() {
        Some(b'"') => Scanner::within(source, one).string().ok().map(|text| text.text(source)),
        Some(b'{') => says(source, one, "text"),
        _ => None,
    };
    let said = text.as_deref().map(str::trim);
    said.is_some_and(|said| said.is_empty() || OWN.iter().any(|mark| said.starts_with(mark)))
}

/// The parts of a content: a string, a part, or a list of both.
fn parts<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<Content> {
    Ok(match scan.shape()? {
        Shape::Array => {
            scan.array(|scan, _| part(scan, reader))?;
            Content::List
        }
        Shape::String => part(scan, reader).map(|()| Content::Text)?,
        Shape::Object => part(scan, reader).map(|()| Content::Other)?,
        Shape::Null => scan.skip().map(|_| Content::Null)?,
        Shape::Number | Shape::Bool => return scan.trouble("`content` is neither text nor parts"),
    })
}

fn part<'a>(scan: &mut Scanner<'a>, reader: &mut Reader<'a>) -> Scan<()> {
    match scan.shape()? {
        Shape::String => {
            let start = scan.position();
            let text = scan.string()?;
            if !text.span.is_empty() {
                let says = fullness(reader.source, text);
                reader.builder.part(Span::new(start, scan.position()), Kind::Text(says));
            }
            Ok(())
        }
        Shape::Object => gemini::part(scan, reader),
        _ => scan.trouble("a part is neither text nor an object"),
    }
}

/// The versions that count, in order.
pub(super) fn current<'a>(log: &Log<'a>) -> Vec<Entry<'a>> {
    current_until(log, u32::try_from(log.records.len()).unwrap_or(0))
}

/// The versions that counted before a record was written, in order.
pub(super) fn current_until<'a>(log: &Log<'a>, end: u32) -> Vec<Entry<'a>> {
    let mut list: Vec<Option<Entry<'a>>> = Vec::new();
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut steps = log.steps.iter().peekable();
    let mut entries = log.entries.iter().peekable();
    for record in 0..end {
        match steps.next_if(|(at, _)| *at == record).map(|(_, step)| *step) {
            Some(Step::Reset) => {
                list.clear();
                // Clearing a table costs as much as it once held.
                places = HashMap::new();
            }
            Some(Step::Rewind(id)) => {
                // From the named message on; all of them if nobody knows it.
                let from = places.get(id).copied().unwrap_or(0);
                for entry in list.drain(from..).flatten() {
                    if places.get(entry.id).is_some_and(|&place| place >= from) {
                        places.remove(entry.id);
                    }
                }
            }
            None => {}
        }
        while let Some(entry) = entries.next_if(|entry| entry.record == record) {
            match places.get(entry.id) {
                Some(&place) if !entry.id.is_empty() => {
                    let home = list[place].map_or(entry.home, |first| first.home);
                    list[place] = Some(Entry { home, ..*entry });
                }
                _ => {
                    places.insert(entry.id, list.len());
                    list.push(Some(*entry));
                }
            }
        }
    }
    list.into_iter().flatten().collect()
}
