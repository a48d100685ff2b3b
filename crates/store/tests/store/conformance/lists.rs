//! Lists: newest first, page by page.

use std::sync::Arc;

use foxwedge_run::Outcome;
use foxwedge_store::{ArchiveStore, CloseAuthority, ListFilter, ListPage, NewRun, NewSession};

use crate::sample::{closing, new_run, new_session, refusal, start_run};

fn page(after: Option<&str>, limit: usize) -> ListPage {
    ListPage { after: after.map(str::to_owned), limit }
}

async fn sessions(store: &impl ArchiveStore, filter: ListFilter, page: ListPage) -> Vec<String> {
    let rows = store.sessions(filter, page).await.expect("a list");
    rows.into_iter().map(|session| session.id).collect()
}

async fn runs(store: &impl ArchiveStore, filter: ListFilter, page: ListPage) -> Vec<String> {
    let rows = store.runs(filter, page).await.expect("a list");
    rows.into_iter().map(|run| run.id).collect()
}

/// Sessions `s1` to `s6` of two alternating owners; `s1` and `s2` have an open run, `s3` has an
/// ended one.
async fn fill(store: &impl ArchiveStore) {
    for number in 1..=6 {
        let owner = if number % 2 == 1 { "odd" } else { "even" }.to_owned();
        let new = NewSession { owner, ..new_session(&format!("s{number}")) };
        store.create_session(new).await.expect("a session");
    }
    // Runs with a start time are listed by it.
    for (session, id, at) in [("s1", "r1", 500), ("s2", "r2", 900), ("s3", "r3", 100)] {
        start_run(store, NewRun { at: Some(at), ..new_run(session, id) }).await;
    }
    let run = store.run("r3").await.expect("an answer").expect("a run");
    let end = closing(&run, Outcome::Completed);
    store.finalize("r3", CloseAuthority::Operator, end).await.expect("ended");
    start_run(store, NewRun { at: Some(500), ..new_run("s1", "r4") }).await;
}

pub(crate) async fn sessions_are_listed_the_newest_first(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let all = ["s6", "s5", "s4", "s3", "s2", "s1"];
    assert_eq!(sessions(&*store, ListFilter::default(), ListPage::default()).await, all);
    let mut found = Vec::new();
    loop {
        let after = found.last().cloned();
        let next = sessions(&*store, ListFilter::default(), page(after.as_deref(), 4)).await;
        if next.is_empty() {
            break;
        }
        found.extend(next);
    }
    assert_eq!(found, all);
}

pub(crate) async fn sessions_are_listed_by_owner(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let of = |owner: &str| ListFilter { owner: Some(owner.to_owned()), ..ListFilter::default() };
    assert_eq!(sessions(&*store, of("odd"), ListPage::default()).await, ["s5", "s3", "s1"]);
    assert_eq!(sessions(&*store, of("even"), page(None, 2)).await, ["s6", "s4"]);
    assert_eq!(sessions(&*store, of("even"), page(Some("s4"), 2)).await, ["s2"]);
    for stranger in ["", "%", "odd' OR '1'='1", "ODD", "od\0d"] {
        assert_eq!(
            sessions(&*store, of(stranger), ListPage::default()).await,
            [""; 0],
            "{stranger:?}"
        );
    }
    let one = ListFilter { session: Some("s3".to_owned()), ..of("odd") };
    assert_eq!(sessions(&*store, one, ListPage::default()).await, ["s3"]);
    let other = ListFilter { session: Some("s3".to_owned()), ..of("even") };
    assert_eq!(sessions(&*store, other, ListPage::default()).await, [""; 0]);
}

pub(crate) async fn sessions_are_listed_by_whether_a_run_is_open(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let open = |open| ListFilter { open: Some(open), ..ListFilter::default() };
    assert_eq!(sessions(&*store, open(true), ListPage::default()).await, ["s2", "s1"]);
    assert_eq!(sessions(&*store, open(false), ListPage::default()).await, ["s6", "s5", "s4", "s3"]);
}

pub(crate) async fn runs_are_listed_the_newest_first(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    assert_eq!(
        runs(&*store, ListFilter::default(), ListPage::default()).await,
        ["r2", "r4", "r1", "r3"]
    );
    assert_eq!(runs(&*store, ListFilter::default(), page(None, 2)).await, ["r2", "r4"]);
    assert_eq!(runs(&*store, ListFilter::default(), page(Some("r4"), 2)).await, ["r1", "r3"]);
    assert_eq!(runs(&*store, ListFilter::default(), page(Some("r3"), 2)).await, [""; 0]);
}

pub(crate) async fn runs_are_listed_by_session_owner_and_state(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let filter = |owner: Option<&str>, session: Option<&str>, open| ListFilter {
        owner: owner.map(str::to_owned),
        session: session.map(str::to_owned),
        open,
    };
    let table: [(ListFilter, &[&str]); 8] = [
        (filter(Some("odd"), None, None), &["r4", "r1", "r3"]),
        (filter(Some("even"), None, None), &["r2"]),
        (filter(None, Some("s1"), None), &["r4", "r1"]),
        (filter(None, None, Some(true)), &["r2", "r4", "r1"]),
        (filter(None, None, Some(false)), &["r3"]),
        (filter(Some("odd"), Some("s3"), Some(false)), &["r3"]),
        (filter(Some("odd"), Some("s3"), Some(true)), &[]),
        (filter(Some("even"), Some("s1"), None), &[]),
    ];
    for (filter, expected) in table {
        assert_eq!(
            runs(&*store, filter.clone(), ListPage::default()).await,
            expected,
            "{filter:?}"
        );
    }
}

pub(crate) async fn a_page_after_an_unknown_id_is_refused(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    let unknown = page(Some("none"), 2);
    assert_eq!(
        refusal(store.sessions(ListFilter::default(), unknown.clone()).await),
        "session `none` does not exist"
    );
    assert_eq!(
        refusal(store.runs(ListFilter::default(), unknown).await),
        "run `none` does not exist"
    );
}

pub(crate) async fn a_page_of_nothing_is_empty(store: Arc<impl ArchiveStore>) {
    fill(&*store).await;
    assert_eq!(sessions(&*store, ListFilter::default(), page(None, 0)).await, [""; 0]);
    assert_eq!(runs(&*store, ListFilter::default(), page(None, 0)).await, [""; 0]);
    assert_eq!(runs(&*store, ListFilter::default(), page(None, usize::MAX)).await.len(), 4);
}
