//! Assembles chat calls from fragments.
//!
//! The format has an index per call, but servers leave it out, give every call the same index,
//! repeat the id in every fragment, or send the tool name late.

use std::collections::HashMap;

use foxwedge_core::CallFamily;

use crate::{
    conversation::{JsonText, LossKind, ProviderError, ProviderErrorKind},
    event::{
        BlockStart,
        emitter::EventEmitter,
        fields::{
            arguments_text, get, non_empty_text, optional_index, optional_object, optional_text,
        },
    },
    outline::is_json_object,
};
use foxwedge_json::{JsonObject, ScanError, ScanResult};

/// Maximum size of the buffered arguments of a call without a name.
const MAX_BUFFERED: usize = 1 << 20;

/// A fragment of a call.
pub(super) struct CallFragment<'f> {
    place: FragmentTarget,
    id: Option<JsonText<'f>>,
    name: Option<JsonText<'f>>,
    family: CallFamily,
    arguments: JsonText<'f>,
    signature: Option<JsonText<'f>>,
}

/// How a fragment refers to its call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FragmentTarget {
    Index(u64),
    Unknown,
    /// The legacy `function_call` field, which has only one call.
    Legacy,
}

impl<'f> CallFragment<'f> {
    pub(super) fn read(call: &JsonObject<'_, 'f>) -> ScanResult<CallFragment<'f>> {
        let custom = optional_object(call, "custom")?;
        let family = if custom.is_some() { CallFamily::Custom } else { CallFamily::Function };
        let tool = match custom {
            None => optional_object(call, "function")?,
            custom => custom,
        };
        let google = match optional_object(call, "extra_content")? {
            Some(extra) => optional_object(&extra, "google")?,
            None => None,
        };
        let mut fragment = CallFragment {
            place: optional_index(call, "index")?
                .map_or(FragmentTarget::Unknown, FragmentTarget::Index),
            id: non_empty_text(call, "id")?,
            name: None,
            family,
            arguments: JsonText::default(),
            signature: match google {
                Some(google) => non_empty_text(&google, "thought_signature")?,
                None => None,
            },
        };
        if let Some(tool) = tool {
            fragment.name = non_empty_text(&tool, "name")?;
            fragment.arguments = match family {
                CallFamily::Custom => optional_text(&tool, "input")?.unwrap_or_default(),
                _ => get(&tool, "arguments").map(arguments_text).unwrap_or_default(),
            };
        }
        Ok(fragment)
    }

    /// Reads a legacy `function_call` fragment, which has no id.
    pub(super) fn read_legacy(function: &JsonObject<'_, 'f>) -> ScanResult<CallFragment<'f>> {
        Ok(CallFragment {
            place: FragmentTarget::Legacy,
            id: None,
            name: non_empty_text(function, "name")?,
            family: CallFamily::Function,
            arguments: get(function, "arguments").map(arguments_text).unwrap_or_default(),
            signature: None,
        })
    }

    /// Whether it can start a call: it has an id or a name.
    pub(super) fn starts_call(&self) -> bool {
        self.id.is_some() || self.name.is_some()
    }
}

/// The calls of a reply.
#[derive(Debug, Default)]
pub(super) struct ChatCallAssembler {
    calls: Vec<ChatCall>,
    /// The newest call per index.
    newest: HashMap<u64, usize>,
}

#[derive(Debug)]
struct ChatCall {
    place: FragmentTarget,
    id: Option<String>,
    state: ChatCallState,
}

#[derive(Debug)]
enum ChatCallState {
    /// The name is not known yet. The rest is buffered.
    Nameless { family: CallFamily, arguments: String, signature: Option<String> },
    /// The call was emitted.
    Open { block: u32, name: String, has_arguments: bool },
}

impl ChatCallAssembler {
    /// Adds a fragment.
    pub(super) fn accept(
        &mut self,
        fragment: CallFragment<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        let at = self.find(&fragment).unwrap_or(self.calls.len());
        if at == self.calls.len() {
            let (place, family) = (fragment.place, fragment.family);
            let state =
                ChatCallState::Nameless { family, arguments: String::new(), signature: None };
            self.calls.push(ChatCall { place, id: None, state });
            if let FragmentTarget::Index(index) = place {
                self.newest.insert(index, at);
            }
        }
        match self.calls.get_mut(at) {
            Some(call) => call.accept(fragment, emitter),
            None => Ok(()),
        }
    }

