//! Requests: mended, told, spelled anew, and mended again for whoever takes them.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_core::{
    Body, Draft, EditLog, Kind, Profile, Question, Repair, Report, RuleSet, Span, Wire, repair,
};

use super::{Converted, Options, Tools, names, textual};
use crate::{
    Frame, Want,
    canon::{
        Bit, Form, Loss, Lost, Pairs, Renamed, Request, Spot, Words, decode,
        encode::{Target, Written, write},
        requests,
    },
    document::list_key,
    error::ReadError,
    read, splice, want,
};

/// Converts a request, or a bare list of messages.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn request(
    source: &str,
    from: Wire,
    to: Wire,
    options: &Options,
) -> Result<Converted, ReadError> {
    let plain = options.tools == Tools::Native && options.model.is_none();
    if from == to && plain && options.restore.is_empty() {
        let same = same(source, to, options)?;
        // Names of tools are declared, too, and have to go on agreeing.
        if !same.behind.iter().any(|edit| edit.code == 207) {
            return Ok(same);
        }
    }
    // What is as it should be is told at once; everything else is read closely and mended first.
    if let Some(request) = decode::whole_request(source, from) {
        return tell(request, Some(from), to, options, EditLog::default());
    }
    let (source, before) = mended(source, from, options)?;
    tell(decode::request(&source, from)?, Some(from), to, options, before)
}

/// Spells a request that was put together by hand: messages from documents of any formats, each of
/// them read on its own, or from none. What the format itself spelled stays as it was.
///
/// # Errors
/// If what was written cannot be read again: it is too large, or nests too deep.
pub fn compose(
    mut request: Request<'_>,
    to: Wire,
    options: &Options,
) -> Result<Converted, ReadError> {
    let refused = unwanted(&mut request, to, options.profile(to));
    let pairs = Pairs::of(&request.history);
    let mut converted = tell((request, pairs), None, to, options, EditLog::default())?;
    converted.losses.extend(refused);
    converted.losses.sort_by_key(|loss| loss.at);
    Ok(converted)
}

/// Takes out reasoning that another provider of the same format wrote beside its messages, where
/// the field is refused. Inside one document it stays: there it is the client's own.
fn unwanted(request: &mut Request<'_>, to: Wire, profile: Profile) -> Vec<Loss> {
    let mut losses = Vec::new();
    if (to, profile) != (Wire::OpenaiChat, Profile::Mistral) {
        return losses;
    }
    for (index, said) in request.history.messages.iter_mut().enumerate() {
        let before = said.parts.len();
        said.parts.retain(|part| {
            let field = part.raw().is_some_and(|raw| raw.form == Form::Field);
            !(field && matches!(part.bit(), Bit::Reasoning(_)))
        });
        if said.parts.len() < before {
            let note = "the provider takes no reasoning beside a message".to_owned();
            losses.push(Loss { what: Lost::Reasoning, at: Spot::Message(index), note });
        }
    }
    losses
}

/// A document that stays in its format: only what its provider refuses changes.
fn same(source: &str, wire: Wire, options: &Options) -> Result<Converted, ReadError> {
    let profile = options.profile(wire);
    let question = Question { profile, rules: RuleSet::of(profile), policy: options.policy };
    let reading = read(source, wire, want(profile))?;
    let (patched, repair) = reading.fix(&question);
    Ok(Converted {
        body: patched.to_string(),
        losses: Vec::new(),
        renamed: renamed(&reading.draft, &repair),
        names: Vec::new(),
        before: EditLog::default(),
        messages: reading.draft.messages.len(),
        left: repair.after.findings,
        left_total: repair.after.counts.total(),
        behind: repair.edits,
    })
}

