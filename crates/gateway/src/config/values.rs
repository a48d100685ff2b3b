//! Configuration values as text: `30s`, `32MiB`, and names for enumerations.

use std::time::Duration;

use foxwedge_core::{Format, PlaceholderLanguage, Profile, UnansweredPolicy};

use super::{
    BusyPolicy, ContentRecording, GatewayLogFormat, GuardMode, OverflowPolicy, ReplayPolicy,
    TokenScope,
};
use foxwedge_upstream::UpstreamKind;

/// The type of a setting: how its values are written in a file, a variable or a flag.
pub(super) trait ConfigValue {
    /// The values.
    type Value;

    /// What is expected, for error messages.
    fn expected() -> String;

    /// Parses a value.
    fn read(text: &str) -> Option<Self::Value>;

    /// A value as TOML.
    fn to_toml(value: &Self::Value) -> String;

    /// The size of a value, for ranges; `None` if the type has no order.
    fn amount(_: &Self::Value) -> Option<u128> {
        None
    }

    /// The allowed words, if there are only some.
    fn allowed_words() -> Vec<&'static str> {
        Vec::new()
    }
}

/// A value with a fixed set of names.
pub(super) trait WordValue: Copy + PartialEq + 'static {
    /// All names and their values.
    fn words() -> Vec<(&'static str, Self)>;
}

impl<T: WordValue> ConfigValue for T {
    type Value = T;

    fn expected() -> String {
        match T::allowed_words().as_slice() {
            ["true", "false"] => "true or false".to_owned(),
            words => format!("one of `{}`", words.join("`, `")),
        }
    }

    fn read(text: &str) -> Option<T> {
        T::words().into_iter().find(|(name, _)| *name == text).map(|(_, value)| value)
    }

    fn to_toml(value: &T) -> String {
        let entry = T::words().into_iter().find(|(_, known)| known == value);
        match entry.map_or("", |(name, _)| name) {
            name @ ("true" | "false") => name.to_owned(),
            name => quote(name),
        }
    }

    fn allowed_words() -> Vec<&'static str> {
        T::words().into_iter().map(|(name, _)| name).collect()
    }
}

/// A TOML string.
pub(super) fn quote(text: &str) -> String {
    // JSON escapes are valid in TOML.
    serde_json::Value::from(text).to_string()
}

macro_rules! words {
    ($($type:ty: $($word:literal => $value:expr),+;)+) => {
        $(impl WordValue for $type {
            fn words() -> Vec<(&'static str, $type)> {
                vec![$(($word, $value)),+]
            }
        })+
    };
}

words! {
    GuardMode: "off" => GuardMode::Off, "observe" => GuardMode::Observe, "fix" => GuardMode::Fix,
        "strict" => GuardMode::Strict;
    OverflowPolicy: "compact" => OverflowPolicy::Compact, "summarize" => OverflowPolicy::Summarize,
        "pass" => OverflowPolicy::Pass;
    ReplayPolicy: "marked" => ReplayPolicy::Marked, "identical" => ReplayPolicy::Identical, "never" => ReplayPolicy::Never;
    bool: "true" => true, "false" => false;
    ContentRecording: "true" => ContentRecording::Stored, "false" => ContentRecording::Omitted;
    GatewayLogFormat: "auto" => GatewayLogFormat::Auto, "text" => GatewayLogFormat::Text, "json" => GatewayLogFormat::Json, "off" => GatewayLogFormat::Off;
    TokenScope: "user" => TokenScope::User, "admin" => TokenScope::Admin;
    PlaceholderLanguage: "en" => PlaceholderLanguage::English, "zh" => PlaceholderLanguage::Chinese;
    UnansweredPolicy: "answer" => UnansweredPolicy::Answer, "drop-turn" => UnansweredPolicy::DropTurn,
        "drop-call" => UnansweredPolicy::DropCall;
}

impl WordValue for UpstreamKind {
    fn words() -> Vec<(&'static str, UpstreamKind)> {
        UpstreamKind::ALL.map(|kind| (kind.name(), kind)).to_vec()
    }
}

impl WordValue for Profile {
    fn words() -> Vec<(&'static str, Profile)> {
        Profile::ALL.map(|profile| (profile.name(), profile)).to_vec()
    }
}

impl WordValue for Format {
    fn words() -> Vec<(&'static str, Format)> {
        Format::ALL.into_iter().map(|format| (format.name(), format)).collect()
    }
}

/// A count.
impl ConfigValue for usize {
    type Value = usize;

    fn expected() -> String {
        "a whole number".to_owned()
    }

    fn read(text: &str) -> Option<usize> {
        text.replace('_', "").parse().ok()
    }

    fn to_toml(value: &usize) -> String {
        value.to_string()
    }

    fn amount(value: &usize) -> Option<u128> {
        Some(*value as u128)
    }
}

/// A number of bytes.
pub(super) struct ByteSize;

impl ConfigValue for ByteSize {
    type Value = usize;

    fn expected() -> String {
        "a size, such as \"512KiB\" or \"32MiB\", or a number of bytes".to_owned()
    }

    fn read(text: &str) -> Option<usize> {
        let (number, unit) = split_number(text.trim())?;
        let unit = match unit.trim_start() {
            "" | "B" => 1,
            "kB" | "KB" => 1_000,
            "MB" => 1_000_000,
            "GB" => 1_000_000_000,
            "KiB" => 1 << 10,
            "MiB" => 1 << 20,
            "GiB" => 1 << 30,
            _ => return None,
        };
        number.checked_mul(unit)?.try_into().ok()
    }

