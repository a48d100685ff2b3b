//! Repairs records of Gemini CLI. A reply keeps the answers to its calls in its own record, so a
//! new answer, or one that was found elsewhere, is written into the call's object.

use std::collections::{BTreeMap, HashMap, HashSet};

use foxwedge_core::{Content, Kind, Message, Part, Piece, Repair, Role, Source, Span};

use super::{Entry, open_calls::OpenCalls};
use crate::{
    gemini,
    json::{elements, field, quote},
    session::{
        Session,
        desk::uuid,
        emit::{Edits, emit},
        rewritten::Rewritten,
    },
    splice::{Change, Changes, Chunk, Spoken, Writer, patch, write_block_list},
};

/// Writes the file that a repair makes of a session.
pub(in crate::session) fn rewrite<'a>(session: &Session<'a>, repair: &Repair<'a>) -> Rewritten<'a> {
    let mut job = Job::new(session, repair);
    job.sort();
    // Changes of messages that lie inside a record, by record and place.
    let mut inside: BTreeMap<u32, Vec<(Span, Vec<Chunk>)>> = BTreeMap::new();
    let mut edits = Edits::default();
    let mut versions: HashMap<&str, Vec<&Entry<'a>>> = HashMap::new();
    for entry in &session.log.entries {
        versions.entry(entry.id).or_default().push(entry);
    }
    for entry in &session.entries {
        let Some(mut chunks) = job.entry(entry) else { continue };
        let gone = chunks.is_empty();
        // What is left if nothing else is takes the place of the first message.
        if let Some(pieces) = job.alone.take_if(|_| gone) {
            chunks = job.new_record(entry, &pieces, 0);
        }
        if entry.span != session.span(entry.record) {
            inside.entry(entry.record).or_default().push((entry.span, chunks));
            continue;
        }
        if gone {
            // Older versions would come back in its place.
            let versions = versions.get(entry.id).into_iter().flatten();
            for other in versions.filter(|other| other.span.start >= entry.home.1.start) {
                if other.span == session.span(other.record) {
                    edits.changed.insert(other.record, Vec::new());
                } else {
                    inside.entry(other.record).or_default().push((other.span, Vec::new()));
                }
            }
        }
        if !chunks.is_empty() {
            edits.changed.insert(entry.record, chunks);
        }
    }
    for (place, (entry, pieces)) in job.new.iter().enumerate() {
        let mut chunks = job.new_record(entry, pieces, place);
        // Later versions of a message stand in the place of its first one.
        let (record, span) = entry.home;
        if span == session.span(record) {
            edits.behind.entry(record).or_default().push(chunks);
        } else {
            // It stands in the same list as the message before it.
            let end = Span { start: span.end, end: span.end };
            chunks.insert(0, Chunk::Text(",".to_owned()));
            inside.entry(record).or_default().push((end, chunks));
        }
    }
    for (record, changes) in inside {
        edits.changed.insert(record, nested(session, record, changes));
    }
    emit(session, repair, edits)
}

/// An answer that is written into the object of its call.
enum Result {
    Words(String),
    Moved(Span),
}

struct Job<'r, 'a> {
    session: &'r Session<'a>,
    repair: &'r Repair<'a>,
    /// Where entries begin, in the order of the file.
    starts: Vec<(u32, usize)>,
    /// The messages of each entry, by its place.
    messages: HashMap<Span, Vec<&'r Message>>,
    /// Entries whose calls get answers.
    answered: HashSet<usize>,
    /// Parts that stay where they are.
    kept: HashSet<Span>,
    /// Parts that are told as text.
    quoted: HashMap<Span, &'r Piece<'a>>,
    /// Answers for calls, by the object of the call.
    results: HashMap<Span, Result>,
    /// What needs a record of its own, and the entry it stands behind.
    new: Vec<(Entry<'a>, Vec<&'r Piece<'a>>)>,
    /// The only message that is left, if it is new.
    alone: Option<Vec<&'r Piece<'a>>>,
}

fn is_answer(piece: &Piece<'_>) -> bool {
    matches!(piece.part.kind, Kind::Answer(_))
}

impl<'r, 'a> Job<'r, 'a> {
    fn new(session: &'r Session<'a>, repair: &'r Repair<'a>) -> Job<'r, 'a> {
        let starts = session.entries.iter().enumerate().map(|(at, entry)| (entry.span.start, at));
        let mut starts: Vec<(u32, usize)> = starts.collect();
        starts.sort_unstable();
        let mut messages: HashMap<Span, Vec<&Message>> = HashMap::new();
        for message in &session.chain.draft.messages {
            messages.entry(message.span).or_default().push(message);
        }
        Job {
            session,
            repair,
            starts,
            messages,
            answered: HashSet::new(),
            kept: HashSet::new(),
            quoted: HashMap::new(),
            results: HashMap::new(),
            new: Vec::new(),
            alone: None,
        }
    }

    fn entry_of(&self, span: Span) -> Option<usize> {
        let after = self.starts.partition_point(|(start, _)| *start <= span.start);
        after.checked_sub(1).map(|at| self.starts[at].1)
    }

