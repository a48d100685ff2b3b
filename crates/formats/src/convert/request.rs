//! Converts requests: repairs the source, decodes it, encodes it for the target, and repairs the
//! result.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use foxwedge_core::sorting::{sort_by, sort_by_key};
use foxwedge_core::{
    CheckOptions, Draft, DraftBody, Edit, EditLog, Format, PartKind, Profile, Repair, Report,
    RuleSet, Span, TailPolicy, repair,
};

use super::{
    ChatServer, ConversionOptions, ConvertedRequest, ToolNotation,
    text_tools::{self, OrphanScope},
    tool_names,
};
use crate::{
    DocumentFrame, OutlineOptions,
    ai_sdk::{self, AiSdkList},
    conversation::{
        CallPairs, ContentPart, IdentifierReplacement, JsonText, Loss, LossKind, LossLocation,
        ModelMessage, ModelRequest, ModelRole, PartPlacement,
        encode::{BedrockModel, EncodeTarget},
    },
    envelope::list_key,
    error::ReadError,
    model::{
        decode,
        encode::{EncodedHistory, write_history},
        requests,
    },
    outline_options, patched_document, read,
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
    let mut has_instructions = false;
    if from == to && plain && options.restored_ids.is_empty() {
        let repaired = repair_same_format(source, to, options)?;
        let has_edit = |is_kind: fn(&Edit) -> bool| repaired.target_edits.iter().any(is_kind);
        has_instructions = has_edit(|edit| edit.code == 406 && edit.message == 0);
        // Tool names are also in the declarations and must stay consistent with the calls.
        if !has_instructions && !has_edit(|edit| edit.code == 207) {
            return Ok(repaired);
        }
    }
    // A regular request is decoded directly; any other is outlined and repaired first.
    let regular = decode::read_regular_request(source, from);
    let (source, source_edits) = match regular {
        Some(_) => (Cow::Borrowed(source), EditLog::default()),
        None => repair_source(source, from, options)?,
    };
    let (mut request, pairs) = match regular {
        Some(request) => request,
        None => decode::read_request(&source, from)?,
    };
    if has_instructions {
        separate_instructions(&mut request);
    }
    encode_request((request, pairs), Some(from), to, options, source_edits)
}

/// Marks the instructions at the beginning of the list as such: they have a field of their own.
fn separate_instructions(request: &mut ModelRequest<'_>) {
    let messages = request.history.messages.iter_mut();
    for message in messages.take_while(|message| message.role == ModelRole::System) {
        *message = ModelMessage::new(ModelRole::System, std::mem::take(&mut message.parts));
    }
}

/// Converts a request, or a bare list of messages, to a message list of the AI SDK.
///
/// # Errors
/// If the text is not JSON, or holds no list of messages of that format.
pub fn message_list(
    source: &str,
    from: Format,
    to: AiSdkList,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let (repaired, source_edits);
    let (mut request, mut pairs) = match decode::read_regular_request(source, from) {
        Some(request) => {
            source_edits = EditLog::default();
            request
        }
        None => {
            (repaired, source_edits) = repair_source(source, from, options)?;
            decode::read_request(&repaired, from)?
        }
    };
    let messages = request.history.messages.len();
    let mut losses = Vec::new();
    let mut added = 0;
    if options.tools == ToolNotation::Text {
        added = text_tools::replace_tools(&mut request, &pairs, &mut losses);
        pairs = CallPairs::of(&request.history);
    }
    let scope = OrphanScope::All;
    if text_tools::quote_orphans(&mut request, &pairs, scope, options.policy, &mut losses) {
        pairs = CallPairs::of(&request.history);
    }
    let waiting_tail = options.policy.tail == TailPolicy::Pending;
    let encoded = ai_sdk::encode(&request, pairs, &restored_ids(options), to, waiting_tail);
    losses.extend(encoded.losses.into_iter().map(|loss| shift_loss(loss, added)));
    sort_by_key(&mut losses, |loss| loss.location);
    Ok(ConvertedRequest {
        body: encoded.body,
        losses,
        renamed: encoded.renamed,
        renamed_tools: Vec::new(),
        free_text_tools: Vec::new(),
        source_edits,
        target_edits: EditLog::default(),
        remaining: Vec::new(),
        remaining_total: 0,
        messages,
    })
}

