//! Targets that are reached without a proxy.

use std::net::IpAddr;

use ipnet::IpNet;

use crate::is_host_byte;

/// One entry of `no_proxy`, as curl reads it: a name with everything below it, an address, a
/// network, or `*`; each with an optional port.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct NoProxyRule {
    hosts: BypassedHosts,
    port: Option<u16>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
enum BypassedHosts {
    All,
    /// An address or a network. Names are not looked up for it.
    Network(IpNet),
    /// A domain and everything below it.
    Domain(Box<str>),
}

impl NoProxyRule {
    /// Parses an entry: `example.com`, `.example.com` and `*.example.com` mean the same.
    pub fn parse(text: &str) -> Option<NoProxyRule> {
        let text = text.trim();
        if let Some(hosts) = parse_hosts(text) {
            return Some(NoProxyRule { hosts, port: None });
        }
        let (host, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        Some(NoProxyRule { hosts: parse_hosts(host)?, port: Some(port) })
    }

    /// Parses the list in a variable. It was written for all programs of a machine, so an entry
    /// that only others understand is left out.
    pub fn parse_list(text: &str) -> Vec<NoProxyRule> {
        let entries = text.split(|c: char| c == ',' || c.is_whitespace());
        entries.filter_map(NoProxyRule::parse).collect()
    }

    /// Whether a target is reached without a proxy.
    pub(super) fn matches(&self, host: &str, port: u16) -> bool {
        let address = host.parse::<IpAddr>().map(|address| address.to_canonical());
        let is_host = match (&self.hosts, address) {
            (BypassedHosts::All, _) => true,
            (BypassedHosts::Network(network), Ok(address)) => network.contains(&address),
            (BypassedHosts::Domain(domain), Err(_)) => is_below(host, domain),
            (BypassedHosts::Network(_), Err(_)) | (BypassedHosts::Domain(_), Ok(_)) => false,
        };
        is_host && self.port.is_none_or(|own| own == port)
    }
}

fn parse_hosts(text: &str) -> Option<BypassedHosts> {
    if text == "*" {
        return Some(BypassedHosts::All);
    }
    let bare = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    if let Ok(address) = bare.parse::<IpAddr>() {
        return Some(BypassedHosts::Network(address.to_canonical().into()));
    }
    if let Ok(network) = bare.parse() {
        return Some(BypassedHosts::Network(network));
    }
    let domain = text.strip_prefix('*').unwrap_or(text);
    let domain = domain.trim_start_matches('.').trim_end_matches('.').to_ascii_lowercase();
    let is_name = !domain.is_empty() && domain.bytes().all(is_host_byte);
    is_name.then(|| BypassedHosts::Domain(domain.into()))
}

/// Whether a host is a domain or below it. Both are in lower case.
fn is_below(host: &str, domain: &str) -> bool {
    let host = host.trim_end_matches('.');
    let above = host.strip_suffix(domain);
    above.is_some_and(|above| above.is_empty() || above.ends_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_matches_names_addresses_and_networks() {
        let table = [
            ("*", "api.example.com:443 10.0.0.1:80 ::1:80", ""),
            (
                "example.com",
                "example.com:443 api.example.com:80 a.b.example.com:1",
                "badexample.com:443 example.com.evil:443 com:443",
            ),
            (".example.com", "example.com:443 api.example.com:80", "badexample.com:443"),
            ("*.example.com", "example.com:443 api.example.com:80", "badexample.com:443"),
            ("Example.COM.", "example.com:443 example.com.:443", "example.org:443"),
            ("example.com:8443", "example.com:8443 api.example.com:8443", "example.com:443"),
            ("*:8080", "a:8080 10.0.0.1:8080", "a:80"),
            ("localhost", "localhost:1 a.localhost:1", "127.0.0.1:1"),
            ("10.0.0.1", "10.0.0.1:80 ::ffff:10.0.0.1:80", "10.0.0.11:80 10.0.0.1.example:80"),
            ("10.0.0.1:80", "10.0.0.1:80", "10.0.0.1:81"),
            (
                "10.0.0.0/8",
                "10.0.0.1:80 10.255.255.255:1 ::ffff:10.1.1.1:1",
                "11.0.0.1:80 ten.example:80",
            ),
            ("10.0.0.0/8:443", "10.1.2.3:443", "10.1.2.3:80"),
            ("0.0.0.0/0", "1.2.3.4:1", "2001:db8::1:1 a:1"),
            ("::1", "::1:80", "::2:80 127.0.0.1:80"),
            ("[::1]", "::1:80", "::2:80"),
            ("[::1]:80", "::1:80", "::1:81"),
            ("fd00::/8", "fd00::7:80 fdff::1:443", "fe00::1:80"),
            ("[fd00::/8]:443", "fd12::7:443", "fd12::7:80"),
        ];
        for (entry, direct, proxied) in table {
            let rule = NoProxyRule::parse(entry).expect(entry);
            for (targets, expected) in [(direct, true), (proxied, false)] {
                for target in targets.split_whitespace() {
                    let (host, port) = target.rsplit_once(':').expect("a port");
                    let port = port.parse().expect("a port");
                    assert_eq!(rule.matches(host, port), expected, "{entry}: {target}");
                }
            }
        }
    }

    #[test]
    fn an_entry_that_means_nothing_is_left_out_of_a_list() {
        for text in [
            "",
            ".",
            "*.",
            "<local>",
            "a b",
            "10.0.0.0/99",
            "a:0",
            "a:99999",
            "http://a",
            "a/b",
            "**",
            "[a]",
        ] {
            assert_eq!(NoProxyRule::parse(text), None, "{text}");
        }
        let list = NoProxyRule::parse_list(" localhost, .corp.example 10.0.0.0/8,,<local>,\t*.a ");
        assert_eq!(list.len(), 4);
        assert!(NoProxyRule::parse_list("").is_empty());
    }
}
