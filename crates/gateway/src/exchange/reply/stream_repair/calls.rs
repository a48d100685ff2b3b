//! The calls of a reply, and the frame that is held back for one of them.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::{MAX_WAITING, UNNAMED_TOOL, arguments::ArgumentRepair, write_frame};

/// One call of a reply.
#[derive(Debug)]
pub(super) struct RepairedCall {
    /// How the frames of the stream refer to it.
    pub(super) key: (u64, u64),
    /// The number that the client sees.
    pub(super) index: u64,
    /// Its id in the stream, if it has one.
    pub(super) source_id: String,
    /// The id that the client sees.
    pub(super) id: String,
    /// Its name, as the first frame with one has it.
    pub(super) name: String,
    /// Whether it has a fragment of arguments, which may be empty.
    pub(super) has_fragment: bool,
    /// Its arguments so far, as the stream has them.
    pub(super) source: String,
    /// Its arguments so far, as the client has them.
    pub(super) sent: String,
    pub(super) arguments: ArgumentRepair,
    /// Whether its arguments were changed.
    pub(super) is_changed: bool,
    /// Whether anything of it was repaired.
    pub(super) is_repaired: bool,
    pub(super) chat: ChatCall,
}

/// What only the streams of Chat Completions have.
#[derive(Debug, Default)]
pub(super) struct ChatCall {
    /// Whether it is a call of a custom tool: its input is any text.
    pub(super) is_custom: bool,
    /// Whether a name begins a call: the first delta of this one had the name and no arguments, and
    /// no other delta has the name.
    pub(super) is_named_first: bool,
}

impl RepairedCall {
    /// Treats the arguments that are held back as sent.
    fn release(&mut self) {
        self.sent.push_str(self.arguments.held());
        self.arguments.release();
    }
}

/// A frame whose end only the next fragment explains, for example a comma: it may be the last one.
#[derive(Debug)]
struct HeldFrame {
    raw: Vec<u8>,
    value: Value,
    call: usize,
    /// Where the fragment is in the value.
    pointer: String,
    /// Comments and pings that came after it.
    behind: Vec<u8>,
}

/// The calls of a reply.
#[derive(Debug)]
pub(super) struct ReplyCalls {
    pub(super) list: Vec<RepairedCall>,
    seed: String,
    prefix: &'static str,
    held: Option<HeldFrame>,
}

/// What becomes of a fragment whose end only the next one explains.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum UnclearEnd {
    /// Its frame is held back.
    HoldFrame,
    /// It is sent.
    Send,
    /// It is left out, and sent with what follows.
    LeaveOut,
}

/// What becomes of a frame with a fragment of arguments.
pub(super) enum FragmentOutcome {
    /// It passes as it is.
    Unchanged,
    /// It gets this fragment.
    Changed(String),
    /// It is held back.
    Held,
}

impl ReplyCalls {
    pub(super) fn new(seed: &str, prefix: &'static str) -> ReplyCalls {
        ReplyCalls { list: Vec::new(), seed: seed.to_owned(), prefix, held: None }
    }

    pub(super) fn repairs(&self) -> usize {
        self.list.iter().filter(|call| call.is_repaired || call.is_changed).count()
    }

    /// The newest call with a key.
    pub(super) fn find(&self, key: (u64, u64)) -> Option<usize> {
        self.list.iter().rposition(|call| call.key == key)
    }

    /// Adds a call, with an id that no other call of the reply has.
    pub(super) fn add(&mut self, key: (u64, u64), id: Option<&str>, name: Option<&str>) -> usize {
        let source_id = id.unwrap_or_default().to_owned();
        let is_taken = |id: &str| self.list.iter().any(|call| call.key.0 == key.0 && call.id == id);
        let mut id = source_id.clone();
        let mut attempt = 0_u32;
        while id.is_empty() || is_taken(&id) {
            let text = format!("{} {} {} {attempt}", self.seed, key.0, self.list.len());
            id = format!("{}{:024x}", self.prefix, xxh3_128(text.as_bytes()) >> 32);
            attempt += 1;
        }
        self.list.push(RepairedCall {
            key,
            index: key.1,
            is_repaired: id != source_id,
            id,
            source_id,
            name: name.unwrap_or_default().to_owned(),
            has_fragment: false,
            source: String::new(),
            sent: String::new(),
            arguments: ArgumentRepair::default(),
            is_changed: false,
            chat: ChatCall::default(),
        });
        self.list.len() - 1
    }

