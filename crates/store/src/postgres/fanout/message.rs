//! Messages between processes: lines of `run seq`, or `*` for all runs.

use super::outbox::OutboxNotices;
use crate::hub::WakeHub;

/// PostgreSQL limits a payload to less than 8000 bytes.
const PAYLOAD_BYTES: usize = 7_900;

/// The channel of a schema. Both names consist of letters, digits and underscores.
pub(super) fn channel(schema: &str) -> String {
    format!("foxwedge_{schema}")
}

/// Encodes notices in as few messages as possible.
pub(super) fn write(notices: &OutboxNotices) -> Vec<String> {
    let runs = match notices {
        OutboxNotices::All => return vec!["*".to_owned()],
        OutboxNotices::Runs(runs) => runs,
    };
    let mut messages: Vec<String> = Vec::new();
    for (run, last) in runs {
        let line = format!("{run} {last}\n");
        match messages.last_mut() {
            Some(message) if message.len() + line.len() <= PAYLOAD_BYTES => message.push_str(&line),
            Some(_) | None => messages.push(line),
        }
    }
    messages
}

/// Wakes the watchers that a message names. Any client can send one, so invalid lines are skipped.
pub(super) fn read(message: &str, hub: &WakeHub) {
    for line in message.lines() {
        if line == "*" {
            hub.wake_all();
        } else if let Some((run, last)) = line.split_once(' ')
            && let Ok(last) = last.parse()
        {
            hub.publish(run, last);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;
    use crate::StoreWake;

    #[test]
    fn messages_hold_many_runs_within_the_payload_limit() {
        let runs = (0..2_000u64).map(|run| (format!("{run:0>128}"), u64::MAX - run));
        let notices = OutboxNotices::Runs(runs.collect());
        let messages = write(&notices);
        assert!(messages.iter().all(|message| message.len() < 8_000));
        assert_eq!(messages.iter().map(|message| message.lines().count()).sum::<usize>(), 2_000);
        assert!(messages.len() < 50, "{}", messages.len());
        assert_eq!(write(&OutboxNotices::Runs(HashMap::new())), Vec::<String>::new());
        assert_eq!(write(&OutboxNotices::All), ["*"]);
    }

    #[tokio::test]
    async fn message_wakes_the_named_runs() {
        let hub = WakeHub::default();
        let mut watch = hub.watch();
        read("a 3\n\nno place\nb x\nb -1\nc 4 5\nb 18446744073709551615\n", &hub);
        let woken = [watch.next().await, watch.next().await];
        let run = |run: &str, last| Some(StoreWake::Run { run: run.into(), last });
        assert_eq!(woken, [run("a", 3), run("b", u64::MAX)]);
        read("*", &hub);
        assert_eq!(watch.next().await, Some(StoreWake::All));
    }
}
