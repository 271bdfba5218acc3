//! How eyes see colours: contrast, and colour blindness. Only the themes' tests need it.

use super::colour::{Rgb, distance, linear};

/// Contrast of two colours after WCAG 2.1, from 1 to 21.
pub fn contrast(a: Rgb, b: Rgb) -> f64 {
    let luminance = |rgb| {
        let [r, g, b] = linear(rgb);
        0.2126 * r + 0.7152 * g + 0.0722 * b
    };
    let (a, b) = (luminance(a), luminance(b));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// Kinds of eyes: all cones, or one kind missing.
pub const EYES: [(&str, [[f64; 3]; 3]); 4] = [
    ("full", [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]),
    // Machado, Oliveira, Fernandes 2009, severity 1.0; rows give the seen red, green, blue.
    (
        "protan",
        [[0.152_286, 1.052_583, -0.204_868], [0.114_503, 0.786_281, 0.099_216], [-0.003_882, -0.048_116, 1.051_998]],
    ),
    (
        "deutan",
        [[0.367_322, 0.860_646, -0.227_968], [0.280_085, 0.672_501, 0.047_413], [-0.011_820, 0.042_940, 0.968_881]],
    ),
    (
        "tritan",
        [[1.255_528, -0.076_749, -0.178_779], [-0.078_411, 0.930_809, 0.147_602], [0.004_733, 0.691_367, 0.303_900]],
    ),
];

/// How far apart two colours look to such eyes; 0.02 is about the least that two words side
/// by side need to be told apart at a glance.
pub fn apart(a: Rgb, b: Rgb, eyes: [[f64; 3]; 3]) -> f64 {
    distance(seen(a, eyes), seen(b, eyes)).sqrt()
}

fn seen(rgb: Rgb, eyes: [[f64; 3]; 3]) -> Rgb {
    let light = linear(rgb);
    let [r, g, b] = eyes.map(|row| {
        let value: f64 = row.iter().zip(light).map(|(weight, channel)| weight * channel).sum();
        let value = value.clamp(0.0, 1.0);
        let encoded = if value <= 0.003_130_8 { value * 12.92 } else { 1.055 * value.powf(1.0 / 2.4) - 0.055 };
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "clamped to 0..=255")]
        let channel = (encoded * 255.0).round() as u8;
        channel
    });
    Rgb(r, g, b)
}

#[test]
fn contrast_is_that_of_the_standard() {
    assert!((contrast(Rgb(0, 0, 0), Rgb(255, 255, 255)) - 21.0).abs() < 0.001);
    assert!((contrast(Rgb(0x77, 0x77, 0x77), Rgb(255, 255, 255)) - 4.48).abs() < 0.01);
}