    /// The name that a call without one gets.
    pub(super) fn name_missing(&mut self, call: usize) -> Option<&'static str> {
        let call = self.list.get_mut(call).filter(|call| call.name.is_empty())?;
        call.name = UNNAMED_TOOL.to_owned();
        call.is_repaired = true;
        Some(UNNAMED_TOOL)
    }

    /// Reads a fragment of a call's arguments. A frame that was held back for it is written.
    pub(super) fn read_fragment(
        &mut self,
        call: usize,
        fragment: &str,
        unclear_end: UnclearEnd,
        out: &mut Vec<u8>,
    ) -> FragmentOutcome {
        self.release_others(call, out);
        let Some(state) = self.list.get_mut(call) else { return FragmentOutcome::Unchanged };
        let before = state.arguments.held().to_owned();
        let mut repaired = String::with_capacity(before.len() + fragment.len());
        state.arguments.push(fragment, &mut repaired);
        state.has_fragment = true;
        state.source.push_str(fragment);
        state.sent.push_str(&repaired);
        let after = state.arguments.held();
        let is_same = repaired.len() + after.len() == before.len() + fragment.len()
            && [before.as_str(), fragment].concat() == [repaired.as_str(), after].concat();
        if state.is_changed || !is_same {
            state.is_changed = true;
            self.write_held(before.len(), out);
            return FragmentOutcome::Changed(repaired);
        }
        // What is held back already cannot wait for a third frame.
        let is_waiting = repaired.is_empty() && !before.is_empty();
        let outcome = match unclear_end {
            _ if after.is_empty() => FragmentOutcome::Unchanged,
            UnclearEnd::HoldFrame if !is_waiting => FragmentOutcome::Held,
            UnclearEnd::LeaveOut if !is_waiting && !state.arguments.is_complete() => {
                let end = fragment.len().saturating_sub(after.len());
                state.is_changed = true;
                FragmentOutcome::Changed(fragment.get(..end).unwrap_or_default().to_owned())
            }
            UnclearEnd::HoldFrame | UnclearEnd::Send | UnclearEnd::LeaveOut => {
                state.release();
                FragmentOutcome::Unchanged
            }
        };
        self.write_held(0, out);
        outcome
    }

    /// Holds back the frame of a fragment.
    pub(super) fn hold(&mut self, call: usize, raw: &[u8], value: Value, pointer: String) {
        let (raw, behind) = (raw.to_vec(), Vec::new());
        self.held = Some(HeldFrame { raw, value, call, pointer, behind });
    }

    /// The call whose frame is held back.
    pub(super) fn held_call(&self) -> Option<usize> {
        self.held.as_ref().map(|held| held.call)
    }

    /// Writes a frame that is not part of the reply, behind the frame that is held back.
    pub(super) fn write_aside(&mut self, raw: &[u8], out: &mut Vec<u8>) {
        if self.held.as_ref().is_some_and(|held| held.behind.len() + raw.len() > MAX_WAITING) {
            self.release(out);
        }
        match &mut self.held {
            Some(held) => held.behind.extend_from_slice(raw),
            None => out.extend_from_slice(raw),
        }
    }

    /// Writes the frame that is held back as it is.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        if let Some(held) = &self.held
            && let Some(call) = self.list.get_mut(held.call)
        {
            call.release();
        }
        self.write_held(0, out);
    }

    /// Ends the arguments of a call. `rest`: what the stream did not send in fragments. Returns the
    /// fragment that completes them; `None` if they are complete.
    pub(super) fn complete(
        &mut self,
        call: usize,
        rest: &str,
        out: &mut Vec<u8>,
    ) -> Option<String> {
        self.release_others(call, out);
        let state = self.list.get_mut(call)?;
        let unsent = state.arguments.held().len();
        if state.arguments.is_complete() && (unsent == 0 || self.held.is_some()) {
            self.release(out);
            return None;
        }
        state.is_changed = true;
        let mut end = String::new();
        state.arguments.push(rest, &mut end);
        state.arguments.finish(&mut end);
        state.sent.push_str(&end);
        self.write_held(unsent, out);
        Some(end)
    }

    /// Writes the frame that is held back for another call.
    fn release_others(&mut self, call: usize, out: &mut Vec<u8>) {
        if self.held.as_ref().is_some_and(|held| held.call != call) {
            self.release(out);
        }
    }

    /// Writes the frame that is held back, without the last bytes of its fragment.
    fn write_held(&mut self, without: usize, out: &mut Vec<u8>) {
        let Some(HeldFrame { raw, mut value, pointer, behind, .. }) = self.held.take() else {
            return;
        };
        if without == 0 {
            out.extend_from_slice(&raw);
        } else {
            if let Some(fragment) = value.pointer_mut(&pointer)
                && let Some(text) = fragment.as_str()
            {
                let end = text.len().saturating_sub(without);
                *fragment = text.get(..end).unwrap_or_default().into();
            }
            write_frame(&raw, &value, out);
        }
        out.extend(behind);
    }
}
