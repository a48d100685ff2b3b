//! scratch
use foxwedge_core::{Profile, Wire};
use foxwedge_testkit::laws::*;
use std::collections::BTreeMap;
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let mut o = Options { cases: args[1].parse().unwrap(), ..Options::default() };
    if let Some(w) = args.get(2) {
        o.wire = Wire::parse(w);
    }
    if let Some(p) = args.get(3) {
        o.profile = Profile::parse(p);
    }
    let t = campaign(&o);
    let mut by: BTreeMap<String, (u64, Vec<&Breach>)> = BTreeMap::new();
    for b in &t.violations {
        let e = by
            .entry(format!("{} {} {}", b.law, b.case.wire.name(), b.case.profile.name()))
            .or_default();
        e.0 += 1;
        e.1.push(b);
    }
    println!(
        "cases {} sound {} unreadable {} violations {}",
        t.cases,
        t.sound,
        t.unreadable,
        t.violations.len()
    );
    println!("{:?}\n{:?}", t.findings, t.repairs);
    for (k, (n, bs)) in &by {
        println!("== {n} {k}");
        let b = bs.iter().min_by_key(|b| b.document.len()).unwrap();
        println!("{:?} seed {}\n{}\n{}", b.case.policy, b.case.seed, b.document, b.what);
    }
}
