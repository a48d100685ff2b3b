//! What was seen, as tables that can be put into a document.

use std::fmt::Write as _;

use super::{
    scenario::{Goal, Kind, Measure, Relay, Scenario},
    seen::{PIECES, Seen, measured, of},
    stage::{Rest, Start},
};

/// One scenario.
pub(super) fn told(scenario: &Scenario, all: &[Seen]) -> String {
    let mut text = format!("**{}**: {}\n\n", scenario.name, scenario.what);
    let (head, row): (&str, fn(&Seen) -> String) = match scenario.kind {
        Kind::Whole => ("requests/s | p50 µs | p99 µs | CPU µs", whole),
        Kind::Burst => (
            "streams/s | p50 µs | first byte p50 µs | slowest ms (over 5 ms) | CPU µs a piece",
            burst,
        ),
        Kind::Paced => {
            ("p50 of a piece µs | p99 µs | pieces | over 1 ms | of 1,000 | CPU µs a piece", paced)
        }
    };
    let columns = head.matches('|').count() + 4;
    let _ = writeln!(text, "| | {head} | p50 ÷ direct | CPU ÷ floor | MB |");
    let _ = writeln!(text, "|---|{}", "---:|".repeat(columns));
    for seen in all {
        let direct = of(all, Relay::Direct).map(|direct| seen.p50 / direct.p50);
        let floor = of(all, Relay::Floor).map(|floor| seen.cpu / floor.cpu);
        let _ = writeln!(
            text,
            "| {} | {} | {} | {} | {:.1} |",
            seen.relay.name(),
            row(seen),
            ratio(direct),
            ratio(floor),
            seen.memory / 1_024.0
        );
    }
    for goal in scenario.goals {
        let _ = write!(text, "\n{}: ", says(goal.of));
        for relay in [Relay::Bare, Relay::Recording] {
            let number = of(all, relay).and_then(|seen| measured(goal, seen, all));
            let _ = write!(text, "{} {}; ", relay.name(), verdict(goal, number));
        }
        let _ = writeln!(text, "wanted {}, better {}", goal.most, goal.best);
    }
    text
}

/// How the gateway starts.
pub(super) fn starts(starts: &[Start]) -> String {
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
pub(super) fn rest(all: &[Rest]) -> String {
    let mut text = "**after everything**\n\n| | requests | MB | records left out |\n\
                    |---|---:|---:|---:|\n"
        .to_owned();
    let number = |number: Option<u64>| number.map_or("?".to_owned(), |number| number.to_string());
    for rest in all {
        let (requests, left_out) = (number(rest.requests), number(rest.left_out));
        let name = rest.relay.name();
        let _ = writeln!(text, "| {name} | {requests} | {} | {left_out} |", megabytes(rest.memory));
    }
    text
}

fn whole(seen: &Seen) -> String {
    format!("{:.0} | {:.1} | {:.0} | {:.1}", seen.per_second, seen.p50, seen.p99, seen.cpu)
}

fn burst(seen: &Seen) -> String {
    format!(
        "{:.0} | {:.0} | {:.0} | {:.1} ({:.0}) | {:.2}",
        seen.per_second,
        seen.p50,
        seen.first_p50,
        seen.first_most / 1_000.0,
        seen.first_slow,
        seen.cpu / PIECES
    )
}

fn paced(seen: &Seen) -> String {
    format!(
        "{:.0} | {:.0} | {:.0} | {:.0} | {:.2} | {:.2}",
        seen.late_p50,
        seen.late_p99,
        seen.pieces,
        seen.late,
        seen.late_share(),
        seen.cpu / PIECES
    )
}

fn says(measure: Measure) -> &'static str {
    match measure {
        Measure::Cpu(Relay::Nginx) => "CPU ÷ nginx",
        Measure::Cpu(Relay::Value) => "CPU ÷ floor --value",
        Measure::Cpu(Relay::Direct | Relay::Floor | Relay::Bare | Relay::Recording) => {
            "CPU ÷ floor"
        }
        Measure::Added => "added p50 ÷ that of the floor",
        Measure::First => "µs added to the p50 of the first byte",
        Measure::Late => "pieces over 1 ms beyond those of direct, of 1,000",
    }
}

fn verdict(goal: &Goal, number: Option<f64>) -> String {
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

    fn seen(relay: Relay, p50: f64, cpu: f64) -> Seen {
        let line = format!(
            "{{\"errors\":0,\"error\":null,\"per_second\":1000,\"p50\":{p50},\"p99\":90,\
             \"first_p50\":9,\"first_most\":9,\"first_slow\":0,\"pieces\":0,\"late_p50\":0,\
             \"late_p99\":0,\"late\":0,\"cpu\":{cpu},\"memory\":2048}}"
        );
        Seen::read(relay, &line).expect("everything is told")
    }

    #[test]
    fn ratios_are_told_beside_the_goal() {
        let all = [
            seen(Relay::Direct, 10.0, 5.0),
            seen(Relay::Floor, 20.0, 10.0),
            seen(Relay::Bare, 25.0, 15.0),
            seen(Relay::Recording, 40.0, 30.0),
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
        assert_eq!(told(&Scenario::ALL[0], &all), expected);
    }
}
