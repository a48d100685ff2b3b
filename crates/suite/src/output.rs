//! Results as a table, as JSON, as JUnit XML and as a badge.

use std::fmt::Write as _;

use serde_json::{Value, json};

use crate::{
    ExpectedFailures, QuestionOutcome, QuestionResult, REVISION, SuiteLevel, SuiteResults,
    SuiteTrack,
};

/// Counts of some questions.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct QuestionCounts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl QuestionCounts {
    fn of<'r>(questions: impl Iterator<Item = &'r QuestionResult>) -> QuestionCounts {
        let mut counts = QuestionCounts::default();
        for question in questions {
            match question.outcome {
                QuestionOutcome::Passed => counts.passed += 1,
                QuestionOutcome::Failed(_) => counts.failed += 1,
                QuestionOutcome::Skipped => counts.skipped += 1,
            }
        }
        counts
    }

    /// Right answers among the questions that were answered, rounded down; `None` without any.
    fn percent(self) -> Option<usize> {
        (self.passed * 100).checked_div(self.passed + self.failed)
    }

    fn share(self) -> String {
        self.percent().map_or_else(|| "-".to_owned(), |percent| format!("{percent} %"))
    }
}

/// A table by track and level, and a line for each failure.
pub fn text_table(results: &SuiteResults) -> String {
    let mut table = format!(
        "suite {REVISION}, engine: {}\n\n{:<10} {:<6} {:>6} {:>6} {:>7} {:>6}\n",
        engine_name(results),
        "track",
        "level",
        "passed",
        "failed",
        "skipped",
        "share"
    );
    let mut row = |track: &str, level: &str, counts: QuestionCounts| {
        let QuestionCounts { passed, failed, skipped } = counts;
        // Writing to a string cannot fail.
        let _ = writeln!(
            table,
            "{track:<10} {level:<6} {passed:>6} {failed:>6} {skipped:>7} {:>6}",
            counts.share()
        );
    };
    for track in results.tracks() {
        for level in [SuiteLevel::A, SuiteLevel::B, SuiteLevel::C] {
            let own = results.questions.iter().filter(|it| (it.track, it.level) == (track, level));
            let counts = QuestionCounts::of(own);
            if counts != QuestionCounts::default() {
                row(track.name(), level.name(), counts);
            }
        }
    }
    row("all", "", QuestionCounts::of(results.questions.iter()));
    for failed in results.failed() {
        let _ = writeln!(table, "\n{}  {}", failed.key(), failed.title);
        for breach in failed.breaches() {
            let _ = writeln!(table, "  {}: {}", breach.law.name(), breach.what);
        }
    }
    table
}

/// Everything, as one JSON object.
pub fn json_report(results: &SuiteResults, expected: &ExpectedFailures) -> String {
    let questions = results.questions.iter().map(|it| {
        json!({
            "id": it.id,
            "track": it.track,
            "profile": it.profile,
            "level": it.level,
            "format": it.format,
            "outcome": match it.outcome {
                QuestionOutcome::Passed => "passed",
                QuestionOutcome::Failed(_) => "failed",
                QuestionOutcome::Skipped => "skipped",
            },
            "expected": expected.has(it),
            "broken": it.breaches(),
        })
    });
    let counts = QuestionCounts::of(results.questions.iter());
    let report = json!({
        "suite": REVISION,
        "engine": results.engine,
        "passed": counts.passed,
        "failed": counts.failed,
        "skipped": counts.skipped,
        "unknown": results.unknown,
        "questions": questions.collect::<Vec<Value>>(),
    });
    format!("{report}\n")
}

/// JUnit XML: a test case for each question. An expected failure is skipped, and a pass that was
/// not expected is a failure.
pub fn junit_report(results: &SuiteResults, expected: &ExpectedFailures) -> String {
    let difference = expected.difference(results);
    let is_known = |it: &QuestionResult| expected.has(it) && !it.breaches().is_empty();
    let known = results.questions.iter().filter(|it| is_known(it)).count();
    let attributes = format!(
        "name=\"integrity suite {REVISION}\" tests=\"{}\" failures=\"{}\" skipped=\"{}\"",
        results.questions.len(),
        difference.new_failures.len() + difference.unexpected_passes.len(),
        results.skipped() + known
    );
    let mut xml = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {attributes}>\n  <testsuite {attributes}>\n"
    );
    for it in &results.questions {
        let (class, name) = (format!("{}.{}", it.track.name(), it.profile), &it.id);
        let title = escape_xml(&it.title);
        let _ = write!(xml, "    <testcase classname=\"{class}\" name=\"{name} {title}\">");
        if it.outcome == QuestionOutcome::Skipped {
            xml.push_str("<skipped/>");
        }
        let breaches = it.breaches().iter().map(|it| (it.law.name(), escape_xml(&it.what)));
        if is_known(it) {
            let texts: Vec<String> = breaches.map(|(law, what)| format!("{law}: {what}")).collect();
            let texts = texts.join("; ");
            let _ = write!(xml, "<skipped message=\"expected failure: {texts}\"/>");
        } else {
            for (law, what) in breaches {
                let _ = write!(xml, "<failure type=\"{law}\" message=\"{what}\"/>");
            }
        }
        if expected.has(it) && it.breaches().is_empty() {
            xml.push_str("<failure type=\"expected\" message=\"expected to fail, but passed\"/>");
        }
        xml.push_str("</testcase>\n");
    }
    xml.push_str("  </testsuite>\n</testsuites>\n");
    xml
}

/// A badge for a README: the share of right answers by track.
pub fn badge_svg(results: &SuiteResults) -> String {
    let share = |track: SuiteTrack| {
        let own = results.questions.iter().filter(|it| it.track == track);
        let percent = QuestionCounts::of(own).percent()?;
        Some(format!("{} {percent} %", track.name()))
    };
    let tracks: Vec<String> = results.tracks().into_iter().filter_map(share).collect();
    let value = if tracks.is_empty() { "not run".to_owned() } else { tracks.join(" · ") };
    let label = format!("integrity suite {REVISION}");
    let clean = results.failed().next().is_none() && results.passed() > 0;
    let color = if clean { "#2e7d32" } else { "#b45309" };
    let width = |text: &str| text.chars().count() * 7 + 12;
    let (left, right) = (width(&label), width(&value));
    let (total, middle) = (left + right, left + right / 2);
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{total}\" height=\"20\" role=\"img\" aria-label=\"{label}: {value}\">\n\
         <rect width=\"{left}\" height=\"20\" fill=\"#444\"/><rect x=\"{left}\" width=\"{right}\" height=\"20\" fill=\"{color}\"/>\n\
         <g fill=\"#fff\" font-family=\"Verdana,sans-serif\" font-size=\"11\" text-anchor=\"middle\">\n\
         <text x=\"{}\" y=\"14\">{label}</text><text x=\"{middle}\" y=\"14\">{value}</text></g></svg>\n",
        left / 2
    )
}

fn engine_name(results: &SuiteResults) -> &str {
    results.engine.as_deref().unwrap_or("unnamed")
}

fn escape_xml(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\t' | '\n' => escaped.push(' '),
            c if c.is_control() => escaped.push('\u{fffd}'),
            c => escaped.push(c),
        }
    }
    escaped
}
