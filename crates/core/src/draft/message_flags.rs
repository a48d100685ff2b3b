//! Rare properties of messages.

/// Rare properties of a message.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct MessageFlags(pub u16);

impl MessageFlags {
    /// Marked as a prefix the model should continue (Mistral).
    pub const PREFIX: MessageFlags = MessageFlags(1);
    /// Carries a field beside content and calls that makes it meaningful (refusal, audio).
    pub const OTHER_BODY: MessageFlags = MessageFlags(1 << 1);
    /// Carries an empty list of calls.
    pub const EMPTY_CALLS: MessageFlags = MessageFlags(1 << 2);
    /// Carries an item id with the wrong prefix.
    pub const BAD_ITEM_ID: MessageFlags = MessageFlags(1 << 3);
    /// A reasoning item that can only be resolved from the server's store.
    pub const UNSTORED: MessageFlags = MessageFlags(1 << 4);
    /// Carries an item id at all.
    pub const ITEM_ID: MessageFlags = MessageFlags(1 << 5);
    /// Carries a list of calls, in a message that may not hold one.
    pub const STRAY_CALLS: MessageFlags = MessageFlags(1 << 6);

    /// The role is unknown in this format, but another format uses it for the model.
    pub const MODEL: MessageFlags = MessageFlags(1 << 7);

    /// Carries unknown fields, which may hold its content.
    pub const UNKNOWN_BODY: MessageFlags = MessageFlags(1 << 8);
    /// Holds a summary that the provider made of earlier messages.
    pub const COMPACTION: MessageFlags = MessageFlags(1 << 9);

    /// Its signed reasoning is not bound to the messages before it: it comes from a model that does
    /// not bind it.
    pub const UNBOUND: MessageFlags = MessageFlags(1 << 10);

    /// Asks the provider to compact the conversation.
    pub const TRIGGER: MessageFlags = MessageFlags(1 << 11);

    /// A call that the provider runs itself and whose result is an item of its own.
    pub const HOSTED_PAIR: MessageFlags = MessageFlags(1 << 12);

    /// Only references something stored on the server.
    pub const REFERENCE: MessageFlags = MessageFlags(1 << 13);

    /// A message of the user that cannot hold results: they have messages of their own.
    pub const NO_RESULTS: MessageFlags = MessageFlags(1 << 14);

    /// A message of results: whatever else it holds is a note of the agent, which is not sent.
    pub const ONLY_RESULTS: MessageFlags = MessageFlags(1 << 15);

    /// Whether all flags of `other` are set.
    pub fn has(self, other: MessageFlags) -> bool {
        self.0 & other.0 == other.0
    }

    /// The union of both sets.
    #[must_use]
    pub fn with(self, other: MessageFlags) -> MessageFlags {
        MessageFlags(self.0 | other.0)
    }

    /// The set without the flags of `other`.
    #[must_use]
    pub fn without(self, other: MessageFlags) -> MessageFlags {
        MessageFlags(self.0 & !other.0)
    }
}
