//! Whole frames of an embedded cluster.

use super::raft::sample;
use super::testing::*;
use crate::event::Observation;

fn demo() -> Cluster {
    let mut cluster = crate::view::testing::sample();
    cluster.model.ui.demo = Some(crate::model::ui::Demo::new(42, 3));
    cluster.tell(Observation::Raft(Box::new(sample::picture())));
    cluster
}

#[test]
fn scratch() {
    let mut cluster = demo();
    for (w, h) in [(80, 24), (120, 36)] {
        println!("{}\n", cluster.draw(w, h, &plain()).text());
    }
    for (w, h) in [(80, 24), (120, 36), (200, 60), (60,16)] {
        cluster.press("r", w, h);
        println!("{}\n", cluster.draw(w, h, &plain()).text());
    }
    println!("{}\n", cluster.draw(80, 24, &ascii()).text());
    cluster.press("e", 80, 24);
    println!("{}\n", cluster.draw(80, 24, &plain()).text());
    cluster.press("ew", 80, 24);
    println!("{}\n", cluster.draw(80, 24, &plain()).text());
    cluster.press("j", 80, 24);
    println!("{}\n", cluster.draw(80, 24, &plain()).text());
    println!("{}\n", cluster.draw(120, 36, &plain()).text());
    println!("{}\n", cluster.draw(120, 36, &ascii()).text());
    cluster.press("?", 120, 36);
    println!("{}\n", cluster.draw(120, 36, &plain()).text());
    let mut real = crate::view::testing::sample();
    for (w, h) in [(80, 24), (120, 36)] {
        real.press("r", w, h);
        println!("{}\n", real.draw(w, h, &plain()).text());
    }
}
