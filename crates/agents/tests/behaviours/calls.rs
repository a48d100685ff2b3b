//! How calls reach the client.

use crate::plays;

#[test]
fn calls_of_one_turn_come_back_together_in_order_with_their_text() {
    // Not only the first call, and the text is not lost.
    plays(
        "ask hi => > says hi
         says hello a b c => < hello (a) (b) (c) tool_use.
         wants a b c
         answer a b c => > t-a=a, > t-b=b, > t-c=c
         says done
         idle => < done end_turn.",
    );
}

#[test]
fn a_reply_waits_for_the_end_of_the_message_whatever_comes_first() {
    // Pieces, wishes and results in every order. Only the end of the message counts.
    plays(
        "ask hi => > says hi
         open
         block hello
         block a
         wants a b
         block b
         close => < hello (a) (b) tool_use.
         answer b => < (a) tool_use.
         answer a => > t-a=a, > t-b=b
         closed b
         closed a
         open
         block then
         ended more
         close
         idle => < then end_turn.",
    );
}

#[test]
fn an_end_of_a_turn_is_the_end_only_for_agents_that_never_say_more() {
    plays(
        "ask hi => > says hi
         says one
         ended => < one end_turn.
         ask more => > says more
         says two
         ended more
         says three
         idle => < two / three end_turn.
         ask again => > says again
         says four
         ended
         says five
         idle => < four / five end_turn.",
    );
}

#[test]
fn the_end_of_something_older_ends_nothing() {
    plays(
        "ask hi => > says hi
         says one
         ended => < one end_turn.
         ask more => > says more
         idle
         says two
         idle => < two end_turn.",
    );
}

#[test]
fn wishes_name_calls_by_their_ids_or_by_what_they_say() {
    // The agent's tickets and the client's ids are two things.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants ?b ?a
         answer b a => > t-a=a, > t-b=b",
    );
    // A wish for something that was never said is handed out at once.
    plays(
        "ask hi => > says hi
         wants x => < (x) tool_use.
         wants y
         answer x => < (y) tool_use.
         answer y => > t-x=x, > t-y=y",
    );
    // Without an id the call gets one.
    plays(
        "ask hi => > says hi
         wants ?z => < (toolu_jDn) tool_use.",
    );
}

#[test]
fn calls_that_the_agent_answers_itself_are_never_offered() {
    // Its own tools are its own business.
    plays(
        "ask hi => > says hi
         open
         block a b
         closed a
         close => < (b) tool_use.
         wants b
         answer b => > t-b=b
         says +x => own x
         closed x => own x done
         open
         block c
         closed c
         close
         says done
         idle => < done end_turn.",
    );
}

#[test]
fn several_messages_are_one_reply() {
    plays(
        "ask hi => > says hi
         says first +x => own x
         closed x => own x done
         says second +y => own y
         closed y => own y done
         says third a b => < first / second / third (a) (b) tool_use.",
    );
}

#[test]
fn calls_one_at_a_time() {
    // One call a reply, and the agent hears all answers together.
    plays(
        "serial ask hi => > says hi
         says hello a b c => < hello (a) tool_use.
         wants a
         serial answer a => < (b) tool_use.
         serial answer c => unknown c, fail 400 unknown_call
         serial answer b => < (c) tool_use.
         serial answer c => > t-a=a
         wants b => > t-b=b
         wants c => > t-c=c
         says done
         idle => < done end_turn.",
    );
    // A client that changes its mind gets the rest at once.
    plays(
        "serial ask hi => > says hi
         says a b c => < (a) tool_use.
         answer a => < (b) (c) tool_use.
         serial answer => < (b) tool_use.",
    );
}

#[test]
fn a_message_in_several_parts_loses_no_call() {
    // Its agent does not say where it ends, and asks for one answer after the other.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         part b
         part c
         answer a => < (b) (c) tool_use.
         answer c b => > t-a=a
         wants b => > t-b=b
         wants c => > t-c=c",
    );
    // Nor does one that never ends.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         open
         block b
         answer a => > t-a=a
         close => < (b) tool_use.",
    );
}

#[test]
fn words_leave_a_message_that_is_being_said_alone() {
    plays(
        "ask hi => > says hi
         says one
         ended => < one end_turn.
         open
         block a
         ask well => > says well
         block b
         close => < (a) (b) tool_use.",
    );
}
