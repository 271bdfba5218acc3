//! Makes the pictures in `assets/`: runs the program in a pseudo-terminal, waits for what a scene
//! is about to be on its screen, and draws that as SVG. `demo/pictures` builds and starts it.
//!
//! Seeds and lease ids are fixed and only the moving picture lets time pass, so a picture that is made anew
//! differs from the one before by ages, ports and where a run was caught.
#![forbid(unsafe_code)]

mod film;
mod frame;
mod glyphs;
mod scenes;
mod stage;
mod svg;
mod terminal;

use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::thread;

use clap::Parser;
use color_eyre::Result;
use color_eyre::eyre::{WrapErr as _, bail, ensure};

use scenes::{SCENES, Scene, Studio};

#[derive(Parser)]
#[command(name = "demo/pictures", about = "Makes the pictures in assets/ by running lockscope")]
struct Arguments {
    /// Only see whether each scene is reached and gives a well-formed picture; write none
    #[arg(long)]
    check: bool,
    /// Where the pictures go
    #[arg(long, default_value = "assets", value_name = "FOLDER")]
    into: PathBuf,
    /// Also write single moments of what moves into this folder, for viewers that show no motion
    #[arg(long, value_name = "FOLDER")]
    stills: Option<PathBuf>,
    /// The program
    #[arg(long, env = "LOCKSCOPE", default_value = "target/release/lockscope")]
    lockscope: PathBuf,
    /// Only these pictures; without any, all
    #[arg(value_parser = SCENES.map(|scene| scene.name))]
    pictures: Vec<String>,
}

fn main() -> ExitCode {
    match make(Arguments::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("pictures: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn make(arguments: Arguments) -> Result<()> {
    let program = arguments.lockscope.canonicalize().wrap_err_with(|| {
        format!("{} is not there; `cargo build --release` makes it", arguments.lockscope.display())
    })?;
    let studio = Studio { program, in_short: arguments.check, stills: arguments.stills };
    let wanted =
        |scene: &&Scene| arguments.pictures.is_empty() || arguments.pictures.iter().any(|name| name == scene.name);
    let scenes: Vec<&Scene> = SCENES.iter().filter(wanted).collect();
    if arguments.check {
        return check(&studio, &scenes);
    }
    for scene in scenes {
        let drawing = draw(&studio, scene)?;
        let file = arguments.into.join(scene.name).with_extension("svg");
        println!("{}\t{}", file.display(), drawing.len());
        fs::write(&file, drawing).wrap_err_with(|| format!("writing {}", file.display()))?;
    }
    Ok(())
}

/// All at once: they mostly wait, and nobody will look at how smoothly they move.
fn check(studio: &Studio, scenes: &[&Scene]) -> Result<()> {
    let drawings: Vec<Result<String>> = thread::scope(|scope| {
        let drawn: Vec<_> = scenes.iter().map(|scene| scope.spawn(|| draw(studio, scene))).collect();
        drawn.into_iter().map(|scene| scene.join().unwrap_or_else(|_| bail!("a scene failed"))).collect()
    });
    for (scene, drawing) in scenes.iter().zip(drawings) {
        println!("{}\t{} bytes", scene.name, drawing?.len());
    }
    Ok(())
}

fn draw(studio: &Studio, scene: &Scene) -> Result<String> {
    let drawing = (scene.make)(studio).wrap_err(scene.name)?;
    svg::well_formed(&drawing).wrap_err(scene.name)?;
    let bytes = drawing.len();
    ensure!(bytes <= scene.at_most, "{}: {bytes} bytes, more than {}", scene.name, scene.at_most);
    Ok(drawing)
}