/// Encodes a request that the caller assembled: each message was decoded on its own from a document
/// of any format, or created new. Parts that were read from the target format stay unchanged.
///
/// # Errors
/// If the result cannot be read again because it is too large or nests too deep.
pub fn compose(
    mut request: ModelRequest<'_>,
    to: Format,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let losses = remove_foreign_reasoning(&mut request, to, options.profile(to));
    let pairs = CallPairs::of(&request.history);
    let mut converted = encode_request((request, pairs), None, to, options, EditLog::default())?;
    converted.losses.extend(losses);
    sort_by_key(&mut converted.losses, |loss| loss.location);
    Ok(converted)
}

/// Removes reasoning that another provider of the same format wrote into its messages, where the
/// target rejects the field. Within one document it stays, because the client put it there.
fn remove_foreign_reasoning(
    request: &mut ModelRequest<'_>,
    to: Format,
    profile: Profile,
) -> Vec<Loss> {
    let mut losses = Vec::new();
    if (to, profile) != (Format::OpenaiChat, Profile::Mistral) {
        return losses;
    }
    for (index, message) in request.history.messages.iter_mut().enumerate() {
        let before = message.parts.len();
        message.parts.retain(|part| {
            let field = part.origin().is_some_and(|raw| raw.placement == PartPlacement::Field);
            !(field && matches!(part.content(), ContentPart::Reasoning(_)))
        });
        if message.parts.len() < before {
            let note = "the provider does not accept reasoning in an assistant message".to_owned();
            losses.push(Loss {
                kind: LossKind::Reasoning,
                location: LossLocation::Message(index),
                note,
            });
        }
    }
    losses
}

/// Converts a document within its format: only repairs for the target provider change it.
fn repair_same_format(
    source: &str,
    format: Format,
    options: &ConversionOptions,
) -> Result<ConvertedRequest, ReadError> {
    let profile = options.profile(format);
    let check_options =
        CheckOptions { profile, rules: RuleSet::of(profile), policy: options.policy };
    let document = read(source, format, outline_options(profile))?;
    let (patched, repair) = document.fix(&check_options);
    Ok(ConvertedRequest {
        body: patched.to_string(),
        losses: Vec::new(),
        renamed: renamed_calls(&document.draft, &repair),
        renamed_tools: Vec::new(),
        free_text_tools: Vec::new(),
        source_edits: EditLog::default(),
        messages: document.draft.messages.len(),
        remaining: repair.after.findings,
        remaining_total: repair.after.counts.total(),
        target_edits: repair.edits,
    })
}

/// All calls that a repair renamed, including those whose edits are counted but not listed.
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
    let parts = repair.messages.iter().flat_map(|message| &message.parts);
    let calls = parts.filter(|patched| matches!(patched.part.kind, PartKind::Call(_)));
    let renamed = calls.filter_map(|patched| {
        let new = patched.patch.new_id(&patched.part.kind)?.to_owned();
        let old = ids.get(&patched.part.span).cloned().flatten();
        Some(IdentifierReplacement { old: old.filter(|old| *old != new).unwrap_or_default(), new })
    });
    renamed.collect()
}

/// The document with its calls and results paired: nothing invalid is converted.
fn repair_source<'s>(
    source: &'s str,
    from: Format,
    options: &ConversionOptions,
) -> Result<(Cow<'s, str>, EditLog), ReadError> {
    let profile = Profile::for_format(from);
    let check_options =
        CheckOptions { profile, rules: pairing_rules(profile), policy: options.policy };
    let document = read(source, from, outline_options(profile))?;
    let (patched, repair) = document.fix(&check_options);
    if repair.is_untouched() {
        return Ok((Cow::Borrowed(source), EditLog::default()));
    }
    Ok((Cow::Owned(patched.to_string()), repair.edits))
}

