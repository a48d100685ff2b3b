//! Reads the options of a call.

use std::borrow::Cow;

use foxwedge_core::{
    CheckOptions, Format, OrphanPolicy, PlaceholderLanguage, Policy, Profile, TailPolicy,
    UnansweredPolicy, rules,
};
use foxwedge_formats::ReadError;
use foxwedge_json::{JsonObject, JsonTape, JsonValue};

/// Why a call failed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallError {
    /// What kind of mistake it is, for programs: `invalid-options`, `unknown-operation`,
    /// `unknown-format`, `unreadable`, `cannot-compact`, `unknown-call`, `left-out`.
    pub kind: &'static str,
    /// One sentence for people.
    pub message: String,
    /// The byte of the document where reading stopped.
    pub at: Option<usize>,
}

impl CallError {
    pub(crate) fn new(kind: &'static str, message: impl Into<String>) -> CallError {
        CallError { kind, message: message.into(), at: None }
    }

    pub(crate) fn unreadable(error: ReadError) -> CallError {
        CallError { kind: "unreadable", message: error.to_string(), at: Some(error.at()) }
    }

    /// No format is recognized. A list of another library is named.
    #[cfg(any(feature = "conversion", feature = "compaction", feature = "sessions"))]
    pub(crate) fn unknown_format(source: &str, message: &str) -> CallError {
        let foreign = foxwedge_formats::foreign_list(source);
        let foreign =
            foreign.and_then(|list| Some(format!("{}; {}", list.describe(), list.advice()?)));
        CallError::new("unknown-format", foreign.unwrap_or_else(|| message.to_owned()))
    }

    /// The error as a JSON object.
    pub fn to_json(&self) -> String {
        let at = self.at.map_or("null".to_owned(), |at| at.to_string());
        let (kind, message) =
            (foxwedge_json::quote(self.kind), foxwedge_json::quote(&self.message));
        format!("{{\"error\":{{\"kind\":{kind},\"message\":{message},\"at\":{at}}}}}")
    }
}

impl std::fmt::Display for CallError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for CallError {}

/// The JSON object of options.
pub(crate) struct CallOptions<'a> {
    source: &'a str,
    tape: Option<JsonTape>,
}

impl<'a> CallOptions<'a> {
    /// Reads options, which may only have these names and those of repairs.
    pub(crate) fn with_repairs(source: &'a str, names: &[&str]) -> Result<Self, CallError> {
        const REPAIRS: [&str; 5] = ["unanswered", "orphans", "tail", "unsafeFixes", "language"];
        CallOptions::read(source, &[names, &REPAIRS].concat())
    }

    /// Reads options, which may only have these names.
    pub(crate) fn read(source: &'a str, names: &[&str]) -> Result<CallOptions<'a>, CallError> {
        if source.trim().is_empty() {
            return Ok(CallOptions { source, tape: None });
        }
        let invalid = |message: String| CallError::new("invalid-options", message);
        let tape = JsonTape::read(source)
            .map_err(|error| invalid(format!("the options are not JSON: {}", error.message())))?;
        let options = CallOptions { source, tape: Some(tape) };
        let Some(object) = options.object() else {
            return Err(invalid("the options are not an object".to_owned()));
        };
        for (name, _) in object.fields() {
            if !names.contains(&&*name) {
                let known = names.join(", ");
                return Err(invalid(format!("no option `{name}`; known are {known}")));
            }
        }
        Ok(options)
    }

    fn object(&self) -> Option<JsonObject<'_, 'a>> {
        self.tape.as_ref()?.root(self.source).object()
    }

    fn get(&self, name: &str) -> Option<JsonValue<'_, 'a>> {
        self.object()?.get(name).filter(|value| !value.is_null())
    }

    /// A text; an error if the option is something else.
    pub(crate) fn text(&self, name: &str) -> Result<Option<Cow<'a, str>>, CallError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.text().map(Some).ok_or_else(|| wrong_type(name, "a text"))
    }

    /// A list of texts; empty if the option is missing.
    #[cfg(feature = "follow")]
    pub(crate) fn texts(&self, name: &str) -> Result<Vec<String>, CallError> {
        let Some(list) = self.get(name) else { return Ok(Vec::new()) };
        if !list.is_list() {
            return Err(wrong_type(name, "a list of texts"));
        }
        let text = |value: JsonValue<'_, '_>| value.text().map(Cow::into_owned);
        let texts: Option<Vec<String>> = list.list().map(text).collect();
        texts.ok_or_else(|| wrong_type(name, "a list of texts"))
    }

