//! Which addresses may be connected to. A DNS record could otherwise point to what only this
//! machine can reach: its own services, its network, the cloud provider's metadata.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::AddressPolicy;

/// Services of cloud providers that hand out credentials, outside the link-local range.
const METADATA: [IpAddr; 5] = [
    IpAddr::V4(Ipv4Addr::new(100, 100, 100, 200)),
    IpAddr::V4(Ipv4Addr::new(168, 63, 129, 16)),
    IpAddr::V4(Ipv4Addr::new(192, 0, 0, 192)),
    IpAddr::V6(Ipv6Addr::new(0xfd00, 0x0ec2, 0, 0, 0, 0, 0, 0x0254)),
    IpAddr::V6(Ipv6Addr::new(0xfd20, 0x00ce, 0, 0, 0, 0, 0, 0x0254)),
];

/// Whether an address may be connected to.
pub(super) fn is_allowed(address: IpAddr, addresses: AddressPolicy) -> bool {
    let fits = match (address, addresses) {
        (IpAddr::V4(address), AddressPolicy::Public) => is_public(address),
        (IpAddr::V4(address), AddressPolicy::Private) => is_usable(address),
        (IpAddr::V6(address), AddressPolicy::Public) => is_public_6(address),
        (IpAddr::V6(address), AddressPolicy::Private) => is_usable_6(address),
    };
    fits && !METADATA.contains(&address)
}

/// Neither link-local nor metadata: addresses that a configuration may allow.
fn is_usable(address: Ipv4Addr) -> bool {
    let [first, ..] = address.octets();
    // 0.x.x.x is this machine; from 224 on, addresses are multicast or reserved.
    !address.is_link_local() && first != 0 && first < 224 && !METADATA.contains(&address.into())
}

/// An address on the public network.
fn is_public(address: Ipv4Addr) -> bool {
    let [first, second, third, _] = address.octets();
    let special = address.is_loopback()
        || address.is_private()
        || address.is_documentation()
        // Carrier-grade NAT.
        || (first == 100 && (64..128).contains(&second))
        // Protocol assignments, 6to4 relays, benchmarking.
        || (first == 192 && second == 0 && third == 0)
        || (first == 192 && second == 88 && third == 99)
        || (first == 198 && (18..20).contains(&second));
    is_usable(address) && !special
}

/// An address on the public network. Forms that embed another address are not: their
/// destination is unknown.
fn is_public_6(address: Ipv6Addr) -> bool {
    match address.segments() {
        // Teredo and other protocols, documentation, 6to4, documentation.
        [0x2001, second, ..] => second >= 0x0200 && second != 0x0db8,
        [0x2002, ..] => false,
        [0x3fff, second, ..] => second >= 0x1000,
        [first, ..] => first & 0xe000 == 0x2000,
    }
}

fn is_usable_6(address: Ipv6Addr) -> bool {
    let first = address.segments()[0];
    let local = address.is_unspecified() || address.is_multicast() || first & 0xffc0 == 0xfe80;
    !local && embedded_addresses(address).into_iter().flatten().all(is_usable)
}

/// The IPv4 addresses embedded in an IPv6 address.
fn embedded_addresses(address: Ipv6Addr) -> [Option<Ipv4Addr>; 2] {
    let from = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        Some(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 1] => [None, None],
        // Compatible, mapped, translated.
        [0, 0, 0, 0, 0, 0, high, low]
        | [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        // NAT64, with the well-known prefix and with the local one.
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x64, 0xff9b, 1, _, _, _, high, low]
        // ISATAP.
        | [_, _, _, _, 0 | 0x0200, 0x5efe, high, low] => [from(high, low), None],
        // 6to4.
        [0x2002, high, low, ..] => [from(high, low), None],
        // Teredo: the server, and the client with inverted bits.
        [0x2001, 0, high, low, _, _, client_high, client_low] => {
            [from(high, low), from(!client_high, !client_low)]
        }
        [..] => [None, None],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_public_private_or_never_allowed() {
        let table = "
            public  1.1.1.1 8.8.8.8 104.18.6.192 100.63.255.255 100.128.0.1 172.15.0.1 172.32.0.1
            public  192.0.1.1 198.17.0.1 198.20.0.1 223.255.255.255 126.0.0.1 128.0.0.1 11.0.0.1
            public  2606:4700::6812:6c0 2a00:1450:4001::1 2001:4860:4860::8888 2001:200::1 3ffe::1
            private 10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 127.0.0.1 127.255.255.254
            private 100.64.0.1 100.127.255.255 192.0.0.9 192.0.2.1 198.18.0.1 198.51.100.1
            private 203.0.113.9 192.88.99.1 ::1 fd00::1 fc00::1 fec0::1 2001:db8::1 3fff::1 5f00::1
            private ::ffff:127.0.0.1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::127.0.0.1 ::8.8.8.8
            private 64:ff9b::7f00:1 64:ff9b::808:808 64:ff9b:1::a00:1 2002:7f00:1:: 2002:808:808::1
            private 2001:0:808:808::f5ff:fffe 2001:20::1 4000::1 100::1
            never   0.0.0.0 0.1.2.3 169.254.169.254 169.254.0.1 224.0.0.1 239.255.255.255 240.0.0.1
            never   255.255.255.255 100.100.100.200 168.63.129.16 192.0.0.192
            never   :: ff02::1 ff0e::1 fe80::1 febf::1 fe80::a9fe:a9fe fd00:ec2::254 fd20:ce::254
            never   ::ffff:169.254.169.254 ::169.254.169.254 ::ffff:0:169.254.169.254
            never   64:ff9b::a9fe:a9fe 64:ff9b:1::a9fe:a9fe 2002:a9fe:a9fe:: 64:ff9b:1:2:3:4:a9fe:a9fe
            never   2001:0:a9fe:a9fe::1 2001:0:808:808::5601:5601 ::ffff:0.0.0.0 2002::1
            never   ::ffff:100.100.100.200 ::ffff:224.0.0.1 fd00::5efe:a9fe:a9fe
        ";
        for line in table.lines().map(str::trim).filter(|line| !line.is_empty()) {
            let (expected, addresses) = line.split_once(' ').expect("a word and addresses");
            for text in addresses.split_whitespace() {
                let address = text.parse().expect("an address");
                let public = is_allowed(address, AddressPolicy::Public);
                let found = match (public, is_allowed(address, AddressPolicy::Private)) {
                    (true, true) => "public",
                    (false, true) => "private",
                    (false, false) => "never",
                    (true, false) => "public only",
                };
                assert_eq!(found, expected, "{text}");
            }
        }
    }
}
