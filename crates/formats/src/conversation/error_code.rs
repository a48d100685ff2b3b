//! The code of a provider error.

use std::{borrow::Cow, fmt, ops::Deref};

use super::JsonText;
use foxwedge_json::{JsonObject, JsonShape};

/// The provider's error code. A copy of the fields around it goes to the other format of the same
/// provider.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ProviderErrorCode<'a> {
    /// The most specific name in the error.
    name: JsonText<'a>,
    /// The fields of the error, if OpenAI's formats can repeat them.
    openai: Option<Box<OpenaiErrorFields<'a>>>,
}

/// The fields of an error in OpenAI's formats as JSON, where they are strings or numbers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct OpenaiErrorFields<'a> {
    /// `type`.
    pub(crate) kind: Option<Cow<'a, str>>,
    /// `param`.
    pub(crate) param: Option<Cow<'a, str>>,
    /// `code`.
    pub(crate) code: Option<Cow<'a, str>>,
}

impl<'a> OpenaiErrorFields<'a> {
    /// Reads the fields of an error.
    pub(crate) fn read(error: &JsonObject<'_, 'a>) -> OpenaiErrorFields<'a> {
        let field = |key| {
            let value = error.get(key)?;
            let is_plain = matches!(value.shape(), JsonShape::String | JsonShape::Number);
            is_plain.then(|| Cow::Borrowed(value.raw()))
        };
        // The type of an event in a stream says nothing about the error.
        let kind = field("type").filter(|kind| kind.starts_with('"') && kind != "\"error\"");
        OpenaiErrorFields { kind, param: field("param"), code: field("code") }
    }

    fn to_static(&self) -> OpenaiErrorFields<'static> {
        let owned =
            |json: &Option<Cow<'_, str>>| json.as_deref().map(|json| json.to_owned().into());
        OpenaiErrorFields {
            kind: owned(&self.kind),
            param: owned(&self.param),
            code: owned(&self.code),
        }
    }
}

impl<'a> ProviderErrorCode<'a> {
    /// The code of an error in one of OpenAI's formats.
    pub(crate) fn of_openai(
        name: JsonText<'a>,
        fields: OpenaiErrorFields<'a>,
    ) -> ProviderErrorCode<'a> {
        ProviderErrorCode { name, openai: Some(Box::new(fields)) }
    }

    /// The fields of an error in one of OpenAI's formats.
    pub(crate) fn openai(&self) -> Option<&OpenaiErrorFields<'a>> {
        self.openai.as_deref()
    }

    /// The code as text.
    pub(crate) fn name(&self) -> &JsonText<'a> {
        &self.name
    }

    /// A copy with a static lifetime.
    pub fn to_static(&self) -> ProviderErrorCode<'static> {
        ProviderErrorCode {
            name: self.name.to_static(),
            openai: self.openai.as_deref().map(|fields| Box::new(fields.to_static())),
        }
    }
}

impl Deref for ProviderErrorCode<'_> {
    type Target = str;

    fn deref(&self) -> &str {
        &self.name
    }
}

impl<'a> From<JsonText<'a>> for ProviderErrorCode<'a> {
    fn from(name: JsonText<'a>) -> ProviderErrorCode<'a> {
        ProviderErrorCode { name, openai: None }
    }
}

impl<'a> From<&'a str> for ProviderErrorCode<'a> {
    fn from(name: &'a str) -> ProviderErrorCode<'a> {
        JsonText::from(name).into()
    }
}

impl fmt::Display for ProviderErrorCode<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}