    /// A whole number.
    #[cfg(any(feature = "compaction", feature = "responses"))]
    pub(crate) fn count(&self, name: &str) -> Result<Option<u64>, CallError> {
        let Some(value) = self.get(name) else { return Ok(None) };
        value.count().map(Some).ok_or_else(|| wrong_type(name, "a whole number"))
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, name: &str) -> Result<bool, CallError> {
        match self.get(name).map(JsonValue::raw) {
            None | Some("false") => Ok(false),
            Some("true") => Ok(true),
            Some(_) => Err(wrong_type(name, "true or false")),
        }
    }

    /// A name of a list, as `parse` knows it.
    pub(crate) fn named<T>(
        &self,
        name: &str,
        parse: impl Fn(&str) -> Option<T>,
    ) -> Result<Option<T>, CallError> {
        let Some(text) = self.text(name)? else { return Ok(None) };
        let unknown = || {
            let known = known_values(name);
            let known = if known.is_empty() { known } else { format!("; known are {known}") };
            CallError::new("invalid-options", format!("no {name} `{text}`{known}"))
        };
        parse(&text).map(Some).ok_or_else(unknown)
    }

    pub(crate) fn format(&self, name: &str) -> Result<Option<Format>, CallError> {
        self.named(name, Format::parse)
    }

    /// What to check and how to repair it.
    pub(crate) fn check_options(&self, default: Profile) -> Result<CheckOptions, CallError> {
        let profile = self.named("profile", Profile::parse)?.unwrap_or(default);
        let mut options = CheckOptions::for_profile(profile);
        options.policy = self.policy()?;
        for rule in self.ignored_rules()? {
            options.rules.remove(rule);
        }
        Ok(options)
    }

    pub(crate) fn policy(&self) -> Result<Policy, CallError> {
        let unanswered = self.named("unanswered", |name| {
            use UnansweredPolicy::{Answer, DropCall, DropTurn};
            [Answer, DropCall, DropTurn].into_iter().find(|policy| policy.name() == name)
        })?;
        let orphans = self.named("orphans", |name| match name {
            "quote" => Some(OrphanPolicy::Quote),
            "drop" => Some(OrphanPolicy::Drop),
            _ => None,
        })?;
        let tail = self.named("tail", |name| match name {
            "dead" => Some(TailPolicy::Dead),
            "pending" => Some(TailPolicy::Pending),
            _ => None,
        })?;
        let language = self.named("language", |name| match name {
            "en" => Some(PlaceholderLanguage::English),
            "zh" => Some(PlaceholderLanguage::Chinese),
            _ => None,
        })?;
        Ok(Policy {
            unanswered: unanswered.unwrap_or_default(),
            orphans: orphans.unwrap_or_default(),
            tail: tail.unwrap_or_default(),
            allow_unsafe: self.flag("unsafeFixes")?,
            language: language.unwrap_or_default(),
        })
    }

    fn ignored_rules(&self) -> Result<Vec<u16>, CallError> {
        let Some(list) = self.get("ignore") else { return Ok(Vec::new()) };
        if !list.is_list() {
            return Err(wrong_type("ignore", "a list of rules"));
        }
        let rule = |value: JsonValue<'_, '_>| {
            let name = value.text().unwrap_or(Cow::Borrowed(value.raw()));
            let rule = rules::find_rule(&name).map(|rule| rule.code);
            rule.ok_or_else(|| CallError::new("invalid-options", format!("no rule `{name}`")))
        };
        list.list().map(rule).collect()
    }
}

/// The values that an option may have, if they are a short list.
fn known_values(option: &str) -> String {
    match option {
        "profile" => Profile::ALL.map(Profile::name).join(", "),
        "format" | "from" | "to" => Format::ALL.map(Format::name).join(", "),
        "unanswered" => "answer, drop-turn, drop-call".to_owned(),
        "orphans" => "quote, drop".to_owned(),
        "tail" => "dead, pending".to_owned(),
        "language" => "en, zh".to_owned(),
        _ => String::new(),
    }
}

fn wrong_type(name: &str, expected: &str) -> CallError {
    CallError::new("invalid-options", format!("the option `{name}` must be {expected}"))
}
