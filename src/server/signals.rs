//! The signals that servers understand, by their numbers, as in signal(7): this folder must not
//! depend on the operating system's library for them.
//!
//! In and out: values.

/// Unicorn, Thin and PHP-FPM finish their requests on it, where SIGTERM would cut them off.
pub const SIGQUIT: i32 = 3;
pub const SIGTERM: i32 = 15;
