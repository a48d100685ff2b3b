//! The calls of a reply, and the frame that is held back for one of them.

use serde_json::Value;
use xxhash_rust::xxh3::xxh3_128;

use super::{UNNAMED_TOOL, arguments::ArgumentRepair, write_frame};

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
    pub(super) arguments: ArgumentRepair,
    /// Whether its arguments were changed.
    pub(super) is_changed: bool,
    /// Whether anything of it was repaired.
    pub(super) is_repaired: bool,
}

/// A frame that ends with a comma: the next fragment shows whether that was the last one.
#[derive(Debug)]
struct HeldFrame {
    raw: Vec<u8>,
    value: Value,
    call: usize,
    /// Where the fragment is in the value.
    pointer: String,
}

/// The calls of a reply.
#[derive(Debug)]
pub(super) struct ReplyCalls {
    pub(super) list: Vec<RepairedCall>,
    seed: String,
    prefix: &'static str,
    held: Option<HeldFrame>,
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
            arguments: ArgumentRepair::default(),
            is_changed: false,
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
        may_hold: bool,
        out: &mut Vec<u8>,
    ) -> FragmentOutcome {
        if self.held.as_ref().is_some_and(|held| held.call != call) {
            self.release(out);
        }
        let Some(state) = self.list.get_mut(call) else { return FragmentOutcome::Unchanged };
        let before = state.arguments.held().to_owned();
        let mut repaired = String::with_capacity(before.len() + fragment.len());
        state.arguments.push(fragment, &mut repaired);
        let after = state.arguments.held();
        let is_same = repaired.len() + after.len() == before.len() + fragment.len()
            && [before.as_str(), fragment].concat() == [repaired.as_str(), after].concat();
        let is_held = !after.is_empty();
        match (is_same && !state.is_changed, is_held) {
            (false, _) => {
                state.is_changed = true;
                self.write_held(before.len(), out);
                FragmentOutcome::Changed(repaired)
            }
            // The comma is followed by white space, or cannot be held back.
            (true, true) if repaired.is_empty() && !before.is_empty() || !may_hold => {
                state.arguments.release();
                self.write_held(0, out);
                FragmentOutcome::Unchanged
            }
            (true, true) => {
                self.write_held(0, out);
                FragmentOutcome::Held
            }
            (true, false) => {
                self.write_held(0, out);
                FragmentOutcome::Unchanged
            }
        }
    }

    /// Holds back the frame of a fragment.
    pub(super) fn hold(&mut self, call: usize, raw: &[u8], value: Value, pointer: String) {
        self.held = Some(HeldFrame { raw: raw.to_vec(), value, call, pointer });
    }

    /// Writes the frame that is held back as it is.
    pub(super) fn release(&mut self, out: &mut Vec<u8>) {
        if let Some(held) = &self.held
            && let Some(call) = self.list.get_mut(held.call)
        {
            call.arguments.release();
        }
        self.write_held(0, out);
    }

    /// What completes the arguments of a call; `None` if they are complete.
    pub(super) fn complete(&mut self, call: usize, out: &mut Vec<u8>) -> Option<String> {
        let state = self.list.get_mut(call)?;
        let unsent = state.arguments.held().len();
        if state.arguments.is_complete() {
            return None;
        }
        state.is_changed = true;
        let mut rest = String::new();
        state.arguments.finish(&mut rest);
        if self.held.as_ref().is_some_and(|held| held.call == call) {
            self.write_held(unsent, out);
        }
        Some(rest)
    }

    /// Writes the frame that is held back, without the last bytes of its fragment.
    fn write_held(&mut self, without: usize, out: &mut Vec<u8>) {
        let Some(HeldFrame { raw, mut value, pointer, .. }) = self.held.take() else { return };
        if without == 0 {
            out.extend_from_slice(&raw);
            return;
        }
        if let Some(fragment) = value.pointer_mut(&pointer)
            && let Some(text) = fragment.as_str()
        {
            let end = text.len().saturating_sub(without);
            *fragment = text.get(..end).unwrap_or_default().into();
        }
        write_frame(&raw, &value, out);
    }
}
