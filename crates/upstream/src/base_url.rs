//! Addresses of everything that requests are sent to.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use http::Uri;

use crate::{SecretText, client_identity::ClientIdentity};

/// A network address. Only the configuration sets one, never a request.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NetworkTarget {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The host in lower case: a name or an address; IPv6 without brackets.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
    /// The path before the version (`/v1`), without a trailing slash; mostly empty.
    pub prefix: Box<str>,
    /// Which addresses the host name may resolve to.
    pub addresses: AddressPolicy,
    /// The certificate that is shown to the host, if it asks for one.
    pub identity: Option<ClientIdentity>,
}

/// Which addresses a host name may resolve to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AddressPolicy {
    /// Public addresses only.
    Public,
    /// Loopback and private addresses, too: the configuration allows that, or contains such an
    /// address. Link-local and metadata addresses are never allowed.
    Private,
}

/// What is wrong with an address, and what to do. Never contains the address: it may contain a key.
pub type AddressError = (&'static str, &'static str);

/// How a path is split for a kind of upstream.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BaseUrlStyle {
    /// The address is complete up to `/chat/completions`; without a path, `/v1` is added.
    Openai,
    /// `/v1` is added to the address.
    Anthropic,
    /// `/v1beta` is added to the address.
    Gemini,
    /// Nothing is added.
    Plain,
}

/// A parsed address.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BaseUrl {
    /// Where to connect.
    pub target: NetworkTarget,
    /// The path after the prefix, such as `/v1`.
    pub version: Box<str>,
    /// Whether a key would cross the public network unencrypted.
    pub is_unencrypted: bool,
}

/// The parts of an `http` or `https` URL, before it is decided what it may contain.
pub struct UrlParts {
    /// Whether the connection is encrypted.
    pub tls: bool,
    /// The host in lower case: a name or an address; IPv6 without brackets.
    pub host: Box<str>,
    /// The port.
    pub port: u16,
    /// User and password as written, still percent-encoded.
    pub user_info: Option<SecretText>,
    /// Path and query; at least `/`.
    pub path_and_query: String,
}

const FORM: &str = "it looks like \"https://api.example.com/v1\"";

/// Parses a URL. Every address that is configured is read here: of upstreams, collectors, MCP
/// servers and proxies.
///
/// # Errors
/// If it is not a URL of a host: the reason, and what to do.
pub fn parse_url(text: &str) -> Result<UrlParts, AddressError> {
    if text.contains('#') {
        return Err(("it has a fragment (`#…`)", FORM));
    }
    let uri: Uri = text.trim().parse().map_err(|_| ("it is not a valid URL", FORM))?;
    let tls = match uri.scheme_str() {
        Some("https") => true,
        Some("http") => false,
        Some(_) | None => return Err(("it starts with neither `https://` nor `http://`", FORM)),
    };
    let authority = uri.authority().ok_or(("it has no host", FORM))?;
    let (user_info, host_and_port) = match authority.as_str().rsplit_once('@') {
        Some((user_info, rest)) => (Some(SecretText::new(user_info)), rest),
        None => (None, authority.as_str()),
    };
    let host = authority.host().to_ascii_lowercase();
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let is_name = !host.is_empty() && host.len() <= 253 && host.bytes().all(is_host_byte);
    if host.parse::<IpAddr>().is_err() && !is_name {
        return Err(("its host is neither a name nor an address", FORM));
    }
    let port = match (authority.port_u16(), host_and_port == authority.host()) {
        (None, true) if tls => 443,
        (None, true) => 80,
        (Some(0), _) | (None, false) => return Err(("its port is not valid", FORM)),
        (Some(port), _) => port,
    };
    let path_and_query = uri.path_and_query().map_or("/", |path| path.as_str()).to_owned();
    Ok(UrlParts { tls, host: host.into(), port, user_info, path_and_query })
}

/// Parses the address of an upstream or a collector.
pub fn parse_base_url(
    text: &str,
    style: BaseUrlStyle,
    policy: AddressPolicy,
) -> Result<BaseUrl, AddressError> {
    if text.contains('?') && !text.contains('#') {
        return Err(("it has a query (`?…`)", "keys go into `key`, headers into `headers`"));
    }
    let UrlParts { tls, host, port, user_info, path_and_query } = parse_url(text)?;
    if user_info.is_some() {
        return Err(("it holds a user or a password", "keys go into `key` or `key_file`"));
    }
    let path = without_endpoint(path_and_query.trim_end_matches('/'), style);
    if path.split('/').any(|segment| matches!(segment, "." | "..")) || path.contains("//") {
        return Err(("its path holds `.`, `..` or `//`", FORM));
    }
    let addresses = match (classify_host(&host), policy) {
        (AddressClass::Forbidden, _) => {
            return Err((
                "link-local, multicast and unspecified addresses are not allowed",
                "such addresses are always refused: cloud metadata services hand out keys there",
            ));
        }
        (AddressClass::Private, _) | (AddressClass::Public, AddressPolicy::Private) => {
            AddressPolicy::Private
        }
        (AddressClass::Public, AddressPolicy::Public) => AddressPolicy::Public,
    };
    let (prefix, version) = split_version(path, style);
    let prefix = prefix.into();
    let target = NetworkTarget { tls, host, port, prefix, addresses, identity: None };
    let is_unencrypted = !tls && addresses == AddressPolicy::Public;
    Ok(BaseUrl { target, version: version.into(), is_unencrypted })
}

