//! The results as tables for a document.

use std::fmt::Write as _;

use super::{
    relays::{GatewayAfter, GatewayStarts},
    scenario::{
        CHUNKS, GoalMeasure, LoadGoal, LoadResult, LoadScenario, RelayKind, ResponseKind, of,
    },
};

/// One scenario.
pub(super) fn scenario(scenario: &LoadScenario, all: &[LoadResult]) -> String {
    let mut text = format!("**{}**: {}\n\n", scenario.name, scenario.description);
    let (head, row): (&str, fn(&LoadResult) -> String) = match scenario.request.response {
        ResponseKind::Whole => ("requests/s | p50 µs | p99 µs | CPU µs", whole),
        ResponseKind::Burst => (
            "streams/s | p50 µs | first byte p50 µs | slowest ms (over 5 ms) | CPU µs a chunk",
            burst,
        ),
        ResponseKind::Paced => {
            ("p50 of a chunk µs | p99 µs | chunks | over 1 ms | of 1,000 | CPU µs a chunk", paced)
        }
    };
    let columns = head.matches('|').count() + 4;
    let _ = writeln!(text, "| | {head} | p50 ÷ direct | CPU ÷ floor | MB |");
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns));
    for result in all {
        let direct =
            of(all, RelayKind::Direct).map(|direct| result.number("p50") / direct.number("p50"));
        let floor =
            of(all, RelayKind::Floor).map(|floor| result.number("cpu") / floor.number("cpu"));
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} |",
            result.relay.name(),
            row(result),
            ratio(direct),
            ratio(floor),
            result.number("memory") / 1_024.0
        );
    }
    for goal in scenario.goals {
        let _ = write!(text, "\n{}: ", goal_text(goal.of));
        for relay in [RelayKind::Bare, RelayKind::Recording] {
            let number = of(all, relay).and_then(|result| result.measured(goal, all));
            let _ = write!(text, "{} {}; ", relay.name(), verdict(goal, number));
        }
        let _ = writeln!(text, "wanted {}, better {}", goal.most, goal.best);
    }
    text
}

/// How the gateway starts.
pub(super) fn starts(starts: &[GatewayStarts]) -> String {
    let mut text = "**start**: from its start to its first answer, five times\n\n\
                    | | fastest ms | middle ms | slowest ms | MB then |\n|---|---:|---:|---:|---:|\n"
        .to_owned();
    for start in starts {
        let mut times = start.milliseconds.clone();
        times.sort_by(f64::total_cmp);
        let at = |index: usize| times.get(index).copied().unwrap_or(f64::NAN);
        let (fastest, middle, slowest) =
            (at(0), at(times.len() / 2), at(times.len().saturating_sub(1)));
        let memory = megabytes(start.memory);
        let name = start.relay.name();
        let _ = writeln!(text, "| {name} | {fastest:.1} | {middle:.1} | {slowest:.1} | {memory} |");
    }
    text
}

/// What is left after everything.
pub(super) fn after(all: &[GatewayAfter]) -> String {
    let mut text = "**after everything**\n\n| | requests | MB | records left out |\n\
                    |---|---:|---:|---:|\n"
        .to_owned();
    let number = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
    for after in all {
        let (requests, left_out) = (number(after.requests), number(after.left_out));
        let name = after.relay.name();
        let _ =
            writeln!(text, "| {name} | {requests} | {} | {left_out} |", megabytes(after.memory));
    }
    text
}

fn whole(result: &LoadResult) -> String {
    format!(
        "{:.0} | {:.1} | {:.0} | {:.1}",
        result.number("per_second"),
        result.number("p50"),
        result.number("p99"),
        result.number("cpu")
    )
}

fn burst(result: &LoadResult) -> String {
    format!(
        "{:.0} | {:.0} | {:.0} | {:.1} ({:.0}) | {:.2}",
        result.number("per_second"),
        result.number("p50"),
        result.number("first_p50"),
        result.number("first_most") / 1_000.0,
        result.number("first_slow"),
        result.number("cpu") / CHUNKS
    )
}

fn paced(result: &LoadResult) -> String {
    format!(
        "{:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2}",
        result.number("late_p50"),
        result.number("late_p99"),
        result.number("chunks"),
        result.number("late"),
        result.late_share(),
        result.number("cpu") / CHUNKS
    )
}

fn goal_text(measure: GoalMeasure) -> &'static str {
    match measure {
        GoalMeasure::Cpu(RelayKind::Nginx) => "CPU ÷ nginx",
        GoalMeasure::Cpu(RelayKind::Value) => "CPU ÷ floor --value",
        GoalMeasure::Cpu(
            RelayKind::Direct | RelayKind::Floor | RelayKind::Bare | RelayKind::Recording,
        ) => "CPU ÷ floor",
        GoalMeasure::Added => "added p50 ÷ that of the floor",
        GoalMeasure::First => "µs added to the p50 of the first byte",
        GoalMeasure::Late => "chunks over 1 ms beyond those of direct, of 1,000",
    }
}

fn verdict(goal: &LoadGoal, number: Option<f64>) -> String {
    match number {
        Some(number) if number <= goal.most => format!("{number:.2}"),
        Some(number) => format!("{number:.2} (too much)"),
        None => "not measured".to_owned(),
    }
}

fn ratio(number: Option<f64>) -> String {
    let number = number.filter(|number| number.is_finite());
    number.map_or("".to_owned(), |number| format!("{number:.2}"))
}

fn megabytes(kilobytes: Option<u64>) -> String {
    kilobytes.map_or("?".to_owned(), |number| format!("{:.1}", number as f64 / 1_024.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn result(relay: RelayKind, p50: f64, cpu: f64) -> LoadResult {
        let line = format!(
            "{{\"per_second\":1000,\"p50\":{p50},\"p99\":90,\"cpu\":{cpu},\"memory\":2048}}"
        );
        LoadResult::read(relay, &line).expect("it is JSON")
    }

    #[test]
    fn ratios_are_compared_with_the_goal() {
        let all = [
            result(RelayKind::Direct, 10.0, 5.0),
            result(RelayKind::Floor, 20.0, 10.0),
            result(RelayKind::Bare, 25.0, 15.0),
            result(RelayKind::Recording, 40.0, 30.0),
        ];
        let expected = "\
**tiny-1**: a tiny request, one connection

| | requests/s | p50 µs | p99 µs | CPU µs | p50 ÷ direct | CPU ÷ floor | MB |
|---|---:|---:|---:|---:|---:|---:|---:|
| direct | 1000 | 10.0 | 90 | 5.0 | 1.00 | 0.50 | 2.0 |
| floor | 1000 | 20.0 | 90 | 10.0 | 2.00 | 1.00 | 2.0 |
| foxwedge, record none | 1000 | 25.0 | 90 | 15.0 | 2.50 | 1.50 | 2.0 |
| foxwedge, record all | 1000 | 40.0 | 90 | 30.0 | 4.00 | 3.00 | 2.0 |

added p50 ÷ that of the floor: foxwedge, record none 1.50; foxwedge, record all 3.00 (too much); \
wanted 1.6, better 1.25
";
        assert_eq!(scenario(&LoadScenario::ALL[0], &all), expected);
    }
}
