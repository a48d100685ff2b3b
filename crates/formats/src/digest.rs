//! Conversation digests: a value after each message that is the same for every encoding of the same
//! conversation. They identify a conversation that a client continues.
//!
//! Clients repeat the whole conversation with every request, with differences: content is missing,
//! `null` or empty beside calls; text is a string, one block or several; arguments have other white
//! space, key order or escapes; cache markers move; reasoning is missing; one model turn is one
//! message or several. None of these changes the values, and neither does the format. Roles, text,
//! ids, names and arguments do.
//!
//! A conversation is a chain of turns of two sides: the model, and the user with the tool results.
//! A turn lasts until the other side's next message. Its value covers its texts, joined; its calls
//! and media, in order; and its results, in any order. The interleaving of these does not matter.
//!
//! Instructions do not count: half of the formats keep them outside the list, and agents put the
//! time of day into them. Content that only the provider produces (server tool calls and their
//! results, generated images) does not count either, because streams do not repeat it.

mod chain;
mod walk;
mod canonical;
mod parts;

use foxwedge_core::{Draft, Format, Span};

use crate::model::{ModelReply, decode};
use canonical::TextNormalizer;
use chain::{DigestChain, TurnSide};
use foxwedge_json::{JsonScanner, JsonTape};

/// The value after each message of a draft, in order. The scope separates conversations that must
/// not match, such as those of different clients or models.
pub fn history(draft: &Draft<'_>, scope: u128) -> Vec<u128> {
    ConversationDigest::new(scope).add_messages(draft)
}

/// The value that [`history`] will have after the messages with which a client repeats this reply.
/// `after` is the value after the request. If the request ended with a message of the model, use
/// [`ConversationDigest::value_after_reply`].
pub fn reply(reply: &ModelReply<'_>, after: u128) -> u128 {
    ConversationDigest::new(after).value_after_reply(reply)
}

/// Digest of a conversation, built message by message.
#[derive(Clone)]
pub struct ConversationDigest {
    chain: DigestChain,
    speller: TextNormalizer,
}

impl ConversationDigest {
    /// The digest of an empty conversation.
    pub fn new(scope: u128) -> ConversationDigest {
        ConversationDigest::with_plain_escapes(scope, false)
    }

    /// The same. `plain` states that all escapes of the document are in canonical form.
    pub(crate) fn with_plain_escapes(scope: u128, plain: bool) -> ConversationDigest {
        ConversationDigest { chain: DigestChain::new(scope), speller: TextNormalizer::new(plain) }
    }

    /// Adds a message of a draft. Add the messages of one draft in order.
    pub fn add_message(&mut self, draft: &Draft<'_>, index: usize) {
        parts::add_message(&mut self.chain, &mut self.speller, draft, index);
    }

    /// Adds all messages of a draft. Returns the value after each.
    pub(crate) fn add_messages(&mut self, draft: &Draft<'_>) -> Vec<u128> {
        let values = (0..draft.messages.len()).map(|index| {
            self.add_message(draft, index);
            self.value()
        });
        values.collect()
    }

    /// Adds the user's input that replaces the list of messages: a string with its quotes, or one
    /// piece of content.
    pub(crate) fn add_user_input(&mut self, source: &str, input: Span, format: Format) -> u128 {
        if let Ok(text) = JsonScanner::within(source, input).string() {
            let normalized = self.speller.normalize(text.span.of(source));
            self.chain.add_text(TurnSide::User, normalized, false);
        } else if let Ok(tape) = JsonTape::within(source, input) {
            let parts = decode::read_message(tape.root(source), format).parts;
            parts::add_parts(&mut self.chain, &mut self.speller, TurnSide::User, &parts);
        }
        self.value()
    }

    /// The value after everything added so far.
    pub fn value(&self) -> u128 {
        self.chain.value()
    }

    /// The value after the client has repeated this reply.
    pub fn value_after_reply(&self, reply: &ModelReply<'_>) -> u128 {
        let mut copy = self.clone();
        parts::add_parts(&mut copy.chain, &mut copy.speller, TurnSide::Model, &reply.parts);
        copy.value()
    }
}

#[cfg(test)]
mod tests;
