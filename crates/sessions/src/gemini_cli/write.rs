//! Repairs records of Gemini CLI. A reply stores the results of its calls in its own record, so a
//! new or moved result is written into the object of its call.

use std::collections::{BTreeMap, HashMap, HashSet};

use foxwedge_core::{
    ContentShape, Message, Part, PartKind, PartSource, Repair, RepairedPart, Role, Span,
};

use crate::{
    ParsedSession,
    derived_id::derive_uuid,
    emit::{FileEdits, emit},
    gemini_history::GeminiMessageVersion,
    nested_changes::write_with_changes,
    open_calls::OpenCalls,
    rewritten_file::RewrittenFile,
};
use foxwedge_formats::{
    gemini,
    splice::{BlockMessage, write_block_list},
};
use foxwedge_json::{FieldChange, FieldChanges, OutputChunk, SpliceWriter, write_patched};
use foxwedge_json::{array_elements, field_value, quote};

/// Writes the file that a repair produces.
pub(crate) fn rewrite<'a>(session: &ParsedSession<'a>, repair: &Repair<'a>) -> RewrittenFile<'a> {
    let mut rewriter = GeminiFileRewriter::new(session, repair);
    rewriter.plan_parts();
    // Changes to messages inside a record, by record and position.
    let mut inside: BTreeMap<u32, Vec<(Span, Vec<OutputChunk>)>> = BTreeMap::new();
    let mut edits = FileEdits::default();
    let mut versions: HashMap<&str, Vec<&GeminiMessageVersion<'a>>> = HashMap::new();
    for entry in &session.log.entries {
        versions.entry(entry.id).or_default().push(entry);
    }
    // A record that an earlier round of the repair created has such an id, too.
    let count = rewriter.new.len().max(1);
    let new_id = |entry: &GeminiMessageVersion<'_>, place: usize| {
        let mut places = (place..).step_by(count);
        let id = places.find_map(|place| {
            let round = u32::try_from(place).unwrap_or(u32::MAX);
            let id = derive_uuid(&["record", entry.id], round);
            (round == u32::MAX || !versions.contains_key(id.as_str())).then_some(id)
        });
        id.unwrap_or_default()
    };
    for entry in &session.entries {
        let Some(mut chunks) = rewriter.changed_entry(entry) else { continue };
        let gone = chunks.is_empty();
        // If nothing else is left, the new message takes the place of the first one.
        if let Some(parts) = rewriter.only_message.take_if(|_| gone) {
            chunks = rewriter.new_record(entry, &parts, &new_id(entry, 0));
        }
        if entry.span != session.span(entry.record) {
            inside.entry(entry.record).or_default().push((entry.span, chunks));
            continue;
        }
        if gone {
            // Older versions would reappear in its place.
            let versions = versions.get(entry.id).into_iter().flatten();
            for other in versions.filter(|other| other.span.start >= entry.first_version.1.start) {
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
    for (place, (entry, parts)) in rewriter.new.iter().enumerate() {
        let mut chunks = rewriter.new_record(entry, parts, &new_id(entry, place));
        // Later versions of a message take the position of the first one.
        let (record, span) = entry.first_version;
        if span == session.span(record) {
            edits.behind.entry(record).or_default().push(chunks);
        } else {
            // It goes into the same list as the message before it.
            let end = Span { start: span.end, end: span.end };
            chunks.insert(0, OutputChunk::Text(",".to_owned()));
            inside.entry(record).or_default().push((end, chunks));
        }
    }
    for (record, changes) in inside {
        edits.changed.insert(record, write_with_changes(session, record, changes));
    }
    emit(session, repair, edits)
}

/// A result that is written into the object of its call.
enum GeminiNewResult {
    Text(String),
    Moved(Span),
}

struct GeminiFileRewriter<'r, 'a> {
    session: &'r ParsedSession<'a>,
    repair: &'r Repair<'a>,
    /// Where entries begin, in file order.
    starts: Vec<(u32, usize)>,
    /// The messages of each entry, by its span.
    messages: HashMap<Span, Vec<&'r Message>>,
    /// Entries whose calls get results.
    answered: HashSet<usize>,
    /// Parts that stay where they are.
    kept: HashSet<Span>,
    /// Parts that are converted to text.
    quoted: HashMap<Span, &'r RepairedPart<'a>>,
    /// Results for calls, by the object of the call.
    results: HashMap<Span, GeminiNewResult>,
    /// Parts that need a new record, and the entry it follows.
    new: Vec<(GeminiMessageVersion<'a>, Vec<&'r RepairedPart<'a>>)>,
    /// The only remaining message, if it is new.
    only_message: Option<Vec<&'r RepairedPart<'a>>>,
}

fn is_answer(part: &RepairedPart<'_>) -> bool {
    matches!(part.part.kind, PartKind::Answer(_))
}

impl<'r, 'a> GeminiFileRewriter<'r, 'a> {
    fn new(session: &'r ParsedSession<'a>, repair: &'r Repair<'a>) -> GeminiFileRewriter<'r, 'a> {
        let starts = session.entries.iter().enumerate().map(|(at, entry)| (entry.span.start, at));
        let mut starts: Vec<(u32, usize)> = starts.collect();
        starts.sort_unstable();
        let mut messages: HashMap<Span, Vec<&Message>> = HashMap::new();
        for message in &session.chain.draft.messages {
            messages.entry(message.span).or_default().push(message);
        }
        GeminiFileRewriter {
            session,
            repair,
            starts,
            messages,
            answered: HashSet::new(),
            kept: HashSet::new(),
            quoted: HashMap::new(),
            results: HashMap::new(),
            new: Vec::new(),
            only_message: None,
        }
    }

    fn entry_of(&self, span: Span) -> Option<usize> {
        let after = self.starts.partition_point(|(start, _)| *start <= span.start);
        after.checked_sub(1).map(|at| self.starts[at].1)
    }

    /// Decides what happens to every part.
    fn plan_parts(&mut self) {
        let repair = self.repair;
        let draft = self.session.draft();
        let mut open = OpenCalls::default();
        let mut last_role = Role::User;
        let mut last = None;
        for message in repair.messages.iter() {
            if message.role == Role::Assistant && last_role != Role::Assistant {
                open = OpenCalls::default();
            }
            last_role = message.role;
            let origin = message.origin().and_then(|origin| draft.messages.get(origin));
            let own_entry = origin.and_then(|message| self.entry_of(message.span));
            last = own_entry.or(last);
            if let (Some(message), false) = (origin, message.is_touched()) {
                for part in draft.parts_of(message) {
                    self.kept.insert(part.span);
                    open.note(&part.kind, part.span);
                }
                continue;
            }
            // A result inside the object of a call belongs to that call, whatever its id.
            let own = |repaired: &RepairedPart<'_>| {
                *repaired.source() == PartSource::Input && is_answer(repaired)
            };
            for repaired in message.parts.iter().filter(|repaired| own(repaired)) {
                let span = repaired.part.span;
                if open.mark_answered(span) {
                    self.kept.insert(span);
                }
            }
            let mut unplaced = Vec::new();
            for repaired in &message.parts {
                let span = repaired.part.span;
                if own(repaired) && open.contains(span) {
                    continue;
                }
                let call = open.note(&repaired.part.kind, span).filter(|call| self.is_own(*call));
                let answer = is_answer(repaired);
                let stays = span != Span::NOWHERE && self.entry_of(span) == own_entry;
                match (repaired.source(), call) {
                    (PartSource::Quote(_) | PartSource::Media(_), _) => {
                        self.quoted.insert(span, repaired);
                    }
                    (PartSource::Text(text), Some(call)) => {
                        self.answered.extend(self.entry_of(call));
                        self.results.insert(call, GeminiNewResult::Text(text.to_string()));
                    }
                    (PartSource::Text(_), None) => unplaced.push(repaired),
                    (PartSource::Input, Some(call)) if !stays => {
                        self.answered.extend(self.entry_of(call));
                        self.results.insert(call, GeminiNewResult::Moved(span));
                    }
                    (PartSource::Input, None) if answer && !stays => unplaced.push(repaired),
                    (PartSource::Input, _) => {
                        self.kept.insert(span);
                    }
                }
            }
            if last.is_none() && repair.messages.len() == 1 {
                self.only_message = Some(unplaced);
                break;
            }
            if let Some(&entry) = last.and_then(|last| self.session.entries.get(last))
                && !unplaced.is_empty()
            {
                self.new.push((entry, unplaced));
            }
        }
    }

    /// Whether a call is an object of the reply's `toolCalls` list, which holds its result.
    fn is_own(&self, call: Span) -> bool {
        field_value(self.session.log.source, call, "functionCall").is_none()
    }

    /// Writes a changed message. `None` if it stays, empty if it is removed.
    fn changed_entry(&self, entry: &GeminiMessageVersion<'a>) -> Option<Vec<OutputChunk>> {
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
        let mut changes: FieldChanges<'_> = Vec::new();
        changes.extend(
            self.changed_content(entry, &parts).map(|list| ("content", FieldChange::Chunks(list))),
        );
        changes
            .extend(self.changed_calls(entry).map(|list| ("toolCalls", FieldChange::Chunks(list))));
        write_patched(&mut out, entry.span, changes);
        Some(out.finish())
    }

    fn parts(&self, entry: &GeminiMessageVersion<'_>) -> Vec<&'r Part<'a>> {
        let draft = &self.session.chain.draft;
        let messages = self.messages.get(&entry.span).into_iter().flatten();
        messages.flat_map(|message| draft.parts_of(message)).collect()
    }

    fn writer(&self) -> SpliceWriter<'r> {
        SpliceWriter::new(self.session.log.source, &self.repair.surrogates)
    }

    /// The content of a message, if it changed.
    fn changed_content(
        &self,
        entry: &GeminiMessageVersion<'_>,
        parts: &[&Part<'a>],
    ) -> Option<Vec<OutputChunk>> {
        let source = self.session.log.source;
        let content = field_value(source, entry.span, "content")?;
        let inside = |span: Span| span.start >= content.start && span.end <= content.end;
        let own: Vec<_> = parts.iter().filter(|part| inside(part.span)).collect();
        if own.iter().all(|part| self.kept.contains(&part.span)) {
            return None;
        }
        let mut out = self.writer();
        out.text("[");
        let mut needs_comma = false;
        for part in own {
            let quoted = self.quoted.get(&part.span);
            if quoted.is_none() && !self.kept.contains(&part.span) {
                continue;
            }
            if needs_comma {
                out.text(",");
            }
            needs_comma = true;
            match quoted {
                Some(repaired) => {
                    out.append(self.write_piece_list(std::slice::from_ref(*repaired)))
                }
                None => out.copy(part.span),
            }
        }
        out.text("]");
        Some(out.finish())
    }

    /// Writes parts in the Gemini format, without brackets.
    fn write_piece_list(&self, parts: &[RepairedPart<'_>]) -> Vec<OutputChunk> {
        let mut out = self.writer();
        let message = BlockMessage {
            role: Role::User,
            pieces: parts,
            content: ContentShape::List,
            role_changed: false,
        };
        write_block_list(&mut out, self.session.draft(), None, &message, &gemini::SPLICE_FORMAT);
        let mut chunks = out.finish();
        if let Some(OutputChunk::Text(first)) = chunks.first_mut() {
            *first = first.strip_prefix('[').unwrap_or(first).to_owned();
        }
        if let Some(OutputChunk::Text(last)) = chunks.last_mut() {
            *last = last.strip_suffix(']').unwrap_or(last).to_owned();
        }
        chunks
    }

    /// The calls of a reply, if they or their results changed.
    fn changed_calls(&self, entry: &GeminiMessageVersion<'_>) -> Option<Vec<OutputChunk>> {
        let source = self.session.log.source;
        let list = field_value(source, entry.span, "toolCalls")?;
        let known: HashSet<Span> = self.parts(entry).iter().map(|part| part.span).collect();
        let gone = |span: &Span| known.contains(span) && !self.kept.contains(span);
        let mut out = self.writer();
        let (mut needs_comma, mut changed) = (false, false);
        out.text("[");
        for call in array_elements(source, list) {
            if gone(&call) {
                changed = true;
                continue;
            }
            if needs_comma {
                out.text(",");
            }
            needs_comma = true;
            let result = field_value(source, call, "result");
            match self.results.get(&call) {
                Some(result) => {
                    changed = true;
                    write_patched(&mut out, call, self.result_changes(call, result));
                }
                None if result.is_some_and(|result| gone(&result)) => {
                    changed = true;
                    write_patched(
                        &mut out,
                        call,
                        vec![("result", FieldChange::Text("null".to_owned()))],
                    );
                }
                None => out.copy(call),
            }
        }
        out.text("]");
        changed.then(|| out.finish())
    }

    fn result_changes(&self, call: Span, result: &GeminiNewResult) -> FieldChanges<'static> {
        let source = self.session.log.source;
        let text =
            |key: &str| field_value(source, call, key).map_or("\"\"", |value| value.of(source));
        match result {
            GeminiNewResult::Text(words) => {
                let (id, name, words) = (text("id"), text("name"), quote(words));
                let answer = format!(
                    "[{{\"functionResponse\":{{\"id\":{id},\"name\":{name},\
                     \"response\":{{\"error\":{words}}}}}}}]"
                );
                let status = FieldChange::Text("\"error\"".to_owned());
                vec![("result", FieldChange::Text(answer)), ("status", status)]
            }
            GeminiNewResult::Moved(answer) => {
                let mut out = SpliceWriter::new(source, &[]);
                let is_list = answer.of(source).starts_with('[');
                out.text(if is_list { "" } else { "[" });
                out.copy(*answer);
                out.text(if is_list { "" } else { "]" });
                let status = FieldChange::Text("\"success\"".to_owned());
                vec![("result", FieldChange::Chunks(out.finish())), ("status", status)]
            }
        }
    }

    /// Writes a record for parts that fit into no other record.
    fn new_record(
        &self,
        entry: &GeminiMessageVersion<'_>,
        parts: &[&RepairedPart<'_>],
        id: &str,
    ) -> Vec<OutputChunk> {
        let mut out = self.writer();
        out.text(&format!("{{\"id\":{}", quote(id)));
        if let Some(time) = field_value(out.source, entry.span, "timestamp") {
            out.text(",\"timestamp\":");
            out.copy(time);
        }
        out.text(",\"type\":\"user\",\"content\":[");
        for (at, repaired) in parts.iter().enumerate() {
            if at > 0 {
                out.text(",");
            }
            let span = repaired.part.span;
            if *repaired.source() == PartSource::Input && span.of(out.source).starts_with('[') {
                // The result of a call is a list: add its elements.
                for (at, part) in array_elements(out.source, span).into_iter().enumerate() {
                    out.text(if at > 0 { "," } else { "" });
                    out.copy(part);
                }
            } else {
                out.append(self.write_piece_list(std::slice::from_ref(*repaired)));
            }
        }
        out.text("]}");
        out.finish()
    }
}
