//! Where a repaired message comes from and what changed in it, in as few bytes as possible.

use super::RepairedMessage;
use crate::draft::ContentShape;

/// The shape of a message's content, and which of its properties changed, in one byte.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct MessageState(u8);

impl MessageState {
    const CONTENT: u8 = 0b111;
    const TOUCHED: u8 = 1 << 3;
    const ROLE_CHANGED: u8 = 1 << 4;
    const WITHOUT_ID: u8 = 1 << 5;

    pub(super) fn new(content: ContentShape, touched: bool) -> MessageState {
        let mut state = MessageState(0);
        state.set_content(content);
        state.set(Self::TOUCHED, touched);
        state
    }

    fn content(self) -> ContentShape {
        match self.0 & Self::CONTENT {
            0 => ContentShape::Absent,
            1 => ContentShape::Null,
            2 => ContentShape::Text,
            3 => ContentShape::List,
            _ => ContentShape::Other,
        }
    }

    fn set_content(&mut self, content: ContentShape) {
        let number = match content {
            ContentShape::Absent => 0,
            ContentShape::Null => 1,
            ContentShape::Text => 2,
            ContentShape::List => 3,
            ContentShape::Other => 4,
        };
        self.0 = self.0 & !Self::CONTENT | number;
    }

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    fn set(&mut self, bit: u8, value: bool) {
        self.0 = if value { self.0 | bit } else { self.0 & !bit };
    }
}

impl std::fmt::Debug for MessageState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("MessageState")
            .field("content", &self.content())
            .field("touched", &self.has(Self::TOUCHED))
            .field("role_changed", &self.has(Self::ROLE_CHANGED))
            .field("without_id", &self.has(Self::WITHOUT_ID))
            .finish()
    }
}

impl RepairedMessage<'_> {
    /// The origin of a new message. No input has that many messages.
    pub(super) const NEW: u32 = u32::MAX;

    /// The message of the input whose other fields it keeps; `None` if it is new.
    pub fn origin(&self) -> Option<usize> {
        (self.origin != Self::NEW).then_some(self.origin as usize)
    }

    /// Makes it a new message, which keeps no fields of the input.
    pub fn clear_origin(&mut self) {
        self.origin = Self::NEW;
    }

    /// What its content field holds.
    pub fn content(&self) -> ContentShape {
        self.state.content()
    }

    /// Replaces what its content field holds.
    pub fn set_content(&mut self, content: ContentShape) {
        self.state.set_content(content);
    }

    /// Whether it cannot be copied from the input unchanged.
    pub fn is_touched(&self) -> bool {
        self.state.has(MessageState::TOUCHED)
    }

    /// Whether its role has to be rewritten.
    pub fn has_new_role(&self) -> bool {
        self.state.has(MessageState::ROLE_CHANGED)
    }

    /// Whether its item id has to be removed.
    pub fn loses_id(&self) -> bool {
        self.state.has(MessageState::WITHOUT_ID)
    }

    pub(super) fn touch(&mut self) {
        self.state.set(MessageState::TOUCHED, true);
    }

    pub(super) fn mark_new_role(&mut self) {
        self.state.set(MessageState::ROLE_CHANGED, true);
    }

    pub(super) fn mark_lost_id(&mut self) {
        self.state.set(MessageState::WITHOUT_ID, true);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_shape_of_content_stays_what_it_is_beside_the_marks() {
        let shapes = [
            ContentShape::Absent,
            ContentShape::Null,
            ContentShape::Text,
            ContentShape::List,
            ContentShape::Other,
        ];
        for shape in shapes {
            let mut state = MessageState::new(shape, true);
            assert_eq!((state.content(), state.has(MessageState::TOUCHED)), (shape, true));
            state.set(MessageState::ROLE_CHANGED, true);
            state.set_content(ContentShape::Text);
            assert_eq!(state.content(), ContentShape::Text);
            assert!(state.has(MessageState::ROLE_CHANGED) && !state.has(MessageState::WITHOUT_ID));
        }
    }
}
