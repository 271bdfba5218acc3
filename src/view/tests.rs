//! Whole frames.

use super::testing::*;

#[test]
fn look() {
    let mut cluster = sample();
    for (width, height) in [(80, 24), (120, 36), (160, 48), (200, 60)] {
        println!("{}", cluster.draw(width, height, &plain()).text());
    }
    cluster.press("j\n", 80, 24);
    println!("{}", cluster.draw(80, 24, &plain()).text());
    cluster.press("3", 80, 24);
    println!("{}", cluster.draw(80, 24, &plain()).text());
    cluster.press("4", 80, 24);
    println!("{}", cluster.draw(80, 24, &plain()).text());
    cluster.press("?", 80, 24);
    println!("{}", cluster.draw(80, 24, &plain()).text());
}
