//! Addresses: the listen address, and allowed hosts and origins.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use foxwedge_upstream::is_host_byte;

use super::values::{ConfigValue, quote};

/// The listen address: an address with its port, or a port alone.
impl ConfigValue for SocketAddr {
    type Value = SocketAddr;

    fn expected() -> String {
        "an IP address with a port, such as \"127.0.0.1:4177\" or \"[::1]:4177\"".to_owned()
    }

    fn read(text: &str) -> Option<SocketAddr> {
        match text.strip_prefix("localhost:").unwrap_or(text).parse::<u16>() {
            Ok(port) => Some(SocketAddr::from((Ipv4Addr::LOCALHOST, port))),
            Err(_) => text.parse().ok(),
        }
    }

    fn to_toml(value: &SocketAddr) -> String {
        quote(&value.to_string())
    }
}

/// Parses an allowed `Host`: a name or an address, with an optional port.
pub(super) fn parse_host(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let authority: http::uri::Authority = text.parse().ok()?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_valid_host =
        host.parse::<IpAddr>().is_ok() || (!host.is_empty() && host.bytes().all(is_host_byte));
    let is_valid_port =
        authority.as_str().len() == authority.host().len() || authority.port_u16().is_some();
    (is_valid_host && is_valid_port && !text.contains('@')).then_some(text)
}

/// Parses the address of a node: a name or an address, with a port.
pub(super) fn parse_node_address(text: &str) -> Option<String> {
    let text = parse_host(text)?;
    let authority: http::uri::Authority = text.parse().ok()?;
    let host = authority.host().trim_start_matches('[').trim_end_matches(']');
    let is_wildcard = host.parse::<IpAddr>().is_ok_and(|address| address.is_unspecified());
    (authority.port_u16().is_some_and(|port| port > 0) && !is_wildcard).then_some(text)
}

/// Parses an allowed web origin: exactly one, never a pattern.
pub(super) fn parse_origin(text: &str) -> Option<String> {
    let text = text.to_ascii_lowercase();
    let (scheme, rest) = text.split_once("://")?;
    (matches!(scheme, "http" | "https") && parse_host(rest).is_some()).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_and_origins_are_exact() {
        let hosts = [
            ("gateway.example", true),
            ("Gateway.Example:8443", true),
            ("10.0.0.7", true),
            ("[::1]:4177", true),
            ("*", false),
            ("*.example", false),
            ("", false),
            ("https://a", false),
            ("a/b", false),
            ("me@a", false),
            ("a:", false),
            ("a b", false),
        ];
        for (text, expected) in hosts {
            assert_eq!(parse_host(text).is_some(), expected, "{text}");
        }
        let origins = [
            ("https://chat.example", true),
            ("http://localhost:5173", true),
            ("*", false),
            ("null", false),
            ("https://*.example", false),
            ("https://chat.example/", false),
            ("https://chat.example/x", false),
            ("chat.example", false),
            ("file://x", false),
            ("https://a?b", false),
        ];
        for (text, expected) in origins {
            assert_eq!(parse_origin(text).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn the_address_of_a_node_has_a_port() {
        for (text, expected) in [
            ("10.0.0.5:4177", true),
            ("[fd00::5]:4177", true),
            ("gateway-0.gateways:80", true),
            ("10.0.0.5", false),
            ("10.0.0.5:0", false),
            ("gateway-0", false),
            ("0.0.0.0:4177", false),
            ("[::]:4177", false),
            ("http://10.0.0.5:4177", false),
            ("", false),
        ] {
            assert_eq!(parse_node_address(text).is_some(), expected, "{text}");
        }
    }

    #[test]
    fn the_listen_address_is_not_a_host_name() {
        let table = [
            ("127.0.0.1:1", Some("\"127.0.0.1:1\"")),
            ("4177", Some("\"127.0.0.1:4177\"")),
            ("localhost:5", Some("\"127.0.0.1:5\"")),
            ("[::1]:5", Some("\"[::1]:5\"")),
            ("0.0.0.0:80", Some("\"0.0.0.0:80\"")),
            ("example.com:80", None),
            ("127.0.0.1", None),
            (":80", None),
            ("", None),
        ];
        for (text, expected) in table {
            let shown = SocketAddr::read(text).map(|address| SocketAddr::to_toml(&address));
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }
}
