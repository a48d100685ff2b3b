//! Groups of jobs: one that is refused leaves the others alone, and a commit that fails
//! acknowledges nobody.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{atomic::AtomicU32, atomic::Ordering, mpsc},
};

use rusqlite::Connection;
use tokio::task::JoinSet;

use super::*;

/// A file of its own, gone with the value.
struct Temporary(PathBuf);

impl Temporary {
    fn new() -> Temporary {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("foxwedge-writer-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        Temporary(folder)
    }

    fn place(&self) -> SqliteLocation {
        SqliteLocation::File(self.0.join("store.db").into())
    }

    fn rows(&self) -> Vec<String> {
        let connection = open::open_reader(&self.place()).expect("a connection");
        rows(&connection)
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rows(connection: &Connection) -> Vec<String> {
    let mut statement = connection.prepare("SELECT name FROM meta ORDER BY name").expect("SQL");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn put(work: &WriteContext<'_>, name: &str) -> SqliteResult<()> {
    work.connection.execute("INSERT INTO meta (name, value) VALUES (?1, '')", [name])?;
    Ok(())
}

/// One thing that a job does.
#[derive(Clone, Copy)]
enum Act {
    /// Writes a row, and is done.
    Put(&'static str),
    /// Writes a row, and is refused.
    Refused(&'static str),
    /// Writes a row, and then something that SQLite will not have.
    Failing(&'static str),
    /// Writes a row, and rolls back everything, as SQLite does after some errors.
    RollingBack(&'static str),
    /// Writes something because of which the commit will fail.
    Doomed,
}

fn act(work: &WriteContext<'_>, act: Act) -> SqliteResult<()> {
    match act {
        Act::Put(name) => put(work, name),
        Act::Refused(name) => {
            put(work, name)?;
            Err(StoreError::Invalid(format!("no {name}")).into())
        }
        Act::Failing(name) => {
            put(work, name)?;
            put(work, name)
        }
        Act::RollingBack(name) => {
            put(work, name)?;
            let again = "INSERT OR ROLLBACK INTO meta (name, value) VALUES (?1, '')";
            work.connection.execute(again, [name])?;
            Ok(())
        }
        Act::Doomed => {
            let stray = "PRAGMA defer_foreign_keys = ON;
                 INSERT INTO snapshots (session, name, body, seal) VALUES (9999, '', x'', x'')";
            Ok(work.connection.execute_batch(stray)?)
        }
    }
}

/// Does all of that in one transaction: the thread is held in it until everything is handed in.
async fn together(writer: &SqliteWriter, acts: &[Act]) -> Vec<String> {
    let (release, released) = mpsc::channel::<()>();
    let held = move |_: &mut WriteContext<'_>| {
        let _ = released.recv();
        Ok(())
    };
    let holding = hand_in(writer, held).await;
    let mut answers = Vec::new();
    for doing in acts.iter().copied() {
        answers.push(hand_in(writer, move |work: &mut WriteContext<'_>| act(work, doing)).await);
    }
    // Again and again: a group that has to begin anew is not held once more.
    drop(release);
    // Whether this one is acknowledged is for the others to say.
    let _ = holding.await.expect("an answer");
    let mut results = Vec::new();
    for answer in answers {
        results.push(match answer.await.expect("an answer") {
            Ok(()) => "ok".to_owned(),
            Err(StoreError::Unavailable(_)) => "unavailable".to_owned(),
            Err(error) => error.to_string(),
        });
    }
    results
}

/// Hands a job in without waiting for it.
async fn hand_in(
    writer: &SqliteWriter,
    job: impl Fn(&mut WriteContext<'_>) -> SqliteResult<()> + Send + 'static,
) -> oneshot::Receiver<Result<()>> {
    let (reply, answer) = oneshot::channel();
    let permit = writer.waiting.clone().acquire_owned().await.expect("a permit");
    let task = WriteTask { job, result: None, reply, permit };
    writer.send(WriterMessage::Job(Box::new(task))).expect("handed in");
    answer
}

async fn writer(temporary: &Temporary) -> Arc<SqliteWriter> {
    Arc::new(SqliteWriter::open(temporary.place(), WakeHub::default()).await.expect("a writer"))
}

#[tokio::test]
async fn a_job_that_fails_leaves_the_others_alone() {
    let temporary = Temporary::new();
    let writer = writer(&temporary).await;
    let acts = [Act::Put("a"), Act::Refused("b"), Act::Put("c"), Act::Failing("d"), Act::Put("e")];
    let results = together(&writer, &acts).await;
    assert_eq!(results, ["ok", "no b", "ok", "unavailable", "ok"]);
    assert_eq!(temporary.rows(), ["a", "c", "e"]);
}

#[tokio::test]
async fn a_commit_that_fails_acknowledges_nobody() {
    for trouble in [Act::Doomed, Act::RollingBack("x")] {
        let temporary = Temporary::new();
        let writer = writer(&temporary).await;
        together(&writer, &[Act::Put("before")]).await;
        let marked = |work: &mut WriteContext<'_>| {
            Ok(work.connection.execute_batch("CREATE TEMP TABLE mark (x)")?)
        };
        writer.write(0, marked).await.expect("marked");
        // One job alone, so that whoever shares its group is sure to share its fate.
        let doomed = move |work: &mut WriteContext<'_>| {
            put(work, "a")?;
            act(work, trouble)
        };
        let result = writer.write(0, doomed).await;
        assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
        assert_eq!(temporary.rows(), ["before"]);
        // What comes next is written, on a connection that knows nothing of the old one.
        let look = |work: &mut WriteContext<'_>| {
            put(work, "after")?;
            let mark = "SELECT count(*) FROM sqlite_temp_schema WHERE name = 'mark'";
            Ok(work.connection.query_row(mark, [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(writer.write(0, look).await.expect("written"), 0);
        assert_eq!(temporary.rows(), ["after", "before"]);
    }
}

#[tokio::test]
async fn whoever_shares_a_group_that_fails_is_not_acknowledged_either() {
    let temporary = Temporary::new();
    let writer = writer(&temporary).await;
    let acts = [Act::Put("a"), Act::Refused("b"), Act::Doomed, Act::Put("c")];
    let results = together(&writer, &acts).await;
    assert_eq!(results, ["unavailable", "no b", "unavailable", "unavailable"]);
    assert_eq!(temporary.rows(), Vec::<String>::new());
    assert_eq!(together(&writer, &[Act::Put("a"), Act::Put("c")]).await, ["ok", "ok"]);
    assert_eq!(temporary.rows(), ["a", "c"]);
}

#[tokio::test]
async fn a_disk_that_is_full_refuses_one_job_and_goes_on() {
    let temporary = Temporary::new();
    let writer = writer(&temporary).await;
    let large = |work: &mut WriteContext<'_>| {
        work.connection.execute_batch("PRAGMA max_page_count = 1")?;
        let rows = "INSERT INTO meta (name, value) VALUES ('large', hex(zeroblob(1000000)))";
        Ok(work.connection.execute_batch(rows)?)
    };
    let result = writer.write(0, large).await;
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
    assert_eq!(temporary.rows(), Vec::<String>::new());
    let room = |work: &mut WriteContext<'_>| {
        work.connection.execute_batch("PRAGMA max_page_count = 1000000")?;
        put(work, "small")
    };
    writer.write(0, room).await.expect("written");
    assert_eq!(temporary.rows(), ["small"]);
}

#[tokio::test]
async fn what_was_handed_in_is_written_before_the_end() {
    let temporary = Temporary::new();
    let writer = writer(&temporary).await;
    let names = ["a", "b", "c", "d"];
    let mut tasks = JoinSet::new();
    for name in names {
        let writer = writer.clone();
        tasks.spawn(async move { writer.write(0, move |work| put(work, name)).await });
    }
    for result in tasks.join_all().await {
        result.expect("written");
    }
    drop(writer);
    assert_eq!(temporary.rows(), names);
}

#[tokio::test]
async fn more_than_may_wait_waits_outside() {
    let temporary = Temporary::new();
    let writer = writer(&temporary).await;
    let mut tasks = JoinSet::new();
    for number in 0..64 {
        let writer = writer.clone();
        let bytes = 64 << 20;
        tasks.spawn(async move {
            let job = move |work: &mut WriteContext<'_>| put(work, &format!("{number:02}"));
            writer.write(bytes, job).await
        });
    }
    for result in tasks.join_all().await {
        result.expect("written");
    }
    assert_eq!(temporary.rows().len(), 64);
    assert_eq!(writer.waiting.available_permits(), MAX_WAITING as usize);
}
