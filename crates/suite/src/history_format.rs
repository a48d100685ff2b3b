//! The formats of vectors, and reading one as a draft.

use foxwedge_core::{CheckOptions, Draft, Format, Policy, Profile, RuleSet, TailPolicy};
use foxwedge_formats::{outline_options, read};
use foxwedge_sessions::{SessionAgent, readable_text};
use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error};

/// The profile of the AI SDK's message lists: what the SDK itself demands of them.
const AI_SDK: &str = "ai-sdk";

/// The format of a history.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum HistoryFormat {
    /// The format of a provider.
    Provider(Format),
    /// `UIMessage[]` of the AI SDK.
    AiSdkUi,
    /// `ModelMessage[]` of the AI SDK.
    AiSdkModel,
}

impl HistoryFormat {
    /// Every format.
    pub fn all() -> impl Iterator<Item = HistoryFormat> {
        let lists = [HistoryFormat::AiSdkUi, HistoryFormat::AiSdkModel];
        Format::ALL.map(HistoryFormat::Provider).into_iter().chain(lists)
    }

    /// The name in vectors and questions.
    pub fn name(self) -> &'static str {
        match self {
            HistoryFormat::Provider(format) => format.name(),
            HistoryFormat::AiSdkUi => "ai-sdk-ui",
            HistoryFormat::AiSdkModel => "ai-sdk-model",
        }
    }

    /// The format of that name.
    pub fn parse(name: &str) -> Option<HistoryFormat> {
        match name {
            "ai-sdk-ui" => Some(HistoryFormat::AiSdkUi),
            "ai-sdk-model" => Some(HistoryFormat::AiSdkModel),
            _ => Format::parse(name).map(HistoryFormat::Provider),
        }
    }

    /// The format that a profile's provider reads.
    pub fn of_profile(profile: &str) -> Option<HistoryFormat> {
        match Profile::parse(profile)? {
            Profile::Mistral | Profile::Deepseek => {
                Some(HistoryFormat::Provider(Format::OpenaiChat))
            }
            Profile::Strict => None,
            own => Format::parse(own.name()).map(HistoryFormat::Provider),
        }
    }

    /// The profiles of providers that read the format; the first is the format's own.
    pub fn profiles(self) -> Vec<&'static str> {
        match self {
            HistoryFormat::Provider(Format::OpenaiChat) => {
                vec!["openai-chat", "mistral", "deepseek"]
            }
            HistoryFormat::Provider(Format::OpenaiResponses) => {
                vec!["openai-responses", "deepseek"]
            }
            HistoryFormat::Provider(format) => vec![format.name()],
            HistoryFormat::AiSdkUi | HistoryFormat::AiSdkModel => vec![AI_SDK],
        }
    }

    fn list(self) -> Option<SessionAgent> {
        match self {
            HistoryFormat::Provider(_) => None,
            HistoryFormat::AiSdkUi => Some(SessionAgent::AiSdkUi),
            HistoryFormat::AiSdkModel => Some(SessionAgent::AiSdkModel),
        }
    }
}

impl Serialize for HistoryFormat {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for HistoryFormat {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<HistoryFormat, D::Error> {
        let name = String::deserialize(deserializer)?;
        HistoryFormat::parse(&name).ok_or_else(|| D::Error::custom(format!("no format `{name}`")))
    }
}

/// A history's format together with the rules of one profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileRules {
    /// The format.
    pub format: HistoryFormat,
    options: CheckOptions,
}

impl ProfileRules {
    /// The rules of a profile for histories of a format.
    pub fn new(format: HistoryFormat, profile: &str) -> Option<ProfileRules> {
        let options = match format.list() {
            Some(list) => {
                let mut options = CheckOptions::for_profile(list.profile());
                list.restrict_rules(&mut options);
                (profile == AI_SDK).then_some(options)?
            }
            None => CheckOptions::for_profile(Profile::parse(profile)?),
        };
        Some(ProfileRules { format, options })
    }

    /// The same rules, for a history whose last calls may still be running.
    pub fn with_running_tail(mut self) -> ProfileRules {
        self.options.policy = Policy { tail: TailPolicy::Pending, ..self.options.policy };
        self
    }

    /// The same format under rules that no provider demands, but some program does.
    pub fn strictest(mut self) -> ProfileRules {
        if self.format.list().is_none() {
            self.options.profile = Profile::Strict;
            self.options.rules = RuleSet::of(Profile::Strict);
        }
        self
    }

    /// The options of checks and repairs.
    pub fn options(&self) -> &CheckOptions {
        &self.options
    }

    /// Reads a text and passes the draft on.
    ///
    /// # Errors
    /// If the text holds no history in this format.
    pub fn with_draft<T>(
        &self,
        text: &str,
        work: impl FnOnce(&Draft<'_>) -> T,
    ) -> Result<T, String> {
        let outline = outline_options(self.options.profile);
        match (self.format, self.format.list()) {
            (HistoryFormat::Provider(format), _) => {
                let document = read(text, format, outline).map_err(|error| error.to_string())?;
                Ok(work(&document.draft))
            }
            (_, Some(list)) => {
                let text = readable_text(text.as_bytes()).map_err(|error| error.to_string())?;
                let session = foxwedge_sessions::read(&text, list, outline);
                Ok(work(session.map_err(|error| error.to_string())?.draft()))
            }
            (_, None) => Err("the format is not known".to_owned()),
        }
    }

    /// Repairs a text under the default policy.
    ///
    /// # Errors
    /// If the text holds no history in this format.
    pub fn repair(&self, text: &str) -> Result<String, String> {
        let outline = outline_options(self.options.profile);
        match (self.format, self.format.list()) {
            (HistoryFormat::Provider(format), _) => {
                let document = read(text, format, outline).map_err(|error| error.to_string())?;
                Ok(document.fix(&self.options).0.to_string())
            }
            (_, Some(list)) => {
                let text = readable_text(text.as_bytes()).map_err(|error| error.to_string())?;
                let session = foxwedge_sessions::read(&text, list, outline);
                let session = session.map_err(|error| error.to_string())?;
                let (rewritten, _) = session.fix(&self.options);
                let bytes: Vec<u8> = rewritten.pieces().flatten().copied().collect();
                String::from_utf8(bytes).map_err(|error| error.to_string())
            }
            (_, None) => Err("the format is not known".to_owned()),
        }
    }
}
