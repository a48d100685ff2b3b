//! What the server saw, by its own clock: every change of a run's holder and every end, and a beat
//! that tells when it was there to be asked.

use std::collections::BTreeMap;

use tokio_postgres::{Client, Error};

/// How often the heart beats, in milliseconds, and how long a pause may be before it counts as one
/// during which nobody could have done anything.
pub(crate) const BEAT: u64 = 50;
const PAUSE: i64 = 200;

/// How long a node that stands still may keep others waiting. The server ends a transaction after a
/// second in which nothing comes; then the next one of the same node may get the row, and so on.
const STILL: i64 = 1_200 * (super::node::WORKERS as i64 + 2);

/// How late a run may be taken over, and how long closing it may take, in milliseconds: for every
/// fault that fell into that time, or shortly before.
const LATE: i64 = 1_000;
const BEFORE: i64 = 500;

/// A change of a run's row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Change {
    at: i64,
    run: String,
    /// Which holder it had, and has.
    fences: (i64, i64),
    /// Until when the holder before had it.
    until: i64,
    /// The last place of its log by then.
    last: i64,
    /// When it had ended before, and now.
    ended: (Option<i64>, Option<i64>),
}

/// Begins to write down what happens in a schema.
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

/// Everything that was written down, in order.
pub(crate) async fn changes(client: &Client, schema: &str) -> Result<Vec<Change>, Error> {
    let question = format!(
        "SELECT at, run, old_fence, new_fence, until, last, old_ended, new_ended
         FROM {schema}.audit ORDER BY number"
    );
    let rows = client.query(&question, &[]).await?;
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

/// When the heart beat.
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

/// Writes that were acknowledged to somebody after somebody else had taken the run over. A write
/// is a run, a place and a fence.
pub(crate) fn stale_writes(changes: &[Change], writes: &[(String, u64, u64)]) -> Vec<String> {
    let mut taken: BTreeMap<(&str, i64), i64> = BTreeMap::new();
    for change in changes.iter().filter(|change| change.fences.0 != change.fences.1) {
        taken.insert((&change.run, change.fences.0), change.last);
    }
    let stale = |(run, seq, fence): &&(String, u64, u64)| {
        let last = taken.get(&(run.as_str(), fence.cast_signed()));
        last.is_some_and(|last| seq.cast_signed() > *last)
    };
    let told = |(run, seq, fence): &(String, u64, u64)| {
        format!("run {run}: place {seq} was written by holder {fence}, who was none any more")
    };
    writes.iter().filter(stale).map(told).collect()
}

/// How late runs were taken over and closed, and which were too late.
#[derive(Debug, Default)]
pub(crate) struct Takeovers {
    pub(crate) count: usize,
    /// The latest, in milliseconds behind the end of the lease.
    pub(crate) latest: i64,
    /// The longest time from there to the end.
    pub(crate) longest: i64,
    pub(crate) breaches: Vec<String>,
}

/// Looks at every takeover. Time during which nobody could have made it does not count.
pub(crate) fn takeovers(changes: &[Change], absence: &Absence) -> Takeovers {
    let mut found = Takeovers::default();
    for (place, change) in changes.iter().enumerate() {
        let Change { at, run, fences, until, .. } = change;
        if fences.0 == fences.1 {
            continue;
        }
        found.count += 1;
        let late = at - until - absence.within(*until, *at);
        found.latest = found.latest.max(late);
        if late > absence.bearable(*until, *at) {
            found.breaches.push(format!("at {at} run {run} was taken over {late} ms late"));
        }
        // Whoever took it ends it, unless it is gone itself and another one takes it.
        let next = changes[place + 1..].iter().find(|next| next.run == *run);
        match next {
            Some(end) if end.fences.0 == end.fences.1 => {
                let took = end.at - at - absence.within(*at, end.at);
                found.longest = found.longest.max(took);
                if took > absence.bearable(*at, end.at) {
                    found.breaches.push(format!("at {} run {run} was closed in {took} ms", end.at));
                }
            }
            Some(_) => {}
            None => found.breaches.push(format!("run {run} was taken over and never closed")),
        }
    }
    found
}

/// Times during which nobody could do anything: the server was away, the machine was busy with
/// something else, or somebody stood still in the middle of a transaction.
pub(crate) struct Absence {
    times: Vec<(i64, i64)>,
    faults: Vec<i64>,
}

impl Absence {
    /// From the beats of the heart, the moments at which somebody began to stand still, and those
    /// of all faults.
    pub(crate) fn new(beats: &[i64], froze: &[i64], faults: &[i64]) -> Absence {
        let pauses = beats.windows(2).map(|pair| (pair[0], pair[1]));
        let pauses = pauses.filter(|(before, after)| after - before > PAUSE);
        let still = froze.iter().map(|at| (*at, at + STILL));
        let mut times: Vec<(i64, i64)> = pauses.chain(still).collect();
        times.sort_unstable();
        // None of it counts twice.
        let mut covered = i64::MIN;
        for (from, to) in &mut times {
            *from = (*from).max(covered);
            *to = (*to).max(*from);
            covered = *to;
        }
        Absence { times, faults: faults.to_vec() }
    }

    /// How much of a time it was.
    fn within(&self, from: i64, to: i64) -> i64 {
        self.times.iter().map(|(begin, end)| (to.min(*end) - from.max(*begin)).max(0)).sum()
    }

    /// How long something may take.
    fn bearable(&self, from: i64, to: i64) -> i64 {
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
    fn what_must_not_be_is_found() {
        let end = |at| Change { ended: (None, Some(at)), ..change(at, "a", (2, 2), 0) };
        let good = [change(1_100, "a", (1, 2), 1_000), end(1_200)];
        let runs = ["a".to_owned()];
        assert_eq!(ends(&good, &runs), Vec::<String>::new());
        assert_eq!(ends(&good[..1], &runs), ["run a ended 0 times"]);
        assert_eq!(ends(&[end(1), end(2)], &runs), ["run a ended 2 times"]);
        let here = Absence::new(&[], &[], &[1_200]);
        let away = Absence::new(&[900, 1_800, 1_850], &[], &[]);
        let busy = Absence::new(&[], &[], &[600, 1_200]);
        let late = [change(2_500, "a", (1, 2), 1_000), end(2_600)];
        assert_eq!(takeovers(&good, &here).breaches, Vec::<String>::new());
        assert_eq!(takeovers(&late, &here).breaches, ["at 2500 run a was taken over 1500 ms late"]);
        assert_eq!(takeovers(&late, &away).breaches, Vec::<String>::new());
        assert_eq!(takeovers(&late, &busy).breaches, Vec::<String>::new());
        let write = |seq, fence| [("a".to_owned(), seq, fence)];
        assert_eq!(stale_writes(&good, &write(5, 1)), Vec::<String>::new());
        assert_eq!(stale_writes(&good, &write(6, 2)), Vec::<String>::new());
        let told = "run a: place 6 was written by holder 1, who was none any more";
        assert_eq!(stale_writes(&good, &write(6, 1)), [told]);
    }
}