/// The calls that a repair renamed: all of them, also where its edits are only counted.
fn renamed(draft: &Draft<'_>, repair: &Repair<'_>) -> Vec<Renamed> {
    if !repair.edits.counts().iter().any(|kind| matches!(kind.code, 201..=204)) {
        return Vec::new();
    }
    let id = |kind: &Kind<'_>| match kind {
        Kind::Call(call) => call.id.as_deref().map(str::to_owned),
        _ => None,
    };
    let calls = draft.parts.iter().filter(|part| matches!(part.kind, Kind::Call(_)));
    let ids: HashMap<Span, Option<String>> =
        calls.map(|part| (part.span, id(&part.kind))).collect();
    let pieces = repair.slots.iter().flat_map(|slot| &slot.pieces);
    let calls = pieces.filter(|piece| matches!(piece.part.kind, Kind::Call(_)));
    let renamed = calls.filter_map(|piece| {
        let new = piece.patch.new_id(&piece.part.kind)?.to_owned();
        let old = ids.get(&piece.part.span).cloned().flatten();
        Some(Renamed { old: old.filter(|old| *old != new).unwrap_or_default(), new })
    });
    renamed.collect()
}

/// The document, with calls and answers joined: nothing that is broken crosses.
fn mended<'s>(
    source: &'s str,
    from: Wire,
    options: &Options,
) -> Result<(Cow<'s, str>, EditLog), ReadError> {
    let profile = Profile::of(from);
    let question = Question { profile, rules: joining(profile), policy: options.policy };
    let reading = read(source, from, want(profile))?;
    let (patched, repair) = reading.fix(&question);
    if repair.is_untouched() {
        return Ok((Cow::Borrowed(source), EditLog::default()));
    }
    Ok((Cow::Owned(patched.to_string()), repair.edits))
}

/// The rules about which answer belongs to which call, about half characters, which are half in
/// every format, and about what nobody can read: answers of a wrong type, calls of none. All others are the target's.
fn joining(profile: Profile) -> RuleSet {
    const CODES: [u16; 12] = [101, 102, 103, 104, 201, 304, 313, 315, 316, 407, 601, 602];
    let all = RuleSet::of(profile);
    let mut rules = RuleSet::default();
    CODES.into_iter().filter(|code| all.has(*code)).for_each(|code| rules.add(code));
    rules
}

