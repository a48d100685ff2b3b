//! What a repair must keep, may drop and may write. Taken from the input, not from any output.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{HistoryReading, HistorySide, ItemContent};

/// The laws of one vector.
#[derive(Clone, PartialEq, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RepairLaws {
    /// Texts that must survive, each once and in this order. Instructions may move.
    pub texts: Vec<SideText>,
    /// All calls, in order.
    pub calls: Vec<CallLaw>,
    /// Results that must survive, each once, as the result of its call.
    pub results: Vec<KeptResult>,
    /// Texts and results that may vanish: results without a call, second results, copies.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_go: Vec<String>,
    /// Profiles for which texts may be written that were not there: roles or content demand it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_write: Vec<String>,
    /// Profiles for which ids and names of calls may change: they are what is wrong.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub may_rename: Vec<String>,
}

/// A text of one side.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SideText {
    /// The side.
    pub side: HistorySide,
    /// The text, without white space at its ends.
    pub text: String,
}

/// One call of the input.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CallLaw {
    /// Its id, if it has one.
    pub id: Option<String>,
    /// The tool, if it has a name.
    pub name: Option<String>,
    /// Its arguments; `null` if they may have to change.
    pub arguments: Value,
    /// Whether it must stay: it has a real result.
    pub stays: bool,
}

/// A result of the input.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeptResult {
    /// Its call, by its place among the calls.
    pub call: usize,
    /// What the tool returned: every string and number, a line each.
    pub text: String,
}

impl RepairLaws {
    /// Whether a repair for a profile may write texts.
    pub fn allows_text(&self, profile: &str) -> bool {
        self.may_write.iter().any(|other| other == profile)
    }

    /// Whether a repair for a profile may change ids and names.
    pub fn allows_renaming(&self, profile: &str) -> bool {
        self.may_rename.iter().any(|other| other == profile)
    }

    /// The laws of an input: everything that was said stays, and so does every call with a result.
    pub fn of(input: &HistoryReading) -> RepairLaws {
        let mut laws = RepairLaws::default();
        for item in &input.items {
            match &item.content {
                ItemContent::Text(text) if text.trim().is_empty() => {}
                ItemContent::Text(text) => {
                    laws.texts.push(SideText { side: item.side, text: text.trim().to_owned() });
                }
                ItemContent::Call { id, name, arguments, result } => {
                    let result = result.as_ref().filter(|text| !text.is_empty());
                    if let Some(text) = result {
                        let call = laws.calls.len();
                        laws.results.push(KeptResult { call, text: text.clone() });
                    }
                    laws.calls.push(CallLaw {
                        id: id.clone(),
                        name: name.clone(),
                        arguments: arguments.clone(),
                        stays: result.is_some(),
                    });
                }
                ItemContent::StrayResult(text) if text.is_empty() => {}
                ItemContent::StrayResult(text) => laws.may_go.push(text.clone()),
                ItemContent::Other(_) => {}
            }
        }
        laws
    }
}

impl CallLaw {
    /// Whether a call of an output may be this one.
    pub fn matches(&self, name: Option<&str>, arguments: &Value, may_rename: bool) -> bool {
        let same_name = may_rename || self.name.as_deref() == name || self.name.is_none();
        same_name && (self.arguments.is_null() || self.arguments == *arguments)
    }
}
