//! What the server recorded by its own clock: every change of a run's holder, every end, and a
//! heartbeat that shows when it was available.

use std::collections::BTreeMap;

use tokio_postgres::{Client, Error};

/// Interval of the heartbeat, in milliseconds, and the shortest pause that counts as an outage.
pub(crate) const BEAT: u64 = 50;
const PAUSE: i64 = 200;

/// How long a suspended node may block others. The server ends an idle transaction after a second;
/// then the next one of the same node may get the row, and so on.
const FREEZE_TIME: i64 = 1_200 * (super::node::WORKERS as i64 + 2);

/// How late a run may be taken over, and how long closing it may take, in milliseconds, for every
/// fault in that time or shortly before.
const LATE: i64 = 1_000;
const BEFORE: i64 = 500;

/// A change of a run's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    at: i64,
    run: String,
    /// The fence before and after.
    fences: (i64, i64),
    /// When the previous lease expired.
    until: i64,
    /// The last sequence number of its log at that time.
    last: i64,
    /// When it had ended, before and after the change.
    ended: (Option<i64>, Option<i64>),
}

/// Starts to record changes of a schema.
pub(crate) async fn install(client: &Client, schema: &str) -> Result<(), Error> {
    let statements = format!(
        "CREATE TABLE {schema}.audit (
             number bigserial, at bigint, run text, old_fence bigint, new_fence bigint,
             until bigint, last bigint, old_ended bigint, new_ended bigint
         );
         CREATE TABLE {schema}.beats (at bigint);
         CREATE FUNCTION {schema}.write_down() RETURNS trigger LANGUAGE plpgsql AS $$
         BEGIN
             INSERT INTO {schema}.audit
                 (at, run, old_fence, new_fence, until, last, old_ended, new_ended)
             VALUES ({schema}.now_ms(), NEW.id, OLD.fence, NEW.fence, OLD.lease_until, OLD.last,
                     OLD.ended_at, NEW.ended_at);
             RETURN NULL;
         END $$;
         CREATE TRIGGER write_down AFTER UPDATE ON {schema}.runs FOR EACH ROW
             WHEN (OLD.fence <> NEW.fence OR OLD.ended_at IS NOT NULL OR NEW.ended_at IS NOT NULL)
             EXECUTE FUNCTION {schema}.write_down();"
    );
    client.batch_execute(&statements).await
}

/// All recorded changes, in order.
pub(crate) async fn changes(client: &Client, schema: &str) -> Result<Vec<Change>, Error> {
    let sql = format!(
        "SELECT at, run, old_fence, new_fence, until, last, old_ended, new_ended
         FROM {schema}.audit ORDER BY number"
    );
    let rows = client.query(&sql, &[]).await?;
    let change = |row: &tokio_postgres::Row| Change {
        at: row.get(0),
        run: row.get(1),
        fences: (row.get(2), row.get(3)),
        until: row.get(4),
        last: row.get(5),
        ended: (row.get(6), row.get(7)),
    };
    Ok(rows.iter().map(change).collect())
}

/// The times of the heartbeats.
pub(crate) async fn beats(client: &Client, schema: &str) -> Result<Vec<i64>, Error> {
    let rows = client.query(&format!("SELECT at FROM {schema}.beats ORDER BY at"), &[]).await?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

/// Runs that did not end exactly once.
pub(crate) fn ends(changes: &[Change], runs: &[String]) -> Vec<String> {
    let mut breaches = Vec::new();
    let mut ended: BTreeMap<&str, usize> = runs.iter().map(|run| (run.as_str(), 0)).collect();
    for change in changes {
        match change.ended {
            (None, Some(_)) => *ended.entry(&change.run).or_default() += 1,
            (Some(_), _) => breaches.push(format!("run {} changed after its end", change.run)),
            (None, None) => {}
        }
    }
    let other = ended.into_iter().filter(|(_, count)| *count != 1);
    breaches.extend(other.map(|(run, count)| format!("run {run} ended {count} times")));
    breaches
}

/// Writes acknowledged to a holder after another one had taken the run over. A write is a run, a
/// sequence number and a fence.
pub(crate) fn stale_writes(changes: &[Change], writes: &[(String, u64, u64)]) -> Vec<String> {
    let mut taken: BTreeMap<(&str, i64), i64> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.fences.0 != change.fences.1) {
        taken.insert((&change.run, change.fences.0), change.last);
    }
    let stale = |(run, seq, fence): &&(String, u64, u64)| {
        let last = taken.get(&(run.as_str(), fence.cast_signed()));
        last.is_some_and(|last| seq.cast_signed() > *last)
    };
    let describe = |(run, seq, fence): &(String, u64, u64)| {
        format!("run {run}: place {seq} was written by holder {fence}, who was none any more")
    };
    writes.iter().filter(stale).map(describe).collect()
}

