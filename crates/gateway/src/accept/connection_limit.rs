//! Limits the number of connections, in total and per address.

use std::{
    collections::HashMap,
    net::{IpAddr, Ipv6Addr},
    sync::{Arc, Mutex, PoisonError},
};

use crate::metrics::ConnectionRefusal;

/// Counts connections against the limits.
#[derive(Debug)]
pub(super) struct ConnectionLimit {
    total: usize,
    per_address: usize,
    counts: Mutex<ConnectionCounts>,
}

#[derive(Debug, Default)]
struct ConnectionCounts {
    all: usize,
    by_address: HashMap<IpAddr, usize>,
}

/// One counted connection. Dropping it frees its place.
#[derive(Debug)]
pub(super) struct ConnectionPermit {
    limit: Arc<ConnectionLimit>,
    /// `None` for loopback, which has no per-address limit: a local proxy hides all its clients.
    address: Option<IpAddr>,
}

impl ConnectionLimit {
    pub(super) fn new(total: usize, per_address: usize) -> ConnectionLimit {
        ConnectionLimit { total, per_address, counts: Mutex::default() }
    }

    pub(super) fn take(
        self: &Arc<ConnectionLimit>,
        address: IpAddr,
    ) -> Result<ConnectionPermit, ConnectionRefusal> {
        let address = counted_address(address);
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        if counts.all >= self.total {
            return Err(ConnectionRefusal::Total);
        }
        if let Some(address) = address {
            let count = counts.by_address.entry(address).or_default();
            if *count >= self.per_address {
                return Err(ConnectionRefusal::PerAddress);
            }
            *count += 1;
        }
        counts.all += 1;
        Ok(ConnectionPermit { limit: self.clone(), address })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut counts = self.limit.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.all = counts.all.saturating_sub(1);
        if let Some(address) = self.address
            && let Some(count) = counts.by_address.get_mut(&address)
        {
            *count -= 1;
            if *count == 0 {
                counts.by_address.remove(&address);
            }
        }
    }
}

/// The address to count. IPv6 customers have at least a /64, so the last 64 bits are cleared.
fn counted_address(address: IpAddr) -> Option<IpAddr> {
    match address.to_canonical() {
        address if address.is_loopback() => None,
        IpAddr::V4(address) => Some(address.into()),
        IpAddr::V6(address) => {
            let network = u128::from(address) >> 64 << 64;
            Some(Ipv6Addr::from(network).into())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_counted_in_total_and_per_address() {
        let limit = Arc::new(ConnectionLimit::new(4, 1));
        let take = |address: &str| limit.take(address.parse().expect("an address"));
        let first = take("192.0.2.1").expect("the first of an address");
        let table = [
            ("192.0.2.1", Some(ConnectionRefusal::PerAddress)),
            ("::ffff:192.0.2.1", Some(ConnectionRefusal::PerAddress)),
            ("2001:db8::1", None),
            ("2001:db8::2", Some(ConnectionRefusal::PerAddress)),
            ("2001:db8:0:1::2", None),
            ("127.0.0.1", None),
            ("127.0.0.1", Some(ConnectionRefusal::Total)),
        ];
        let mut permits = Vec::new();
        for (address, refusal) in table {
            match take(address) {
                Ok(permit) => {
                    assert_eq!(refusal, None, "{address}");
                    permits.push(permit);
                }
                Err(reason) => assert_eq!(Some(reason), refusal, "{address}"),
            }
        }
        drop(first);
        assert!(take("192.0.2.1").is_ok());
        permits.clear();
        let counts = limit.counts.lock().expect("nobody panicked");
        assert_eq!((counts.all, counts.by_address.len()), (0, 0));
    }
}
