//! Groups of jobs: a refused job does not affect the others, and a failed commit acknowledges no
//! job.

use std::{
    env, fs,
    path::PathBuf,
    process,
    sync::{atomic::AtomicU32, atomic::Ordering, mpsc},
};

use rusqlite::Connection;
use tokio::task::JoinSet;

use super::*;

/// A temporary folder with a database, deleted on drop.
struct TemporaryFolder(PathBuf);

impl TemporaryFolder {
    fn new() -> TemporaryFolder {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let folder = env::temp_dir().join(format!("foxwedge-writer-{}-{count}", process::id()));
        fs::create_dir_all(&folder).expect("a folder");
        TemporaryFolder(folder)
    }

    fn location(&self) -> SqliteLocation {
        SqliteLocation::File(self.0.join("store.db").into())
    }

    fn rows(&self) -> Vec<String> {
        let connection = open::open_reader(&self.location()).expect("a connection");
        rows(&connection)
    }
}

impl Drop for TemporaryFolder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn rows(connection: &Connection) -> Vec<String> {
    let mut statement = connection.prepare("SELECT name FROM meta ORDER BY name").expect("SQL");
    let rows = statement.query_map([], |row| row.get(0)).expect("rows");
    rows.map(|row| row.expect("a row")).collect()
}

fn put(context: &WriteContext<'_>, name: &str) -> SqliteResult<()> {
    context.connection.execute("INSERT INTO meta (name, value) VALUES (?1, '')", [name])?;
    Ok(())
}

