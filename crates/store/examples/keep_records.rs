//! Keeps a conversation in a store and reads it back.
//!
//! ```sh
//! cargo run -p foxwedge-store --example keep_records
//! ```

use foxwedge_store::{
    AnyStore, ListFilter, ListPage, NewRecord, NewSession, Store, StoreError, StoreUrl,
};

#[tokio::main]
async fn main() -> Result<(), StoreError> {
    // `StoreUrl::Sqlite` is a file, `StoreUrl::Postgres` a server.
    let store = AnyStore::open(&StoreUrl::Memory).await?;
    let session = NewSession {
        id: "s1".to_owned(),
        owner: "ada".to_owned(),
        title: "Tides".to_owned(),
        meta: None,
    };
    store.create_session(session).await?;
    let record = |id: &str, parent: Option<&str>, body: &str| NewRecord {
        id: id.to_owned(),
        parent: parent.map(str::to_owned),
        run: None,
        kind: "message".to_owned(),
        body: body.to_owned(),
    };
    let records = vec![
        record("r1", None, r#"{"role":"user","content":"When is high water?"}"#),
        record("r2", Some("r1"), r#"{"role":"assistant","content":"At six."}"#),
    ];
    store.append_records("s1", records).await?;

    for row in store.sessions(ListFilter::default(), ListPage::default()).await? {
        println!("{} of {}: {} records", row.title, row.owner, row.records);
        for stored in store.records(&row.id, 0, 100).await? {
            println!("  {} {}", stored.ordinal, stored.record.body);
        }
    }
    Ok(())
}
