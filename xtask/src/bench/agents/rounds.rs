//! Round trips: a prompt until the calls are there, answers until the text is there.

use super::{
    bare::{Bare, Heard},
    chat::{Chat, Face, please},
    client::Client,
    stage::{Gateway, Record, World},
};

/// How much is measured.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Round {
    pub(super) conversations: u32,
    pub(super) rounds: u32,
    /// Calls at once.
    pub(super) calls: usize,
}

/// How an agent is spoken to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Way {
    Bare,
    Gateway(Record, Face),
}

/// Milliseconds of one leg, round by round.
#[derive(Clone, PartialEq, Debug, Default)]
pub(super) struct Leg {
    pub(super) word: Vec<f64>,
    pub(super) whole: Vec<f64>,
}

/// What one way took.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Taken {
    pub(super) way: Way,
    /// From the prompt to the calls.
    pub(super) called: Leg,
    /// From the answers to the text.
    pub(super) told: Leg,
}

/// Everything that was seen.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Seen {
    pub(super) taken: Vec<Taken>,
    /// Milliseconds of a processor for each request, of each gateway.
    pub(super) cpu: Vec<(Record, f64)>,
}

/// One conversation, by one way.
enum Side {
    Bare(Box<Bare>),
    Gateway(Chat, Client),
}

impl Side {
    fn open(way: Way, world: &World, gateways: &[(Record, Gateway)]) -> Result<Side, String> {
        match way {
            Way::Bare => Bare::start(world).map(|bare| Side::Bare(Box::new(bare))),
            Way::Gateway(record, face) => {
                let found = gateways.iter().find(|(of, _)| *of == record);
                let (_, gateway) = found.ok_or("no such gateway")?;
                Ok(Side::Gateway(Chat::new(face), gateway.client()))
            }
        }
    }

    fn prompt(&mut self, calls: usize) -> Result<Heard, String> {
        let words = please(calls);
        match self {
            Side::Bare(bare) => bare.prompt(&words, calls),
            Side::Gateway(chat, client) => {
                chat.say(&words);
                let came = chat.ask(client, calls)?;
                Ok(Heard { word: came.word, whole: came.whole })
            }
        }
    }

    fn answer(&mut self) -> Result<Heard, String> {
        match self {
            Side::Bare(bare) => bare.answer(),
            Side::Gateway(chat, client) => {
                chat.answer();
                let came = chat.ask(client, 0)?;
                Ok(Heard { word: came.word, whole: came.whole })
            }
        }
    }
}

/// All ways in turns, round by round. The first round of a conversation starts an agent, and does
/// not count.
pub(super) fn measure(world: &World, round: Round) -> Result<Seen, String> {
    let ways = [
        Way::Bare,
        Way::Gateway(Record::None, Face::Whole),
        Way::Gateway(Record::All, Face::Whole),
        Way::Gateway(Record::None, Face::Stream),
        Way::Gateway(Record::All, Face::Stream),
    ];
    let mut taken =
        ways.map(|way| Taken { way, called: Leg::default(), told: Leg::default() }).to_vec();
    let mut gateways = Vec::new();
    for record in Record::BOTH {
        gateways.push((record, world.gateway(record, 16, 600)?));
    }
    let mut cpu = Vec::new();
    let mut turn = 0;
    for _ in 0..round.conversations {
        let mut sides = Vec::new();
        for way in ways {
            let mut side = Side::open(way, world, &gateways)?;
            side.prompt(round.calls)?;
            side.answer()?;
            sides.push(side);
        }
        let before: Vec<f64> = gateways.iter().map(|(_, gateway)| gateway.cpu()).collect();
        for _ in 0..round.rounds {
            for step in 0..ways.len() {
                let at = (turn + step) % ways.len();
                let (Some(side), Some(taken)) = (sides.get_mut(at), taken.get_mut(at)) else {
                    continue;
                };
                taken.called.add(side.prompt(round.calls)?);
                taken.told.add(side.answer()?);
            }
            turn += 1;
        }
        cpu.push(gateways.iter().zip(before).map(|((_, it), before)| it.cpu() - before).collect());
    }
    // Two faces, two legs.
    let requests = f64::from(round.conversations) * f64::from(round.rounds) * 4.0;
    let each = |at: usize| cpu.iter().filter_map(|all: &Vec<f64>| all.get(at)).sum::<f64>();
    let cpu = Record::BOTH.iter().enumerate().map(|(at, record)| (*record, each(at) / requests));
    Ok(Seen { cpu: cpu.collect(), taken })
}

impl Taken {
    /// Whole rounds. The gateway hands calls out when their message has ended, which may be before
    /// the agent asks for answers: what is saved in one leg is waited for in the other.
    pub(super) fn both(&self) -> Leg {
        let sum = |one: &[f64], two: &[f64]| one.iter().zip(two).map(|(a, b)| a + b).collect();
        Leg {
            word: sum(&self.called.whole, &self.told.word),
            whole: sum(&self.called.whole, &self.told.whole),
        }
    }
}

impl Leg {
    fn add(&mut self, heard: Heard) {
        self.word.push(heard.word.as_secs_f64() * 1_000.0);
        self.whole.push(heard.whole.as_secs_f64() * 1_000.0);
    }
}