/// The address as in a configuration file.
pub fn format_base_url(target: &NetworkTarget, version: &str) -> String {
    let NetworkTarget { tls, host, port, prefix, addresses: _, identity: _ } = target;
    let scheme = if *tls { "https" } else { "http" };
    let host = if host.contains(':') { format!("[{host}]") } else { host.to_string() };
    let port = match (tls, port) {
        (true, 443) | (false, 80) => String::new(),
        (_, port) => format!(":{port}"),
    };
    format!("{scheme}://{host}{port}{prefix}{version}")
}

/// The class of an address, as far as the text shows it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AddressClass {
    Public,
    Private,
    Forbidden,
}

fn classify_host(host: &str) -> AddressClass {
    match host.parse() {
        Err(_) if is_loopback_host(host) => AddressClass::Private,
        Err(_) => AddressClass::Public,
        Ok(IpAddr::V4(address)) => classify_ipv4(address),
        Ok(IpAddr::V6(address)) => classify_ipv6(address),
    }
}

/// Whether a host is this machine, as far as the text shows it.
pub fn is_loopback_host(host: &str) -> bool {
    match host.parse::<IpAddr>() {
        Ok(address) => address.to_canonical().is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

fn classify_ipv4(address: Ipv4Addr) -> AddressClass {
    let [first, second, ..] = address.octets();
    let is_forbidden = address.is_link_local()
        || address.is_multicast()
        || address.is_broadcast()
        || first == 0
        || first >= 240;
    // Carriers and overlay networks share 100.64/10.
    let is_shared = first == 100 && (64..128).contains(&second);
    match (is_forbidden, address.is_loopback() || address.is_private() || is_shared) {
        (true, _) => AddressClass::Forbidden,
        (false, true) => AddressClass::Private,
        (false, false) => AddressClass::Public,
    }
}

fn classify_ipv6(address: Ipv6Addr) -> AddressClass {
    if let Some(ipv4) = address.to_ipv4_mapped() {
        return classify_ipv4(ipv4);
    }
    if address.is_unspecified() || address.is_multicast() || address.is_unicast_link_local() {
        return AddressClass::Forbidden;
    }
    let is_private = address.is_loopback() || address.is_unique_local();
    if is_private { AddressClass::Private } else { AddressClass::Public }
}

/// Whether a host name may contain this byte.
pub fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b'_')
}

/// A path without the endpoint behind it: some users configure the address of the endpoint.
fn without_endpoint(path: &str, style: BaseUrlStyle) -> &str {
    let endpoints: &[&str] = match style {
        BaseUrlStyle::Openai => &["/chat/completions", "/responses"],
        BaseUrlStyle::Anthropic => &["/messages"],
        BaseUrlStyle::Gemini | BaseUrlStyle::Plain => &[],
    };
    endpoints.iter().find_map(|endpoint| path.strip_suffix(endpoint)).unwrap_or(path)
}

