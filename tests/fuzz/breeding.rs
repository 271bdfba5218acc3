//! Inputs bred from a corpus, and what is said of the one that did harm.

use std::env;
use std::hash::{BuildHasher, Hasher as _, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use lockscope::chance::Chance;

/// What makes parsers go other ways.
const TOKENS: &[&[u8]] = &[
    b"\"",
    b"\\",
    b"{",
    b"}",
    b"[",
    b"]",
    b":",
    b",",
    b"=",
    b"/",
    b"\n",
    b"\r\n",
    b"\0",
    b"\x1b[2J",
    b"\xff",
    b"\xc3",
    b"-",
    b"+",
    b"0x",
    b"null",
    b"true",
    b"1e999",
    b"-0",
    b"9223372036854775807",
    b"-9223372036854775808",
    b"18446744073709551616",
    b"3.5",
    "锁".as_bytes(),
    "\u{202e}".as_bytes(),
    b"\"\"",
    b"k8s\0",
    b"\x0a\xff\xff\xff\xff\x0f",
];
/// The longest input.
const LONGEST: usize = 1 << 16;
/// How many inputs are kept to breed from beside the corpus.
const KEPT: usize = 512;
/// What an input may take, in a build without optimisation on a busy machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Gives a target one input after the other until the time is up.
///
/// # Panics
/// When the target does, or takes too long; with the input, and with the seed that leads to it.
pub fn fuzz(name: &str, corpus: &[Vec<u8>], target: fn(&[u8])) {
    let seconds = env::var("LOCKSCOPE_FUZZ_SECONDS").map_or(1, |text| text.parse().expect("a number of seconds"));
    let seed = env::var("LOCKSCOPE_SEED")
        .map_or_else(|_| RandomState::new().build_hasher().finish(), |text| text.parse().expect("a seed"));
    println!("LOCKSCOPE_SEED={seed}");
    let mut chance = Chance::new(seed, 0);
    let mut pool = corpus.to_vec();
    let mut given = 0_u64;
    let began = now();
    while given <= corpus.len() as u64 || began.elapsed() < Duration::from_secs(seconds) {
        let input = match corpus.get(usize::try_from(given).unwrap_or(usize::MAX)) {
            Some(untouched) => untouched.clone(),
            None => bred(&pool, &mut chance),
        };
        let started = now();
        let outcome = catch_unwind(AssertUnwindSafe(|| target(&input)));
        let took = started.elapsed();
        assert!(
            outcome.is_ok() && took < PATIENCE,
            "{name}: input {given} of LOCKSCOPE_SEED={seed} did harm, or took too long ({took:?}):\nb\"{}\"",
            input.escape_ascii()
        );
        given += 1;
        // Children of children reach further than those of the corpus alone.
        if pool.len() < corpus.len() + KEPT {
            pool.push(input);
        } else if chance.up_to(7) == 0 {
            let at = corpus.len() + pick(KEPT, &mut chance);
            pool[at] = input;
        }
    }
    println!("{name}: {given} inputs in {} s", began.elapsed().as_secs());
}

#[expect(clippy::disallowed_methods, reason = "how long to go on is a matter of the wall clock")]
fn now() -> Instant {
    Instant::now()
}

fn pick(below: usize, chance: &mut Chance) -> usize {
    usize::try_from(chance.up_to(below.max(1) as u64 - 1)).expect("it is below a usize")
}

/// A child of one input, or of two.
fn bred(pool: &[Vec<u8>], chance: &mut Chance) -> Vec<u8> {
    let mut child = pool[pick(pool.len(), chance)].clone();
    for _ in 0..=chance.up_to(3) {
        let (from, to) = span(child.len(), chance);
        match chance.up_to(6) {
            0 => child.iter_mut().skip(from).take(1).for_each(|byte| *byte ^= 1 << chance.up_to(7)),
            1 => child.iter_mut().skip(from).take(1).for_each(|byte| *byte = chance.up_to(255).to_le_bytes()[0]),
            2 => drop(child.drain(from..to)),
            3 => {
                let again = child[from..to].to_vec();
                child.splice(to..to, again);
            }
            4 => drop(child.splice(from..from, TOKENS[pick(TOKENS.len(), chance)].iter().copied())),
            5 => drop(child.splice(from..to, TOKENS[pick(TOKENS.len(), chance)].iter().copied())),
            _ => {
                let other = &pool[pick(pool.len(), chance)];
                let (start, end) = span(other.len(), chance);
                child.splice(from..to, other[start..end].iter().copied());
            }
        }
    }
    child.truncate(LONGEST);
    child
}

/// A stretch of so many bytes, mostly a short one.
fn span(length: usize, chance: &mut Chance) -> (usize, usize) {
    let from = pick(length + 1, chance);
    let most = if chance.up_to(3) == 0 { length - from } else { (length - from).min(16) };
    (from, from + pick(most + 1, chance))
}
