//! Answers: read, and spelled in another format.

use foxwedge_core::Wire;

use super::{Options, names};
use crate::{
    canon::{Loss, Outcome, Renamed, Words, decode_reply, encode_reply},
    error::ReadError,
};

/// An answer in another format.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The body.
    pub body: String,
    /// What could not be carried.
    pub losses: Vec<Loss>,
    /// Ids that the target does not take, and what stands for them.
    pub renamed: Vec<Renamed>,
    /// The provider failed; the body says so.
    pub failed: bool,
}

/// Converts a whole response body.
///
/// # Errors
/// If the text is not JSON, or no response of that format.
pub fn response(
    source: &str,
    from: Wire,
    to: Wire,
    options: &Options,
) -> Result<Answered, ReadError> {
    let told = decode_reply(source, from)?;
    let mut outcome = names::restore(told.outcome, &options.names);
    if let Outcome::Reply(reply) = &mut outcome {
        reply.created = reply.created.or(options.created);
        if let Some(model) = &options.model {
            reply.model = Some(Words::from(model.as_str()));
        }
    }
    let encoded = encode_reply(&outcome, to, &options.seed);
    let mut losses = told.losses;
    losses.extend(encoded.losses);
    let failed = matches!(outcome, Outcome::Failure(_));
    Ok(Answered { body: encoded.body, losses, renamed: encoded.renamed, failed })
}
