//! Conversations found again: a value after each message that is the same for every spelling of the
//! same conversation.
//!
//! Clients repeat the whole conversation with every request, and never quite as it was: content that
//! is missing, `null` or empty beside calls; a text as a string, as one block or as several; other
//! spaces, keys in another order and other escapes in arguments; marks for caches that move; no
//! reasoning; one message or several for what the model said at once. None of that changes the
//! values, and neither does the wire format. Whoever says something, what is said, ids, names and
//! arguments do.
//!
//! A conversation is a chain of turns of two sides: the model's, and that of the user with the
//! answers. A turn is all that is said until the other side says something: its texts, joined; its
//! calls and media, in order; its answers, in any order. So it does not matter what stands between
//! what.
//!
//! Instructions count for nothing. Half of the formats keep them elsewhere, and agents put the time
//! of the day into them. What only the provider can say (its own calls and their answers, images
//! that the model made) counts for nothing, too: streams do not repeat it.

mod chain;
mod walk;
mod canonical;
mod parts;

use foxwedge_core::{Draft, Span};

use crate::{json::JsonScanner, model::ModelReply};
use canonical::TextNormalizer;
use chain::{DigestChain, TurnSide};

/// The value after each message of a draft, in order. The scope tells conversations apart that may
/// not meet: other clients, other models.
pub fn history(draft: &Draft<'_>, scope: u128) -> Vec<u128> {
    ConversationDigest::new(scope).add_messages(draft)
}

/// The value that [`history`] will have behind the message or the messages with which a client
/// repeats this reply. `after` is the value behind the request; if that ended with words of the
/// model itself, [`Digest::reply`] knows more.
pub fn reply(reply: &ModelReply<'_>, after: u128) -> u128 {
    ConversationDigest::new(after).value_after_reply(reply)
}

/// A conversation, message by message.
#[derive(Clone)]
pub struct ConversationDigest {
    chain: DigestChain,
    speller: TextNormalizer,
}

impl ConversationDigest {
    /// A conversation that begins.
    pub fn new(scope: u128) -> ConversationDigest {
        ConversationDigest::with_plain_escapes(scope, false)
    }

    /// The same, for a document of which somebody knows that its escapes are plainly spelled.
    pub(crate) fn with_plain_escapes(scope: u128, plain: bool) -> ConversationDigest {
        ConversationDigest { chain: DigestChain::new(scope), speller: TextNormalizer::new(plain) }
    }

    /// Adds a message of a draft; a digest takes the messages of one draft, in order.
    pub fn add_message(&mut self, draft: &Draft<'_>, index: usize) {
        parts::add_message(&mut self.chain, &mut self.speller, draft, index);
    }

    /// Adds all messages of a draft: the value after each.
    pub(crate) fn add_messages(&mut self, draft: &Draft<'_>) -> Vec<u128> {
        let values = (0..draft.messages.len()).map(|index| {
            self.add_message(draft, index);
            self.value()
        });
        values.collect()
    }

    /// Adds a text of the user's: the string that stands for all messages, with its quotes.
    pub(crate) fn add_user_text(&mut self, source: &str, string: Span) -> u128 {
        if let Ok(text) = JsonScanner::within(source, string).string() {
            let words = self.speller.normalize(text.span.of(source));
            self.chain.add_text(TurnSide::User, words, false);
        }
        self.value()
    }

    /// The value after everything that was added.
    pub fn value(&self) -> u128 {
        self.chain.value()
    }

    /// The value that there will be when the client has repeated this reply.
    pub fn value_after_reply(&self, reply: &ModelReply<'_>) -> u128 {
        let mut then = self.clone();
        parts::add_parts(&mut then.chain, &mut then.speller, TurnSide::Model, &reply.parts);
        then.value()
    }
}

#[cfg(test)]
mod tests;
