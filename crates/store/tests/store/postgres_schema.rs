//! The tables: which users create them, and what they contain.

use foxwedge_store::{ArchiveStore, CloseAuthority, PostgresStore, Store, StoreError, StoreTotals};
use tokio::task::JoinSet;

use crate::postgres_fixture::{administrator, begin, closing, fresh, open, parameter, text_event};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn concurrent_opens_create_the_tables_once() {
    let Some(url) = fresh() else { return };
    let mut stores = JoinSet::new();
    for _ in 0..8 {
        let url = format!("{url}&pool=1");
        stores.spawn(async move { PostgresStore::open(&url).await.map(drop) });
    }
    for opened in stores.join_all().await {
        opened.expect("a store");
    }
    let sql = format!("SELECT number FROM {}.foxwedge_migrations", parameter(&url, "schema"));
    let rows = administrator(&url).await.query(&sql, &[]).await.expect("steps");
    let steps: Vec<i32> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(steps, Vec::from_iter(1..=steps.len() as i32));
}

#[tokio::test]
async fn tables_of_the_first_version_are_migrated_with_all_data() {
    let Some(url) = fresh() else { return };
    let store = open(&url).await;
    begin(&store, "session", "run", 60_000).await;
    let before = store.events("run", 0, 10).await.expect("events");
    store.close().await;
    let schema = parameter(&url, "schema");
    let first = format!(
        "DROP TABLE {schema}.shared; DELETE FROM {schema}.foxwedge_migrations WHERE number > 1"
    );
    administrator(&url).await.batch_execute(&first).await.expect("the first version");
    let store = open(&url).await;
    assert_eq!(store.events("run", 0, 10).await.expect("events"), before);
    assert_eq!(store.entries(vec!["key".to_owned()]).await.expect("entries"), []);
}

#[tokio::test]
async fn tables_of_a_newer_version_are_left_alone() {
    let Some(url) = fresh() else { return };
    open(&url).await.close().await;
    let schema = parameter(&url, "schema");
    let newer = format!("INSERT INTO {schema}.foxwedge_migrations VALUES (1000, 'from tomorrow')");
    administrator(&url).await.batch_execute(&newer).await.expect("a step");
    let result = PostgresStore::open(&url).await.map(drop);
    let Err(StoreError::Invalid(why)) = result else { panic!("{result:?}") };
    assert!(why.contains("newer version: it is at step 1000"), "{why}");
}

#[tokio::test]
async fn user_without_create_rights_uses_the_existing_schema() {
    let Some(url) = fresh() else { return };
    let schema = parameter(&url, "schema").to_owned();
    let admin = administrator(&url).await;
    let sql = format!(
        "CREATE ROLE {schema}_user LOGIN;
         CREATE SCHEMA {schema} AUTHORIZATION {schema}_user"
    );
    admin.batch_execute(&sql).await.expect("a role");
    let url = url.replacen("postgres://postgres@", &format!("postgres://{schema}_user@"), 1);
    let store = open(&url).await;
    begin(&store, "session", "run", 1_000).await;
    let other = url.replace(&format!("schema={schema}"), "schema=somewhere_else");
    let result = PostgresStore::open(&other).await.map(drop);
    assert!(matches!(result, Err(StoreError::Unavailable(_))), "{result:?}");
}

#[tokio::test]
async fn role_defaults_do_not_weaken_durability_or_isolation() {
    let Some(url) = fresh() else { return };
    let schema = parameter(&url, "schema").to_owned();
    let admin = administrator(&url).await;
    let sql = format!(
        "CREATE ROLE {schema}_user LOGIN SUPERUSER;
         ALTER ROLE {schema}_user SET synchronous_commit = off;
         ALTER ROLE {schema}_user SET default_transaction_isolation = 'serializable'"
    );
    admin.batch_execute(&sql).await.expect("a role");
    let url = url.replacen("postgres://postgres@", &format!("postgres://{schema}_user@"), 1);
    let store = open(&url).await;
    // A trigger sees the settings of the store's transaction.
    let trigger = format!(
        "CREATE TABLE {schema}.seen (told text);
         CREATE FUNCTION {schema}.look() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
             INSERT INTO {schema}.seen VALUES (current_setting('synchronous_commit') || ', ' ||
                                               current_setting('transaction_isolation'));
             RETURN NEW;
         END $$;
         CREATE TRIGGER look BEFORE INSERT ON {schema}.events
             FOR EACH STATEMENT EXECUTE FUNCTION {schema}.look()"
    );
    admin.batch_execute(&trigger).await.expect("a trigger");
    let lease = begin(&store, "session", "run", 1_000).await;
    store.append("run", &lease, vec![text_event("run", 2, "x")]).await.expect("an append");
    let sql = format!("SELECT DISTINCT told FROM {schema}.seen");
    let rows = admin.query(&sql, &[]).await.expect("what it saw");
    let seen: Vec<&str> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(seen, ["on, read committed"]);
}

#[tokio::test]
async fn totals_and_examination_report_the_content() {
    let Some(url) = fresh() else { return };
    let store = open(&url).await;
    let lease = begin(&store, "session", "run", 60_000).await;
    begin(&store, "session", "other", 60_000).await;
    store.append("run", &lease, vec![text_event("run", 2, "x")]).await.expect("an append");
    let end = closing("run", 3, "end");
    store.finalize("run", CloseAuthority::Holder(lease), end).await.expect("an end");
    let totals = store.totals().await.expect("an answer");
    assert!(totals.bytes.is_some_and(|bytes| bytes > 8_192) && totals.schema >= 1);
    let expected =
        StoreTotals { sessions: 1, runs: 2, open: 1, events: 4, ..StoreTotals::default() };
    assert_eq!(StoreTotals { bytes: None, schema: 0, ..totals }, expected);
    store.compact().await.expect("compact");
    assert_eq!(store.examine().await.expect("an answer"), Vec::<String>::new());

    let damage = format!("DELETE FROM {}.events WHERE seq = 2", parameter(&url, "schema"));
    administrator(&url).await.batch_execute(&damage).await.expect("damage");
    let errors = store.examine().await.expect("an answer");
    assert_eq!(errors, ["run: a log that does not end at the last event of its run"]);
    let result = store.events("run", 0, 10).await;
    assert!(matches!(result, Err(StoreError::Corrupt { .. })), "{result:?}");
}