/// The rules for pairing results with calls, for lone surrogates, which are invalid in every
/// format, and for unreadable content: results of a wrong type, calls without a type. All other
/// rules are those of the target.
fn pairing_rules(profile: Profile) -> RuleSet {
    const CODES: [u16; 12] = [101, 102, 103, 104, 201, 304, 313, 315, 316, 407, 601, 602];
    let all = RuleSet::of(profile);
    let mut rules = RuleSet::default();
    CODES.into_iter().filter(|code| all.has(*code)).for_each(|code| rules.add(code));
    rules
}

/// Encodes a request in another format.
fn encode_request(
    (mut request, mut pairs): (ModelRequest<'_>, CallPairs),
    from: Option<Format>,
    to: Format,
    options: &ConversionOptions,
    source_edits: EditLog,
) -> Result<ConvertedRequest, ReadError> {
    let messages = request.history.messages.len();
    let mut losses = Vec::new();
    if let Some(model) = &options.model {
        request.settings.model = Some(JsonText::from(model.as_str()));
        // A bare list cannot hold a model.
        request.object = true;
    }
    if options.stream.is_some() {
        request.settings.stream = options.stream;
    }
    let mut added = 0;
    if options.tools == ToolNotation::Text {
        added = text_tools::replace_tools(&mut request, &pairs, &mut losses);
        pairs = CallPairs::of(&request.history);
    }
    // Only OpenAI Responses has results that name a tool and no call.
    let scope = OrphanScope::Named;
    if to != Format::OpenaiResponses
        && text_tools::quote_orphans(&mut request, &pairs, scope, options.policy, &mut losses)
    {
        pairs = CallPairs::of(&request.history);
    }
    let profile = options.profile(to);
    let mut names = tool_names::adapt_tool_names(&mut request.settings, profile);
    let free_text_tools = match to {
        Format::OpenaiChat | Format::OpenaiResponses => Vec::new(),
        Format::Anthropic | Format::Gemini | Format::GeminiInteractions | Format::Bedrock => {
            tool_names::free_text_tools(&request.settings)
        }
    };
    let model = request.settings.model.as_deref();
    let target = encode_target(profile, to, model, options);
    let mut preamble = RequestPreamble::default();
    let (body, mut encoded) =
        write_history(&request.history, &target, pairs, |out, instructions| {
            preamble = RequestPreamble::write(
                &request,
                from,
                (profile, to),
                options.chat_server,
                instructions,
                out,
                &mut losses,
            );
            preamble.object
        });
    if from.is_none() {
        // Messages that were decoded one by one were not outlined, so the result must be read.
        preamble.body = None;
    }
    losses.extend(encoded.losses.drain(..).map(|loss| shift_loss(loss, added)));
    sort_by_key(&mut losses, |loss| loss.location);
    let renamed = std::mem::take(&mut encoded.renamed);
    names.append(&mut encoded.renamed_tools);
    sort_by(&mut names, |one, two| one.old.cmp(&two.old));
    names.dedup();
    let repaired = repair_for_target(messages, body, encoded, preamble, profile, to, options)?;
    Ok(ConvertedRequest {
        body: repaired.body,
        losses,
        renamed,
        renamed_tools: names,
        free_text_tools,
        source_edits,
        target_edits: repaired.edits,
        remaining_total: repaired.remaining.total(),
        remaining: repaired.remaining.findings,
        messages,
    })
}

fn encode_target(
    profile: Profile,
    to: Format,
    model: Option<&str>,
    options: &ConversionOptions,
) -> EncodeTarget {
    let restored_ids = restored_ids(options);
    EncodeTarget {
        restored_ids,
        separate_instructions: true,
        refuses_reasoning: options.chat_server.refuses_reasoning,
        bedrock_model: BedrockModel::of(model),
        ..EncodeTarget::new(profile, to)
    }
}

/// Maps the replacements of an earlier conversion to the original ids.
fn restored_ids(options: &ConversionOptions) -> HashMap<String, String> {
    let restored = options.restored_ids.iter().filter(|replacement| !replacement.old.is_empty());
    restored.map(|replacement| (replacement.new.clone(), replacement.old.clone())).collect()
}

/// Everything around the list of messages.
#[derive(Default)]
struct RequestPreamble {
    object: bool,
    /// Facts about the conversation; `None` if the document must be read to know them.
    body: Option<DraftBody<'static>>,
}

impl RequestPreamble {
    /// Starts the document: an object if the source was one, or if instructions are separate.
    fn write(
        request: &ModelRequest<'_>,
        from: Option<Format>,
        target: (Profile, Format),
        chat_server: ChatServer,
        instructions: bool,
        out: &mut String,
        losses: &mut Vec<Loss>,
    ) -> RequestPreamble {
        if !request.object && !instructions {
            return RequestPreamble { object: false, body: Some(DraftBody::default()) };
        }
        out.push('{');
        if request.object {
            requests::write(&request.settings, from, target, chat_server, out, losses);
        }
        let others = instructions || out.len() > 1;
        RequestPreamble { object: true, body: read_preamble(out, target.1, others) }
    }
}

/// Reads the fields before the list.
fn read_preamble(out: &mut String, to: Format, request: bool) -> Option<DraftBody<'static>> {
    let length = out.len();
    for text in ["\"", list_key(to), "\":[]}"] {
        out.push_str(text);
    }
    let document = read(out, to, OutlineOptions::default()).ok();
    let body = document.map(|document| document.draft.body);
    let body = body.filter(|body| body.surrogates.is_empty()).map(|body| DraftBody {
        request,
        wrapped: true,
        stateful: body.stateful,
        model: body.model.map(|model| Cow::Owned(model.into_owned())),
        thinking: body.thinking,
        clears_thinking: body.clears_thinking,
        unstored: body.unstored,
        tools: body.tools,
        surrogates: Vec::new(),
        defects: Vec::new(),
        optional: body.optional,
        emptied: false,
        tail_waits: false,
        owned_calls: Arc::default(),
        references: Arc::default(),
    });
    out.truncate(length);
    body
}