/// What a job does.
#[derive(Clone, Copy)]
enum JobAction {
    /// Writes a row and succeeds.
    Put(&'static str),
    /// Writes a row and is refused.
    Refused(&'static str),
    /// Writes a row, then fails in SQLite.
    Failing(&'static str),
    /// Writes a row, then rolls back everything, as SQLite does after some errors.
    RollingBack(&'static str),
    /// Writes a row that makes the commit fail.
    Doomed,
}

fn perform(context: &WriteContext<'_>, action: JobAction) -> SqliteResult<()> {
    match action {
        JobAction::Put(name) => put(context, name),
        JobAction::Refused(name) => {
            put(context, name)?;
            Err(StoreError::Invalid(format!("no {name}")).into())
        }
        JobAction::Failing(name) => {
            put(context, name)?;
            put(context, name)
        }
        JobAction::RollingBack(name) => {
            put(context, name)?;
            let duplicate = "INSERT OR ROLLBACK INTO meta (name, value) VALUES (?1, '')";
            context.connection.execute(duplicate, [name])?;
            Ok(())
        }
        JobAction::Doomed => {
            let orphan = "PRAGMA defer_foreign_keys = ON;
                 INSERT INTO snapshots (session, name, body, seal) VALUES (9999, '', x'', x'')";
            Ok(context.connection.execute_batch(orphan)?)
        }
    }
}

/// Runs all of these in one transaction: a first job blocks the thread until all are queued.
async fn run_in_one_group(writer: &SqliteWriter, actions: &[JobAction]) -> Vec<String> {
    let (release, released) = mpsc::channel::<()>();
    let blocker = move |_: &mut WriteContext<'_>| {
        let _ = released.recv();
        Ok(())
    };
    let blocked = queue_job(writer, blocker).await;
    let mut responses = Vec::new();
    for action in actions.iter().copied() {
        responses.push(
            queue_job(writer, move |context: &mut WriteContext<'_>| perform(context, action)).await,
        );
    }
    // Dropping the sender also releases the job when the group starts over.
    drop(release);
    // Whether this one is acknowledged depends on the others.
    let _ = blocked.await.expect("an answer");
    let mut results = Vec::new();
    for response in responses {
        results.push(match response.await.expect("an answer") {
            Ok(()) => "ok".to_owned(),
            Err(StoreError::Unavailable(_)) => "unavailable".to_owned(),
            Err(error) => error.to_string(),
        });
    }
    results
}

/// Queues a job without waiting for it.
async fn queue_job(
    writer: &SqliteWriter,
    job: impl Fn(&mut WriteContext<'_>) -> SqliteResult<()> + Send + 'static,
) -> oneshot::Receiver<Result<()>> {
    let (reply, response) = oneshot::channel();
    let permit = writer.waiting.clone().acquire_owned().await.expect("a permit");
    let task = WriteTask { job, result: None, reply, permit };
    writer.send(WriterMessage::Job(Box::new(task))).expect("handed in");
    response
}

async fn writer(folder: &TemporaryFolder) -> Arc<SqliteWriter> {
    Arc::new(SqliteWriter::open(folder.location(), WakeHub::default()).await.expect("a writer"))
}

#[tokio::test]
async fn failed_job_does_not_affect_the_others() {
    let folder = TemporaryFolder::new();
    let writer = writer(&folder).await;
    let actions = [
        JobAction::Put("a"),
        JobAction::Refused("b"),
        JobAction::Put("c"),
        JobAction::Failing("d"),
        JobAction::Put("e"),
    ];
    let results = run_in_one_group(&writer, &actions).await;
    assert_eq!(results, ["ok", "no b", "ok", "unavailable", "ok"]);
    assert_eq!(folder.rows(), ["a", "c", "e"]);
}

#[tokio::test]
async fn failed_commit_acknowledges_no_job() {
    for failure in [JobAction::Doomed, JobAction::RollingBack("x")] {
        let folder = TemporaryFolder::new();
        let writer = writer(&folder).await;
        run_in_one_group(&writer, &[JobAction::Put("before")]).await;
        let mark = |context: &mut WriteContext<'_>| {
            Ok(context.connection.execute_batch("CREATE TEMP TABLE mark (x)")?)
        };
        writer.write(0, mark).await.expect("marked");
        // One job alone, so that the whole group has one result.
        let failing = move |context: &mut WriteContext<'_>| {
            put(context, "a")?;
            perform(context, failure)
        };
        let result = writer.write(0, failing).await;
        assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
        assert_eq!(folder.rows(), ["before"]);
        // The next job is written on a new connection.
        let write_next = |context: &mut WriteContext<'_>| {
            put(context, "after")?;
            let mark = "SELECT count(*) FROM sqlite_temp_schema WHERE name = 'mark'";
            Ok(context.connection.query_row(mark, [], |row| row.get::<_, i64>(0))?)
        };
        assert_eq!(writer.write(0, write_next).await.expect("written"), 0);
        assert_eq!(folder.rows(), ["after", "before"]);
    }
}

#[tokio::test]
async fn every_job_of_a_failed_group_fails() {
    let folder = TemporaryFolder::new();
    let writer = writer(&folder).await;
    let actions =
        [JobAction::Put("a"), JobAction::Refused("b"), JobAction::Doomed, JobAction::Put("c")];
    let results = run_in_one_group(&writer, &actions).await;
    assert_eq!(results, ["unavailable", "no b", "unavailable", "unavailable"]);
    assert_eq!(folder.rows(), Vec::<String>::new());
    assert_eq!(
        run_in_one_group(&writer, &[JobAction::Put("a"), JobAction::Put("c")]).await,
        ["ok", "ok"]
    );
    assert_eq!(folder.rows(), ["a", "c"]);
}

#[tokio::test]
async fn full_disk_fails_one_job_and_the_next_succeeds() {
    let folder = TemporaryFolder::new();
    let writer = writer(&folder).await;
    let large = |context: &mut WriteContext<'_>| {
        context.connection.execute_batch("PRAGMA max_page_count = 1")?;
        let rows = "INSERT INTO meta (name, value) VALUES ('large', hex(zeroblob(1000000)))";
        Ok(context.connection.execute_batch(rows)?)
    };
    let result = writer.write(0, large).await;
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
    assert_eq!(folder.rows(), Vec::<String>::new());
    let room = |context: &mut WriteContext<'_>| {
        context.connection.execute_batch("PRAGMA max_page_count = 1000000")?;
        put(context, "small")
    };
    writer.write(0, room).await.expect("written");
    assert_eq!(folder.rows(), ["small"]);
}

#[tokio::test]
async fn queued_jobs_are_written_before_close() {
    let folder = TemporaryFolder::new();
    let writer = writer(&folder).await;
    let names = ["a", "b", "c", "d"];
    let mut tasks = JoinSet::new();
    for name in names {
        let writer = writer.clone();
        tasks.spawn(async move { writer.write(0, move |context| put(context, name)).await });
    }
    for result in tasks.join_all().await {
        result.expect("written");
    }
    drop(writer);
    assert_eq!(folder.rows(), names);
}

#[tokio::test]
async fn callers_wait_when_the_queue_is_full() {
    let folder = TemporaryFolder::new();
    let writer = writer(&folder).await;
    let mut tasks = JoinSet::new();
    for number in 0..64 {
        let writer = writer.clone();
        let bytes = 64 << 20;
        tasks.spawn(async move {
            let job = move |context: &mut WriteContext<'_>| put(context, &format!("{number:02}"));
            writer.write(bytes, job).await
        });
    }
    for result in tasks.join_all().await {
        result.expect("written");
    }
    assert_eq!(folder.rows().len(), 64);
    assert_eq!(writer.waiting.available_permits(), MAX_WAITING as usize);
}