    /// Decides what becomes of every part.
    fn sort(&mut self) {
        let repair = self.repair;
        let draft = self.session.draft();
        let mut open = OpenCalls::default();
        let mut speaker = Role::User;
        let mut last = None;
        for slot in repair.slots.iter() {
            if slot.role == Role::Assistant && speaker != Role::Assistant {
                open = OpenCalls::default();
            }
            speaker = slot.role;
            let origin = slot.origin.and_then(|origin| draft.messages.get(origin));
            let home = origin.and_then(|message| self.entry_of(message.span));
            last = home.or(last);
            if let (Some(message), false) = (origin, slot.touched) {
                for part in draft.parts_of(message) {
                    self.kept.insert(part.span);
                    open.note(&part.kind, part.span);
                }
                continue;
            }
            // An answer in the object of its call is that call's, whatever its id.
            let own = |piece: &Piece<'_>| piece.source == Source::Kept && is_answer(piece);
            for piece in slot.pieces.iter().filter(|piece| own(piece)) {
                let span = piece.part.span;
                if open.answer_at(span) {
                    self.kept.insert(span);
                }
            }
            let mut homeless = Vec::new();
            for piece in &slot.pieces {
                let span = piece.part.span;
                if own(piece) && open.holds(span) {
                    continue;
                }
                let call = open.note(&piece.part.kind, span).filter(|call| self.is_own(*call));
                let answer = is_answer(piece);
                let stays = span != Span::NOWHERE && self.entry_of(span) == home;
                match (&piece.source, call) {
                    (Source::Quote(_) | Source::Media(_), _) => {
                        self.quoted.insert(span, piece);
                    }
                    (Source::Words(words), Some(call)) => {
                        self.answered.extend(self.entry_of(call));
                        self.results.insert(call, Result::Words(words.to_string()));
                    }
                    (Source::Words(_), None) => homeless.push(piece),
                    (Source::Kept, Some(call)) if !stays => {
                        self.answered.extend(self.entry_of(call));
                        self.results.insert(call, Result::Moved(span));
                    }
                    (Source::Kept, None) if answer && !stays => homeless.push(piece),
                    (Source::Kept, _) => {
                        self.kept.insert(span);
                    }
                }
            }
            if last.is_none() && repair.slots.len() == 1 {
                self.alone = Some(homeless);
                break;
            }
            if let Some(&entry) = last.and_then(|last| self.session.entries.get(last))
                && !homeless.is_empty()
            {
                self.new.push((entry, homeless));
            }
        }
    }

    /// Whether a call is an object of the reply's own list, which takes its answer.
    fn is_own(&self, call: Span) -> bool {
        field(self.session.log.source, call, "functionCall").is_none()
    }

    /// A message that changes; `None` if it stays, nothing if it goes.
    fn entry(&self, entry: &Entry<'a>) -> Option<Vec<Chunk>> {
        let parts = self.parts(entry);
        if parts.is_empty() {
            return None;
        }
        let stays = |span: &Span| self.kept.contains(span) || self.quoted.contains_key(span);
        let new = self.entry_of(entry.span).is_some_and(|at| self.answered.contains(&at));
        if !new && parts.iter().all(|part| self.kept.contains(&part.span)) {
            return None;
        }
        if !new && !parts.iter().any(|part| stays(&part.span)) {
            return Some(Vec::new());
        }
        let mut out = self.writer();
        let mut changes: Changes<'_> = Vec::new();
        changes.extend(self.content(entry, &parts).map(|list| ("content", Change::Chunks(list))));
        changes.extend(self.calls(entry).map(|list| ("toolCalls", Change::Chunks(list))));
        patch(&mut out, entry.span, changes);
        Some(out.finish())
    }

    fn parts(&self, entry: &Entry<'_>) -> Vec<&'r Part<'a>> {
        let draft = &self.session.chain.draft;
        let messages = self.messages.get(&entry.span).into_iter().flatten();
        messages.flat_map(|message| draft.parts_of(message)).collect()
    }

    fn writer(&self) -> Writer<'r> {
        Writer::new(self.session.log.source, &self.repair.surrogates)
    }

