//! Encodes a conversation as a message list of the AI SDK (the npm package `ai`).
//!
//! The SDK sends a list to any provider, so it has no rules for ids and names of its own. It
//! requires one thing: every call has its result before the next message of the user. A list has no
//! settings.

mod parts;
mod model_messages;
mod ui_messages;

use std::collections::HashMap;

use foxwedge_core::sorting::sort_by_key;
use foxwedge_core::{Format, PlaceholderLanguage, Profile, classify_open_call, placeholder_text};

use crate::conversation::{
    CallPairs, ContentPart, IdentifierReplacement, Loss, LossKind, LossLocation, ModelHistory,
    ModelMessage, ModelPart, ModelRequest, ModelRole, PartIndex, ToolCallPart, ToolResultPart,
    call_id_map::{CallIdMap, part_at},
    encode::{LATE_RESULT, SUMMARY_AS_TEXT, late_results, meaningful_fields},
};

/// The kinds of message lists.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AiSdkList {
    /// `UIMessage[]`: what an application shows and stores.
    Ui,
    /// `ModelMessage[]`: what it sends to a model.
    Model,
}

impl AiSdkList {
    /// Both kinds.
    pub const ALL: [AiSdkList; 2] = [AiSdkList::Ui, AiSdkList::Model];

    /// The name used on the command line and in reports.
    pub fn name(self) -> &'static str {
        match self {
            AiSdkList::Ui => "ai-sdk-ui",
            AiSdkList::Model => "ai-sdk-model",
        }
    }
}

/// A conversation as a message list.
pub(crate) struct EncodedList {
    pub(crate) body: String,
    pub(crate) losses: Vec<Loss>,
    /// Calls that had no id of their own, or shared one.
    pub(crate) renamed: Vec<IdentifierReplacement>,
}

/// Encodes a request, whose results must be paired with calls. Only a `waiting_tail` keeps calls at
/// the end open.
pub(crate) fn encode(
    request: &ModelRequest<'_>,
    pairs: CallPairs,
    restored_ids: &HashMap<String, String>,
    list: AiSdkList,
    waiting_tail: bool,
) -> EncodedList {
    let history = &request.history;
    // Any id is legal; these two give every call one.
    let (format, profile) = (Format::OpenaiResponses, Profile::Deepseek);
    let call_ids = CallIdMap::new(history, format, profile, restored_ids, pairs);
    let losses = setting_losses(request);
    let mut encoder = ListEncoder { history, call_ids, losses, waiting_tail };
    encoder.record_field_losses();
    let groups = group_messages(history);
    encoder.record_late_results(&groups);
    let body = match list {
        AiSdkList::Ui => ui_messages::write(&mut encoder, &groups),
        AiSdkList::Model => model_messages::write(&mut encoder, &groups),
    };
    sort_by_key(&mut encoder.losses, |loss| loss.location);
    EncodedList { body, losses: encoder.losses, renamed: encoder.call_ids.renamed }
}

/// Adjacent messages of one side.
enum MessageGroup {
    /// Instructions: one message.
    Instructions(usize),
    /// Replies of the model. The results of their calls belong directly behind them.
    Reply(Vec<PartIndex>),
    /// The content of one message of the user, without results.
    Input(Vec<PartIndex>),
}

/// Groups the messages of a history. Results are not in any group: they go to their calls.
fn group_messages(history: &ModelHistory<'_>) -> Vec<MessageGroup> {
    let mut groups: Vec<MessageGroup> = Vec::new();
    for (message, ModelMessage { role, parts, .. }) in history.messages.iter().enumerate() {
        let not_result =
            |part: &ModelPart<'_>| !matches!(part.content(), ContentPart::ToolResult(_));
        let own = parts.iter().enumerate().filter(|(_, part)| not_result(part));
        let own: Vec<PartIndex> = own.map(|(part, _)| PartIndex { message, part }).collect();
        match (role, groups.last_mut()) {
            (ModelRole::System | ModelRole::Developer, _) => {
                groups.push(MessageGroup::Instructions(message));
            }
            (ModelRole::Assistant, Some(MessageGroup::Reply(reply)))
                if !has_results(history, message) =>
            {
                reply.extend(own);
            }
            (ModelRole::Assistant, _) => groups.push(MessageGroup::Reply(own)),
            (ModelRole::User, _) if !own.is_empty() => groups.push(MessageGroup::Input(own)),
            (ModelRole::User, _) => {}
        }
    }
    groups
}

/// Whether results are directly before a reply, so that it is a step of its own.
fn has_results(history: &ModelHistory<'_>, reply: usize) -> bool {
    let before = reply.checked_sub(1).and_then(|before| history.messages.get(before));
    before.is_some_and(|before| before.role == ModelRole::User)
}

