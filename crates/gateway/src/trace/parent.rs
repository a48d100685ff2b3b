//! The W3C trace context of a request.

/// The content of a `traceparent` header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct TraceParent {
    /// The trace.
    pub(super) trace: u128,
    /// The calling span.
    pub(super) span: u64,
    /// Whether the trace is sampled.
    pub(super) sampled: bool,
}

impl TraceParent {
    /// Parses a header; `None` if it is invalid.
    pub(super) fn read(text: &str) -> Option<TraceParent> {
        let mut parts = text.split('-');
        let version = parse_hex(parts.next()?, 2)?;
        let trace = parse_hex(parts.next()?, 32)?;
        let span = parse_hex(parts.next()?, 16)?;
        let flags = parse_hex(parts.next()?, 2)?;
        // Later versions may have more fields; this one may not.
        let is_valid_version = version != 0xff && (version != 0 || parts.next().is_none());
        (is_valid_version && trace != 0 && span != 0).then_some(TraceParent {
            trace,
            span: u64::try_from(span).ok()?,
            sampled: flags & 1 == 1,
        })
    }

    /// The header value.
    pub(super) fn to_header(self) -> String {
        format!("00-{:032x}-{:016x}-{:02x}", self.trace, self.span, u8::from(self.sampled))
    }
}

fn parse_hex(text: &str, digits: usize) -> Option<u128> {
    let is_hex = text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    (text.len() == digits && is_hex).then(|| u128::from_str_radix(text, 16).ok()).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_valid_parent_is_parsed_and_an_invalid_one_ignored() {
        let good = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
        let parent = TraceParent::read(good).expect("a parent");
        assert_eq!((parent.to_header().as_str(), parent.sampled), (good, true));
        let later = "01-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-02-more";
        assert_eq!(TraceParent::read(later).map(|parent| parent.sampled), Some(false));
        for bad in [
            "",
            "00",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-+af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319-b7ad6b7169203331-01",
        ] {
            assert_eq!(TraceParent::read(bad), None, "{bad}");
        }
    }
}
