//! Writes reports as JSON.

use foxwedge_core::{Edit, Finding, FixApplicability, RepairLosses, Severity, rules};
#[cfg(any(feature = "conversion", feature = "sessions"))]
use foxwedge_formats::model::LossKind;
use foxwedge_json::escape_into;

/// A JSON object that is being written.
pub(crate) struct ReportObject {
    json: String,
}

impl ReportObject {
    pub(crate) fn new() -> ReportObject {
        ReportObject { json: "{".to_owned() }
    }

    fn key(&mut self, name: &str) {
        if self.json.len() > 1 {
            self.json.push(',');
        }
        self.json.push('"');
        self.json.push_str(name);
        self.json.push_str("\":");
    }

    pub(crate) fn raw(mut self, name: &str, value: impl std::fmt::Display) -> ReportObject {
        self.key(name);
        self.json.push_str(&value.to_string());
        self
    }

    pub(crate) fn text(mut self, name: &str, value: &str) -> ReportObject {
        self.key(name);
        self.json.push('"');
        escape_into(&mut self.json, value);
        self.json.push('"');
        self
    }

    /// A text, or `null`.
    pub(crate) fn optional(self, name: &str, value: Option<&str>) -> ReportObject {
        match value {
            Some(value) => self.text(name, value),
            None => self.raw(name, "null"),
        }
    }

    /// A list of values that are JSON already.
    pub(crate) fn list(
        mut self,
        name: &str,
        values: impl IntoIterator<Item = String>,
    ) -> ReportObject {
        self.key(name);
        self.json.push('[');
        for (index, value) in values.into_iter().enumerate() {
            if index > 0 {
                self.json.push(',');
            }
            self.json.push_str(&value);
        }
        self.json.push(']');
        self
    }

    /// A list of texts.
    pub(crate) fn texts<'t>(
        self,
        name: &str,
        values: impl IntoIterator<Item = &'t str>,
    ) -> ReportObject {
        self.list(name, values.into_iter().map(foxwedge_json::quote))
    }

    pub(crate) fn end(mut self) -> String {
        self.json.push('}');
        self.json
    }
}

pub(crate) fn finding_json(finding: &Finding) -> String {
    let severity = match finding.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let fix = match finding.fix.applicability {
        FixApplicability::None => None,
        other => Some(other.name()),
    };
    ReportObject::new()
        .text("code", &finding.rule.label())
        .text("rule", finding.rule.name)
        .text("severity", severity)
        .text("message", &finding.message)
        .raw("index", finding.location.message)
        .raw("start", finding.location.span.start)
        .raw("end", finding.location.span.end)
        .texts("ids", finding.ids.iter().map(String::as_str))
        .optional("tool", finding.tool.as_deref())
        .optional("fix", fix)
        .end()
}

pub(crate) fn edit_json(edit: &Edit) -> String {
    let code = format!("FW{}", edit.code);
    let rule = rules::find_rule(&code).map(|rule| rule.name);
    ReportObject::new()
        .text("code", &code)
        .optional("rule", rule)
        .text("strategy", edit.strategy.name())
        .raw("index", edit.message)
        .texts("ids", edit.ids.iter().map(String::as_str))
        .text("reason", &edit.note)
        .end()
}

pub(crate) fn repair_losses_json(losses: &RepairLosses) -> String {
    let mut report = ReportObject::new();
    for (name, count) in losses.counts() {
        report = report.raw(&camel_case(name), count);
    }
    report.end()
}

#[cfg(any(feature = "conversion", feature = "sessions"))]
pub(crate) fn loss_json(kind: LossKind, note: &str) -> String {
    ReportObject::new().text("kind", kind.name()).text("note", note).end()
}

/// `texts_removed` → `textsRemoved`
fn camel_case(name: &str) -> String {
    let mut words = name.split('_');
    let mut text = words.next().unwrap_or_default().to_owned();
    for word in words {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        text.push_str(&first.to_ascii_uppercase());
        text.push_str(rest);
    }
    text
}
