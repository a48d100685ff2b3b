//! Chat's calls, put together from fragments.
//!
//! The format numbers them, and servers take that lightly: they leave the number out, give every
//! call the same one, repeat the id with every fragment, or name the tool late.

use std::collections::HashMap;

use foxwedge_core::CallFamily;

use crate::{
    json::{JsonObject, ScanError, ScanResult},
    model::{JsonText, LossKind},
    stream::{
        event::BlockStart,
        read::{
            emitter::EventEmitter,
            fields::{
                arguments_text, get, non_empty_text, optional_index, optional_object, optional_text,
            },
        },
    },
};

/// The most that is kept of the arguments of a call that has no name yet.
const MAX_BUFFERED: usize = 1 << 20;

/// A piece of a call.
pub(super) struct CallFragment<'f> {
    place: FragmentTarget,
    id: Option<JsonText<'f>>,
    name: Option<JsonText<'f>>,
    family: CallFamily,
    arguments: JsonText<'f>,
    signature: Option<JsonText<'f>>,
}

/// What tells which call a fragment belongs to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FragmentTarget {
    Index(u64),
    Unknown,
    /// The older form has one call only.
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

    /// A fragment in the older form, which has no ids.
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

    /// Whether it says which call it is, and not only how one goes on.
    pub(super) fn starts_call(&self) -> bool {
        self.id.is_some() || self.name.is_some()
    }
}

/// The calls of an answer.
#[derive(Debug, Default)]
pub(super) struct ChatCallAssembler {
    calls: Vec<ChatCall>,
    /// The newest call of each number.
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
    /// Nobody knows its name yet; what came is kept.
    Nameless { family: CallFamily, arguments: String, signature: Option<String> },
    /// It was told.
    Open { block: u32, name: String, said: bool },
}

impl ChatCallAssembler {
    /// Takes a fragment.
    pub(super) fn accept(
        &mut self,
        fragment: CallFragment<'_>,
        tell: &mut EventEmitter<'_>,
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
            Some(call) => call.accept(fragment, tell),
            None => Ok(()),
        }
    }

    /// Which call a fragment belongs to; `None` if it is a new one.
    fn find(&self, fragment: &CallFragment<'_>) -> Option<usize> {
        let known = |id: &JsonText<'_>| {
            self.calls.iter().rposition(|call| call.id.as_deref().is_some_and(|own| *id == *own))
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
                (Some(id), _) => known(id).or_else(|| {
                    let last = self.calls.len().checked_sub(1)?;
                    // The id of a call that had none so far.
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

    /// There are no more calls. Whether they are whole is for the reason of the stop to say: nobody
    /// closes them here.
    pub(super) fn finish(&mut self, tell: &mut EventEmitter<'_>) {
        self.newest.clear();
        for _ in self.calls.drain(..).filter(ChatCall::is_nameless) {
            tell.skip(LossKind::Unknown, "a call without a name was left out");
        }
    }
}

impl ChatCall {
    fn is_nameless(&self) -> bool {
        matches!(self.state, ChatCallState::Nameless { .. })
    }

    /// Whether a fragment under the same number is another call all the same: it has a name, and
    /// an id that is not this one's; or no id and another name, or arguments from the beginning.
    fn is_different_call(&self, fragment: &CallFragment<'_>) -> bool {
        let ChatCallState::Open { name, said, .. } = &self.state else { return false };
        let Some(named) = &fragment.name else { return false };
        match (&self.id, &fragment.id) {
            (Some(own), Some(id)) => *id != **own,
            (None, Some(_)) | (Some(_), None) => *named != **name,
            (None, None) => *named != **name || *said && fragment.arguments.starts_with('{'),
        }
    }

    fn accept(
        &mut self,
        fragment: CallFragment<'_>,
        tell: &mut EventEmitter<'_>,
    ) -> ScanResult<()> {
        if self.id.is_none() {
            self.id = fragment.id.map(JsonText::into_owned);
        }
        match &mut self.state {
            ChatCallState::Open { block, said, .. } => {
                *said |= !fragment.arguments.is_empty();
                tell.text(*block, fragment.arguments);
                if fragment.signature.is_some() {
                    tell.skip_once(LossKind::Signature, "late signature", || {
                        "a signature that came after its call had begun was left out".to_owned()
                    });
                }
            }
            ChatCallState::Nameless { family, arguments, signature } => {
                if fragment.family == CallFamily::Custom {
                    *family = CallFamily::Custom;
                }
                let held = signature.take().map(JsonText::from);
                let seal = fragment.signature.or(held);
                let Some(name) = fragment.name else {
                    *signature = seal.map(JsonText::into_owned);
                    arguments.push_str(&fragment.arguments);
                    if arguments.len() > MAX_BUFFERED {
                        return Err(ScanError::new(0, "a call goes on and on without a name"));
                    }
                    return Ok(());
                };
                let block = tell.open(BlockStart::Call {
                    id: self.id.as_deref().map(JsonText::from),
                    name: name.clone(),
                    family: *family,
                    signature: seal,
                });
                let said = !arguments.is_empty() || !fragment.arguments.is_empty();
                tell.text(block, std::mem::take(arguments).into());
                tell.text(block, fragment.arguments);
                self.state = ChatCallState::Open { block, name: name.into_owned(), said };
            }
        }
        Ok(())
    }
}
