//! Requests: mended, told, spelled anew, and mended again for whoever takes them.

use std::{borrow::Cow, collections::HashMap};

use foxwedge_core::{
    CheckOptions, Draft, DraftBody, EditLog, Format, PartKind, Profile, Repair, Report, RuleSet,
    Span, repair,
};

use super::{ConversionOptions, ConvertedRequest, ToolNotation, text_tools, tool_names};
use crate::{
    DocumentFrame, OutlineOptions,
    document::list_key,
    error::ReadError,
    model::{
        CallPairs, ContentPart, IdentifierReplacement, JsonText, Loss, LossKind, LossLocation,
        ModelRequest, PartPlacement, decode,
        encode::{EncodeTarget, EncodedHistory, write_history},
        requests,
    },
    outline_options, read, splice,
};

/// Converts a request, or a bare list of messages.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn request(
    source: &str,
    from: Format,
    to: Format,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let plain = options.tools == ToolNotation::Native && options.model.is_none();
    if from == to && plain && options.restored_ids.is_empty() {
        let same = repair_same_format(source, to, options)?;
        // Names of tools are declared, too, and have to go on agreeing.
        if !same.target_edits.iter().any(|edit| edit.code == 207) {
            return Ok(same);
        }
    }
    // What is as it should be is told at once; everything else is read closely and mended first.
    if let Some(request) = decode::read_regular_request(source, from) {
        return encode_request(request, Some(from), to, options, EditLog::default());
    }
    let (source, before) = repair_source(source, from, options)?;
    encode_request(decode::read_request(&source, from)?, Some(from), to, options, before)
}

/// Spells a request that was put together by hand: messages from documents of any formats, each of
/// them read on its own, or from none. What the format itself spelled stays as it was.
///
/// # Errors
/// If what was written cannot be read again: it is too large, or nests too deep.
pub fn compose(
    mut request: ModelRequest<'_>,
    to: Format,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let refused = remove_foreign_reasoning(&mut request, to, options.profile(to));
    let pairs = CallPairs::of(&request.history);
    let mut converted = encode_request((request, pairs), None, to, options, EditLog::default())?;
    converted.losses.extend(refused);
    converted.losses.sort_by_key(|loss| loss.location);
    Ok(converted)
}

/// Takes out reasoning that another provider of the same format wrote beside its messages, where
/// the field is refused. Inside one document it stays: there it is the client's own.
fn remove_foreign_reasoning(
    request: &mut ModelRequest<'_>,
    to: Format,
    profile: Profile,
) -> Vec<Loss> {
    let mut losses = Vec::new();
    if (to, profile) != (Format::OpenaiChat, Profile::Mistral) {
        return losses;
    }
    for (index, said) in request.history.messages.iter_mut().enumerate() {
        let before = said.parts.len();
        said.parts.retain(|part| {
            let field = part.origin().is_some_and(|raw| raw.placement == PartPlacement::Field);
            !(field && matches!(part.content(), ContentPart::Reasoning(_)))
        });
        if said.parts.len() < before {
            let note = "the provider takes no reasoning beside a message".to_owned();
            losses.push(Loss {
                kind: LossKind::Reasoning,
                location: LossLocation::Message(index),
                note,
            });
        }
    }
    losses
}

/// A document that stays in its format: only what its provider refuses changes.
fn repair_same_format(
    source: &str,
    wire: Format,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let profile = options.profile(wire);
    let question = CheckOptions { profile, rules: RuleSet::of(profile), policy: options.policy };
    let reading = read(source, wire, outline_options(profile))?;
    let (patched, repair) = reading.fix(&question);
    Ok(ConvertedRequest {
        body: patched.to_string(),
        losses: Vec::new(),
        renamed: renamed_calls(&reading.draft, &repair),
        renamed_tools: Vec::new(),
        source_edits: EditLog::default(),
        messages: reading.draft.messages.len(),
        remaining: repair.after.findings,
        remaining_total: repair.after.counts.total(),
        target_edits: repair.edits,
    })
}