    /// The call that a fragment belongs to. `None` if it starts a new one.
    fn find(&self, fragment: &CallFragment<'_>) -> Option<usize> {
        let find_by_id = |id: &JsonText<'_>| {
            self.calls
                .iter()
                .rposition(|call| call.id.as_deref().is_some_and(|call_id| *id == *call_id))
        };
        match fragment.place {
            FragmentTarget::Index(index) => {
                let at = *self.newest.get(&index)?;
                (!self.calls.get(at)?.is_different_call(fragment)).then_some(at)
            }
            FragmentTarget::Legacy => {
                let at = self.calls.iter().rposition(|call| call.place == fragment.place)?;
                (!self.calls.get(at)?.is_different_call(fragment)).then_some(at)
            }
            FragmentTarget::Unknown => match (&fragment.id, &fragment.name) {
                (Some(id), _) => find_by_id(id).or_else(|| {
                    let last = self.calls.len().checked_sub(1)?;
                    // The id belongs to a call that had none so far.
                    let call = self.calls.get(last)?;
                    (call.id.is_none() && call.is_nameless()).then_some(last)
                }),
                (None, Some(_)) => {
                    let last = self.calls.len().checked_sub(1)?;
                    self.calls.get(last)?.is_nameless().then_some(last)
                }
                (None, None) => self.calls.len().checked_sub(1),
            },
        }
    }

    /// Whether a call was cut off before the name of its tool came.
    pub(super) fn has_cut_off_name(&self) -> bool {
        self.calls.iter().any(|call| match &call.state {
            ChatCallState::Nameless { arguments, .. } => !is_json_object(arguments),
            ChatCallState::Open { .. } => false,
        })
    }

    /// Ends the calls without closing their blocks: whether they are complete depends on the stop
    /// reason. Without a call that has no name the reply would be another one, so it fails unless
    /// it was cut off.
    pub(super) fn finish(&mut self, is_cut_off: bool, emitter: &mut EventEmitter<'_>) {
        self.newest.clear();
        let nameless = self.calls.drain(..).filter(ChatCall::is_nameless).count();
        for _ in 0..nameless {
            emitter.skip(LossKind::Unknown, "a call without a name was left out");
        }
        if nameless > 0 && !is_cut_off {
            let message = "the provider sent a call without the name of its tool".into();
            emitter.fail(ProviderError { kind: ProviderErrorKind::Server, message, code: None });
        }
    }
}

impl ChatCall {
    fn is_nameless(&self) -> bool {
        matches!(self.state, ChatCallState::Nameless { .. })
    }

    /// Whether a fragment with the same index is a different call: it has a name, and either
    /// another id, or no id and another name, or arguments that start over.
    fn is_different_call(&self, fragment: &CallFragment<'_>) -> bool {
        let ChatCallState::Open { name, has_arguments, .. } = &self.state else { return false };
        let Some(new_name) = &fragment.name else { return false };
        match (&self.id, &fragment.id) {
            (Some(call_id), Some(id)) => *id != **call_id,
            (None, Some(_)) | (Some(_), None) => *new_name != **name,
            (None, None) => {
                *new_name != **name || *has_arguments && fragment.arguments.starts_with('{')
            }
        }
    }

    fn accept(
        &mut self,
        fragment: CallFragment<'_>,
        emitter: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.id.is_none() {
            self.id = fragment.id.map(JsonText::into_owned);
        }
        match &mut self.state {
            ChatCallState::Open { block, has_arguments, .. } => {
                *has_arguments |= !fragment.arguments.is_empty();
                emitter.text(*block, fragment.arguments);
                if fragment.signature.is_some() {
                    emitter.skip_once(LossKind::Signature, "late signature", || {
                        "a signature that came after the start of its call was left out".to_owned()
                    });
                }
            }
            ChatCallState::Nameless { family, arguments, signature } => {
                if fragment.family == CallFamily::Custom {
                    *family = CallFamily::Custom;
                }
                let buffered = signature.take().map(JsonText::from);
                let call_signature = fragment.signature.or(buffered);
                let Some(name) = fragment.name else {
                    *signature = call_signature.map(JsonText::into_owned);
                    arguments.push_str(&fragment.arguments);
                    if arguments.len() > MAX_BUFFERED {
                        return Err(ScanError::new(0, "too many bytes of a call before its name"));
                    }
                    return Ok(());
                };
                let block = emitter.open(BlockStart::Call {
                    id: self.id.as_deref().map(JsonText::from),
                    name: name.clone(),
                    family: *family,
                    signature: call_signature,
                });
                let has_arguments = !arguments.is_empty() || !fragment.arguments.is_empty();
                emitter.text(block, std::mem::take(arguments).into());
                emitter.text(block, fragment.arguments);
                self.state = ChatCallState::Open { block, name: name.into_owned(), has_arguments };
            }
        }
        Ok(())
    }
}