struct RepairedRequest {
    body: String,
    edits: EditLog,
    remaining: Report,
}

/// Repairs the document for the target provider. The source had so many `messages`.
fn repair_for_target(
    messages: usize,
    body: String,
    encoded: EncodedHistory<'_>,
    preamble: RequestPreamble,
    profile: Profile,
    to: Format,
    options: &ConversionOptions,
) -> Result<RepairedRequest, ReadError> {
    let check_options =
        CheckOptions { profile, rules: RuleSet::of(profile), policy: options.policy };
    // Only a reader parses arguments that are strings.
    let (list, object) = (encoded.list, preamble.object);
    let known = preamble.body.filter(|_| !profile.parses_arguments());
    let outlined = known.and_then(|preamble| encoded.outline.finish(&body, preamble));
    let (mut draft, frame) = match outlined {
        Some(draft) => {
            debug_assert!(matches_outline(&draft, &body, to), "not what a reader sees: {body}");
            (draft, DocumentFrame { document: Span::new(0, body.len()), list: Some(list), object })
        }
        None => {
            let document = read(&body, to, outline_options(profile))?;
            (document.draft, document.frame)
        }
    };
    draft.body.emptied = messages > 0 && draft.messages.is_empty();
    let repair = repair(&draft, &check_options);
    if repair.is_untouched() {
        let remaining = repair.after;
        return Ok(RepairedRequest { body, edits: EditLog::default(), remaining });
    }
    let text = patched_document::apply(&draft, frame, &repair).to_string();
    Ok(RepairedRequest { body: text, edits: repair.edits, remaining: repair.after })
}

/// Whether an outline equals what a reader sees. For debug builds.
fn matches_outline(draft: &Draft<'_>, body: &str, to: Format) -> bool {
    read(body, to, OutlineOptions::default())
        .is_ok_and(|document| format!("{:?}", document.draft) == format!("{draft:?}"))
}

/// Shifts the message index of a loss back by the number of messages that were added in front.
fn shift_loss(loss: Loss, added: usize) -> Loss {
    let location = match loss.location {
        LossLocation::Message(index) => LossLocation::Message(index.saturating_sub(added)),
        other => other,
    };
    Loss { location, ..loss }
}
