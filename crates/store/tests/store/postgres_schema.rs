//! The tables: who makes them, who may, and what is in them.

use foxwedge_store::{ArchiveStore, CloseAuthority, PostgresStore, Store, StoreError, StoreTotals};
use tokio::task::JoinSet;

use crate::postgres_fixture::{administrator, begin, closing, fresh, open, parameter, says};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn many_come_at_once_and_the_tables_are_made_once() {
    let Some(url) = fresh() else { return };
    let mut stores = JoinSet::new();
    for _ in 0..8 {
        let url = format!("{url}&pool=1");
        stores.spawn(async move { PostgresStore::open(&url).await.map(drop) });
    }
    for opened in stores.join_all().await {
        opened.expect("a store");
    }
    let question = format!("SELECT number FROM {}.foxwedge_migrations", parameter(&url, "schema"));
    let rows = administrator(&url).await.query(&question, &[]).await.expect("steps");
    let steps: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(steps, Vec::from_iter(1..=steps.len() as i32));
}

#[tokio::test]
async fn tables_of_a_newer_version_are_left_alone() {
    let Some(url) = fresh() else { return };
    open(&url).await.close().await;
    let schema = parameter(&url, "schema");
    let newer = format!("INSERT INTO {schema}.foxwedge_migrations VALUES (1000, 'from tomorrow')");
    administrator(&url).await.batch_execute(&newer).await.expect("a step");
    let told = PostgresStore::open(&url).await.map(drop);
    let Err(StoreError::Invalid(why)) = told else { panic!("{told:?}") };
    assert!(why.contains("newer version: it is at step 1000"), "{why}");
}

#[tokio::test]
async fn somebody_who_may_not_make_a_schema_uses_the_one_that_is_there() {
    let Some(url) = fresh() else { return };
    let schema = parameter(&url, "schema").to_owned();
    let boss = administrator(&url).await;
    let made = format!(
        "CREATE ROLE {schema}_user LOGIN;
         CREATE SCHEMA {schema} AUTHORIZATION {schema}_user"
    );
    boss.batch_execute(&made).await.expect("a role");
    let url = url.replacen("postgres://postgres@", &format!("postgres://{schema}_user@"), 1);
    let store = open(&url).await;
    begin(&store, "session", "run", 1_000).await;
    let other = url.replace(&format!("schema={schema}"), "schema=somewhere_else");
    let told = PostgresStore::open(&other).await.map(drop);
    assert!(matches!(told, Err(StoreError::Unavailable(_))), "{told:?}");
}

#[tokio::test]
async fn what_an_administrator_chose_for_everybody_does_not_make_us_careless() {
    let Some(url) = fresh() else { return };
    let schema = parameter(&url, "schema").to_owned();
    let boss = administrator(&url).await;
    let made = format!(
        "CREATE ROLE {schema}_user LOGIN SUPERUSER;
         ALTER ROLE {schema}_user SET synchronous_commit = off;
         ALTER ROLE {schema}_user SET default_transaction_isolation = 'serializable'"
    );
    boss.batch_execute(&made).await.expect("a role");
    let url = url.replacen("postgres://postgres@", &format!("postgres://{schema}_user@"), 1);
    let store = open(&url).await;
    // A trigger sees what a transaction of the store sees.
    let spy = format!(
        "CREATE TABLE {schema}.seen (told text);
         CREATE FUNCTION {schema}.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO {schema}.seen VALUES (current_setting('synchronous_commit') || ', ' ||
                                               current_setting('transaction_isolation'));
             RETURN NEW;
         END $$;
         CREATE TRIGGER look BEFORE INSERT ON {schema}.events
             FOR EACH STATEMENT EXECUTE FUNCTION {schema}.look()"
    );
    boss.batch_execute(&spy).await.expect("a trigger");
    let lease = begin(&store, "session", "run", 1_000).await;
    store.append("run", &lease, vec![says("run", 2, "x")]).await.expect("an append");
    let question = format!("SELECT DISTINCT told FROM {schema}.seen");
    let rows = boss.query(&question, &[]).await.expect("what it saw");
    let seen: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on, read committed"]);
}

#[tokio::test]
async fn what_there_is_can_be_told_and_examined() {
    let Some(url) = fresh() else { return };
    let store = open(&url).await;
    let lease = begin(&store, "session", "run", 60_000).await;
    begin(&store, "session", "other", 60_000).await;
    store.append("run", &lease, vec![says("run", 2, "x")]).await.expect("an append");
    let end = closing("run", 3, "end");
    store.finalize("run", CloseAuthority::Holder(lease), end).await.expect("an end");
    let about = store.totals().await.expect("an answer");
    assert!(about.bytes.is_some_and(|bytes| bytes > 8_192) && about.schema >= 1);
    let expected =
        StoreTotals { sessions: 1, runs: 2, open: 1, events: 4, ..StoreTotals::default() };
    assert_eq!(StoreTotals { bytes: None, schema: 0, ..about }, expected);
    store.compact().await.expect("compact");
    assert_eq!(store.examine().await.expect("an answer"), Vec::<String>::new());

    let damage = format!("DELETE FROM {}.events WHERE seq = 2", parameter(&url, "schema"));
    administrator(&url).await.batch_execute(&damage).await.expect("damage");
    let told = store.examine().await.expect("an answer");
    assert_eq!(told, ["run: a log that does not end where its run says"]);
    let told = store.events("run", 0, 10).await;
    assert!(matches!(told, Err(StoreError::Corrupt { .. })), "{told:?}");
}
