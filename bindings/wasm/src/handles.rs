//! What stays open between calls has a handle, which is free for another one when it ends.

use foxwedge_embed::CallError;

/// The handle of nothing.
pub(crate) const NO_HANDLE: u32 = u32::MAX;

/// Open things by their handles.
pub(crate) struct HandleTable<T> {
    slots: Vec<Option<T>>,
}

impl<T> HandleTable<T> {
    pub(crate) const fn new() -> HandleTable<T> {
        HandleTable { slots: Vec::new() }
    }

    /// Keeps one under a free handle.
    pub(crate) fn insert(&mut self, value: T) -> u32 {
        let free = self.slots.iter().position(Option::is_none);
        let at = free.unwrap_or(self.slots.len());
        match free {
            Some(free) => self.slots[free] = Some(value),
            None => self.slots.push(Some(value)),
        }
        u32::try_from(at).unwrap_or(NO_HANDLE)
    }

    pub(crate) fn get(&mut self, handle: u32) -> Result<&mut T, CallError> {
        let slot = self.slots.get_mut(handle as usize);
        slot.and_then(Option::as_mut).ok_or_else(closed)
    }

    /// Gives one back; its handle is free.
    pub(crate) fn take(&mut self, handle: u32) -> Result<T, CallError> {
        self.slots.get_mut(handle as usize).and_then(Option::take).ok_or_else(closed)
    }
}

fn closed() -> CallError {
    CallError { kind: "unknown-stream", message: "the stream has ended".to_owned(), at: None }
}
