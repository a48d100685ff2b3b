//! Every story, with the agent of this workspace.

use crate::{
    stage::Stage,
    stories::{STORIES, World as _},
};

fn tell(names: &[&str]) {
    for (name, story) in STORIES.iter().filter(|(name, _)| names.contains(name)) {
        let mut stage = Stage::with(&[
            ("agent", "", ""),
            ("agent-slow", "slow=20", ""),
            ("agent-ask", "ask", "ask_user = true"),
        ]);
        if let Err(trouble) = story(&mut stage) {
            panic!("{name}: {trouble}\nlog: {:#?}\n{}", stage.log(), stage.said());
        }
        stage.end();
    }
}

#[test]
fn calls_at_once_and_their_answers() {
    tell(&["three files at once", "a tool, and then more talk", "answers in reverse order"]);
}

#[test]
fn answers_that_come_in_parts() {
    tell(&[
        "answers in three requests",
        "answers in three requests of a client that keeps only the first reply",
    ]);
}

#[test]
fn agents_that_are_killed() {
    tell(&[
        "an agent killed while it waits",
        "an agent killed between answers",
        "an agent killed while nobody waits",
    ]);
}

#[test]
fn gateways_that_are_killed() {
    tell(&["a gateway killed while an agent waits", "a gateway killed between answers"]);
}

#[test]
fn a_client_that_goes_away_cancels() {
    tell(&["a client that goes away"]);
}

#[test]
fn a_question_and_its_answer() {
    tell(&["a question, and its answer"]);
}

#[test]
fn ten_steps_with_a_restart() {
    tell(&["ten steps with a restart in the middle"]);
}

#[test]
fn every_story_is_told() {
    let source = include_str!("told.rs");
    for (name, _) in STORIES {
        assert!(source.contains(&format!("\"{name}\"")), "{name}");
    }
    assert!(Stage::plain().agents().is_empty());
}
