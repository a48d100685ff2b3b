//! The fields of a request while they are written: each with a comma behind it.

use std::fmt::Write as _;

use foxwedge_core::{Format, Profile};

use crate::{
    json::JsonTape,
    model::{FormatSetting, JsonText, Loss, LossKind, LossLocation, RequestSettings},
};

/// A request on its way into a format.
pub(super) struct RequestFieldWriter<'w, 's, 'a> {
    pub(super) settings: &'s RequestSettings<'a>,
    pub(super) from: Option<Format>,
    pub(super) profile: Profile,
    pub(super) to: Format,
    pub(super) out: &'w mut String,
    /// Where the fields of the object begin that is being written.
    pub(super) start: usize,
    pub(super) losses: &'w mut Vec<Loss>,
}

impl RequestFieldWriter<'_, '_, '_> {
    pub(super) fn record_loss(&mut self, what: LossKind, note: impl Into<String>) {
        self.losses.push(Loss { kind: what, location: LossLocation::Request, note: note.into() });
    }

    /// Tells that a setting has no place in the format.
    pub(super) fn record_unsupported(&mut self, key: &str) {
        self.record_loss(LossKind::Setting, format!("`{key}` has no place in this format"));
    }

    /// Tells that a number has no place in the format, unless it asks for nothing.
    pub(super) fn record_unsupported_number(
        &mut self,
        key: &'static str,
        value: Option<&str>,
        idle: Option<f64>,
    ) {
        if value.is_some_and(|value| idle.is_none() || value.parse().ok() != idle) {
            self.record_unsupported(setting_name(self.from, key));
        }
    }

    /// A number that asks for something: models refuse some settings even where they change nothing.
    pub(super) fn write_non_default(&mut self, key: &str, value: Option<&str>, idle: f64) {
        let same = self.from == Some(self.to);
        self.write_json(key, value.filter(|value| same || value.parse() != Ok(idle)));
    }

    pub(super) fn write_key(&mut self, key: &str) {
        let _ = write!(self.out, "\"{key}\":");
    }

    /// A value that is JSON already.
    pub(super) fn write_json(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.write_key(key);
            self.out.push_str(value);
            self.out.push(',');
        }
    }

    pub(super) fn write_text(&mut self, key: &str, value: Option<&JsonText<'_>>) {
        if let Some(value) = value {
            self.write_key(key);
            value.write(self.out);
            self.out.push(',');
        }
    }

    pub(super) fn write_flag(&mut self, key: &str, value: Option<bool>) {
        self.write_json(key, value.map(|value| if value { "true" } else { "false" }));
    }

    /// A string that needs no escapes.
    pub(super) fn write_plain(&mut self, key: &str, value: &str) {
        let _ = write!(self.out, "\"{key}\":\"{value}\",");
    }

    /// A list of strings.
    pub(super) fn write_texts(&mut self, key: &str, values: &[JsonText<'_>]) {
        self.write_list(key, |sheet| {
            for value in values {
                value.write(sheet.out);
                sheet.out.push(',');
            }
        });
    }

    /// An object with the fields that are written into it; nothing if there are none.
    pub(super) fn write_object(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.write_container(key, ['{', '}'], inside);
    }

    /// A list of what is written into it, each with a comma behind it; nothing if it is empty.
    pub(super) fn write_list(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.write_container(key, ['[', ']'], inside);
    }

    fn write_container(
        &mut self,
        key: &str,
        [open, close]: [char; 2],
        inside: impl FnOnce(&mut Self),
    ) {
        let before = self.out.len();
        self.write_key(key);
        self.out.push(open);
        let outer = std::mem::replace(&mut self.start, self.out.len());
        inside(self);
        let start = std::mem::replace(&mut self.start, outer);
        if self.out.len() == start {
            self.out.truncate(before);
        } else {
            self.close_container(close);
            self.out.push(',');
        }
    }

    /// Ends an object or a list.
    pub(super) fn close_container(&mut self, close: char) {
        if self.out.ends_with(',') {
            self.out.pop();
        }
        self.out.push(close);
    }

    /// A field as it stood.
    pub(super) fn write_member(&mut self, member: &str) {
        self.out.push_str(member);
        self.out.push(',');
    }

    /// The fields of this object that only the format itself knows. None stands there twice: one
    /// that was not as it should be may have been written since.
    pub(super) fn write_other_settings(&mut self, within: &str) {
        let (settings, to) = (self.settings, self.to);
        let here = |setting: &&FormatSetting<'_>| setting.wire == to && setting.parent == within;
        for setting in settings.others.iter().filter(here) {
            if !self.has_key(&setting.key) {
                setting.key.write(self.out);
                self.out.push(':');
                self.write_member(setting.value);
            }
        }
    }

    /// Whether a field of this object is written.
    fn has_key(&self, key: &str) -> bool {
        let members = self.out.get(self.start..).unwrap_or_default();
        let body = format!("{{{}}}", members.strip_suffix(',').unwrap_or(members));
        let tape = JsonTape::read(&body);
        tape.is_ok_and(|tape| tape.root(&body).object().is_some_and(|all| all.get(key).is_some()))
    }

    /// The texts at which to stop, as many as the format takes.
    pub(super) fn write_stops(&mut self, key: &str, most: usize, takes: fn(&str) -> bool) {
        let stops = &self.settings.stop_sequences;
        let good: Vec<JsonText<'_>> =
            stops.iter().filter(|stop| takes(stop)).take(most).cloned().collect();
        let lost = stops.len() - good.len();
        self.write_texts(key, &good);
        if lost > 0 {
            let field = setting_name(self.from, "stop");
            let note = format!("{lost} of the texts in `{field}` are not taken by this format");
            self.record_loss(LossKind::Setting, note);
        }
    }
}

/// What the format that a request comes from calls a setting.
pub(super) fn setting_name(from: Option<Format>, key: &'static str) -> &'static str {
    match (from, key) {
        (Some(Format::Gemini | Format::Bedrock), "top_p") => "topP",
        (Some(Format::Gemini | Format::Bedrock), "stop") => "stopSequences",
        (Some(Format::Gemini), "top_k") => "topK",
        (Some(Format::Gemini), "presence_penalty") => "presencePenalty",
        (Some(Format::Gemini), "frequency_penalty") => "frequencyPenalty",
        (Some(Format::Gemini), "n") => "candidateCount",
        (Some(Format::Gemini), "response_format") => "responseMimeType",
        (Some(Format::Bedrock), "response_format") => "outputConfig.textFormat",
        (Some(Format::Anthropic), "response_format") => "output_config.format",
        (Some(Format::Anthropic), "stop") => "stop_sequences",
        (Some(Format::Anthropic), "user") => "metadata.user_id",
        (Some(Format::OpenaiResponses), "response_format") => "text.format",
        (Some(Format::OpenaiResponses), "verbosity") => "text.verbosity",
        _ => key,
    }
}
