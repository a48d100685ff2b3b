//! The results as tables for a document.

use std::fmt::Write as _;

use super::{
    agent_gateway::TestAgent,
    chat::ReplyMode,
    memory::{MemoryMoment, MemoryResult},
    rounds::{AccessTimes, AgentAccess, LegTimes, RoundCounts, RoundResult},
    starts::{StartKind, StartTimes},
};

/// Round trips, beside those on the bare pipe.
pub(super) fn rounds(agent: &TestAgent, counts: RoundCounts, result: &RoundResult) -> String {
    let RoundCounts { conversations, rounds, calls } = counts;
    let mut text = format!(
        "**{}, {calls} calls at once**: {conversations} conversations of {rounds} rounds\n\n\
         | | | p50 ms | p99 ms | added p50 ms | added p99 ms | p50 ÷ bare |\n\
         |---|---|---:|---:|---:|---:|---:|\n",
        agent.name
    );
    let Some(bare) = result.taken.iter().find(|taken| taken.way == AgentAccess::Bare) else {
        return text;
    };
    type Pick = fn(&AccessTimes) -> LegTimes;
    let legs: [(&str, Pick); 3] = [
        ("answers → text", |taken| taken.answered.clone()),
        ("prompt → calls", |taken| taken.called.clone()),
        ("both", AccessTimes::both),
    ];
    for (what, pick) in legs {
        let base = pick(bare);
        for taken in &result.taken {
            let leg = pick(taken);
            for (name, times, base) in parts(taken.way, &leg, &base) {
                let _ = writeln!(text, "| {what} | {name} | {}", row(times, base));
            }
        }
    }
    for (record, cpu) in &result.cpu {
        let name = record.name();
        let _ = writeln!(text, "\nCPU of the gateway, record {name}: {cpu:.2} ms a request");
    }
    text
}

/// What of a leg is compared with what of the bare one.
fn parts<'a>(
    way: AgentAccess,
    leg: &'a LegTimes,
    base: &'a LegTimes,
) -> Vec<(String, &'a [f64], &'a [f64])> {
    match way {
        AgentAccess::Bare => vec![
            ("bare, first word".to_owned(), &leg.first_text, &base.first_text),
            ("bare, whole".to_owned(), &leg.whole, &base.whole),
        ],
        AgentAccess::Gateway(record, ReplyMode::Whole) => {
            vec![(format!("record {}, whole", record.name()), &leg.whole, &base.whole)]
        }
        AgentAccess::Gateway(record, ReplyMode::Stream) => vec![
            (
                format!("record {}, stream, first word", record.name()),
                &leg.first_text,
                &base.first_text,
            ),
            (format!("record {}, stream, whole", record.name()), &leg.whole, &base.whole),
        ],
    }
}

/// Times beside those they are compared with. The added median is that of the differences, round
/// by round.
fn row(times: &[f64], base: &[f64]) -> String {
    let (p50, p99) = (part(times, 0.5), part(times, 0.99));
    let added: Vec<f64> = times.iter().zip(base).map(|(time, base)| time - base).collect();
    let (added, tail) = (part(&added, 0.5), p99 - part(base, 0.99));
    let ratio = p50 / part(base, 0.5);
    format!("{p50:.2} | {p99:.2} | {added:.2} | {tail:.2} | {ratio:.2} |")
}

/// How long a client waits for an agent.
pub(super) fn starts(agent: &TestAgent, starts: &[StartTimes]) -> String {
    let count = starts.first().map_or(0, |start| start.first_text.len());
    let mut text = format!(
        "**{}, starts**: {count} of each\n\n\
         | | first byte p50 ms | first word p50 ms | slowest ms | first word ÷ bare |\n\
         |---|---:|---:|---:|---:|\n",
        agent.name
    );
    let bare = starts.iter().find(|start| start.from == StartKind::Bare);
    let bare = bare.map_or(f64::NAN, |bare| part(&bare.first_text, 0.5));
    for start in starts {
        let first = match start.first.as_slice() {
            [] => String::new(),
            first => format!("{:.1}", part(first, 0.5)),
        };
        let (text_time, slowest) = (part(&start.first_text, 0.5), part(&start.first_text, 1.0));
        let (name, ratio) = (start.from.name(), text_time / bare);
        let _ = writeln!(text, "| {name} | {first} | {text_time:.1} | {slowest:.1} | {ratio:.2} |");
    }
    text
}

/// What waiting conversations take.
pub(super) fn memory(memory: &MemoryResult) -> String {
    let mut text = format!(
        "**{} conversations that wait at once**\n\n\
         | | gateway, MB | processes, by /health | waiting | calls | processes, by the system |\n\
         |---|---:|---:|---:|---:|---:|\n",
        memory.sessions
    );
    let moments = [
        ("before", memory.before),
        ("all wait", memory.waiting),
        ("all are answered", memory.answered),
        ("all agents rested too long", memory.rested),
    ];
    for (name, MemoryMoment { memory, counts, processes }) in moments {
        let megabytes = memory as f64 / 1_024.0;
        let _ = writeln!(
            text,
            "| {name} | {megabytes:.1} | {} | {} | {} | {processes} |",
            counts.processes, counts.waiting, counts.calls
        );
    }
    let more = memory.waiting.memory as f64 - memory.before.memory as f64;
    let each = more / f64::from(memory.sessions);
    let (all, own) = memory.agent;
    let _ = writeln!(
        text,
        "\na conversation that waits: {each:.1} kB of the gateway; an agent beside it: {:.1} MB, \
         {:.1} MB of them its own\nafter the gateway's end: {} processes, {} files",
        all as f64 / 1_024.0,
        own as f64 / 1_024.0,
        memory.left,
        memory.files
    );
    text
}

/// The value below which that part of all lies.
fn part(values: &[f64], share: f64) -> f64 {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let at = (values.len() as f64 * share).ceil() as usize;
    values.get(at.saturating_sub(1)).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_are_taken_round_by_round() {
        let base = [1.0, 10.0, 2.0];
        let times = [3.0, 11.0, 5.0];
        assert_eq!(row(&times, &base), "5.00 | 11.00 | 2.00 | 1.00 | 2.50 |");
        assert_eq!(
            (part(&base, 0.5), part(&base, 0.99), part(&[], 0.5).is_nan()),
            (2.0, 10.0, true)
        );
    }
}
