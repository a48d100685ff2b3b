//! `explain` and `rules`.

use foxwedge_core::{explain as explain_text, explain_other, rules as all_rules};

use crate::{CallError, CallReply, options::CallOptions, report::ReportObject};

/// What an error text of a provider means.
pub(crate) fn explain(text: &str, options: &str) -> Result<CallReply, CallError> {
    CallOptions::read(options, &[])?;
    let report = match (explain_text(text), explain_other(text)) {
        (Some(found), _) => {
            let code = format!("FW{}", found.code);
            let report = ReportObject::new()
                .raw("known", true)
                .text("code", &code)
                .optional("rule", all_rules::find_rule(&code).map(|rule| rule.name))
                .text("provider", found.provider)
                .text("advice", found.advice)
                .texts("ids", found.ids);
            match found.message_index {
                Some(index) => report.raw("index", index),
                None => report.raw("index", "null"),
            }
        }
        (None, Some(other)) => ReportObject::new()
            .raw("known", true)
            .raw("code", "null")
            .text("provider", other.provider)
            .text("advice", other.advice),
        (None, None) => ReportObject::new().raw("known", false),
    };
    Ok(CallReply { report: report.end(), document: None })
}

/// Every rule.
pub(crate) fn rules(options: &str) -> Result<CallReply, CallError> {
    CallOptions::read(options, &[])?;
    let rules = all_rules::ALL.iter().map(|rule| {
        ReportObject::new()
            .text("code", &rule.label())
            .text("rule", rule.name)
            .text("summary", rule.summary)
            .end()
    });
    let report = ReportObject::new().list("rules", rules).end();
    Ok(CallReply { report, document: None })
}
