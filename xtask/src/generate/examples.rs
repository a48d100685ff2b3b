//! JSON examples for the pages of rules: the smallest broken case of a rule, and what `fix` changes in it.

use foxwedge_core::{CheckOptions, Format, Profile, Rule};
use foxwedge_formats::{outline_options, read};

use crate::workspace::File;

const CASES: &str = "crates/core/tests/cases/";
/// Larger cases do not help a reader.
const MAX_BYTES: usize = 800;
/// Lines that are shown before a change: the call that a result belongs to is often there.
const LINES_BEFORE: usize = 2;
/// Lines that are shown after a change.
const LINES_AFTER: usize = 1;
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
    let name = format.name();
    if fixed == case {
        let case = case.trim_end();
        return format!(
            "\n## Example\n\n`{name}`; `fix` has no repair, or needs `--unsafe-fixes`:\n\n```json\n{case}\n```\n"
        );
    }
    let changes = changed_lines(case, &fixed);
    format!("\n## Example\n\n`foxwedge fix` (`{name}`):\n\n```diff\n{changes}```\n")
}

/// The lines that differ, with those around them.
fn changed_lines(before: &str, after: &str) -> String {
    let (before, after): (Vec<&str>, Vec<&str>) =
        (before.trim_end().lines().collect(), after.trim_end().lines().collect());
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = before.iter().zip(&after).take_while(same).count();
    let rest = before.len().min(after.len()) - head;
    let tail = before.iter().rev().zip(after.iter().rev()).take(rest).take_while(same).count();
    let mut text = String::new();
    let mut push = |mark: &str, lines: &[&str]| {
        for line in lines {
            text.push_str(&format!("{mark}{line}\n"));
        }
    };
    push("  ", before.get(head.saturating_sub(LINES_BEFORE)..head).unwrap_or_default());
    push("- ", before.get(head..before.len() - tail).unwrap_or_default());
    push("+ ", after.get(head..after.len() - tail).unwrap_or_default());
    let end = (before.len() - tail + LINES_AFTER).min(before.len());
    push("  ", before.get(before.len() - tail..end).unwrap_or_default());
    text
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_shows_two_lines_before_a_change_and_one_after() {
        let before = "[\na\nb\nc\nd\ne\nf\n]\n";
        let after = "[\na\nb\nc\nnew\ne\nf\n]\n";
        assert_eq!(changed_lines(before, after), "  b\n  c\n- d\n+ new\n  e\n");
        assert_eq!(changed_lines("a\na\n", "a\n"), "  a\n- a\n");
    }
}