/// The calls that a repair renamed: all of them, also where its edits are only counted.
fn renamed_calls(draft: &Draft<'_>, repair: &Repair<'_>) -> Vec<IdentifierReplacement> {
    if !repair.edits.counts().iter().any(|kind| matches!(kind.code, 201..=204)) {
        return Vec::new();
    }
    let id = |kind: &PartKind<'_>| match kind {
        PartKind::Call(call) => call.id.as_deref().map(str::to_owned),
        _ => None,
    };
    let calls = draft.parts.iter().filter(|part| matches!(part.kind, PartKind::Call(_)));
    let ids: HashMap<Span, Option<String>> =
        calls.map(|part| (part.span, id(&part.kind))).collect();
    let pieces = repair.messages.iter().flat_map(|slot| &slot.parts);
    let calls = pieces.filter(|piece| matches!(piece.part.kind, PartKind::Call(_)));
    let renamed = calls.filter_map(|piece| {
        let new = piece.patch.new_id(&piece.part.kind)?.to_owned();
        let old = ids.get(&piece.part.span).cloned().flatten();
        Some(IdentifierReplacement { old: old.filter(|old| *old != new).unwrap_or_default(), new })
    });
    renamed.collect()
}

/// The document, with calls and answers joined: nothing that is broken crosses.
fn repair_source<'s>(
    source: &'s str,
    from: Format,
    options: &ConversionOptions,
) -> Result<(Cow<'s, str>, EditLog), ReadError> {
    let profile = Profile::for_format(from);
    let question = CheckOptions { profile, rules: pairing_rules(profile), policy: options.policy };
    let reading = read(source, from, outline_options(profile))?;
    let (patched, repair) = reading.fix(&question);
    if repair.is_untouched() {
        return Ok((Cow::Borrowed(source), EditLog::default()));
    }
    Ok((Cow::Owned(patched.to_string()), repair.edits))
}

/// The rules about which answer belongs to which call, about half characters, which are half in
/// every format, and about what nobody can read: answers of a wrong type, calls of none. All others are the target's.
fn pairing_rules(profile: Profile) -> RuleSet {
    const CODES: [u16; 12] = [101, 102, 103, 104, 201, 304, 313, 315, 316, 407, 601, 602];
    let all = RuleSet::of(profile);
    let mut rules = RuleSet::default();
    CODES.into_iter().filter(|code| all.has(*code)).for_each(|code| rules.add(code));
    rules
}

/// Spells a request in another format.
fn encode_request(
    (mut request, mut pairs): (ModelRequest<'_>, CallPairs),
    from: Option<Format>,
    to: Format,
    options: &ConversionOptions,
    before: EditLog,
) -> Result<ConvertedRequest, ReadError> {
    let messages = request.history.messages.len();
    let mut losses = Vec::new();
    if let Some(model) = &options.model {
        request.settings.model = Some(JsonText::from(model.as_str()));
        // A list has no place for a model.
        request.object = true;
    }
    let mut added = 0;
    if options.tools == ToolNotation::Text {
        added = text_tools::replace_tools(&mut request, &pairs, &mut losses);
        pairs = CallPairs::of(&request.history);
    }
    let profile = options.profile(to);
    let mut names = tool_names::adapt_tool_names(&mut request.settings, profile);
    let target = encode_target(profile, to, options);
    let mut around = RequestPreamble::default();
    let (body, mut written) =
        write_history(&request.history, &target, pairs, |out, instructions| {
            around = RequestPreamble::write(
                &request,
                from,
                (profile, to),
                instructions,
                out,
                &mut losses,
            );
            around.object
        });
    if from.is_none() {
        // Nobody has looked at messages that were read one by one: a reader has to.
        around.body = None;
    }
    losses.extend(written.losses.drain(..).map(|loss| shift_loss(loss, added)));
    losses.sort_by_key(|loss| loss.location);
    let renamed = std::mem::take(&mut written.renamed);
    names.append(&mut written.renamed_tools);
    names.sort_by(|one, two| one.old.cmp(&two.old));
    names.dedup();
    let done = repair_for_target(body, written, around, profile, to, options)?;
    Ok(ConvertedRequest {
        body: done.body,
        losses,
        renamed,
        renamed_tools: names,
        source_edits: before,
        target_edits: done.edits,
        remaining_total: done.remaining.total(),
        remaining: done.remaining.findings,
        messages,
    })
}

fn encode_target(profile: Profile, to: Format, options: &ConversionOptions) -> EncodeTarget {
    let back = options.restored_ids.iter().filter(|renamed| !renamed.old.is_empty());
    let restore = back.map(|renamed| (renamed.new.clone(), renamed.old.clone())).collect();
    EncodeTarget {
        restored_ids: restore,
        separate_instructions: true,
        ..EncodeTarget::new(profile, to)
    }
}

/// What stands around the list of messages.
#[derive(Default)]
struct RequestPreamble {
    object: bool,
    /// What it says about the conversation; `None` if only a reader can tell.
    body: Option<DraftBody<'static>>,
}

impl RequestPreamble {
    /// Begins the document: an object if it was one, or has instructions beside its messages.
    fn write(
        request: &ModelRequest<'_>,
        from: Option<Format>,
        (profile, to): (Profile, Format),
        instructions: bool,
        out: &mut String,
        losses: &mut Vec<Loss>,
    ) -> RequestPreamble {
        if !request.object && !instructions {
            return RequestPreamble { object: false, body: Some(DraftBody::default()) };
        }
        out.push('{');
        if request.object {
            requests::write(&request.settings, from, profile, to, out, losses);
        }
        let others = instructions || out.len() > 1;
        RequestPreamble { object: true, body: read_preamble(out, to, others) }
    }
}

/// Reads what the fields before the list say.
fn read_preamble(out: &mut String, to: Format, request: bool) -> Option<DraftBody<'static>> {
    let before = out.len();
    for piece in ["\"", list_key(to), "\":[]}"] {
        out.push_str(piece);
    }
    let reading = read(out, to, OutlineOptions::default()).ok();
    let body = reading.map(|reading| reading.draft.body);
    let body = body.filter(|body| body.surrogates.is_empty()).map(|body| DraftBody {
        request,
        wrapped: true,
        stateful: body.stateful,
        model: body.model.map(|model| Cow::Owned(model.into_owned())),
        thinking: body.thinking,
        unstored: body.unstored,
        tools: body.tools,
        surrogates: Vec::new(),
        defects: Vec::new(),
        optional: body.optional,
    });
    out.truncate(before);
    body
}

