//! How replies and agents end.

use foxwedge_agents::AgentBridge;

use crate::{plays, stage::play};

#[test]
fn a_client_that_is_gone_takes_the_agent_with_it_and_a_normal_end_does_not() {
    plays(
        "ask hi => > says hi
         says hello
         asks q => asked t-q
         stop => > interrupt, withdrawn t-q, fail 499 stopped, kill
         stop
         died
         says late
         wants x
         ask hi => fail 502 agent_died",
    );
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         wants a
         answer a => > t-a=a
         says done
         idle => < done end_turn.
         stop",
    );
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         stop => > interrupt, kill",
    );
}

#[test]
fn a_death_is_told_to_whoever_waits() {
    plays(
        "ask hi => > says hi
         says hello
         died => fail 502 agent_died
         answer a => fail 502 agent_died",
    );
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         died
         answer a => fail 502 agent_died",
    );
}

#[test]
fn trouble_of_the_provider_is_told_with_its_status() {
    for (status, expected) in [("429", 429), ("529", 529), ("200", 502), ("", 502), ("600", 502)] {
        plays(&format!(
            "ask hi => > says hi
             says hello
             trouble {status} => fail {expected} agent_failed, kill"
        ));
    }
    // Nobody hears it: the next request begins anew.
    plays(
        "ask hi => > says hi
         says a => < (a) tool_use.
         trouble 500 => kill",
    );
    // Somebody stopped it: that is no failure.
    plays(
        "ask hi => > says hi
         says hello
         stopped => < hello end_turn.",
    );
}

#[test]
fn an_agent_that_gives_up_its_calls_is_of_no_use() {
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         ended => kill",
    );
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         ended more
         idle => kill",
    );
    // Calls that were never handed out are no loss.
    plays(
        "ask hi => > says hi
         open
         block text a
         ended => < text end_turn.",
    );
}

#[test]
fn an_agent_that_says_nothing_in_pieces_says_it_at_the_end() {
    plays(
        "ask hi => > says hi
         ended: hello => < hello end_turn.
         ask more => > says more
         says two
         ended: two => < two end_turn.
         ask more => > says more
         ended => < end_turn.",
    );
}

#[test]
fn a_resumed_agent_goes_on_by_itself() {
    play(
        AgentBridge::new(true),
        "answer a b => 
         idle
         says hello c => < hello (c) tool_use.
         wants c
         answer c => > t-c=c",
    );
    play(
        AgentBridge::new(true),
        "says hello c
         wants c
         answer a | words => < hello (c) tool_use.",
    );
}

#[test]
fn what_is_said_while_nobody_listens_is_told_next() {
    plays(
        "ask hi => > says hi
         says one
         ended => < one end_turn.
         says two a
         wants a
         ask well => > t-a=[foxwedge] Not started, > says well
         says three
         ended => < two / three end_turn.",
    );
    plays(
        "ask hi => > says hi
         says one
         ended => < one end_turn.
         says two a
         answer => < two (a) tool_use.",
    );
}
