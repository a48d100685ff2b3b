//! What people read.

use foxwedge_core::{Profile, Wire};
use foxwedge_dialect::canon::Lost;

use super::*;
use crate::{cli::Format, convert::told::Place, outcome::Judged};

fn told(losses: Vec<Missing>) -> Told {
    Told {
        path: "x.json".to_owned(),
        kind: Kind::Request,
        from: Format::Wire(Wire::OpenaiChat),
        wire: Wire::OpenaiChat,
        to: Wire::Anthropic,
        profile: Profile::Anthropic,
        messages: 31,
        losses,
        renamed: Vec::new(),
        names: Vec::new(),
        before: foxwedge_core::EditLog::default(),
        behind: foxwedge_core::EditLog::default(),
        remaining: Judged::default(),
        ending: Ending::Whole,
    }
}

fn missing(what: Lost, place: Place, note: &str) -> Missing {
    Missing { what, place, note: note.to_owned() }
}

fn plain(text: &str) -> String {
    anstream::adapter::strip_str(text).to_string()
}

#[test]
fn equal_losses_are_one_line() {
    let reasoning = "reasoning goes back to its own format only";
    let mut losses = vec![missing(Lost::Setting, Place::Request, "`seed` has no place")];
    for message in [1, 5, 9] {
        losses.push(missing(Lost::Reasoning, Place::Message(message), reasoning));
    }
    losses.push(missing(Lost::Media, Place::Message(4), "a sound has no place"));
    let expected = "\
left out:
      `seed` has no place (request)
  3 × reasoning goes back to its own format only (messages 1, 5, 9)
      a sound has no place (message 4)
31 messages, openai-chat → anthropic, sound for anthropic; 5 losses.
";
    assert_eq!(plain(&draw(&told(losses))), expected);
}

#[test]
fn long_lists_end_in_a_number() {
    let losses = (0..40).map(|at| missing(Lost::Media, Place::Message(at), &format!("note {at}")));
    let mut told = told(losses.collect());
    let id = |at: usize| Renamed { old: "x".repeat(at + 1), new: format!("toolu_{at}") };
    told.renamed = (0..14).map(id).collect();
    told.renamed[0].old.clear();
    let text = plain(&draw(&told));
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines[1], "  note 0 (message 0)");
    assert_eq!(lines[13], "  … and 28 more");
    assert_eq!(lines[14], "ids replaced:");
    assert_eq!(lines[15], "  (none)       → toolu_0");
    assert_eq!(lines[16], "  xx           → toolu_1");
    assert_eq!(lines[27], "  … and 2 more");
    assert_eq!(lines.len(), 29);
}

#[test]
fn the_last_line_says_how_it_ended() {
    let table = [
        (Kind::Response, Ending::Whole, "1 response, openai-chat → anthropic; no losses.\n"),
        (
            Kind::Response,
            Ending::Failed,
            "1 response, openai-chat → anthropic, the provider failed; no losses.\n",
        ),
        (Kind::Stream, Ending::Whole, "1 stream, openai-chat → anthropic, complete; no losses.\n"),
        (Kind::Stream, Ending::Cut, "1 stream, openai-chat → anthropic, cut off; no losses.\n"),
    ];
    for (kind, ending, expected) in table {
        let told = Told { kind, ending, ..told(Vec::new()) };
        assert_eq!(plain(&draw(&told)), expected);
    }
}
