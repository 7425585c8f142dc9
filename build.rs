//! Puts the page that `ui/` was built to where the program includes it from. Without a built page
//! (no Node.js) the program has none, and this says so in one line.

use std::path::Path;
use std::{env, fs};

fn main() {
    println!("cargo:rerun-if-changed=../../build.rs");
    // Cargo takes a file that is not there for one that has changed, each time.
    let watched = if Path::new("../../ui/dist").exists() { "../../ui/dist" } else { "../../ui" };
    println!("cargo:rerun-if-changed={watched}");
    let out = env::var("OUT_DIR").expect("Cargo names the folder");
    let mut is_whole = true;
    for name in ["page.js", "page.css"] {
        let built = fs::read_to_string(Path::new("../../ui/dist").join(name));
        is_whole &= built.is_ok();
        let text = built.unwrap_or_default();
        // Inside the document these would end the element.
        let lower = text.to_lowercase();
        assert!(!lower.contains("</script") && !lower.contains("</style"), "ui/dist/{name}");
        fs::write(Path::new(&out).join(name), text).expect("Cargo's own folder can be written");
    }
    if !is_whole {
        println!("cargo:warning=the page of reports is left out: 'make ui' builds it (Node.js)");
    }
}
