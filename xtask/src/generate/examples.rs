//! JSON examples for the pages of rules: the smallest broken case of a rule, and what `fix` makes of it.

use foxwedge_core::{CheckOptions, Format, Profile, Rule};
use foxwedge_formats::{outline_options, read};

use crate::workspace::File;

const CASES: &str = "crates/core/tests/cases/";
/// Larger cases do not help a reader.
const MAX_BYTES: usize = 800;
/// The formats that most readers know come first.
const FORMATS: [Format; 6] = [
    Format::Anthropic,
    Format::OpenaiChat,
    Format::OpenaiResponses,
    Format::Gemini,
    Format::Bedrock,
    Format::GeminiInteractions,
];

/// The section of a page with an example; empty if a rule has no small case.
pub(super) fn section(rule: &Rule, files: &[File]) -> String {
    let found = FORMATS.into_iter().find_map(|format| {
        let case = smallest_case(rule, format, files)?;
        Some((format, case, fixed(case, format)?))
    });
    let Some((format, case, fixed)) = found else { return String::new() };
    let outcome = if fixed == case {
        "`fix` leaves it as it is without `--unsafe-fixes`, or has no repair for it.\n".to_owned()
    } else {
        format!("After `foxwedge fix`:\n\n```json\n{}\n```\n", fixed.trim_end())
    };
    let name = format.name();
    format!(
        "\n## Example\n\nIn the format `{name}`:\n\n```json\n{}\n```\n\n{outcome}",
        case.trim_end()
    )
}

fn smallest_case<'f>(rule: &Rule, format: Format, files: &'f [File]) -> Option<&'f str> {
    let folder = format!("{CASES}{}/broken", rule.name.replace('-', "_"));
    let ending = format!(".{}.json", format.name());
    let is_case = |file: &&File| {
        // A further word in the name is another profile.
        file.path.starts_with(&folder)
            && file.path.ends_with(&ending)
            && file.path.matches('.').count() == 2
    };
    let texts = files.iter().filter(is_case).map(|file| file.text.as_str());
    // One message a line is easier to read than all of them in one.
    let order = |text: &&str| (text.lines().count() < 4, text.len());
    texts.filter(|text| text.len() <= MAX_BYTES).min_by_key(order)
}

fn fixed(text: &str, format: Format) -> Option<String> {
    let profile = Profile::for_format(format);
    let document = read(text, format, outline_options(profile)).ok()?;
    Some(document.fix(&CheckOptions::for_profile(profile)).0.to_string())
}