    fn to_toml(bytes: &usize) -> String {
        let is_multiple = |unit: usize| *bytes > 0 && bytes.is_multiple_of(unit);
        match [("GiB", 30), ("MiB", 20), ("KiB", 10)]
            .into_iter()
            .find(|(_, bits)| is_multiple(1 << bits))
        {
            Some((unit, bits)) => format!("\"{}{unit}\"", bytes >> bits),
            None => bytes.to_string(),
        }
    }

    fn amount(bytes: &usize) -> Option<u128> {
        Some(*bytes as u128)
    }
}

/// The maximum: a hundred years.
const LONGEST_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);

impl ConfigValue for Duration {
    type Value = Duration;

    fn expected() -> String {
        "a duration with a unit, such as \"500ms\", \"30s\", \"10m\", \"24h\" or \"7d\"".to_owned()
    }

    fn read(text: &str) -> Option<Duration> {
        let mut rest = text.trim();
        let mut total = Duration::ZERO;
        loop {
            let (number, after) = split_number(rest)?;
            let end = after.find(|c: char| c.is_ascii_digit()).unwrap_or(after.len());
            let (unit, next) = after.split_at_checked(end)?;
            let unit = match unit.trim() {
                "ms" => 1,
                "s" => 1_000,
                "m" => 60_000,
                "h" => 3_600_000,
                "d" => 86_400_000,
                _ => return None,
            };
            total = total.checked_add(Duration::from_millis(number.checked_mul(unit)?))?;
            rest = next;
            if rest.is_empty() {
                return Some(total).filter(|total| *total <= LONGEST_DURATION);
            }
        }
    }

    fn to_toml(value: &Duration) -> String {
        let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let millis = value.as_millis();
        let is_multiple = |(_, unit): &(&str, u128)| millis.is_multiple_of(*unit) && millis > 0;
        match units.into_iter().find(is_multiple) {
            // A common value for session lifetimes, usually written as 24h.
            Some(("d", _)) if millis == 86_400_000 => "\"24h\"".to_owned(),
            Some((name, unit)) => format!("\"{}{name}\"", millis / unit),
            None if millis == 0 => "\"0s\"".to_owned(),
            None => format!("\"{millis}ms\""),
        }
    }

    fn amount(value: &Duration) -> Option<u128> {
        Some(value.as_millis())
    }
}

impl ConfigValue for BusyPolicy {
    type Value = BusyPolicy;

    fn expected() -> String {
        "`refuse`, or a duration with a unit, such as \"60s\"".to_owned()
    }

    fn read(text: &str) -> Option<BusyPolicy> {
        match text {
            "refuse" => Some(BusyPolicy::Refuse),
            text => Duration::read(text).map(BusyPolicy::Wait),
        }
    }

    fn to_toml(value: &BusyPolicy) -> String {
        match value {
            BusyPolicy::Refuse => quote("refuse"),
            BusyPolicy::Wait(time) => Duration::to_toml(time),
        }
    }
}

/// Splits leading digits from the rest.
fn split_number(text: &str) -> Option<(u64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (digits, rest) = text.split_at_checked(end)?;
    Some((digits.parse().ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_and_sizes_are_parsed_and_formatted() {
        let times = [
            ("30s", Some("\"30s\"")),
            ("90s", Some("\"90s\"")),
            ("1m30s", Some("\"90s\"")),
            ("60s", Some("\"1m\"")),
            ("24h", Some("\"24h\"")),
            ("1d", Some("\"24h\"")),
            ("48h", Some("\"2d\"")),
            ("1500ms", Some("\"1500ms\"")),
            (" 10 m ", Some("\"10m\"")),
            ("0s", Some("\"0s\"")),
            ("30", None),
            ("", None),
            ("s", None),
            ("-1s", None),
            ("1.5s", None),
            ("1w", None),
            ("40000d", None),
            ("99999999999999999999s", None),
            ("18446744073709551615d", None),
        ];
        for (text, expected) in times {
            let shown = Duration::read(text).map(|time| Duration::to_toml(&time));
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
        let sizes = [
            ("32MiB", Some("\"32MiB\"")),
            ("64 KiB", Some("\"64KiB\"")),
            ("65536", Some("\"64KiB\"")),
            ("1MB", Some("1000000")),
            ("1000", Some("1000")),
            ("2048MiB", Some("\"2GiB\"")),
            ("0", Some("0")),
            ("32mib", None),
            ("-1", None),
            ("MiB", None),
            ("18446744073709551615GiB", None),
        ];
        for (text, expected) in sizes {
            let shown = ByteSize::read(text).map(|size| ByteSize::to_toml(&size));
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_are_matched_exactly() {
        assert_eq!(GuardMode::read("fix"), Some(GuardMode::Fix));
        assert_eq!(GuardMode::read("Fix"), None);
        assert_eq!(GuardMode::expected(), "one of `off`, `observe`, `fix`, `strict`");
        assert_eq!(BusyPolicy::read("refuse"), Some(BusyPolicy::Refuse));
        let busy = BusyPolicy::read("1m").map(|busy| BusyPolicy::to_toml(&busy));
        assert_eq!(busy.as_deref(), Some("\"1m\""));
        assert_eq!(
            (bool::expected().as_str(), bool::to_toml(&true).as_str()),
            ("true or false", "true")
        );
        assert_eq!(quote("a\"b\\\n"), r#""a\"b\\\n""#);
        for mode in [GuardMode::Off, GuardMode::Observe, GuardMode::Fix, GuardMode::Strict] {
            assert_eq!(GuardMode::read(mode.name()), Some(mode));
        }
    }
}