/// Splits a path into the part before the version and the version.
fn split_version(path: &str, style: BaseUrlStyle) -> (&str, &str) {
    let (before, last) = path.rsplit_once('/').unwrap_or(("", ""));
    let is_version =
        last.strip_prefix('v').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    let version = path.get(before.len()..).unwrap_or_default();
    match style {
        BaseUrlStyle::Plain => (path, ""),
        BaseUrlStyle::Openai if path.is_empty() => ("", "/v1"),
        BaseUrlStyle::Openai if is_version => (before, version),
        BaseUrlStyle::Openai => (path, ""),
        BaseUrlStyle::Anthropic | BaseUrlStyle::Gemini if is_version => (before, version),
        BaseUrlStyle::Anthropic => (path, "/v1"),
        BaseUrlStyle::Gemini => (path, "/v1beta"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_split_by_the_rules_of_its_style() {
        use BaseUrlStyle::*;
        let table = [
            ("https://api.openai.com/v1", Openai, "tls api.openai.com 443 | /v1 Public"),
            ("https://api.deepseek.com", Openai, "tls api.deepseek.com 443 | /v1 Public"),
            ("https://API.Example.com/", Openai, "tls api.example.com 443 | /v1 Public"),
            ("https://api.z.ai/api/paas/v4/", Openai, "tls api.z.ai 443 /api/paas | /v4 Public"),
            (
                "https://g.example/v1beta/openai",
                Openai,
                "tls g.example 443 /v1beta/openai |  Public",
            ),
            ("https://o.example/api", Openai, "tls o.example 443 /api |  Public"),
            ("https://o.example/v1/chat/completions/", Openai, "tls o.example 443 | /v1 Public"),
            ("https://o.example/chat/completions", Openai, "tls o.example 443 | /v1 Public"),
            ("https://o.example/api/v1/responses", Openai, "tls o.example 443 /api | /v1 Public"),
            ("https://a.example/v1/messages", Anthropic, "tls a.example 443 | /v1 Public"),
            ("http://127.0.0.1:8000/v1", Openai, "127.0.0.1 8000 | /v1 Private"),
            ("http://localhost:11434", Openai, "localhost 11434 | /v1 Private"),
            ("http://[::1]:9/v1", Openai, "::1 9 | /v1 Private"),
            ("http://[fd00::7]/v1", Openai, "fd00::7 80 | /v1 Private"),
            ("http://192.168.1.7:1", Openai, "192.168.1.7 1 | /v1 Private"),
            ("http://100.64.1.1:1", Openai, "100.64.1.1 1 | /v1 Private"),
            ("http://[::ffff:10.0.0.1]:1", Openai, "::ffff:10.0.0.1 1 | /v1 Private"),
            // Not an IP address here: resolved as a name, and refused if it resolves to a private
            // address.
            ("http://127.1:1", Openai, "127.1 1 | /v1 Public"),
            ("http://8.8.8.8", Openai, "8.8.8.8 80 | /v1 Public"),
            ("https://api.anthropic.com", Anthropic, "tls api.anthropic.com 443 | /v1 Public"),
            ("https://a.example/x/v1", Anthropic, "tls a.example 443 /x | /v1 Public"),
            ("https://g.example", Gemini, "tls g.example 443 | /v1beta Public"),
            ("https://g.example/v1", Gemini, "tls g.example 443 | /v1 Public"),
            ("http://c.example:4318/otlp", Plain, "c.example 4318 /otlp |  Public"),
        ];
        for (text, style, expected) in table {
            let BaseUrl { target, version, .. } =
                parse_base_url(text, style, AddressPolicy::Public).expect(text);
            let tls = if target.tls { "tls " } else { "" };
            let prefix = if target.prefix.is_empty() { "" } else { " " };
            let (host, port, addresses) = (&target.host, target.port, target.addresses);
            let found =
                format!("{tls}{host} {port}{prefix}{} | {version} {addresses:?}", target.prefix);
            assert_eq!(found, expected, "{text}");
            let again =
                parse_base_url(&format_base_url(&target, &version), style, AddressPolicy::Public)
                    .expect(text);
            assert_eq!((again.target, again.version), (target, version), "{text}");
        }
    }

    #[test]
    fn an_invalid_address_is_refused_without_repeating_it() {
        let table = [
            ("", "it is not a valid URL"),
            ("api.openai.com", "it starts with neither `https://` nor `http://`"),
            ("/v1", "it starts with neither `https://` nor `http://`"),
            ("ftp://a.example", "it starts with neither `https://` nor `http://`"),
            ("https://", "it is not a valid URL"),
            ("https://me:canary@a.example", "it holds a user or a password"),
            ("https://canary@a.example", "it holds a user or a password"),
            ("https://a.example/v1?key=canary", "it has a query (`?…`)"),
            ("https://a.example/v1#canary", "it has a fragment (`#…`)"),
            ("https://a.example:0", "its port is not valid"),
            ("https://a.example:99999", "its port is not valid"),
            ("https://a.example:", "its port is not valid"),
            ("https://a b", "it is not a valid URL"),
            ("https://*.example", "its host is neither a name nor an address"),
            ("https://a.example/../x", "its path holds `.`, `..` or `//`"),
            ("https://a.example/x//y", "its path holds `.`, `..` or `//`"),
            ("http://169.254.169.254", "link-local, multicast and unspecified"),
            ("http://[fe80::1]", "link-local, multicast and unspecified"),
            ("http://0.0.0.0:80", "link-local, multicast and unspecified"),
            ("http://[::]:80", "link-local, multicast and unspecified"),
            ("http://[::ffff:169.254.169.254]", "link-local, multicast and unspecified"),
        ];
        for (text, expected) in table {
            for policy in [AddressPolicy::Public, AddressPolicy::Private] {
                let (message, help) =
                    parse_base_url(text, BaseUrlStyle::Openai, policy).expect_err(text);
                assert!(message.starts_with(expected), "{text}: {message}");
                assert!(!message.contains("canary") && !help.contains("canary"));
            }
        }
    }
}
