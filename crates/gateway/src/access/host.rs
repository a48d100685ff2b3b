//! Host names of this server. Checking `Host` defeats DNS rebinding.

use std::net::IpAddr;

use crate::config::AccessConfig;

use crate::ConnectionAddresses;

/// Whether a `Host` is ours: a loopback name, the address that the client connected to, or a
/// configured name. The port is ignored, because tunnels change it.
pub(super) fn is_allowed(access: &AccessConfig, host: &str, peer: ConnectionAddresses) -> bool {
    let Some(name) = host_name(host) else {
        return false;
    };
    if let Ok(address) = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>() {
        let address = address.to_canonical();
        if address.is_loopback() || address == peer.local.ip().to_canonical() {
            return true;
        }
    }
    let name = name.strip_suffix('.').unwrap_or(name);
    name.eq_ignore_ascii_case("localhost")
        || access
            .hosts
            .iter()
            .any(|listed| listed.eq_ignore_ascii_case(name) || listed.eq_ignore_ascii_case(host))
}

/// Whether a `Host` is a loopback name or address.
pub(super) fn is_loopback(host: &str) -> bool {
    let Some(name) = host_name(host) else {
        return false;
    };
    let address = name.trim_start_matches('[').trim_end_matches(']').parse::<IpAddr>();
    address.is_ok_and(|address| address.to_canonical().is_loopback())
        || name.strip_suffix('.').unwrap_or(name).eq_ignore_ascii_case("localhost")
}

/// A `Host` without its port; `None` if it is invalid.
fn host_name(host: &str) -> Option<&str> {
    let (name, rest) = match host.strip_prefix('[') {
        Some(rest) => host.split_at(host.len() - rest.split_once(']')?.1.len()),
        None => host.split_at(host.find(':').unwrap_or(host.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port,
        None if rest.is_empty() => "",
        None => return None,
    };
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte);
    (!name.is_empty() && name.bytes().all(plain) && port.bytes().all(|byte| byte.is_ascii_digit()))
        .then_some(name)
}
