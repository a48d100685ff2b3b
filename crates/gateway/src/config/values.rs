//! Configuration values as text: `30s`, `32MiB`, and names for enumerations.

use std::time::Duration;

use foxwedge_core::{Format, PlaceholderLanguage, Profile, UnansweredPolicy};

use super::{
    BusyPolicy, ContentRecording, GatewayLogFormat, GuardMode, OverflowPolicy, RepairRetry,
    ReplayPolicy, RunRecording, TokenScope,
};
use foxwedge_upstream::UpstreamKind;

/// A value that can be set in a file, a variable or a flag.
pub(super) trait ConfigValue: Sized {
    /// What is expected, for error messages.
    fn expected() -> String;

    /// Parses the value.
    fn read(text: &str) -> Option<Self>;

    /// The value as TOML.
    fn to_toml(&self) -> String;
}

/// A value with a fixed set of names.
pub(super) trait WordValue: Copy + PartialEq + 'static {
    /// All names and their values.
    fn words() -> Vec<(&'static str, Self)>;
}

impl<T: WordValue> ConfigValue for T {
    fn expected() -> String {
        let names: Vec<String> = T::words().iter().map(|(name, _)| format!("`{name}`")).collect();
        format!("one of {}", names.join(", "))
    }

    fn read(text: &str) -> Option<T> {
        T::words().into_iter().find(|(name, _)| *name == text).map(|(_, value)| value)
    }

    fn to_toml(&self) -> String {
        let entry = T::words().into_iter().find(|(_, value)| value == self);
        quote(entry.map_or("", |(name, _)| name))
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
    RepairRetry: "once" => RepairRetry::Once, "never" => RepairRetry::Never;
    ReplayPolicy: "marked" => ReplayPolicy::Marked, "identical" => ReplayPolicy::Identical, "never" => ReplayPolicy::Never;
    RunRecording: "all" => RunRecording::All, "none" => RunRecording::None;
    ContentRecording: "left" => ContentRecording::Omitted, "kept" => ContentRecording::Stored;
    GatewayLogFormat: "text" => GatewayLogFormat::Text, "json" => GatewayLogFormat::Json, "off" => GatewayLogFormat::Off;
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

/// The formats that work over HTTP with a key. Bedrock requires signed requests.
impl WordValue for Format {
    fn words() -> Vec<(&'static str, Format)> {
        let formats = Format::ALL.into_iter().filter(|format| *format != Format::Bedrock);
        formats.map(|format| (format.name(), format)).collect()
    }
}

/// A count.
impl ConfigValue for usize {
    fn expected() -> String {
        "a whole number".to_owned()
    }

    fn read(text: &str) -> Option<usize> {
        text.replace('_', "").parse().ok()
    }

    fn to_toml(&self) -> String {
        self.to_string()
    }
}

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct ByteSize(pub(super) usize);

impl ConfigValue for ByteSize {
    fn expected() -> String {
        "a size, as \"512KiB\" or \"32MiB\", or a number of bytes".to_owned()
    }

    fn read(text: &str) -> Option<ByteSize> {
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
        number.checked_mul(unit)?.try_into().ok().map(ByteSize)
    }

    fn to_toml(&self) -> String {
        let is_multiple = |unit: usize| self.0 > 0 && self.0.is_multiple_of(unit);
        match [("GiB", 30), ("MiB", 20), ("KiB", 10)]
            .into_iter()
            .find(|(_, bits)| is_multiple(1 << bits))
        {
            Some((unit, bits)) => format!("\"{}{unit}\"", self.0 >> bits),
            None => self.0.to_string(),
        }
    }
}

/// The maximum: a hundred years.
const LONGEST_DURATION: Duration = Duration::from_secs(100 * 365 * 86_400);

impl ConfigValue for Duration {
    fn expected() -> String {
        "a time with its unit, as \"500ms\", \"30s\", \"10m\", \"24h\" or \"7d\"".to_owned()
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

    fn to_toml(&self) -> String {
        let units = [("d", 86_400_000), ("h", 3_600_000), ("m", 60_000), ("s", 1_000)];
        let millis = self.as_millis();
        let is_multiple = |(_, unit): &(&str, u128)| millis.is_multiple_of(*unit) && millis > 0;
        match units.into_iter().find(is_multiple) {
            // A common value for session lifetimes, usually written as 24h.
            Some(("d", _)) if millis == 86_400_000 => "\"24h\"".to_owned(),
            Some((name, unit)) => format!("\"{}{name}\"", millis / unit),
            None if millis == 0 => "\"0s\"".to_owned(),
            None => format!("\"{millis}ms\""),
        }
    }
}

impl ConfigValue for BusyPolicy {
    fn expected() -> String {
        "`refuse`, or how long to wait, as \"60s\"".to_owned()
    }

    fn read(text: &str) -> Option<BusyPolicy> {
        match text {
            "refuse" => Some(BusyPolicy::Refuse),
            text => Duration::read(text).map(BusyPolicy::Wait),
        }
    }

    fn to_toml(&self) -> String {
        match self {
            BusyPolicy::Refuse => quote("refuse"),
            BusyPolicy::Wait(time) => time.to_toml(),
        }
    }
}

/// A boolean, as in `bare = true`.
pub(super) struct BoolValue(pub(super) bool);

impl ConfigValue for BoolValue {
    fn expected() -> String {
        "true or false".to_owned()
    }

    fn read(text: &str) -> Option<BoolValue> {
        text.parse().ok().map(BoolValue)
    }

    fn to_toml(&self) -> String {
        self.0.to_string()
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
            let shown = Duration::read(text).map(|time| time.to_toml());
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
            let shown = ByteSize::read(text).map(|size| size.to_toml());
            assert_eq!(shown.as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn names_are_matched_exactly() {
        assert_eq!(GuardMode::read("fix"), Some(GuardMode::Fix));
        assert_eq!(GuardMode::read("Fix"), None);
        assert_eq!(GuardMode::expected(), "one of `off`, `observe`, `fix`, `strict`");
        assert_eq!(Format::read("bedrock"), None);
        assert_eq!(BusyPolicy::read("refuse"), Some(BusyPolicy::Refuse));
        assert_eq!(BusyPolicy::read("1m").map(|busy| busy.to_toml()).as_deref(), Some("\"1m\""));
        assert_eq!(quote("a\"b\\\n"), r#""a\"b\\\n""#);
        for mode in [GuardMode::Off, GuardMode::Observe, GuardMode::Fix, GuardMode::Strict] {
            assert_eq!(GuardMode::read(mode.name()), Some(mode));
        }
    }
}