/// Spells a request in another format.
fn tell(
    (mut request, mut pairs): (Request<'_>, Pairs),
    from: Option<Wire>,
    to: Wire,
    options: &Options,
    before: EditLog,
) -> Result<Converted, ReadError> {
    let messages = request.history.messages.len();
    let mut losses = Vec::new();
    if let Some(model) = &options.model {
        request.settings.model = Some(Words::from(model.as_str()));
        // A list has no place for a model.
        request.object = true;
    }
    let mut added = 0;
    if options.tools == Tools::Text {
        added = textual::tell(&mut request, &pairs, &mut losses);
        pairs = Pairs::of(&request.history);
    }
    let profile = options.profile(to);
    let mut names = names::adapt(&mut request.settings, profile);
    let target = target(profile, to, options);
    let mut around = Around::default();
    let (body, mut written) = write(&request.history, &target, pairs, |out, instructions| {
        around = Around::write(&request, from, (profile, to), instructions, out, &mut losses);
        around.object
    });
    if from.is_none() {
        // Nobody has looked at messages that were read one by one: a reader has to.
        around.body = None;
    }
    losses.extend(written.losses.drain(..).map(|loss| as_it_was(loss, added)));
    losses.sort_by_key(|loss| loss.at);
    let renamed = std::mem::take(&mut written.renamed);
    names.append(&mut written.names);
    names.sort_by(|one, two| one.old.cmp(&two.old));
    names.dedup();
    let done = accepted(body, written, around, profile, to, options)?;
    Ok(Converted {
        body: done.body,
        losses,
        renamed,
        names,
        before,
        behind: done.edits,
        left_total: done.left.total(),
        left: done.left.findings,
        messages,
    })
}

fn target(profile: Profile, to: Wire, options: &Options) -> Target {
    let back = options.restore.iter().filter(|renamed| !renamed.old.is_empty());
    let restore = back.map(|renamed| (renamed.new.clone(), renamed.old.clone())).collect();
    Target { restore, beside: true, ..Target::new(profile, to) }
}

/// What stands around the list of messages.
#[derive(Default)]
struct Around {
    object: bool,
    /// What it says about the conversation; `None` if only a reader can tell.
    body: Option<Body<'static>>,
}

impl Around {
    /// Begins the document: an object if it was one, or has instructions beside its messages.
    fn write(
        request: &Request<'_>,
        from: Option<Wire>,
        (profile, to): (Profile, Wire),
        instructions: bool,
        out: &mut String,
        losses: &mut Vec<Loss>,
    ) -> Around {
        if !request.object && !instructions {
            return Around { object: false, body: Some(Body::default()) };
        }
        out.push('{');
        if request.object {
            requests::write(&request.settings, from, profile, to, out, losses);
        }
        let others = instructions || out.len() > 1;
        Around { object: true, body: around(out, to, others) }
    }
}

/// Reads what the fields before the list say.
fn around(out: &mut String, to: Wire, request: bool) -> Option<Body<'static>> {
    let before = out.len();
    for piece in ["\"", list_key(to), "\":[]}"] {
        out.push_str(piece);
    }
    let reading = read(out, to, Want::default()).ok();
    let body = reading.map(|reading| reading.draft.body);
    let body = body.filter(|body| body.surrogates.is_empty()).map(|body| Body {
        request,
        wrapped: true,
        stateful: body.stateful,
        model: body.model.map(|model| Cow::Owned(model.into_owned())),
        thinking: body.thinking,
        unstored: body.unstored,
        tools: body.tools,
        surrogates: Vec::new(),
        flaws: Vec::new(),
        optional: body.optional,
    });
    out.truncate(before);
    body
}

struct Accepted {
    body: String,
    edits: EditLog,
    left: Report,
}

/// The document as its provider takes it.
fn accepted(
    body: String,
    written: Written<'_>,
    around: Around,
    profile: Profile,
    to: Wire,
    options: &Options,
) -> Result<Accepted, ReadError> {
    let question = Question { profile, rules: RuleSet::of(profile), policy: options.policy };
    // Arguments that are strings are looked into by readers only.
    let (list, object) = (written.list, around.object);
    let known = around.body.filter(|_| !profile.parses_arguments());
    let outlined = known.and_then(|around| written.outline.finish(&body, around));
    let (draft, frame) = match outlined {
        Some(draft) => {
            debug_assert!(is_as_read(&draft, &body, to), "not what a reader sees: {body}");
            (draft, Frame { document: Span::new(0, body.len()), list: Some(list), object })
        }
        None => {
            let reading = read(&body, to, want(profile))?;
            (reading.draft, reading.frame)
        }
    };
    let repair = repair(&draft, &question);
    if repair.is_untouched() {
        let left = repair.after;
        return Ok(Accepted { body, edits: EditLog::default(), left });
    }
    let text = splice::apply(&draft, frame, &repair).to_string();
    Ok(Accepted { body: text, edits: repair.edits, left: repair.after })
}

/// Whether an outline is what a reader sees. For debug builds.
fn is_as_read(draft: &Draft<'_>, body: &str, to: Wire) -> bool {
    read(body, to, Want::default())
        .is_ok_and(|reading| format!("{:?}", reading.draft) == format!("{draft:?}"))
}

/// A loss at the message it had before so many were put in front.
fn as_it_was(loss: Loss, added: usize) -> Loss {
    let at = match loss.at {
        Spot::Message(index) => Spot::Message(index.saturating_sub(added)),
        other => other,
    };
    Loss { at, ..loss }
}

/// Something of the request that has no place.
pub(super) fn lost(what: Lost, note: impl Into<String>) -> Loss {
    Loss { what, at: Spot::Request, note: note.into() }
}
