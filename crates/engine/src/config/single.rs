//! One upstream without a file, for whoever embeds the engine: read by what reads files.

use foxwedge_core::Wire;

use super::{
    Addresses, Key, Reach, Upstream,
    address::{self, Wrong},
    kinds::Kind,
    upstreams::{SCRIPTED, TRIES},
};

/// An upstream of the usual settings that speaks a format. Without an address it is the one of the
/// format's owner; one that is given is meant, wherever it leads.
///
/// # Errors
/// If the address cannot be used: what is wrong with it, and what to do.
pub(crate) fn single(
    name: &str,
    wire: Wire,
    base_url: Option<&str>,
    key: Key,
) -> Result<Upstream, Wrong> {
    let kind = match wire {
        Wire::OpenaiChat | Wire::OpenaiResponses => Kind::Openai,
        Wire::Anthropic => Kind::Anthropic,
        Wire::Gemini => Kind::Gemini,
        Wire::Bedrock => return Err(("nobody is asked in the Bedrock format", "use another one")),
    };
    let addresses = if base_url.is_some() { Addresses::Private } else { Addresses::Public };
    let text = base_url.or(kind.usual()).unwrap_or_default();
    let base = address::base(text, kind.style(), addresses)?;
    let mut speaks = kind.speaks();
    speaks.sort_by_key(|spoken| *spoken != wire);
    Ok(Upstream {
        name: name.into(),
        reach: Reach::Network(base.target),
        version: base.version,
        speaks,
        profile: None,
        key,
        headers: Vec::new(),
        tries: u32::try_from(TRIES).unwrap_or(1),
    })
}

/// The built-in model, in one format.
pub(crate) fn scripted(wire: Wire) -> Upstream {
    Upstream {
        name: SCRIPTED.into(),
        reach: Reach::Scripted,
        version: "/v1".into(),
        speaks: vec![wire],
        profile: None,
        key: Key::None,
        headers: Vec::new(),
        tries: u32::try_from(TRIES).unwrap_or(1),
    }
}
