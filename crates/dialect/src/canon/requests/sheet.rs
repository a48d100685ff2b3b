//! The fields of a request while they are written: each with a comma behind it.

use std::fmt::Write as _;

use foxwedge_core::{Profile, Wire};

use crate::{
    canon::{Loss, Lost, Setting, Settings, Spot, Words},
    json::Tape,
};

/// A request on its way into a format.
pub(super) struct Sheet<'w, 's, 'a> {
    pub(super) settings: &'s Settings<'a>,
    pub(super) from: Option<Wire>,
    pub(super) profile: Profile,
    pub(super) to: Wire,
    pub(super) out: &'w mut String,
    /// Where the fields of the object begin that is being written.
    pub(super) start: usize,
    pub(super) losses: &'w mut Vec<Loss>,
}

impl Sheet<'_, '_, '_> {
    pub(super) fn lose(&mut self, what: Lost, note: impl Into<String>) {
        self.losses.push(Loss { what, at: Spot::Request, note: note.into() });
    }

    /// Tells that a setting has no place in the format.
    pub(super) fn no_place(&mut self, key: &str) {
        self.lose(Lost::Setting, format!("`{key}` has no place in this format"));
    }

    /// Tells that a number has no place in the format, unless it asks for nothing.
    pub(super) fn lacks(&mut self, key: &'static str, value: Option<&str>, idle: Option<f64>) {
        if value.is_some_and(|value| idle.is_none() || value.parse().ok() != idle) {
            self.no_place(called(self.from, key));
        }
    }

    /// A number that asks for something: models refuse some settings even where they change nothing.
    pub(super) fn asked(&mut self, key: &str, value: Option<&str>, idle: f64) {
        let same = self.from == Some(self.to);
        self.json(key, value.filter(|value| same || value.parse() != Ok(idle)));
    }

    pub(super) fn key(&mut self, key: &str) {
        let _ = write!(self.out, "\"{key}\":");
    }

    /// A value that is JSON already.
    pub(super) fn json(&mut self, key: &str, value: Option<&str>) {
        if let Some(value) = value {
            self.key(key);
            self.out.push_str(value);
            self.out.push(',');
        }
    }

    pub(super) fn words(&mut self, key: &str, value: Option<&Words<'_>>) {
        if let Some(value) = value {
            self.key(key);
            value.write(self.out);
            self.out.push(',');
        }
    }

    pub(super) fn flag(&mut self, key: &str, value: Option<bool>) {
        self.json(key, value.map(|value| if value { "true" } else { "false" }));
    }

    /// A string that needs no escapes.
    pub(super) fn plain(&mut self, key: &str, value: &str) {
        let _ = write!(self.out, "\"{key}\":\"{value}\",");
    }

    /// A list of strings.
    pub(super) fn texts(&mut self, key: &str, values: &[Words<'_>]) {
        self.list(key, |sheet| {
            for value in values {
                value.write(sheet.out);
                sheet.out.push(',');
            }
        });
    }

    /// An object with the fields that are written into it; nothing if there are none.
    pub(super) fn object(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.around(key, ['{', '}'], inside);
    }

    /// A list of what is written into it, each with a comma behind it; nothing if it is empty.
    pub(super) fn list(&mut self, key: &str, inside: impl FnOnce(&mut Self)) {
        self.around(key, ['[', ']'], inside);
    }

    fn around(&mut self, key: &str, [open, close]: [char; 2], inside: impl FnOnce(&mut Self)) {
        let before = self.out.len();
        self.key(key);
        self.out.push(open);
        let outer = std::mem::replace(&mut self.start, self.out.len());
        inside(self);
        let start = std::mem::replace(&mut self.start, outer);
        if self.out.len() == start {
            self.out.truncate(before);
        } else {
            self.close(close);
            self.out.push(',');
        }
    }

    /// Ends an object or a list.
    pub(super) fn close(&mut self, close: char) {
        if self.out.ends_with(',') {
            self.out.pop();
        }
        self.out.push(close);
    }

    /// A field as it stood.
    pub(super) fn member(&mut self, member: &str) {
        self.out.push_str(member);
        self.out.push(',');
    }

    /// The fields of this object that only the format itself knows. None stands there twice: one
    /// that was not as it should be may have been written since.
    pub(super) fn others(&mut self, within: &str) {
        let (settings, to) = (self.settings, self.to);
        let here = |setting: &&Setting<'_>| setting.wire == to && setting.within == within;
        for setting in settings.others.iter().filter(here) {
            if !self.has(&setting.key) {
                setting.key.write(self.out);
                self.out.push(':');
                self.member(setting.value);
            }
        }
    }

    /// Whether a field of this object is written.
    fn has(&self, key: &str) -> bool {
        let members = self.out.get(self.start..).unwrap_or_default();
        let body = format!("{{{}}}", members.strip_suffix(',').unwrap_or(members));
        let tape = Tape::read(&body);
        tape.is_ok_and(|tape| tape.root(&body).object().is_some_and(|all| all.get(key).is_some()))
    }

    /// The texts at which to stop, as many as the format takes.
    pub(super) fn stops(&mut self, key: &str, most: usize, takes: fn(&str) -> bool) {
        let stops = &self.settings.stops;
        let good: Vec<Words<'_>> =
            stops.iter().filter(|stop| takes(stop)).take(most).cloned().collect();
        let lost = stops.len() - good.len();
        self.texts(key, &good);
        if lost > 0 {
            let field = called(self.from, "stop");
            let note = format!("{lost} of the texts in `{field}` are not taken by this format");
            self.lose(Lost::Setting, note);
        }
    }
}

/// What the format that a request comes from calls a setting.
pub(super) fn called(from: Option<Wire>, key: &'static str) -> &'static str {
    match (from, key) {
        (Some(Wire::Gemini | Wire::Bedrock), "top_p") => "topP",
        (Some(Wire::Gemini | Wire::Bedrock), "stop") => "stopSequences",
        (Some(Wire::Gemini), "top_k") => "topK",
        (Some(Wire::Gemini), "presence_penalty") => "presencePenalty",
        (Some(Wire::Gemini), "frequency_penalty") => "frequencyPenalty",
        (Some(Wire::Gemini), "n") => "candidateCount",
        (Some(Wire::Gemini), "response_format") => "responseMimeType",
        (Some(Wire::Bedrock), "response_format") => "outputConfig.textFormat",
        (Some(Wire::Anthropic), "response_format") => "output_config.format",
        (Some(Wire::Anthropic), "stop") => "stop_sequences",
        (Some(Wire::Anthropic), "user") => "metadata.user_id",
        (Some(Wire::OpenaiResponses), "response_format") => "text.format",
        (Some(Wire::OpenaiResponses), "verbosity") => "text.verbosity",
        _ => key,
    }
}