/// What has no place in a list.
fn setting_losses(request: &ModelRequest<'_>) -> Vec<Loss> {
    let members = request.settings.original.as_ref().map_or(&[][..], |it| it.members.as_slice());
    let keys = members.iter().map(|member| {
        member.split_once(':').map_or(*member, |(key, _)| key).trim().trim_matches('"')
    });
    let loss = |key: &str| {
        let kind = match key {
            "tools" | "functions" | "toolConfig" => LossKind::Tool,
            "tool_choice" | "function_call" => LossKind::ToolChoice,
            _ => LossKind::Setting,
        };
        let note = format!("`{key}` is not part of a message list");
        Loss { kind, location: LossLocation::Request, note }
    };
    let model = request.settings.model.as_ref().map(|_| "model");
    model.into_iter().chain(keys).map(loss).collect()
}

/// Encodes the parts of a history.
struct ListEncoder<'h, 'a> {
    history: &'h ModelHistory<'a>,
    call_ids: CallIdMap<'h>,
    losses: Vec<Loss>,
    waiting_tail: bool,
}

/// The result that a call gets.
enum CallResult<'h, 'a> {
    /// That of the history.
    Known(PartIndex, &'h ToolResultPart<'a>),
    /// This text: the call waits for its result, but the conversation went on.
    Missing(&'static str),
    /// None: the call waits at the end.
    Open,
}

impl<'h, 'a> ListEncoder<'h, 'a> {
    fn part(&self, at: PartIndex) -> Option<&'h ModelPart<'a>> {
        part_at(self.history, at)
    }

    fn record_loss(&mut self, at: PartIndex, kind: LossKind, note: impl Into<String>) {
        let location = LossLocation::Message(at.message);
        self.losses.push(Loss { kind, location, note: note.into() });
    }

    /// Records fields of messages that the list cannot hold.
    fn record_field_losses(&mut self) {
        for (message, fields) in self.history.messages.iter().enumerate() {
            for key in meaningful_fields(fields) {
                let note =
                    format!("the field `{key}` of a message is not supported in this format");
                self.record_loss(PartIndex { message, part: 0 }, LossKind::Unknown, note);
            }
        }
    }

    /// Records the results that are moved before messages of others.
    fn record_late_results(&mut self, groups: &[MessageGroup]) {
        for group in groups {
            let MessageGroup::Reply(parts) = group else { continue };
            let results = parts.iter().filter_map(|call| self.call_ids.pairs.partner(*call));
            let results: Vec<PartIndex> = results.collect();
            let end = parts.last().map_or(0, |last| last.message + 1);
            for at in late_results(self.history, &results, end) {
                self.record_loss(at, LossKind::Order, LATE_RESULT);
            }
        }
    }

    /// The id of a call, as a JSON string.
    fn call_id(&self, at: PartIndex) -> String {
        let id = self.call_ids.identity(at).and_then(|identity| identity.id.as_deref());
        foxwedge_json::quote(id.unwrap_or_default())
    }

    /// The result of a call.
    fn result_of(
        &mut self,
        at: PartIndex,
        call: &ToolCallPart<'_>,
        is_last: bool,
    ) -> CallResult<'h, 'a> {
        let partner = self.call_ids.pairs.partner(at);
        let result = partner.and_then(|partner| match self.part(partner)?.content() {
            ContentPart::ToolResult(result) => Some(CallResult::Known(partner, result)),
            _ => None,
        });
        match result {
            Some(result) => result,
            None if is_last && self.waiting_tail => CallResult::Open,
            None => {
                let note =
                    format!("the call of `{}` cannot wait for its result any longer", call.name);
                self.record_loss(at, LossKind::Order, note);
                let missing = classify_open_call(Some(&call.name));
                CallResult::Missing(placeholder_text(missing, PlaceholderLanguage::English))
            }
        }
    }

    /// The text of an instruction message.
    fn instructions(&mut self, message: usize) -> String {
        let parts = self.history.messages.get(message).map_or(0, |message| message.parts.len());
        let mut text = String::new();
        for part in 0..parts {
            let at = PartIndex { message, part };
            match self.part(at).map(ModelPart::content) {
                Some(ContentPart::Text(line)) => {
                    text.push_str(if text.is_empty() { "" } else { "\n\n" });
                    text.push_str(line);
                    self.record_note_losses(at);
                }
                _ => self.record_loss(at, LossKind::Unknown, "instructions can only be text"),
            }
        }
        text
    }

    /// Records what a part loses although it is written.
    fn record_note_losses(&mut self, at: PartIndex) {
        let Some(notes) = self.part(at).and_then(ModelPart::notes) else { return };
        let lost = [
            (
                notes.cache_mark.is_some(),
                LossKind::CacheMark,
                "the cache mark of the prompt is lost",
            ),
            (notes.refusal, LossKind::Refusal, "a refusal becomes plain text"),
            (notes.detail.is_some(), LossKind::Setting, "the image detail setting is lost"),
            (notes.summary, LossKind::Unknown, SUMMARY_AS_TEXT),
            (notes.has_signature, LossKind::Signature, "a text loses its signature"),
            (!notes.citations.is_empty(), LossKind::Citation, "a text loses its citations"),
        ];
        for (_, kind, note) in lost.into_iter().filter(|(lost, ..)| *lost) {
            self.record_loss(at, kind, note);
        }
        for key in &notes.unknown_fields {
            self.record_loss(at, LossKind::Unknown, format!("the field `{key}` is lost"));
        }
    }
}
