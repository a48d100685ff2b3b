//! Writes the fields of a request, each followed by a comma.

use std::{cmp::Ordering, fmt::Write as _};

use foxwedge_core::{Format, Profile};

use super::chat_server::ChatServer;
use crate::conversation::{FormatSetting, JsonText, Loss, LossKind, LossLocation, RequestSettings};
use foxwedge_json::{JsonTape, compare_number};

/// Writes the settings of a request in a format.
pub(crate) struct RequestFieldWriter<'w, 's, 'a> {
    pub(crate) settings: &'s RequestSettings<'a>,
    pub(crate) from: Option<Format>,
    pub(crate) profile: Profile,
    pub(crate) to: Format,
    pub(crate) chat_server: ChatServer,
    pub(crate) out: &'w mut String,
    /// Where the fields of the current object start.
    pub(crate) start: usize,
    pub(crate) losses: &'w mut Vec<Loss>,
}

impl RequestFieldWriter<'_, '_, '_> {
    pub(crate) fn record_loss(&mut self, kind: LossKind, note: impl Into<String>) {
        self.losses.push(Loss { kind, location: LossLocation::Request, note: note.into() });
    }

    /// Records that the format does not support a setting.
    pub(crate) fn record_unsupported(&mut self, key: &str) {
        self.record_loss(LossKind::Setting, format!("`{key}` is not supported in this format"));
    }

    /// Records that the format does not support a number, unless it is the default (in thousandths).
    pub(crate) fn record_unsupported_number(
        &mut self,
        key: &'static str,
        value: Option<&str>,
        default: Option<i64>,
    ) {
        if value.is_some_and(|value| default.is_none_or(|default| !is_number(value, default))) {
            self.record_unsupported(setting_name(self.from, key));
        }
    }

    /// Writes a number unless it is the default (in thousandths): models reject some settings even at their default.
    pub(crate) fn write_non_default(&mut self, key: &str, value: Option<&str>, default: i64) {
        let same_format = self.from == Some(self.to);
        self.write_json(key, value.filter(|value| same_format || !is_number(value, default)));
    }

    pub(crate) fn write_key(&mut self, key: &str) {
        let _ = write!(self.out, "\"{key}\":");
    }

    /// Writes a value that is already JSON.
    pub(crate) fn write_json(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.write_key(key);
            self.out.push_str(value);
            self.out.push(',');
        }
    }

    pub(crate) fn write_text(&mut self, key: &str, value: Option<&JsonText<'_>>) {
        if let Some(value) = value {
            self.write_key(key);
            value.write(self.out);
            self.out.push(',');
        }
    }

    pub(crate) fn write_flag(&mut self, key: &str, value: Option<bool>) {
        self.write_json(key, value.map(|value| if value { "true" } else { "false" }));
    }

    /// Writes a string that needs no escapes.
    pub(crate) fn write_plain(&mut self, key: &str, value: &str) {
        let _ = write!(self.out, "\"{key}\":\"{value}\",");
    }

    /// Writes a list of strings.
    pub(crate) fn write_texts(&mut self, key: &str, values: &[JsonText<'_>]) {
        self.write_list(key, |writer| {
            for value in values {
                value.write(writer.out);
                writer.out.push(',');
            }
        });
    }

    /// Writes an object with the fields that `inside` writes; nothing if there are none.
    pub(crate) fn write_object(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.write_container(key, ['{', '}'], inside);
    }

    /// Writes a list of what `inside` writes, each followed by a comma; nothing if it is empty.
    pub(crate) fn write_list(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
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
    pub(crate) fn close_container(&mut self, close: char) {
        if self.out.ends_with(',') {
            self.out.pop();
        }
        self.out.push(close);
    }

    /// Writes a field unchanged.
    pub(crate) fn write_member(&mut self, member: &str) {
        self.out.push_str(member);
        self.out.push(',');
    }

    /// Writes the fields of this object that only the format itself knows. Skips a field that was
    /// already written, because a field with an unexpected value may have been replaced.
    pub(crate) fn write_other_settings(&mut self, within: &str) {
        let (settings, to) = (self.settings, self.to);
        let is_in_object =
            |setting: &&FormatSetting<'_>| setting.wire == to && setting.parent == within;
        for setting in settings.others.iter().filter(is_in_object) {
            if !self.has_key(&setting.key) {
                setting.key.write(self.out);
                self.out.push(':');
                self.write_member(setting.value);
            }
        }
    }

    /// Whether this object already has a field.
    fn has_key(&self, key: &str) -> bool {
        let members = self.out.get(self.start..).unwrap_or_default();
        let body = format!("{{{}}}", members.strip_suffix(',').unwrap_or(members));
        let tape = JsonTape::read(&body);
        tape.is_ok_and(|tape| {
            tape.root(&body).object().is_some_and(|object| object.get(key).is_some())
        })
    }

    /// Writes the stop sequences, as many as the format accepts.
    pub(crate) fn write_stops(&mut self, key: &str, max: usize, accepts: fn(&str) -> bool) {
        let stops = &self.settings.stop_sequences;
        let accepted: Vec<JsonText<'_>> =
            stops.iter().filter(|stop| accepts(stop)).take(max).cloned().collect();
        let lost = stops.len() - accepted.len();
        self.write_texts(key, &accepted);
        if lost > 0 {
            let field = setting_name(self.from, "stop");
            let note = format!("{lost} of the texts in `{field}` are not accepted by this format");
            self.record_loss(LossKind::Setting, note);
        }
    }
}

fn is_number(text: &str, thousandths: i64) -> bool {
    compare_number(text, thousandths) == Some(Ordering::Equal)
}

/// The name of a setting in the source format.
pub(crate) fn setting_name(from: Option<Format>, key: &'static str) -> &'static str {
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
        (Some(Format::Anthropic | Format::GeminiInteractions), "stop") => "stop_sequences",
        (Some(Format::Anthropic), "user") => "metadata.user_id",
        (Some(Format::OpenaiResponses), "response_format") => "text.format",
        (Some(Format::OpenaiResponses), "verbosity") => "text.verbosity",
        _ => key,
    }
}
