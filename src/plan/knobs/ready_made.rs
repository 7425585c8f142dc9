//! Sets of knobs that are worth trying with many apps, by name. Only values.

use crate::plan::written_knob::{Subject, Written, WrittenError};
use crate::server::About;

/// The names of the sets.
pub const NAMES: [&str; 1] = ["ruby"];

/// The knobs of this set.
///
/// # Errors
/// There is none of this name, or it is for another language than the server's.
pub fn knobs(set: &str, server: &About) -> Result<Vec<Written>, WrittenError> {
    match set {
        "ruby" if server.runs_ruby() => Ok(ruby()),
        "ruby" => {
            let (set, server) = (set.to_string(), server.title);
            Err(WrittenError::OtherLanguage { set, server })
        }
        _ => Err(WrittenError::NoSuchSet { set: set.to_string(), known: &NAMES }),
    }
}

/// What is usually said to help an app in Ruby: fewer of glibc's arenas, whose fragments each
/// thread would keep, or another allocator; the compiler YJIT; the limits of allocated bytes after
/// which garbage is collected, at four times their defaults (`gc.c`: 16, 32, 16 and 128 MiB).
fn ruby() -> Vec<Written> {
    let mib = |count: u32| (count << 20).to_string();
    let of = |name: &str, variables: &[(&str, String)]| Written {
        name: Some(name.to_string()),
        subject: Subject::Variables(
            variables.iter().map(|(name, value)| (name.to_string(), value.clone())).collect(),
        ),
        values: Vec::new(),
    };
    vec![
        Written {
            name: None,
            subject: Subject::Variable("MALLOC_ARENA_MAX".into()),
            values: vec!["2".into()],
        },
        of("jemalloc", &[("LD_PRELOAD", "libjemalloc.so.2".into())]),
        of("yjit", &[("RUBY_YJIT_ENABLE", "1".into())]),
        of(
            "rarer-gc",
            &[
                ("RUBY_GC_MALLOC_LIMIT", mib(64)),
                ("RUBY_GC_MALLOC_LIMIT_MAX", mib(128)),
                ("RUBY_GC_OLDMALLOC_LIMIT", mib(64)),
                ("RUBY_GC_OLDMALLOC_LIMIT_MAX", mib(512)),
            ],
        ),
    ]
}
