//! Which features occur in a draft.

/// A set of features. A rule names the features it looks for and is skipped where none of them
/// occurs: valid input pays only for the rules of pairing and ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DraftFeatures(pub u32);

impl DraftFeatures {
    /// Always set: for rules that cannot be skipped.
    pub const ALWAYS: DraftFeatures = DraftFeatures(1);
    /// An empty or blank text part.
    pub const EMPTY_TEXT: DraftFeatures = DraftFeatures(1 << 1);
    /// A message whose content is absent, null, empty or of a wrong type.
    pub const EMPTY_CONTENT: DraftFeatures = DraftFeatures(1 << 2);
    /// An empty list of calls.
    pub const EMPTY_CALLS: DraftFeatures = DraftFeatures(1 << 3);
    /// A role that is missing or unknown.
    pub const UNKNOWN_ROLE: DraftFeatures = DraftFeatures(1 << 4);
    /// A system or developer message.
    pub const SYSTEM: DraftFeatures = DraftFeatures(1 << 5);
    /// A block in a message of the wrong role.
    pub const MISPLACED: DraftFeatures = DraftFeatures(1 << 6);
    /// An answer with content other than text.
    pub const MEDIA_ANSWER: DraftFeatures = DraftFeatures(1 << 7);
    /// An answer without content.
    pub const EMPTY_ANSWER: DraftFeatures = DraftFeatures(1 << 8);
    /// Arguments in a form that the format does not accept.
    pub const MALFORMED_ARGUMENTS: DraftFeatures = DraftFeatures(1 << 9);
    /// Reasoning.
    pub const REASONING: DraftFeatures = DraftFeatures(1 << 10);
    /// Calls that the provider runs itself, or their answers.
    pub const SERVER: DraftFeatures = DraftFeatures(1 << 11);
    /// A lone surrogate.
    pub const SURROGATE: DraftFeatures = DraftFeatures(1 << 12);
    /// An item id with a wrong prefix, or one that only the server's store can resolve.
    pub const ITEM_ID: DraftFeatures = DraftFeatures(1 << 13);
    /// An answer after a part that is not an answer, in one message.
    pub const ANSWER_AFTER_TEXT: DraftFeatures = DraftFeatures(1 << 14);
    /// Text after a call, in one message.
    pub const TEXT_AFTER_CALL: DraftFeatures = DraftFeatures(1 << 15);
    /// A message with answers and other parts.
    pub const SHARED_ANSWERS: DraftFeatures = DraftFeatures(1 << 16);
    /// An assistant message with calls whose content is null or absent.
    pub const NULL_BESIDE_CALLS: DraftFeatures = DraftFeatures(1 << 17);
    /// Two adjacent messages of the user, or of the model.
    pub const SAME_SIDE_NEIGHBORS: DraftFeatures = DraftFeatures(1 << 18);
    /// More than 128 calls in a message.
    pub const MANY_CALLS: DraftFeatures = DraftFeatures(1 << 19);
    /// A call that carries a thought signature.
    pub const SIGNED_CALL: DraftFeatures = DraftFeatures(1 << 20);
    /// A user message directly after answers.
    pub const USER_AFTER_ANSWER: DraftFeatures = DraftFeatures(1 << 21);
    /// The file around the conversation has a defect.
    pub const FILE_DEFECT: DraftFeatures = DraftFeatures(1 << 22);
    /// A call that does not state its type.
    pub const UNTYPED_CALL: DraftFeatures = DraftFeatures(1 << 23);
    /// An answer whose content has a form that its format does not accept.
    pub const MALFORMED_ANSWER: DraftFeatures = DraftFeatures(1 << 24);

    /// A change of the model inside a message.
    pub const FALLBACK: DraftFeatures = DraftFeatures(1 << 25);
    /// Something of an unknown type, which may take part in pairing.
    pub const UNKNOWN: DraftFeatures = DraftFeatures(1 << 26);

    /// A reference to a tool that the request does not declare.
    pub const UNRESOLVED_REFERENCE: DraftFeatures = DraftFeatures(1 << 27);

    /// An item that asks the provider to compact the conversation.
    pub const TRIGGER: DraftFeatures = DraftFeatures(1 << 28);

    /// Whether any feature of `other` occurs.
    pub fn intersects(self, other: DraftFeatures) -> bool {
        self.0 & other.0 != 0
    }

    /// Adds the features of `other`.
    #[inline]
    pub fn insert(&mut self, other: DraftFeatures) {
        self.0 |= other.0;
    }

    /// The union of both sets.
    #[must_use]
    pub const fn union(self, other: DraftFeatures) -> DraftFeatures {
        DraftFeatures(self.0 | other.0)
    }
}
