//! The clauses of `suite/SPEC.md`: who demands what, and the vectors that show it.

use std::{collections::BTreeMap, fmt::Write as _};

use foxwedge_core::rules;
use foxwedge_suite::{SuiteVector, SuiteVerdict};

use super::evidence::EvidenceTable;

const START: &str = "<!-- clauses: made by `cargo xtask suite --write` -->\n";
const END: &str = "<!-- end of clauses -->";
/// Longest example, in bytes.
const MAX_EXAMPLE: usize = 900;

/// The text with its clauses written anew.
pub(super) fn with_clauses(
    text: &str,
    vectors: &[SuiteVector],
    evidence: &EvidenceTable,
) -> Result<String, String> {
    let (head, rest) = text.split_once(START).ok_or("SPEC.md has no place for clauses")?;
    let (_, tail) = rest.split_once(END).ok_or("SPEC.md has no end of clauses")?;
    let mut by_clause: BTreeMap<&str, Vec<&SuiteVector>> = BTreeMap::new();
    for vector in vectors {
        by_clause.entry(&vector.clause).or_default().push(vector);
    }
    let mut clauses = String::new();
    for (clause, vectors) in by_clause {
        write_clause(&mut clauses, clause, &vectors, evidence);
    }
    Ok(format!("{head}{START}{clauses}\n{END}{tail}"))
}

fn write_clause(
    out: &mut String,
    clause: &str,
    vectors: &[&SuiteVector],
    evidence: &EvidenceTable,
) {
    let rule = rules::find_rule(clause);
    let (name, demand) = match (clause, rule) {
        (_, Some(rule)) => {
            (rule.name, format!("A history MUST NOT hold {}.", rule.summary))
        }
        ("cut", _) => ("shorter", "A cut MUST NOT part a call from its result, and MUST keep instructions and the last request.".to_owned()),
        ("convert", _) => ("another format", "A conversion MUST carry over every text, call and result, and MUST be valid for its target.".to_owned()),
        ("stream", _) => ("a recorded reply", "A recorder MUST keep what arrived. A call whose arguments are incomplete MUST NOT be kept as a complete one.".to_owned()),
        _ => ("as documented", "A history in the documented form MUST be accepted and MUST NOT be changed.".to_owned()),
    };
    // Writing to a string cannot fail.
    let _ = write!(out, "\n### {clause} {name}\n\n{demand}\n\n");
    let profiles = [
        "openai-chat",
        "openai-responses",
        "anthropic",
        "gemini",
        "bedrock",
        "gemini-interactions",
        "mistral",
        "deepseek",
        "ai-sdk",
    ];
    let source = if rule.is_some() { clause } else { "format" };
    let live = |profile: &&str| vectors.iter().find_map(|vector| evidence.of(&vector.id, profile));
    // What a provider said to a vector of the clause stands for more than what others report.
    let row =
        |profile| live(profile).filter(|_| rule.is_some()).or_else(|| evidence.of(source, profile));
    let rows: Vec<_> = profiles.iter().filter_map(row).collect();
    if rows.is_empty() {
        out.push_str("No evidence is known that a provider refuses it.\n\n");
    } else {
        out.push_str("| profile | evidence | seen | |\n|---|---|---|---|\n");
        for row in rows {
            let kind = serde_json::to_value(row.kind).unwrap_or_default();
            let kind = kind.as_str().unwrap_or_default();
            let text = row.text.replace('|', "\\|");
            let _ = writeln!(out, "| `{}` | {kind} | {} | {text} |", row.profile, row.seen);
        }
        out.push('\n');
    }
    let level = vectors.first().map_or("", |vector| vector.level.name());
    let _ = writeln!(out, "Level {level}. Vectors: {}.", ranges(vectors));
    let refused = |vector: &SuiteVector| {
        vector.verdicts.values().any(|known| known.verdict == SuiteVerdict::Invalid)
    };
    let short = |vector: &SuiteVector| vector.input.len() <= MAX_EXAMPLE && vector.tracks.len() > 1;
    let candidates = vectors.iter().copied().filter(|vector| short(vector));
    let example =
        candidates.min_by_key(|vector| (!refused(vector), vector.input.len(), vector.id.clone()));
    if let Some(vector) = example {
        let verdicts: Vec<String> = vector
            .verdicts
            .iter()
            .map(|(profile, known)| {
                let verdict = serde_json::to_value(known.verdict).unwrap_or_default();
                format!("{} for `{profile}`", verdict.as_str().unwrap_or_default())
            })
            .collect();
        let _ = writeln!(
            out,
            "{}, {}: {}\n\n```json\n{}\n```",
            vector.id,
            vector.title,
            verdicts.join(", "),
            vector.input.trim()
        );
    }
}

/// Numbers in a row as ranges.
fn ranges(vectors: &[&SuiteVector]) -> String {
    let number = |vector: &SuiteVector| vector.id.get(1..).and_then(|id| id.parse::<u32>().ok());
    let mut ranges: Vec<(u32, u32)> = Vec::new();
    for at in vectors.iter().filter_map(|vector| number(vector)) {
        match ranges.last_mut() {
            Some((_, last)) if *last + 1 == at => *last = at,
            _ => ranges.push((at, at)),
        }
    }
    let shown = ranges.iter().map(|(first, last)| match first == last {
        true => format!("V{first:04}"),
        false => format!("V{first:04}–V{last:04}"),
    });
    shown.collect::<Vec<_>>().join(", ")
}
