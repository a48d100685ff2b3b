//! What is to be told to other processes: the last place of each run, once.

use std::{
    collections::HashMap,
    mem,
    sync::{Mutex, MutexGuard, PoisonError},
};

use tokio::sync::Notify;

/// So many runs may wait; with one more, others are told to look everywhere.
const RUNS: usize = 4_096;

/// What is to be told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum News {
    /// Runs, and the places they went on to.
    Runs(HashMap<String, u64>),
    /// Any run may have gone on.
    All,
}

/// What waits to be told.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    state: Mutex<State>,
    arrived: Notify,
    told: Notify,
}

#[derive(Debug)]
struct State {
    news: News,
    on_its_way: bool,
}

impl Default for State {
    fn default() -> State {
        State { news: nothing(), on_its_way: false }
    }
}

impl Outbox {
    /// A run went on to a place.
    pub(super) fn put(&self, run: &str, last: u64) {
        self.locked().news.add(run, last);
        self.arrived.notify_one();
    }

    /// Wakes whoever waits for news, though there may be none.
    pub(super) fn poke(&self) {
        self.arrived.notify_one();
    }

    /// Waits until there is news, or something else makes a connection worth its while.
    pub(super) async fn wanted(&self, otherwise: impl Fn() -> bool) {
        while self.locked().news.is_nothing() && !otherwise() {
            self.arrived.notified().await;
        }
    }

    /// Takes what waits. It counts as being on its way until [`Outbox::sent`] or
    /// [`Outbox::put_back`].
    pub(super) fn take(&self) -> News {
        let mut state = self.locked();
        state.on_its_way = true;
        mem::replace(&mut state.news, nothing())
    }

    /// What was taken is told.
    pub(super) fn sent(&self) {
        self.locked().on_its_way = false;
        self.told.notify_waiters();
    }

    /// What was taken could not be told, and waits again.
    pub(super) fn put_back(&self, news: News) {
        let mut state = self.locked();
        state.on_its_way = false;
        match news {
            News::All => state.news = News::All,
            News::Runs(runs) => runs.iter().for_each(|(run, last)| state.news.add(run, *last)),
        }
    }

    /// Waits until all is told.
    pub(super) async fn idle(&self) {
        loop {
            let told = self.told.notified();
            let mut told = std::pin::pin!(told);
            // Registered before the look, so that nothing falls in between.
            told.as_mut().enable();
            let idle = {
                let state = self.locked();
                state.news.is_nothing() && !state.on_its_way
            };
            if idle {
                return;
            }
            told.await;
        }
    }

    fn locked(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl News {
    fn is_nothing(&self) -> bool {
        matches!(self, News::Runs(runs) if runs.is_empty())
    }

    fn add(&mut self, run: &str, place: u64) {
        let News::Runs(runs) = self else { return };
        if let Some(last) = runs.get_mut(run) {
            *last = place.max(*last);
        } else if runs.len() < RUNS {
            runs.insert(run.to_owned(), place);
        } else {
            *self = News::All;
        }
    }
}

fn nothing() -> News {
    News::Runs(HashMap::new())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(places: &[(&str, u64)]) -> News {
        News::Runs(places.iter().map(|(run, last)| ((*run).to_owned(), *last)).collect())
    }

    #[test]
    fn many_steps_of_a_run_are_told_once() {
        let outbox = Outbox::default();
        for (run, last) in [("a", 1), ("b", 7), ("a", 3), ("a", 2)] {
            outbox.put(run, last);
        }
        assert_eq!(outbox.take(), runs(&[("a", 3), ("b", 7)]));
        assert_eq!(outbox.take(), nothing());
    }

    #[test]
    fn what_could_not_be_told_waits_again() {
        let outbox = Outbox::default();
        outbox.put("a", 3);
        let taken = outbox.take();
        outbox.put("a", 5);
        outbox.put("b", 1);
        outbox.put_back(taken);
        assert_eq!(outbox.take(), runs(&[("a", 5), ("b", 1)]));
    }

    #[test]
    fn too_many_runs_become_all() {
        let outbox = Outbox::default();
        (0..=RUNS).for_each(|run| outbox.put(&run.to_string(), 1));
        outbox.put("one more", 1);
        assert_eq!(outbox.take(), News::All);
    }

    #[tokio::test]
    async fn it_is_idle_once_all_is_told() {
        let outbox = Outbox::default();
        outbox.idle().await;
        outbox.put("a", 1);
        outbox.wanted(|| false).await;
        outbox.take();
        let both = async {
            tokio::join!(outbox.idle(), async { outbox.sent() });
        };
        both.await;
    }
}
