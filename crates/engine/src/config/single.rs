//! One upstream without a configuration file, for programs that embed the engine.

use foxwedge_core::Format;

use super::{
    AddressPolicy, UpstreamConfig, UpstreamKey, UpstreamTransport,
    address::{self, AddressError},
    upstream_kind::UpstreamKind,
    upstreams::{DEFAULT_TRIES, SCRIPTED_NAME},
};

/// An upstream with default settings that supports a format. Without an address it is that of the
/// format's provider; a given address may also be private.
///
/// # Errors
/// If the address cannot be used: the reason, and what to do.
pub(crate) fn single_upstream(
    name: &str,
    format: Format,
    base_url: Option<&str>,
    key: UpstreamKey,
) -> Result<UpstreamConfig, AddressError> {
    let kind = match format {
        Format::OpenaiChat | Format::OpenaiResponses => UpstreamKind::Openai,
        Format::Anthropic => UpstreamKind::Anthropic,
        Format::Gemini => UpstreamKind::Gemini,
        Format::Bedrock => {
            return Err(("nobody is asked in the Bedrock format", "use another one"));
        }
    };
    let addresses = if base_url.is_some() { AddressPolicy::Private } else { AddressPolicy::Public };
    let text = base_url.or(kind.default_url()).unwrap_or_default();
    let base = address::parse_base_url(text, kind.style(), addresses)?;
    let mut speaks = kind.formats();
    speaks.sort_by_key(|supported| *supported != format);
    Ok(UpstreamConfig {
        name: name.into(),
        transport: UpstreamTransport::Network(base.target),
        version: base.version,
        speaks,
        profile: None,
        key,
        headers: Vec::new(),
        tries: u32::try_from(DEFAULT_TRIES).unwrap_or(1),
    })
}

/// The built-in model, in one format.
pub(crate) fn builtin_upstream(format: Format) -> UpstreamConfig {
    UpstreamConfig {
        name: SCRIPTED_NAME.into(),
        transport: UpstreamTransport::Scripted,
        version: "/v1".into(),
        speaks: vec![format],
        profile: None,
        key: UpstreamKey::None,
        headers: Vec::new(),
        tries: u32::try_from(DEFAULT_TRIES).unwrap_or(1),
    }
}
