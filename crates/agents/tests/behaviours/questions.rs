//! Questions to people.

use crate::plays;

#[test]
fn a_reply_stays_open_while_a_person_is_asked() {
    plays(
        "ask hi => > says hi
         says +x => own x
         asks q => asked t-q
         decide p
         decide q => > decides t-q, settled t-q
         decide q
         closed x => own x done
         says done
         idle => < done end_turn.",
    );
}

#[test]
fn questions_are_withdrawn() {
    plays(
        "ask hi => > says hi
         asks q => asked t-q
         asks r => asked t-r
         withdrawn q => withdrawn t-q
         decide q
         died => fail 502 agent_died, withdrawn t-r",
    );
}

#[test]
fn wishes_are_withdrawn() {
    // Of a call that was never said, nothing is left.
    plays(
        "ask hi => > says hi
         wants x => < (x) tool_use.
         withdrawn x
         answer x => late x",
    );
    // A call that was said waits for what the agent does about it.
    plays(
        "ask hi => > says hi
         says a b => < (a) (b) tool_use.
         wants a b
         withdrawn a
         answer a b => > t-b=b
         closed a => late a",
    );
}
