//! How answers reach the agent.

use crate::plays;

#[test]
fn some_answers_are_kept_until_the_rest_is_there() {
    // The agent hears nothing before all are there, and then goes on.
    plays(
        "ask hi => > says hi
         says hello a b c => < hello (a) (b) (c) tool_use.
         wants a b c
         answer b => < (a) (c) tool_use.
         answer => < (a) (c) tool_use.
         answer a => < (c) tool_use.
         answer c => > t-a=a, > t-b=b, > t-c=c
         says next d => < next (d) tool_use.",
    );
}

#[test]
fn answers_in_any_order_reach_the_agent_in_call_order() {
    let table = [["a b c", ""], ["c b a", ""], ["b", "c a"], ["c a", "b"], ["a", "b c"]];
    for [first, second] in table {
        let open = |ids: &str| {
            let open = ["a", "b", "c"].iter().filter(|id| !ids.contains(**id));
            open.map(|id| format!("({id})")).collect::<Vec<_>>().join(" ")
        };
        let all = "> t-a=a, > t-b=b, > t-c=c";
        let steps = match second {
            "" => format!("answer {first} => {all}"),
            second => {
                format!("answer {first} => < {} tool_use.\n answer {second} => {all}", open(first))
            }
        };
        plays(&format!(
            "ask hi => > says hi\n says a b c => < (a) (b) (c) tool_use.\n wants a b c\n {steps}"
        ));
    }
}

#[test]
fn answers_wait_for_agents_that_ask_one_by_one() {
    plays(
        "ask hi => > says hi
         says a b c => < (a) (b) (c) tool_use.
         wants b
         answer a b c => > t-b=b
         wants c => > t-c=c
         wants a => > t-a=a",
    );
}

#[test]
fn answers_that_nobody_wants_change_nothing() {
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         answer x => unknown x, fail 400 unknown_call
         answer x a a => unknown x, duplicate a, < (b) tool_use.
         answer a x => duplicate a, unknown x, fail 400 unknown_call
         answer b a => duplicate a, > t-a=a, > t-b=b
         says c d => < (c) (d) tool_use.
         closed c
         answer a c => duplicate a, late c, < (d) tool_use.
         answer d
         wants d => > t-d=d",
    );
}

#[test]
fn the_last_open_call_that_the_agent_closes_sets_the_others_free() {
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         answer a => < (b) tool_use.
         closed b => > t-a=a
         says meanwhile
         answer b => late b
         idle => < meanwhile end_turn.",
    );
    // What was said meanwhile, when all is over already.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         closed a
         says meanwhile
         idle
         answer a => late a, < meanwhile end_turn.",
    );
}

#[test]
fn a_client_owes_answers_that_the_agent_does_without() {
    // Otherwise its history would hold a call without an answer.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         closed b
         closed a
         says meanwhile c
         wants c
         answer a => late a, < (b) tool_use.
         answer => < (b) tool_use.
         answer b => late b, < meanwhile (c) tool_use.
         answer c => > t-c=c",
    );
}

#[test]
fn the_same_request_once_more_gets_the_same_reply() {
    // Nothing is done twice.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         answer a b => > t-a=a, > t-b=b
         says text c => < text (c) tool_use.
         wants c
         answer a b => duplicate a, duplicate b, < text (c) tool_use.
         answer a => duplicate a, < (c) tool_use.
         answer c => > t-c=c
         says done
         idle => < done end_turn.
         answer c => duplicate c, < done end_turn.
         answer a b => duplicate a, duplicate b, fail 400 nothing_new
         answer => fail 400 nothing_new",
    );
}

#[test]
fn a_second_request_at_the_same_time_is_refused() {
    plays(
        "ask hi => > says hi
         ask hello => fail 409 agent_busy
         says done
         idle => < done end_turn.",
    );
}

#[test]
fn one_id_for_two_calls_is_two_calls() {
    plays(
        "ask hi => > says hi
         says a a => < (a) (a) tool_use.
         wants a
         answer a => < (a) tool_use.
         answer a => > t-a=a
         closed a
         closed a => late a",
    );
}

#[test]
fn a_call_that_times_out_is_answered_alone_and_the_agent_goes_on() {
    // What the agent says is kept for whoever asks next, and a late answer is told so.
    plays(
        "ask hi => > says hi
         says a b c => < (a) (b) (c) tool_use.
         wants a b c
         answer b => < (a) (c) tool_use.
         timeout => timeout a, timeout c, > t-a=[foxwedge] Timed out, > t-b=b, > t-c=[foxwedge] Timed out
         timeout
         says done
         idle
         answer c => late c, < done end_turn.
         answer a => late a, fail 400 nothing_new",
    );
    // One that nobody knows does not keep the client from what it waits for.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         timeout => timeout a, > t-a=[foxwedge] Timed out
         says done
         idle
         answer x => unknown x, fail 400 unknown_call
         answer x a => unknown x, late a, < done end_turn.",
    );
    // Before, while and after the agent speaks; with words, which come behind what it said.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         timeout => timeout a, > t-a=[foxwedge] Timed out
         answer a => late a
         timeout
         says done
         idle => < done end_turn.
         ask more => > says more
         says b => < (b) tool_use.
         timeout => timeout b
         wants b => > t-b=[foxwedge] Timed out
         says well c
         wants c
         timeout
         answer b | what? => late b, > t-c=[foxwedge] Not started, > says what?
         says hmmm
         idle => < well / hmmm end_turn.",
    );
    // Calls that the client does not know of wait for it.
    plays(
        "serial ask hi => > says hi
         says a b => < (a) tool_use.
         wants a b
         timeout => timeout a
         timeout
         serial answer a => late a, < (b) tool_use.
         serial answer b => > t-a=[foxwedge] Timed out, > t-b=b
         says done
         idle => < done end_turn.",
    );
    // An agent that says nothing has said something, too.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         timeout => timeout a, > t-a=[foxwedge] Timed out
         idle
         answer a => late a, < end_turn.",
    );
}