    /// The content of a message, if it is not what it was.
    fn content(&self, entry: &Entry<'_>, parts: &[&Part<'a>]) -> Option<Vec<Chunk>> {
        let source = self.session.log.source;
        let content = field(source, entry.span, "content")?;
        let inside = |span: Span| span.start >= content.start && span.end <= content.end;
        let own: Vec<_> = parts.iter().filter(|part| inside(part.span)).collect();
        if own.iter().all(|part| self.kept.contains(&part.span)) {
            return None;
        }
        let mut out = self.writer();
        out.text("[");
        let mut behind = false;
        for part in own {
            let quoted = self.quoted.get(&part.span);
            if quoted.is_none() && !self.kept.contains(&part.span) {
                continue;
            }
            if behind {
                out.text(",");
            }
            behind = true;
            match quoted {
                Some(piece) => out.append(self.list(std::slice::from_ref(*piece))),
                None => out.copy(part.span),
            }
        }
        out.text("]");
        Some(out.finish())
    }

    /// Pieces as Gemini spells them, without brackets.
    fn list(&self, pieces: &[Piece<'_>]) -> Vec<Chunk> {
        let mut out = self.writer();
        let spoken = Spoken { role: Role::User, pieces, content: Content::List, recast: false };
        write_block_list(&mut out, self.session.draft(), None, &spoken, &gemini::SPELLING);
        let mut chunks = out.finish();
        if let Some(Chunk::Text(first)) = chunks.first_mut() {
            *first = first.strip_prefix('[').unwrap_or(first).to_owned();
        }
        if let Some(Chunk::Text(last)) = chunks.last_mut() {
            *last = last.strip_suffix(']').unwrap_or(last).to_owned();
        }
        chunks
    }

    /// The calls of a reply, if they or their answers are not what they were.
    fn calls(&self, entry: &Entry<'_>) -> Option<Vec<Chunk>> {
        let source = self.session.log.source;
        let list = field(source, entry.span, "toolCalls")?;
        let known: HashSet<Span> = self.parts(entry).iter().map(|part| part.span).collect();
        let gone = |span: &Span| known.contains(span) && !self.kept.contains(span);
        let mut out = self.writer();
        let (mut behind, mut changed) = (false, false);
        out.text("[");
        for call in elements(source, list) {
            if gone(&call) {
                changed = true;
                continue;
            }
            if behind {
                out.text(",");
            }
            behind = true;
            let result = field(source, call, "result");
            match self.results.get(&call) {
                Some(result) => {
                    changed = true;
                    patch(&mut out, call, self.result(call, result));
                }
                None if result.is_some_and(|result| gone(&result)) => {
                    changed = true;
                    patch(&mut out, call, vec![("result", Change::Text("null".to_owned()))]);
                }
                None => out.copy(call),
            }
        }
        out.text("]");
        changed.then(|| out.finish())
    }

    fn result(&self, call: Span, result: &Result) -> Changes<'static> {
        let source = self.session.log.source;
        let text = |key: &str| field(source, call, key).map_or("\"\"", |value| value.of(source));
        match result {
            Result::Words(words) => {
                let (id, name, words) = (text("id"), text("name"), quote(words));
                let answer = format!(
                    "[{{\"functionResponse\":{{\"id\":{id},\"name\":{name},\
                     \"response\":{{\"error\":{words}}}}}}}]"
                );
                let status = Change::Text("\"error\"".to_owned());
                vec![("result", Change::Text(answer)), ("status", status)]
            }
            Result::Moved(answer) => {
                let mut out = Writer::new(source, &[]);
                let is_list = answer.of(source).starts_with('[');
                out.text(if is_list { "" } else { "[" });
                out.copy(*answer);
                out.text(if is_list { "" } else { "]" });
                let status = Change::Text("\"success\"".to_owned());
                vec![("result", Change::Chunks(out.finish())), ("status", status)]
            }
        }
    }

    /// A record for what no other record can hold.
    fn new_record(&self, entry: &Entry<'_>, pieces: &[&Piece<'_>], place: usize) -> Vec<Chunk> {
        let mut out = self.writer();
        let round = u32::try_from(place).unwrap_or(u32::MAX);
        out.text(&format!("{{\"id\":{}", quote(&uuid(&["record", entry.id], round))));
        if let Some(time) = field(out.source, entry.span, "timestamp") {
            out.text(",\"timestamp\":");
            out.copy(time);
        }
        out.text(",\"type\":\"user\",\"content\":[");
        for (at, piece) in pieces.iter().enumerate() {
            if at > 0 {
                out.text(",");
            }
            let span = piece.part.span;
            if piece.source == Source::Kept && span.of(out.source).starts_with('[') {
                // The result of a call is a list of its own.
                for (at, part) in elements(out.source, span).into_iter().enumerate() {
                    out.text(if at > 0 { "," } else { "" });
                    out.copy(part);
                }
            } else {
                out.append(self.list(std::slice::from_ref(*piece)));
            }
        }
        out.text("]}");
        out.finish()
    }
}

/// A record with changed messages inside.
fn nested(session: &Session<'_>, record: u32, mut changes: Vec<(Span, Vec<Chunk>)>) -> Vec<Chunk> {
    let source = session.log.source;
    let whole = session.span(record);
    changes.sort_by_key(|(span, _)| span.start);
    let mut out = Writer::new(source, &[]);
    let mut done = whole.start;
    for (span, chunks) in changes {
        let (mut start, mut end) = (span.start, span.end);
        if chunks.is_empty() {
            // With it goes one of the commas around it.
            let before = source.get(done as usize..start as usize).unwrap_or("").trim_end();
            if before.ends_with(',') {
                start = done + u32::try_from(before.len() - 1).unwrap_or(0);
            } else {
                let after = source.get(end as usize..whole.end as usize).unwrap_or("");
                let comma = after.trim_start().starts_with(',');
                let gap = u32::try_from(after.len() - after.trim_start().len()).unwrap_or(0);
                end += if comma { gap + 1 } else { 0 };
            }
        }
        out.copy(Span { start: done, end: start });
        out.append(chunks);
        done = end;
    }
    out.copy(Span { start: done, end: whole.end });
    out.finish()
}
