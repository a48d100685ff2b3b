//! What a person says while calls are open.

use crate::plays;

#[test]
fn answers_come_before_the_words_behind_them() {
    // Nothing is lost.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         answer b a | and quickly => > t-a=a, > t-b=b, > says and quickly
         says done
         idle => < done end_turn.",
    );
}

#[test]
fn words_instead_of_answers_cancel_what_is_open() {
    plays(
        "ask hi => > says hi
         says a b c => < (a) (b) (c) tool_use.
         wants a b c
         answer b => < (a) (c) tool_use.
         ask never mind => > t-a=[foxwedge] Interrupted, > t-b=b, > t-c=[foxwedge] Interrupted, > says never mind
         says done
         idle => < done end_turn.
         answer a b => late a, duplicate b, fail 400 nothing_new",
    );
    // Calls that the client was never told of did not run.
    plays(
        "serial ask hi => > says hi
         says a b => < (a) tool_use.
         wants a b
         ask never mind => > t-a=[foxwedge] Interrupted, > t-b=[foxwedge] Not started, > says never mind",
    );
}

#[test]
fn words_wait_until_the_agent_has_all_answers() {
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a
         answer a b | go on => > t-a=a
         wants b => > t-b=b, > says go on",
    );
    // Or until it does not want them any more.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a
         answer a b | go on => > t-a=a
         closed b => late b, > says go on",
    );
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a
         answer a b | go on => > t-a=a
         says other => late b, > says go on
         idle => < other end_turn.",
    );
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a
         answer a b | go on => > t-a=a
         ended more => late b, > says go on
         idle
         says well
         idle => < well end_turn.",
    );
}