struct RepairedRequest {
    body: String,
    edits: EditLog,
    remaining: Report,
}

/// The document as its provider takes it.
fn repair_for_target(
    body: String,
    written: EncodedHistory<'_>,
    around: RequestPreamble,
    profile: Profile,
    to: Format,
    options: &ConversionOptions,
) -> Result<RepairedRequest, ReadError> {
    let question = CheckOptions { profile, rules: RuleSet::of(profile), policy: options.policy };
    // Arguments that are strings are looked into by readers only.
    let (list, object) = (written.list, around.object);
    let known = around.body.filter(|_| !profile.parses_arguments());
    let outlined = known.and_then(|around| written.outline.finish(&body, around));
    let (draft, frame) = match outlined {
        Some(draft) => {
            debug_assert!(matches_outline(&draft, &body, to), "not what a reader sees: {body}");
            (draft, DocumentFrame { document: Span::new(0, body.len()), list: Some(list), object })
        }
        None => {
            let reading = read(&body, to, outline_options(profile))?;
            (reading.draft, reading.frame)
        }
    };
    let repair = repair(&draft, &question);
    if repair.is_untouched() {
        let left = repair.after;
        return Ok(RepairedRequest { body, edits: EditLog::default(), remaining: left });
    }
    let text = splice::apply(&draft, frame, &repair).to_string();
    Ok(RepairedRequest { body: text, edits: repair.edits, remaining: repair.after })
}

/// Whether an outline is what a reader sees. For debug builds.
fn matches_outline(draft: &Draft<'_>, body: &str, to: Format) -> bool {
    read(body, to, OutlineOptions::default())
        .is_ok_and(|reading| format!("{:?}", reading.draft) == format!("{draft:?}"))
}

/// A loss at the message it had before so many were put in front.
fn shift_loss(loss: Loss, added: usize) -> Loss {
    let at = match loss.location {
        LossLocation::Message(index) => LossLocation::Message(index.saturating_sub(added)),
        other => other,
    };
    Loss { location: at, ..loss }
}

/// Something of the request that has no place.
pub(super) fn request_loss(what: LossKind, note: impl Into<String>) -> Loss {
    Loss { kind: what, location: LossLocation::Request, note: note.into() }
}