/// How late runs were taken over and closed, and which were too late.
#[derive(Debug, Default)]
pub(crate) struct Takeovers {
    pub(crate) count: usize,
    /// The maximum delay after the end of the lease, in milliseconds.
    pub(crate) latest: i64,
    /// The longest time from there to the end.
    pub(crate) longest: i64,
    pub(crate) breaches: Vec<String>,
}

/// Checks every takeover. Time in which no node could act does not count.
pub(crate) fn takeovers(changes: &[Change], outages: &Outages) -> Takeovers {
    let mut found = Takeovers::default();
    for (index, change) in changes.iter().enumerate() {
        let Change { at, run, fences, until, .. } = change;
        if fences.0 == fences.1 {
            continue;
        }
        found.count += 1;
        let late = at - until - outages.within(*until, *at);
        found.latest = found.latest.max(late);
        if late > outages.allowed_delay(*until, *at) {
            found.breaches.push(format!("at {at} run {run} was taken over {late} ms late"));
        }
        // The new holder ends it, unless it is gone itself and another one takes it over.
        let next = changes[index + 1..].iter().find(|next| next.run == *run);
        match next {
            Some(end) if end.fences.0 == end.fences.1 => {
                let took = end.at - at - outages.within(*at, end.at);
                found.longest = found.longest.max(took);
                if took > outages.allowed_delay(*at, end.at) {
                    found.breaches.push(format!("at {} run {run} was closed in {took} ms", end.at));
                }
            }
            Some(_) => {}
            None => found.breaches.push(format!("run {run} was taken over and never closed")),
        }
    }
    found
}

/// Times in which no node could act: the server was unavailable, the machine was busy, or a node
/// was suspended inside a transaction.
pub(crate) struct Outages {
    times: Vec<(i64, i64)>,
    faults: Vec<i64>,
}

impl Outages {
    /// Built from the heartbeats, the times of suspensions, and the times of all faults.
    pub(crate) fn new(beats: &[i64], freezes: &[i64], faults: &[i64]) -> Outages {
        let pauses = beats.windows(2).map(|pair| (pair[0], pair[1]));
        let pauses = pauses.filter(|(before, after)| after - before > PAUSE);
        let freeze_times = freezes.iter().map(|at| (*at, at + FREEZE_TIME));
        let mut times: Vec<(i64, i64)> = pauses.chain(freeze_times).collect();
        times.sort_unstable();
        // No time counts twice.
        let mut covered = i64::MIN;
        for (from, to) in &mut times {
            *from = (*from).max(covered);
            *to = (*to).max(*from);
            covered = *to;
        }
        Outages { times, faults: faults.to_vec() }
    }

    /// How much of a period was an absence.
    fn within(&self, from: i64, to: i64) -> i64 {
        self.times.iter().map(|(begin, end)| (to.min(*end) - from.max(*begin)).max(0)).sum()
    }

    /// How long something may take.
    fn allowed_delay(&self, from: i64, to: i64) -> i64 {
        let fell_into = |at: &&i64| (from - BEFORE..=to).contains(*at);
        let count = self.faults.iter().filter(fell_into).count().max(1);
        LATE * i64::try_from(count).unwrap_or(i64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn change(at: i64, run: &str, fences: (i64, i64), until: i64) -> Change {
        Change { at, run: run.to_owned(), fences, until, last: 5, ended: (None, None) }
    }

    #[test]
    fn violations_are_found() {
        let end = |at| Change { ended: (None, Some(at)), ..change(at, "a", (2, 2), 0) };
        let good = [change(1_100, "a", (1, 2), 1_000), end(1_200)];
        let runs = ["a".to_owned()];
        assert_eq!(ends(&good, &runs), Vec::<String>::new());
        assert_eq!(ends(&good[..1], &runs), ["run a ended 0 times"]);
        assert_eq!(ends(&[end(1), end(2)], &runs), ["run a ended 2 times"]);
        let here = Outages::new(&[], &[], &[1_200]);
        let away = Outages::new(&[900, 1_800, 1_850], &[], &[]);
        let busy = Outages::new(&[], &[], &[600, 1_200]);
        let late = [change(2_500, "a", (1, 2), 1_000), end(2_600)];
        assert_eq!(takeovers(&good, &here).breaches, Vec::<String>::new());
        assert_eq!(takeovers(&late, &here).breaches, ["at 2500 run a was taken over 1500 ms late"]);
        assert_eq!(takeovers(&late, &away).breaches, Vec::<String>::new());
        assert_eq!(takeovers(&late, &busy).breaches, Vec::<String>::new());
        let write = |seq, fence| [("a".to_owned(), seq, fence)];
        assert_eq!(stale_writes(&good, &write(5, 1)), Vec::<String>::new());
        assert_eq!(stale_writes(&good, &write(6, 2)), Vec::<String>::new());
        let expected = "run a: place 6 was written by holder 1, who was none any more";
        assert_eq!(stale_writes(&good, &write(6, 1)), [expected]);
    }
}
